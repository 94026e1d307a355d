import { isRecord, type JsonObject, mapped, type Slices } from '../../../../platform/index.js'
import {
  aBoolean,
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
} from '../../../wire/fields.js'
import { itemId, openSealed } from '../../../wire/ids.js'
import { readArguments, unreadable } from '../../../wire/messages.js'
import { type OwnTool, ownByType } from './own-tools.js'
import type {
  AdditionalToolsItem,
  CustomCallItem,
  CustomOutputItem,
  FunctionCallItem,
  FunctionOutputItem,
  MessageItem,
  OwnCallItem,
  OwnOutputItem,
  ReasoningItem,
  StoredItem,
} from './resource.js'
import { checkTools } from './tools.js'

const ROLES = ['user', 'assistant', 'system', 'developer'] as const
const MEDIA = new Map([
  ['input_image', 'Images'],
  ['input_file', 'Files'],
  ['input_audio', 'Audio parts'],
  ['input_video', 'Videos'],
])

const someItems = anArray(1, Number.POSITIVE_INFINITY)
const someParts = anArray(0, Number.POSITIVE_INFINITY)
const aRole = oneOf(ROLES)
/** Of calls in a history, which another server may have made: ids of some are longer than ours, and names have dots. */
const aCallId = aName(/^[\s\S]+$/, 1024)
const aCalledName = aName(/^[\s\S]+$/, 256)

const KNOWN_PART = new Set(['type', 'text', 'refusal', 'annotations', 'logprobs', 'prompt_cache_breakpoint'])

const KNOWN_CALL = ['type', 'id', 'call_id', 'name', 'status', 'caller', 'namespace', 'async']
const KNOWN_THOUGHTS = new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'status'])
const KNOWN_OUTPUT = new Set(['type', 'id', 'call_id', 'name', 'output', 'status', 'caller'])

interface ItemReader {
  readonly known: ReadonlySet<string>
  read(item: JsonObject, path: string, ignored: string[]): InputItem
}

/** By `type`. */
const READERS: ReadonlyMap<string, ItemReader> = new Map([
  ['message', { known: new Set(['type', 'id', 'role', 'content', 'status', 'phase']), read: readMessage }],
  ['function_call', { known: new Set([...KNOWN_CALL, 'arguments']), read: readCall }],
  ['function_call_output', { known: KNOWN_OUTPUT, read: readOutput }],
  ['custom_tool_call', { known: new Set([...KNOWN_CALL, 'input']), read: readCustomCall }],
  ['custom_tool_call_output', { known: KNOWN_OUTPUT, read: readCustomOutput }],
  ['reasoning', { known: KNOWN_THOUGHTS, read: readReasoning }],
  ['item_reference', { known: new Set(['type', 'id']), read: readReference }],
  ...(['shell', 'local_shell', 'apply_patch'] as const).flatMap((type) => [ownCallReader(type), ownOutputReader(type)]),
  ['additional_tools', { known: new Set(['type', 'id', 'role', 'tools']), read: readAdditionalTools }],
  // Codex knows it by other names as well.
  ...['compaction', 'compaction_summary', 'context_compaction'].map((type): [string, ItemReader] => [
    type,
    { known: new Set(['type', 'id', 'encrypted_content', 'created_by']), read: readCompaction },
  ]),
])

/** What a server did by itself in an earlier turn, elsewhere: nobody here can read it. */
const HOSTED =
  /^(web_search|file_search|computer|code_interpreter|image_generation|mcp|tool_search|program|configuration_update|compaction_trigger|agent_message|ghost_snapshot)(_|$)/

/** An item of a request: whole, or the name of one that an earlier response holds. */
export type InputItem = StoredItem | { readonly type: 'item_reference'; readonly id: string; readonly param: string }

/** `input` of a request: a text is what a user says. Every item gets an id, under which it can be asked for again. */
export function* readInput(value: unknown, param: string, ignored: string[]): Slices<InputItem[]> {
  if (typeof value === 'string') return [userMessage(aString(value, param))]
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of items', value)
  return yield* readItems(someItems(value, param), param, ignored)
}

export const readItems = (items: readonly unknown[], param: string, ignored: string[]): Slices<InputItem[]> =>
  mapped(items, (item, i) => readItem(anObject(item, at(param, i)), at(param, i), ignored))

export function userMessage(text: string): MessageItem {
  return {
    type: 'message',
    id: itemId('msg'),
    status: 'completed',
    role: 'user',
    content: [{ type: 'input_text', text }],
  }
}

