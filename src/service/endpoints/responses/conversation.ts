import { type ChatMessage, V1Error } from '../../../contract/index.js'
import { atOnce, inTurns, mapped, myTurn, type Slices } from '../../../platform/index.js'
import type { Run } from '../../answer/run.js'
import { type Exchange, ownerOf, type Service } from '../../answer/service.js'
import { itemId } from '../../wire/ids.js'
import { messagesOfItems } from './messages.js'
import type { BackgroundResponse } from './store/background.js'
import { keyOf } from './store/shelved.js'
import type { KeptConversation } from './store/store.js'
import type { InputItem } from './wire/items.js'
import type { StoredItem } from './wire/resource.js'
import type { EarlierTools } from './wire/tools.js'

/** A conversation put together from what a request brings and what it refers to. */
export interface Conversation {
  readonly messages: readonly ChatMessage[]
  /** What the request itself brought, references replaced by what they name. */
  readonly own: readonly StoredItem[]
  /** Tools that became known on the way, but for those that stand in the request. */
  readonly tools: readonly EarlierTools[]
  /** What came before and what the request brought. */
  readonly items: readonly StoredItem[]
}

interface TurnRequest {
  readonly input: readonly InputItem[]
  readonly instructions?: string
  readonly previousId?: string
  readonly conversationId?: string
}

/**
 * Puts it together, for a run that has its place: a conversation may be many megabytes, which count as much as the body
 * that asks for them.
 */
export async function contextOf(
  service: Service,
  exchange: Exchange,
  run: Run,
  { input, instructions, previousId, conversationId }: TurnRequest,
): Promise<Conversation> {
  const turns: (readonly StoredItem[])[] = []
  if (previousId !== undefined) {
    for await (const turn of turnsBefore(service, exchange, run.signal, previousId)) {
      turns.push(turn)
      run.hold(bytesOf(turn))
    }
  }
  if (conversationId !== undefined) {
    await myTurn(run.signal, exchange.caller.id)
    const { items } = await conversationOf(service, exchange, conversationId, 'conversation')
    turns.push(items)
    run.hold(bytesOf(items))
  }
  const earlier = turns.reverse().flat()
  const own = await resolved(service, exchange, input, earlier)
  if (conversationId !== undefined) checkRoom(earlier, own, 'input')
  run.hold(await inTurns(sized(own), run.signal, exchange.caller.id))
  const before = conversationId === undefined ? 'previous_response_id' : 'conversation'
  const place = (at: number) => (at < earlier.length ? before : `input[${at - earlier.length}]`)
  const items = [...earlier, ...own]
  const messages = await inTurns(messagesOfItems(instructions, items, place), run.signal, exchange.caller.id)
  const sent = new Set<InputItem>(input)
  const tools = items.flatMap((item) =>
    item.type !== 'additional_tools' || sent.has(item) ? [] : [{ tools: item.tools, param: before }],
  )
  return { own, messages, tools, items }
}

/** The items of a response and of all that it went on from, its own answer included, the latest first. */
export async function* turnsBefore(
  service: Service,
  exchange: Exchange,
  signal: AbortSignal,
  id: string,
): AsyncGenerator<readonly StoredItem[]> {
  const seen = new Set<string>()
  for (let at: string | null = id; at !== null && !seen.has(at); ) {
    await myTurn(signal, exchange.caller.id)
    if (runningOf(service, exchange, at)?.over === false) {
      const message = `Previous response with id '${at}' is still in progress.`
      throw new V1Error(400, message, { param: 'previous_response_id', code: 'response_in_progress' })
    }
    const kept = await service.responses.store.get(ownerOf(exchange), at)
    if (!kept) {
      const missing = at === id ? '' : `, on which '${id.slice(0, 100)}' goes on,`
      const message = `Previous response with id '${at.slice(0, 100)}'${missing} not found. ${whyNotKept(service)} Or send what was said before as 'input'.`
      throw notFound('previous_response_id', message)
    }
    const { output, previous_response_id: previous } = kept.response
    if (kept.response.conversation) {
      const message = `Response with id '${at}' is part of a conversation: set 'conversation' to '${kept.response.conversation.id}' instead.`
      throw new V1Error(400, message, { param: 'previous_response_id', code: 'invalid_value' })
    }
    yield [...kept.input, ...output]
    seen.add(at)
    at = previous
  }
}

/** What may be the reason that a response is not there, and what to do; whether others have it nobody is told. */
export function whyNotKept({ responses }: Service): string {
  if (!responses.always) return "This service stores a response for its key only if 'store' is true: set it."
  return "It may have been made with 'store: false', by another service or with another key, or be deleted, or have given way to newer ones: set 'store' to true."
}

/** One of the caller's that is made in the background, or was, as long as its events are held. */
export function runningOf({ responses }: Service, exchange: Exchange, id: string): BackgroundResponse | undefined {
  const running = responses.background.get(id)
  return running && keyOf(running.owner) === keyOf(ownerOf(exchange)) ? running : undefined
}

/** One of the caller's; nobody else is told that it is there. */
export async function conversationOf(
  { conversations }: Service,
  exchange: Exchange,
  id: string,
  param: string | null = null,
): Promise<KeptConversation> {
  const kept = await conversations.get(ownerOf(exchange), id)
  if (kept) return kept
  throw noConversation(id, param)
}

