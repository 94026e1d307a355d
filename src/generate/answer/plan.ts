import { type ChatCall, type OutputGrammar, V1Error } from '../../contract/index.js'
import { headOf } from '../channels.js'
import type { ChatText } from '../chat-text.js'
import type { DraftSource } from '../drafts/source.js'
import type { Read } from '../evidence/others-read.js'
import type { Grounds } from '../sources/grounds.js'
import { mustHaveForm, thoughtBudget, thoughtWish } from '../thinking.js'
import { tooLong } from '../too-long.js'
import type { PromptScores } from './prompt-scores.js'
import type { SettledSampling } from './sampling.js'

/** How many tokens an answer may have, and how many it needs. */
export interface AnswerRoom {
  readonly limit: number
  /** The fewest tokens of the answer, without thoughts. */
  readonly shortest: number
  /** Those that it may have beyond the fewest, thoughts included. */
  readonly spare: number
}

/** Refuses a call that cannot end well, and says what room each answer has. `opened`: its prompt ends within a thought. */
export function checkCall(
  call: ChatCall,
  promptTokens: number,
  opened: boolean,
  capacity: number,
  text: ChatText,
  vocabSize: number,
): AnswerRoom {
  for (const token of call.sampling.logitBias?.keys() ?? []) {
    if (Number.isInteger(token) && token >= 0 && token < vocabSize) continue
    throw new V1Error(400, `Invalid key in 'logit_bias': ${token} is not a token of this model.`, {
      param: 'logit_bias',
    })
  }
  for (const [i, token] of (call.stopTokens ?? []).entries()) {
    if (token < vocabSize) continue
    throw new V1Error(400, `Invalid 'stop_token_ids[${i}]': ${token} is not a token of this model.`, {
      param: `stop_token_ids[${i}]`,
    })
  }
  // A model may have more logits than there are tokens.
  const tokens = Math.min(vocabSize, text.tokenizer.size)
  for (const token of typeof call.prompt === 'object' ? call.prompt : []) {
    if (token >= 0 && token < tokens) continue
    throw new V1Error(400, `Invalid 'prompt': ${token} is not a token of this model.`, { param: 'prompt' })
  }
  if (promptTokens === 0) throw new V1Error(400, "Invalid 'prompt': the prompt is empty.", { param: 'prompt' })
  // The last token of an answer is never fed, so a context may be filled to one more.
  const room = capacity - promptTokens + 1
  if (room < 1 || (room === 1 && call.maxTokens !== 0)) throw tooLong(capacity, promptTokens)
  const limit = Math.min(call.maxTokens ?? room, room)
  const shortest = shortestAnswer(call, text)
  const whole = shortest + (opened && mustHaveForm(call) ? text.endOfThought.length : 0)
  if (whole > limit) {
    if (limit === call.maxTokens) throw tooShort(limit, whole)
    throw tooLong(capacity, promptTokens + whole)
  }
  return { limit, shortest, spare: limit - whole }
}

/** The fewest tokens in which the answer can be complete. */
function shortestAnswer(call: ChatCall, text: ChatText): number {
  const least = (grammar: OutputGrammar) => grammar.start(text.vocabulary).shortest
  if (call.toolGrammar !== undefined && call.toolChoice !== 'auto' && call.toolChoice !== 'none') {
    return text.tokenizer.encodeMarker(text.toolFormat.open).length + least(text.toolFormat.grammar(call))
  }
  if (call.grammar === undefined) return 0
  const head = text.channels && call.prompt === undefined ? headOf(text.channels) : ''
  return text.tokenizer.encodeMarker(head).length + least(call.grammar)
}

function tooShort(limit: number, shortest: number): V1Error {
  return new V1Error(
    400,
    `The token limit of ${limit} is too small: the shortest answer in the requested format takes ${shortest} tokens.`,
    { param: 'max_tokens', code: 'max_tokens_too_small' },
  )
}

/** What an answer is built from; the same for all choices of a call. */
export interface AnswerPlan {
  readonly call: ChatCall
  /** In place of the call's. */
  readonly sampling: SettledSampling
  readonly text: ChatText
  readonly prompt: readonly number[]
  /** What is to be known of the prompt before any answer begins. */
  readonly scores: PromptScores | undefined
  /** Where the values of documents may come from, where that is to be told. */
  readonly grounds: Grounds | undefined
  /** Reads tokens beside the answers, and tells of the one that would come next. */
  readonly read: Read
  /** An answer that has waited goes on. */
  readonly wake: () => void
  /** The prompt ends within a thought. */
  readonly opened: boolean
  /** The fewest tokens in which what is said can be complete. */
  readonly shortest: number
  /** Tokens that the answer may have. */
  readonly limit: number
  /** What values may be guessed from; absent: the model draws one token of an answer a step. */
  readonly source?: (() => DraftSource) | undefined
  /** Logits per position: the length of masks. */
  readonly vocabSize: number
}

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
