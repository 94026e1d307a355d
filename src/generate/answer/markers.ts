import type { ChatCall } from '../../contract/index.js'
import type { ChatText } from '../chat-text.js'

/** The markers of a model's tool calls, in text and in tokens. */
export class Markers {
  /** The call may be answered by a tool call, if the model opens one. */
  readonly mayOpen: boolean
  /** It must be. */
  readonly mustOpen: boolean
  /** What to look for in the text; empty for models that write calls without a marker. */
  readonly trigger: string
  /** The control token that a call begins with, where it begins with one: no text tells of it. Asked for at each token. */
  readonly control: number | undefined
  readonly #call: ChatCall
  readonly #text: ChatText

  constructor(call: ChatCall, text: ChatText) {
    const { toolChoice, toolGrammar } = call
    this.mayOpen = toolGrammar !== undefined && toolChoice === 'auto'
    this.mustOpen = toolGrammar !== undefined && toolChoice !== 'auto' && toolChoice !== 'none'
    const { open, bare } = text.toolFormat
    // Where only an answer's beginning is a call, the same letters further on are talk.
    this.trigger = bare === undefined ? open.trimEnd() : ''
    this.#call = call
    this.#text = text
    const first = this.mayOpen ? this.opening('')[0] : undefined
    this.control = first !== undefined && text.tokenizer.bytes(first).length === 0 ? first : undefined
  }

  /** Tokens of the opening marker that are missing after `written`. */
  opening(written: string): number[] {
    const { open } = this.#text.toolFormat
    return this.#text.tokenizer.encodeMarker(open.startsWith(written) ? open.slice(written.length) : open)
  }

  get closing(): number[] {
    return this.#text.tokenizer.encodeMarker(this.#text.toolFormat.close)
  }

  /** Tokens that a call takes with its marker, at least. */
  get shortest(): number {
    const { between = '', open } = this.#text.toolFormat
    return this.#shortestAfter(this.#text.tokenizer.encodeMarker(between + open))
  }

  /** The same of one more call in a list. */
  get shortestNext(): number {
    return this.#shortestAfter(this.separator)
  }

  #shortestAfter(marker: readonly number[]): number {
    return marker.length + this.#text.toolFormat.grammar(this.#call).start(this.#text.vocabulary).shortest
  }

  /** Tokens between two calls of a list; empty where there is none, or the model could not choose by one token. */
  get separator(): number[] {
    const { separator, close } = this.#text.toolFormat
    if (separator === undefined) return []
    const tokens = this.#text.tokenizer.encodeMarker(separator)
    return tokens[0] === this.#text.tokenizer.encodeMarker(close)[0] ? [] : tokens
  }

  /** Tokens that lead from a closed call into the next; empty where a model makes one call only. */
  get next(): number[] {
    const { between, open } = this.#text.toolFormat
    return between === undefined ? [] : this.#text.tokenizer.encodeMarker(between + open)
  }
}
