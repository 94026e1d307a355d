import type { Part, V1Error } from '../../../contract/index.js'
import { isRecord, type JsonObject, type Slices } from '../../../platform/index.js'
import { answering } from '../../answer/answering.js'
import { readRequest } from '../../answer/body.js'
import type { Exchange, RouteResponse, Service } from '../../answer/service.js'
import { SSE_DONE, sseEvent } from '../../stream/sse.js'
import { readEvidence, withQuote } from '../../wire/evidence.js'
import {
  aBody,
  aBoolean,
  anInteger,
  anObject,
  aString,
  badRequest,
  hint,
  noteUnknown,
  optional,
  required,
} from '../../wire/fields.js'
import { acceptHints, HINTS, REFUSED, refuseUnsupported } from '../../wire/hints.js'
import { completionId } from '../../wire/ids.js'
import { readMessages } from '../../wire/messages.js'
import { GUIDANCE_FIELDS, readForm, readOutputFormat, withNames } from '../../wire/output-format.js'
import type { Answer, CallSpec, FieldNames, ReplyHead, StreamReply, WholeReply } from '../../wire/reply.js'
import {
  anEffort,
  BUDGET_FIELDS,
  readEnding,
  readReturnTokens,
  readSampling,
  readSwitch,
  readThinking,
  SAMPLING_FIELDS,
  tokenLimit,
  withEffort,
} from '../../wire/sampling.js'
import { customNames, readTools } from '../../wire/tools.js'
import { ChunkWriter, type Completion, completionOf, Logprobs } from './completion.js'

export function chat(service: Service, exchange: Exchange): Promise<RouteResponse> {
  return answering(service, exchange, async ({ signal }) => {
    const request = await readRequest(service, exchange, signal, readChatRequest)
    const { spec, ignored } = request
    const reply = request.stream ? new ChatChunks(request) : new ChatCompletion(request)
    return { spec, reply, id: completionId(), ignored }
  })
}

class ChatChunks implements StreamReply {
  readonly stream = true
  readonly #request: ChatRequest
  #writer: ChunkWriter | undefined

  constructor(request: ChatRequest) {
    this.#request = request
  }

  begin(head: ReplyHead, answer: Answer): string {
    const options = { ...this.#request, custom: customNames(this.#request.spec.tools) }
    this.#writer = new ChunkWriter(head, answer, options, sseEvent)
    return ''
  }

  part(part: Part): string {
    return this.#writer!.write(part)
  }

  end(): string {
    return this.#writer!.end() + SSE_DONE
  }

  failed(error: V1Error): string {
    return sseEvent(JSON.stringify(error))
  }
}

class ChatCompletion implements WholeReply {
  readonly stream = false
  readonly #logprobs: Logprobs | undefined
  readonly #custom: ReadonlySet<string>
  #head: ReplyHead | undefined
  #answer: Answer | undefined

  constructor({ spec: { topLogprobs, n, tools } }: ChatRequest) {
    this.#custom = customNames(tools)
    this.#logprobs = topLogprobs === undefined ? undefined : new Logprobs(n)
  }

  begin(head: ReplyHead, answer: Answer): void {
    this.#head = head
    this.#answer = answer
  }

  part(part: Part): void {
    this.#logprobs?.take(part)
  }

  whole(): Completion {
    return completionOf(this.#head!, this.#answer!, this.#logprobs, this.#custom)
  }
}

/** A chat request that has been read and found in order; only whether the model exists is not known yet. */
interface ChatRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  readonly includeUsage: boolean
  /** An extension: which text the grammar decided is told with it. */
  readonly includeForced: boolean
  /** Fields that were given and that nothing here reads. */
  readonly ignored: readonly string[]
}

export const CHAT_FIELDS: FieldNames = {
  format: 'response_format',
  parameters: (tool) => `tools[${tool}].function.parameters`,
}

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens'],
  ...['logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['reasoning_effort', 'reasoning', 'thinking', 'chat_template_kwargs'],
  ...['return_token_ids', 'return_tokens_as_token_ids', 'evidence', 'quote'],
  ...BUDGET_FIELDS,
  ...GUIDANCE_FIELDS,
  ...SAMPLING_FIELDS,
  ...HINTS,
  ...REFUSED,
])
const KNOWN_STREAM_OPTIONS = new Set(['include_usage', 'include_obfuscation', 'include_forced'])

const KNOWN_REASONING = new Set(['effort'])

const aTokenLimit = tokenLimit(1)
const aChoiceCount = anInteger(1, 128)
const aTopCount = anInteger(0, 20)

