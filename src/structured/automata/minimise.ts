/** From a complete table to the smallest automaton of the same language. */

import { type Classes, merged } from './classes.js'
import { Partition } from './partition.js'
import { distances, TableAutomaton } from './table.js'
import { DEAD } from './types.js'

/** `table` has the dead state as row 0. All states must be reachable from `start`. */
export function minimise(start: number, classes: Classes, table: Uint32Array, accepting: Uint8Array): TableAutomaton {
  const width = classes.count
  const reach = distances(table, width, accepting)
  if (reach[start] === Number.POSITIVE_INFINITY)
    return new TableAutomaton(DEAD, classes, new Uint32Array(width), new Uint8Array(1))
  for (let i = 0; i < table.length; i++) if (reach[table[i]!] === Number.POSITIVE_INFINITY) table[i] = DEAD
  for (let s = 0; s < accepting.length; s++) {
    if (reach[s] === Number.POSITIVE_INFINITY) table.fill(DEAD, s * width, (s + 1) * width)
  }
  const blocks = stateBlocks(table, width, accepting, reach)
  return quotient(start, classes, table, accepting, blocks)
}

/** Hopcroft's algorithm in Valmari's form, over live states and the transitions between them. */
function stateBlocks(table: Uint32Array, width: number, accepting: Uint8Array, reach: Float64Array): Uint32Array {
  const states = accepting.length
  let count = 0
  for (let i = 0; i < table.length; i++) if (table[i] !== DEAD) count++
  const tails = new Uint32Array(count)
  const heads = new Uint32Array(count)
  const cords = new Partition(count)
  const incoming = new Uint32Array(states + 1)
  let n = 0
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
  }
  cords.cut(labelEnds)
  for (let s = 1; s <= states; s++) incoming[s]! += incoming[s - 1]!
  const byHead = new Uint32Array(count)
  const cursor = incoming.slice()
  for (let t = 0; t < count; t++) byHead[cursor[heads[t]!]!++] = t

  const blocks = new Partition(states)
  for (let s = 0; s < states; s++) if (reach[s] === Number.POSITIVE_INFINITY) blocks.mark(s)
  blocks.split()
  for (let s = 0; s < states; s++) if (accepting[s] === 1) blocks.mark(s)
  blocks.split()
  let block = 0
  for (let cord = 0; cord < cords.count; cord++) {
    for (let i = cords.first[cord]!; i < cords.past[cord]!; i++) blocks.mark(tails[cords.elements[i]!]!)
    blocks.split()
    for (; block < blocks.count; block++) {
      for (let i = blocks.first[block]!; i < blocks.past[block]!; i++) {
        const state = blocks.elements[i]!
        for (let j = incoming[state]!; j < incoming[state + 1]!; j++) cords.mark(byHead[j]!)
      }
      cords.split()
    }
  }
  return blocks.setOf
}

function quotient(
  start: number,
  classes: Classes,
  table: Uint32Array,
  accepting: Uint8Array,
  blocks: Uint32Array,
): TableAutomaton {
  const width = classes.count
  const { columns, narrowed } = mergeColumns(classes, table, accepting.length)
  const number = new Map<number, number>([[blocks[DEAD]!, DEAD]])
  const representatives = [DEAD]
  const rename = (state: number) => {
    let id = number.get(blocks[state]!)
    if (id === undefined) {
      id = representatives.push(state) - 1
      number.set(blocks[state]!, id)
    }
    return id
  }
  const first = rename(start)
  const rows: number[] = new Array(columns.length).fill(DEAD)
  for (let s = 1; s < representatives.length; s++) {
    for (const column of columns) rows.push(rename(table[representatives[s]! * width + column]!))
  }
  const ends = Uint8Array.from(representatives, (state) => accepting[state]!)
  return new TableAutomaton(first, narrowed, Uint32Array.from(rows), ends)
}

/** Classes that no state tells apart become one. */
function mergeColumns(classes: Classes, table: Uint32Array, states: number): { columns: number[]; narrowed: Classes } {
  const width = classes.count
  // Column groups refined row by row: a pair (group so far, entry) names the finer group.
  let groups = new Uint32Array(width)
  let count = 1
  for (let s = 1; s < states && count < width - 1; s++) {
    const seen = new Map<number, number>()
    const finer = new Uint32Array(width)
    for (let cls = 1; cls < width; cls++) {
      const key = groups[cls]! * states + table[s * width + cls]!
      let id = seen.get(key)
      if (id === undefined) {
        id = seen.size
        seen.set(key, id)
      }
      finer[cls] = id
    }
    groups = finer
    count = seen.size
  }
  if (count === width - 1) return { columns: Array.from({ length: width }, (_, i) => i), narrowed: classes }
  const columns = [0]
  const group = new Map<number, number>()
  const ids = new Uint16Array(width)
  for (let cls = 1; cls < width; cls++) {
    let id = group.get(groups[cls]!)
    if (id === undefined) {
      id = columns.push(cls) - 1
      group.set(groups[cls]!, id)
    }
    ids[cls] = id
  }
  const narrowed = merged(
    [...classes.starts],
    Array.from(classes.ids, (cls) => ids[cls]!),
    columns.length,
  )
  return { columns, narrowed }
}
