import type { ChatBody, Message } from './api.js'
import { chatCode } from './code.js'
import { showCode } from './code-dialog.js'
import { asMarkdown, Conversations, titleOf } from './conversations.js'
import { announce, button, byId, el, framed, swap } from './dom.js'
import { failureView } from './failure-view.js'
import { Generation } from './generation.js'
import { keepValue, keptValue } from './kept.js'
import type { Machine } from './machine.js'
import { AnswerView, questionView } from './message-view.js'
import { actionLabel, chats, nameOf } from './model-names.js'
import type { Models } from './models.js'
import { largerModel } from './recommended.js'
import { saveFile } from './save-file.js'
import { samplingFields, set, settings } from './settings.js'
import { clearSettingErrors, showSettingError } from './settings-view.js'

const UNSENT = 'local-v1 playground message'

/** A conversation: messages, the one that is being written, and where the next is typed. */
export class ChatView {
  readonly #models: Models
  readonly #machine: Machine
  readonly #larger = byId('chat-larger', HTMLButtonElement)
  readonly #conversations = new Conversations()
  readonly #log = byId('messages', HTMLElement)
  readonly #system = byId('system', HTMLTextAreaElement)
  readonly #input = byId('message', HTMLTextAreaElement)
  readonly #thinks = byId('chat-thinks', HTMLInputElement)
  readonly #send = byId('send', HTMLButtonElement)
  readonly #stop = byId('chat-stop', HTMLButtonElement)
  #generation: Generation | undefined
  #drawAnswer: () => void = () => {}

