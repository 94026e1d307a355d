/** Set operations on languages: products of automata, explored from the start. */

import { atOnce, type Slices } from '../../platform/index.js'
import { Fuel } from '../fuel.js'
import { EVERY } from './charset.js'
import { partition, refine } from './classes.js'
import { Complement } from './complement.js'
import { CountedAutomaton } from './counted.js'
import { minimiseInSlices } from './minimise.js'
import { isSparse, type Sparse, whole, wholeInSlices } from './stretches.js'
import { TableAutomaton } from './table.js'
import { DEAD, type TextAutomaton } from './types.js'
import { textsWithin } from './within.js'

/** Steps of one operation when the caller brings no fuel. */
const SET_FUEL = 2_000_000
/** Up to so many pairs of states a plain array finds them. */
const DENSE_PAIRS = 200_000

/** Every text. */
export const ANY_TEXT: TableAutomaton = (() => {
  const { classes } = partition([EVERY])
  return new TableAutomaton(1, classes, Uint32Array.of(0, 0, 0, 1), Uint8Array.of(0, 1))
})()

/** No text. */
export const NO_TEXT: TableAutomaton = new TableAutomaton(DEAD, ANY_TEXT.classes, new Uint32Array(2), new Uint8Array(1))

export function intersect(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  return atOnce(intersectInSlices(a, b, fuel))
}

/** With a pause every few milliseconds. */
export function* intersectInSlices(a: TextAutomaton, b: TextAutomaton, fuel: Fuel): Slices<TextAutomaton> {
  if (a === b || b === ANY_TEXT) return a
  if (a === ANY_TEXT) return b
  if (isSparse(a)) return yield* ofSparse(a, b, fuel)
  if (isSparse(b)) return yield* ofSparse(b, a, fuel)
  if (a instanceof Complement) return yield* differenceInSlices(b, a.of, fuel)
  if (b instanceof Complement) return yield* differenceInSlices(a, b.of, fuel)
  if (a.empty || b.empty) return NO_TEXT
  // Counters stay counters: only the bases are multiplied.
  if (a instanceof CountedAutomaton) return yield* counted(a, intersectInSlices(a.base, b, fuel), fuel)
  if (b instanceof CountedAutomaton) return yield* counted(b, intersectInSlices(a, b.base, fuel), fuel)
  return yield* remembered(intersections, a, b, fuel, () => product(a, b, (x, y) => x && y, fuel))
}

function* ofSparse(a: Sparse, b: TextAutomaton, fuel: Fuel): Slices<TextAutomaton> {
  if (b instanceof CountedAutomaton) return yield* counted(b, ofSparse(a, b.base, fuel), fuel)
  if (b === ANY_TEXT || a.empty) return a
  const denied = b instanceof Complement
  return yield* textsWithin(yield* wholeInSlices(a), yield* wholeInSlices(denied ? b.of : b), !denied, fuel)
}

/** With the bounds of another: a lower one is known of all states. */
function* counted(bounds: CountedAutomaton, making: Slices<TextAutomaton>, fuel: Fuel): Slices<TextAutomaton> {
  const base = yield* making
  return bounds.over(bounds.min > 0 ? yield* wholeInSlices(base) : base, fuel)
}

export function union(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  if (a === b || b.empty) return a
  if (a.empty) return b
  return atOnce(product(a, b, (x, y) => x || y, fuel))
}

/** What `a` accepts and `b` does not, with a pause every few milliseconds. */
export function* differenceInSlices(a: TextAutomaton, b: TextAutomaton, fuel: Fuel): Slices<TextAutomaton> {
  if (b instanceof Complement) return yield* intersectInSlices(a, b.of, fuel)
  if (a.empty || b.empty) return a
  if (isSparse(a)) return yield* textsWithin(yield* wholeInSlices(a), yield* wholeInSlices(b), false, fuel)
  // What is left out of all lengths is left out of these. Multiplied, every length would be a state.
  if (a instanceof CountedAutomaton && !(b instanceof CountedAutomaton)) {
    const base = yield* differenceInSlices(a.base, b, fuel)
    return base === a.base ? a : a.over(base, fuel)
  }
  if (yield* areDisjoint(a, b, fuel)) return a
  return yield* remembered(differences, a, b, fuel, () => product(a, b, (x, y) => x && !y, fuel))
}

export function complement(a: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  if (a instanceof Complement) return a.of
  return new Complement(a, () => differenceInSlices(ANY_TEXT, a, fuel))
}

/** Whether no text is accepted by both. */
function* areDisjoint(a: TextAutomaton, b: TextAutomaton, fuel: Fuel): Slices<boolean> {
  const [baseA, baseB] = [a, b].map((one) => (one instanceof CountedAutomaton ? one.base : one)) as [
    TextAutomaton,
    TextAutomaton,
  ]
  // What already differs without its lengths need not be compared at every length.
  if ((baseA !== a || baseB !== b) && !(yield* meet(baseA, baseB, fuel))) return true
  return !(yield* meet(a, b, fuel))
}

