import type { Entry } from './entry.js'
import type { Frame } from './frame.js'
import type { StepWork } from './work.js'

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
  /** Made when first needed: most cells are the top of a stack that is seen once. */
  #above: Map<Frame, Cell> | undefined

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
    this.#above ??= new Map()
    let cell = this.#above.get(frame)
    if (cell === undefined) {
      cell = new Cell(frame, this)
      this.#above.set(frame, cell)
    }
    return cell
  }

  /** What was made of this stack and a frame above it. */
  above(frame: Frame): Cell | undefined {
    return this.#above?.get(frame)
  }

  keep(frame: Frame, cell: Cell): void {
    this.#above ??= new Map()
    this.#above.set(frame, cell)
  }

  /** Whether nothing need come: the bottom. */
  get complete(): boolean {
    return this.fork === undefined ? this.frame === undefined : this.fork.some((way) => way.complete)
  }

  /** Forgets what was built upon it; what is still in use elsewhere stays valid. */
  clear(): void {
    this.#above = undefined
  }
}

/**
 * The frames that may take the next byte, each with its stack: those on top, and those below where the ones above may end.
 * Each once, and without recursion: many threads may share a tall stack.
 */
export function open(cells: readonly Cell[], work?: StepWork): readonly Cell[] {
  const [only] = cells
  if (cells.length === 1 && only!.fork === undefined && only!.frame?.ends !== true) return only!.frame ? cells : []
  const found = new Set<Cell>()
  const seen = new Set<Cell>()
  const rest = [...cells]
  for (let cell = rest.pop(); cell !== undefined; cell = rest.pop()) {
    if (seen.has(cell)) continue
    seen.add(cell)
    if (cell.fork !== undefined) rest.push(...cell.fork)
    else if (cell.frame !== undefined) {
      found.add(cell)
      if (cell.frame.ends) rest.push(cell.below!)
    }
  }
  work?.spend(seen.size - cells.length)
  return [...found]
}

function shortest(cells: readonly Cell[]): number {
  return cells.reduce((least, cell) => Math.min(least, cell.length), Infinity)
}

/** More cells than this are found by their identity. */
const FEW = 16

/** Collects the cells of the next state. */
export class Cells {
  readonly list: Cell[] = []
  #known: Set<Cell> | undefined
  /** Rules that are begun here. They are entered together, once all are known: see `Entering`. */
  readonly begun: { readonly entry: Entry; readonly below: Cell }[] = []

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

  begin(entry: Entry, below: Cell): void {
    this.begun.push({ entry, below })
  }
}
