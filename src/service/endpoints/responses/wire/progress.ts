import type { Part, TokenLogprob, Usage, V1Error } from '../../../../contract/index.js'
import { objectOf } from '../../../../platform/index.js'
import { evidenceIn, withEvidence } from '../../../wire/evidence.js'
import { itemId, sealed, seconds } from '../../../wire/ids.js'
import { InOrder } from '../../../wire/in-order.js'
import { NO_USAGE, wireLogprob } from '../../../wire/reply.js'
import { CallInput, customNames } from '../../../wire/tools.js'
import { type OwnTool, ownTools } from './own-tools.js'
import type {
  CustomCallItem,
  FunctionCallItem,
  MessageItem,
  OutputItem,
  OutputText,
  OwnCallItem,
  ReasoningItem,
  ResponseEcho,
  ResponseResource,
  ResponseStatus,
  ResponseUsage,
  ToolSearchItem,
} from './resource.js'
import type { ResponseTools } from './tools.js'

/** One event of a stream, numbered. */
export type ResponseEvent = { readonly type: string; readonly sequence_number: number } & Readonly<
  Record<string, unknown>
>

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type CallDraft = Mutable<FunctionCallItem> | Mutable<CustomCallItem>
/** A call that is told once it is whole: a client may act on what it is told. */
interface OwnDraft {
  readonly tool: OwnTool
  readonly id: string
  readonly call_id: string
  arguments: string
}
type Draft = Mutable<Exclude<OutputItem, OwnCallItem>> | WholeDraft
/** Told once it is whole. */
type WholeDraft = Mutable<OwnCallItem> | Mutable<ToolSearchItem>

export interface ResponseHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly model: string
  readonly echo: ResponseEcho
  readonly sealThoughts: boolean
  readonly tools: CalledTools
}

type CalledTools = Pick<ResponseTools, 'tools' | 'spaces' | 'later' | 'deferred'>

/** In which form calls of tools are told: as texts, in one of their own, under the name of a namespace, for later. */
const formsOf = ({ tools, ...forms }: CalledTools) => ({ custom: customNames(tools), own: ownTools(tools), ...forms })

/**
 * A response as it comes into being: takes the parts of the engine's answer, keeps the items they make up, and tells
 * each step as the events of a stream. A whole answer is the same with nobody listening.
 */
export class ResponseProgress {
  status: ResponseStatus = 'in_progress'
  readonly #head: ResponseHead
  #forms: ReturnType<typeof formsOf>
  readonly #output: Draft[] = []
  #own: (OwnDraft & { readonly call: number }) | undefined
  readonly #tell: (event: ResponseEvent) => void
  #open: { readonly item: Draft; readonly call?: number } | undefined
  readonly #order = new InOrder((part) => this.#take(part))
  #logprobs: OutputText['logprobs'][number][] = []
  #thoughts = ''
  #input = new CallInput()
  readonly #searched = new Set<string>()
  #usage: Usage = NO_USAGE
  #cut = false
  #error: ResponseResource['error'] = null
  #completedAt: number | null = null
  #sequence = 0

  constructor(head: ResponseHead, tell: (event: ResponseEvent) => void = () => {}) {
    this.#head = head
    this.#forms = formsOf(head.tools)
    this.#tell = tell
  }

  /** Before it begins: what it goes on from brought more tools. */
  knows(tools: CalledTools): void {
    this.#forms = formsOf(tools)
  }

  get resource(): ResponseResource {
    const { id, createdAt, model, echo } = this.#head
    return {
      id,
      object: 'response',
      created_at: createdAt,
      completed_at: this.#completedAt,
      status: this.status,
      incomplete_details: this.status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      error: this.#error,
      model,
      output: this.#output.map((item) => ({ ...item }) as OutputItem),
      usage: wireResponseUsage(this.#usage),
      ...echo,
    }
  }

  /** Says that it waits for its turn. */
  queued(): void {
    this.status = 'queued'
    this.#say('response.created', { response: this.resource })
    this.#say('response.queued', { response: this.resource })
  }

  begin(): void {
    const announced = this.status === 'queued'
    this.status = 'in_progress'
    if (!announced) this.#say('response.created', { response: this.resource })
    this.#say('response.in_progress', { response: this.resource })
  }

  take(part: Part): void {
    this.#order.take(part)
  }

  #take(part: Part): void {
    if (part.type === 'text-delta') this.#text(part.text, part.logprobs)
    else if (part.type === 'tool-call-delta') this.#call(part)
    else if (part.type === 'usage') this.#usage = part.usage
    else if (part.type === 'evidence') this.#tellEvidence(part)
    else if (part.type === 'reasoning-delta') this.think(part.text)
    else if (part.type === 'finish') {
      this.#cut = part.reason === 'length'
      const status = this.#cut ? 'incomplete' : 'completed'
      this.#close(status)
      // An answer without a word is an empty message, not none; whoever was cut off while it thought has not answered.
      const answered = this.#output.some(({ type }) => this.#cut || type !== 'reasoning')
      if (!answered) {
        this.#message()
        this.#close(status)
      }
    }
  }

