import { wordsOf } from '../worker/words.js'
import { ApiError } from './api.js'
import { button, byId, el } from './dom.js'
import { tooLong } from './format.js'
import { askForKey } from './key-dialog.js'

interface Cure {
  readonly label: string
  readonly act: () => void
}

/** What failed, said once, with the one thing to do about it. */
export function failureView(error: unknown, again: () => void): HTMLElement {
  // What is pressed is gone then: the button that starts what is done again has its place.
  const retry = () => {
    document.querySelector<HTMLElement>('[role="tabpanel"]:not([hidden]) .primary:not([hidden])')?.focus()
    again()
  }
  const { label, act } = cureFor(error, retry)
  const cure = button(label, act, { class: 'small' })
  return el('div', { class: 'answer-error', role: 'alert' }, el('p', {}, wordsFor(error)), cure)
}

function wordsFor(error: unknown): string {
  // What a program is told speaks of headers.
  if (error instanceof ApiError && error.code === 'missing_api_key')
    return 'Enter one of the keys that the server was started with.'
  if (error instanceof ApiError && error.code === 'context_length_exceeded')
    return tooLong('What was sent', error.message)
  return wordsOf(error)
}

function cureFor(error: unknown, again: () => void): Cure {
  const { code, status } = error instanceof ApiError ? error : { code: null, status: 0 }
  if (status === 401) return { label: 'Enter a key', act: () => askForKey(again) }
  if (code === 'context_length_exceeded') return { label: 'Shorten the text', act: focusText }
  if (SMALLER.has(code ?? '') || (code === 'host_lost' && status !== 200))
    return { label: 'Choose another model', act: openModels }
  // It would be refused again as it stands.
  if (REFUSED.has(status)) return { label: 'Change the request', act: focusText }
  return { label: 'Try again', act: again }
}

const REFUSED = new Set([400, 404, 405, 413])

const SMALLER = new Set([
  'model_not_found',
  'out_of_memory',
  'device_out_of_memory',
  'device_too_small',
  'unsupported_model',
  'model_not_supported',
  'model_files',
  'malformed_weights',
  'cache_full',
])

/** What was sent, where one sees it: `index.html` says of each tab which field that is. */
function focusText(): void {
  const fields = [...document.querySelectorAll<HTMLElement>('[data-sent]')]
  fields.find((field) => field.checkVisibility())?.focus()
}

function openModels(): void {
  const models = byId('models', HTMLElement)
  const panel = models.closest('details')
  if (panel) panel.open = true
  models.querySelector<HTMLElement>('input:checked, input')?.focus()
}
