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
  /** How many writings were given up that have not settled. */
  open: number
  /** What these wrote, if they come all the same. */
  readonly late: Set<string>
  /** What was written since; null: it was deleted. */
  since?: KeptConversation | null
  /** Writes that once more. */
  again?: () => Promise<unknown>
}

interface Turn {
  readonly line: Line
  isGivenUp: boolean
  /** What may come late. */
  writing?: {
    readonly kept: KeptConversation | null
    readonly write: () => Promise<unknown>
    readonly work: Promise<unknown>
  }
}

/**
 * Conversations of a store, each changed by one request at a time: what two of them add is both there. Of a store that does
 * not settle, a turn is given up a while after nobody waits for it. What it writes after that gives way to what was written
 * since.
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
    const { since, late } = this.#lines.get(id) ?? {}
    return kept && since !== undefined && late!.has(versionOf(kept)) ? (since ?? undefined) : kept
  }

  delete(owner: Owner, id: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(id, signal, async (turn) => {
      signal.throwIfAborted()
      return this.#write(turn, null, () => this.#store.delete(owner, id))
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
      await this.#write(turn, now, () => this.#store.put(now, caller === undefined ? undefined : 'or not at all'))
      return now
    })
  }

  #inTurn<T>(id: string, signal: AbortSignal, act: (turn: Turn) => Promise<T>): Promise<T> {
    const line = getOrMake(this.#lines, id, () => ({ last: Promise.resolve(), open: 0, late: new Set<string>() }))
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

  async #write<T>(turn: Turn, kept: KeptConversation | null, write: () => Promise<T>): Promise<T> {
    const { line } = turn
    const isInDoubt = () => line.open > 0 || line.again !== undefined
    // What came late while this was written may have come behind it.
    const was = isInDoubt()
    const work = write()
    turn.writing = { kept, write, work }
    const done = await work
    // Who could delete nothing has changed nothing: it is another's.
    if ((was || isInDoubt()) && !turn.isGivenUp && done !== false) Object.assign(line, { since: kept, again: write })
    return done
  }

  #giveUp(id: string, turn: Turn): void {
    turn.isGivenUp = true
    if (!turn.writing) return
    const { line } = turn
    const { kept, write, work } = turn.writing
    if (kept) line.late.add(versionOf(kept))
    line.open++
    const settled = async () => {
      line.open--
      // Who waits before it changes what it writes. What came late may be that itself.
      await this.#inTurn(id, GONE, async (next) => {
        const { again, since = null } = line
        if (again && again !== write) await this.#write(next, since, again)
      })
    }
    work.then(settled, settled).catch((error) => this.#lost(id, error))
  }
}

const GONE = AbortSignal.abort()

/** Whatever a change changes. */
const versionOf = ({ conversation, items }: KeptConversation): string =>
  JSON.stringify([conversation.metadata, items.map(({ id }) => id)])
