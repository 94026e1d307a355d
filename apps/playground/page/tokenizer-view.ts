import { ask } from './api.js'
import { byId, el } from './dom.js'
import { failureView } from './failure-view.js'
import { whole } from './format.js'
import { keepValue, keptValue } from './kept.js'
import { setText } from './long-lines.js'
import type { Models } from './models.js'

/** Who types goes on typing within this. */
const PAUSE_MS = 250
/** Of a longer text only the first are drawn. */
const MOST_DRAWN = 2000
const KEPT = 'local-v1 playground tokenizer'

interface Tokenized {
  readonly count: number
  readonly max_model_len: number | null
  readonly tokens: readonly number[]
  readonly token_strs: readonly string[]
}

/** A text as the model reads it, token by token, while it is being written. */
export class TokenizerView {
  readonly #models: Models
  readonly #panel = byId('tokenizer', HTMLElement)
  readonly #text = byId('tokenizer-text', HTMLTextAreaElement)
  readonly #chat = byId('tokenizer-chat', HTMLInputElement)
  readonly #state = byId('tokenizer-state', HTMLElement)
  readonly #answer = byId('tokenizer-answer', HTMLElement)
  #aborter: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whose tokens are there. */
  #sent = ''

  constructor(models: Models) {
    this.#models = models
    setText(this.#text, keptValue<string>(KEPT) ?? this.#text.value)
    this.#text.addEventListener('input', () => keepValue(KEPT, this.#text.value))
    for (const field of [this.#text, this.#chat]) field.addEventListener('input', () => this.#follow(PAUSE_MS))
    byId('tokenizer-count', HTMLButtonElement).addEventListener('click', () => void this.#count(this.#body()))
    this.#panel.addEventListener('shown', () => this.#follow(0))
    models.onChange(() => this.#follow(0))
    this.#follow(0)
  }

  #body(): string {
    const content = this.#text.value
    const input = this.#chat.checked ? { messages: [{ role: 'user', content }] } : { prompt: content }
    return JSON.stringify({ model: this.#models.selected, ...input, return_token_strs: true })
  }

  /** Once who types pauses, where the model is here already: nothing is downloaded for a letter. */
  #follow(pause: number): void {
    const body = this.#body()
    if (body === this.#sent || !this.#panel.checkVisibility()) return
    clearTimeout(this.#timer)
    this.#aborter?.abort()
    this.#sent = ''
    this.#state.textContent = ''
    if (this.#models.current?.metadata?.loaded) this.#timer = setTimeout(() => void this.#count(body), pause)
    else this.#answer.replaceChildren()
  }

  async #count(body: string): Promise<void> {
    clearTimeout(this.#timer)
    this.#aborter?.abort()
    const aborter = new AbortController()
    const { signal } = aborter
    this.#aborter = aborter
    this.#sent = body
    try {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal }
      const found = (await (await ask('/tokenize', init)).json()) as Tokenized
      if (!signal.aborted) this.#show(found)
    } catch (error) {
      if (signal.aborted) return
      this.#sent = ''
      this.#answer.replaceChildren(failureView(error, () => void this.#count(this.#body())))
    }
  }

  #show({ count, max_model_len: most, tokens, token_strs: texts }: Tokenized): void {
    this.#state.textContent = `${whole(count)} ${count === 1 ? 'token' : 'tokens'}${most ? ` of ${whole(most)}` : ''}`
    const drawn = texts.slice(0, MOST_DRAWN).map((text, i) => {
      // Of a part of a letter there is nothing to see.
      const seen = text === '' ? '·' : text.replaceAll('\n', '↵\n')
      return el('span', { class: 'sampled', title: `Token ${tokens[i]}` }, seen)
    })
    const more = count > MOST_DRAWN && el('p', { class: 'muted' }, `The first ${whole(MOST_DRAWN)} are shown.`)
    const ids = el('pre', { class: 'code', tabindex: 0, 'aria-label': 'Token ids' }, `[${tokens.join(', ')}]`)
    this.#answer.replaceChildren(
      el('pre', { class: 'tokens', tabindex: 0, 'aria-label': 'Tokens of the text' }, ...drawn),
      ...(more ? [more] : []),
      el('details', { class: 'system' }, el('summary', {}, 'Token ids'), ids),
    )
  }
}
