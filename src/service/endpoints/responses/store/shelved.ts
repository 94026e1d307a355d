import { V1Error } from '../../../../contract/index.js'
import { breathe, getOrMake, inTurns, type Slices, spelled } from '../../../../platform/index.js'
import type { StoredItem } from '../wire/resource.js'
import type {
  ConversationStore,
  KeptConversation,
  KeptResponse,
  Owner,
  ResponseBounds,
  ResponseStore,
  Shelf,
} from './store.js'

type Kept = KeptResponse | KeptConversation

interface Entry {
  readonly kind: 'response' | 'conversation'
  readonly caller: string
  /** Its key. */
  readonly owner: string
  /** From when on it grows old. */
  readonly since: number
  readonly bytes: number
  /** Items that are found by their ids alone: those of responses. */
  readonly items: readonly string[]
  /** What the shelf would not take: it is kept here for as long as the process lives. */
  readonly text: string | undefined
}

/** What is one caller's. */
interface Share {
  /** Ids of what is kept, the one unused for longest first. */
  readonly ids: Set<string>
  bytes: number
}

/** Bytes of a response that takes a while. */
const LARGE = 2 ** 18

/** As they are made: no other is looked for on a shelf, where it might be another's path. */
const ID = /^(resp|conv)_[0-9a-f]+$/

/** For so long a clock that nobody sets has to say the same: one that was far ahead is mostly set right within it. */
const SURE_MS = 3_600_000

/** How often what has become too old is looked for; it is not given out in between. */
const SWEEP_MS = 60_000

/** Responses and conversations on a shelf, bounded together by count, bytes and age. */
export function shelvedResponses(shelf: Shelf, bounds: ResponseBounds = {}): ResponseStore {
  return new ShelvedResponses(shelf, bounds)
}

class ShelvedResponses implements ResponseStore {
  readonly #shelf: Shelf
  readonly #bounds: Required<ResponseBounds>
  readonly #entries = new Map<string, Entry>()
  /** By caller. */
  readonly #shares = new Map<string, Share>()
  /** The responses that hold an item, by owner and the item's id: one is referred to by others. */
  readonly #items = new Map<string, Map<string, string[]>>()
  #bytes = 0
  #swept = 0
  /** When each was first found to be too old. */
  #aged = new Map<string, number>()
  #opening: Promise<void> | undefined

  constructor(shelf: Shelf, bounds: ResponseBounds) {
    const { maxResponses = 1000, maxBytes = 2 ** 25, maxAge = 30 * 86_400 } = bounds
    const { maxBytesInAll = Math.max(2 ** 28, maxBytes) } = bounds
    this.#shelf = shelf
    this.#bounds = { maxResponses, maxBytes, maxBytesInAll, maxAge }
  }

  readonly conversations: ConversationStore = {
    put: (kept, orNot) => this.#put(kept, orNot),
    get: (owner, id) => this.#get('conversation', owner, id) as Promise<KeptConversation | undefined>,
    delete: (owner, id) => this.#delete('conversation', owner, id),
  }

  put(kept: KeptResponse): Promise<void> {
    return this.#put(kept)
  }

  get(owner: Owner, id: string): Promise<KeptResponse | undefined> {
    return this.#get('response', owner, id) as Promise<KeptResponse | undefined>
  }

  delete(owner: Owner, id: string): Promise<boolean> {
    return this.#delete('response', owner, id)
  }

