import { type ChatMessage, SAMPLING, type Sampling } from '../../../contract/index.js'
import type { JsonObject, Slices } from '../../../platform/index.js'
import {
  aBoolean,
  aName,
  aNumber,
  anArray,
  anInteger,
  anObject,
  aString,
  at,
  hint,
  noteUnknown,
  optional,
  type Refused,
  refuseUnsupported,
  saysNothing,
  someTexts,
  unsupported,
} from '../../wire/fields.js'
import { GUIDANCE_FIELDS, readForm } from '../../wire/output-format.js'
import type { CallSpec } from '../../wire/reply.js'
import { anEffort, aStop, readSampling, withEffort } from '../../wire/sampling.js'
import { readTools } from '../../wire/tools.js'
import { shortener } from '../responses/conversation.js'
import { type ReadTurns, readImages, readOllamaTurns, shown } from './conversation.js'

/** By Ollama's name: how the other interfaces call it. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...Object.values(SAMPLING).flatMap(({ wire, ollama = wire }) => (ollama === false ? [] : [[ollama, wire] as const])),
  ['seed', 'seed'],
])
const KNOWN: ReadonlySet<string> = new Set([...NAMES.keys(), 'num_predict', 'stop'])
const PATH = 'options'

/** -1 and 0: no limit; -2: as far as the context reaches. */
const aTokenLimit = anInteger(-2, Number.MAX_SAFE_INTEGER)
/** Ollama's has no limit. */
const aTemperature = aNumber(-1e6, 1e6)
/** Ollama names no limit; a request of more than so many texts means something else. */
const MOST_STOPS = 64

export interface ReadOptions {
  readonly sampling: Sampling
  readonly stop: readonly string[]
  readonly maxTokens?: number
}

/**
 * What `options` says of drawing and length. Its other fields choose how a server of Ollama's computes (`num_gpu`,
 * `num_ctx`) or draw in ways that nothing here has (`mirostat`): they are ignored and named.
 */
export function readOptions(body: JsonObject, ignored: string[]): ReadOptions {
  const options = optional(body, PATH, '', anObject) ?? {}
  noteUnknown(options, KNOWN, PATH, ignored)
  const limit = optional(options, 'num_predict', PATH, aTokenLimit) ?? 0
  const temperature = optional(options, 'temperature', PATH, aTemperature)
  const renamed = Object.fromEntries([...NAMES].map(([name, other]) => [other, asDrawn(other, options[name])]))
  return {
    sampling: {
      ...readSampling({ ...renamed, temperature: undefined }, optionName),
      ...(temperature !== undefined && { temperature: Math.max(0, temperature) }),
    },
    stop: optional(options, 'stop', PATH, readStops) ?? [],
    ...(limit > 0 && { maxTokens: limit }),
  }
}

const DRAWS = new Map(Object.values(SAMPLING).map((setting) => [setting.wire, setting]))

/** A number as Ollama draws by it: beyond a limit it means the limit, and what cannot be means that nothing is asked for. */
function asDrawn(name: string, value: unknown): unknown {
  if (typeof value !== 'number') return value
  if (name === 'seed') return value === -1 ? undefined : value
  const { acts, least, most, usual } = DRAWS.get(name)!
  if (acts === 'draw') return Math.min(Math.max(value, least), most)
  return name === 'repetition_penalty' && value <= 0 ? usual : value
}

/** Clients send what they have none of as an empty list. */
const readStops = someTexts([0, MOST_STOPS], aStop)

/** The place in a request of what the other interfaces call `name`. */
export function optionName(name: string): string {
  const own = [...NAMES].find(([, other]) => other === name)?.[0]
  return own === undefined ? name : at(PATH, own)
}

export interface OllamaRequest {
  readonly spec: CallSpec
  readonly stream: boolean
  readonly ignored: readonly string[]
}

/** `keep_alive`: a model stays until another needs its room, which is as long as anybody asks for. */
const COMMON = [
  ...['model', 'name', 'stream', 'format', 'options', 'think', 'keep_alive', 'logprobs', 'top_logprobs'],
  ...['truncate', ...GUIDANCE_FIELDS],
]

const LIMIT = "Here it is 'options.num_predict'."
/** Those of the other interfaces, which whoever sends them relies on. */
const REFUSED: readonly (readonly [name: string, why: string])[] = [
  ...['response_format', 'output_format', 'output_config'].map((name) => [name, "Here it is 'format'."] as const),
  ...['stop', 'stop_sequences'].map((name) => [name, "Here it is 'options.stop'."] as const),
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'].map((name) => [name, LIMIT] as const),
  ...['n_predict', 'num_predict'].map((name) => [name, LIMIT] as const),
  ['n', 'There is one answer: send the request once more for another.'],
  ['tool_choice', 'A model calls tools freely here: leave it out.'],
  ['functions', "Here they are 'tools'."],
  ['quote', `Here it is '"x-quote": true' in the schema.`],
  ...['previous_response_id', 'conversation'].map(
    (name) => [name, 'Nothing is kept between messages: send all of them.'] as const,
  ),
]
const REFUSED_IN_CHAT: Refused = new Map([
  ...REFUSED,
  ...['system', 'instructions'].map((name) => [name, "In a chat it is a message of the role 'system'."] as const),
  ...['prompt', 'input'].map((name) => [name, "In a chat it is 'messages'."] as const),
  ['images', 'In a chat they are a field of their message.'],
])
const REFUSED_IN_GENERATE: Refused = new Map([
  ...REFUSED,
  ['tools', 'A question calls no tools: use /api/chat.'],
  ['messages', "Here it is 'prompt': send a conversation to /api/chat."],
  ['input', "Here it is 'prompt'."],
  ['instructions', "Here it is 'system'."],
])

