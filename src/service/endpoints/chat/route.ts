import { isRecord, type JsonObject, type Slices } from '../../../platform/index.js'
import { answering } from '../../answer/answering.js'
import { readRequest } from '../../answer/body.js'
import type { Exchange, RouteResponse, Service } from '../../answer/service.js'
import { readEvidence, withQuote } from '../../wire/evidence.js'
import {
  aBody,
  aBoolean,
  anArray,
  anInteger,
  anObject,
  aString,
  aTier,
  at,
  aVerbosity,
  badRequest,
  hint,
  noteUnknown,
  oneOf,
  optional,
  type Refused,
  readMetadata,
  refuseUnsupported,
  required,
  unsupported,
} from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { readMessages } from '../../wire/messages.js'
import { GUIDANCE_FIELDS, readForm, readOutputFormat, withNames } from '../../wire/output-format.js'
import type { CallSpec, FieldNames } from '../../wire/reply.js'
import {
  anEffort,
  REASONING_SWITCHES,
  readEnding,
  readReturnTokens,
  readSampling,
  readThinking,
  SAMPLING_FIELDS,
  THINKING_FIELDS,
  type Thinking,
  tokenLimit,
  withEffort,
} from '../../wire/sampling.js'
import { readTools } from '../../wire/tools.js'
import { ChatChunks, ChatCompletion, type ChunkOptions } from './completion.js'

export function chat(service: Service, exchange: Exchange): Promise<RouteResponse> {
  return answering(service, exchange, async ({ signal }) => {
    const request = await readRequest(service, exchange, signal, readChatRequest)
    const { spec, ignored } = request
    const reply = request.stream ? new ChatChunks(spec, request) : new ChatCompletion(spec)
    return { spec, reply, id: newId('chatcmpl-'), ignored }
  })
}

/** A chat request that has been read and found in order; only whether the model exists is not known yet. */
interface ChatRequest extends ChunkOptions {
  readonly spec: CallSpec
  readonly stream: boolean
  /** Fields that were given and that nothing here reads. */
  readonly ignored: readonly string[]
}

export const CHAT_FIELDS: FieldNames = {
  format: 'response_format',
  parameters: (tool) => `tools[${tool}].function.parameters`,
}

const NOTHING_STORED = "A chat has all of its 'messages': what is stored is continued by 'responses'."

/** Fields that would change the answer and cannot be honoured. */
const REFUSED: Refused = new Map([
  ['functions', "It is deprecated: use 'tools' instead."],
  ['function_call', "It is deprecated: use 'tool_choice' instead."],
  ['audio', 'Audio is not supported: ask for text.'],
  ['moderation', 'Moderation is not supported: leave it out.'],
  // Those of the other interfaces, which whoever sends them relies on.
  ['text', "In a chat it is 'response_format' and 'verbosity'."],
  ['max_output_tokens', "In a chat it is 'max_completion_tokens'."],
  ['num_predict', "In a chat it is 'max_completion_tokens'."],
  ['stop_sequences', "In a chat it is 'stop'."],
  ['instructions', "In a chat it is a message of the role 'system'."],
  ['system', "In a chat it is a message of the role 'system'."],
  ['previous_response_id', NOTHING_STORED],
  ['conversation', NOTHING_STORED],
  ['background', "A chat is answered at once: use 'responses'."],
  ['input', "In a chat it is 'messages'."],
  ['prompt', "In a chat it is 'messages'; a text is continued by 'completions'."],
  ['output_format', "In a chat it is 'response_format'."],
  ['output_config', "In a chat it is 'response_format' and 'reasoning_effort'."],
])

/** Of a chat nothing is kept. */
const notStored = (value: unknown, param: string): void => {
  if (aBoolean(value, param)) throw unsupported(param, 'Nothing is stored.')
}
const someModalities = anArray(1, 2)
const aModality = oneOf(['text', 'audio'])

type Readers = Readonly<Record<string, (value: unknown, param: string) => unknown>>

