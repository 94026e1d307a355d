import { ApiError } from './api.js'
import { byId, el } from './dom.js'
import { type Settings, set, settings } from './settings.js'

/** Field of the form, the setting it holds, and the request field that `/v1` names when it is wrong. */
const FIELDS = [
  { id: 'temperature', setting: 'temperature', params: ['temperature'] },
  { id: 'top-p', setting: 'topP', params: ['top_p'] },
  { id: 'max-tokens', setting: 'maxTokens', params: ['max_tokens', 'max_completion_tokens'] },
  { id: 'seed', setting: 'seed', params: ['seed'] },
  { id: 'project', setting: 'project', params: ['openai-project', 'compat-project'] },
] as const satisfies readonly { id: string; setting: keyof Settings; params: readonly string[] }[]

export function connectSettings(): void {
  for (const { id, setting } of FIELDS) {
    const input = byId(id, HTMLInputElement)
    input.value = settings()[setting]
    input.addEventListener('input', () => {
      set({ [setting]: input.value.trim() })
      showFieldError(id, undefined)
    })
  }
}

/** Shows an error at the field that it is about; false if there is no such field here. */
export function showSettingError(error: unknown): boolean {
  const { param, message = '' }: Partial<ApiError> = error instanceof ApiError ? error : {}
  const field = FIELDS.find(({ params }) => (params as readonly string[]).includes(param ?? ''))
  if (!field) return false
  const closed = byId(field.id, HTMLInputElement).closest('details')
  if (closed) closed.open = true
  byId(field.id, HTMLInputElement).focus()
  showFieldError(field.id, message)
  return true
}

export function clearSettingErrors(): void {
  for (const { id } of FIELDS) showFieldError(id, undefined)
}

function showFieldError(id: string, message: string | undefined): void {
  const input = byId(id, HTMLInputElement)
  const errorId = `${id}-error`
  document.getElementById(errorId)?.remove()
  input.setAttribute('aria-invalid', String(message !== undefined))
  if (message === undefined) input.removeAttribute('aria-describedby')
  else {
    input.setAttribute('aria-describedby', errorId)
    const error = el('p', { class: 'field-error', id: errorId, role: 'alert' }, message)
    input.after(error)
    error.scrollIntoView({ block: 'nearest' })
  }
}
