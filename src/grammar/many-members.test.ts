import { expect, it, vi } from 'vitest'
import { UsedKeys } from './automaton/used-keys.js'
import { compile, Vocabulary } from './structured.js'
import { pick, randomness, smallWords } from './testing.test-helper.js'
import { CheapestFirst } from './values/cheapest-first.js'

/** A document of so many members whose names are the model's own, in hardly more tokens than it takes at the least. */
function written(members: number): { text: string; places: number } {
  const words = smallWords()
  const vocabulary = new Vocabulary(words.tokens, { eos: words.eos })
  const schema = { type: 'object', additionalProperties: { type: 'boolean' }, minProperties: members }
  const constraint = compile(schema).start(vocabulary)
  const random = randomness(members)
  const mask = new Uint32Array(vocabulary.words)
  const looked = vi.spyOn(CheapestFirst.prototype, 'add')
  const pieces: Uint8Array[] = []
  try {
    for (let left = constraint.shortest + 20; !constraint.done; left--) {
      expect(constraint.closing(left)).toBe(true)
      constraint.mask(mask)
      const token = pick(mask, vocabulary.size, random)
      constraint.accept(token)
      if (!words.eos.includes(token)) pieces.push(words.tokens[token]!)
    }
    return { text: Buffer.concat(pieces).toString(), places: looked.mock.calls.length }
  } finally {
    looked.mockRestore()
  }
}

it('that an object has many members is no reason to look for each of their names again at each of them', () => {
  const [few, many] = [written(40), written(80)]
  for (const [{ text }, members] of [
    [few, 40],
    [many, 80],
  ] as const) {
    expect(Object.keys(JSON.parse(text) as object).length).toBeGreaterThanOrEqual(members)
  }
  // Twice as many members, each of which may look through as many names: four times, and what chance adds.
  expect(many.places).toBeLessThan(8 * few.places)
  expect(many.places).toBeLessThan(80 * 80 * 64)
})

it('nor is it one to add all letters wherever one may come', () => {
  const looked = vi.spyOn(CheapestFirst.prototype, 'add')
  compile({ type: 'object', minProperties: 290 })
  const { length } = looked.mock.calls
  looked.mockRestore()
  expect(length).toBeGreaterThan(290)
  expect(length).toBeLessThan(290 * 20)
})

it('that thousands of names are declared is no reason to look for as many others', () => {
  const vocabulary = new Vocabulary([Uint8Array.of(0x7b), Uint8Array.of(0x22), Uint8Array.of(0x61)], { eos: [] })
  const names = Array.from({ length: 3000 }, (_, i) => [`p${i}`, { type: 'null' }])
  const constraint = compile({ type: 'object', properties: Object.fromEntries(names) }).start(vocabulary)
  const looked = vi.spyOn(CheapestFirst.prototype, 'add')
  const mask = new Uint32Array(1)
  for (const token of [0, 1, 2]) {
    constraint.mask(mask)
    expect(constraint.accept(token)).toBe(true)
  }
  const { length } = looked.mock.calls
  looked.mockRestore()
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThan(names.length / 2)
})

it('nor is it one to plan behind each of the names that may come first', () => {
  const words = smallWords()
  const vocabulary = new Vocabulary(words.tokens, { eos: words.eos })
  const taken = vi.spyOn(UsedKeys.prototype, 'with')
  const schema = { type: 'object', additionalProperties: { type: 'boolean' }, minProperties: 290 }
  const constraint = compile(schema).start(vocabulary)
  constraint.forced()
  constraint.mask(new Uint32Array(vocabulary.words))
  const { length } = taken.mock.calls
  taken.mockRestore()
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThan(290 / 4)
})

it('that many undeclared names have come is no reason to sort them, or to make a set of them, for each that comes', () => {
  const grammar = compile({ type: 'object', additionalProperties: { type: 'boolean' } })
  const looked = (members: number) => {
    let names = 0
    const { add } = Set.prototype
    const { sort } = Array.prototype
    vi.spyOn(Set.prototype, 'add').mockImplementation(function (this: Set<unknown>, value) {
      names++
      return add.call(this, value)
    })
    vi.spyOn(Array.prototype, 'sort').mockImplementation(function (this: unknown[], order) {
      names += this.length
      return sort.call(this, order)
    })
    const each = Array.from({ length: members }, (_, i) => [`name ${i}`, true])
    try {
      expect(grammar.accepts(JSON.stringify(Object.fromEntries(each)))).toBe(true)
    } finally {
      vi.restoreAllMocks()
    }
    return names
  }
  looked(100)
  expect(looked(400)).toBeLessThan(3 * looked(200))
})
