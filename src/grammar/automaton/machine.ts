import { StepWork } from '../fuel.js'
import { Branches } from '../kept.js'
import { enter } from './entry.js'
import { byIds, Forks } from './forks.js'
import {
  type Bytes,
  Cell,
  Cells,
  COLON,
  type Frame,
  IN_STRING,
  OPENS_ITEMS,
  open,
  SPACED,
  UNCERTAIN,
  UNKNOWN_ITEM,
  type UnknownItemFrame,
} from './frame.js'
import type { BlankFrame } from './line-breaks.js'
import { MemberFrame } from './member.js'

/** Where the automaton may stand, all threads together. One object per distinct set, so that work is done once. */
export class State {
  readonly cells: readonly Cell[]
  /** The text may stop here. */
  readonly accepting: boolean
  /** Bytes of the shortest way to the end. */
  readonly length: number
  /** Some thread is inside a string. */
  readonly inString: boolean
  /** Before the first item whose text must be known, so that it does not come again. */
  readonly opensItems: boolean
  /** Such an item is over: see `Machine.resolveItem`. */
  readonly hasUnknownItem: boolean
  /** What follows rests on a key that is not known yet: see `Machine.resolve`. */
  readonly uncertain: boolean
  /** `length` is a bound that knowing the key may lower. */
  readonly guessed: boolean
  /** Next states by byte, once two of them are known. */
  row: Branches<State> | undefined
  /** The first byte asked for and where it led: most states of a token walk are left by one byte only. */
  firstByte = -1
  first: State | undefined
  #next: Uint8Array | null | undefined

  constructor(cells: readonly Cell[]) {
    this.cells = cells
    let accepting = false
    let guessed = false
    let traits = 0
    let length = Infinity
    // One of them is made for every byte of a token walk.
    for (const cell of cells) {
      if (cell.accepting) accepting = true
      if (cell.guessed) guessed = true
      if (cell.length < length) length = cell.length
      traits |= cell.frame?.traits ?? 0
    }
    this.accepting = accepting
    this.guessed = guessed
    this.length = length
    this.inString = (traits & IN_STRING) !== 0
    this.opensItems = (traits & OPENS_ITEMS) !== 0
    this.hasUnknownItem = (traits & UNKNOWN_ITEM) !== 0
    this.uncertain = (traits & UNCERTAIN) !== 0
  }

  /** A key has just been closed whose text must be known: see `Machine.resolve`. */
  get unresolved(): boolean {
    return this.cells.some(isUnresolved)
  }

  /** An item whose text must be known may be over, as a number may. */
  get mayHaveUnknownItem(): boolean {
    return this.cells.some(
      (cell) => cell.frame?.ends === true && cell.below!.ways.some((way) => isOf(way, UNKNOWN_ITEM)),
    )
  }

  get dead(): boolean {
    return this.cells.length === 0
  }

  /** The bytes that may come next, ascending; null if they are too many for a list to help. */
  get next(): Uint8Array | null {
    if (this.#next === undefined) {
      const found = new Set<number>()
      const few = open(this.cells).every((cell) => cell.frame!.next(cell.below!, found))
      this.#next = few ? Uint8Array.from(found).sort() : null
    }
    return this.#next
  }
}

function isOf({ frame }: Cell, trait: number): boolean {
  return frame !== undefined && (frame.traits & trait) !== 0
}

/**
 * Whether a key has just been closed: its colon comes, then its value, then the object goes on, which must be told the key.
 * Of a set the next text comes at once.
 */
function isUnresolved(cell: Cell): boolean {
  if (isOf(cell, COLON)) return holders(cell).some(lacksKey)
  const frame = bare(cell.frame)
  return frame instanceof MemberFrame && frame.state.unresolved && frame.state.home.shape.isSet
}

/** What a frame is behind the white space that may come before it. */
function bare(frame: Frame | undefined): Frame | undefined {
  return frame !== undefined && (frame.traits & SPACED) !== 0 ? (frame as BlankFrame).inner : frame
}

function holders(cell: Cell): readonly Cell[] {
  return cell.below?.ways.flatMap((value) => value.below?.ways ?? []) ?? []
}

function lacksKey(cell: Cell): boolean {
  const frame = bare(cell.frame)
  return frame instanceof MemberFrame && frame.state.unresolved
}

function withKey(holder: Cell, key: string): Cell {
  if (!lacksKey(holder)) return holder
  const { state } = bare(holder.frame) as MemberFrame
  return holder.below!.push(state.home.program.breaks.spaced(state.resolve(key).after))
}

/** Rows kept before all are dropped: at most 2 KB each. */
const MOST_ROWS = 6000
/** On average, frames and cells included. */
const STATE_BYTES = 500
const ROW_BYTES = 400
/** States kept, of less than a kilobyte each. */
export const MOST_STATES = 30_000

