import { describe, expect, it } from 'vitest'
import { randomness } from '../testing.test-helper.js'
import { partition } from './classes.js'
import { minimise } from './minimise.js'

const { classes } = partition([
  [0x61, 0x61],
  [0x62, 0x62],
  [0x63, 0x63],
])
const WIDTH = classes.count
const letters = [0x61, 0x62, 0x63, 0x64]

/** Moore's definition: alike after no letter, after one, and so on, until nothing changes. State 0 accepts nothing. */
function kindsOf(table: Uint32Array, accepting: Uint8Array): number[] {
  let kinds = Array.from(accepting, Number)
  for (;;) {
    const names = new Map<string, number>()
    const finer = kinds.map((kind, s) => {
      const name = [kind, ...Array.from(table.subarray(s * WIDTH, (s + 1) * WIDTH), (to) => kinds[to]!)].join()
      if (!names.has(name)) names.set(name, names.size)
      return names.get(name)!
    })
    if (names.size === new Set(kinds).size) return finer
    kinds = finer
  }
}

function reachable(start: number, table: Uint32Array): number[] {
  const seen = new Set([start])
  for (const s of seen) for (let cls = 1; cls < WIDTH; cls++) seen.add(table[s * WIDTH + cls]!)
  return [...seen]
}

describe('the smallest automaton', () => {
  it.each([
    ['without loops', (from: number, to: number) => to > from],
    ['with loops of one state', (from: number, to: number) => to >= from],
    ['with any loops', () => true],
  ])('%s has one state for each kind that is reached, and the same language', (_, allowed) => {
    const random = randomness(3)
    for (let round = 0; round < 150; round++) {
      const states = 2 + Math.floor(random() * 14)
      // All of them are reached: the first leads on, through the others.
      const table = new Uint32Array(states * WIDTH)
      for (let s = 1; s < states; s++) {
        for (let cls = 1; cls < WIDTH; cls++) {
          const to = Math.floor(random() * Math.min(states, s + 4))
          if (to > 0 && allowed(s, to)) table[s * WIDTH + cls] = to
        }
        if (s + 1 < states) table[s * WIDTH + 1 + Math.floor(random() * (WIDTH - 1))] = s + 1
      }
      const met = new Set(reachable(1, table))
      if (Array.from({ length: states - 1 }, (_, i) => i + 1).some((s) => !met.has(s))) continue
      const accepting = Uint8Array.from({ length: states }, (_, s) => (s > 0 && random() < 0.3 ? 1 : 0))
      const kinds = kindsOf(table, accepting)
      const kept = new Set([...met, 0].map((s) => kinds[s]!))
      const before = table.slice()
      const smallest = minimise(1, classes, table, accepting)
      expect(smallest.states).toBe(kept.size)
      for (let walk = 0; walk < 10; walk++) {
        let [at, small] = [1, smallest.start]
        for (let step = 0; step < 12; step++) {
          if (smallest.accepts(small) !== (accepting[at] === 1)) expect.fail(`differs after ${step} letters`)
          const letter = letters[Math.floor(random() * letters.length)]!
          at = before[at * WIDTH + classes.of(letter)]!
          small = smallest.next(small, letter)
        }
      }
    }
  })
})
