import type { StepWork } from '../fuel.js'

/** Bytes are held as strings of one character per byte: cheap to slice, compare and use as keys. */
export type Bytes = string

/**
 * Added to a byte that another may stand for, once a key is known that is not known yet: it counts as a token of its own,
 * so that no way turns out to take more tokens than was thought.
 */
export const LOOSE = 0x100

export function loosened(bytes: Bytes): Bytes {
  let loose = ''
  for (let i = 0; i < bytes.length; i++) loose += String.fromCharCode(bytes.charCodeAt(i) | LOOSE)
  return loose
}

/** The construct may end here without a byte of its own, as a number may: what lies below then goes on. */
export const ENDS = 1
/** The answer rests on a key that is not known yet; see `ObjectState.resolve`. */
export const UNCERTAIN = 2
/** The length is a bound that knowing that key may lower. */
export const GUESSED = 4
/** Inside a string or a key read letter by letter: the frame is a `StringPlace`, and `move` knows every byte but the closing quote. */
export const IN_STRING = 8
/** Free text outside of any string: the frame is a `Passing`. */
export const FREE_TEXT = 16
/** White space may come first: the frame is a `BlankFrame`. */
export const SPACED = 32
/** Behind an item whose text the automaton does not know yet, and which may not come again: an `UnknownItemFrame`. */
export const UNKNOWN_ITEM = 64
/** Before the first of such items. */
export const OPENS_ITEMS = 128
/** In an item that begins as one that has come, and may not end here as that one does: an `ItemFrame`. */
export const LIKE_USED = 256
/** Between a key and its value. */
export const COLON = 512

/** Where the automaton stands inside one construct: a string, an array, a key. Immutable, one object per place. */
export abstract class Frame {
  /** The bits above. One field, which all kinds of frames have in the same place: every step of the automaton reads it. */
  readonly traits: number

  constructor(traits = 0) {
    this.traits = traits
  }

  get ends(): boolean {
    return (this.traits & ENDS) !== 0
  }

  get guessed(): boolean {
    return (this.traits & GUESSED) !== 0
  }

  /**
   * Adds where the automaton may stand after one more byte of this construct; where it ends without one, `step` is asked
   * of what lies below as well. `below` is what follows this construct.
   */
  abstract step(byte: number, below: Cell, out: Cells): void

  /** As `step` where what lies below does not matter: the frame that takes this one's place, null for none; undefined: ask `step`. */
  move(_byte: number): Frame | null | undefined {
    return undefined
  }

  /** Adds every byte of its own that may come next; false if they are too many to be worth a list. */
  abstract next(below: Cell, into: Set<number>): boolean

  /** Directly below this frame that one changes nothing: whatever both allow, this one does. */
  get absorbs(): Frame | undefined {
    return undefined
  }

  /** Whether that frame directly above this one changes nothing. */
  swallows(_above: Frame): boolean {
    return false
  }

  /** How many bytes the canonical shortest way to the end of the construct takes. */
  abstract readonly length: number

  /** Those bytes, some of them loose. Asked for only where they are few. */
  abstract spell(): Bytes
}

/** Behind an item whose text is not known yet. */
export interface UnknownItemFrame extends Frame {
  with(item: Bytes): Frame
}

let made = 0

/**
 * A stack of frames, shared: two equal stacks are one object, so that states can be compared by identity. Below a frame
 * there may be several stacks at once, a `Fork`: threads that stand in the same place go on as one, so that their number
 * does not double with every level of a document.
 */
export class Cell {
  /** Absent at the bottom, where the document is complete, and in a fork. */
  readonly frame: Frame | undefined
  readonly below: Cell | undefined
  readonly id = ++made
  /** Bytes of the shortest way to the end of the document. */
  readonly length: number
  /** Whether `length` is a bound, for want of a key's text. */
  readonly guessed: boolean
  /** The document may end here: nothing need come of this frame, nor of any below. */
  readonly accepting: boolean
  /** Of a fork: the stacks that it stands for, none of them a fork. */
  readonly fork: readonly Cell[] | undefined
  /** What was made of it and a frame above. Most have one at most, and a map is larger than a cell. */
  #frame: Frame | undefined
  #cell: Cell | undefined
  #others: Map<Frame, Cell> | undefined