export function* readChatRequest(json: unknown): Slices<ChatRequest> {
  const body = aBody(json)
  const ignored: string[] = []
  refuseUnsupported(body)
  acceptHints(body, ignored)
  noteUnknown(body, KNOWN, '', ignored)
  const model = required(body, 'model', '', aString)
  const maxTokens = readMaxTokens(body)
  const messages = yield* readMessages(body, ignored)
  const streaming = readStream(body, ignored)
  const form = readForm(body, readOutputFormat(body, ignored), CHAT_FIELDS.format, ignored)
  const output = withQuote(form.output, body, '', CHAT_FIELDS.format)
  const n = optional(body, 'n', '', aChoiceCount) ?? 1
  const { stop, minTokens, stopTokens, ignoreEnds } = readEnding(body, maxTokens)
  const { returnTokens, tokensAsIds } = readReturnTokens(body)
  const sampling = readSampling(body)
  const topLogprobs = readLogprobs(body)
  const { evidence } = readEvidence(body, output, CHAT_FIELDS.format)
  const { tools, toolChoice, parallelToolCalls } = readTools(body, ignored)
  const templateOptions = readTemplateOptions(body, ignored)
  const thinking = readThinking(body)
  const nested = body.reasoning_effort == null && isRecord(body.reasoning) ? 'reasoning.effort' : undefined
  // By name, not spread: what has one shape is quick to make and to read.
  return {
    spec: {
      model,
      messages,
      n,
      maxTokens,
      stop,
      minTokens,
      stopTokens,
      ignoreEnds,
      returnTokens,
      tokensAsIds,
      sampling,
      topLogprobs,
      output,
      evidence,
      tools,
      toolChoice,
      parallelToolCalls,
      templateOptions,
      thinkingBudget: thinking.thinkingBudget,
      fields: withNames(CHAT_FIELDS, form.outputField, thinking.thinkingField ?? nested),
    },
    stream: streaming.stream,
    includeUsage: streaming.includeUsage,
    includeForced: streaming.includeForced,
    ignored,
  }
}

type StreamRequest = Pick<ChatRequest, 'stream' | 'includeUsage' | 'includeForced'>

function readStream(body: JsonObject, ignored: string[]): StreamRequest {
  const stream = optional(body, 'stream', '', aBoolean) ?? false
  const options = optional(body, 'stream_options', '', anObject)
  if (!options) return { stream, includeUsage: false, includeForced: false }
  if (!stream) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    throw badRequest('stream_options', message, 'invalid_value')
  }
  noteUnknown(options, KNOWN_STREAM_OPTIONS, 'stream_options', ignored)
  const wanted = (name: string) => optional(options, name, 'stream_options', aBoolean) ?? false
  return { stream, includeUsage: wanted('include_usage'), includeForced: wanted('include_forced') }
}

function readMaxTokens(body: JsonObject): number | undefined {
  const old = optional(body, 'max_tokens', '', aTokenLimit)
  const current = optional(body, 'max_completion_tokens', '', aTokenLimit)
  if (body.max_tokens != null && body.max_completion_tokens != null) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    throw badRequest('max_tokens', message, 'invalid_parameter_combination')
  }
  return current ?? old
}

function readLogprobs(body: JsonObject): number | undefined {
  const wanted = optional(body, 'logprobs', '', aBoolean) ?? false
  const top = optional(body, 'top_logprobs', '', aTopCount)
  if (wanted) return top ?? 0
  if (top !== undefined) {
    const message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
    throw badRequest('top_logprobs', message, 'invalid_value')
  }
  return undefined
}

function readTemplateOptions(body: JsonObject, ignored: string[]): Readonly<Record<string, unknown>> | undefined {
  const [switched, given] = [readSwitch(body, ignored), optional(body, 'chat_template_kwargs', '', anObject)]
  // Ollama and OpenRouter take the effort of chats as responses have it, too, and Qwen Code sends it so.
  const reasoning = isRecord(body.reasoning) ? body.reasoning : {}
  if (body.reasoning != null && reasoning !== body.reasoning) ignored.push('reasoning')
  noteUnknown(reasoning, KNOWN_REASONING, 'reasoning', ignored)
  const nested = hint(reasoning, 'effort', 'reasoning', anEffort, ignored)
  const effort = hint(body, 'reasoning_effort', '', anEffort, ignored) ?? nested
  return withEffort(effort, switched ? { ...switched, ...given } : given)
}
