import type { OutputFormat, Sampling } from '../../../../contract/index.js'
import { isRecord, type JsonObject, type Slices } from '../../../../platform/index.js'
import { readEvidence, withQuote } from '../../../wire/evidence.js'
import {
  aBody,
  aBoolean,
  aName,
  anArray,
  anInteger,
  anObject,
  aSchema,
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
  wrongType,
  wrongValue,
} from '../../../wire/fields.js'
import { type Form, GUIDANCE_FIELDS, heldToWords, readForm } from '../../../wire/output-format.js'
import {
  anEffort,
  type EndFields,
  REASONING_SWITCHES,
  readEnding,
  readSampling,
  readThinking,
  SAMPLING_FIELDS,
  THINKING_FIELDS,
  type Thinking,
  tokenLimit,
  withEffort,
} from '../../../wire/sampling.js'
import { type InputItem, readInput } from './items.js'
import type { ResponseEcho } from './resource.js'
import { type EarlierTools, type ResponseTools, readResponseTools } from './tools.js'

/** A request for a response that has been read and found in order; what it refers to has not been looked up yet. */
export interface ResponseRequest extends Thinking {
  readonly model: string
  readonly input: readonly InputItem[]
  readonly instructions?: string
  readonly previousId?: string
  /** What it brings and what is answered become part of this conversation. */
  readonly conversationId?: string
  readonly stream: boolean
  /** Absent: as the service is set up. */
  readonly store?: boolean
  readonly background: boolean
  readonly truncation: 'auto' | 'disabled'
  readonly maxTokens?: number
  readonly ending: EndFields
  readonly sampling: Sampling
  /** An extension, ours: what the values of the document rest on is told too. */
  readonly evidence?: true
  /** Absent: the answer tells no log probabilities. */
  readonly topLogprobs?: number
  readonly form: Form
  /** Thoughts are also given in the packed form that clients which keep their own state send back. */
  readonly sealThoughts: boolean
  /** As far as the request itself says. */
  readonly tools: ResponseTools
  /** With what it goes on from. */
  readonly toolsAfter: (earlier: readonly EarlierTools[]) => ResponseTools
  /** Fields that were given and that nothing here reads. */
  readonly ignored: readonly string[]
  readonly echo: Omit<ResponseEcho, 'store'>
}

/** Fields that would change the answer and cannot be honoured. */
const WHY: Refused = new Map([
  ['prompt', "Prompt templates are not supported: send 'input' and 'instructions'."],
  ['moderation', 'Moderation is not supported: leave it out.'],
  // Those of a chat, which whoever sends them relies on.
  ['messages', "In a response it is 'input'."],
  ['response_format', "In a response it is 'text.format'."],
  ['max_tokens', "In a response it is 'max_output_tokens'."],
  ['max_completion_tokens', "In a response it is 'max_output_tokens'."],
  ['n_predict', "In a response it is 'max_output_tokens'."],
  ['num_predict', "In a response it is 'max_output_tokens'."],
  ['functions', "In a response it is 'tools'."],
  ['function_call', "In a response it is 'tool_choice'."],
  ['n', 'A response has one answer: send the request again for another.'],
  ['logprobs', "In a response it is 'include' with 'message.output_text.logprobs'."],
  ['audio', 'Audio is not supported: ask for text.'],
  ['system', "In a response it is 'instructions'."],
  ['stop_sequences', "In a response it is 'stop'."],
  ['output_format', "In a response it is 'text.format'."],
  ['quote', "In a response it is 'text.format.quote'."],
  ['output_config', "In a response it is 'text.format' and 'reasoning.effort'."],
])
/** Where vLLM has it, it tells tokens beside choices; a response has items, and vLLM's tells none. */
const NO_TOKENS = "A response does not return token ids: use 'chat/completions', or 'tokenize' for those of a prompt."

const HINTS = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options']
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'previous_response_id', 'conversation'],
  ...['stream', 'stream_options', 'store', 'background', 'return_token_ids', 'evidence'],
  ...['truncation', 'max_output_tokens', 'max_tool_calls', 'include', 'metadata', 'service_tier', 'text', 'reasoning'],
  ...['context_management', 'tools', 'tool_choice', 'parallel_tool_calls', 'top_logprobs'],
  ...GUIDANCE_FIELDS,
  ...SAMPLING_FIELDS,
  ...THINKING_FIELDS,
  ...HINTS,
  ...WHY.keys(),
])
const KNOWN_TEXT = new Set(['format', 'verbosity'])
const KNOWN_FORMAT = new Set(['type', 'name', 'description', 'schema', 'strict', 'quote'])
const KNOWN_REASONING = new Set<string>(['effort', 'summary', 'generate_summary', ...REASONING_SWITCHES])
const KNOWN_STREAM_OPTIONS = new Set(['include_obfuscation'])
const FORMATS = ['text', 'json_object', 'json_schema']

