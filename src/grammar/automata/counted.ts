/**
 * A language cut to lengths between two bounds, without a state table per length: a state is a pair (base state,
 * characters read), so that `maxLength: 1000000` costs nothing.
 */

import { Fuel } from '../fuel.js'
import type { Classes } from './classes.js'
import { FAR, SparseAutomaton } from './sparse.js'
import { whole } from './stretches.js'
import { DEAD, type TextAutomaton, TextError, type Unlimited } from './types.js'

/** Cells of the table that a lower bound over a base of several states needs. */
const MAX_CELLS = 1_000_000
const MAX_STATES = 2 ** 31
/** The same of texts' own stretches, which are many: whoever walks them keeps no table of all. */
const MAX_SPARSE_CELLS = 4_000_000
const MAX_SPARSE_STATES = 2 ** 50

export class CountedAutomaton implements TextAutomaton {
  readonly base: TextAutomaton
  readonly min: number
  readonly max: number
  readonly start: number
  readonly states: number
  readonly empty: boolean
  readonly classes: Classes
  readonly sparse: boolean
  /** The highest count that is told apart. */
  private readonly top: number
  /** `[missing][state]`: the fewest characters to acceptance, of which at least `missing`. Absent where one row does. */
  private readonly shortest: readonly (Float64Array | Uint32Array)[] | undefined

  private constructor(base: TextAutomaton, min: number, max: number, fuel: Fuel) {
    this.base = base
    this.min = min
    this.max = max
    this.classes = base.classes
    this.sparse = base.sparse
    this.top = max === Number.POSITIVE_INFINITY ? min : max
    const most = base.sparse ? MAX_SPARSE_STATES : MAX_STATES
    if (base.states * (this.top + 1) >= most) throw new TextError('the length limit is too high for its pattern')
    if (min > 0 && !isUniform(base)) {
      this.shortest = base instanceof SparseAutomaton ? shortestOfSparse(base, min) : shortestTable(base, min, fuel)
    }
    this.states = base.states * (this.top + 1)
    this.start = base.start === DEAD ? DEAD : this.live(base.start, 0)
    this.empty = this.start === DEAD
  }

  /** `base` cut to `min` to `max` code points. */
  static of(base: TextAutomaton, min: number, max: number, fuel: Fuel): TextAutomaton {
    const inner = base instanceof CountedAutomaton ? base.base : base
    const low = base instanceof CountedAutomaton ? Math.max(min, base.min) : min
    const high = base instanceof CountedAutomaton ? Math.min(max, base.max) : max
    return new CountedAutomaton(low > 0 ? whole(inner) : inner, low, high, fuel)
  }

  /** The same bounds over another base. */
  over(base: TextAutomaton, fuel = new Fuel()): TextAutomaton {
    return CountedAutomaton.of(base, this.min, this.max, fuel)
  }

  accepts(state: number): boolean {
    if (state === DEAD) return false
    const count = this.count(state)
    return count >= this.min && this.base.accepts(this.inner(state))
  }

  step(state: number, cls: number): number {
    if (state === DEAD) return DEAD
    const next = this.base.step(this.inner(state), cls)
    return next === DEAD ? DEAD : this.live(next, this.count(state) + 1)
  }

  each(state: number, visit: (codePoint: number, next: number) => void): void {
    const count = this.count(state) + 1
    this.base.each?.(this.inner(state), (codePoint, next) => {
      const live = this.live(next, count)
      if (live !== DEAD) visit(codePoint, live)
    })
  }

  next(state: number, codePoint: number): number {
    return this.step(state, this.classes.of(codePoint))
  }

  distance(state: number): number {
    return state === DEAD ? Number.POSITIVE_INFINITY : this.need(this.inner(state), this.count(state))
  }

  alive(state: number, low: number, high: number): boolean {
    const { classes } = this
    for (let i = classes.interval(low); i < classes.ids.length && classes.starts[i]! <= high; i++) {
      if (this.step(state, classes.ids[i]!) !== DEAD) return true
    }
    return false
  }

  freedomAll(state: number): number {
    const all = Array.from({ length: this.classes.count - 1 }, (_, i) => i + 1)
    return this.free(state, all, this.base.freedomAll(this.inner(state)))
  }

  /** A lower bound of the exact figure where the base is no single loop: how much is certainly free. */
  private free(state: number, among: readonly number[], ofBase: number): number {
    if (state === DEAD) return -1
    const { base, min, max } = this
    const count = this.count(state)
    // What is free for as long as is missing leads on from there. Less may end in a text that is too short.
    if (ofBase < min - count) return 0
    if (max === Number.POSITIVE_INFINITY) return ofBase
    const left = max - count
    const inner = this.inner(state)
    if (
      ofBase === Number.POSITIVE_INFINITY &&
      base.accepts(inner) &&
      among.every((cls) => base.step(inner, cls) === inner)
    )
      return left
    // After n characters at least max - count - n are left, and no state needs more than this to close.
    return Math.max(0, Math.min(ofBase, left - this.farthest))
  }