function readItem(item: JsonObject, path: string, ignored: string[]): InputItem {
  // A message may leave out what it is, and so may a reference, which is nothing but an id.
  const type = optional(item, 'type', path, aString) ?? ('role' in item ? 'message' : 'item_reference')
  const reader = READERS.get(type)
  if (!reader && HOSTED.test(type)) {
    checkUpdate(item, path)
    ignored.push(path)
    return emptyItem(item, path)
  }
  if (!reader) throw wrongValue(at(path, 'type'), type, [...READERS.keys()])
  noteUnknown(item, reader.known, path, ignored)
  return reader.read(item, path, ignored)
}

const idOf = (item: JsonObject, path: string, prefix: string): string =>
  optional(item, 'id', path, aString) ?? itemId(prefix)

/** `configuration_update`: an effort is a hint, but a schema that it asks for would be kept to by nobody. */
function checkUpdate({ type, text }: JsonObject, path: string): void {
  if (type !== 'configuration_update' || !isRecord(text) || !isRecord(text.format) || text.format.type === 'text')
    return
  const param = at(path, 'text.format')
  throw unsupported(param, "A format is not taken from an item: send 'text.format' with each request.")
}

/** In the place of an item that is ignored: it has no content. */
function emptyItem(item: JsonObject, path: string): ReasoningItem {
  return { type: 'reasoning', id: idOf(item, path, 'rs'), summary: [], status: 'completed' }
}

/** Kept as it came: its tools are read anew by each request that has it in its history. */
function readAdditionalTools(item: JsonObject, path: string, ignored: string[]): AdditionalToolsItem {
  const tools = required(item, 'tools', path, (value, param) => checkTools(value, param, ignored))
  return { type: 'additional_tools', id: idOf(item, path, 'at'), role: 'developer', tools }
}

function readMessage(item: JsonObject, path: string, ignored: string[]): MessageItem {
  const role = required(item, 'role', path, aRole)
  const id = idOf(item, path, 'msg')
  const texts = required(item, 'content', path, (value, param) => readTexts(value, param, role, ignored))
  const content = texts.map((text) =>
    role === 'assistant'
      ? { type: 'output_text' as const, text, annotations: [] as const, logprobs: [] }
      : { type: 'input_text' as const, text },
  )
  return { type: 'message', id, status: 'completed', role, content }
}

type Speaker = (typeof ROLES)[number] | 'result'
const TEXT_PARTS = ['input_text', 'text']
const ANSWER_PARTS = ['output_text', 'refusal']

function readTexts(value: unknown, param: string, role: Speaker, ignored: string[]): string[] {
  if (typeof value === 'string') return [aString(value, param)]
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
  // `text` as chats have it: a history may come from one.
  const types = role === 'assistant' ? [...ANSWER_PARTS, ...TEXT_PARTS] : [...TEXT_PARTS, 'output_text']
  return someParts(value, param).map((part, i) => readText(part, at(param, i), role, types, ignored))
}

function readText(value: unknown, path: string, role: Speaker, types: readonly string[], ignored: string[]): string {
  if (!isRecord(value)) throw wrongType(path, 'an object', value)
  const type = required(value, 'type', path, aString)
  const media = MEDIA.get(type)
  // A tool gives what it gives: the model is told of it, and the conversation goes on.
  if (role === 'result' && !types.includes(type)) return unreadable(type, media)
  if (media) {
    const message = `Invalid value for '${at(path, 'type')}': '${type}'. ${media} are not supported: send text.`
    throw badRequest(at(path, 'type'), message, 'unsupported_value')
  }
  if (!types.includes(type)) throw wrongValue(at(path, 'type'), type, types)
  noteUnknown(value, KNOWN_PART, path, ignored)
  return required(value, type === 'refusal' ? 'refusal' : 'text', path, aString)
}

function readCall(item: JsonObject, path: string): FunctionCallItem {
  return {
    type: 'function_call',
    id: idOf(item, path, 'fc'),
    call_id: required(item, 'call_id', path, aCallId),
    ...readTool(item, path),
    arguments: required(item, 'arguments', path, readArguments),
    status: callStatus(item),
  }
}

/** Nobody can run one that was cut off. */
const callStatus = (item: JsonObject) => (item.status === 'incomplete' ? 'incomplete' : 'completed')

function readTool(item: JsonObject, path: string): Pick<FunctionCallItem, 'name' | 'namespace' | 'async'> {
  const namespace = optional(item, 'namespace', path, aCalledName)
  const name = required(item, 'name', path, aCalledName)
  const later = optional(item, 'async', path, aBoolean) && { async: true as const }
  return { name, ...(namespace !== undefined && { namespace }), ...later }
}

