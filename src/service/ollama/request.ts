import type { ChatMessage } from '../../contract/index.js'
import type { JsonObject, Slices } from '../../platform/index.js'
import { shortener } from '../routes/responses/conversation.js'
import { readTools } from '../wire/chat/tools.js'
import { anEffort, withEffort } from '../wire/effort.js'
import { aBoolean, anArray, anInteger, aString, at, hint, noteUnknown, optional, unsupported } from '../wire/fields.js'
import { GUIDANCE_FIELDS, readForm } from '../wire/guidance.js'
import type { CallSpec } from '../wire/reply.js'
import { type ReadTurns, readConversation, readImages, shown } from './conversation.js'
import { optionName, readOptions } from './options.js'

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
const KNOWN_IN_CHAT: ReadonlySet<string> = new Set([...COMMON, 'messages', 'tools'])
const KNOWN_IN_GENERATE: ReadonlySet<string> = new Set([
  ...[...COMMON, 'prompt', 'suffix', 'images', 'system', 'template', 'raw', 'context'],
])
const aTopCount = anInteger(0, 20)
const someTokens = anArray(0, Number.POSITIVE_INFINITY)

/** `POST /api/chat`. `contextLength` is asked for once a conversation has been found too long. */
export function* readChat(
  body: JsonObject,
  model: string,
  contextLength: () => number | undefined,
): Slices<OllamaRequest> {
  const ignored: string[] = []
  noteUnknown(body, KNOWN_IN_CHAT, '', ignored)
  const tools = readTools({ tools: body.tools }, ignored)
  const conversation = yield* readConversation(body, ignored)
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

function requestOf(body: JsonObject, ignored: string[], asked: BeforeAnswer): OllamaRequest {
  // Clients write "none" as an empty text, too.
  const form = readForm(
    { ...body, format: body.format === '' ? null : body.format },
    { type: 'text' },
    'format',
    ignored,
  )
  const logprobs = optional(body, 'logprobs', '', aBoolean) ?? false
  const top = optional(body, 'top_logprobs', '', aTopCount) ?? 0
  return {
    stream: optional(body, 'stream', '', aBoolean) ?? true,
    ignored,
    spec: {
      ...asked,
      ...readOptions(body, ignored),
      ...readThinking(body, ignored),
      ...((logprobs || top > 0) && { topLogprobs: top }),
      output: form.output,
      fields: { ...asked.fields, ...(form.outputField !== undefined && { format: form.outputField }) },
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