/**
 * Results live as long as both operands: formats and cached patterns meet again and again. A result that is found costs
 * as much fuel as making it did, so that what a schema costs does not depend on those before it.
 */
type Memory = WeakMap<TextAutomaton, WeakMap<TextAutomaton, { made: TextAutomaton; cost: number }>>
const intersections: Memory = new WeakMap()
const differences: Memory = new WeakMap()

function* remembered(
  memory: Memory,
  a: TextAutomaton,
  b: TextAutomaton,
  fuel: Fuel,
  make: () => Slices<TextAutomaton>,
): Slices<TextAutomaton> {
  const results = memory.get(a) ?? new WeakMap<TextAutomaton, { made: TextAutomaton; cost: number }>()
  const known = results.get(b)
  if (known !== undefined) {
    fuel.spend(known.cost)
    return known.made
  }
  const before = fuel.left
  const made = yield* make()
  results.set(b, { made, cost: before - fuel.left })
  memory.set(a, results)
  return made
}

type Combine = (a: boolean, b: boolean) => boolean

function* product(one: TextAutomaton, other: TextAutomaton, accepts: Combine, fuel: Fuel): Slices<TableAutomaton> {
  const [a, b] = [whole(one), whole(other)]
  const { classes, left, right } = refine(a.classes, b.classes)
  const width = left.length
  const pairs = new Pairs(a, b)
  // A pair whose dead half decides is dead as a whole.
  const needsLeft = !accepts(false, true)
  const needsRight = !accepts(true, false)
  let rows = new Uint32Array(64 * width)
  pairs.id(a.start, b.start)
  for (let s = 1; s < pairs.lefts.length; s++) {
    // A cell takes a fraction of the time of other steps.
    fuel.spend(1 + (width >> 2))
    if (fuel.tires()) yield
    const x = pairs.lefts[s]!
    const y = pairs.rights[s]!
    const row = s * width
    if (row === rows.length) rows = enlarged(rows)
    for (let cls = 1; cls < width; cls++) {
      const nextX = a.step(x, left[cls]!)
      const nextY = b.step(y, right[cls]!)
      const dead = (nextX === DEAD && (needsLeft || nextY === DEAD)) || (nextY === DEAD && needsRight)
      if (!dead) rows[row + cls] = pairs.id(nextX, nextY)
    }
  }
  const accepting = new Uint8Array(pairs.lefts.length)
  for (let s = 1; s < accepting.length; s++) {
    if (accepts(a.accepts(pairs.lefts[s]!), b.accepts(pairs.rights[s]!))) accepting[s] = 1
  }
  return yield* minimiseInSlices(1, classes, rows.slice(0, accepting.length * width), accepting)
}

function enlarged(rows: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(2 * rows.length)
  more.set(rows)
  return more
}

/** Pairs of states, numbered as they are met; number 0 is the dead pair. */
class Pairs {
  readonly lefts = [DEAD]
  readonly rights = [DEAD]
  private readonly width: number
  private readonly dense: Uint32Array | undefined
  private readonly sparse = new Map<number, number>()

  constructor(a: TextAutomaton, b: TextAutomaton) {
    this.width = b.states
    if (a.states * b.states <= DENSE_PAIRS) this.dense = new Uint32Array(a.states * b.states)
  }

  id(x: number, y: number): number {
    const key = x * this.width + y
    const known = this.dense === undefined ? this.sparse.get(key) : this.dense[key]
    if (known) return known
    const id = this.lefts.push(x) - 1
    this.rights.push(y)
    if (this.dense === undefined) this.sparse.set(key, id)
    else this.dense[key] = id
    return id
  }
}

/** Whether the two accept, together, some text. */
function* meet(one: TextAutomaton, other: TextAutomaton, fuel: Fuel): Slices<boolean> {
  const [a, b] = [whole(one), whole(other)]
  if (a.empty) return false
  const { left, right } = refine(a.classes, b.classes)
  const seen = new Set<number>([a.start * b.states + b.start])
  const stack = [a.start, b.start]
  while (stack.length > 0) {
    const y = stack.pop()!
    const x = stack.pop()!
    if (a.accepts(x) && b.accepts(y)) return true
    fuel.spend(left.length)
    if (fuel.tires()) yield
    for (let cls = 1; cls < left.length; cls++) {
      const nextX = a.step(x, left[cls]!)
      const nextY = b.step(y, right[cls]!)
      if (nextX === DEAD || nextY === DEAD) continue
      const key = nextX * b.states + nextY
      if (seen.has(key)) continue
      seen.add(key)
      stack.push(nextX, nextY)
    }
  }
  return false
}
