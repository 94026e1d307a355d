import { type ChatMessage, type ContentPart, textOf } from '../../../contract/index.js'
import { exactJson, type JsonObject, mapped, type Slices } from '../../../platform/index.js'
import {
  aBoolean,
  anArray,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
  wrongType,
  wrongValue,
} from '../../wire/fields.js'
import { openSealed } from '../../wire/ids.js'
import { unreadable } from '../../wire/messages.js'

const KNOWN_MESSAGE = new Set(['role', 'content'])
/** By type of block: what is read of it, and hints. */
const KNOWN_BLOCK: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['text', new Set(['type', 'text', 'cache_control', 'citations'])],
  ['image', new Set(['type', 'source', 'cache_control'])],
  ['document', new Set(['type', 'source', 'title', 'context', 'cache_control', 'citations'])],
  ['search_result', new Set(['type', 'source', 'title', 'content', 'cache_control', 'citations'])],
  ['compaction', new Set(['type', 'content', 'cache_control'])],
  ['thinking', new Set(['type', 'thinking', 'signature'])],
  ['redacted_thinking', new Set(['type'])],
  ['tool_use', new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller'])],
  ['tool_result', new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])],
])

const someMessages = anArray(1, Number.POSITIVE_INFINITY)
const someBlocks = anArray(0, Number.POSITIVE_INFINITY)
const aRole = oneOf(['user', 'assistant', 'system'])

export interface MessagesTurns {
  readonly messages: readonly ChatMessage[]
  /** By message, where some of its parts are no text: the place of each part in the request. */
  readonly images: ReadonlyMap<number, readonly string[]>
}

/** `system` and `messages` of a request, in the engine's form. */
export function* readMessagesTurns(body: JsonObject, ignored: string[], counted?: string): Slices<MessagesTurns> {
  const system = optional(body, 'system', '', (value, param) => readTexts(value, param, ignored))
  const reader = new ConversationReader(ignored)
  if (system !== undefined && system !== '') reader.messages.push({ role: 'system', content: system })
  yield* mapped(required(body, 'messages', '', someMessages), (item, i) =>
    reader.read(anObject(item, at('messages', i)), at('messages', i)),
  )
  reader.endTurn()
  // An answer and its calls may be counted before anything follows them.
  if (!counted) reader.end()
  return reader
}

class ConversationReader implements MessagesTurns {
  readonly messages: ChatMessage[] = []
  readonly images = new Map<number, readonly string[]>()
  readonly #ignored: string[]
  /** Calls that still want a result, each with its place. */
  #open = new Map<string, string>()
  /** What the model says and calls in one go, over as many messages as it is sent in. */
  #turn: { texts: string[]; thoughts: string[]; toolCalls: ReturnType<typeof readCall>[] } | undefined
  #last = ''

  constructor(ignored: string[]) {
    this.#ignored = ignored
  }

