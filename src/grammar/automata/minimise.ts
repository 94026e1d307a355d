/** From a complete table to the smallest automaton of the same language. */

import { atOnce, type Slices } from '../../platform/index.js'
import { blocksFromEnds, SLICE } from './acyclic.js'
import { type Classes, merged } from './classes.js'
import { Partition } from './partition.js'
import { type Accepting, distances, TableAutomaton } from './table.js'
import { DEAD } from './types.js'

/**
 * `table` has the dead state as row 0. All states must be reachable from `start`. Where texts are of several kinds,
 * `accepting` has the kind of those that end in a state, from 1 on.
 */
export function minimise(start: number, classes: Classes, table: Uint32Array, accepting: Accepting): TableAutomaton {
  return atOnce(minimiseInSlices(start, classes, table, accepting))
}

/** The same, with a pause every few milliseconds. */
export function* minimiseInSlices(
  start: number,
  classes: Classes,
  table: Uint32Array,
  accepting: Accepting,
): Slices<TableAutomaton> {
  const width = classes.count
  const quick = yield* blocksFromEnds(start, width, table, accepting)
  if (quick !== undefined) return yield* quotient(start, classes, table, accepting, quick)
  if (table.length > SLICE) yield
  const reach = distances(table, width, accepting)
  for (let i = 0; i < table.length; i++) if (reach[table[i]!] === Number.POSITIVE_INFINITY) table[i] = DEAD
  for (let s = 0; s < accepting.length; s++) {
    if (reach[s] === Number.POSITIVE_INFINITY) table.fill(DEAD, s * width, (s + 1) * width)
  }
  if (table.length > SLICE) yield
  const blocks = yield* stateBlocks(table, width, accepting, reach)
  return yield* quotient(start, classes, table, accepting, blocks)
}

/** Hopcroft's algorithm in Valmari's form, over live states and the transitions between them. */
function* stateBlocks(
  table: Uint32Array,
  width: number,
  accepting: Accepting,
  reach: Float64Array,
): Slices<Uint32Array> {
  const states = accepting.length
  let count = 0
  for (let i = 0; i < table.length; i++) if (table[i] !== DEAD) count++
  const tails = new Uint32Array(count)
  const heads = new Uint32Array(count)
  const cords = new Partition(count)
  const incoming = new Uint32Array(states + 1)
  let n = 0
  let looked = 0
  // By label, so that the cords start out as one set per label.
  const labelEnds: number[] = []
  for (let cls = 1; cls < width; cls++) {
    for (let s = 1; s < states; s++) {
      const head = table[s * width + cls]!
      if (head === DEAD) continue
      tails[n] = s
      heads[n++] = head
      incoming[head + 1]!++
    }
    labelEnds.push(n)
    looked += states
    if (looked > SLICE) {
      yield
      looked = 0
    }
  }
  cords.cut(labelEnds)
  for (let s = 1; s <= states; s++) incoming[s]! += incoming[s - 1]!
  const byHead = new Uint32Array(count)
  const cursor = incoming.slice()
  for (let t = 0; t < count; t++) byHead[cursor[heads[t]!]!++] = t

  if (count > SLICE) yield
  const blocks = new Partition(states)
  for (let s = 0; s < states; s++) if (reach[s] === Number.POSITIVE_INFINITY) blocks.mark(s)
  blocks.split()
  for (const kind of new Set(accepting)) {
    for (let s = 0; s < states; s++) if (accepting[s] === kind) blocks.mark(s)
    blocks.split()
  }
  let block = 0
  for (let cord = 0; cord < cords.count; cord++) {
    looked += cords.past[cord]! - cords.first[cord]!
    for (let i = cords.first[cord]!; i < cords.past[cord]!; i++) blocks.mark(tails[cords.elements[i]!]!)
    blocks.split()
    for (; block < blocks.count; block++) {
      for (let i = blocks.first[block]!; i < blocks.past[block]!; i++) {
        const state = blocks.elements[i]!
        looked += incoming[state + 1]! - incoming[state]!
        for (let j = incoming[state]!; j < incoming[state + 1]!; j++) cords.mark(byHead[j]!)
      }
      cords.split()
    }
    if (looked > SLICE) {
      yield
      looked = 0
    }
  }
  return blocks.setOf
}

function* quotient(
  start: number,
  classes: Classes,
  table: Uint32Array,
  accepting: Accepting,
  blocks: Uint32Array,
): Slices<TableAutomaton> {
  const width = classes.count
  const numbers = new Uint32Array(accepting.length)
  const representatives = [DEAD]
  const rename = (state: number) => {
    const block = blocks[state]!
    if (block === blocks[DEAD]) return DEAD
    if (numbers[block] === 0) numbers[block] = representatives.push(state) - 1
    return numbers[block]!
  }
  const first = rename(start)
  const rows: number[] = new Array(width).fill(DEAD)
  for (let s = 1, looked = 0; s < representatives.length; s++, looked += width) {
    if (looked > SLICE) {
      yield
      looked = 0
    }
    const row = representatives[s]! * width
    for (let i = row; i < row + width; i++) rows.push(rename(table[i]!))
  }
  const ends = new Uint32Array(representatives.length)
  for (let s = 1; s < ends.length; s++) ends[s] = accepting[representatives[s]!]!
  if (rows.length > SLICE) yield
  return narrow(first, classes, rows, ends)
}

/** Classes that no state tells apart become one. */
function narrow(start: number, classes: Classes, rows: readonly number[], accepting: Accepting): TableAutomaton {
  const width = classes.count
  const hashes = new Int32Array(width)
  for (let i = 0; i < rows.length; i += width) {
    for (let cls = 1; cls < width; cls++) hashes[cls] = Math.imul(hashes[cls]! ^ rows[i + cls]!, 0x9e3779b1)
  }
  const columns = [0]
  const ids = new Uint16Array(width)
  for (let cls = 1; cls < width; cls++) {
    let id = 1
    while (id < columns.length && !sameColumns(rows, width, hashes, columns[id]!, cls)) id++
    if (id === columns.length) columns.push(cls)
    ids[cls] = id
  }
  if (columns.length === width) return new TableAutomaton(start, classes, new Uint32Array(rows), accepting)
  const narrowed = merged(
    [...classes.starts],
    Array.from(classes.ids, (cls) => ids[cls]!),
    columns.length,
  )
  const table = new Uint32Array(accepting.length * columns.length)
  for (let s = 0, i = 0; s < accepting.length; s++) {
    for (const column of columns) table[i++] = rows[s * width + column]!
  }
  return new TableAutomaton(start, narrowed, table, accepting)
}

function sameColumns(rows: readonly number[], width: number, hashes: Int32Array, a: number, b: number): boolean {
  if (hashes[a] !== hashes[b]) return false
  for (let i = 0; i < rows.length; i += width) if (rows[i + a] !== rows[i + b]) return false
  return true
}
