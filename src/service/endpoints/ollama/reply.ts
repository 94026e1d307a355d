import type { Part, TokenLogprob, V1Error } from '../../../contract/index.js'
import { objectIn, rawObjectOf, textOfJson } from '../../../platform/index.js'
import type { Dialect } from '../../answer/service.js'
import { InOrder } from '../../wire/in-order.js'
import { type Answer, type ReplyHead, type StreamReply, type WholeReply, wireLogprob } from '../../wire/reply.js'

/** An error in Ollama's form, whose one text has the field at fault too. */
export function ollamaError({ message, param }: V1Error): { readonly error: string } {
  return { error: param === null || names(message, param) ? message : `'${param}': ${message}` }
}

/** As a word of its own: `response_format` is not `format`. */
function names(message: string, param: string): boolean {
  const at = message.indexOf(param)
  return at >= 0 && !/\w/.test(message.charAt(at - 1)) && !/\w/.test(message.charAt(at + param.length))
}

export const ollamaDialect: Dialect = { error: ollamaError, requestIdHeader: 'x-request-id' }

/** What an answer, or a piece of one, says. */
export interface Piece {
  readonly text: string
  readonly thinking?: string
  readonly toolCalls?: readonly WireToolCall[]
}

export interface WireToolCall {
  readonly id: string
  readonly function: { readonly index: number; readonly name: string; readonly arguments: object }
}

/** The fields in which an endpoint returns a piece of the answer. */
export type ReplyForm = (piece: Piece) => object

export const asMessage: ReplyForm = ({ text, thinking, toolCalls }) => ({
  message: {
    role: 'assistant',
    content: text,
    ...(thinking && { thinking }),
    ...(toolCalls && toolCalls.length > 0 && { tool_calls: toolCalls }),
  },
})

export const asResponse: ReplyForm = ({ text, thinking }) => ({ response: text, ...(thinking && { thinking }) })

/** Newline-delimited JSON, which no proxy shall gather. */
export const LINE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/x-ndjson',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** JSON may hold them as they are, but where Python reads lines (`httpx`, so Ollama's client) they end one. */
const OTHER_BREAKS = /[\u0085\u2028\u2029]/g

export const ndjsonLine = (value: object): string =>
  `${textOfJson(value).replace(OTHER_BREAKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`

/** Builds the lines of an answer, each with the model's name, and at last with how long it took. */
class ReplyBuilder {
  readonly #name: string
  readonly #form: ReplyForm
  readonly #began = performance.now()
  #calledAt = 0
  #firstAt = 0
  #answer: Answer | undefined
  /** The call that is being written. */
  #writing: number | undefined

  constructor(name: string, form: ReplyForm) {
    this.#name = name
    this.#form = form
  }

  begin({ calledAt }: ReplyHead, answer: Answer): void {
    this.#calledAt = calledAt
    this.#firstAt = performance.now()
    this.#answer = answer
  }

  saw(part: Part): void {
    if (part.type === 'tool-call-delta') this.#writing = part.index
    else if (part.type === 'text-delta' && part.text !== '') this.#writing = undefined
  }

  get choice() {
    return this.#answer!.choices[0]!
  }

  piece(piece: Piece, logprobs: readonly TokenLogprob[] = []): object {
    return { ...this.#head(piece), done: false, ...logprobsOf(logprobs) }
  }

  /** The last line, or the whole answer. */
  done(piece: Piece, logprobs: readonly TokenLogprob[] = []): object {
    const { promptTokens, completionTokens } = this.#answer!.usage
    const now = performance.now()
    return {
      ...this.#head(piece),
      done: true,
      done_reason: this.choice.finish === 'length' ? 'length' : 'stop',
      total_duration: nanoseconds(now - this.#began),
      // With the wait for its turn.
      load_duration: nanoseconds(this.#calledAt - this.#began),
      prompt_eval_count: promptTokens,
      prompt_eval_duration: nanoseconds(this.#firstAt - this.#calledAt),
      eval_count: completionTokens,
      eval_duration: nanoseconds(now - this.#firstAt),
      ...logprobsOf(logprobs),
    }
  }

  /** None of one that was cut off: clients run what they are told of, however the answer ended. */
  call(index: number): readonly WireToolCall[] {
    const call = this.choice.toolCalls[index]
    if (!call) return []
    const isWhole = objectIn(call.arguments) || (call.arguments === '' && index !== this.#writing)
    if (this.choice.finish === 'length' && !isWhole) return []
    return [{ id: call.id, function: { index, name: call.name, arguments: rawObjectOf(call.arguments) } }]
  }

  #head(piece: Piece) {
    return { model: this.#name, created_at: new Date().toISOString(), ...this.#form(piece) }
  }
}

export const nanoseconds = (ms: number): number => Math.round(ms * 1e6)

const logprobsOf = (logprobs: readonly TokenLogprob[]) =>
  logprobs.length > 0 ? { logprobs: logprobs.map(wireLogprob) } : {}

/** An answer as it comes, a line for each piece; a call is one piece. */
export class ReplyLines implements StreamReply {
  readonly stream = true
  readonly headers = LINE_HEADERS
  readonly #builder: ReplyBuilder
  readonly #order = new InOrder((part) => {
    this.#lines += this.#lineOf(part)
  })
  #lines = ''
  /** The call that is being written. */
  #open: number | undefined

  constructor(name: string, form: ReplyForm) {
    this.#builder = new ReplyBuilder(name, form)
  }

  begin(head: ReplyHead, answer: Answer): string {
    this.#builder.begin(head, answer)
    return ''
  }

  part(part: Part): string {
    this.#lines = ''
    this.#builder.saw(part)
    this.#order.take(part)
    return this.#lines
  }

  #lineOf(part: Part): string {
    if (part.type === 'text-delta') {
      if (part.text === '' && !part.logprobs) return ''
      return this.#called() + ndjsonLine(this.#builder.piece({ text: part.text }, part.logprobs))
    }
    if (part.type === 'reasoning-delta') return ndjsonLine(this.#builder.piece({ text: '', thinking: part.text }))
    if (part.type === 'finish') return this.#called()
    if (part.type !== 'tool-call-delta' || part.index === this.#open) return ''
    const before = this.#called()
    this.#open = part.index
    return before
  }

  end(): string {
    return ndjsonLine(this.#builder.done({ text: '' }))
  }

  failed(error: V1Error): string {
    return ndjsonLine(ollamaError(error))
  }

  /** The call that is whole now. */
  #called(): string {
    const index = this.#open
    if (index === undefined) return ''
    this.#open = undefined
    const toolCalls = this.#builder.call(index)
    return toolCalls.length === 0 ? '' : ndjsonLine(this.#builder.piece({ text: '', toolCalls }))
  }
}

/** An answer that is told once it is whole. */
export class ReplyDocument implements WholeReply {
  readonly stream = false
  readonly #builder: ReplyBuilder
  readonly #logprobs: TokenLogprob[] = []

  constructor(name: string, form: ReplyForm) {
    this.#builder = new ReplyBuilder(name, form)
  }

  begin(head: ReplyHead, answer: Answer): void {
    this.#builder.begin(head, answer)
  }

  part(part: Part): void {
    this.#builder.saw(part)
    if (part.type === 'text-delta' && part.logprobs) this.#logprobs.push(...part.logprobs)
  }

  whole(): object {
    const { text, reasoning, toolCalls } = this.#builder.choice
    const told = toolCalls.flatMap((_, i) => this.#builder.call(i))
    return this.#builder.done({ text, thinking: reasoning, toolCalls: told }, this.#logprobs)
  }
}
