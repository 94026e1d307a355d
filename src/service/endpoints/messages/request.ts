import type { OutputFormat } from '../../../contract/index.js'
import type { JsonObject, Slices } from '../../../platform/index.js'
import {
  aBody,
  aBoolean,
  anArray,
  anInteger,
  anObject,
  aSchema,
  aString,
  asksFor,
  at,
  badRequest,
  hint,
  noteUnknown,
  oneOf,
  optional,
  required,
  unsupported,
  wrongValue,
} from '../../wire/fields.js'
import { GUIDANCE_FIELDS } from '../../wire/output-format.js'
import type { CallSpec } from '../../wire/reply.js'
import { anEffort, aStop, readSampling, withEffort } from '../../wire/sampling.js'
import { readMessagesTurns } from './conversation.js'
import { readMessageTools } from './tools.js'

export interface MessageRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  readonly showsThoughts: boolean
  /** Its prompt is only to be read, for those that begin with it. */
  readonly warms: boolean
  /** Types of tools that were sent beside functions and that nobody runs here. */
  readonly skipped: readonly string[]
  readonly ignored: readonly string[]
}

/** Fields that would change the answer and cannot be honoured; at this code clients send the whole conversation instead. */
const WHY = new Map<string, readonly [why: string, code?: string]>([
  ['container', ['Containers are not supported: leave it out.']],
  ['mcp_servers', ['MCP servers are not called from here, because no text leaves the device: leave it out.']],
  ['thread', ['Nothing is kept here between messages: send all of them.', 'thread_unsupported_request']],
  ['compaction', ['Messages are not summed up here: leave it out.']],
  // Those of a chat, which whoever sends them relies on.
  ['response_format', ["Among messages it is 'output_config.format'."]],
  ['stop', ["Among messages it is 'stop_sequences'."]],
  ['text', ["Among messages it is 'output_config.format'."]],
  ['quote', [`Among messages it is '"x-quote": true' in the schema.`]],
  ['prompt', ["Among messages it is 'messages'."]],
  ['instructions', ["Among messages it is 'system'."]],
  ['functions', ["Among messages it is 'tools'."]],
  ['input', ["Among messages it is 'messages'."]],
  ['previous_response_id', ['Nothing is kept here between messages: send all of them.']],
  ['conversation', ['Nothing is kept here between messages: send all of them.']],
  ['n', ['A message is one answer: send the request again for another.']],
  ['logprobs', ["Messages tell no log probabilities: use 'chat/completions'."]],
  ['max_completion_tokens', ["Among messages it is 'max_tokens'."]],
  ['max_output_tokens', ["Among messages it is 'max_tokens'."]],
  ['n_predict', ["Among messages it is 'max_tokens'."]],
  ['num_predict', ["Among messages it is 'max_tokens'."]],
  ...GUIDANCE_FIELDS.map((name): [string, [string]] => [name, ["Among messages it is 'output_config.format'."]]),
])
/** What Anthropic's has of how tokens are drawn. */
const DRAWN = ['temperature', 'top_p', 'top_k']
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'system', 'stop_sequences', 'stream', ...DRAWN],
  ...['tools', 'tool_choice', 'thinking', 'output_config', 'output_format'],
  // Hints, which change nothing here.
  ...['metadata', 'service_tier', 'cache_control', 'speed', 'inference_geo'],
  ...WHY.keys(),
])
const KNOWN_THINKING = new Set(['type', 'budget_tokens', 'display'])
const KNOWN_CONFIG = new Set(['effort', 'format'])
const KNOWN_FORMAT = new Set(['type', 'schema'])

const aTokenLimit = anInteger(0, Number.MAX_SAFE_INTEGER)
const aBudget = anInteger(1, Number.MAX_SAFE_INTEGER)
const someStops = anArray(0, 64)
const aThinking = oneOf(['enabled', 'adaptive', 'between_tools', 'disabled'])
const aDisplay = oneOf(['summarized', 'omitted'])

