import type { ResponseResource, StoredItem } from '../wire/responses/resource.js'

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
