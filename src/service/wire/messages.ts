import { type ChatMessage, type Content, type ContentPart, textOf } from '../../contract/index.js'
import { exactJson, isRecord, type JsonObject, mapped, type Slices } from '../../platform/index.js'
import {
  aName,
  anArray,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
  unsupported,
  wrongType,
  wrongValue,
} from './fields.js'
import { argumentsOf } from './tools.js'

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const
const KNOWN = new Set([
  ...['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'refusal', 'audio', 'function_call'],
  // Of our own answers, which clients give back whole.
  ...['reasoning_content', 'reasoning', 'annotations'],
])
const KNOWN_PART = new Set(['type', 'text', 'refusal', 'image_url', 'input_audio', 'prompt_cache_breakpoint'])
const TEXT_PARTS = ['text']
const ANSWER_PARTS = ['text', 'refusal']
const PROMPT_PARTS = ['text', 'image_url', 'input_audio']
const MEDIA = new Map([
  ['image_url', 'Images'],
  ['input_audio', 'Audio parts'],
  ['file', 'Files'],
])
const aRole = oneOf(ROLES)
const someMessages = anArray(1, Number.POSITIVE_INFINITY)
const someParts = anArray(1, Number.POSITIVE_INFINITY)
/** Nothing said by who answers may be no part at all, and no call an empty list: other servers write both. */
const anyParts = anArray(0, Number.POSITIVE_INFINITY)
const someCalls = anArray(0, 128)
const aSpeaker = aName(/^[^\s<|\\/>]+$/, 64)

type ToolCalls = readonly { readonly id: string; readonly name: string; readonly arguments: string }[]

/** The conversation of a request, in the engine's form. */
export function* readMessages(body: JsonObject, ignored: string[]): Slices<ChatMessage[]> {
  const read = yield* mapped(required(body, 'messages', '', someMessages), (message, i) =>
    readMessage(message, at('messages', i), ignored),
  )
  checkToolTurns(read)
  return read
}

function readMessage(value: unknown, path: string, ignored: string[]): ChatMessage {
  const message = anObject(value, path)
  noteUnknown(message, KNOWN, path, ignored)
  const role = required(message, 'role', path, aRole)
  if (role === 'tool') return readResult(message, path)
  const name = optional(message, 'name', path, aSpeaker)
  if (role === 'assistant') return readAssistant(message, name, path, ignored)
  const types = role === 'user' ? PROMPT_PARTS : TEXT_PARTS
  const read = required(message, 'content', path, (value, param) => readContent(value, param, types, ignored))
  const { content, joined } = joinedOf(read)
  return {
    // To a model of today the developer is the system: their templates know no other name for it.
    role: role === 'developer' ? 'system' : role,
    content,
    ...(name !== undefined && { name }),
    ...(joined && { joined }),
  }
}

function readAssistant(message: JsonObject, name: string | undefined, path: string, ignored: string[]): ChatMessage {
  for (const field of ['audio', 'function_call']) {
    if (message[field] != null) throw unsupported(at(path, field), 'Use text and tool calls instead.')
  }
  const toolCalls = optional(message, 'tool_calls', path, readToolCalls) ?? []
  const thoughts: string[] = []
  const answer = optional(message, 'content', path, (value, param) => readAnswer(value, param, thoughts, ignored))
  const { content: written, ...joined } = answer === undefined ? {} : joinedOf(answer)
  const content = written === undefined ? optional(message, 'refusal', path, aString) : textOf(written)
  const reasoning =
    optional(message, 'reasoning_content', path, aString) ??
    optional(message, 'reasoning', path, aString) ??
    (thoughts.length > 0 ? thoughts.join('\n') : undefined)
  return {
    role: 'assistant',
    // A turn may have come to nothing, or to nothing but thoughts.
    content: content ?? '',
    ...(reasoning !== undefined && { reasoning }),
    ...(name !== undefined && { name }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...joined,
  }
}

/** Of what a tool gives the model is told what cannot be read: the conversation goes on. Its `name` says nothing more. */
function readResult(message: JsonObject, path: string): ChatMessage {
  const content = optional(message, 'content', path, (value, param) => {
    if (typeof value === 'string') return aString(value, param)
    if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
    return anyParts(value, param).map((part, i) => ({ type: 'text' as const, text: toolPart(part, at(param, i)) }))
  })
  const toolCallId = required(message, 'tool_call_id', path, aString)
  return { role: 'tool', toolCallId, ...textJoined(joinedOf(content ?? '')) }
}

const textJoined = ({ content, ...joined }: ReturnType<typeof joinedOf>) => ({ content: textOf(content), ...joined })

function toolPart(value: unknown, path: string): string {
  if (!isRecord(value)) throw wrongType(path, 'an object', value)
  const type = required(value, 'type', path, aString)
  return type === 'text' ? required(value, type, path, aString) : unreadable(type)
}

/** In a line of a prompt, as which `media` or of which type: that word is the request's. */
export const unreadable = (type: string, media = MEDIA.get(type)): string =>
  media === undefined
    ? `[Something of the type ${type.slice(0, 40).replace(/\W/g, '_')}, which cannot be read here.]`
    : `[${media} cannot be read here.]`

/** What was said, and beside it what was thought, as some servers and frameworks keep it. */
function readAnswer(value: unknown, param: string, thoughts: string[], ignored: string[]): Content {
  if (!Array.isArray(value)) return readContent(value, param, ANSWER_PARTS, ignored)
  return anyParts(value, param).flatMap((part, i): ContentPart[] => {
    const path = at(param, i)
    if (!isRecord(part) || (part.type !== 'thinking' && part.type !== 'reasoning')) {
      return [readPart(part, path, ANSWER_PARTS, ignored)]
    }
    const thought = part.thinking ?? part.reasoning ?? part.text ?? ''
    const texts = Array.isArray(thought) ? thought.map((each) => (isRecord(each) ? each.text : each)) : [thought]
    for (const text of texts) thoughts.push(aString(text, path))
    return []
  })
}

function readContent(value: unknown, param: string, types: readonly string[], ignored: string[]): Content {
  if (typeof value === 'string') return aString(value, param)
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
  return someParts(value, param).map((part, i) => readPart(part, at(param, i), types, ignored))
}

/** Parts that are all texts as one: templates take a text. */
function joinedOf(content: Content): { content: Content; joined?: readonly number[] } {
  if (typeof content === 'string') return { content }
  const lengths = content.flatMap((part) => (part.type === 'text' ? [part.text.length] : []))
  if (lengths.length < content.length) return { content }
  return { content: textOf(content), ...(lengths.length > 1 && { joined: lengths }) }
}

function readPart(value: unknown, path: string, types: readonly string[], ignored: string[]): ContentPart {
  if (!isRecord(value)) throw wrongType(path, 'an object', value)
  const type = required(value, 'type', path, aString)
  if (type === 'file') throw notTaken(at(path, 'type'), type, 'Files')
  if (!types.includes(type)) throw wrongValue(at(path, 'type'), type, types)
  noteUnknown(value, KNOWN_PART, path, ignored)
  if (type === 'image_url') {
    const image = required(value, type, path, anObject)
    const place = at(path, type)
    const detail = optional(image, 'detail', place, aString)
    return { type: 'image', url: required(image, 'url', place, aString), ...(detail !== undefined && { detail }) }
  }
  if (type === 'input_audio') {
    const audio = required(value, type, path, anObject)
    const place = at(path, type)
    return {
      type: 'audio',
      data: required(audio, 'data', place, aString),
      format: required(audio, 'format', place, aString),
    }
  }
  return { type: 'text', text: required(value, type, path, aString) }
}

/** For a part of a message that nothing here, or not this model, can read. */
export function notTaken(param: string, type: string, kind: string) {
  return badRequest(
    param,
    `Invalid value for '${param}': '${type}'. ${kind} are not supported: send text.`,
    'unsupported_value',
  )
}

function readToolCalls(value: unknown, param: string): ToolCalls {
  return someCalls(value, param).map((item, i) => {
    const path = at(param, i)
    const call = anObject(item, path)
    const type = 'function' in call && call.type == null ? 'function' : required(call, 'type', path, aString)
    if (type === 'custom') {
      const place = at(path, type)
      const fields = required(call, type, path, anObject)
      return {
        id: required(call, 'id', path, aString),
        name: required(fields, 'name', place, aString),
        arguments: argumentsOf(required(fields, 'input', place, aString)),
      }
    }
    if (type !== 'function') throw wrongValue(at(path, 'type'), type, ['function', 'custom'])
    const called = required(call, 'function', path, anObject)
    return {
      id: required(call, 'id', path, aString),
      name: required(called, 'name', at(path, 'function'), aString),
      arguments: required(called, 'arguments', at(path, 'function'), readArguments),
    }
  })
}

/** As a text, or as the object that some servers keep. */
export const readArguments = (value: unknown, param: string): string =>
  isRecord(value) ? exactJson(value) : aString(value, param)

/** Every tool message answers a call of the assistant's message before it, and every call is answered. */
function checkToolTurns(messages: readonly ChatMessage[]): void {
  let open = new Set<string>()
  let last = -1
  let known: ReadonlySet<string> = open
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!known.has(message.toolCallId)) {
        const rule = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        const param = known.size > 0 ? `messages[${i}].tool_call_id` : `messages[${i}].role`
        throw badRequest(param, `Invalid parameter: '${param}'. ${rule}`, 'invalid_value')
      }
      open.delete(message.toolCallId)
      continue
    }
    refuseOpen(open, last)
    const calls = message.role === 'assistant' ? message.toolCalls : undefined
    // None is open here: of tens of thousands of messages hardly any calls.
    known = calls ? new Set(calls.map(({ id }) => id)) : open
    if (calls) open = new Set(known)
    last = i
  }
  refuseOpen(open, last)
}

function refuseOpen(open: ReadonlySet<string>, index: number): void {
  if (open.size === 0) return
  const param = `messages[${index}].tool_calls`
  const rule = "An assistant message with 'tool_calls' must be followed by tool messages responding to each of them."
  throw badRequest(param, `${rule} Without response: ${[...open].join(', ').slice(0, 200)}.`, 'invalid_value')
}
