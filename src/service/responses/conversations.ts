import { myTurn } from '../../platform/index.js'
import type { ConversationStore, KeptConversation, Owner } from './store.js'

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
