import type { ResponseResource, StoredItem } from '../wire/resource.js'

/** The owner of a response; for others it does not exist. */
export interface Owner {
  readonly caller: string
  /** The project that it was made for, if the caller's key has `projectsApart`. */
  readonly project?: string
}

/** A response with its input, as it is stored for later requests. */
export interface KeptResponse extends Owner {
  readonly response: ResponseResource
  /** The input of the request itself, without earlier responses. */
  readonly input: readonly StoredItem[]
}

/** A conversation, which requests continue by its id. */
export interface KeptConversation extends Owner {
  readonly conversation: {
    readonly id: string
    readonly object: 'conversation'
    readonly created_at: number
    readonly metadata: Readonly<Record<string, string>>
  }
  readonly items: readonly StoredItem[]
  /** When it was last changed, in seconds. */
  readonly changedAt: number
}

/** Where conversations are stored. */
export interface ConversationStore {
  /**
   * Replaces what was stored before. Rejects if it could not be stored for as long as it should be. With `orNot`, what was
   * stored before is then still there, and nothing else; without, the new state may be there for a shorter time.
   */
  put(kept: KeptConversation, orNot?: 'or not at all'): Promise<void>
  get(owner: Owner, id: string): Promise<KeptConversation | undefined>
  delete(owner: Owner, id: string): Promise<boolean>
}

/** Where responses are stored. */
export interface ResponseStore {
  /** Rejects if it could not be stored for as long as it should be. The answer is sent in any case. */
  put(kept: KeptResponse): Promise<void>
  /** Undefined if this owner has no such response. Counts as a use of it. */
  get(owner: Owner, id: string): Promise<KeptResponse | undefined>
  /** Items of any of the owner's responses, by id; those that exist. */
  items(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, StoredItem>>
  /** Whether there was one. */
  delete(owner: Owner, id: string): Promise<boolean>
  /** Absent: conversations are stored in memory. */
  readonly conversations?: ConversationStore
  close?(): Promise<void>
}

/** For each caller separately: responses of one caller never displace another's. */
export interface ResponseBounds {
  /**
   * How many responses and conversations of one caller are stored; the least recently used one is removed first.
   * @default 1000
   */
  readonly maxResponses?: number
  /**
   * How many bytes all of one caller may take, as JSON.
   * @default 33554432
   */
  readonly maxBytes?: number
  /**
   * How many bytes all of all callers may take; those of the caller with the most are removed first.
   * @default 268435456, or `maxBytes` if that is more
   */
  readonly maxBytesInAll?: number
  /**
   * How long a response is given out, and a conversation after its last change, in seconds. It is deleted once it has been
   * too old for an hour, or for as long as it is given out if that is less: the clock may be ahead for a while.
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

/**
 * What time it is, in milliseconds, and later each time: what is written within one has an order all the same. `after`: that
 * of what is there from before, when the clock may have been ahead.
 */
export function inOrder(): (after?: number) => number {
  let last = 0
  return (after = 0) => {
    last = Math.max(last + 1, after + 1, Date.now())
    return last
  }
}
