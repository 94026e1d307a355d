import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { FULL } from '../../test/support/full.js'
import { compile, fromSource, type Grammar, GrammarCache } from './structured.js'
import { randomDocument, randomness, realSchemas, smallWords, vocabularyOf } from './testing.test-helper.js'

const KEYS = { type: 'object', additionalProperties: { type: 'number' } }
const vocabulary = vocabularyOf(smallWords())

function use(grammar: Grammar, documents: number, seed = 1): void {
  const random = randomness(seed)
  for (let i = 0; i < documents; i++) {
    const constraint = grammar.start(vocabulary)
    randomDocument(constraint, vocabulary, constraint.shortest + 60, random)
  }
}

it('keeps no more bytes than it may, and what was asked for last', () => {
  const each = compile({ ...KEYS, title: '0' }).bytes
  const cache = new GrammarCache({ maxBytes: 10 * each })
  for (let i = 0; i < 40; i++) {
    cache.set(`${i}`, compile({ ...KEYS, title: `${i}` }))
    expect(cache.get('0')).toBeDefined()
    expect(cache.bytes).toBeLessThanOrEqual(10 * each)
  }
  expect(cache.size).toBeGreaterThan(5)
  expect([cache.get('1'), cache.get('39')].map((one) => one !== undefined)).toEqual([false, true])
})

it('lets go what has grown while it was used', () => {
  const cache = new GrammarCache({ maxBytes: 200_000 })
  const [used, other] = [compile(KEYS), compile({ type: 'string' })]
  cache.set('used', used)
  const before = cache.bytes
  use(used, 40)
  expect(cache.bytes).toBeGreaterThan(before + 200_000)
  cache.set('other', other)
  expect([cache.get('used'), cache.get('other')]).toEqual([undefined, other])
  // What is too large by itself is not kept either.
  cache.set('used', used)
  expect([cache.size, cache.bytes <= 200_000]).toEqual([0, true])
})

it('finds schemas that are parts of what is compiled', () => {
  const cache = new GrammarCache({ maxBytes: 2 ** 20 })
  const part = fromSource({ schema: KEYS }, { cache })
  const whole = fromSource({ sequence: ['x', { schema: KEYS }] }, { cache })
  expect(fromSource({ sequence: ['x', { schema: KEYS }] }, { cache })).toBe(whole)
  expect(cache.get(JSON.stringify({ schema: KEYS }))).toBe(part)
  expect([cache.size, whole.accepts('x{"a":1}'), whole.accepts('x{"a":"1"}')]).toEqual([2, true, false])
})

it('of one grammar is bounded, however many documents are written with it', () => {
  const grammar = compile(KEYS)
  use(grammar, 150)
  const some = grammar.bytes
  use(grammar, 900, 2)
  expect(grammar.bytes).toBeLessThan(Math.max(4 * some, 2 ** 25))
})

const rows = realSchemas()
/** Schemas enough that what else is made meanwhile is little beside them. */
const MANY = FULL ? 400 : 160
it.skipIf(rows === undefined)('counts about what the heap holds (where real schemas are)', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  // What a promise or a weak reference held goes a turn later, and memory of buffers later still.
  const heap = async () => {
    for (let before = Number.POSITIVE_INFINITY; ; ) {
      gc()
      await new Promise((resolve) => setImmediate(resolve))
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      const used = heapUsed + arrayBuffers
      if (used > before * 0.99) return used
      before = used
    }
  }
  const grammars = (from: number): Grammar[] =>
    rows!.slice(from, from + MANY).flatMap(({ schema }) => {
      try {
        return [compile(schema)]
      } catch {
        return []
      }
    })
  const all = (list: readonly Grammar[]) => list.reduce((sum, { bytes }) => sum + bytes, 0)
  // What is made once in a process is there from now on.
  for (const grammar of grammars(0)) use(grammar, 2)
  const empty = await heap()
  const kept = grammars(MANY)
  const compiled = await heap()
  for (const grammar of kept) use(grammar, 3)
  const walked = await heap()
  expect(all(kept)).toBeGreaterThan((walked - empty) / 3)
  expect(all(kept)).toBeLessThan((walked - empty) * 3)
  expect(walked).toBeGreaterThan(compiled)
})
