/**
 * States of sequences at the lengths that they have had. A state holds all that came before and gives no token back: a
 * sequence can only go on from a length at which its state was kept. Nothing is copied for that: a pass reads one slot and
 * writes another, and the one that it has read stays for as long as it is worth its room.
 */
import { NO_STATE, PAGE, type SpanState } from '../device/index.js'
import { cacheFull } from './pages.js'

/** Sequences that share a beginning share its states. */
interface State {
  readonly length: number
  readonly slot: number
  /** Few tokens after another one: kept only until the next. */
  readonly passing: boolean
  /** The turn in which it was last of use. */
  used: number
  readonly holders: Set<StateHistory>
}

export class StatePool {
  readonly #free: number[]
  readonly #states = new Set<State>()
  #turn = 0
  /** Those of the turn that cannot write where they read: there is nothing yet, or others read it as well. */
  #due = new Set<StateHistory>()

  /** A batch of n takes at most n / 2 slots more than n: in pairs that share what they read. */
  constructor(slots: number) {
    this.#free = Array.from({ length: slots }, (_, i) => slots - 1 - i)
  }

  get free(): number {
    return this.#free.length
  }

  /** What these sequences stand at, and what they will make, is nobody's to take before the next turn. */
  begin(histories: readonly StateHistory[]): void {
    this.#turn++
    const readers = new Map<State | undefined, number>()
    for (const { last } of histories) {
      if (last) this.touch(last)
      readers.set(last, (readers.get(last) ?? 0) + 1)
    }
    this.#due = new Set(histories.filter(({ last }) => !last || readers.get(last)! > 1))
  }

  touch(state: State): void {
    state.used = this.#turn
  }

  /**
   * A state of `holder`, for which others are given up where no slot is free. Undefined: those that are left are for
   * others of the turn, who have no choice.
   */
  make(holder: StateHistory, length: number, passing: boolean): State | undefined {
    if (!this.#due.delete(holder) && this.#free.length + this.#idle().length <= this.#due.size) return undefined
    if (this.#free.length === 0) this.#giveUp()
    const slot = this.#free.pop()
    return slot === undefined ? undefined : this.#place(slot, holder, length, passing)
  }

  /** The same in the place of `state`, whoever may have thought of going back to it. */
  replace(state: State, holder: StateHistory, length: number, passing: boolean): State {
    for (const other of [...state.holders]) if (other !== holder) other.lose(state)
    holder.forget(state)
    this.#free.splice(this.#free.indexOf(state.slot), 1)
    return this.#place(state.slot, holder, length, passing)
  }

  #place(slot: number, holder: StateHistory, length: number, passing: boolean): State {
    const state: State = { length, slot, passing, used: this.#turn, holders: new Set([holder]) }
    this.#states.add(state)
    return state
  }

  #idle(): State[] {
    return [...this.#states].filter(({ used }) => used !== this.#turn)
  }

  hold(state: State, holder: StateHistory): void {
    state.holders.add(holder)
  }

  release(state: State, holder: StateHistory): void {
    state.holders.delete(holder)
    if (state.holders.size > 0) return
    this.#states.delete(state)
    this.#free.push(state.slot)
  }

  /** The one that was of use longest ago, but first of those that only a sequence in the midst of writing goes back to. */
  #giveUp(): void {
    const rank = (state: State) => (isUnderWay(state) ? 0 : 1)
    const [worst] = this.#idle().sort((a, b) => rank(a) - rank(b) || a.used - b.used)
    for (const holder of [...(worst?.holders ?? [])]) holder.lose(worst!)
  }
}

const isUnderWay = (state: State) => state.passing && [...state.holders].every((holder) => holder.last !== state)

/** The states of one sequence. */
export class StateHistory {
  readonly #pool: StatePool
  /** By length. The last is the one that it stands at. */
  #states: State[] = []
  /** Called when the one that it stood at was given up, with the length that it falls back to. */
  readonly #onFall: (length: number) => void

  constructor(pool: StatePool, onFall: (length: number) => void) {
    this.#pool = pool
    this.#onFall = onFall
  }

  get length(): number {
    return this.last?.length ?? 0
  }

  /** What it stands at; undefined at its begin. */
  get last(): State | undefined {
    return this.#states.at(-1)
  }

  /**
   * From where a pass that appends tokens reads, and to where it writes. `back`: numbers of these tokens to which it may
   * be cut, whose states are kept as far as there are slots.
   */
  advance(tokens: number, back: readonly number[] = []): SpanState {
    const { last, length } = this
    const make = [this, length + tokens, tokens < PAGE] as const
    const state = this.#pool.make(...make) ?? (last && this.#pool.replace(last, ...make))
    if (!state) throw cacheFull()
    const between = back.flatMap((count) => this.#pool.make(this, length + count, true) ?? [])
    this.#states.push(...between, state)
    this.#thin(2 + between.length)
    const span = { from: last?.slot ?? NO_STATE, to: state.slot }
    if (between.length === 0) return span
    const each = new Int32Array(tokens).fill(state.slot)
    for (const { length: end, slot } of between.reverse()) each.fill(slot, 0, end - length)
    return { ...span, each }
  }

  /** The longest that it can be cut to and be no longer than `length`. */
  reach(length: number): number {
    return this.#states.findLast((state) => state.length <= length)?.length ?? 0
  }

  /** Forgets what is longer; returns what is left. */
  cut(length: number): number {
    this.#drop((state) => state.length > length)
    if (this.last) this.#pool.touch(this.last)
    return this.length
  }

  copyFrom(other: StateHistory): void {
    this.#states = [...other.#states]
    for (const state of this.#states) this.#pool.hold(state, this)
  }

  forget(state: State): void {
    this.#drop((other) => other === state)
  }

  lose(state: State): void {
    const fell = this.last === state
    this.forget(state)
    if (fell) this.#onFall(this.length)
  }

  /**
   * What stays: the `last`, the end of the last prompt, and of the others the fewer, the further back: of those in each
   * run of 2^n pages the first, where 2^n pages is about how far back they are. Whoever goes back by some tokens feeds
   * about as many again.
   */
  #thin(last: number): void {
    const states = this.#states
    const end = this.length
    const prompt = states.findLast(({ passing }) => !passing)
    const stays = states.filter((state, i) => {
      const run = PAGE * 2 ** Math.max(0, Math.floor(Math.log2((end - state.length) / PAGE)))
      const begins = Math.floor(state.length / run) > Math.floor((states[i - 1]?.length ?? 0) / run)
      return begins || i >= states.length - last || state === prompt
    })
    this.#drop((state) => !stays.includes(state))
  }

  #drop(which: (state: State) => boolean): void {
    const gone = this.#states.filter(which)
    if (gone.length === 0) return
    this.#states = this.#states.filter((state) => !gone.includes(state))
    for (const state of gone) this.#pool.release(state, this)
  }
}
