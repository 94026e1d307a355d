import { V1Error } from '../../errors.js'
import { keyOf } from '../../responses/shelved.js'
import type { KeptResponse } from '../../responses/store.js'
import { SSE_DONE, SSE_HEADERS } from '../../stream/sse.js'
import { framed } from '../../wire/responses/reply.js'
import type { ResponseResource, StoredItem } from '../../wire/responses/resource.js'
import { type Answered, type Exchange, jsonAnswer, ownerOf, type Service } from '../service.js'
import { turnsBefore } from './conversation.js'

export async function retrieveResponse(service: Service, exchange: Exchange): Promise<Answered> {
  const query = new URLSearchParams(exchange.query)
  const streams = query.get('stream') === 'true'
  const running = runningOf(service, exchange)
  if (running) {
    if (!streams) return jsonAnswer(running.progress!.resource)
    const after = wholeNumber(query, 'starting_after', -1, Number.MAX_SAFE_INTEGER)
    return { status: 200, body: running.follow(after), headers: SSE_HEADERS }
  }
  const { response } = await keptOf(service, exchange)
  return streams ? lastEvent(response) : jsonAnswer(response)
}

export async function deleteResponse(service: Service, exchange: Exchange): Promise<Answered> {
  const id = exchange.rest
  await runningOf(service, exchange)?.cancel()
  if (!(await service.responses.store.delete(ownerOf(exchange), id))) throw unknown(id)
  return jsonAnswer({ id, object: 'response', deleted: true })
}

export async function cancelResponse(service: Service, exchange: Exchange): Promise<Answered> {
  const running = runningOf(service, exchange)
  await running?.cancel()
  if (running) return jsonAnswer(running.progress!.resource)
  const { response } = await keptOf(service, exchange)
  if (response.background) return jsonAnswer(response)
  throw new V1Error(400, 'Only a response that is made in the background can be cancelled.', { code: 'invalid_value' })
}

/** What the model was given: the items of the request, after those of the responses that it went on from. */
export async function listInputItems(service: Service, exchange: Exchange): Promise<Answered> {
  const { input, response } = await keptOf(service, exchange)
  const query = new URLSearchParams(exchange.query)
  const asked = pageOf(query)
  const previous = response.previous_response_id
  const turns = previous === null ? [] : turnsBefore(service, exchange, exchange.request.signal, previous)
  if (asked.order === 'asc') {
    const before: (readonly StoredItem[])[] = []
    for await (const turn of turns) before.push(turn)
    return jsonAnswer(page([...before.reverse().flat(), ...input], asked))
  }
  // The latest come first: as a rule nobody asks for what is far back.
  const items = input.toReversed()
  for await (const turn of isWhole(items, asked) ? [] : turns) {
    for (const item of turn.toReversed()) items.push(item)
    if (isWhole(items, asked)) break
  }
  return jsonAnswer(page(items, asked))
}

interface Page {
  readonly order: string
  readonly limit: number
  readonly after: string | null
}

function pageOf(query: URLSearchParams): Page {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw badQuery('order', "'asc' or 'desc'")
  return { order, limit: wholeNumber(query, 'limit', 20, 100), after: query.get('after') }
}

const startOf = (items: readonly StoredItem[], after: string | null): number =>
  after === null ? 0 : items.findIndex(({ id }) => id === after) + 1

/** Whether the page, and one more that says that there is more, are among the items. */
function isWhole(items: readonly StoredItem[], { after, limit }: Page): boolean {
  const from = startOf(items, after)
  return (after === null || from > 0) && items.length > from + limit
}

function page(items: readonly StoredItem[], { after, limit }: Page) {
  const from = startOf(items, after)
  if (after !== null && from === 0) throw badQuery('after', 'the id of an item of this response')
  const data = items.slice(from, from + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < items.length,
  }
}

function runningOf({ responses }: Service, exchange: Exchange) {
  const running = responses.background.get(exchange.rest)
  return running && keyOf(running.owner) === keyOf(ownerOf(exchange)) ? running : undefined
}

async function keptOf({ responses }: Service, exchange: Exchange): Promise<KeptResponse> {
  const kept = await responses.store.get(ownerOf(exchange), exchange.rest)
  if (kept) return kept
  throw unknown(exchange.rest)
}

/** Of one that is over: the event that says how it ended, with all of it. */
function lastEvent(response: ResponseResource): Answered {
  const type = `response.${response.status === 'cancelled' ? 'failed' : response.status}`
  const body = framed({ type, sequence_number: 0, response }) + SSE_DONE
  return { status: 200, body, headers: SSE_HEADERS }
}

function wholeNumber(query: URLSearchParams, name: string, absent: number, most: number): number {
  const text = query.get(name)
  if (text === null) return absent
  const value = Number(text)
  if (/^\d{1,15}$/.test(text) && value <= most) return value
  throw badQuery(name, `a whole number of at most ${most}`)
}

function badQuery(name: string, expected: string): V1Error {
  return new V1Error(400, `Invalid value for '${name}': expected ${expected}.`, { param: name, code: 'invalid_value' })
}

function unknown(id: string): V1Error {
  const message = `Response with id '${id.slice(0, 100)}' not found. Responses are kept where 'store' is true.`
  return new V1Error(404, message, { code: 'response_not_found' })
}
