import { button, el } from './dom.js'
import { keepValue, keptValue } from './kept.js'

/** Edits outlive a reload, and what an example or a link takes the place of can be brought back. */
export class Drafts<Draft extends object> {
  readonly #name: string
  #edited: boolean
  current: Draft | undefined

  constructor(name: string) {
    this.#name = `local-v1 playground ${name}`
    const kept = keptValue<{ draft: Draft; edited: boolean }>(this.#name)
    this.current = kept?.draft
    this.#edited = kept?.edited ?? false
  }

  get #aside(): string {
    return `${this.#name}, aside`
  }

  /** Whether somebody wrote something of their own. */
  get edited(): boolean {
    return this.#edited
  }

  get aside(): Draft | undefined {
    return keptValue<Draft>(this.#aside)
  }

  keep(draft: Draft): void {
    this.current = draft
    this.#edited = true
    this.#write()
  }

  /** Takes the place of what is there. Edits go aside; an example that nobody touched is not worth it. */
  replace(draft: Draft): void {
    if (this.#edited && this.current) keepValue(this.#aside, this.current)
    this.current = draft
    this.#edited = false
    this.#write()
  }

  /** What was put aside, in the place of what is there now. */
  bringBack(): Draft | undefined {
    const { aside } = this
    if (!aside) return undefined
    keepValue(this.#aside, undefined)
    this.current = aside
    this.#edited = true
    this.#write()
    return aside
  }

  letGo(): void {
    keepValue(this.#aside, undefined)
  }

  #write(): void {
    keepValue(this.#name, { draft: this.current, edited: this.#edited })
  }
}

export const asideNotice = (what: string, back: () => void, discard: () => void): HTMLElement[] => [
  el('span', {}, `Your earlier ${what} was set aside.`),
  el(
    'div',
    { class: 'actions' },
    button('Restore', back, { class: 'small' }),
    button('Discard', discard, { class: 'quiet small' }),
  ),
]

/** Says that something was put aside, and gives it back; the returned function draws it anew. */
export function asideView<Draft extends object>(
  place: HTMLElement,
  drafts: Drafts<Draft>,
  show: (draft: Draft) => void,
  after: () => void,
): () => void {
  const end = () => {
    draw()
    after()
  }
  const back = () => {
    const draft = drafts.bringBack()
    if (draft) show(draft)
    end()
  }
  const discard = () => {
    drafts.letGo()
    end()
  }
  place.append(...asideNotice('text', back, discard))
  const draw = () => {
    place.hidden = drafts.aside === undefined
  }
  draw()
  return draw
}