/** Open Responses has no word for these; each does here what the other does, which both descriptions have. */
const ECHOED_EFFORTS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'none'],
  ['max', 'xhigh'],
])

const INCLUDES = [
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
] as const

/** The least that the interface takes. */
const aTokenLimit = tokenLimit(16)
const aCallLimit = anInteger(1, Number.MAX_SAFE_INTEGER)
const aTopCount = anInteger(0, 20)
const aTruncation = oneOf(['auto', 'disabled'])
const aSummary = oneOf(['auto', 'concise', 'detailed'])
const someEdits = anArray(0, Number.POSITIVE_INFINITY)
const someIncludes = anArray(0, INCLUDES.length)
const anInclude = oneOf(INCLUDES)
const aFormatName = aName(/^[a-zA-Z0-9_-]+$/, 64)

/** A conversation is made shorter by `POST /responses/compact`, or by `truncation`. */
const noEdits = (value: unknown, param: string): void => {
  const edits = someEdits(value, param).map((edit, i) => anObject(edit, at(param, i)))
  if (edits.length > 0) throw unsupported(param, "Use 'truncation', or POST /responses/compact.")
}

export function* readResponseRequest(json: unknown): Slices<ResponseRequest> {
  const body = aBody(json)
  const ignored: string[] = []
  refuseUnsupported(body, WHY)
  if (optional(body, 'return_token_ids', '', aBoolean)) throw unsupported('return_token_ids', NO_TOKENS)
  noteUnknown(body, KNOWN, '', ignored)
  const stream = optional(body, 'stream', '', aBoolean) ?? false
  const streamOptions = optional(body, 'stream_options', '', anObject)
  if (streamOptions) noteUnknown(streamOptions, KNOWN_STREAM_OPTIONS, 'stream_options', ignored)
  const includes = optional(body, 'include', '', readIncludes) ?? []
  const top = optional(body, 'top_logprobs', '', aTopCount)
  const background = optional(body, 'background', '', aBoolean) ?? false
  const store = optional(body, 'store', '', aBoolean)
  if (background && store === false) {
    throw badRequest('background', "A response in the background must be stored: leave 'store' out.", 'invalid_value')
  }
  const previousId = optional(body, 'previous_response_id', '', aString)
  const conversationId = optional(body, 'conversation', '', readConversation)
  if (previousId !== undefined && conversationId !== undefined) {
    const message = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Leave one of them out."
    throw badRequest('conversation', message, 'mutually_exclusive_parameters')
  }
  const instructions = optional(body, 'instructions', '', aString)
  const truncation = optional(body, 'truncation', '', aTruncation) ?? 'disabled'
  const maxTokens = optional(body, 'max_output_tokens', '', aTokenLimit)
  const sampling = readSampling(body)
  const tools = readResponseTools(body, ignored, refersBack(body) ? null : [])
  const { output, text } = readText(body, ignored)
  const form = readForm(body, output, 'text.format', ignored)
  const { thinking, reasoning } = readReasoning(body, ignored)
  const user = optional(body, 'user', '', aString)
  optional(body, 'prompt_cache_options', '', anObject)
  optional(body, 'prompt_cache_retention', '', aString)
  hint(body, 'service_tier', '', aTier, ignored)
  hint(body, 'context_management', '', noEdits, ignored)
  return {
    model: required(body, 'model', '', aString),
    input: yield* readAll(body, previousId ?? conversationId, ignored),
    instructions,
    previousId,
    ...(conversationId !== undefined && { conversationId }),
    stream,
    store: background ? true : store,
    background,
    truncation,
    maxTokens,
    ending: readEnding(body, maxTokens),
    sampling,
    topLogprobs: includes.includes('message.output_text.logprobs') ? (top ?? 0) : undefined,
    form,
    ...readEvidence(body, form.output, 'text.format'),
    tools,
    toolsAfter: refersBack(body) ? toolsAfter(body) : () => tools,
    ...thinking,
    sealThoughts: includes.includes('reasoning.encrypted_content'),
    ignored,
    echo: {
      previous_response_id: previousId ?? null,
      ...(conversationId !== undefined && { conversation: { id: conversationId } }),
      instructions: instructions ?? null,
      ...tools.echo,
      text,
      temperature: sampling.temperature ?? 1,
      top_p: sampling.topP ?? 1,
      presence_penalty: sampling.presencePenalty ?? 0,
      frequency_penalty: sampling.frequencyPenalty ?? 0,
      top_logprobs: top ?? 0,
      truncation,
      reasoning,
      max_output_tokens: maxTokens ?? null,
      max_tool_calls: optional(body, 'max_tool_calls', '', aCallLimit) ?? null,
      background,
      service_tier: 'default',
      metadata: optional(body, 'metadata', '', readMetadata) ?? {},
      safety_identifier: optional(body, 'safety_identifier', '', aString) ?? null,
      prompt_cache_key: optional(body, 'prompt_cache_key', '', aString) ?? null,
      ...(user !== undefined && { user }),
    },
  }
}

