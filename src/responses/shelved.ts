import { breathe } from '../platform/turns.js'
import type { StoredItem } from '../wire/responses/resource.js'
import type { KeptResponse, Owner, ResponseBounds, ResponseStore, Shelf } from './store.js'

interface Entry {
  readonly owner: Owner
  readonly createdAt: number
  readonly bytes: number
  readonly items: readonly string[]
  /** What the shelf would not take: it is kept here for as long as the process lives. */
  readonly text?: string
}

/** What is one caller's. */
interface Share {
  /** Ids of responses, the one unused for longest first. */
  readonly ids: Set<string>
  bytes: number
}

/** Bytes of a response that takes a while. */
const LARGE = 2 ** 18

/** How often what has become too old is looked for; it is not given out in between. */
const SWEEP_MS = 60_000

/** Responses on a shelf, bounded by count, bytes and age. */
export function shelvedResponses(shelf: Shelf, bounds: ResponseBounds = {}): ResponseStore {
  return new ShelvedResponses(shelf, bounds)
}

class ShelvedResponses implements ResponseStore {
  readonly #shelf: Shelf
  readonly #bounds: Required<ResponseBounds>
  readonly #entries = new Map<string, Entry>()
  /** By caller. */
  readonly #shares = new Map<string, Share>()
  /** The response that holds an item, by owner and the item's id. */
  readonly #items = new Map<string, Map<string, string>>()
  #bytes = 0
  #swept = 0
  #opening: Promise<void> | undefined

  constructor(shelf: Shelf, bounds: ResponseBounds) {
    const { maxResponses = 1000, maxBytes = 2 ** 25, maxAge = 30 * 86_400 } = bounds
    const { maxBytesInAll = Math.max(2 ** 28, maxBytes) } = bounds
    this.#shelf = shelf
    this.#bounds = { maxResponses, maxBytes, maxBytesInAll, maxAge }
  }

