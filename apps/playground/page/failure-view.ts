import { ApiError } from './api.js'
import { button, byId, el } from './dom.js'
import { askForKey } from './key-dialog.js'

interface Cure {
  readonly label: string
  readonly act: () => void
}

/** What failed, said once, with the one thing to do about it. */
export function failureView(error: unknown, again: () => void): HTMLElement {
  const message = error instanceof Error ? error.message : String(error)
  const { label, act } = cureFor(error, again)
  const cure = button(label, act, { class: 'small' })
  return el('div', { class: 'answer-error', role: 'alert' }, el('p', {}, wordsFor(error, message)), cure)
}

/** A connection that was refused has a message that differs from browser to browser and says nothing. */
function wordsFor(error: unknown, message: string): string {
  return error instanceof TypeError ? `Nothing answers at ${location.host}: is the server still running?` : message
}

function cureFor(error: unknown, again: () => void): Cure {
  const { code, status } = error instanceof ApiError ? error : { code: null, status: 0 }
  if (status === 401) return { label: 'Give a key', act: () => askForKey(again) }
  if (code === 'context_length_exceeded') return { label: 'Shorten the text', act: focusText }
  if (SMALLER.has(code ?? '')) return { label: 'Choose another model', act: openModels }
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
  'cache_full',
])

/** What was sent, where one sees it. */
function focusText(): void {
  const fields = ['text', 'decision-text', 'message', 'request-body'].map((id) => byId(id, HTMLTextAreaElement))
  fields.find((field) => field.checkVisibility())?.focus()
}

function openModels(): void {
  const models = byId('models', HTMLElement)
  const panel = models.closest('details')
  if (panel) panel.open = true
  models.querySelector<HTMLElement>('input:checked, input')?.focus()
}
