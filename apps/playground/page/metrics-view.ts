import { el } from './dom.js'
import { milliseconds, percent, rate, whole } from './format.js'
import type { Generation } from './generation.js'

/** What an answer took: speed, time to the first token, and how much of it was certain. */
export function metricsView(answer: Generation | undefined): HTMLElement {
  const perSecond = answer?.perSecond
  const numbers = el(
    'dl',
    { class: 'numbers' },
    number('First token', answer?.firstMs === undefined ? '–' : milliseconds(answer.firstMs)),
    number('Tokens/s', perSecond === undefined ? '–' : rate(perSecond)),
    number('Tokens', answer && answer.tokens > 0 ? whole(answer.tokens) : '–'),
    number('Prompt', answer?.usage ? whole(answer.usage.prompt_tokens) : '–', cachedOf(answer)),
  )
  return el('div', { class: 'metrics' }, numbers, answer && answer.tokens > 0 ? shares(answer) : undefined)
}

/** The same in one line, under a message. */
export function metricsLine(answer: Generation): HTMLElement {
  const parts = [`${whole(answer.tokens)} tokens`]
  if (answer.perSecond !== undefined) parts.push(`${rate(answer.perSecond)} per second`)
  if (answer.firstMs !== undefined) parts.push(`first after ${milliseconds(answer.firstMs)}`)
  if (answer.limited !== undefined) parts.push(answer.limited)
  if (answer.finish === 'stopped') parts.push('stopped')
  return el('p', { class: 'metrics-line' }, parts.join(' · '))
}

function number(label: string, value: string, note?: string): HTMLElement {
  return el('div', {}, el('dt', {}, label), el('dd', {}, value, note ? el('small', {}, ` ${note}`) : undefined))
}

function cachedOf(answer: Generation | undefined): string | undefined {
  const cached = answer?.usage?.prompt_tokens_details?.cached_tokens ?? 0
  return cached > 0 ? `${whole(cached)} cached` : undefined
}

function shares({ tokens, forced }: Generation): HTMLElement {
  const sampled = Math.max(0, tokens - forced)
  const bar = el(
    'div',
    { class: 'share-bar', 'aria-hidden': 'true' },
    el('span', { class: 'forced' }),
    el('span', { class: 'sampled' }),
  )
  // Set as properties: a strict policy forbids style attributes in markup, not what scripts do.
  bar.style.gridTemplateColumns = `${forced}fr ${sampled}fr`
  return el(
    'div',
    { class: 'shares' },
    bar,
    el(
      'p',
      {},
      el('span', { class: 'key forced' }, `${whole(forced)} decided by the schema (${percent(forced / tokens)})`),
      el('span', { class: 'key sampled' }, `${whole(sampled)} chosen by the model`),
    ),
  )
}