/** One that is only `to be counted` need not say how long its answer may be. */
export function* readMessageRequest(json: unknown, counted?: 'to be counted'): Slices<MessageRequest> {
  const body = aBody(json)
  const ignored: string[] = []
  for (const [name, why] of WHY) if (isGiven(name, body[name])) throw unsupported(name, ...why)
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'metadata', '', anObject)
  const model = required(body, 'model', '', aString)
  const maxTokens = (counted ? optional : required)(body, 'max_tokens', '', aTokenLimit)
  const { skipped, ...tools } = readMessageTools(body, ignored)
  const { output, effort, path } = readOutput(body, ignored)
  const warms = maxTokens === 0
  if (warms && (output.type !== 'text' || !['auto', 'none'].includes(tools.toolChoice as string))) {
    const message = "Invalid 'max_tokens': with 0 nothing is written, so no format and no call can be asked for."
    throw badRequest('max_tokens', message, 'invalid_parameter_combination')
  }
  const { messages, images } = yield* readMessagesTurns(body, ignored, counted)
  const { showsThoughts, thoughtsBy, ...thoughts } = readThinking(body, effort, ignored)
  return {
    stream: optional(body, 'stream', '', aBoolean) ?? false,
    showsThoughts,
    warms,
    skipped,
    ignored,
    spec: {
      model,
      messages,
      n: 1,
      // An engine reads a prompt to write something: one token is drawn, of which nobody is told.
      ...(maxTokens !== undefined && { maxTokens: warms ? 1 : maxTokens }),
      stop: optional(body, 'stop_sequences', '', readStops) ?? [],
      sampling: readSampling(Object.fromEntries(DRAWN.map((name) => [name, body[name]]))),
      output,
      ...tools,
      ...thoughts,
      fields: {
        format: path,
        parameters: (tool) => `tools[${tool}].input_schema`,
        thinking: thoughtsBy,
        image: 'image',
        part: (message, part) => at(images.get(message)?.[part] ?? `messages[${message}].content[${part}]`, 'type'),
      },
    },
  }
}

/** Clients send what they have none of as an empty list. */
const isGiven = (name: string, value: unknown) => asksFor(name, value) && !(Array.isArray(value) && value.length === 0)

const readStops = (value: unknown, param: string): string[] =>
  someStops(value, param).map((item, i) => aStop(item, at(param, i)))

interface RequestedOutput {
  readonly output: OutputFormat
  readonly effort?: ReturnType<typeof anEffort>
  /** The place of the schema. */
  readonly path: string
}

/** `output_config.format`, which was once a field of its own. */
function readOutput(body: JsonObject, ignored: string[]): RequestedOutput {
  const config = optional(body, 'output_config', '', anObject)
  if (config) noteUnknown(config, KNOWN_CONFIG, 'output_config', ignored)
  const effort = config && hint(config, 'effort', 'output_config', anEffort, ignored)
  const hints = { ...(effort !== undefined && { effort }) }
  const [holder, place, name] =
    config?.format == null ? [body, '', 'output_format'] : [config, 'output_config', 'format']
  const path = at(place, name)
  const format = optional(holder, name, place, anObject)
  if (!format) return { output: { type: 'text' }, path, ...hints }
  noteUnknown(format, KNOWN_FORMAT, path, ignored)
  const type = required(format, 'type', path, aString)
  if (type !== 'json_schema') throw wrongValue(at(path, 'type'), type, ['json_schema'])
  const schema = required(format, 'schema', path, aSchema)
  // Anthropic knows no other kind: what is asked for is kept to.
  return { output: { type, name: 'response', strict: true, schema }, path: at(path, 'schema'), ...hints }
}

function readThinking(body: JsonObject, effort: RequestedOutput['effort'], ignored: string[]) {
  const thinking = optional(body, 'thinking', '', anObject)
  if (!thinking) return { showsThoughts: true, thoughtsBy: EFFORT, ...options(withEffort(effort, undefined)) }
  noteUnknown(thinking, KNOWN_THINKING, 'thinking', ignored)
  const type = hint(thinking, 'type', 'thinking', aThinking, ignored)
  const display = hint(thinking, 'display', 'thinking', aDisplay, ignored)
  const budget = type === 'enabled' ? hint(thinking, 'budget_tokens', 'thinking', aBudget, ignored) : undefined
  // `adaptive` leaves it to the model, as its template does where nothing is said.
  const switched = type === 'enabled' ? true : type === 'disabled' ? false : undefined
  return {
    showsThoughts: display !== 'omitted',
    thoughtsBy: type === 'enabled' || effort === undefined ? 'thinking' : EFFORT,
    ...options(withEffort(effort, switched === undefined ? undefined : { enable_thinking: switched })),
    ...(budget !== undefined && { thinkingBudget: budget }),
  }
}

/** The other field that asks for thoughts. */
const EFFORT = 'output_config.effort'

const options = (templateOptions: CallSpec['templateOptions']) => (templateOptions ? { templateOptions } : {})
