import { abortable, getOrMake, myTurn } from '../../../../platform/index.js'
import { endedSoon } from '../../../stream/abort.js'
import type { ConversationStore, KeptConversation, Owner } from './store.js'

/** What becomes of a conversation; undefined where it stays as it is. */
type Change = (kept: KeptConversation) => KeptConversation | undefined

/** For whom a conversation is changed, and as long as somebody waits. */
interface ChangeFor {
  /** In turns with what is done for others; of an answer that was given, at once. */
  readonly caller?: string
  readonly signal: AbortSignal
}

/** Who changes one conversation, one after the other. */
interface Line {
  /** What the next one waits for. */
  last: Promise<unknown>
  /** How many writings there were. */
  count: number
  /** How many were given up that have not settled. */
  open: number
  /** What these wrote, if they come all the same, and as the how manieth. */
  readonly late: Map<string, number>
  /** Of those that the store has settled, the one that was begun last: what stays. */
  newest?: Writing
}

interface Writing {
  readonly number: number
  /** Null: it is deleted. */
  readonly kept: KeptConversation | null
  readonly write: () => Promise<unknown>
}

interface Turn {
  readonly line: Line
  isGivenUp: boolean
  /** What may come late. */
  written?: { readonly writing: Writing; readonly work: Promise<unknown>; readonly isAlone: boolean }
}

/**
 * Conversations of a store, each changed by one request at a time: what two of them add is both there. Of a store that does
 * not settle, a turn is given up a while after nobody waits for it. What it writes after that gives way to what was begun
 * later.
 */
export class Conversations {
  readonly #store: ConversationStore
  readonly #lost: (id: string, error: unknown) => void
  /** By id. */
  readonly #lines = new Map<string, Line>()

  /** `lost` hears where what was written since could not be written once more. */
  constructor(store: ConversationStore, lost: (id: string, error: unknown) => void) {
    this.#store = store
    this.#lost = lost
  }

  add(kept: KeptConversation): Promise<void> {
    return this.#store.put(kept, 'or not at all')
  }

  async get(owner: Owner, id: string): Promise<KeptConversation | undefined> {
    const kept = await this.#store.get(owner, id)
    const { newest, late } = this.#lines.get(id) ?? {}
    const isLate = kept && newest && late!.get(versionOf(kept))! < newest.number
    return isLate ? (newest.kept ?? undefined) : kept
  }

  delete(owner: Owner, id: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(id, signal, async (turn) => {
      signal.throwIfAborted()
      return this.#write(turn, { number: turn.line.count++, kept: null, write: () => this.#store.delete(owner, id) })
    })
  }

  /** As it is afterwards; undefined where there is none of this owner's. */
  change(
    owner: Owner,
    id: string,
    change: Change,
    { signal, caller }: ChangeFor,
  ): Promise<KeptConversation | undefined> {
    return this.#inTurn(id, signal, async (turn) => {
      // It may be megabytes to read, and as many to write.
      if (caller !== undefined) await myTurn(signal, caller)
      const kept = await this.get(owner, id)
      const changed = kept && change(kept)
      if (!changed) return kept
      if (caller !== undefined) await myTurn(signal, caller)
      if (turn.isGivenUp) throw signal.reason
      const now = { ...changed, changedAt: Math.floor(Date.now() / 1000) }
      // Who asked for the change hears that it failed, and asks again; an answer that was given is part of it all the same.
      const write = () => this.#store.put(now, caller === undefined ? undefined : 'or not at all')
      await this.#write(turn, { number: turn.line.count++, kept: now, write })
      return now
    })
  }

  #inTurn<T>(id: string, signal: AbortSignal, act: (turn: Turn) => Promise<T>): Promise<T> {
    const line = getOrMake(this.#lines, id, () => ({ last: Promise.resolve(), count: 0, open: 0, late: new Map() }))
    const turn: Turn = { line, isGivenUp: false }
    const before = line.last
    const mine = before.then(() => act(turn))
    const over = before.then(async () => {
      const ended = mine.catch(() => {})
      await abortable(ended, signal).catch(async () => {
        if ((await endedSoon(ended)) === 'stuck') this.#giveUp(id, turn)
      })
      if (line.last === over && line.open === 0) this.#lines.delete(id)
    })
    line.last = over
    return mine
  }

  async #write(turn: Turn, writing: Writing, isAlone = turn.line.open === 0): Promise<boolean> {
    const { line } = turn
    const work = writing.write()
    turn.written = { writing, work, isAlone }
    // Who could delete nothing has changed nothing: it is another's.
    const hasChanged = (await work) !== false
    if (hasChanged && writing.number >= (line.newest?.number ?? 0)) line.newest = writing
    return hasChanged
  }

  #giveUp(id: string, turn: Turn): void {
    turn.isGivenUp = true
    if (!turn.written) return
    const { line } = turn
    const { writing, work, isAlone } = turn.written
    if (writing.kept) line.late.set(versionOf(writing.kept), writing.number)
    line.open++
    const settled = async () => {
      line.open--
      // Who waits before it changes what it writes.
      await this.#inTurn(id, GONE, async (next) => {
        const { newest } = line
        // An older one that came meanwhile may have come behind it.
        const isInDoubt = newest && (newest.number > writing.number || (newest === writing && !isAlone))
        if (isInDoubt) await this.#write(next, newest, true)
      })
    }
    work.then(settled, settled).catch((error) => this.#lost(id, error))
  }
}

const GONE = AbortSignal.abort()

/** Whatever a change changes. */
const versionOf = ({ conversation, items }: KeptConversation): string =>
  JSON.stringify([conversation.metadata, items.map(({ id }) => id)])
