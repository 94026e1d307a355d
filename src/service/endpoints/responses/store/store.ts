import { myTurn } from '../../../../platform/index.js'
import type { ResponseResource, StoredItem } from '../wire/resource.js'

/** Whose a response is: nobody else is told that it exists. */
export interface Owner {
  readonly caller: string
  /** Where the caller's key keeps its projects apart: the one that it was made for. */
  readonly project?: string
}

/** A response with what it answered, as it is kept for later requests. */
export interface KeptResponse extends Owner {
  readonly response: ResponseResource
  /** What the request itself brought, without what came before it. */
  readonly input: readonly StoredItem[]
}

/** A conversation that requests go on with, by its id. */
export interface KeptConversation extends Owner {
  readonly conversation: {
    readonly id: string
    readonly object: 'conversation'
    readonly created_at: number
    readonly metadata: Readonly<Record<string, string>>
  }
  readonly items: readonly StoredItem[]
  /** When it last grew or was changed, in seconds. */
  readonly changedAt: number
}

/** Where conversations are kept. */
export interface ConversationStore {
  /** In the place of what was kept of it. */
  put(kept: KeptConversation): Promise<void>
  get(owner: Owner, id: string): Promise<KeptConversation | undefined>
  delete(owner: Owner, id: string): Promise<boolean>
}

/** Where responses are kept that requests ask to be kept. */
export interface ResponseStore {
  /** Rejects where it could not be kept for as long as it should be. The answer is given all the same. */
  put(kept: KeptResponse): Promise<void>
  /** Undefined where there is none of this owner's. To be asked for counts as being used. */
  get(owner: Owner, id: string): Promise<KeptResponse | undefined>
  /** Items of any of the owner's responses, by id, as far as there are some. */
  items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, StoredItem>>
  /** Whether there was one. */
  delete(owner: Owner, id: string): Promise<boolean>
  /** Absent: conversations are kept in memory. */
  readonly conversations?: ConversationStore
  close?(): Promise<void>
}

/** Each caller's own: nobody's responses push out another's. */
export interface ResponseBounds {
  /**
   * How many responses and conversations are kept of one caller; the one unused for longest goes first.
   * @default 1000
   */
  readonly maxResponses?: number
  /**
   * How many bytes those of one caller may take together, as JSON.
   * @default 33554432
   */
  readonly maxBytes?: number
  /**
   * How many bytes those of all callers may take together; whoever has the most gives way.
   * @default 268435456, or `maxBytes` if that is more
   */
  readonly maxBytesInAll?: number
  /**
   * How long a response is kept, and a conversation after its last change, in seconds.
   * @default 2592000, which is 30 days
   */
  readonly maxAge?: number
}

/** Keeps texts by name. What is kept, and for how long, is decided above it. */
export interface Shelf {
  /** All that is there from before, the one written longest ago first. */
  open(): AsyncIterable<string>
  read(id: string): Promise<string | undefined>
  write(id: string, text: string): Promise<void>
  remove(id: string): Promise<void>
  close(): Promise<void>
}

/** What time it is, in milliseconds, and later each time: what is written within one has an order all the same. */
export function inOrder(): () => number {
  let last = 0
  return () => {
    last = Math.max(last + 1, Date.now())
    return last
  }
}

/** What becomes of a conversation; undefined where it stays as it is. */
type Change = (kept: KeptConversation) => KeptConversation | undefined

/** For whom a conversation is changed, in turns with what is done for others, and as long as somebody waits. */
interface ChangeFor {
  readonly caller: string
  readonly signal: AbortSignal
}

/** Conversations of a store, each changed by one request at a time: what two of them add is both there. */
export class Conversations {
  readonly #store: ConversationStore
  /** By id: what the next change waits for. */
  readonly #changing = new Map<string, Promise<unknown>>()

  constructor(store: ConversationStore) {
    this.#store = store
  }

  add(kept: KeptConversation): Promise<void> {
    return this.#store.put(kept)
  }

  get(owner: Owner, id: string): Promise<KeptConversation | undefined> {
    return this.#store.get(owner, id)
  }

  delete(owner: Owner, id: string): Promise<boolean> {
    return this.#inTurn(id, () => this.#store.delete(owner, id))
  }

  /** As it is afterwards; undefined where there is none of this owner's. At once, where nobody says for whom. */
  change(owner: Owner, id: string, change: Change, asked?: ChangeFor): Promise<KeptConversation | undefined> {
    return this.#inTurn(id, async () => {
      // It may be megabytes to read, and as many to write.
      if (asked) await myTurn(asked.signal, asked.caller)
      const kept = await this.#store.get(owner, id)
      const changed = kept && change(kept)
      if (!changed) return kept
      if (asked) await myTurn(asked.signal, asked.caller)
      const now = { ...changed, changedAt: Math.floor(Date.now() / 1000) }
      await this.#store.put(now)
      return now
    })
  }

  async #inTurn<T>(id: string, act: () => Promise<T>): Promise<T> {
    const before = this.#changing.get(id)
    const mine = before ? before.then(act, act) : act()
    this.#changing.set(id, mine)
    try {
      return await mine
    } finally {
      if (this.#changing.get(id) === mine) this.#changing.delete(id)
    }
  }
}
