import type { ChatMessage, ContentPart } from '../../../contract/index.js'
import { exactJson, type JsonObject, mapped, type Slices } from '../../../platform/index.js'
import { anArray, anObject, aString, at, noteUnknown, oneOf, optional, required } from '../../wire/fields.js'
import { unreadable } from '../../wire/messages.js'

const KNOWN = new Set([
  ...['role', 'content', 'thinking', 'images', 'tool_calls', 'tool_name', 'tool_call_id'],
  // As older clients call `tool_name`.
  'name',
])
const KNOWN_CALL = new Set(['id', 'type', 'function'])
const KNOWN_FUNCTION = new Set(['index', 'name', 'description', 'arguments'])
const aRole = oneOf(['system', 'user', 'assistant', 'tool'])
const someMessages = anArray(0, Number.POSITIVE_INFINITY)
const someCalls = anArray(0, 128)
const someImages = anArray(0, Number.POSITIVE_INFINITY)

/** What a model is told of a call that the conversation has no result of. */
const NO_RESULT = 'No result was given.'

export interface ReadTurns {
  readonly messages: readonly ChatMessage[]
  /** By message: where in the request its images stand. */
  readonly images: ReadonlyMap<number, string>
}

/** Whether the request only asks for its model to be there, or to go. */
export const hasNoMessages = ({ messages }: JsonObject): boolean =>
  messages == null || (Array.isArray(messages) && messages.length === 0)

/** `messages` of a request, in the engine's form. */
export function* readOllamaTurns(body: JsonObject, ignored: string[]): Slices<ReadTurns> {
  const reader = new Reader(ignored)
  yield* mapped(required(body, 'messages', '', someMessages), (item, i) => {
    reader.read(anObject(item, at('messages', i)), at('messages', i))
  })
  reader.end()
  return reader
}

/**
 * Calls have no ids in Ollama's conversations, and results may be missing: a result is that of the first open call of its
 * name, or of the first that is open; a call without one is told to have none, and a result without a call is told in words.
 */
class Reader implements ReadTurns {
  readonly messages: ChatMessage[] = []
  readonly images = new Map<number, string>()
  readonly #ignored: string[]
  #open: { readonly id: string; readonly name: string }[] = []

  #unnamed = 0

  constructor(ignored: string[]) {
    this.#ignored = ignored
  }

  read(message: JsonObject, path: string): void {
    noteUnknown(message, KNOWN, path, this.#ignored)
    const role = required(message, 'role', path, aRole)
    const content = optional(message, 'content', path, aString) ?? ''
    const images = readImages(message, path)
    if (role === 'tool') {
      const parts = [content, ...images.map(() => unreadable('image'))]
      this.#readResult(message, parts.filter(Boolean).join('\n'), path)
      return
    }
    this.end()
    if (role !== 'user' && images.length > 0) this.#ignored.push(at(path, 'images'))
    if (role === 'assistant') this.#readAssistant(message, content, path)
    else if (role === 'system') this.messages.push({ role, content })
    else {
      if (images.length > 0) this.images.set(this.messages.length, at(path, 'images'))
      this.messages.push({ role, content: shown(content, images) })
    }
  }

  /** By its place: some templates tell ids, and what was said before stays the same from one request to the next. */
  #nextId(): string {
    return `call_${String(this.#unnamed++).padStart(24, '0')}`
  }

  end(): void {
    for (const { id } of this.#open) this.messages.push({ role: 'tool', toolCallId: id, content: NO_RESULT })
    this.#open = []
  }

  #readResult(message: JsonObject, content: string, path: string): void {
    const id = optional(message, 'tool_call_id', path, aString)
    const name = optional(message, 'tool_name', path, aString) ?? optional(message, 'name', path, aString)
    const found =
      this.#open.find((call) => call.id === id) ?? this.#open.find((call) => call.name === name) ?? this.#open[0]
    if (!found) {
      const of = name === undefined ? 'a tool' : `the tool ${name}`
      this.messages.push({ role: 'user', content: `Result of ${of}: ${content}` })
      return
    }
    this.#open = this.#open.filter((call) => call !== found)
    this.messages.push({ role: 'tool', toolCallId: found.id, content })
  }

  #readAssistant(message: JsonObject, content: string, path: string): void {
    const reasoning = optional(message, 'thinking', path, aString)
    const calls = optional(message, 'tool_calls', path, (value, param) =>
      someCalls(value, param).map((item, i) => this.#readCall(anObject(item, at(param, i)), at(param, i))),
    )
    this.#open = [...(calls ?? [])]
    this.messages.push({
      role: 'assistant',
      content,
      ...(reasoning && { reasoning }),
      ...(calls && calls.length > 0 && { toolCalls: calls }),
    })
  }

  #readCall(call: JsonObject, path: string) {
    noteUnknown(call, KNOWN_CALL, path, this.#ignored)
    const called = required(call, 'function', path, anObject)
    const place = at(path, 'function')
    noteUnknown(called, KNOWN_FUNCTION, place, this.#ignored)
    return {
      id: optional(call, 'id', path, aString) || this.#nextId(),
      name: required(called, 'name', place, aString),
      arguments: exactJson(optional(called, 'arguments', place, anObject) ?? {}),
    }
  }
}

export function readImages(holder: JsonObject, path: string): readonly string[] {
  return (
    optional(holder, 'images', path, (value, param) =>
      someImages(value, param).map((item, i) => urlOf(aString(item, at(param, i)))),
    ) ?? []
  )
}

/** A text, and the images that go with it. */
export function shown(content: string, images: readonly string[]): string | ContentPart[] {
  if (images.length === 0) return content
  return [{ type: 'text', text: content }, ...images.map((url) => ({ type: 'image', url }) as const)]
}

/** By how the base64 of each kind begins. */
const KINDS: readonly (readonly [beginning: string, type: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

function urlOf(image: string): string {
  if (image.startsWith('data:')) return image
  const type = KINDS.find(([beginning]) => image.startsWith(beginning))?.[1] ?? 'image/png'
  return `data:${type};base64,${image}`
}
