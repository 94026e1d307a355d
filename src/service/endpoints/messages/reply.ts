import type { Part, Usage, V1Error } from '../../../contract/index.js'
import { rawObjectOf } from '../../../platform/index.js'
import type { Dialect } from '../../answer/service.js'
import { sseEventOf } from '../../stream/sse.js'
import { sealed } from '../../wire/ids.js'
import { InOrder } from '../../wire/in-order.js'
import type { Answer, ReplyHead, StreamReply, WholeReply } from '../../wire/reply.js'
import type { MessageRequest } from './request.js'

const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
])

/** An error in Anthropic's form, which has no place for the field at fault but its message. */
export function messagesError({ status, message: text, param, code }: V1Error, requestId: string) {
  const message = param === null || text.includes(param) ? text : `${param}: ${text}`
  const type = TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const error = { type, message, ...(code !== null && { details: { error_code: code } }) }
  return { type: 'error', error, request_id: requestId }
}

export const messagesDialect: Dialect = { error: messagesError, requestIdHeader: 'request-id' }

export type MessageEvent = { readonly type: string } & Readonly<Record<string, unknown>>

/** Without `citations`, which Anthropic tells where there are some: a client that checks its answers takes no null. */
interface TextBlock {
  readonly type: 'text'
  text: string
}

interface ThinkingBlock {
  readonly type: 'thinking'
  thinking: string
  signature: string
}

interface ToolUseBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  input: unknown
  readonly caller: { readonly type: 'direct' }
}

type Block = TextBlock | ThinkingBlock | ToolUseBlock

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use'

export interface Message {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly Block[]
  readonly stop_reason: StopReason | null
  readonly stop_sequence: string | null
  readonly stop_details: null
  readonly container: null
  readonly diagnostics: null
  readonly usage: MessageUsage
}

export interface MessageUsage {
  /** Without those that came from the cache. */
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly output_tokens: number
  readonly output_tokens_details: { readonly thinking_tokens: number }
  readonly server_tool_use: null
}

/** A block as it was begun, and what of it is not in it yet. */
interface Open {
  readonly block: Block
  /** The place of a tool call in the answer. */
  readonly call?: number
  /** Arguments of a tool so far; a thought that is not shown. */
  held: string
}

/** What a request says of what it is told. */
type Shown = Pick<MessageRequest, 'showsThoughts' | 'warms'>

/** Nobody checks it here; clients send it back as it is. */
const SIGNATURE = 'local-v1'

/**
 * A message as it comes into being: takes the parts of the engine's answer, keeps the blocks they make up, and tells
 * each step as the events of a stream. A whole message is the same with nobody listening.
 */
export class MessageProgress implements WholeReply {
  readonly stream = false
  readonly #request: Shown
  readonly #tell: (event: MessageEvent) => void
  readonly #blocks: Block[] = []
  #head: ReplyHead | undefined
  #answer: Answer | undefined
  #open: Open | undefined
  readonly #order = new InOrder((part) => this.#take(part))
  #stopReason: StopReason | null = null
  #stopSequence: string | null = null

  constructor(request: Shown, tell: (event: MessageEvent) => void = () => {}) {
    this.#request = request
    this.#tell = tell
  }