  async put(kept: KeptResponse): Promise<void> {
    const text = JSON.stringify(kept)
    const bytes = bytesOf(text)
    const { id } = kept.response
    // One that can never fit would only push out all others.
    if (bytes > this.#bounds.maxBytes) return this.#forget(id)
    // To write down and to enter twenty thousand items takes as long each.
    if (bytes > LARGE) await breathe()
    try {
      await this.#opened()
      await this.#shelf.write(id, text)
    } catch (error) {
      this.#enter(kept, bytes, text)
      await this.#makeRoom(kept.caller)
      throw error
    }
    this.#enter(kept, bytes)
    await this.#makeRoom(kept.caller)
  }

  async get(owner: Owner, id: string): Promise<KeptResponse | undefined> {
    if (!this.#entries.has(id)) await this.#opened()
    const entry = this.#entries.get(id)
    if (entry === undefined || keyOf(entry.owner) !== keyOf(owner) || this.#isOld(entry)) return undefined
    const { ids } = this.#shares.get(owner.caller)!
    ids.delete(id)
    ids.add(id)
    const text = entry.text ?? (await this.#shelf.read(id))
    return text === undefined ? undefined : (JSON.parse(text) as KeptResponse)
  }

  /** Each response is read once, in a turn of the event loop of its own, however many of its items are asked for. */
  async items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, StoredItem>> {
    await this.#opened()
    const held = this.#items.get(keyOf(owner))
    const responses = new Set<string>()
    for (const id of ids) {
      const response = held?.get(id)
      if (response !== undefined) responses.add(response)
    }
    const asked = new Set(ids)
    const found = new Map<string, StoredItem>()
    for (const response of responses) {
      await breathe()
      const kept = await this.get(owner, response)
      for (const item of kept ? [...kept.input, ...kept.response.output] : []) {
        if (asked.has(item.id)) found.set(item.id, item)
      }
    }
    return found
  }

  async delete(owner: Owner, id: string): Promise<boolean> {
    if (!this.#entries.has(id)) await this.#opened()
    const entry = this.#entries.get(id)
    if (entry === undefined || keyOf(entry.owner) !== keyOf(owner)) return false
    await this.#forget(id)
    return true
  }

  async close(): Promise<void> {
    await this.#opening
    await this.#shelf.close()
  }

  #opened(): Promise<void> {
    this.#opening ??= this.#open()
    // A folder that is missing now may be there at the next request.
    this.#opening.catch(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(): Promise<void> {
    for await (const text of this.#shelf.open()) {
      await breathe()
      const kept = parsed(text)
      if (kept && !this.#entries.has(kept.response.id)) this.#enter(kept, bytesOf(text))
    }
    for (const caller of [...this.#shares.keys()]) await this.#makeRoom(caller)
  }

  /** `text`: what the shelf has not taken. */
  #enter({ caller, project, response, input }: KeptResponse, bytes: number, text?: string): void {
    const { id, created_at: createdAt, output } = response
    this.#drop(id)
    const owner = { caller, ...(project !== undefined && { project }) }
    const items = [...input, ...output].map((item) => item.id)
    this.#entries.set(id, { owner, createdAt, bytes, items, ...(text !== undefined && { text }) })
    const share = this.#shares.get(caller) ?? { ids: new Set(), bytes: 0 }
    this.#shares.set(caller, share)
    share.ids.add(id)
    share.bytes += bytes
    this.#bytes += bytes
    const held = this.#items.get(keyOf(owner)) ?? new Map<string, string>()
    this.#items.set(keyOf(owner), held)
    for (const item of items) held.set(item, id)
  }

  async #makeRoom(caller: string): Promise<void> {
    const { maxResponses, maxBytes, maxBytesInAll } = this.#bounds
    for (const id of this.#old()) await this.#forget(id)
    const share = this.#shares.get(caller)
    for (const id of share?.ids ?? []) {
      if (share!.ids.size <= maxResponses && share!.bytes <= maxBytes) break
      await this.#forget(id)
    }
    while (this.#bytes > maxBytesInAll) {
      let most: Share | undefined
      for (const each of this.#shares.values()) if (each.bytes > (most?.bytes ?? 0)) most = each
      const [id] = most!.ids
      await this.#forget(id!)
    }
  }

  #old(): string[] {
    const now = Date.now()
    if (now - this.#swept < SWEEP_MS) return []
    this.#swept = now
    return [...this.#entries].filter(([, entry]) => this.#isOld(entry)).map(([id]) => id)
  }

  #isOld({ createdAt }: Entry): boolean {
    return createdAt < Date.now() / 1000 - this.#bounds.maxAge
  }

  async #forget(id: string): Promise<void> {
    const onShelf = this.#entries.get(id)?.text === undefined
    this.#drop(id)
    const removed = this.#shelf.remove(id)
    // There may be an older text of it, which the shelf may not let go of either.
    await (onShelf ? removed : removed.catch(() => {}))
  }

  #drop(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    const { owner, bytes, items } = entry
    this.#entries.delete(id)
    this.#bytes -= bytes
    const share = this.#shares.get(owner.caller)!
    share.ids.delete(id)
    share.bytes -= bytes
    if (share.ids.size === 0) this.#shares.delete(owner.caller)
    const held = this.#items.get(keyOf(owner))!
    for (const item of items) if (held.get(item) === id) held.delete(item)
    if (held.size === 0) this.#items.delete(keyOf(owner))
  }
}

/** Two owners are one where this is the same. */
export const keyOf = ({ caller, project }: Owner): string => JSON.stringify([caller, project])

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** What a crash left half written, or another program put there, is passed over. */
function parsed(text: string): KeptResponse | undefined {
  try {
    const kept = JSON.parse(text) as KeptResponse
    const { id, created_at: createdAt, output } = kept.response
    const whole = typeof id === 'string' && typeof createdAt === 'number' && Array.isArray(output)
    const owned = typeof kept.caller === 'string' && ['string', 'undefined'].includes(typeof kept.project)
    return whole && owned && Array.isArray(kept.input) ? kept : undefined
  } catch {
    return undefined
  }
}