/** Fields that may be there and change nothing in the answer. */
const TAKEN: Readers = {
  user: aString,
  safety_identifier: aString,
  prompt_cache_key: aString,
  prompt_cache_retention: aString,
  prompt_cache_options: anObject,
  prediction: anObject,
  metadata: readMetadata,
  modalities: readModalities,
}
/** And those that are hints. */
const HINTS: Readers = { service_tier: aTier, store: notStored, verbosity: aVerbosity }

const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens', 'n_predict'],
  ...['logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['reasoning_effort', 'reasoning'],
  ...['return_token_ids', 'return_tokens_as_token_ids', 'evidence', 'quote'],
  ...THINKING_FIELDS,
  ...GUIDANCE_FIELDS,
  ...SAMPLING_FIELDS,
  ...Object.keys(TAKEN),
  ...Object.keys(HINTS),
  ...REFUSED.keys(),
])
const KNOWN_STREAM_OPTIONS = new Set(['include_usage', 'include_obfuscation', 'include_forced'])

const KNOWN_REASONING = new Set<string>(['effort', ...REASONING_SWITCHES])

const aTokenLimit = tokenLimit(1)
const aChoiceCount = anInteger(1, 128)
const aTopCount = anInteger(0, 20)

export function* readChatRequest(json: unknown): Slices<ChatRequest> {
  const body = aBody(json)
  const ignored: string[] = []
  refuseUnsupported(body, REFUSED)
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
  const thinking = readThoughts(body, ignored)
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
      templateOptions: thinking.templateOptions,
      thinkingBudget: thinking.thinkingBudget,
      fields: withNames(CHAT_FIELDS, form.outputField, thinking.thinkingField),
    },
    stream: streaming.stream,
    includeUsage: streaming.includeUsage,
    includeForced: streaming.includeForced,
    ignored,
  }
}

/** Those of the hints that cannot be done are named in `ignored`. */
function acceptHints(body: JsonObject, ignored: string[]): void {
  for (const name in TAKEN) optional(body, name, '', TAKEN[name]!)
  for (const name in HINTS) hint(body, name, '', HINTS[name]!, ignored)
}

function readModalities(value: unknown, param: string): void {
  someModalities(value, param).forEach((item, i) => {
    if (aModality(item, at(param, i)) === 'audio') throw unsupported(param, 'Only text can be generated.')
  })
}

function readStream(body: JsonObject, ignored: string[]): ChunkOptions & { readonly stream: boolean } {
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
  // llama.cpp's server takes its own name for it where OpenAI's is not there.
  const local = optional(body, 'n_predict', '', aTokenLimit)
  const old = body.max_tokens == null ? local : aTokenLimit(body.max_tokens, 'max_tokens')
  const current = optional(body, 'max_completion_tokens', '', aTokenLimit)
  if (body.max_tokens != null && body.max_completion_tokens != null) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    throw badRequest('max_tokens', message, 'invalid_parameter_combination')
  }
  return body.max_completion_tokens == null ? old : current
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

function readThoughts(body: JsonObject, ignored: string[]): Thinking {
  // Ollama and OpenRouter take the effort of chats as responses have it, too, and Qwen Code sends it so.
  const reasoning = isRecord(body.reasoning) ? body.reasoning : {}
  if (body.reasoning != null && reasoning !== body.reasoning) ignored.push('reasoning')
  noteUnknown(reasoning, KNOWN_REASONING, 'reasoning', ignored)
  const nested = hint(reasoning, 'effort', 'reasoning', anEffort, ignored)
  const effort = hint(body, 'reasoning_effort', '', anEffort, ignored) ?? nested
  const thinking = readThinking(body, reasoning, ignored)
  const templateOptions = withEffort(effort, thinking.templateOptions)
  const isNested = body.reasoning_effort == null && reasoning.effort != null
  return { ...(isNested && { thinkingField: 'reasoning.effort' }), ...thinking, templateOptions }
}
