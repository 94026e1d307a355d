import { getOrMake } from '../../platform/index.js'
import type { Classes } from '../automata/classes.js'
import { SparseAutomaton } from '../automata/sparse.js'
import { TableAutomaton } from '../automata/table.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { CheapestFirst } from './cheapest-first.js'

/** Cells that the table of an automaton without one may have. */
const MOST_CELLS = 40_000

/** A character of each class: one of those that take the fewest bytes, and how many those are. */
export interface Sizes {
  readonly samples: Uint32Array
  readonly bytes: Uint8Array
  /** Whether all take the same. */
  readonly even: boolean
}

export function sizesOf(classes: Classes, bytesOf: (codePoint: number) => string): Sizes {
  const samples = Uint32Array.from({ length: classes.count }, (_, cls) => classes.sample(cls))
  const bytes = Uint8Array.from(samples, (codePoint) => bytesOf(codePoint).length)
  const offer = (codePoint: number, cls: number) => {
    const size = bytesOf(codePoint).length
    if (size >= bytes[cls]!) return
    samples[cls] = codePoint
    bytes[cls] = size
  }
  for (let codePoint = 0; codePoint < 0x80; codePoint++) offer(codePoint, classes.of(codePoint))
  // Beyond ASCII a character takes no fewer bytes than those before it, and two at least.
  classes.starts.forEach((start, i) => {
    const cls = classes.ids[i]!
    if (classes.end(i) >= 0x80 && bytes[cls]! > 2) offer(Math.max(start, 0x80), cls)
  })
  return { samples, bytes, even: bytes.every((size, cls) => cls === 0 || size === bytes[1]) }
}

interface Table {
  /** `place * width + class` -> place; place 0 and class 0 lead nowhere. */
  readonly table: Uint32Array
  readonly places: number
  readonly stateOf: (place: number) => number
  readonly placeOf: (state: number) => number
}

/** By state the cost of the cheapest way to an end. */
export interface Ends {
  readonly from: (state: number) => number
  /** From all states, `Infinity` where there is none; undefined: not known. */
  readonly all: Float64Array | undefined
  /** The most of them; absent where only `all` tells. */
  readonly most?: number
}

/**
 * By state the cost of the cheapest way to an end: its bytes, and what ending there costs. Undefined where the places are
 * too many to be looked at one by one.
 */
export function cheapestEnds(
  text: TextAutomaton,
  { bytes }: Sizes,
  end: (state: number) => number,
  fuel?: Fuel,
): Ends | undefined {
  if (text instanceof SparseAutomaton) {
    const all = text.cheapest(bytes, end)
    return { from: (state) => all[state] ?? Infinity, all }
  }
  const found = tableOf(text)
  if (found === undefined) return undefined
  const { table, places, stateOf, placeOf } = found
  fuel?.spend(table.length >> 4)
  const width = text.classes.count
  const least = new Float64Array(places).fill(Infinity)
  const { first, steps } = backwards(table, places)
  const waiting = new CheapestFirst<number>()
  for (let place = 1; place < places; place++) {
    const cost = end(stateOf(place))
    least[place] = cost
    waiting.add(place, cost)
  }
  for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
    const { item: place, cost } = next
    if (least[place] !== cost) continue
    for (let j = first[place]!; j < first[place + 1]!; j++) {
      const before = (steps[j]! / width) | 0
      const through = cost + bytes[steps[j]! % width]!
      if (through >= least[before]!) continue
      least[before] = through
      waiting.add(before, through)
    }
  }
  return { from: (state) => least[placeOf(state)] ?? Infinity, all: least }
}

const explored = new WeakMap<TextAutomaton, Table | null>()

function tableOf(text: TextAutomaton): Table | undefined {
  if (text instanceof TableAutomaton) {
    const same = (state: number) => state
    return { table: text.table, places: text.states, stateOf: same, placeOf: same }
  }
  return getOrMake(explored, text, () => explore(text) ?? null) ?? undefined
}

function explore(text: TextAutomaton): Table | undefined {
  const width = text.classes.count
  const places = new Map<number, number>([[DEAD, 0]])
  const states = [DEAD]
  const table: number[] = new Array(width).fill(0)
  const placeOf = (state: number) => getOrMake(places, state, () => states.push(state) - 1)
  placeOf(text.start)
  for (let place = 1; place < states.length; place++) {
    if (table.length > MOST_CELLS) return undefined
    table.push(0)
    for (let cls = 1; cls < width; cls++) table.push(placeOf(text.step(states[place]!, cls)))
  }
  return {
    table: Uint32Array.from(table),
    places: states.length,
    stateOf: (place) => states[place]!,
    placeOf: (state) => places.get(state) ?? 0,
  }
}

/** The steps that lead to each place: `steps[first[place] .. first[place + 1]]`. */
function backwards(table: Uint32Array, places: number): { first: Uint32Array; steps: Uint32Array } {
  const first = new Uint32Array(places + 1)
  for (let i = 0; i < table.length; i++) first[table[i]! + 1]!++
  for (let place = 1; place <= places; place++) first[place]! += first[place - 1]!
  const steps = new Uint32Array(table.length)
  const filled = first.slice()
  for (let i = 0; i < table.length; i++) steps[filled[table[i]!]!++] = i
  return { first, steps }
}