  constructor(frame?: Frame, below?: Cell, fork?: readonly Cell[]) {
    this.frame = frame
    this.below = below
    this.fork = fork
    this.guessed = frame?.guessed === true || below?.guessed === true || fork?.some((way) => way.guessed) === true
    this.accepting =
      fork === undefined ? frame === undefined || (frame.ends && below!.accepting) : fork.some((way) => way.accepting)
    this.length = fork === undefined ? (frame?.length ?? 0) + (below?.length ?? 0) : shortest(fork)
  }

  /** The stacks that this one stands for: itself, but for a fork. */
  get ways(): readonly Cell[] {
    return this.fork ?? [this]
  }

  push(frame: Frame): Cell {
    const known = this.above(frame)
    if (known !== undefined) return known
    const cell = new Cell(frame, this)
    this.keep(frame, cell)
    return cell
  }

  /** What was made of this stack and a frame above it. */
  above(frame: Frame): Cell | undefined {
    return frame === this.#frame ? this.#cell : this.#others?.get(frame)
  }

  keep(frame: Frame, cell: Cell): void {
    if (this.#frame === undefined) {
      this.#frame = frame
      this.#cell = cell
    } else {
      this.#others ??= new Map()
      this.#others.set(frame, cell)
    }
  }

  /** Whether nothing need come: the bottom. */
  get complete(): boolean {
    return this.fork === undefined ? this.frame === undefined : this.fork.some((way) => way.complete)
  }

  /** Forgets what was built upon it; what is still in use elsewhere stays valid. */
  clear(): void {
    this.#frame = undefined
    this.#cell = undefined
    this.#others = undefined
  }
}

/**
 * The frames that may take the next byte, each with its stack: those on top, and those below where the ones above may end.
 * Each once, and without recursion: many threads may share a tall stack.
 */
export function open(cells: readonly Cell[], work?: StepWork): readonly Cell[] {
  if (cells.every(({ frame }) => frame?.ends === false)) return cells
  const found = new Cells()
  for (const cell of cells) found.add(cell)
  // They grow by what lies below.
  for (const { frame, below } of found.list) if (frame?.ends === true) found.add(below!)
  work?.spend(found.list.length - cells.length)
  return found.list.filter(({ frame }) => frame !== undefined)
}

function shortest(cells: readonly Cell[]): number {
  return cells.reduce((least, cell) => Math.min(least, cell.length), Infinity)
}

/** How a rule begins: see `Entry`. */
export interface RuleStart {
  /** The name of the rule that it is a part of. */
  readonly owner: string | undefined
  /** What it leads to before anything comes is of a lesser height. */
  readonly height: number
  /** The ways that begin with a byte, or a token without text: what comes first, and what then, the last first. */
  of(symbol: number, work: StepWork): readonly { readonly head: Frame | RuleStart; readonly rests: readonly Frame[] }[]
}

/** More cells than this are found by their identity. */
const FEW = 16

/** Collects the cells of the next state. */
export class Cells {
  readonly list: Cell[] = []
  #known: Set<Cell> | undefined
  /** Rules that are begun here. They are entered together, once all are known: see `Entering`. */
  readonly begun: { readonly entry: RuleStart; readonly below: Cell }[] = []

  add(cell: Cell): void {
    if (cell.fork !== undefined) for (const way of cell.fork) this.add(way)
    else if (!this.#has(cell)) this.list.push(cell)
  }

  #has(cell: Cell): boolean {
    if (this.list.length < FEW) return this.list.includes(cell)
    this.#known ??= new Set(this.list)
    if (this.#known.has(cell)) return true
    this.#known.add(cell)
    return false
  }

  begin(entry: RuleStart, below: Cell): void {
    this.begun.push({ entry, below })
  }
}
