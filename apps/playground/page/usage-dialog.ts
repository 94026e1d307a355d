import { wordsOf } from '../worker/words.js'
import { isUncounted, type UsageResult, usage } from './api.js'
import { byId, el } from './dom.js'
import { whole } from './format.js'
import { nameOf } from './model-names.js'

export function connectUsage(open: HTMLButtonElement): void {
  open.addEventListener('click', () => {
    byId('usage-dialog', HTMLDialogElement).showModal()
    void fill()
  })
}

/** What each project has used in the last 31 days, as `/v1` tells it. */
async function fill(): Promise<void> {
  const place = byId('usage', HTMLElement)
  try {
    const [results, isLost] = await Promise.all([usage(), isUncounted()])
    const words = isLost
      ? 'The last request was answered, but what it used could not be stored.'
      : 'Nothing yet. Each request is counted for the project in the settings.'
    place.replaceChildren(
      ...(isLost || results.length === 0 ? [el('p', { class: 'muted' }, words)] : []),
      ...(results.length === 0 ? [] : [table(results.toSorted((a, b) => b.output_tokens - a.output_tokens))]),
    )
  } catch (error) {
    place.replaceChildren(el('p', { class: 'answer-error', role: 'alert' }, wordsOf(error)))
  }
}

function table(results: readonly UsageResult[]): HTMLElement {
  const head = ['Project', 'Model', 'Requests', 'In', 'Out'].map((name, i) =>
    el('th', { scope: 'col', class: i > 1 ? 'number' : '' }, name),
  )
  const rows = results.map(({ project_id, model, num_model_requests, input_tokens, output_tokens }) =>
    el(
      'tr',
      {},
      // On a phone it is cut into lines between its team and its project, not within a word.
      el('th', { scope: 'row' }, ...(project_id ?? 'none').split(/(?<=\/)/).flatMap((part) => [part, el('wbr', {})])),
      el('td', {}, model === null ? '' : nameOf(model)),
      ...[num_model_requests, input_tokens, output_tokens].map((count) => el('td', { class: 'number' }, whole(count))),
    ),
  )
  return el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows))
}
