import type { Frame } from './frame.js'

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
export function open(cells: readonly Cell[]): readonly Cell[] {
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
  return [...found]
}

function shortest(cells: readonly Cell[]): number {
  return cells.reduce((least, cell) => Math.min(least, cell.length), Infinity)
}

/** Collects the cells of the next state. */
export class Cells {
  readonly list: Cell[] = []

  add(cell: Cell): void {
    if (cell.fork !== undefined) for (const way of cell.fork) this.add(way)
    else if (!this.list.includes(cell)) this.list.push(cell)
  }
}

/** Makes one cell of those with the same frame on top. */
export class Forks {
  #known = new Map<string, Cell>()

  /** `apart` are cells that must stay as they are. */
  merge(cells: readonly Cell[], apart: (cell: Cell) => boolean): Cell[] {
    const byFrame = new Map<Frame | Cell, Cell[]>()
    for (const cell of cells) {
      const key = cell.frame === undefined || apart(cell) ? cell : cell.frame
      const same = byFrame.get(key)
      if (same === undefined) byFrame.set(key, [cell])
      else same.push(cell)
    }
    if (byFrame.size === cells.length) return [...cells]
    return [...byFrame].map(([frame, same]) => (same.length === 1 ? same[0]! : this.#below(same).push(frame as Frame)))
  }

  #below(cells: readonly Cell[]): Cell {
    const ways = [...new Set(cells.flatMap((cell) => cell.below!.ways))].sort((a, b) => a.id - b.id)
    if (ways.length === 1) return ways[0]!
    const key = ways.map((way) => way.id).join()
    let fork = this.#known.get(key)
    if (fork === undefined) {
      fork = new Cell(undefined, undefined, ways)
      this.#known.set(key, fork)
    }
    return fork
  }

  clear(): void {
    this.#known = new Map()
  }
}