  whole(): Message {
    const { id, model } = this.#head!
    return {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: this.#blocks,
      stop_reason: this.#stopReason,
      stop_sequence: this.#stopSequence,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        ...this.#usage,
        ...{ cache_creation: null, service_tier: 'standard', inference_geo: null, speed: null },
      },
    }
  }

  begin(head: ReplyHead, answer: Answer): void {
    this.#head = head
    this.#answer = answer
    if (this.#request.warms) answer.silence()
    this.#tell({ type: 'message_start', message: this.whole() })
  }

  part(part: Part): void {
    if (!this.#request.warms || part.type === 'finish') this.#order.take(part)
  }

  #take(part: Part): void {
    if (part.type === 'text-delta') this.#text(part.text)
    else if (part.type === 'reasoning-delta') this.#think(part.text)
    else if (part.type === 'tool-call-delta') this.#call(part)
    else if (part.type === 'finish') this.#finish(part)
  }

  complete(): void {
    const ended = { stop_reason: this.#stopReason, stop_sequence: this.#stopSequence }
    const delta = { ...ended, stop_details: null, container: null }
    this.#tell({ type: 'message_delta', delta, usage: this.#usage })
    this.#tell({ type: 'message_stop' })
  }

  #text(text: string): void {
    if (text === '') return
    let block = this.#open?.block
    if (block?.type !== 'text') {
      block = { type: 'text', text: '' }
      this.#begin(block)
    }
    block.text += text
    this.#delta({ type: 'text_delta', text })
  }

  #think(text: string): void {
    if (text === '') return
    let block = this.#open?.block
    if (block?.type !== 'thinking') {
      block = { type: 'thinking', thinking: '', signature: '' }
      this.#begin(block)
    }
    if (!this.#request.showsThoughts) {
      this.#open!.held += text
      return
    }
    block.thinking += text
    this.#delta({ type: 'thinking_delta', thinking: text })
  }

  #call({ index, arguments: text }: Part & { type: 'tool-call-delta' }): void {
    if (this.#open?.call !== index) {
      const { id, name } = this.#answer!.choices[0]!.toolCalls[index]!
      this.#begin({ type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }, index)
    }
    if (text === '') return
    this.#open!.held += text
    this.#delta({ type: 'input_json_delta', partial_json: text })
  }

  #finish({ reason, stop }: Part & { type: 'finish' }): void {
    const called = this.#blocks.some(({ type }) => type === 'tool_use')
    this.#close()
    if (reason === 'length' || this.#request.warms) this.#stopReason = 'max_tokens'
    else if (reason === 'tool_calls' || called) this.#stopReason = 'tool_use'
    else this.#stopReason = stop === undefined ? 'end_turn' : 'stop_sequence'
    if (this.#stopReason === 'stop_sequence') this.#stopSequence = stop!
  }

  #begin(block: Block, call?: number): void {
    this.#close()
    this.#blocks.push(block)
    this.#open = { block, held: '', ...(call !== undefined && { call }) }
    this.#tell({ type: 'content_block_start', index: this.#at, content_block: { ...block } })
  }

  #close(): void {
    if (!this.#open) return
    const { block, held } = this.#open
    if (block.type === 'thinking') {
      // What is not shown comes back with the conversation all the same.
      block.signature = this.#request.showsThoughts ? SIGNATURE : sealed(held)
      this.#delta({ type: 'signature_delta', signature: block.signature })
    } else if (block.type === 'tool_use') block.input = rawObjectOf(held)
    this.#tell({ type: 'content_block_stop', index: this.#at })
    this.#open = undefined
  }

  get #usage(): MessageUsage {
    return usageOf(this.#answer!.usage)
  }

  get #at(): number {
    return this.#blocks.length - 1
  }

  #delta(delta: object): void {
    this.#tell({ type: 'content_block_delta', index: this.#at, delta })
  }
}

function usageOf({ promptTokens, completionTokens, cachedTokens, reasoningTokens = 0 }: Usage): MessageUsage {
  return {
    // Behind some servers what came from the cache is not counted as part of the prompt.
    input_tokens: Math.max(0, promptTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  }
}

/** A message as its events. */
export class MessageEvents implements StreamReply {
  readonly stream = true
  readonly #progress: MessageProgress
  readonly #requestId: string
  #events = ''

  constructor(request: Shown, requestId: string) {
    this.#requestId = requestId
    this.#progress = new MessageProgress(request, (event) => {
      this.#events += sseEventOf(event.type, JSON.stringify(event))
    })
  }

  begin(head: ReplyHead, answer: Answer): string {
    this.#progress.begin(head, answer)
    return this.#taken()
  }

  part(part: Part): string {
    this.#progress.part(part)
    return this.#taken()
  }

  end(): string {
    this.#progress.complete()
    return this.#taken()
  }

  failed(error: V1Error): string {
    return sseEventOf('error', JSON.stringify(messagesError(error, this.#requestId)))
  }

  #taken(): string {
    const events = this.#events
    this.#events = ''
    return events
  }
}