  /** Thoughts, which come before what is said. */
  think(text: string): void {
    if (text === '') return
    let item = this.#open?.item
    if (item?.type !== 'reasoning') {
      this.#close('completed')
      item = { type: 'reasoning', id: itemId('rs'), summary: [], status: 'in_progress' }
      this.#add(item)
      this.#say('response.reasoning_summary_part.added', {
        ...this.#place(item),
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      })
    }
    this.#thoughts += text
    this.#say('response.reasoning_summary_text.delta', { ...this.#place(item), summary_index: 0, delta: text })
  }

  /** The whole answer is there. */
  complete(usage = this.#usage): void {
    this.#usage = usage
    this.status = this.#cut ? 'incomplete' : 'completed'
    this.#completedAt = seconds()
    this.#say(`response.${this.status}`, { response: this.resource })
  }

  /** An error is told twice: as the event that makes clients throw, and as what became of the response. */
  fail({ status, message, code, param, type }: V1Error, usage = this.#usage): void {
    this.#usage = usage
    this.#settle('incomplete')
    // Its caller has left, or has cancelled it.
    this.status = status === 499 ? 'cancelled' : 'failed'
    if (this.status === 'failed') {
      const error = { type, code: code ?? 'server_error', message, param: param ?? null }
      this.#error = { code: type === 'rate_limit_error' ? 'rate_limit_exceeded' : 'server_error', message }
      this.#say('error', { code: error.code, message, param: error.param, error })
    }
    this.#say('response.failed', { response: this.resource })
  }

  #text(text: string, logprobs: readonly TokenLogprob[] | undefined): void {
    if (text === '' && !logprobs?.length) return
    const item = this.#open?.item.type === 'message' ? this.#open.item : this.#message()
    const [content] = item.content as [OutputText]
    const wire = (logprobs ?? []).map(wireLogprob).map((logprob) => ({ ...logprob, bytes: logprob.bytes ?? [] }))
    this.#logprobs.push(...wire)
    item.content = [{ ...content, text: content.text + text }]
    this.#say('response.output_text.delta', { ...this.#place(item), content_index: 0, delta: text, logprobs: wire })
  }

  /** Beside a text without a letter: helpers of clients throw on events that they do not know. */
  #tellEvidence(part: Part & { type: 'evidence' }): void {
    const item = this.#open?.item
    if (item?.type !== 'message') return
    const evidence = evidenceIn(part)
    const [content] = item.content as [OutputText]
    item.content = [{ ...content, evidence: withEvidence(content.evidence, evidence) }]
    const more = { delta: '', logprobs: [], evidence }
    this.#say('response.output_text.delta', { ...this.#place(item), content_index: 0, ...more })
  }

  #message(): Mutable<MessageItem> {
    this.#close('completed')
    const item: Mutable<MessageItem> = {
      type: 'message',
      id: itemId('msg'),
      status: 'in_progress',
      role: 'assistant',
      content: [],
    }
    this.#add(item)
    const part: OutputText = { type: 'output_text', text: '', annotations: [], logprobs: [] }
    item.content = [part]
    this.#say('response.content_part.added', { ...this.#place(item), content_index: 0, part })
    return item
  }

  #call({ index, id, name, arguments: text }: Part & { type: 'tool-call-delta' }): void {
    if (this.#own?.call === index) {
      this.#own.arguments += text
      return
    }
    let item = this.#open?.call === index ? (this.#open.item as CallDraft) : undefined
    if (!item) {
      this.#close('completed')
      const tool = name === undefined ? undefined : this.#forms.own.get(name)
      if (tool) {
        const ids = { id: itemId(tool.prefix), call_id: id! }
        this.#own = { tool, ...ids, arguments: text, call: index }
        return
      }
      this.#input = new CallInput()
      const within = this.#forms.spaces.get(name ?? '') ?? { name: name ?? '' }
      this.#tellSearch(name ?? '')
      const later = this.#forms.later.has(name ?? '') && { async: true as const }
      const about = { call_id: id!, ...within, ...later, status: 'in_progress' as const }
      item = this.#forms.custom.has(name ?? '')
        ? { type: 'custom_tool_call', id: itemId('ctc'), ...about, input: '' }
        : { type: 'function_call', id: itemId('fc'), ...about, arguments: '' }
      this.#add(item, index)
    }
    const delta = item.type === 'custom_tool_call' ? this.#input.push(text) : text
    if (delta === '') return
    if (item.type === 'custom_tool_call') item.input += delta
    else item.arguments += delta
    this.#say(`response.${CALL_TEXTS[item.type]}.delta`, { ...this.#place(item), delta })
  }

  /** Every tool is at hand, so that the search for one is over as soon as it is called: once in a response. */
  #tellSearch(name: string): void {
    const tool = this.#forms.deferred.get(name)
    if (!tool || this.#searched.has(name)) return
    this.#searched.add(name)
    const about = { call_id: null, execution: 'server', status: 'in_progress' } as const
    const paths = [tool.name]
    this.#tellWhole({ type: 'tool_search_call', id: itemId('tsc'), ...about, arguments: { paths } })
    this.#tellWhole({ type: 'tool_search_output', id: itemId('tso'), ...about, tools: [tool] })
  }

  #tellWhole(item: WholeDraft): void {
    this.#add(item)
    item.status = 'completed'
    this.#open = undefined
    this.#say('response.output_item.done', { output_index: this.#output.length - 1, item: { ...item } })
  }

  #add(item: Draft, call?: number): void {
    this.#output.push(item)
    this.#open = { item, ...(call !== undefined && { call }) }
    this.#say('response.output_item.added', { output_index: this.#output.length - 1, item: { ...item } })
  }

  /** Ends the item that is being written, with all the events that say so. */
  #close(status: 'completed' | 'incomplete'): void {
    this.#tellOwn(status)
    const item = this.#open?.item
    if (!item) return
    const place = this.#place(item)
    if (item.type === 'message') {
      const { text, logprobs } = this.#outputText(item)
      this.#say('response.output_text.done', { ...place, content_index: 0, text, logprobs })
      this.#say('response.content_part.done', { ...place, content_index: 0, part: item.content[0] })
    } else if (item.type === 'function_call') {
      const { name, arguments: whole } = item
      this.#say('response.function_call_arguments.done', { ...place, name, arguments: whole })
    } else if (item.type === 'custom_tool_call') {
      this.#say('response.custom_tool_call_input.done', { ...place, input: item.input })
    } else if (item.type === 'reasoning') {
      const part = this.#thought(item)
      this.#say('response.reasoning_summary_text.done', { ...place, summary_index: 0, text: part.text })
      this.#say('response.reasoning_summary_part.done', { ...place, summary_index: 0, part })
    }
    item.status = status
    this.#open = undefined
    this.#say('response.output_item.done', { output_index: place.output_index, item: { ...item } })
  }

  /** Of one that was cut off nobody is told: half a command is another. */
  #tellOwn(status: 'completed' | 'incomplete'): void {
    const own = this.#own
    this.#own = undefined
    if (!own || status === 'incomplete') return
    const { tool, id, call_id } = own
    const ids = { type: `${tool.type}_call` as const, id, call_id }
    this.#tellWhole({ ...ids, ...tool.fields(objectOf(own.arguments)), status: 'in_progress' })
  }

  /** As `#close`, for an answer that breaks off: nobody is told that anything was done. */
  #settle(status: 'incomplete'): void {
    this.#own = undefined
    const item = this.#open?.item
    if (!item) return
    if (item.type === 'message') this.#outputText(item)
    if (item.type === 'reasoning') this.#thought(item)
    item.status = status
    this.#open = undefined
  }

  #outputText(item: Mutable<MessageItem>): OutputText {
    const content = { ...(item.content[0] as OutputText), logprobs: this.#logprobs }
    item.content = [content]
    this.#logprobs = []
    return content
  }

  #thought(item: Mutable<ReasoningItem>): ReasoningItem['summary'][number] {
    const part = { type: 'summary_text' as const, text: this.#thoughts }
    item.summary = [part]
    if (this.#head.sealThoughts) Object.assign(item, { encrypted_content: sealed(this.#thoughts) })
    this.#thoughts = ''
    return part
  }

  #place(item: Draft): { readonly item_id: string; readonly output_index: number } {
    return { item_id: item.id, output_index: this.#output.indexOf(item) }
  }

  #say(type: string, rest: Readonly<Record<string, unknown>>): void {
    this.#tell({ type, sequence_number: this.#sequence++, ...rest })
  }
}

/** What of a call is told as it is written. */
const CALL_TEXTS = { function_call: 'function_call_arguments', custom_tool_call: 'custom_tool_call_input' } as const

export function wireResponseUsage(usage: Usage): ResponseUsage {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens = 0 } = usage
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  }
}
