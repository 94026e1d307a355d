import type { ChatMessage } from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { ResponseStore } from '../../responses/store.js'
import type { InputItem } from '../../wire/responses/items.js'
import { messagesOf } from '../../wire/responses/items.js'
import type { StoredItem } from '../../wire/responses/resource.js'

/** A conversation put together from what a request brings and what it refers to. */
export interface Conversation {
  readonly messages: readonly ChatMessage[]
  /** What the request itself brought, references replaced by what they name. */
  readonly own: readonly StoredItem[]
}

interface Asking {
  readonly input: readonly InputItem[]
  readonly instructions?: string
  readonly previousId?: string
}

export async function contextOf(store: ResponseStore, caller: string, asking: Asking): Promise<Conversation> {
  const { input, instructions, previousId } = asking
  const earlier = previousId === undefined ? [] : await conversationOf(store, caller, previousId)
  const own: StoredItem[] = []
  for (const item of input) own.push(await resolved(store, caller, item, earlier))
  const place = (at: number) => (at < earlier.length ? 'previous_response_id' : `input[${at - earlier.length}]`)
  return { own, messages: messagesOf(instructions, [...earlier, ...own], place) }
}

/** All items up to a response, its own answer included. Instructions are not handed on. */
export async function conversationOf(store: ResponseStore, caller: string, id: string): Promise<StoredItem[]> {
  const turns: StoredItem[][] = []
  for (let at: string | null = id; at !== null; ) {
    const kept = await store.get(caller, at)
    if (!kept) throw notFound('previous_response_id', `Previous response with id '${at.slice(0, 100)}' not found.`)
    const { status, output, previous_response_id: previous } = kept.response
    if (status === 'queued' || status === 'in_progress') {
      const message = `Previous response with id '${at}' is still in progress.`
      throw new V1Error(400, message, { param: 'previous_response_id', code: 'response_in_progress' })
    }
    turns.unshift([...kept.input, ...output])
    at = previous
  }
  return turns.flat()
}

async function resolved(
  store: ResponseStore,
  caller: string,
  item: InputItem,
  earlier: readonly StoredItem[],
): Promise<StoredItem> {
  if (item.type !== 'item_reference') return item
  const found = earlier.find(({ id }) => id === item.id) ?? (await store.item(caller, item.id))
  if (found) return found
  const message = `Item with id '${item.id.slice(0, 100)}' not found. Items are kept where a response is stored: set 'store' to true, or send the item itself.`
  throw notFound(item.param, message)
}

function notFound(param: string, message: string): V1Error {
  const code = param === 'previous_response_id' ? 'previous_response_not_found' : 'item_not_found'
  return new V1Error(400, message, { param, code })
}

/** Leaves out ever more of a conversation's oldest turns, and never what the system said. */
export function shortener(): (messages: readonly ChatMessage[]) => readonly ChatMessage[] | undefined {
  let turns = 1
  return (messages) => {
    const starts = messages.flatMap(({ role }, i) => (role === 'user' ? [i] : []))
    // The last turn is what is being asked.
    const from = starts[Math.min(turns, starts.length - 1)]
    if (from === undefined || starts.length < 2) return undefined
    turns *= 2
    return messages.filter(({ role }, i) => role === 'system' || i >= from)
  }
}
