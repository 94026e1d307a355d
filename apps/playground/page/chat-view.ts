import type { ChatBody, Message } from './api.js'
import { ApiError } from './api.js'
import { showCode } from './code-dialog.js'
import { announce, byId, el, framed } from './dom.js'
import { failureView } from './failure-view.js'
import { Generation } from './generation.js'
import { keepValue, keptValue } from './kept.js'
import { markdown } from './markdown.js'
import { metricsLine } from './metrics-view.js'
import { actionLabel, chats, nameOf } from './model-names.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'
import { samplingFields, set, settings } from './settings.js'
import { clearSettingErrors, showSettingError } from './settings-view.js'

/** A conversation: messages, the one that is being written, and where the next is typed. */
export class ChatView {
  readonly #models: Models
  readonly #history: Message[]
  readonly #log = byId('messages', HTMLElement)
  readonly #system = byId('system', HTMLTextAreaElement)
  readonly #input = byId('message', HTMLTextAreaElement)
  readonly #send = byId('send', HTMLButtonElement)
  readonly #stop = byId('chat-stop', HTMLButtonElement)
  #generation: Generation | undefined
  #drawAnswer: () => void = () => {}

  constructor(models: Models) {
    this.#models = models
    this.#history = keptChat()
    for (const { role, content } of this.#history) {
      this.#log.append(role === 'user' ? bubble('user', content) : answered(content))
    }
    this.#system.value = settings().system
    this.#system.addEventListener('input', () => set({ system: this.#system.value }))
    byId('composer', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#ask()
    })
    this.#input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      void this.#ask()
    })
    this.#stop.addEventListener('click', () => void this.#leave())
    byId('new-chat', HTMLButtonElement).addEventListener('click', () => this.#clear())
    byId('chat-code', HTMLButtonElement).addEventListener('click', () => showCode(this.#body(this.#draft())))
    models.onChange(() => {
      this.#drawHint()
      if (this.#generation) this.#drawAnswer()
    })
    this.#drawHint()
  }

  async #leave(): Promise<void> {
    this.#generation?.stop()
    const { selected, loads } = this.#models
    if (loads.has(selected)) await this.#models.unload(selected).catch(() => {})
  }

  #clear(): void {
    void this.#leave()
    this.#generation = undefined
    this.#history.length = 0
    keepValue(KEPT, undefined)
    this.#log.replaceChildren()
    this.#drawHint()
    this.#input.focus()
  }

  /** What would be sent now. */
  #draft(): readonly Message[] {
    const text = this.#input.value.trim()
    if (text === '' && this.#history.at(-1)?.role === 'assistant') return this.#history.slice(0, -1)
    return [...this.#history, { role: 'user', content: text || 'Hello!' }]
  }

  #body(messages: readonly Message[]): ChatBody {
    const system = this.#system.value.trim()
    return {
      model: this.#models.selected,
      messages: [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...messages],
      ...samplingFields(),
    }
  }

  async #ask(): Promise<void> {
    const text = this.#input.value.trim()
    if (text === '' || this.#generation) return
    clearSettingErrors()
    this.#input.value = ''
    this.#history.push({ role: 'user', content: text })
    this.#log.append(bubble('user', text))
    const generation = new Generation()
    this.#generation = generation
    const said = el('div', { class: 'said' })
    const answer = el('article', { class: 'message assistant', 'aria-label': nameOf(this.#models.selected) }, said)
    this.#log.append(answer)
    this.#setBusy(true)
    const draw = framed(() => {
      const below = atEnd()
      const load = this.#models.loads.get(this.#models.selected)
      if (load && generation.text === '') said.replaceChildren(progressView(load))
      else said.replaceChildren(markdown(generation.text))
      if (below) toEnd()
    })
    answer.classList.add('writing')
    toEnd()
    try {
      this.#drawAnswer = draw
      await this.#models.loadForRequest()
      await generation.run(this.#body(this.#history), settings().project, draw)
      said.replaceChildren(markdown(generation.text))
      this.#history.push({ role: 'assistant', content: generation.text })
      keepValue(KEPT, this.#history)
      answer.append(metricsLine(generation))
      announce(generation.stopped ? 'Stopped.' : generation.text)
    } catch (error) {
      this.#fail(error, answer, text)
    } finally {
      answer.classList.remove('writing')
      if (this.#generation === generation) this.#generation = undefined
      this.#setBusy(false)
      toEnd()
    }
  }

  /** What was not answered is given back, to be sent again. */
  #fail(error: unknown, answer: HTMLElement, text: string): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#history.pop()
    this.#input.value ||= text
    const atField = showSettingError(error instanceof ApiError ? error.param : null, message)
    if (atField || this.#generation?.stopped) {
      answer.previousElementSibling?.remove()
      answer.remove()
    } else {
      const again = () => {
        answer.previousElementSibling?.remove()
        answer.remove()
        void this.#ask()
      }
      answer.replaceChildren(failureView(error, again))
    }
  }

  #setBusy(busy: boolean): void {
    const held = document.activeElement === this.#send || document.activeElement === this.#stop
    this.#send.hidden = busy
    this.#stop.hidden = !busy
    if (held) (busy ? this.#stop : this.#send).focus()
    this.#drawHint()
  }

  #drawHint(): void {
    const empty = this.#log.childElementCount === 0
    byId('chat-empty', HTMLElement).hidden = !empty
    byId('chat-hint', HTMLElement).hidden = chats(this.#models.selected)
    byId('new-chat', HTMLButtonElement).disabled = empty
    this.#send.textContent = actionLabel(this.#models, 'Send')
  }
}

const KEPT = 'local-v1 playground chat'

/** The conversation as it stood, of what is still what it should be. */
function keptChat(): Message[] {
  const kept = keptValue<unknown>(KEPT)
  const isMessage = (each: Partial<Message> | null): each is Message =>
    (each?.role === 'user' || each?.role === 'assistant') && typeof each.content === 'string'
  return Array.isArray(kept) && kept.every(isMessage) ? kept : []
}

function answered(text: string): HTMLElement {
  return el(
    'article',
    { class: 'message assistant', 'aria-label': 'Answer' },
    el('div', { class: 'said' }, markdown(text)),
  )
}

function bubble(role: 'user', text: string): HTMLElement {
  return el('article', { class: `message ${role}`, 'aria-label': 'You' }, el('p', { class: 'said' }, text))
}

const scroller = () => byId('messages-scroll', HTMLElement)
const atEnd = () => scroller().scrollHeight - scroller().scrollTop - scroller().clientHeight < 40
const toEnd = () => scroller().scrollTo({ top: scroller().scrollHeight })
