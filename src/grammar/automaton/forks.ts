import { Cell, type Frame } from './frame.js'
import type { StepWork } from './work.js'

/** Stacks are compared so many frames deep; what differs only below that stays apart, which costs time and changes nothing. */
const MOST_DEPTH = 200
/** Stacks that forks stand for, all together, before they are forgotten. */
const MOST_WAYS = 2_000_000

/**
 * Makes one stack of several. Those with the same frame on top become one, and so do what lies below them: two sets of
 * stacks that are equal are then one object, wherever in a text they were come to.
 */
export class Forks {
  readonly #work: StepWork
  /** By the cells that went in, and by those that came out. */
  readonly #unions = new BySet()
  readonly #forks = new BySet()
  #ways = 0

  constructor(work: StepWork) {
    this.#work = work
  }

  /** Makes one cell of those with the same frame on top. `apart` are cells that must stay as they are. */
  merge(cells: readonly Cell[], apart: (cell: Cell) => boolean): Cell[] {
    const byFrame = new Map<Frame | Cell, Cell[]>()
    for (const cell of cells) {
      const key = cell.frame === undefined || apart(cell) ? cell : cell.frame
      const same = byFrame.get(key)
      if (same === undefined) byFrame.set(key, [cell])
      else same.push(cell)
    }
    if (byFrame.size === cells.length) return [...cells]
    return [...byFrame].map(([frame, same]) => (same.length === 1 ? same[0]! : this.#joined(frame as Frame, same, 0)))
  }

  /** A frame above a stack, but where one of the two says all that both say. */
  push(below: Cell, frame: Frame): Cell {
    const known = below.above(frame)
    if (known !== undefined) return known
    const { absorbs } = frame
    const above: Cell[] = []
    const under: Cell[] = []
    const { ways } = below
    this.#work.spend(ways.length)
    for (const way of ways) {
      if (way.frame?.swallows(frame)) above.push(way)
      else if (absorbs !== undefined && way.frame === absorbs) under.push(way.below!)
      else under.push(way)
    }
    const changed = above.length > 0 || under.some((cell, i) => cell !== ways[i])
    if (!changed) return below.push(frame)
    if (under.length > 0) above.push(this.union(under).push(frame))
    const cell = this.union(above)
    below.keep(frame, cell)
    return cell
  }

  /** One cell for all of these. */
  union(cells: readonly Cell[]): Cell {
    return this.#union(cells, 0)
  }

  #joined(frame: Frame, cells: readonly Cell[], depth: number): Cell {
    const belows = cells.map((cell) => cell.below!)
    return this.#union(belows, depth).push(frame)
  }

  #union(cells: readonly Cell[], depth: number): Cell {
    if (cells.length === 1) return cells[0]!
    const distinct = [...new Set(cells)]
    if (distinct.length === 1) return distinct[0]!
    this.#work.spend(distinct.length)
    distinct.sort(byId)
    let union = this.#unions.get(distinct)
    if (union === undefined) {
      union = this.#merged(distinct, depth)
      this.#ways += distinct.length
      this.#unions.set(distinct, union)
    }
    return union
  }

  #merged(cells: readonly Cell[], depth: number): Cell {
    const all = new Set<Cell>()
    for (const cell of cells) {
      if (cell.fork === undefined) all.add(cell)
      else for (const way of cell.fork) all.add(way)
    }
    this.#work.spend(all.size)
    const byFrame = new Map<Frame | undefined, Cell | Cell[]>()
    for (const way of all) {
      const same = byFrame.get(way.frame)
      if (same === undefined) byFrame.set(way.frame, way)
      else if (Array.isArray(same)) same.push(way)
      else byFrame.set(way.frame, [same, way])
    }
    const ways: Cell[] = []
    for (const [frame, same] of byFrame) {
      if (!Array.isArray(same)) ways.push(same)
      else if (frame === undefined || depth === MOST_DEPTH) ways.push(...same)
      else ways.push(this.#joined(frame, same, depth + 1))
    }
    return this.#fork(ways)
  }

  #fork(ways: Cell[]): Cell {
    if (ways.length === 1) return ways[0]!
    ways.sort(byId)
    let fork = this.#forks.get(ways)
    if (fork === undefined) {
      if (this.#ways > MOST_WAYS) this.clear()
      fork = new Cell(undefined, undefined, ways)
      this.#ways += ways.length
      this.#forks.set(ways, fork)
    }
    return fork
  }

  clear(): void {
    this.#unions.clear()
    this.#forks.clear()
    this.#ways = 0
  }
}

function byId(a: Cell, b: Cell): number {
  return a.id - b.id
}

interface Entry {
  readonly cells: readonly Cell[]
  readonly value: Cell
  readonly next: Entry | undefined
}

/** Cells by sets of cells, which are sorted. */
class BySet {
  #entries = new Map<number, Entry>()

  get(cells: readonly Cell[]): Cell | undefined {
    for (let entry = this.#entries.get(hashOf(cells)); entry !== undefined; entry = entry.next) {
      if (alike(entry.cells, cells)) return entry.value
    }
    return undefined
  }

  set(cells: readonly Cell[], value: Cell): void {
    const hash = hashOf(cells)
    this.#entries.set(hash, { cells, value, next: this.#entries.get(hash) })
  }

  clear(): void {
    this.#entries = new Map()
  }
}

function hashOf(cells: readonly Cell[]): number {
  let hash = cells.length
  for (let i = 0; i < cells.length; i++) hash = (Math.imul(hash, 0x01000193) ^ cells[i]!.id) | 0
  return hash
}

function alike(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
