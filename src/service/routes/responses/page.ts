import { V1Error } from '../../../contract/index.js'
import type { StoredItem } from '../../wire/responses/resource.js'
import { LONGEST, sizeOf } from './conversation.js'

/** What a list of items was asked for. */
export interface Page {
  readonly order: string
  readonly limit: number
  readonly after: string | null
}

export function pageOf(query: URLSearchParams): Page {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw badQuery('order', "'asc' or 'desc'")
  return { order, limit: wholeNumber(query, 'limit', 20, 100), after: query.get('after') }
}

const startOf = (items: readonly StoredItem[], after: string | null): number =>
  after === null ? 0 : items.findIndex(({ id }) => id === after) + 1

/** Where the page ends: at its limit, or before the item with which it would be longer than a conversation may be. */
export function endOf(items: readonly StoredItem[], from: number, limit: number): number {
  let room = LONGEST
  let to = from
  while (to < Math.min(from + limit, items.length)) {
    room -= sizeOf(items[to]!)
    // One it holds, however long that is.
    if (room < 0 && to > from) break
    to++
  }
  return to
}

/** Whether the page, and one more that says that there is more, are among the items. */
export function isWhole(items: readonly StoredItem[], { after, limit }: Page): boolean {
  const from = startOf(items, after)
  return (after === null || from > 0) && items.length > endOf(items, from, limit)
}

export function page(items: readonly StoredItem[], { after, limit }: Page) {
  const from = startOf(items, after)
  if (after !== null && from === 0) throw badQuery('after', 'the id of an item of this list')
  const to = endOf(items, from, limit)
  const data = items.slice(from, to)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: to < items.length,
  }
}

export function wholeNumber(query: URLSearchParams, name: string, absent: number, most: number): number {
  const text = query.get(name)
  if (text === null) return absent
  const value = Number(text)
  if (/^\d{1,15}$/.test(text) && value <= most) return value
  throw badQuery(name, `a whole number of at most ${most}`)
}

function badQuery(name: string, expected: string): V1Error {
  return new V1Error(400, `Invalid value for '${name}': expected ${expected}.`, { param: name, code: 'invalid_value' })
}
