import { V1Error } from '../../../contract/index.js'
import { inTurns, type JsonObject, myTurn } from '../../../platform/index.js'
import { readJson } from '../../answer/body.js'
import {
  type Exchange,
  jsonResponse,
  noticeHeaders,
  ownerOf,
  type Route,
  type RouteResponse,
  type Service,
} from '../../answer/service.js'
import { LinkedAbort } from '../../stream/abort.js'
import { aBody, anArray, noteUnknown, optional, readMetadata, required } from '../../wire/fields.js'
import { newId, seconds } from '../../wire/ids.js'
import { checkRoom, conversationOf, joinedItems, noConversation, resolved } from '../responses/conversation.js'
import { page, pageOf } from '../responses/kept.js'
import type { KeptConversation } from '../responses/store/store.js'
import { readItems } from '../responses/wire/items.js'
import type { StoredItem } from '../responses/wire/resource.js'

/** OpenAI's conversations: lists of items that requests for responses go on with, and add to. */

const someItems = anArray(0, Number.POSITIVE_INFINITY)
const moreItems = anArray(1, Number.POSITIVE_INFINITY)

export const createConversation: Route = async (service, exchange) => {
  const { body, ignored } = await bodyOf(service, exchange, ['items', 'metadata'])
  const metadata = optional(body, 'metadata', '', readMetadata) ?? {}
  const given = optional(body, 'items', '', someItems) ?? []
  const items = joinedItems([], await itemsOf(service, exchange, given, ignored))
  checkRoom([], items, 'items')
  const now = seconds()
  const conversation = { id: newId('conv_'), object: 'conversation', created_at: now, metadata } as const
  await service.conversations.add({ ...ownerOf(exchange), conversation, items, changedAt: now })
  return jsonResponse(conversation, noticeHeaders(ignored, []))
}

export const retrieveConversation: Route = async (service, exchange) =>
  jsonResponse((await named(service, exchange)).conversation)

export const updateConversation: Route = async (service, exchange) => {
  const { body, ignored } = await bodyOf(service, exchange, ['metadata'])
  const read = (value: unknown, param: string) => (value === null ? {} : readMetadata(value, param))
  const metadata = required(body, 'metadata', '', read)
  const change = (kept: KeptConversation) => ({ ...kept, conversation: { ...kept.conversation, metadata } })
  return jsonResponse((await changed(service, exchange, change)).conversation, noticeHeaders(ignored, []))
}

export const deleteConversation: Route = async (service, exchange) => {
  const id = exchange.named.id!
  const remove = (signal: AbortSignal) => service.conversations.delete(ownerOf(exchange), id, signal)
  if (!(await asLong(service, exchange, remove))) throw noConversation(id)
  return jsonResponse({ id, object: 'conversation.deleted', deleted: true })
}

export const listItems: Route = async (service, exchange) => {
  const range = pageOf(new URLSearchParams(exchange.query))
  const { items } = await named(service, exchange)
  return jsonResponse(page(range.order === 'asc' ? items : items.toReversed(), range))
}

export const createItems: Route = async (service, exchange): Promise<RouteResponse> => {
  const { body, ignored } = await bodyOf(service, exchange, ['items'])
  const more = await itemsOf(service, exchange, required(body, 'items', '', moreItems), ignored)
  const { items } = await changed(service, exchange, (kept) => {
    checkRoom(kept.items, more, 'items')
    return { ...kept, items: joinedItems(kept.items, more) }
  })
  const added = items.slice(-more.length)
  return jsonResponse(page(added, { order: 'asc', limit: added.length, after: null }), noticeHeaders(ignored, []))
}

export const retrieveItem: Route = async (service, exchange) => {
  const { items } = await named(service, exchange)
  return jsonResponse(items[placeOf(items, exchange)])
}

export const deleteItem: Route = async (service, exchange) => {
  const { conversation } = await changed(service, exchange, (kept) => ({
    ...kept,
    items: kept.items.toSpliced(placeOf(kept.items, exchange), 1),
  }))
  return jsonResponse(conversation)
}

function placeOf(items: readonly StoredItem[], { named }: Exchange): number {
  const place = items.findIndex(({ id }) => id === named.item)
  if (place >= 0) return place
  const message = `Item with id '${named.item!.slice(0, 100)}' not found in conversation '${named.id!.slice(0, 100)}'.`
  throw new V1Error(404, message, { code: 'item_not_found' })
}

/** That which the path names, read in a turn of its own: it may be megabytes. */
async function named(service: Service, exchange: Exchange): Promise<KeptConversation> {
  await myTurn(exchange.request.signal, exchange.caller.id)
  return conversationOf(service, exchange, exchange.named.id!)
}

async function changed(
  service: Service,
  exchange: Exchange,
  change: (kept: KeptConversation) => KeptConversation,
): Promise<KeptConversation> {
  const id = exchange.named.id!
  const kept = await asLong(service, exchange, (signal) =>
    service.conversations.change(ownerOf(exchange), id, change, { caller: exchange.caller.id, signal }),
  )
  if (kept) return kept
  throw noConversation(id)
}

/** As somebody waits for it, and the time limit lasts. */
async function asLong<T>(service: Service, exchange: Exchange, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const waiting = new LinkedAbort(exchange.request.signal, service.deadlines)
  try {
    return await act(waiting.signal)
  } finally {
    waiting.dispose()
  }
}

async function bodyOf(
  service: Service,
  exchange: Exchange,
  known: readonly string[],
): Promise<{ readonly body: JsonObject; readonly ignored: string[] }> {
  const body = aBody(await asLong(service, exchange, (signal) => readJson(service, exchange, signal)))
  const ignored: string[] = []
  noteUnknown(body, new Set(known), '', ignored)
  return { body, ignored }
}

async function itemsOf(service: Service, exchange: Exchange, given: readonly unknown[], ignored: string[]) {
  const { request, caller } = exchange
  const read = await inTurns(readItems(given, 'items', ignored), request.signal, caller.id)
  return resolved(service, exchange, read, [])
}
