import { getOrMake } from '../../platform/index.js'
import type { StepWork } from '../fuel.js'
import { Cell, Cells, type Frame } from './frame.js'

/**
 * Stacks are compared so many frames deep; what differs only below that stays apart, which costs time and changes nothing.
 * Comparing costs time too, at every byte: in the second half of a palindrome of two letters all stacks are alike as far down
 * as it has been read.
 */
const MOST_DEPTH = 50
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
    const groups = grouped(cells, (cell) => (cell.frame === undefined || apart(cell) ? cell : cell.frame))
    if (groups.length === cells.length) return [...cells]
    return groups.map((same) => (same.length === 1 ? same[0]! : this.#joined(same[0]!.frame!, same, 0)))
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
    const distinct = eachOnce(cells)
    if (distinct.length === 1) return distinct[0]!
    this.#work.spend(distinct.length)
    let union = this.#unions.get(distinct)
    if (union === undefined) {
      union = this.#merged(distinct, depth)
      this.#ways += distinct.length
      this.#unions.set(distinct, union)
    }
    return union
  }

  #merged(cells: readonly Cell[], depth: number): Cell {
    const { frame } = cells[0]!
    if (frame !== undefined && depth < MOST_DEPTH && cells.every((cell) => cell.frame === frame)) {
      this.#work.spend(cells.length)
      return this.#joined(frame, cells, depth + 1)
    }
    const all = new Cells()
    for (const cell of cells) all.add(cell)
    this.#work.spend(all.list.length)
    const ways: Cell[] = []
    for (const same of grouped(all.list, ({ frame }) => frame)) {
      const { frame } = same[0]!
      if (same.length === 1 || frame === undefined || depth === MOST_DEPTH) ways.push(...same)
      else ways.push(this.#joined(frame, same, depth + 1))
    }
    return this.#fork(ways)
  }

  #fork(ways: Cell[]): Cell {
    if (ways.length === 1) return ways[0]!
    byIds(ways)
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

/** In the order of their ids. Most are two. */
export function byIds(cells: Cell[]): Cell[] {
  if (cells.length === 2 && cells[0]!.id < cells[1]!.id) return cells
  return cells.length === 2 ? cells.reverse() : cells.sort((a, b) => a.id - b.id)
}

function eachOnce(cells: readonly Cell[]): Cell[] {
  return byIds([...cells]).filter((cell, i, all) => cell !== all[i - 1])
}

/** More cells than this are put together by a map. */
const FEW = 16

/** Those with the same key together. */
function grouped(cells: readonly Cell[], keyOf: (cell: Cell) => unknown): Cell[][] {
  if (cells.length > FEW) {
    const byKey = new Map<unknown, Cell[]>()
    for (const cell of cells) getOrMake(byKey, keyOf(cell), () => []).push(cell)
    return [...byKey.values()]
  }
  const keys: unknown[] = []
  const groups: Cell[][] = []
  for (const cell of cells) {
    const key = keyOf(cell)
    const at = keys.indexOf(key)
    if (at < 0) groups[keys.push(key) - 1] = [cell]
    else groups[at]!.push(cell)
  }
  return groups
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
