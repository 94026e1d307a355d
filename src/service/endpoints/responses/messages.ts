/** Items as a chat template knows them: messages, of which each answer of the assistant is one. */
import type { ChatMessage } from '../../../contract/index.js'
import type { Slices } from '../../../platform/index.js'
import { badRequest } from '../../wire/fields.js'
import { argumentsOf } from '../../wire/tools.js'
import { isOwnCall, isOwnOutput, madeCall, outputText } from './wire/own-tools.js'
import type { CustomCallItem, FunctionCallItem, MessageItem, StoredItem } from './wire/resource.js'
import { nameWithin } from './wire/tools.js'

/** What a model is told of a call whose result comes later: a template wants one for each. */
const PENDING = '[The result is not there yet.]'

/** Items between two pauses. */
const SLICE = 4096

/** The conversation in the engine's form. `places` names the items in errors: the request's own by their place in it. */
export function* messagesOfItems(
  instructions: string | undefined,
  items: readonly StoredItem[],
  places: (item: number) => string,
): Slices<ChatMessage[]> {
  const messages: ChatMessage[] = []
  if (instructions !== undefined) messages.push({ role: 'system', content: instructions })
  const turn = new AssistantTurn()
  const calls = new OpenCalls()
  // Behind the last turn that called, and its results: what clients say before one that is due comes after it.
  let due = 0
  const said = new Set<string>()
  const cut = cutCalls(items)
  for (const [i, item] of items.entries()) {
    if (i % SLICE === SLICE - 1) yield
    if (cut.has(item)) continue
    const between = turn.isEmpty
    if (turn.take(item)) {
      if (between) calls.tellPending(messages)
      calls.take(item, i)
      continue
    }
    turn.end(messages)
    if ('toolCalls' in (messages.at(-1) ?? {})) due = messages.length
    const output = outputOf(item)
    if (output) {
      const ended = calls.end(output.call_id, output.text)
      if (!ended) throw noCall(output.call_id, places(i))
      if (ended === 'again') continue
      const place = ended === 'now' ? due : messages.length
      messages.splice(place, 0, { role: 'tool', content: output.text, toolCallId: output.call_id })
      if (place === due) due++
    } else if (item.type === 'message') {
      const content = textOf(item)
      // Before a result clients repeat what a conversation has already.
      if (calls.now.size > 0 && said.has(content)) continue
      said.add(content)
      if (calls.tellPending(messages)) due = messages.length
      const role = item.role === 'user' ? 'user' : 'system'
      const joined = item.content.length > 1 ? { joined: item.content.map(({ text }) => text.length) } : {}
      messages.push({ role, content, ...joined })
    }
  }
  turn.end(messages)
  calls.tellPending(messages)
  for (const [callId, i] of calls.now) throw noOutput(callId, places(i))
  return messages
}

/** The calls of `async` tools that have none so far. */
export function callsWithoutResult(items: readonly StoredItem[]): StoredItem[] {
  const ended = endedCalls(items)
  return items.filter((item) => 'async' in item && item.status !== 'incomplete' && !ended.has(item.call_id))
}

/** What was cut off in the middle of a call, which nobody could run: the conversation goes on without it. */
function cutCalls(items: readonly StoredItem[]): ReadonlySet<StoredItem> {
  const cut = items.filter(
    (item) => (item.type === 'function_call' || item.type === 'custom_tool_call') && item.status === 'incomplete',
  ) as (FunctionCallItem | CustomCallItem)[]
  if (cut.length === 0) return new Set()
  const ended = endedCalls(items)
  return new Set(cut.filter(({ call_id }) => !ended.has(call_id)))
}

const endedCalls = (items: readonly StoredItem[]): ReadonlySet<string | undefined> =>
  new Set(items.map((item) => outputOf(item)?.call_id))

/** Calls whose results have not been met. */
class OpenCalls {
  /** Those that must have one: by their id, where they stand among the items. */
  readonly now = new Map<string, number>()
  readonly #later = new Set<string>()
  readonly #results = new Map<string, string>()
  /** Of those for later, the ones of which the model was told nothing. */
  #untold: string[] = []

  take(item: StoredItem, i: number): void {
    if (item.type !== 'function_call' && item.type !== 'custom_tool_call' && !isOwnCall(item)) return
    if (!('async' in item)) this.now.set(item.call_id, i)
    else {
      this.#later.add(item.call_id)
      this.#untold.push(item.call_id)
    }
  }

  /** Which kind it was; `again`: clients repeat what a conversation has already; undefined: nobody called so. */
  end(callId: string, text: string): 'now' | 'later' | 'again' | undefined {
    if (this.now.delete(callId)) {
      this.#results.set(callId, text)
      return 'now'
    }
    if (this.#later.delete(callId)) return 'later'
    return this.#results.get(callId) === text ? 'again' : undefined
  }

  /** In the place of results that come later: once for each, and not if they have come by now. Whether there are such. */
  tellPending(messages: ChatMessage[]): boolean {
    const pending = this.#untold.filter((id) => this.#later.has(id))
    for (const toolCallId of pending) messages.push({ role: 'tool', content: PENDING, toolCallId })
    this.#untold = []
    return pending.length > 0
  }
}

/** What a call came to, and which one. */
function outputOf(item: StoredItem): { readonly call_id: string; readonly text: string } | undefined {
  if (isOwnOutput(item)) return { call_id: item.call_id, text: outputText(item) }
  const isOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
  return isOutput ? { call_id: item.call_id, text: item.output } : undefined
}

const calledName = ({ namespace, name }: FunctionCallItem | CustomCallItem): string => nameWithin(namespace, name)

const textOf = (item: MessageItem): string => item.content.map(({ text }) => text).join('\n')

/** What the assistant says and calls in one go is one message to a chat template, and several items here. */
class AssistantTurn {
  #thoughts: string[] = []
  #texts: string[] = []
  #calls: { id: string; name: string; arguments: string }[] = []

  get isEmpty(): boolean {
    return this.#thoughts.length + this.#texts.length + this.#calls.length === 0
  }

  /** Whether the item belongs to this turn. */
  take(item: StoredItem): boolean {
    if (item.type === 'function_call') {
      this.#calls.push({ id: item.call_id, name: calledName(item), arguments: item.arguments })
    } else if (item.type === 'custom_tool_call') {
      this.#calls.push({ id: item.call_id, name: calledName(item), arguments: argumentsOf(item.input) })
    } else if (isOwnCall(item)) this.#calls.push(madeCall(item))
    else if (item.type === 'message' && item.role === 'assistant') this.#texts.push(textOf(item))
    else if (item.type === 'reasoning') this.#thoughts.push(...item.summary.map(({ text }) => text))
    else return item.type === 'additional_tools' || item.type.startsWith('tool_search')
    return true
  }

  end(messages: ChatMessage[]): void {
    const reasoning = this.#thoughts.join('\n')
    this.#thoughts = []
    if (this.#texts.length === 0 && this.#calls.length === 0) return
    const toolCalls = this.#calls.length > 0 ? { toolCalls: this.#calls } : {}
    messages.push({ role: 'assistant', content: this.#texts.join('\n'), ...(reasoning && { reasoning }), ...toolCalls })
    this.#texts = []
    this.#calls = []
  }
}

function noCall(callId: string, param: string) {
  const message = `No tool call found for function call output with call_id ${callId.slice(0, 64)}.`
  return badRequest(param, message, 'invalid_value')
}

function noOutput(callId: string, param: string) {
  return badRequest(param, `No tool output found for function call ${callId.slice(0, 64)}.`, 'invalid_value')
}
