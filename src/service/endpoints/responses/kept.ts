import { V1Error } from '../../../contract/index.js'
import {
  type Exchange,
  jsonResponse,
  ownerOf,
  type RouteResponse,
  type Service,
  streamOf,
} from '../../answer/service.js'
import { SSE_DONE, SSE_HEADERS } from '../../stream/sse.js'
import { itemSize, LONGEST, runningOf, turnsBefore, whyNotKept } from './conversation.js'
import type { KeptResponse } from './store/store.js'
import { framedInPieces } from './wire/reply.js'
import type { ResponseResource, StoredItem } from './wire/resource.js'

export async function retrieveResponse(service: Service, exchange: Exchange): Promise<RouteResponse> {
  const query = new URLSearchParams(exchange.query)
  const streams = query.get('stream') === 'true'
  const running = runningOf(service, exchange, exchange.named.id!)
  const { response } = await keptOf(service, exchange, running)
  if (!streams) return jsonResponse(response)
  const after = wholeNumber(query, 'starting_after', -1, [0, Number.MAX_SAFE_INTEGER])
  return {
    status: 200,
    body: running?.follow(after) ?? streamOf(endOf(response, after), exchange.caller.id),
    headers: SSE_HEADERS,
  }
}

export async function deleteResponse(service: Service, exchange: Exchange): Promise<RouteResponse> {
  const id = exchange.named.id!
  const running = runningOf(service, exchange, id)
  await running?.cancel()
  if (running) service.responses.background.delete(id)
  if (!(await service.responses.store.delete(ownerOf(exchange), id))) throw unknown(service, id)
  return jsonResponse({ id, object: 'response', deleted: true })
}

export async function cancelResponse(service: Service, exchange: Exchange): Promise<RouteResponse> {
  const running = runningOf(service, exchange, exchange.named.id!)
  await running?.cancel()
  const { response } = await keptOf(service, exchange, running)
  if (response.background) return jsonResponse(response)
  throw new V1Error(400, 'Only a response that is made in the background can be cancelled.', { code: 'invalid_value' })
}

/** What the model was given: the items of the request, after those of the responses that it went on from. */
export async function listInputItems(service: Service, exchange: Exchange): Promise<RouteResponse> {
  const { input, response } = await keptOf(service, exchange)
  const query = new URLSearchParams(exchange.query)
  const range = pageOf(query)
  const previous = response.previous_response_id
  const turns = previous === null ? [] : turnsBefore(service, exchange, exchange.request.signal, previous)
  if (range.order === 'asc') {
    // They are found from the last to the first, and of those behind no more are held than a page has.
    let items: readonly StoredItem[] = input
    const isThere = () => items.some(({ id }) => id === range.after)
    for await (const turn of isThere() ? [] : turns) {
      items = [...turn, ...items.slice(0, pageEnd(items, 0, range.limit) + 1)]
      if (isThere()) break
    }
    return jsonResponse(page(items, range))
  }
  // The latest come first: as a rule nobody asks for what is far back.
  const items = input.toReversed()
  for await (const turn of isWholePage(items, range) ? [] : turns) {
    for (const item of turn.toReversed()) items.push(item)
    if (isWholePage(items, range)) break
  }
  return jsonResponse(page(items, range))
}

async function keptOf(
  service: Service,
  exchange: Exchange,
  running = runningOf(service, exchange, exchange.named.id!),
): Promise<KeptResponse> {
  const id = exchange.named.id!
  const kept = running?.sofar() ?? (await service.responses.store.get(ownerOf(exchange), id))
  if (kept) return running ? kept : brokenOff(kept)
  throw unknown(service, id)
}

/** What was stored when it began, and nobody makes: the process that did was killed. */
function brokenOff(kept: KeptResponse): KeptResponse {
  const { status } = kept.response
  if (status !== 'queued' && status !== 'in_progress') return kept
  const message = 'The service was stopped before the response was finished. Send the request again.'
  return { ...kept, response: { ...kept.response, status: 'failed', error: { code: 'server_error', message } } }
}

/** Of one whose events are held no more: how it ended, with all of it, behind the beginning that clients wait for. */
function* endOf(response: ResponseResource, after: number): Generator<string, void, void> {
  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
  }
  const type = `response.${response.status === 'cancelled' ? 'failed' : response.status}`
  const created = { type: 'response.created', sequence_number: 0, response: begun }
  const ended = { type, sequence_number: Math.max(0, after) + 1, response }
  if (after < 0) yield* framedInPieces(created)
  yield* framedInPieces(ended)
  yield SSE_DONE
}

function unknown(service: Service, id: string): V1Error {
  const message = `Response with id '${id.slice(0, 100)}' not found. ${whyNotKept(service)}`
  return new V1Error(404, message, { code: 'response_not_found' })
}

/** What a list of items was asked for. */
export interface Page {
  readonly order: string
  readonly limit: number
  readonly after: string | null
}

export function pageOf(query: URLSearchParams): Page {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw badQuery('order', "'asc' or 'desc'")
  return { order, limit: wholeNumber(query, 'limit', 20, [1, 100]), after: query.get('after') }
}

const startOf = (items: readonly StoredItem[], after: string | null): number =>
  after === null ? 0 : items.findIndex(({ id }) => id === after) + 1

/** Where the page ends: at its limit, or before the item with which it would be longer than a conversation may be. */
export function pageEnd(items: readonly StoredItem[], from: number, limit: number): number {
  let room = LONGEST
  let to = from
  while (to < Math.min(from + limit, items.length)) {
    room -= itemSize(items[to]!)
    // One it holds, however long that is.
    if (room < 0 && to > from) break
    to++
  }
  return to
}

/** Whether the page, and one more that says that there is more, are among the items. */
export function isWholePage(items: readonly StoredItem[], { after, limit }: Page): boolean {
  const from = startOf(items, after)
  return (after === null || from > 0) && items.length > pageEnd(items, from, limit)
}

export function page(items: readonly StoredItem[], { after, limit }: Page) {
  const from = startOf(items, after)
  if (after !== null && from === 0) throw badQuery('after', 'the id of an item of this list')
  const to = pageEnd(items, from, limit)
  const data = items.slice(from, to)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: to < items.length,
  }
}

function wholeNumber(query: URLSearchParams, name: string, absent: number, [least, most]: [number, number]): number {
  const text = query.get(name)
  if (text === null) return absent
  const value = Number(text)
  if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value
  throw badQuery(name, `a whole number from ${least} to ${most}`)
}

function badQuery(name: string, expected: string): V1Error {
  return new V1Error(400, `Invalid value for '${name}': expected ${expected}.`, { param: name, code: 'invalid_value' })
}