  repeats(state: number, cls: number): boolean {
    return this.base.repeats(this.inner(state), cls)
  }

  /** The count alone changes, and the last place of the row must still lead to the end. */
  room(state: number): number {
    return this.max - this.base.distance(this.inner(state)) - this.count(state)
  }

  steady(state: number): boolean {
    return this.count(state) >= this.min
  }

  endsAnywhere(state: number): boolean {
    return state !== DEAD && this.count(state) >= this.min && this.base.endsAnywhere(this.inner(state))
  }

  unlimited(state: number, characters: number): Unlimited | undefined {
    const { base, max, sparse } = this
    if (sparse || state === DEAD || this.count(state) < this.min) return undefined
    const inner = this.inner(state)
    const room = max - this.count(state)
    // Where the text may always end, no more than its length is asked for; else there must be enough for its end.
    if (!base.endsAnywhere(inner) && room - characters < base.farthest) return undefined
    return { text: base, state: inner, room }
  }

  private far = -1

  get farthest(): number {
    if (this.far === -1) {
      let far = this.base.farthest
      if (this.min > 0) for (let s = 1; s < this.base.states; s++) far = Math.max(far, this.most(s) - this.min)
      this.far = far + this.min
    }
    return this.far
  }

  /** The most that any count leaves to come from there, where the end can still be met. */
  private most(inner: number): number {
    let count = 0
    while (count < this.min && this.need(inner, count) === Number.POSITIVE_INFINITY) count++
    const need = this.need(inner, count)
    return need === Number.POSITIVE_INFINITY ? 0 : need
  }

  private count(state: number): number {
    return state % (this.top + 1)
  }

  private inner(state: number): number {
    return (state / (this.top + 1)) | 0
  }

  private live(inner: number, count: number): number {
    if (count > this.max) return DEAD
    const capped = Math.min(count, this.top)
    const need = this.need(inner, capped)
    return need === Number.POSITIVE_INFINITY || capped + need > this.max ? DEAD : inner * (this.top + 1) + capped
  }

  /** The fewest characters that must still come. */
  private need(inner: number, count: number): number {
    const missing = Math.max(0, this.min - count)
    if (missing === 0) return this.base.distance(inner)
    if (this.shortest === undefined) return missing
    const need = this.shortest[missing]![inner]!
    return need === FAR ? Number.POSITIVE_INFINITY : need
  }
}

/** One live state that accepts and loops: every length is as good as any other. */
function isUniform(base: TextAutomaton): boolean {
  return (
    base.states === 2 &&
    base.start !== DEAD &&
    base.accepts(base.start) &&
    base.distance(base.start) === 0 &&
    loopsSomewhere(base)
  )
}

function loopsSomewhere(base: TextAutomaton): boolean {
  for (let cls = 1; cls < base.classes.count; cls++) if (base.step(base.start, cls) === base.start) return true
  return false
}

function shortestTable(base: TextAutomaton, min: number, fuel: Fuel): Float64Array[] {
  const width = base.classes.count
  if (base.states * (min + 1) > MAX_CELLS) throw new TextError('the minimum length is too high for its pattern')
  const rows = [Float64Array.from({ length: base.states }, (_, s) => base.distance(s))]
  for (let missing = 1; missing <= min; missing++) {
    fuel.spend(base.states * width)
    const before = rows[missing - 1]!
    const row = new Float64Array(base.states).fill(Number.POSITIVE_INFINITY)
    for (let s = 1; s < base.states; s++) {
      let best = Number.POSITIVE_INFINITY
      for (let cls = 1; cls < width; cls++) {
        const next = base.step(s, cls)
        if (next !== DEAD && before[next]! < best) best = before[next]!
      }
      row[s] = best + 1
    }
    rows.push(row)
  }
  return rows
}

function shortestOfSparse(base: SparseAutomaton, min: number): Uint32Array[] {
  const { states, moves } = base
  if (states * (min + 1) > MAX_SPARSE_CELLS) throw new TextError('the minimum length is too high for so long a text')
  const rows = [Uint32Array.from({ length: states }, (_, state) => (state === DEAD ? FAR : base.distance(state)))]
  for (let missing = 1; missing <= min; missing++) {
    const before = rows[missing - 1]!
    const row = new Uint32Array(states).fill(FAR)
    for (let state = 1; state < states; state++) {
      for (let i = moves.first[state]!; i < moves.first[state + 1]!; i++) {
        row[state] = Math.min(row[state]!, before[moves.to[i]!]! + 1)
      }
    }
    rows.push(row)
  }
  return rows
}
