import type { Part, TokenLogprob } from '../engine.js'
import type { V1Error } from '../errors.js'
import { SSE_DONE, sseEvent } from '../stream/sse.js'
import type { Answer, AnswerHead } from './answer.js'
import { readReturnTokens } from './chat/request.js'
import {
  aBody,
  aBoolean,
  anArray,
  anInteger,
  anObject,
  aString,
  at,
  noteUnknown,
  optional,
  refuse,
  required,
  unsupported,
  wrongType,
} from './fields.js'
import type { CallSpec, Reply, StreamReply, WholeReply } from './reply.js'
import { aToken, readEnding, readSampling, SAMPLING_FIELDS } from './sampling.js'
import { wireUsage } from './usage.js'

export interface TextRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Sent before what the model says. */
  readonly echo: string
  readonly ignored: readonly string[]
}

const KNOWN = new Set([
  ...[
    'model',
    'prompt',
    'max_tokens',
    'n',
    'logprobs',
    'echo',
    'stream',
    'stream_options',
    'user',
    'best_of',
    'suffix',
    'return_token_ids',
  ],
  ...SAMPLING_FIELDS,
])
const aTokenLimit = anInteger(1, Number.MAX_SAFE_INTEGER)
const aChoiceCount = anInteger(1, 128)
const aTopCount = anInteger(0, 5)
const somePrompts = anArray(1, Number.POSITIVE_INFINITY)

export function readTextRequest(json: unknown): TextRequest {
  const body = aBody(json)
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'user', '', aString)
  const n = optional(body, 'n', '', aChoiceCount) ?? 1
  if ((optional(body, 'best_of', '', aChoiceCount) ?? n) !== n) {
    throw unsupported('best_of', "All answers are sent: use 'n' instead.")
  }
  if (optional(body, 'suffix', '', aString))
    throw unsupported('suffix', 'Nothing is filled into the middle of a text here.')
  const model = required(body, 'model', '', aString)
  const prompt = required(body, 'prompt', '', readPrompt)
  const topLogprobs = optional(body, 'logprobs', '', aTopCount)
  const echo = optional(body, 'echo', '', aBoolean) ?? false
  if (echo && (typeof prompt !== 'string' || topLogprobs !== undefined)) {
    throw unsupported('echo', "It goes with a prompt that is one text, and without 'logprobs'.")
  }
  // What the official description says of this endpoint.
  const maxTokens = optional(body, 'max_tokens', '', aTokenLimit) ?? 16
  const stream = optional(body, 'stream', '', aBoolean) ?? false
  const options = optional(body, 'stream_options', '', anObject)
  return {
    stream,
    includeUsage: (options && optional(options, 'include_usage', 'stream_options', aBoolean)) ?? false,
    echo: echo ? (prompt as string) : '',
    ignored,
    spec: {
      model,
      messages: [],
      prompt,
      n,
      maxTokens,
      ...readEnding(body, maxTokens),
      ...readReturnTokens(body),
      sampling: readSampling(body),
      topLogprobs,
      output: { type: 'text' },
      tools: [],
      toolChoice: 'none',
      parallelToolCalls: true,
      fields: { format: 'prompt', parameters: () => 'prompt' },
    },
  }
}

/** A text, or tokens; alone in a list too. Several in one request would be several calls. */
function readPrompt(value: unknown, param: string): string | readonly number[] {
  if (typeof value === 'string') return aText(value, param)
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array', value)
  const items = somePrompts(value, param)
  if (typeof items[0] === 'number') return items.map((item, i) => aToken(item, at(param, i)))
  if (items.length > 1) throw unsupported(param, 'One prompt at a time: send a request for each.')
  return readPrompt(items[0], at(param, 0))
}

function aText(value: unknown, param: string): string {
  const text = aString(value, param)
  if (text === '') throw refuse(param, `Invalid '${param}': there is nothing to go on from.`, 'empty_string')
  return text
}

export function textReply(request: TextRequest): Reply {
  return request.stream ? new TextChunks(request) : new TextWhole(request)
}

function choiceOf(index: number, text: string, logprobs: object | null, finish: string | null) {
  return { index, text, logprobs, finish_reason: finish }
}

const headOf = ({ id, created, model, fingerprint }: AnswerHead) => ({
  id,
  object: 'text_completion',
  created,
  model,
  ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
})

/** In the older form: lists side by side. */
function wireLogprobs(told: readonly TokenLogprob[], offset: number) {
  let at = offset
  return {
    tokens: told.map(({ token }) => token),
    token_logprobs: told.map(({ logprob }) => (Number.isFinite(logprob) ? logprob : -9999)),
    top_logprobs: told.map(({ top }) =>
      Object.fromEntries(top.map((each) => [each.token, Math.max(each.logprob, -9999)])),
    ),
    text_offset: told.map(({ token }) => {
      at += token.length
      return at - token.length
    }),
  }
}

class TextChunks implements StreamReply {
  readonly stream = true
  readonly #request: TextRequest
  readonly #said: number[] = []
  #head: AnswerHead | undefined
  #answer: Answer | undefined

  constructor(request: TextRequest) {
    this.#request = request
  }

  begin(head: AnswerHead, answer: Answer): string {
    this.#head = head
    this.#answer = answer
    const { echo, spec } = this.#request
    return Array.from({ length: spec.n }, (_, i) =>
      echo === '' ? '' : this.#chunk(choiceOf(i, echo, null, null)),
    ).join('')
  }

  part(part: Part): string {
    if (part.type === 'finish')
      return this.#chunk(choiceOf(part.choice, '', null, part.reason === 'length' ? 'length' : 'stop'))
    if (part.type !== 'text-delta' || (part.text === '' && !part.logprobs?.length)) return ''
    const before = this.#said[part.choice] ?? 0
    this.#said[part.choice] = before + part.text.length
    return this.#chunk(
      choiceOf(part.choice, part.text, part.logprobs ? wireLogprobs(part.logprobs, before) : null, null),
    )
  }

  end(): string {
    if (!this.#request.includeUsage) return SSE_DONE
    const usage = wireUsage(this.#answer!.usage)
    return sseEvent(JSON.stringify({ ...headOf(this.#head!), choices: [], usage })) + SSE_DONE
  }

  failed(error: V1Error): string {
    return sseEvent(JSON.stringify(error))
  }

  #chunk(choice: object): string {
    return sseEvent(JSON.stringify({ ...headOf(this.#head!), choices: [choice] }))
  }
}

class TextWhole implements WholeReply {
  readonly stream = false
  readonly #request: TextRequest
  readonly #told: TokenLogprob[][] = []
  #head: AnswerHead | undefined
  #answer: Answer | undefined

  constructor(request: TextRequest) {
    this.#request = request
  }

  begin(head: AnswerHead, answer: Answer): void {
    this.#head = head
    this.#answer = answer
  }

  part(part: Part): void {
    if (part.type !== 'text-delta') return
    this.#told[part.choice] ??= []
    this.#told[part.choice]!.push(...(part.logprobs ?? []))
  }

  whole(): object {
    const { choices, usage, fingerprint = this.#head!.fingerprint } = this.#answer!
    const { echo, spec } = this.#request
    return {
      ...headOf({ ...this.#head!, fingerprint }),
      choices: choices.map(({ index, text, finish }) => {
        const told = spec.topLogprobs === undefined ? null : wireLogprobs(this.#told[index] ?? [], 0)
        return choiceOf(index, echo + text, told, finish === 'length' ? 'length' : 'stop')
      }),
      usage: wireUsage(usage),
    }
  }
}