  read(message: JsonObject, path: string): void {
    noteUnknown(message, KNOWN_MESSAGE, path, this.#ignored)
    const role = required(message, 'role', path, aRole)
    const content = required(message, 'content', path, (value) => value)
    const place = at(path, 'content')
    this.#last = path
    if (role !== 'assistant') this.endTurn()
    if (role === 'system' && this.#open.size > 0) this.#refuseOpen()
    if (role === 'user') this.#readUser(content, place)
    else if (role === 'assistant') this.#readAssistant(content, place)
    else this.messages.push({ role, content: readTexts(content, place, this.#ignored) })
  }

  end(): void {
    if (this.#open.size > 0) this.#refuseOpen()
    if (this.messages.at(-1)?.role !== 'assistant') return
    const param = at(this.#last, 'role')
    const message = `Invalid value for '${param}': 'assistant'. A partial answer cannot be continued: the last message must be the user's.`
    throw badRequest(param, message, 'unsupported_value')
  }

  #readUser(content: unknown, path: string): void {
    const parts: ContentPart[] = []
    const places: string[] = []
    const blocks = blocksOf(content, path)
    blocks.forEach(([block, type, place]) => {
      this.#note(block, type, place)
      if (type === 'tool_result') this.#readResult(block, place)
      else if (HOSTED.test(type)) this.#ignored.push(place)
      else {
        parts.push(readPart(block, type, place, this.#ignored))
        places.push(place)
      }
    })
    // Messages of a user behind each other are one turn: other results may come in the next.
    if (parts.length === 0 && blocks.some(([, type]) => type === 'tool_result')) return
    if (this.#open.size > 0) this.#refuseOpen()
    const isText = parts.every(({ type }) => type === 'text')
    if (!isText) this.images.set(this.messages.length, places)
    this.messages.push({ role: 'user', content: isText ? textOf(parts) : parts })
  }

  #readResult(block: JsonObject, path: string): void {
    const toolCallId = required(block, 'tool_use_id', path, aString)
    if (!this.#open.delete(toolCallId)) {
      const param = at(path, 'tool_use_id')
      const message = `Invalid '${param}': the message before it has no 'tool_use' block '${toolCallId.slice(0, 100)}' without a result.`
      throw badRequest(param, message, 'invalid_value')
    }
    const result = optional(block, 'content', path, (value, param) => readResult(value, param, this.#ignored)) ?? ''
    const failed = optional(block, 'is_error', path, aBoolean) ?? false
    this.messages.push({ role: 'tool', toolCallId, content: failed ? `Error: ${result}` : result })
  }

  #readAssistant(content: unknown, path: string): void {
    // Messages of the model's behind each other are one turn, too: results come behind the last.
    if (this.#open.size === 0) this.endTurn()
    else if (!this.#turn) this.#refuseOpen()
    this.#turn ??= { texts: [], thoughts: [], toolCalls: [] }
    const { texts, thoughts, toolCalls } = this.#turn
    if (texts.length === 1 && texts[0] === '') texts.pop()
    blocksOf(content, path).forEach(([block, type, place]) => {
      this.#note(block, type, place)
      if (type === 'text') texts.push(required(block, 'text', place, aString))
      else if (type === 'compaction') texts.push(optional(block, 'content', place, aString) ?? '')
      else if (type === 'thinking') thoughts.push(readThought(block, place))
      else if (type === 'tool_use') {
        const call = readCall(block, place)
        toolCalls.push(call)
        this.#open.set(call.id, place)
      } else if (HOSTED.test(type)) this.#ignored.push(place)
      else if (type !== 'redacted_thinking') throw wrongValue(at(place, 'type'), type, ANSWER_BLOCKS)
    })
  }

  endTurn(): void {
    if (!this.#turn) return
    const { texts, thoughts, toolCalls } = this.#turn
    this.#turn = undefined
    const reasoning = thoughts.filter(Boolean).join('\n')
    this.messages.push({
      role: 'assistant',
      content: texts.join('\n'),
      ...(reasoning !== '' && { reasoning }),
      ...(toolCalls.length > 0 && { toolCalls }),
    })
  }

  #note(block: JsonObject, type: string, path: string): void {
    const known = KNOWN_BLOCK.get(type)
    if (known) noteUnknown(block, known, path, this.#ignored)
  }

  #refuseOpen(): never {
    const [[id, place]] = [...this.#open] as [[string, string]]
    const message = `'${place}' has no result: the next message must begin with a 'tool_result' block for '${id.slice(0, 100)}'.`
    throw badRequest(place, message, 'invalid_value')
  }
}

const ANSWER_BLOCKS = ['text', 'thinking', 'redacted_thinking', 'tool_use']
const PROMPT_BLOCKS = ['text', 'image', 'document', 'search_result', 'tool_result']

function blocksOf(content: unknown, path: string): [block: JsonObject, type: string, path: string][] {
  if (typeof content === 'string') return [[{ type: 'text', text: aString(content, path) }, 'text', path]]
  if (!Array.isArray(content)) throw wrongType(path, 'a string or an array of blocks', content)
  return someBlocks(content, path).map((item, i) => {
    const block = anObject(item, at(path, i))
    return [block, required(block, 'type', at(path, i), aString), at(path, i)]
  })
}

/** What must be text: what the system says, what a tool gives back. */
function readTexts(value: unknown, param: string, ignored: string[]): string {
  const texts = blocksOf(value, param).map(([block, type, path]) => {
    if (type !== 'text') throw wrongValue(at(path, 'type'), type, ['text'])
    noteUnknown(block, KNOWN_BLOCK.get(type)!, path, ignored)
    return required(block, type, path, aString)
  })
  return texts.join('\n')
}

/** What a tool gives back: a model is told of what is no text, and the conversation goes on. */
function readResult(value: unknown, param: string, ignored: string[]): string {
  const texts = blocksOf(value, param).map(([block, type, path]) => {
    const known = KNOWN_BLOCK.get(type)
    if (known) noteUnknown(block, known, path, ignored)
    if (type === 'text') return required(block, type, path, aString)
    if (type === 'tool_reference') return `The tool ${required(block, 'tool_name', path, aString)} can be called.`
    if (type === 'search_result' && block.content !== undefined) return readFound(block, path, ignored)
    if (type !== 'document' || block.source === undefined) return unreadable(type)
    return readDocument(block, path, ignored) ?? unreadable(type)
  })
  return texts.join('\n')
}

/** What was found, and where. */
function readFound(block: JsonObject, path: string, ignored: string[]): string {
  const texts = required(block, 'content', path, (value, param) => readTexts(value, param, ignored))
  return headed(block, ['title', 'source'], path, texts)
}

/** Undefined: it is no text. */
function readDocument(block: JsonObject, path: string, ignored: string[]): string | undefined {
  const source = required(block, 'source', path, anObject)
  const place = at(path, 'source')
  if (source.type !== 'text' && source.type !== 'content') return undefined
  const text = required(source, source.type === 'text' ? 'data' : 'content', place, (value, param) =>
    source.type === 'text' ? aString(value, param) : readResult(value, param, ignored),
  )
  return headed(block, ['title', 'context'], path, text)
}

/** A text after what is said of it. */
const headed = (block: JsonObject, names: readonly string[], path: string, text: string): string =>
  [...names.map((name) => optional(block, name, path, aString)), text].filter(Boolean).join('\n')

/** What a server did by itself in an earlier turn, elsewhere. */
const HOSTED = /^server_tool_use$|_tool_result$|^mcp_tool_(use|listing)$|^container_upload$|^fallback$/

function readPart(block: JsonObject, type: string, path: string, ignored: string[]): ContentPart {
  if (type === 'search_result') return { type: 'text', text: readFound(block, path, ignored) }
  if (type === 'text') return { type, text: required(block, type, path, aString) }
  if (type !== 'image' && type !== 'document') throw wrongValue(at(path, 'type'), type, PROMPT_BLOCKS)
  const source = required(block, 'source', path, anObject)
  const place = at(path, 'source')
  const kind = required(source, 'type', place, aString)
  if (type === 'document') {
    const text = readDocument(block, path, ignored)
    if (text === undefined) throw wrongValue(at(place, 'type'), kind, ['text', 'content'])
    return { type: 'text', text }
  }
  if (kind === 'url') return { type, url: required(source, 'url', place, aString) }
  if (kind !== 'base64') throw wrongValue(at(place, 'type'), kind, ['base64', 'url'])
  const media = required(source, 'media_type', place, aString)
  return { type, url: `data:${media};base64,${required(source, 'data', place, aString)}` }
}

function readCall(block: JsonObject, path: string) {
  return {
    id: required(block, 'id', path, aString),
    name: required(block, 'name', path, aString),
    arguments: exactJson(required(block, 'input', path, anObject)),
  }
}

/** One that was not shown lies in its signature, where that is ours. */
function readThought(block: JsonObject, path: string): string {
  const thinking = required(block, 'thinking', path, aString)
  const signature = optional(block, 'signature', path, aString)
  if (thinking !== '' || !signature) return thinking
  try {
    return openSealed(signature, at(path, 'signature'))
  } catch {
    // Another service's, which nobody here can read, as it is with a redacted one.
    return ''
  }
}
