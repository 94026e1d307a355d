/** `input` of a decision as a conversation: what was said, called and found out, which is judged and not gone on with. */
import type { ChatMessage, Content, ContentPart } from '../../../contract/index.js'
import { isRecord, type JsonObject, spaced } from '../../../platform/index.js'
import { notTaken } from '../chat/messages.js'
import {
  aName,
  anArray,
  anObject,
  aString,
  at,
  noteUnknown,
  oneOf,
  optional,
  refuse,
  required,
  wrongType,
  wrongValue,
} from '../fields.js'

/** What reading a request gathers beside what it says. */
export interface Noted {
  readonly ignored: string[]
  /** Where images stand. */
  readonly images: string[]
}

type Read<T> = (value: unknown, param: string) => T
type State = string | readonly ChatMessage[]

const someParts = anArray(1, Number.POSITIVE_INFINITY)
const someItems = anArray(1, Number.POSITIVE_INFINITY)
const aCallId = aName(/^[\s\S]+$/, 64)
const aToolName = aName(/^[\s\S]+$/, 128)
const aDetail = oneOf(['low', 'high', 'auto', 'original'])
const aRole = oneOf(['user', 'assistant', 'system', 'developer'])

const PART_FIELDS: ReadonlyMap<string, string> = new Map([
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['refusal', 'refusal'],
  ['input_json', 'data'],
  ['input_image', 'image_url'],
])
const TYPES = {
  user: ['input_text', 'input_image', 'input_json'],
  system: ['input_text'],
  developer: ['input_text'],
  assistant: ['output_text', 'refusal'],
  output: ['input_text', 'input_image'],
} as const
const KNOWN_MESSAGE = new Set(['type', 'id', 'role', 'content', 'phase', 'status'])
const KNOWN_CALL = new Set(['type', 'id', 'call_id', 'name', 'arguments', 'input', 'namespace', 'status'])
const KNOWN_OUTPUT = new Set(['type', 'id', 'call_id', 'output', 'status'])

/** A text, or items in their order. */
export function readState(value: unknown, param: string, noted: Noted): State {
  if (typeof value === 'string') return aString(value, param)
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of items', value)
  const calls = new Map<string, 'function' | 'custom_tool'>()
  return someItems(value, param).map((item, i) => readItem(anObject(item, at(param, i)), at(param, i), calls, noted))
}

function readItem(
  item: JsonObject,
  path: string,
  calls: Map<string, 'function' | 'custom_tool'>,
  noted: Noted,
): ChatMessage {
  const type = optional(item, 'type', path, aString) ?? 'message'
  if (type === 'message') return readMessage(item, path, noted)
  const [, kind, output] = /^(function|custom_tool)_call(_output)?$/.exec(type) ?? []
  if (kind === undefined) {
    const known = ['message', ...['function', 'custom_tool'].flatMap((name) => [`${name}_call`, `${name}_call_output`])]
    throw wrongValue(at(path, 'type'), type, known)
  }
  const id = required(item, 'call_id', path, aCallId)
  noteUnknown(item, output ? KNOWN_OUTPUT : KNOWN_CALL, path, noted.ignored)
  if (!output) {
    calls.set(id, kind as 'function')
    const name = required(item, 'name', path, aToolName)
    const said = required(item, kind === 'function' ? 'arguments' : 'input', path, aString)
    return { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: said }] }
  }
  if (calls.get(id) !== kind) {
    const message = `Invalid '${at(path, 'call_id')}': no ${kind}_call before it has the call_id ${id}.`
    throw refuse(at(path, 'call_id'), message, 'invalid_value')
  }
  const content = required(item, 'output', path, contentOf(TYPES.output, noted))
  // No engine takes images from a tool.
  if (typeof content !== 'string') throw notTaken(noted.images.at(-1)!, 'input_image', 'Images')
  return { role: 'tool', toolCallId: id, content }
}

function readMessage(item: JsonObject, path: string, noted: Noted): ChatMessage {
  noteUnknown(item, KNOWN_MESSAGE, path, noted.ignored)
  const role = required(item, 'role', path, aRole)
  const content = required(item, 'content', path, contentOf(TYPES[role], noted))
  if (role === 'assistant') return { role, content: content as string }
  return { role: role === 'developer' ? 'system' : role, content }
}

/** A text, or parts of these types. */
export function contentOf(types: readonly string[], noted: Noted): Read<Content> {
  return (value, param) => {
    if (typeof value === 'string') return aString(value, param)
    if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
    const parts = someParts(value, param).map((part, i) => readPart(part, at(param, i), types, noted))
    if (parts.some(({ type }) => type !== 'text')) return parts
    return parts.map((part) => (part as { readonly text: string }).text).join('\n')
  }
}

function readPart(value: unknown, path: string, types: readonly string[], noted: Noted): ContentPart {
  if (!isRecord(value)) throw wrongType(path, 'an object', value)
  const type = required(value, 'type', path, aString)
  if (!types.includes(type)) throw wrongValue(at(path, 'type'), type, types)
  const field = PART_FIELDS.get(type)!
  noteUnknown(value, new Set(['type', 'prompt_cache_breakpoint', 'detail', field]), path, noted.ignored)
  if (type === 'input_json') return { type: 'text', text: required(value, field, path, aJson) }
  const text = required(value, field, path, aString)
  if (type !== 'input_image') return { type: 'text', text }
  noted.images.push(at(path, 'type'))
  const detail = optional(value, 'detail', path, aDetail)
  return { type: 'image', url: text, ...(detail && { detail }) }
}

function aJson(value: unknown, param: string): string {
  const whole = isRecord(value) || (Array.isArray(value) && value.length > 0 && value.every(isRecord))
  if (!whole) throw wrongType(param, 'an object or a list of objects', value)
  return aString(spaced(value), param)
}
