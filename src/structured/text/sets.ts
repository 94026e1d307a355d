/** Set operations on languages: products of automata, explored from the start. */

import { Fuel } from '../fuel.js'
import { EVERY } from './charset.js'
import { partition, refine } from './classes.js'
import { CountedAutomaton } from './counted.js'
import { minimise } from './minimise.js'
import { TableAutomaton } from './table.js'
import { DEAD, type TextAutomaton } from './types.js'

/** Steps of one operation when the caller brings no fuel. */
const SET_FUEL = 2_000_000

/** Every text. */
export const ANY_TEXT: TableAutomaton = (() => {
  const { classes } = partition([EVERY])
  return new TableAutomaton(1, classes, Uint32Array.of(0, 0, 0, 1), Uint8Array.of(0, 1))
})()

/** No text. */
export const NO_TEXT: TableAutomaton = new TableAutomaton(DEAD, ANY_TEXT.classes, new Uint32Array(2), new Uint8Array(1))

export function intersect(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  if (a === b || b === ANY_TEXT) return a
  if (a === ANY_TEXT) return b
  if (a.empty || b.empty) return NO_TEXT
  // Counters stay counters: only the bases are multiplied.
  if (a instanceof CountedAutomaton) return a.over(intersect(a.base, b, fuel), fuel)
  if (b instanceof CountedAutomaton) return b.over(intersect(a, b.base, fuel), fuel)
  return product(a, b, (x, y) => x && y, fuel)
}

export function union(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  if (a === b || b.empty) return a
  if (a.empty) return b
  return product(a, b, (x, y) => x || y, fuel)
}

/** What `a` accepts and `b` does not. */
export function difference(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  if (a.empty || b.empty) return a
  return product(a, b, (x, y) => x && !y, fuel)
}

export function complement(a: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  return difference(ANY_TEXT, a, fuel)
}

/** Whether `b` accepts all that `a` accepts. */
export function isSubset(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): boolean {
  return !meets(a, b, (x, y) => x && !y, fuel)
}

/** Whether no text is accepted by both. */
export function disjoint(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): boolean {
  return !meets(a, b, (x, y) => x && y, fuel)
}

type Combine = (a: boolean, b: boolean) => boolean

interface Exploration {
  readonly lefts: number[]
  readonly rights: number[]
  readonly rows: number[]
  readonly width: number
}

function product(a: TextAutomaton, b: TextAutomaton, accepts: Combine, fuel: Fuel): TableAutomaton {
  const { classes, left, right } = refine(a.classes, b.classes)
  const { lefts, rights, rows } = explore(a, b, left, right, accepts, fuel)
  const accepting = Uint8Array.from(lefts, (x, i) => (accepts(a.accepts(x), b.accepts(rights[i]!)) ? 1 : 0))
  accepting[0] = 0
  return minimise(1, classes, Uint32Array.from(rows), accepting)
}

/** All pairs that the two reach together; pair 0 is the dead one. */
function explore(
  a: TextAutomaton,
  b: TextAutomaton,
  left: Uint16Array,
  right: Uint16Array,
  accepts: Combine,
  fuel: Fuel,
): Exploration {
  const width = left.length
  const lefts = [DEAD, a.start]
  const rights = [DEAD, b.start]
  const rows: number[] = new Array(width).fill(0)
  const ids = new Map<number, number>([[a.start * b.states + b.start, 1]])
  // A pair whose dead half decides is dead as a whole.
  const needsLeft = !accepts(false, true)
  const needsRight = !accepts(true, false)
  for (let s = 1; s < lefts.length; s++) {
    fuel.spend(width)
    rows.push(0)
    for (let cls = 1; cls < width; cls++) {
      const x = a.step(lefts[s]!, left[cls]!)
      const y = b.step(rights[s]!, right[cls]!)
      if ((x === DEAD && (needsLeft || y === DEAD)) || (y === DEAD && needsRight)) {
        rows.push(0)
        continue
      }
      const key = x * b.states + y
      let id = ids.get(key)
      if (id === undefined) {
        id = lefts.push(x) - 1
        rights.push(y)
        ids.set(key, id)
      }
      rows.push(id)
    }
  }
  return { lefts, rights, rows, width }
}

/** Whether the two reach, together, a pair that `found` asks for. */
function meets(a: TextAutomaton, b: TextAutomaton, found: Combine, fuel: Fuel): boolean {
  if (a.empty) return false
  const { left, right } = refine(a.classes, b.classes)
  const seen = new Set<number>([a.start * b.states + b.start])
  const stack = [a.start, b.start]
  const needsRight = !found(true, false)
  while (stack.length > 0) {
    const y = stack.pop()!
    const x = stack.pop()!
    if (found(a.accepts(x), b.accepts(y))) return true
    fuel.spend(left.length)
    for (let cls = 1; cls < left.length; cls++) {
      const nextX = a.step(x, left[cls]!)
      const nextY = b.step(y, right[cls]!)
      if (nextX === DEAD || (needsRight && nextY === DEAD)) continue
      const key = nextX * b.states + nextY
      if (seen.has(key)) continue
      seen.add(key)
      stack.push(nextX, nextY)
    }
  }
  return false
}

/** A text of `a` followed by a text of `b`. */
export function concat(a: TextAutomaton, b: TextAutomaton, fuel = new Fuel(SET_FUEL)): TextAutomaton {
  const { classes, left, right } = refine(a.classes, b.classes)
  const width = classes.count
  const ids = new Map<string, number>()
  const sets: { head: number; tails: readonly number[] }[] = [{ head: DEAD, tails: [] }]
  const stateOf = (head: number, tails: Set<number>) => {
    if (a.accepts(head)) tails.add(b.start)
    tails.delete(DEAD)
    if (head === DEAD && tails.size === 0) return DEAD
    const list = [...tails].sort((x, y) => x - y)
    const key = `${head}:${list.join()}`
    let id = ids.get(key)
    if (id === undefined) {
      id = sets.push({ head, tails: list }) - 1
      ids.set(key, id)
    }
    return id
  }
  const start = stateOf(a.start, new Set())
  const rows: number[] = new Array(width).fill(0)
  for (let s = 1; s < sets.length; s++) {
    const { head, tails } = sets[s]!
    fuel.spend(width * (tails.length + 1))
    rows.push(0)
    for (let cls = 1; cls < width; cls++) {
      rows.push(stateOf(a.step(head, left[cls]!), new Set(tails.map((tail) => b.step(tail, right[cls]!)))))
    }
  }
  const accepting = Uint8Array.from(sets, ({ tails }) => (tails.some((tail) => b.accepts(tail)) ? 1 : 0))
  return minimise(start, classes, Uint32Array.from(rows), accepting)
}
