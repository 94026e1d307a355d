/** The automaton as a table. */

import type { Classes } from './classes.js'
import { DEAD, type TextAutomaton } from './types.js'

/** By state: 0 where no text ends, else 1, or its kind where texts are of several. */
export type Accepting = Uint8Array | Uint32Array

export class TableAutomaton implements TextAutomaton {
  readonly start: number
  readonly states: number
  readonly empty: boolean
  readonly classes: Classes
  readonly sparse = false
  /** `state * classes.count + class` -> state. Row 0 is the dead state's. */
  readonly table: Uint32Array
  private readonly accepting: Accepting
  private distances: Float64Array | undefined
  private any: Float64Array | undefined
  /** From each state the fewest steps to one where no text may end. */
  private others: Float64Array | undefined

  constructor(start: number, classes: Classes, table: Uint32Array, accepting: Accepting) {
    this.start = start
    this.classes = classes
    this.table = table
    this.accepting = accepting
    this.states = accepting.length
    this.empty = start === DEAD
  }

  accepts(state: number): boolean {
    return this.accepting[state] !== 0
  }

  /** The kind of a text that ends here; 0: none does. */
  kind(state: number): number {
    return this.accepting[state]!
  }

  step(state: number, cls: number): number {
    return this.table[state * this.classes.count + cls]!
  }

  next(state: number, codePoint: number): number {
    return this.table[state * this.classes.count + this.classes.of(codePoint)]!
  }

  distance(state: number): number {
    this.distances ??= distances(this.table, this.classes.count, this.accepting)
    return this.distances[state]!
  }

  alive(state: number, low: number, high: number): boolean {
    const { classes } = this
    for (let i = classes.interval(low); i < classes.ids.length && classes.starts[i]! <= high; i++) {
      if (this.step(state, classes.ids[i]!) !== DEAD) return true
    }
    return false
  }

  freedomAll(state: number): number {
    this.any ??= freedoms(
      this.table,
      this.classes.count,
      this.states,
      Array.from({ length: this.classes.count - 1 }, (_, i) => i + 1),
    )
    return this.any[state]!
  }

  repeats(state: number, cls: number): boolean {
    return this.step(state, cls) === state
  }

  room(): number {
    return Number.POSITIVE_INFINITY
  }

  steady(): boolean {
    return true
  }

  endsAnywhere(state: number): boolean {
    if (state === DEAD) return false
    this.others ??= distances(
      this.table,
      this.classes.count,
      this.accepting.map((kind, at) => (kind === 0 && at !== DEAD ? 1 : 0)),
    )
    return this.others[state] === Number.POSITIVE_INFINITY
  }

  unlimited(): undefined {
    return undefined
  }

  get farthest(): number {
    let farthest = 0
    for (let s = 1; s < this.states; s++) {
      const distance = this.distance(s)
      // From some no end is left: no way leads there.
      if (distance > farthest && distance < Number.POSITIVE_INFINITY) farthest = distance
    }
    return farthest
  }
}

/** For each state the fewest steps to acceptance, backwards from the accepting ones. */
export function distances(table: Uint32Array, width: number, accepting: Accepting): Float64Array {
  const states = accepting.length
  const { first, tails } = reverse(table, width, states)
  const result = new Float64Array(states).fill(Number.POSITIVE_INFINITY)
  const queue = new Uint32Array(states)
  let length = 0
  for (let s = 0; s < states; s++) {
    if (accepting[s] === 0) continue
    result[s] = 0
    queue[length++] = s
  }
  for (let i = 0; i < length; i++) {
    const head = queue[i]!
    for (let j = first[head]!; j < first[head + 1]!; j++) {
      const tail = tails[j]!
      if (result[tail] !== Number.POSITIVE_INFINITY) continue
      result[tail] = result[head]! + 1
      queue[length++] = tail
    }
  }
  return result
}

/** The transitions by their heads: `tails[first[head] .. first[head + 1]]`. */
function reverse(table: Uint32Array, width: number, states: number): { first: Uint32Array; tails: Uint32Array } {
  const first = new Uint32Array(states + 2)
  for (let i = 0; i < table.length; i++) if (table[i] !== DEAD) first[table[i]! + 2]!++
  for (let s = 1; s < first.length; s++) first[s]! += first[s - 1]!
  const tails = new Uint32Array(first[states + 1]!)
  for (let i = 0; i < table.length; i++) if (table[i] !== DEAD) tails[first[table[i]! + 1]!++] = (i / width) | 0
  return { first: first.subarray(0, states + 1), tails }
}

/** For each state how many characters of the given classes may follow, whichever they are. */
function freedoms(table: Uint32Array, width: number, states: number, among: readonly number[]): Float64Array {
  const result = new Float64Array(states).fill(Number.POSITIVE_INFINITY)
  result[DEAD] = -1
  const { first, tails } = reverse(table, width, states)
  let layer: number[] = []
  for (let s = 1; s < states; s++) {
    if (among.some((cls) => table[s * width + cls] === DEAD)) {
      result[s] = 0
      layer.push(s)
    }
  }
  const wanted = new Uint8Array(width)
  for (const cls of among) wanted[cls] = 1
  const leads = (tail: number, head: number) => {
    for (let cls = 1; cls < width; cls++) if (wanted[cls] === 1 && table[tail * width + cls] === head) return true
    return false
  }
  for (let depth = 1; layer.length > 0; depth++) {
    const before: number[] = []
    for (const head of layer) {
      for (let j = first[head]!; j < first[head + 1]!; j++) {
        const tail = tails[j]!
        if (result[tail] !== Number.POSITIVE_INFINITY || !leads(tail, head)) continue
        result[tail] = depth
        before.push(tail)
      }
    }
    layer = before
  }
  return result
}