  constructor(models: Models, machine: Machine) {
    this.#models = models
    this.#machine = machine
    this.#larger.addEventListener('click', () => this.#chooseLarger())
    this.#system.value = settings().system
    this.#system.addEventListener('input', () => set({ system: this.#system.value }))
    byId('composer', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault()
      this.#ask()
    })
    this.#input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      this.#ask()
    })
    this.#stop.addEventListener('click', () => void this.#leave())
    byId('new-chat', HTMLButtonElement).addEventListener('click', () => {
      this.#show(() => this.#conversations.begin())
      this.#input.focus()
    })
    byId('chat-save', HTMLButtonElement).addEventListener('click', () => {
      saveFile('chat.md', 'text/markdown', asMarkdown(settings().system.trim(), this.#history))
    })
    byId('chat-code', HTMLButtonElement).addEventListener('click', () => {
      const body = this.#body(this.#draft())
      showCode((place) => chatCode(body, place))
    })
    models.onChange(() => {
      this.#drawHint()
      if (this.#generation) this.#drawAnswer()
    })
    this.#input.addEventListener('input', () => keepValue(UNSENT, this.#input.value))
    // What was asked as the page went is given back.
    const unanswered = this.#history.at(-1)?.role === 'user' ? this.#history.pop() : undefined
    this.#input.value = unanswered?.content ?? keptValue<string>(UNSENT) ?? ''
    this.#show(() => {})
  }

  get #history(): Message[] {
    return this.#conversations.current.messages
  }

  async #leave(): Promise<void> {
    this.#generation?.stop()
    const { selected, loads } = this.#models
    if (loads.has(selected)) await this.#models.unload(selected).catch(() => {})
  }

  /** The conversation that is in front after `change`. */
  #show(change: () => void): void {
    if (this.#generation) void this.#leave()
    this.#generation = undefined
    change()
    this.#log.replaceChildren()
    for (const [i, { role, content }] of this.#history.entries()) {
      if (role === 'user') this.#log.append(questionView(content, () => this.#edit(i)))
      else {
        const answer = new AnswerView('Answer', atItsEnd)
        answer.end(content, () => this.#again())
        this.#log.append(answer.element)
      }
    }
    this.#drawEarlier()
    this.#drawHint()
    toEnd()
  }

  #drawEarlier(): void {
    const place = byId('earlier-chats', HTMLDetailsElement)
    const { earlier } = this.#conversations
    place.hidden = earlier.length === 0
    // When there is one again, it is folded as at first.
    if (place.hidden) place.open = false
    byId('earlier-count', HTMLElement).textContent = `Earlier chats: ${earlier.length}`
    const rows = earlier.map((each) => {
      const title = titleOf(each)
      const open = button(title, () => {
        place.open = false
        this.#show(() => this.#conversations.open(each.id))
        this.#input.focus()
      })
      open.className = 'quiet small'
      const remove = button('Delete', () => this.#forget(each.id), {
        class: 'quiet small',
        'aria-label': `Delete: ${title}`,
      })
      return el('li', {}, open, remove)
    })
    byId('earlier-list', HTMLElement).replaceChildren(...rows)
  }

  #forget(id: string): void {
    this.#conversations.remove(id)
    this.#drawEarlier()
    const { hidden } = byId('earlier-chats', HTMLElement)
    if (hidden) this.#input.focus()
    else byId('earlier-list', HTMLElement).querySelector('button')?.focus()
  }

  /** What would be sent now. */
  #draft(): readonly Message[] {
    const text = this.#input.value.trim()
    if (text === '' && this.#history.at(-1)?.role === 'assistant') return this.#history.slice(0, -1)
    return [...this.#history, { role: 'user', content: text || 'Hello!' }]
  }

  #body(messages: readonly Message[]): ChatBody {
    const system = this.#system.value.trim()
    const { selected } = this.#models
    // nano has never seen a second question: what was said before only confuses it.
    const seen = chats(selected) ? messages : messages.slice(-1)
    return {
      model: selected,
      messages: [...(system === '' ? [] : [{ role: 'system' as const, content: system }]), ...seen],
      ...samplingFields(),
      ...(this.#canThink && { chat_template_kwargs: { enable_thinking: this.#thinks.checked } }),
    }
  }

  get #canThink(): boolean {
    return this.#models.current?.capabilities?.thinking === true
  }

  #ask(): void {
    const text = this.#input.value.trim()
    if (text === '' || this.#generation) return
    this.#write('')
    const history = this.#history
    history.push({ role: 'user', content: text })
    this.#conversations.keep()
    const at = history.length - 1
    const question = questionView(text, () => this.#edit(at))
    this.#log.append(question)
    void this.#answer((atField) => {
      history.pop()
      this.#write(this.#input.value || text)
      if (atField) question.remove()
      return () => {
        question.remove()
        this.#ask()
      }
    })
  }

  /** A question goes back into the field; the conversation as it was is kept among the earlier ones. */
  #edit(at: number): void {
    const question = this.#history[at]
    if (!question) return
    this.#show(() => this.#conversations.branch(at))
    this.#write(question.content)
    this.#input.focus()
  }

  #write(text: string): void {
    this.#input.value = text
    keepValue(UNSENT, text)
  }

  /** Another answer to the last question; where none comes, the one before is still there. */
  #again(): void {
    const before = this.#log.lastElementChild
    const history = this.#history
    const message = history.at(-1)
    if (this.#generation || message?.role !== 'assistant' || !before) return
    if (before.contains(document.activeElement)) this.#send.focus()
    history.pop()
    before.remove()
    void this.#answer(() => {
      history.push(message)
      if (history === this.#history) this.#log.append(before)
      return () => this.#again()
    })
  }

  /** Answers the last question. `giveBack` undoes what asking did, and says how to ask again. */
  async #answer(giveBack: (atField: boolean) => () => void): Promise<void> {
    clearSettingErrors()
    const generation = new Generation()
    this.#generation = generation
    const { current } = this.#conversations
    const answer = new AnswerView(nameOf(this.#models.selected), atItsEnd)
    this.#log.append(answer.element)
    this.#setBusy(true)
    const draw = framed(() =>
      atItsEnd(() => {
        if (generation.finish === undefined) answer.draw(generation, this.#models.loads.get(this.#models.selected))
      }),
    )
    this.#drawAnswer = draw
    draw()
    toEnd()
    try {
      await this.#models.loadForRequest()
      await generation.run(this.#body(current.messages), settings().project, draw)
      if (generation.stopped && generation.text === '') throw new Error('Stopped.')
      answer.draw(generation, undefined)
      answer.end(generation.text, () => this.#again(), generation)
      current.messages.push({ role: 'assistant', content: generation.text })
      this.#conversations.keep(current)
      announce(generation.stopped ? 'Stopped.' : beginningOf(generation.text))
    } catch (error) {
      const atField = showSettingError(error) || generation.stopped
      const again = giveBack(atField)
      this.#conversations.keep(current)
      if (generation.stopped) announce('Stopped.')
      if (atField || current !== this.#conversations.current) answer.element.remove()
      else {
        const view = failureView(error, () => {
          answer.element.remove()
          again()
        })
        this.#log.append(answer.element)
        answer.fail(view)
      }
    } finally {
      if (this.#generation === generation) this.#generation = undefined
      this.#setBusy(this.#generation !== undefined)
      toEnd()
    }
  }

  /** What it takes to have it stands on the button that sends. */
  #chooseLarger(): void {
    const larger = largerModel(this.#models, this.#machine)
    if (!larger) return
    this.#models.select(larger.id)
    announce(`${nameOf(larger.id)} is chosen.`)
    this.#input.focus()
  }

  #setBusy(busy: boolean): void {
    swap(busy, this.#send, this.#stop)
    this.#drawHint()
  }

  #drawHint(): void {
    const empty = this.#log.childElementCount === 0
    byId('chat-empty', HTMLElement).hidden = !empty
    byId('chat-hint', HTMLElement).hidden = chats(this.#models.selected)
    const larger = largerModel(this.#models, this.#machine)
    this.#larger.hidden = larger === undefined
    this.#larger.textContent = larger ? `Choose ${nameOf(larger.id)}` : ''
    byId('new-chat', HTMLButtonElement).disabled = empty
    byId('chat-save', HTMLButtonElement).disabled = this.#history.length === 0
    byId('chat-thinking', HTMLElement).hidden = !this.#canThink
    this.#send.textContent = actionLabel(this.#models, 'Send')
  }
}

/** Nobody can stop or go back in what is announced: a long answer is read where it stands. */
const beginningOf = (text: string) => (text.length > 400 ? `${text.slice(0, 400).replace(/\s\S*$/, '')} …` : text)

/** On a phone the page itself scrolls. */
const scroller = () => {
  const own = byId('messages-scroll', HTMLElement)
  return getComputedStyle(own).overflowY === 'visible' ? document.documentElement : own
}
/** Who reads the end sees what is drawn there. */
const atItsEnd = (draw: () => void) => {
  const { scrollHeight, scrollTop, clientHeight } = scroller()
  draw()
  if (scrollHeight - scrollTop - clientHeight < 40) toEnd()
}
const toEnd = () => {
  const empty = byId('messages', HTMLElement).childElementCount === 0
  if (!empty && !byId('chat', HTMLElement).hidden) scroller().scrollTo({ top: scroller().scrollHeight })
}