/** What is empty asks for nothing either, and tools are called freely. */
function refuseOthers(body: JsonObject, refused: Refused): void {
  const asked = Object.entries(body).filter(([, value]) => !saysNothing(value) && value !== 'auto')
  refuseUnsupported(Object.fromEntries(asked), refused)
}

const KNOWN_IN_CHAT: ReadonlySet<string> = new Set([...COMMON, 'messages', 'tools', ...REFUSED_IN_CHAT.keys()])
const KNOWN_IN_GENERATE: ReadonlySet<string> = new Set([
  ...[...COMMON, 'prompt', 'suffix', 'images', 'system', 'template', 'raw', 'context'],
  ...REFUSED_IN_GENERATE.keys(),
])
const aTopCount = anInteger(0, 20)
/** As MCP names them: Ollama has no rule, and its clients put the server's name before a dot. */
const aToolName = aName(/^[a-zA-Z0-9_.-]+$/, 128)
const someTokens = anArray(0, Number.POSITIVE_INFINITY)

/** `POST /api/chat`. `contextLength` is asked for once a conversation has been found too long. */
export function* readChat(
  body: JsonObject,
  model: string,
  contextLength: () => number | undefined,
): Slices<OllamaRequest> {
  const ignored: string[] = []
  refuseOthers(body, REFUSED_IN_CHAT)
  noteUnknown(body, KNOWN_IN_CHAT, '', ignored)
  const tools = readTools({ tools: body.tools }, ignored, aToolName)
  const conversation = yield* readOllamaTurns(body, ignored)
  const shortens = optional(body, 'truncate', '', aBoolean) ?? true
  return requestOf(body, ignored, {
    ...inConversation(model, conversation),
    ...tools,
    ...(shortens && { shortened: shortener(contextLength) }),
  })
}

/** `POST /api/generate`: a question, or with `raw` or `suffix` a text to go on from. */
export function* readGenerate(body: JsonObject, model: string): Slices<OllamaRequest> {
  yield
  const ignored: string[] = []
  refuseOthers(body, REFUSED_IN_GENERATE)
  noteUnknown(body, KNOWN_IN_GENERATE, '', ignored)
  optional(body, 'truncate', '', aBoolean)
  if (optional(body, 'template', '', aString)) {
    throw unsupported('template', "The model's own chat template is used: to send a prompt unchanged, set 'raw'.")
  }
  if ((optional(body, 'context', '', someTokens)?.length ?? 0) > 0) {
    throw unsupported('context', 'Send the conversation to /api/chat.')
  }
  const prompt = optional(body, 'prompt', '', aString) ?? ''
  const suffix = optional(body, 'suffix', '', aString)
  const system = optional(body, 'system', '', aString)
  const images = readImages(body, '')
  const raw = optional(body, 'raw', '', aBoolean) ?? false
  if (!raw && !suffix) {
    const messages: ChatMessage[] = system ? [{ role: 'system', content: system }] : []
    const places = new Map(images.length > 0 ? [[messages.length, 'images']] : [])
    messages.push({ role: 'user', content: shown(prompt, images) })
    return requestOf(body, ignored, { ...inConversation(model, { messages, images: places }), ...NO_TOOLS })
  }
  const reason = `A prompt with '${raw ? 'raw' : 'suffix'}' is used unchanged: leave it out.`
  if (system) throw unsupported('system', reason)
  if (images.length > 0) throw unsupported('images', reason)
  return requestOf(body, ignored, {
    ...inConversation(model, { messages: [], images: new Map() }),
    ...NO_TOOLS,
    prompt,
    ...(suffix && { suffix }),
  })
}

const NO_TOOLS = { tools: [], toolChoice: 'none', parallelToolCalls: true } as const

function inConversation(model: string, { messages, images }: ReadTurns) {
  return {
    model,
    messages,
    n: 1,
    fields: {
      format: 'format',
      parameters: (tool: number) => `tools[${tool}].function.parameters`,
      thinking: 'think',
      sampling: optionName,
      image: 'image',
      // The text stands before them.
      part: (message: number, part: number) => at(images.get(message) ?? `messages[${message}]`, part - 1),
    },
  }
}

type BeforeAnswer = Omit<CallSpec, 'sampling' | 'stop' | 'output'>

function requestOf(body: JsonObject, ignored: string[], before: BeforeAnswer): OllamaRequest {
  // Clients write "none" as an empty text, too.
  if (body.format === '') Object.assign(body, { format: null })
  const form = readForm(body, { type: 'text' }, 'format', ignored)
  const logprobs = optional(body, 'logprobs', '', aBoolean) ?? false
  const top = optional(body, 'top_logprobs', '', aTopCount) ?? 0
  return {
    stream: optional(body, 'stream', '', aBoolean) ?? true,
    ignored,
    spec: {
      ...before,
      ...readOptions(body, ignored),
      ...readThinking(body, ignored),
      ...((logprobs || top > 0) && { topLogprobs: top }),
      output: form.output,
      fields: { ...before.fields, ...(form.outputField !== undefined && { format: form.outputField }) },
    },
  }
}

/** `true`, `false`, or how much. */
function readThinking(body: JsonObject, ignored: string[]): Pick<CallSpec, 'templateOptions'> {
  const { think } = body
  if (typeof think === 'boolean') return { templateOptions: { enable_thinking: think } }
  const effort = hint(body, 'think', '', anEffort, ignored)
  return effort === undefined ? {} : { templateOptions: withEffort(effort, undefined)! }
}