export function noConversation(id: string, param: string | null = null): V1Error {
  const message = `Conversation with id '${id.slice(0, 100)}' not found.`
  return new V1Error(404, message, { param, code: 'conversation_not_found' })
}

/** Bytes of a conversation, and of a page of a list: it is read and written as a whole at each of its turns, and no model reads as much. */
export const LONGEST = 2 ** 22

/** Whether a conversation of these items may have so many more. What is answered then has room in any case. */
export function checkRoom(items: readonly StoredItem[], more: readonly StoredItem[], param: string): void {
  if (bytesOf(items) + bytesOf(more) <= LONGEST) return
  const message = `The conversation would be longer than ${LONGEST} bytes: start a new one, or delete items of it.`
  throw new V1Error(400, message, { param, code: 'conversation_too_long' })
}

/** Both together, every item with an id of its own: what is said a second time is another item. */
export function joinedItems(items: readonly StoredItem[], more: readonly StoredItem[]): StoredItem[] {
  const taken = new Set(items.map(({ id }) => id))
  const own = more.map((item) => {
    const added = taken.has(item.id) ? { ...item, id: itemId('item') } : item
    taken.add(added.id)
    return added
  })
  return [...items, ...own]
}

/** With what references name in their place. */
export async function resolved(
  service: Service,
  exchange: Exchange,
  input: readonly InputItem[],
  earlier: readonly StoredItem[],
): Promise<StoredItem[]> {
  const references = input.filter((item) => item.type === 'item_reference')
  if (references.length === 0) return input as StoredItem[]
  const known = new Map(earlier.map((item) => [item.id, item]))
  const others = references.filter(({ id }) => !known.has(id)).map(({ id }) => id)
  const kept = others.length === 0 ? known : await service.responses.store.items(ownerOf(exchange), others)
  return input.map((item) => {
    if (item.type !== 'item_reference') return item
    const found = known.get(item.id) ?? kept.get(item.id)
    if (found) return found
    const message = `Item with id '${item.id.slice(0, 100)}' not found. Items are stored with their response. ${whyNotKept(service)} Or send the item itself.`
    throw notFound(item.param, message)
  })
}

/** About what an item takes beside its texts. */
const ITEM = 200

/** About how many bytes an item takes. */
export const itemSize = (item: StoredItem): number => ITEM + lengthOf(item)

function* sized(items: readonly StoredItem[]): Slices<number> {
  const lengths = yield* mapped(items, itemSize)
  return lengths.reduce((sum, length) => sum + length, 0)
}

const bytesOf = (items: readonly StoredItem[]): number => atOnce(sized(items))

function lengthOf(item: StoredItem): number {
  if (item.type === 'function_call') return item.arguments.length
  if (item.type === 'custom_tool_call') return item.input.length
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') return item.output.length
  if (!('content' in item) && !('summary' in item)) return JSON.stringify(item).length
  const parts = 'content' in item ? item.content : item.summary
  return parts.reduce((sum, { text }) => sum + text.length, 0)
}

function notFound(param: string, message: string): V1Error {
  const code = param === 'previous_response_id' ? 'previous_response_not_found' : 'item_not_found'
  return new V1Error(400, message, { param, code })
}

/** No token of a published vocabulary stands for more characters. */
const LONGEST_TOKEN = 512

/**
 * A conversation without its oldest turns: so many, and those that cannot be read with what came after them, whatever they
 * say: a turn takes a token at least, and as many as its length asks for. Never without what the system said.
 */
export function withoutOldest(
  messages: readonly ChatMessage[],
  contextLength: number | undefined,
  turns = 0,
): readonly ChatMessage[] {
  const starts = messages.flatMap(({ role }, i) => (role === 'user' ? [i] : []))
  let hopeless = starts.length - (contextLength ?? starts.length)
  let room = (contextLength ?? Infinity) * LONGEST_TOKEN
  let turn = starts.length - 1
  for (let i = messages.length - 1; i >= 0 && turn > hopeless; i--) {
    room -= charactersOf(messages[i]!)
    if (room < 0) hopeless = turn + 1
    if (i === starts[turn]) turn--
  }
  // The last turn is what is being asked.
  const from = starts[Math.min(Math.max(turns, hopeless), starts.length - 1)] ?? 0
  if (from === (starts[0] ?? 0)) return messages
  const leftOut = new Map<string, string | false>()
  for (const [i, message] of messages.entries()) {
    const calls = (message.role === 'assistant' && message.toolCalls) || []
    for (const { id, name } of calls) leftOut.set(id, i < from && name)
  }
  // A result may come turns after its call, and be all that is new: no template writes it without that, but words do.
  const told = (message: ChatMessage): ChatMessage =>
    message.role === 'tool' && leftOut.get(message.toolCallId)
      ? { role: 'user', content: `Result of ${leftOut.get(message.toolCallId)}: ${message.content}` }
      : message
  return messages.filter(({ role }, i) => role === 'system' || i >= from).map(told)
}

function charactersOf({ content }: ChatMessage): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
}

/** Leaves out ever more of a conversation's oldest turns. Of more than can fit nobody tries how many do. */
export function shortener(
  contextLength: () => number | undefined = () => undefined,
): (messages: readonly ChatMessage[]) => readonly ChatMessage[] | undefined {
  let turns = 1
  return (messages) => {
    const shorter = withoutOldest(messages, contextLength(), turns)
    turns *= 2
    return shorter.length < messages.length ? shorter : undefined
  }
}