export class Machine {
  readonly start: State
  readonly dead = new State([])
  readonly #bottom = new Cell()
  #rows: State[] = []
  #single = new Map<Cell, State>()
  #several = new Map<string, State>()
  /** What calls take of it. */
  readonly work: StepWork
  readonly #forks: Forks
  readonly #forgotten: (() => void) | undefined
  /** Tokens that stand for no text, by their symbols from `FIRST_TOKEN` on. */
  readonly tokens: readonly string[]

  /**
   * `forgotten` is told when everything is dropped that was only kept to be quick; `limited`: where rules may be written
   * such that a text has any number of readings.
   */
  constructor(first: Frame, forgotten?: () => void, tokens: readonly string[] = [], limited = false) {
    this.#forgotten = forgotten
    this.tokens = tokens
    this.work = new StepWork(limited)
    this.#forks = new Forks(this.work)
    this.start = this.#state([this.#bottom.push(first)])
  }

  step(state: State, byte: number): State {
    if (state.firstByte === byte) return state.first!
    const known = state.row?.get(byte)
    if (known !== undefined) return known
    // Here and not with the rows alone: documents that bring new keys go ways that never meet.
    if (this.kept > MOST_STATES) this.#forget()
    const next = this.#step(state, byte)
    if (state.first === undefined) {
      state.firstByte = byte
      state.first = next
    } else {
      const row = state.row ?? this.#newRow(state)
      row.set(byte, next)
    }
    return next
  }

  /** What is kept to be quick. */
  get bytes(): number {
    return this.kept * STATE_BYTES + this.#rows.length * ROW_BYTES
  }

  /** States that are kept to be found again. */
  get kept(): number {
    return this.#single.size + this.#several.size
  }

  #newRow(state: State): Branches<State> {
    if (this.#rows.length >= MOST_ROWS) this.#forget()
    const row = new Branches<State>()
    state.row = row
    this.#rows.push(state)
    return row
  }

  #step(state: State, byte: number): State {
    const [only] = state.cells
    if (state.cells.length === 1 && only!.frame?.ends !== true) {
      const moved = only!.frame?.move(byte)
      if (moved !== undefined) {
        if (moved === null) return this.dead
        return moved === only!.frame ? state : this.alone(only!.below!.push(moved))
      }
    }
    const out = new Cells()
    for (const cell of open(state.cells, this.work)) cell.frame!.step(byte, cell.below!, out)
    if (out.begun.length > 0) enter(byte, out, this.#forks, this.work)
    return this.among(out)
  }

  /** The state of one thread. */
  alone(cell: Cell): State {
    let state = this.#single.get(cell)
    if (state === undefined) {
      state = new State([cell])
      this.#single.set(cell, state)
    }
    return state
  }

  /** The state of all these threads. */
  among({ list }: Cells): State {
    return list.length === 0 ? this.dead : this.#state(list)
  }

  #state(threads: readonly Cell[]): State {
    const cells = threads.length === 1 ? [threads[0]!] : this.#forks.merge(threads, isUnresolved)
    if (cells.length === 1) return this.alone(cells[0]!)
    byIds(cells)
    const key = cells.map((cell) => cell.id).join()
    let state = this.#several.get(key)
    if (state === undefined) {
      state = new State(cells)
      this.#several.set(key, state)
    }
    return state
  }

  /** The state once the key that has just been closed is known. */
  resolve(state: State, key: string): State {
    const out = new Cells()
    for (const cell of state.cells) {
      if (!isUnresolved(cell)) out.add(cell)
      else if (bare(cell.frame) instanceof MemberFrame) out.add(withKey(cell, key))
      else {
        for (const value of cell.below!.ways) {
          for (const holder of value.below!.ways) out.add(withKey(holder, key).push(value.frame!).push(cell.frame!))
        }
      }
    }
    return this.among(out)
  }

  /** The state once the item that is over is known: of threads in which it may be, those in which it is. */
  resolveItem(state: State, item: Bytes): State {
    const out = new Cells()
    for (const cell of state.cells) {
      const ways = isOf(cell, UNKNOWN_ITEM) || cell.frame?.ends !== true ? [cell] : cell.below!.ways
      for (const way of ways) {
        if (isOf(way, UNKNOWN_ITEM)) out.add(way.below!.push((way.frame as UnknownItemFrame).with(item)))
        else out.add(way === cell ? cell : way.push(cell.frame!))
      }
    }
    return this.among(out)
  }

  /** Drops what was only kept to be quick. States in use stay valid. */
  #forget(): void {
    for (const state of this.#rows) state.row = undefined
    this.#rows = []
    this.#single = new Map()
    this.#several = new Map()
    this.#forks.clear()
    this.#bottom.clear()
    this.#forgotten?.()
  }
}
