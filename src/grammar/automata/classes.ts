/** A partition of the code points: one table column per class instead of one per character. */

import { getOrMake } from '../../platform/index.js'
import type { Fuel } from '../fuel.js'
import { below } from './ascending.js'
import type { CharSet } from './charset.js'

const ASCII = 128

/** Class 0 holds the lone surrogates and leads nowhere. */
export const NEVER = 0

export class Classes {
  /** Including class 0. */
  readonly count: number
  /** First code points of the intervals, ascending, the first one 0. */
  readonly starts: Uint32Array
  /** The class of each interval. */
  readonly ids: Uint16Array
  private readonly ascii = new Uint16Array(ASCII)
  private samples: Uint32Array | undefined
  private sizes: Uint32Array | undefined

  constructor(starts: ArrayLike<number>, ids: ArrayLike<number>, count: number) {
    this.starts = Uint32Array.from(starts)
    this.ids = Uint16Array.from(ids)
    this.count = count
    let interval = 0
    for (let c = 0; c < ASCII; c++) {
      while (interval + 1 < this.starts.length && this.starts[interval + 1]! <= c) interval++
      this.ascii[c] = this.ids[interval]!
    }
  }

  of(codePoint: number): number {
    return codePoint < ASCII ? this.ascii[codePoint]! : this.ids[this.interval(codePoint)]!
  }

  /** The interval that holds a code point. */
  interval(codePoint: number): number {
    let low = 0
    let high = this.starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.starts[middle]! <= codePoint) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The class of all these code points; -1 if they have several. */
  common(low: number, high: number): number {
    const interval = this.interval(low)
    return high <= this.end(interval) ? this.ids[interval]! : -1
  }

  /** The last code point of an interval. */
  end(interval: number): number {
    return interval + 1 < this.starts.length ? this.starts[interval + 1]! - 1 : 0x10ffff
  }

  /** Some code point of a class: a letter or a digit if it has one, else one that JSON writes as one byte. */
  sample(cls: number): number {
    this.samples ??= this.measure().samples
    return this.samples[cls]!
  }

  /** How many code points a class has. */
  size(cls: number): number {
    this.sizes ??= this.measure().sizes
    return this.sizes[cls]!
  }

  private measure(): { samples: Uint32Array; sizes: Uint32Array } {
    const samples = new Uint32Array(this.count)
    const sizes = new Uint32Array(this.count)
    for (let i = this.starts.length - 1; i >= 0; i--) {
      samples[this.ids[i]!] = this.starts[i]!
      sizes[this.ids[i]!]! += this.end(i) - this.starts[i]! + 1
    }
    for (let c = 0x7e; c >= 0x20; c--) if (c !== 0x22 && c !== 0x5c) samples[this.of(c)] = c
    for (const first of [0x21, 0x41, 0x61, 0x30]) samples[this.of(first)] = first
    return { samples, sizes }
  }
}

/** The sets that hold a code point, ascending, while one code point after the other is come to. */
class Holding {
  readonly sets: number[] = []
  /** Of the same sets the same number, and of others mostly another: of thousands none has to be spelled out. */
  mark = 0

  turn(set: number): void {
    const mixed = Math.imul(set + 1, 0x9e3779b1)
    this.mark ^= Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
    const at = below(this.sets, set)
    if (this.sets[at] === set) this.sets.splice(at, 1)
    else this.sets.splice(at, 0, set)
  }

  are(others: readonly number[]): boolean {
    return others.length === this.sets.length && others.every((set, i) => set === this.sets[i])
  }
}

/** The coarsest partition that no set cuts, and for each set its classes. */
export function partition(sets: readonly CharSet[], fuel?: Fuel): { classes: Classes; members: Uint8Array[] } {
  /** Which sets begin or end at a code point. */
  const turns = new Map<number, number[]>([0, 0xd800, 0xe000].map((cut) => [cut, []]))
  for (const [s, set] of sets.entries()) {
    for (let i = 0; i < set.length; i += 2) {
      getOrMake(turns, set[i]!, () => []).push(s)
      if (set[i + 1]! < 0x10ffff) getOrMake(turns, set[i + 1]! + 1, () => []).push(s)
    }
  }
  const starts = [...turns.keys()].sort((a, b) => a - b)
  fuel?.spend((starts.length * (sets.length + 8)) >> 5)
  const holding = new Holding()
  const byMark = new Map<number, number[]>()
  const holders: (readonly number[])[] = [[]]
  const ids = starts.map((start) => {
    for (const s of turns.get(start)!) holding.turn(s)
    if (start === 0xd800) return NEVER
    const alike = getOrMake(byMark, holding.mark, () => [])
    const known = alike.find((other) => holding.are(holders[other]!))
    if (known !== undefined) return known
    const id = holders.push([...holding.sets]) - 1
    alike.push(id)
    return id
  })
  const members = sets.map(() => new Uint8Array(holders.length))
  for (let id = 1; id < holders.length; id++) for (const s of holders[id]!) members[s]![id] = 1
  return { classes: merged(starts, ids, holders.length), members }
}

/** The partition that is at least as fine as both, with each new class's class in `a` and in `b`. */
export function refine(a: Classes, b: Classes): { classes: Classes; left: Uint16Array; right: Uint16Array } {
  const starts: number[] = []
  const ids: number[] = []
  const known = new Map<number, number>([[0, 0]])
  const left = [NEVER]
  const right = [NEVER]
  for (let i = 0, j = 0, from = 0; from <= 0x10ffff; ) {
    const key = a.ids[i]! * 0x10000 + b.ids[j]!
    let id = known.get(key)
    if (id === undefined) {
      id = left.push(a.ids[i]!) - 1
      right.push(b.ids[j]!)
      known.set(key, id)
    }
    starts.push(from)
    ids.push(id)
    const end = Math.min(a.end(i), b.end(j))
    if (a.end(i) === end) i++
    if (b.end(j) === end) j++
    from = end + 1
  }
  return { classes: merged(starts, ids, left.length), left: Uint16Array.from(left), right: Uint16Array.from(right) }
}

/** Neighbouring intervals of one class become one. */
export function merged(starts: readonly number[], ids: readonly number[], count: number): Classes {
  const keptStarts: number[] = []
  const keptIds: number[] = []
  for (let i = 0; i < starts.length; i++) {
    if (i > 0 && ids[i] === keptIds[keptIds.length - 1]) continue
    keptStarts.push(starts[i]!)
    keptIds.push(ids[i]!)
  }
  return new Classes(keptStarts, keptIds, count)
}