function readOutput(item: JsonObject, path: string, ignored: string[]): FunctionOutputItem {
  return { type: 'function_call_output', id: idOf(item, path, 'fco'), ...readResult(item, path, ignored) }
}

function readCustomOutput(item: JsonObject, path: string, ignored: string[]): CustomOutputItem {
  return { type: 'custom_tool_call_output', id: idOf(item, path, 'ctco'), ...readResult(item, path, ignored) }
}

const readResult = (item: JsonObject, path: string, ignored: string[]) => ({
  call_id: required(item, 'call_id', path, aCallId),
  output: required(item, 'output', path, (value, param) => readTexts(value ?? '', param, 'result', ignored)).join('\n'),
  status: 'completed' as const,
})

function readCustomCall(item: JsonObject, path: string): CustomCallItem {
  return {
    type: 'custom_tool_call',
    id: idOf(item, path, 'ctc'),
    call_id: required(item, 'call_id', path, aCallId),
    ...readTool(item, path),
    input: required(item, 'input', path, aString),
    status: callStatus(item),
  }
}

function ownCallReader(type: OwnTool['type']): [string, ItemReader] {
  const call = `${type}_call` as const
  const known = new Set([
    ...['type', 'id', 'call_id', 'action', 'operation', 'environment', 'status', 'caller', 'created_by'],
  ])
  const read = (item: JsonObject, path: string): OwnCallItem => {
    const tool = ownByType(type)!
    const ids = { id: idOf(item, path, tool.prefix), call_id: required(item, 'call_id', path, aCallId) }
    return { type: call, ...ids, ...tool.fields(tool.argumentsOf(item, path)), status: 'completed' }
  }
  return [call, { known, read }]
}

function ownOutputReader(type: OwnTool['type']): [string, ItemReader] {
  const output = `${type}_call_output` as const
  const known = new Set([...['type', 'id', 'call_id', 'output', 'max_output_length', 'status', 'caller', 'created_by']])
  const read = (item: JsonObject, path: string): OwnOutputItem => {
    ownByType(type)!.textOf(item, path)
    // The official types of a local shell know its call by `id` alone.
    const calls = item.call_id == null && type === 'local_shell' ? 'id' : 'call_id'
    return {
      type: output,
      id: idOf(item, path, 'out'),
      call_id: required(item, calls, path, aCallId),
      ...(item.output != null && { output: item.output }),
      status: item.status === 'failed' ? 'failed' : 'completed',
    }
  }
  return [output, { known, read }]
}

/** Thoughts of an earlier turn, in whichever of its three places a client kept them. */
function readReasoning(item: JsonObject, path: string, ignored: string[]): ReasoningItem {
  const texts = (name: string) =>
    (optional(item, name, path, someParts) ?? []).map((part, i) => {
      const place = at(at(path, name), i)
      return required(anObject(part, place), 'text', place, aString)
    })
  const thoughts = [texts('content'), texts('summary')].find((found) => found.length > 0)
  const sealed = optional(item, 'encrypted_content', path, aString)
  const text =
    thoughts?.join('\n') ?? (sealed === undefined ? '' : openedOr(sealed, '', at(path, 'encrypted_content'), ignored))
  return {
    type: 'reasoning',
    id: idOf(item, path, 'rs'),
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    status: 'completed',
  }
}

/** What a model is told of a sum that another service made. */
const LOST = '[The earlier part of this conversation was summed up by another service, and cannot be read here.]'

/** What another service packed is nothing that anybody can read here; the rest of the conversation is. */
function openedOr(packed: string, instead: string, param: string, ignored: string[]): string {
  try {
    return openSealed(packed, param)
  } catch {
    ignored.push(param)
    return instead
  }
}

function readReference(item: JsonObject, path: string): InputItem {
  return { type: 'item_reference', id: required(item, 'id', path, aString), param: at(path, 'id') }
}

/** What `/responses/compact` made of a conversation: its sum, as a message that the system gives. */
function readCompaction(item: JsonObject, path: string, ignored: string[]): MessageItem {
  const packed = optional(item, 'encrypted_content', path, aString) ?? ''
  const text = openedOr(packed, LOST, at(path, 'encrypted_content'), ignored)
  const content = [{ type: 'input_text' as const, text }]
  return { type: 'message', id: idOf(item, path, 'cmp'), status: 'completed', role: 'system', content }
}