  async #put(kept: Kept, orNot?: 'or not at all'): Promise<void> {
    const { text, bytes } = await inTurns(written(kept), undefined, kept.caller)
    const { id, kind } = about(kept)
    // One that can never fit would only push out all others. A conversation is not lost with what does not fit.
    const { maxBytes } = this.#bounds
    if (bytes > maxBytes && kind === 'conversation') throw tooLong(maxBytes)
    if (bytes > maxBytes) return this.#forget(id)
    // To write down and to enter twenty thousand items takes as long each.
    if (bytes > LARGE) await breathe()
    try {
      await this.#opened()
      await this.#shelf.write(id, text)
    } catch (error) {
      if (orNot) throw error
      this.#enter(kept, bytes, text)
      await this.#makeRoom(kept.caller)
      throw error
    }
    this.#enter(kept, bytes)
    await this.#makeRoom(kept.caller)
  }

  async #get(kind: Entry['kind'], owner: Owner, id: string): Promise<Kept | undefined> {
    if (!this.#entries.has(id)) await this.#opened()
    if (!this.#entries.has(id) && ID.test(id)) await this.#lookUp(id)
    const entry = this.#entryOf(kind, owner, id)
    if (entry === undefined || this.#isOld(entry)) return undefined
    const { ids } = this.#shares.get(owner.caller)!
    ids.delete(id)
    ids.add(id)
    const text = entry.text ?? (await this.#shelf.read(id))
    return text === undefined ? undefined : inTurns(read(text), undefined, owner.caller)
  }

  /** Somebody else may have put it on the shelf since: a tab's worker and the service worker share the browser's. */
  async #lookUp(id: string): Promise<void> {
    const text = await this.#shelf.read(id)
    const kept = text === undefined ? undefined : parsed(text)
    if (kept && about(kept).id === id && !this.#entries.has(id)) this.#enter(kept, bytesOf(text!))
  }

  /** Each response is read once, in a turn of the event loop of its own, however many of its items are asked for. */
  async items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, StoredItem>> {
    await this.#opened()
    const held = this.#items.get(keyOf(owner))
    const responses = new Set<string>()
    for (const id of ids) {
      const response = held?.get(id)?.at(-1)
      if (response !== undefined) responses.add(response)
    }
    const wanted = new Set(ids)
    const found = new Map<string, StoredItem>()
    for (const response of responses) {
      await breathe()
      const kept = await this.get(owner, response)
      if (kept === undefined) continue
      for (const item of [...kept.input, ...kept.response.output]) {
        if (wanted.has(item.id)) found.set(item.id, item)
      }
    }
    return found
  }

  async #delete(kind: Entry['kind'], owner: Owner, id: string): Promise<boolean> {
    if (!this.#entries.has(id)) await this.#opened()
    if (this.#entryOf(kind, owner, id) === undefined) return false
    await this.#forget(id)
    return true
  }

  #entryOf(kind: Entry['kind'], owner: Owner, id: string): Entry | undefined {
    const entry = this.#entries.get(id)
    return entry?.kind === kind && entry.owner === keyOf(owner) ? entry : undefined
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
      if (kept && !this.#entries.has(about(kept).id)) this.#enter(kept, bytesOf(text))
    }
    // Where all of it is, the clock may be ahead.
    const old = this.#tooOld()
    if (old.length < this.#entries.size) for (const id of old) await this.#forget(id)
    for (const caller of [...this.#shares.keys()]) await this.#makeRoom(caller)
  }

  /** `text`: what the shelf has not taken. */
  #enter(kept: Kept, bytes: number, text?: string): void {
    const { id, ...summary } = about(kept)
    const { caller } = kept
    this.#drop(id)
    const owner = keyOf(kept)
    this.#entries.set(id, { caller, owner, bytes, text, ...summary })
    const share = getOrMake(this.#shares, caller, () => ({ ids: new Set(), bytes: 0 }))
    share.ids.add(id)
    share.bytes += bytes
    this.#bytes += bytes
    const held = getOrMake(this.#items, owner, () => new Map<string, string[]>())
    for (const item of summary.items) getOrMake(held, item, () => []).push(id)
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
    // The clock may be set back: nothing would be looked for until it is as late again.
    if (Math.abs(now - this.#swept) < SWEEP_MS) return []
    this.#swept = now
    const found = performance.now()
    this.#aged = new Map(this.#tooOld().map((id) => [id, this.#aged.get(id) ?? found]))
    const sure = Math.min(SURE_MS, this.#bounds.maxAge * 1000)
    return [...this.#aged].filter(([, first]) => found - first >= sure).map(([id]) => id)
  }

  #tooOld(): string[] {
    return [...this.#entries].filter(([, entry]) => this.#isOld(entry)).map(([id]) => id)
  }

  #isOld({ since }: Entry): boolean {
    return since < Date.now() / 1000 - this.#bounds.maxAge
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
    const { caller, owner, bytes, items } = entry
    this.#entries.delete(id)
    this.#bytes -= bytes
    const share = this.#shares.get(caller)!
    share.ids.delete(id)
    share.bytes -= bytes
    if (share.ids.size === 0) this.#shares.delete(caller)
    // Gone with the last item of this owner; conversations have none here. A response may have one twice.
    const held = this.#items.get(owner)
    for (const item of items) {
      const others = held!.get(item)?.filter((other) => other !== id) ?? []
      if (others.length > 0) held!.set(item, others)
      else held!.delete(item)
    }
    if (held?.size === 0) this.#items.delete(owner)
  }
}

function tooLong(most: number): V1Error {
  const message = `The conversation would take more than the ${most} bytes that are stored for one key: start a new one, or delete items of it.`
  return new V1Error(400, message, { code: 'conversation_too_long' })
}

/** Two owners are one where this is the same. */
export const keyOf = ({ caller, project }: Owner): string => JSON.stringify([caller, project])

const encoder = new TextEncoder()
const bytesOf = (text: string): number => encoder.encode(text).length

function* written(kept: Kept): Slices<{ readonly text: string; readonly bytes: number }> {
  let text = ''
  let bytes = 0
  for (const piece of spelled(kept)) {
    if (bytes > 0) yield
    text += piece
    bytes += bytesOf(piece)
  }
  return { text, bytes }
}

/** A long one in a turn of its own. */
function* read(text: string): Slices<Kept | undefined> {
  if (text.length > LARGE) yield
  return parsed(text)
}

/** What stands in the lists of it. */
function about(kept: Kept): Pick<Entry, 'kind' | 'since' | 'items'> & { readonly id: string } {
  if ('conversation' in kept) {
    return { kind: 'conversation', id: kept.conversation.id, since: kept.changedAt, items: [] }
  }
  const { id, created_at: since, output } = kept.response
  return { kind: 'response', id, since, items: [...kept.input, ...output].map((item) => item.id) }
}

/** What a crash left half written, or another program put there, is passed over. */
function parsed(text: string): Kept | undefined {
  try {
    const kept = JSON.parse(text) as Kept
    const { id, since } = about(kept)
    const lists = 'conversation' in kept ? [kept.items] : [kept.input, kept.response.output]
    const owned = typeof kept.caller === 'string' && ['string', 'undefined'].includes(typeof kept.project)
    const whole = typeof id === 'string' && typeof since === 'number' && lists.every(Array.isArray)
    return whole && owned ? kept : undefined
  } catch {
    return undefined
  }
}

/** Stores responses and conversations in memory, as long as the process, the page or the service worker runs. */
export function memoryResponses(bounds?: ResponseBounds): ResponseStore {
  const texts = new Map<string, string>()
  const shelf: Shelf = {
    async *open() {},
    read: async (id: string) => texts.get(id),
    write: async (id: string, text: string) => void texts.set(id, text),
    remove: async (id: string) => void texts.delete(id),
    close: async () => texts.clear(),
  }
  return shelvedResponses(shelf, bounds)
}
