import type { ResponseResource, StoredItem } from '../wire/responses/resource.js'

/** A response with what it answered, as it is kept for later requests. */
export interface KeptResponse {
  /** Whose it is: nobody else is told that it exists. */
  readonly caller: string
  readonly response: ResponseResource
  /** What the request itself brought, without what came before it. */
  readonly input: readonly StoredItem[]
}

/** Where responses are kept that requests ask to be kept. */
export interface ResponseStore {
  put(kept: KeptResponse): Promise<void>
  /** Undefined where there is none of this caller's. To be asked for counts as being used. */
  get(caller: string, id: string): Promise<KeptResponse | undefined>
  /** An item of any of the caller's responses. */
  item(caller: string, id: string): Promise<StoredItem | undefined>
  /** Whether there was one. */
  delete(caller: string, id: string): Promise<boolean>
  close?(): Promise<void>
}

export interface ResponseBounds {
  /**
   * How many responses are kept, of all callers together; the one unused for longest goes first.
   * @default 1000
   */
  readonly maxResponses?: number
  /**
   * How many bytes they may take together, as JSON.
   * @default 33554432
   */
  readonly maxBytes?: number
  /**
   * How long a response is kept, in seconds.
   * @default 2592000, which is 30 days
   */
  readonly maxAge?: number
}

/** Keeps texts by name. What is kept, and for how long, is decided above it. */
export interface Shelf {
  /** All that is there from before, the one written longest ago first. */
  open(): Promise<readonly string[]>
  read(id: string): Promise<string | undefined>
  write(id: string, text: string): Promise<void>
  remove(id: string): Promise<void>
  close(): Promise<void>
}

interface Entry {
  readonly caller: string
  readonly createdAt: number
  readonly bytes: number
  readonly items: readonly string[]
}

/** Responses on a shelf, bounded by count, bytes and age. */
export function shelvedResponses(shelf: Shelf, bounds: ResponseBounds = {}): ResponseStore {
  return new ShelvedResponses(shelf, bounds)
}

class ShelvedResponses implements ResponseStore {
  readonly #shelf: Shelf
  readonly #bounds: Required<ResponseBounds>
  /** The one unused for longest comes first. */
  readonly #entries = new Map<string, Entry>()
  readonly #items = new Map<string, string>()
  #bytes = 0
  #opening: Promise<void> | undefined

  constructor(shelf: Shelf, { maxResponses = 1000, maxBytes = 2 ** 25, maxAge = 30 * 86_400 }: ResponseBounds) {
    this.#shelf = shelf
    this.#bounds = { maxResponses, maxBytes, maxAge }
  }

  async put(kept: KeptResponse): Promise<void> {
    await this.#opened()
    const text = JSON.stringify(kept)
    const { id } = kept.response
    // One that can never fit would only push out all others.
    if (bytesOf(text) > this.#bounds.maxBytes) return this.#forget(id)
    await this.#shelf.write(id, text)
    this.#enter(kept, text)
    await this.#makeRoom()
  }

  async get(caller: string, id: string): Promise<KeptResponse | undefined> {
    await this.#opened()
    await this.#makeRoom()
    const entry = this.#entries.get(id)
    if (entry?.caller !== caller) return undefined
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    const text = await this.#shelf.read(id)
    if (text === undefined) return undefined
    return JSON.parse(text) as KeptResponse
  }

  async item(caller: string, id: string): Promise<StoredItem | undefined> {
    await this.#opened()
    const response = this.#items.get(id)
    const kept = response === undefined ? undefined : await this.get(caller, response)
    return [...(kept?.input ?? []), ...(kept?.response.output ?? [])].find((item) => item.id === id)
  }

  async delete(caller: string, id: string): Promise<boolean> {
    await this.#opened()
    if (this.#entries.get(id)?.caller !== caller) return false
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
    for (const text of await this.#shelf.open()) {
      const kept = parsed(text)
      if (kept) this.#enter(kept, text)
    }
    await this.#makeRoom()
  }

  #enter(kept: KeptResponse, text: string): void {
    const { id, created_at: createdAt, output } = kept.response
    this.#drop(id)
    const items = [...kept.input, ...output].map((item) => item.id)
    this.#entries.set(id, { caller: kept.caller, createdAt, bytes: bytesOf(text), items })
    for (const item of items) this.#items.set(item, id)
    this.#bytes += bytesOf(text)
  }

  async #makeRoom(): Promise<void> {
    const { maxResponses, maxBytes, maxAge } = this.#bounds
    const oldest = Date.now() / 1000 - maxAge
    const tooOld = [...this.#entries].filter(([, { createdAt }]) => createdAt < oldest)
    for (const [id] of tooOld) await this.#forget(id)
    for (const id of [...this.#entries.keys()]) {
      if (this.#entries.size <= maxResponses && this.#bytes <= maxBytes) return
      await this.#forget(id)
    }
  }

  async #forget(id: string): Promise<void> {
    this.#drop(id)
    await this.#shelf.remove(id)
  }

  #drop(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#entries.delete(id)
    this.#bytes -= entry.bytes
    for (const item of entry.items) if (this.#items.get(item) === id) this.#items.delete(item)
  }
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** What a crash left half written, or another program put there, is passed over. */
function parsed(text: string): KeptResponse | undefined {
  try {
    const kept = JSON.parse(text) as KeptResponse
    const { id, created_at: createdAt, output } = kept.response
    const whole = typeof id === 'string' && typeof createdAt === 'number' && Array.isArray(output)
    return whole && typeof kept.caller === 'string' && Array.isArray(kept.input) ? kept : undefined
  } catch {
    return undefined
  }
}