/** Whether something that was kept belongs to it, which may have brought tools. */
const refersBack = ({ previous_response_id: previous, conversation, input }: JsonObject): boolean =>
  previous != null ||
  conversation != null ||
  (Array.isArray(input) && input.some((item) => isRecord(item) && !('role' in item) && isReference(item)))

const isReference = ({ type }: JsonObject): boolean => type == null || type === 'item_reference'

/** Holds of a request no more than its tools for as long as it runs. */
function toolsAfter({ tools, tool_choice, parallel_tool_calls, input }: JsonObject): ResponseRequest['toolsAfter'] {
  const bringing = Array.isArray(input)
    ? input.map((item) => (isRecord(item) && item.type === 'additional_tools' ? item : null))
    : undefined
  const fields = { tools, tool_choice, parallel_tool_calls, input: bringing }
  return (earlier) => readResponseTools(fields, [], earlier)
}

/** Its id, or an object that has it. */
function readConversation(value: unknown, param: string): string {
  if (typeof value === 'string') return aString(value, param)
  if (isRecord(value)) return required(value, 'id', param, aString)
  throw wrongType(param, 'a string or an object', value)
}

function* readAll(body: JsonObject, earlier: string | undefined, ignored: string[]): Slices<readonly InputItem[]> {
  // A conversation may be gone on with by nothing but other instructions.
  if (earlier !== undefined && [body.input ?? []].flat().length === 0) return []
  return yield* required(body, 'input', '', (value, param) => readInput(value, param, ignored))
}

const readIncludes = (value: unknown, param: string) =>
  someIncludes(value, param).map((item, i) => anInclude(item, at(param, i)))

function readText(body: JsonObject, ignored: string[]): { output: OutputFormat; text: ResponseEcho['text'] } {
  const text = optional(body, 'text', '', anObject)
  const verbosity = text && hint(text, 'verbosity', 'text', aVerbosity, ignored)
  if (text) noteUnknown(text, KNOWN_TEXT, 'text', ignored)
  const echoed = verbosity === undefined ? {} : { verbosity }
  const path = 'text.format'
  const format = text && optional(text, 'format', 'text', anObject)
  if (!format) return { output: { type: 'text' }, text: { format: { type: 'text' }, ...echoed } }
  noteUnknown(format, KNOWN_FORMAT, path, ignored)
  const type = required(format, 'type', path, aString)
  if (type === 'text' || type === 'json_object') {
    return { output: withQuote({ type }, format, path, 'text.format'), text: { format: { type }, ...echoed } }
  }
  if (type !== 'json_schema') throw wrongValue(at(path, 'type'), type, FORMATS)
  const description = optional(format, 'description', path, aString)
  const name = required(format, 'name', path, aFormatName)
  const strict = optional(format, 'strict', path, aBoolean) ?? false
  const schema = required(format, 'schema', path, aSchema)
  return {
    output: withQuote(
      { type, name, ...(description !== undefined && { description }), strict, schema: heldToWords(name, schema) },
      ...([format, path, 'text.format'] as const),
    ),
    text: { format: { type, name, description: description ?? '', schema, strict }, ...echoed },
  }
}

function readReasoning(body: JsonObject, ignored: string[]) {
  const reasoning = optional(body, 'reasoning', '', anObject)
  const thinking = readThinking(body, reasoning ?? {}, ignored)
  if (!reasoning) return { thinking, reasoning: null }
  noteUnknown(reasoning, KNOWN_REASONING, 'reasoning', ignored)
  const effort = hint(reasoning, 'effort', 'reasoning', anEffort, ignored)
  const summary =
    hint(reasoning, 'summary', 'reasoning', aSummary, ignored) ??
    hint(reasoning, 'generate_summary', 'reasoning', aSummary, ignored)
  return {
    thinking: { ...thinking, templateOptions: withEffort(effort, thinking.templateOptions) },
    reasoning: { effort: (effort && (ECHOED_EFFORTS.get(effort) ?? effort)) ?? null, summary: summary ?? null },
  }
}
