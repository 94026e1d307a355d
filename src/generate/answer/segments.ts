import type { ChatCall, OutputGrammar } from '../../contract/index.js'
import { headOf } from '../channels.js'
import type { ChatText } from '../chat-text.js'
import { mustHaveForm, thoughtBudget, thoughtWish } from '../thinking.js'
import type { AnswerPlan } from './plan.js'

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

/** What an answer is made of, one after the other. A call may be followed by further calls, free text by a call. */
export type Segment =
  /** Written in the model's place, and shown to nobody. */
  | { readonly kind: 'literal'; readonly text: string }
  /**
   * Free text that is no part of what is said. It ends at its mark, or with its budget of tokens. `lead`: what of the mark
   * that opens it may still come; `written`: what of its text is there already.
   */
  | { readonly kind: 'thought'; readonly budget: number; readonly lead?: string; readonly written?: string }
  | { readonly kind: 'document'; readonly grammar: OutputGrammar }
  /** `written`: what of its marker is there already. */
  | { readonly kind: 'call'; readonly written?: string }
  /** After a call: whether another one follows. */
  | { readonly kind: 'between' }
  | { readonly kind: 'text' }
  /** The head of a message, after which it is known what the message is; `again`: not of the first. */
  | { readonly kind: 'channel'; readonly again?: boolean }

/** The segments of an answer to `call`, from where its prompt ends. */
export function segmentsOf({ call, text, limit, opened, shortest }: AnswerPlan, { mustOpen }: Markers): Segment[] {
  const channels = call.prompt === undefined ? text.channels : undefined
  const segments: Segment[] = mustOpen
    ? [{ kind: 'call' }]
    : call.grammar !== undefined
      ? [...literals(channels && headOf(channels)), { kind: 'document', grammar: call.grammar }]
      : [{ kind: channels ? 'channel' : 'text' }]
  const marks = text.thoughtMarks
  if (marks === undefined || call.prompt !== undefined) return segments
  const again = channels?.again ?? ''
  const ending = text.tokenizer.encodeMarker(`\n${marks.close}${marks.gap}${again}`).length
  if (opened) return [{ kind: 'thought', budget: thoughtBudget(call, limit, ending + shortest) }, ...segments]
  // Free text finds the mark by itself, where the model writes it.
  if (!mustHaveForm(call) || thoughtWish(call) !== 'think') return segments
  const opening = text.tokenizer.encodeMarker(marks.open).length
  const budget = thoughtBudget(call, limit, opening + ending + shortest)
  return budget < 1
    ? segments
    : [{ kind: 'literal', text: marks.open }, { kind: 'thought', budget }, ...literals(again), ...segments]
}

const literals = (text = ''): Segment[] => (text === '' ? [] : [{ kind: 'literal', text }])
