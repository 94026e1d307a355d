import type { PartialJson } from '../../../src/grammar/partial-json.js'
import type { Evidence } from './api.js'
import { el } from './dom.js'
import { likelihood } from './format.js'
import { keepValue, keptValue } from './kept.js'
import { type Leaf, leavesOf, type Stretch, stretchesOf, surenessOf } from './sources.js'

const KEPT = 'local-v1 playground review below'
const USUAL = 50

/** What an answer rests on, as far as it has come. */
export interface Grounds {
  /** What was asked, and which of the messages it is. */
  readonly text: string
  readonly message: number
  readonly value: PartialJson | undefined
  readonly evidence: ReadonlyMap<string, Evidence>
}

/** The text with the place of each value, the values with how sure each is, and which of them a person would look at. */
export class SourcesView {
  readonly element: HTMLElement
  readonly #text = el('div', {
    class: 'sources-text',
    role: 'region',
    'aria-label': 'Text, with the place of each value',
    tabindex: 0,
  })
  readonly #values = el('ul', { class: 'source-values' })
  readonly #slider = el('input', { type: 'range', id: 'review-below', min: 0, max: 100, step: 1 })
  readonly #review = el('output', { class: 'review', for: 'review-below' })
  #drawn = ''
  #leaves: readonly Leaf[] = []
  #evidence: ReadonlyMap<string, Evidence> = new Map()

  constructor() {
    const kept = keptValue<unknown>(KEPT)
    this.#slider.value = String(typeof kept === 'number' ? kept : USUAL)
    this.#slider.addEventListener('input', () => {
      keepValue(KEPT, Number(this.#slider.value))
      this.#drawReview()
    })
    this.element = el(
      'div',
      { class: 'sources' },
      this.#text,
      legend(),
      this.#values,
      el(
        'div',
        { class: 'review-slider' },
        el('label', { for: 'review-below' }, 'What a person would check'),
        this.#slider,
        this.#review,
      ),
      el(
        'p',
        { class: 'muted' },
        'How sure means how clearly the model preferred this value to all others that the schema allows, not how often it is right. A place is where the text has the same words.',
      ),
    )
    for (const [on, off] of [
      ['pointerover', 'pointerout'],
      ['focusin', 'focusout'],
    ] as const) {
      this.element.addEventListener(on, ({ target }) => this.#light(target, true))
      this.element.addEventListener(off, ({ target }) => this.#light(target, false))
    }
    this.element.addEventListener('click', (event) => this.#follow(event))
  }

  show({ text, message, value, evidence }: Grounds): void {
    const leaves = leavesOf(value)
    const drawn = JSON.stringify([text, leaves, [...evidence]])
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    this.#leaves = leaves
    this.#evidence = evidence
    // While more comes, who is at a value stays there.
    const held = this.element.contains(document.activeElement) ? document.activeElement?.id : undefined
    const stretches = stretchesOf(text, message, evidence)
    const names = new Map(leaves.map(({ pointer, name }) => [pointer, name]))
    this.#text.replaceChildren(...stretches.map((stretch, i) => this.#stretch(stretch, i, names)))
    this.#values.replaceChildren(...leaves.map((leaf, i) => this.#value(leaf, i, message, stretches)))
    if (held) document.getElementById(held)?.focus({ preventScroll: true })
    this.#drawReview()
  }

  #stretch({ text, pointers }: Stretch, i: number, names: ReadonlyMap<string, string>): Node | string {
    const [first] = pointers
    if (first === undefined) return text
    const least = Math.min(...pointers.map((pointer) => this.#evidence.get(pointer)!.confidence))
    const value = this.#leaves.findIndex(({ pointer }) => pointer === first)
    const whose = pointers.map((pointer) => names.get(pointer) ?? pointer).join(' and ')
    const label = `${text}: ${whose}, ${likelihood(least)} sure`
    const link = el('a', { id: `place-${i}`, href: `#value-${value}`, 'aria-label': label }, text)
    const mark = el('mark', { class: `place ${surenessOf(least)}` }, link)
    mark.dataset.pointers = JSON.stringify(pointers)
    return mark
  }

  #value(leaf: Leaf, i: number, message: number, stretches: readonly Stretch[]): HTMLElement {
    const { pointer, name } = leaf
    const evidence = this.#evidence.get(pointer)
    const place = stretches.findIndex(({ pointers }) => pointers.includes(pointer))
    const text = leaf.kind === 'null' ? 'none' : leaf.text === '' ? 'empty' : leaf.text
    const share = evidence ? likelihood(evidence.confidence) : ''
    const label = `${text}: ${name}, ${share} sure, to its place in the text`
    const shown =
      place < 0
        ? el('span', { class: 'source-value' }, text)
        : el('a', { class: 'source-value', id: `value-${i}`, href: `#place-${place}`, 'aria-label': label }, text)
    const row = el(
      'li',
      { class: `source ${evidence ? surenessOf(evidence.confidence) : ''}` },
      el('span', { class: 'source-name' }, name),
      shown,
      el('span', { class: 'source-share' }, share),
      el('span', { class: 'source-notes' }, ...(evidence ? notesOf(leaf, evidence, message) : [])),
    )
    row.dataset.pointers = JSON.stringify([pointer])
    return row
  }

  /** Those that fall under the threshold. */
  #drawReview(): void {
    const below = Number(this.#slider.value)
    this.#slider.setAttribute('aria-valuetext', `less sure than ${below} %`)
    const withEvidence = this.#leaves.filter(({ pointer }) => this.#evidence.has(pointer))
    const doubtful = withEvidence.filter(({ pointer }) => this.#evidence.get(pointer)!.confidence * 100 < below)
    for (const [i, row] of [...this.#values.children].entries()) {
      row.classList.toggle('to-person', doubtful.includes(this.#leaves[i]!))
    }
    const names = doubtful.map(({ name }) => name).join(', ')
    this.#review.textContent =
      withEvidence.length === 0
        ? ''
        : `Less sure than ${below} %: ${doubtful.length} of ${withEvidence.length}${names === '' ? '' : ` (${names})`}.`
  }

  #light(target: EventTarget | null, lit: boolean): void {
    const at = target instanceof Element ? target.closest<HTMLElement>('[data-pointers]') : null
    if (!at) return
    const pointers = pointersOf(at)
    for (const each of this.element.querySelectorAll<HTMLElement>('[data-pointers]')) {
      if (pointersOf(each).some((pointer) => pointers.includes(pointer))) each.classList.toggle('lit', lit)
    }
  }

  /** From a value to its place and back, without a step in the page's history. */
  #follow(event: Event): void {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link) return
    event.preventDefault()
    const to = document.getElementById(link.hash.slice(1))
    to?.focus({ preventScroll: true })
    to?.scrollIntoView({ block: 'nearest' })
  }
}

const pointersOf = ({ dataset }: HTMLElement) => JSON.parse(dataset.pointers ?? '[]') as string[]

function notesOf(leaf: Leaf, { source, runner_up: other, p_null: absent }: Evidence, message: number): string[] {
  const notes: string[] = []
  if (source && source.message !== message) notes.push('in the instructions')
  if (!source && (leaf.kind === 'boolean' || leaf.kind === 'null')) notes.push('no exact words in the text')
  else if (!source) notes.push('not in the text')
  if (other) notes.push(`or ${String(other.value ?? 'none')}, ${likelihood(other.probability)}`)
  if (absent !== undefined && leaf.kind !== 'null') notes.push(`no value: ${likelihood(absent)}`)
  return [notes.join(' · ')]
}

const legend = () =>
  el(
    'p',
    { class: 'source-legend' },
    ...(
      [
        ['sure', '90 % sure and more'],
        ['fair', '50 % and more'],
        ['unsure', 'less'],
      ] as const
    ).map(([sureness, words]) => el('span', { class: `place ${sureness}` }, words)),
  )
