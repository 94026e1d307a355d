import { copy } from './copy.js'
import { button, el } from './dom.js'
import { seconds } from './format.js'
import type { Generation } from './generation.js'
import { MarkdownView } from './markdown.js'
import { metricsLine } from './metrics-view.js'
import type { Load } from './models.js'
import { progressView } from './progress-view.js'

/** A question; `edit` takes it back into the field. */
export function questionView(text: string, edit: () => void): HTMLElement {
  const editing = button('Edit', edit, { class: 'quiet small' })
  return el('article', { class: 'message user', 'aria-label': 'You' }, el('p', { class: 'said' }, text), editing)
}

/** An answer, as it comes and once it is there. */
export class AnswerView {
  readonly element: HTMLElement
  readonly #text = el('div', { class: 'said' })
  readonly #said: MarkdownView
  readonly #thought = el('div', { class: 'thought-text' })
  readonly #thoughtHead = el('summary', {})
  readonly #thinking = el('details', { class: 'thought', hidden: true }, this.#thoughtHead, this.#thought)

  /** `around` draws what of a long answer is drawn later, as long as it stands in the page. */
  constructor(from: string, around: (draw: () => void) => void) {
    this.#said = new MarkdownView((draw) => this.element.isConnected && around(draw))
    this.element = el('article', { class: 'message assistant', 'aria-label': from }, this.#thinking, this.#text)
  }

  /** While it comes: what is thought stands open until the answer begins. */
  draw(generation: Generation, load: Load | undefined): void {
    this.element.classList.add('writing')
    const { text, thought, thoughtMs } = generation
    if (thought !== '' && this.#thinking.hidden) {
      this.#thinking.hidden = false
      this.#thinking.open = true
    }
    if (text !== '' && this.#thoughtHead.textContent === 'Thinking') this.#thinking.open = false
    this.#thoughtHead.textContent = text === '' ? 'Thinking' : `Thought for ${seconds((thoughtMs ?? 0) / 1000)}`
    this.#thought.textContent = thought
    if (load && text === '' && thought === '') this.#text.replaceChildren(progressView(load))
    else this.#say(text)
  }

  #say(text: string): void {
    this.#said.say(text)
    const { element } = this.#said
    if (element.parentNode === null) this.#text.replaceChildren(element)
  }

  /** Once it is there; `again` asks for another. */
  end(text: string, again: () => void, generation?: Generation): void {
    this.element.classList.remove('writing')
    this.#say(text)
    const copying: HTMLButtonElement = button('Copy', () => void copy(text, copying), { class: 'quiet small' })
    const another = button('Again', again, { class: 'quiet small again' })
    const line = generation && metricsLine(generation)
    this.element.append(el('div', { class: 'message-foot' }, line, el('div', { class: 'actions' }, copying, another)))
  }

  fail(view: HTMLElement): void {
    this.element.classList.remove('writing')
    this.element.replaceChildren(view)
  }
}
