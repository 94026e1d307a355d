import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import type { TokenConstraint } from '../../contract/engine.js'
import { atOnce } from '../../platform/index.js'
import { KIND } from '../automata/kinds.js'
import type { StringPlace } from '../automaton/characters.js'
import { IN_STRING } from '../automaton/frame.js'
import { FrameTable } from '../automaton/frame-table.js'
import { Machine } from '../automaton/machine.js'
import { Fuel } from '../fuel.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Values } from '../schema/values.js'
import { compile } from '../structured.js'
import { allowed, smallWords, tried, vocabularyOf } from '../testing.test-helper.js'
import { COMPACT } from '../values/format.js'
import { encoded } from '../values/text-length.js'
import { advance, startPlace, type TextPlace } from '../walk.js'
import { Learned } from './learned.js'

/**
 * By its definition a mask holds the tokens whose bytes lead somewhere, one by one, from where the budget suffices. What a
 * place in a string says of itself only saves looking: here it is held to what the bytes say.
 */

const PIECES = [
  ...[
    '[a-z]*',
    '[a-f0-9]+',
    '.',
    '(..)*',
    'foo',
    'é',
    '[^/]+',
    '\\p{L}*',
    'x?',
    '(a|bc)*',
    '.{2,30}',
    '[^@]*@',
    '["a]*',
  ],
  ...['[\\s\\S]*', '[\\s\\S]{1,9}', '(?=.*\\d)', '(?!.*ab)', '\\\\?', '[aé]{2,}', '[^"]*'],
]
const pattern = fc
  .tuple(fc.boolean(), fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([begins, pieces, ends]) => `${begins ? '^' : ''}${pieces.join('')}${ends ? '$' : ''}`)
const limits = fc.record(
  { minLength: fc.integer({ min: 0, max: 6 }), maxLength: fc.integer({ min: 6, max: 40 }) },
  { requiredKeys: [] },
)
const text = fc
  .tuple(fc.option(pattern, { nil: undefined, freq: 4 }), limits)
  .map(([pattern, limits]) => ({ type: 'string', ...(pattern && { pattern }), ...limits }))
const keys = fc
  .tuple(
    fc.array(pattern, { maxLength: 2 }),
    fc.option(limits),
    fc.boolean(),
    fc.boolean(),
    fc.integer({ max: 3, min: 0 }),
  )
  .map(([patterns, names, closed, owes, least]) => ({
    type: 'object',
    properties: { a: { type: 'null' }, foo: {} },
    ...(patterns.length > 0 && {
      patternProperties: Object.fromEntries(patterns.map((key, i) => [key, [{ type: 'integer' }, { const: 'b' }][i]!])),
    }),
    ...(names && { propertyNames: names }),
    ...(closed && { additionalProperties: false }),
    ...(owes && { required: ['late'] }),
    minProperties: least,
  }))
const schemas = fc.oneof({ weight: 3, arbitrary: text }, { weight: 2, arbitrary: keys })

/** Undefined where nothing satisfies it, or it cannot be compiled. */
function made<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

function machineOf(schema: object): Machine {
  const values = new Values(new Context(new Document(schema), new Fuel(), COMPACT, undefined))
  return new Machine(new FrameTable(COMPACT).value(atOnce(values.root())))
}

const next = (machine: Machine, place: TextPlace, byte: number): TextPlace | undefined => {
  const to = advance(machine, place, byte)
  return to.state.dead ? undefined : to
}

const BYTES = ['"', '"', 'a', 'b', 'f', 'o', 'z', '1', '/', '@', ' ', '\\', 'n', ':', '{', ',', '}', 'é', '語'].flatMap(
  (text) => [...new TextEncoder().encode(text)],
)

/** Places in strings on a way of these choices. */
function placesOn(machine: Machine, choices: readonly number[]): StringPlace[] {
  const found = new Set<StringPlace>()
  let place = startPlace(machine)
  for (const choice of choices) {
    for (const { frame } of place.state.cells)
      if (((frame?.traits ?? 0) & IN_STRING) !== 0) found.add(frame as StringPlace)
    const ways = BYTES.flatMap((byte) => next(machine, place, byte) ?? [])
    if (ways.length === 0) break
    place = ways[choice % ways.length]!
  }
  return [...found]
}

const CHARACTERS = [...'abcdfoxz019 -_./@:ABZé語😀ü\n"\\\u0001']

/** Where a character leads; undefined: nowhere. */
function after(place: StringPlace, character: string): StringPlace | undefined {
  let at: StringPlace | null | undefined = place
  const bytes = encoded(character.codePointAt(0)!)
  for (let i = 0; i < bytes.length && at; i++) at = at.move(bytes.charCodeAt(i)) as StringPlace | null
  return at ?? undefined
}

const kindOf = (character: string): number => KIND[encoded(character.codePointAt(0)!).charCodeAt(0)]!

describe('what a place in a string says of itself', () => {
  it('is what its bytes say: what may come, how much of it, and how far the end then is', () => {
    let [passed, freed, same, shorter] = [0, 0, 0, 0]
    const choices = fc.array(fc.nat(1000), { minLength: 12, maxLength: 30 })
    fc.assert(
      fc.property(schemas, choices, fc.array(fc.nat(1000), { minLength: 8, maxLength: 40 }), (schema, way, then) => {
        const machine = made(() => machineOf(schema))
        if (machine === undefined) return
        for (const place of placesOn(machine, way)) {
          const { leaving, room, end, free } = place.class
          const passing = CHARACTERS.filter((character) => (kindOf(character) & leaving) === 0)
          expect(place.class.needed !== undefined).toBe(leaving === 0 && end !== 'unknown')
          // Within a character nothing passes.
          if (place !== place.base) expect([passing, free]).toEqual([[], -1])
          const go = (among: readonly string[], many: number, visit: (at: StringPlace) => void) => {
            let at = place
            for (const choice of then.slice(0, among.length === 0 ? 0 : Math.max(0, Math.min(many, then.length)))) {
              const to = after(at, among[choice % among.length]!)
              expect(to).toBeDefined()
              at = to!
              visit(at)
            }
          }
          go(CHARACTERS, free, ({ length }) => {
            freed++
            expect(length).toBeLessThanOrEqual(place.base.longest)
          })
          go(passing, room, ({ length, base }) => {
            passed++
            expect(length).toBeLessThanOrEqual(place.base.longest)
            if (end === 'same') expect([length, same++ >= 0 && base.spell()]).toEqual([place.length, place.spell()])
            if (end === 'shorter') expect([length <= place.length, shorter++ >= 0]).toEqual([true, true])
          })
        }
      }),
      { numRuns: runs(600, 4) },
    )
    // None of this was empty.
    for (const count of [passed, freed, same, shorter]) expect(count).toBeGreaterThan(20)
  })
})

describe('a mask in a string', () => {
  const small = vocabularyOf(smallWords())

  it('holds the tokens of its definition, each tried by itself, whatever the budget', () => {
    const mask = new Uint32Array(small.words)
    let masks = 0
    fc.assert(
      fc.property(schemas, fc.array(fc.nat(1000), { maxLength: 14 }), fc.nat(9), (schema, way, spare) => {
        const constraint = made(() => compile(schema))?.start(small)
        for (const choice of constraint === undefined ? [] : way) {
          if (constraint!.done) break
          // None at first, in half of them.
          if (spare < 5 || masks % 3 > 0) expect(constraint!.closing(constraint!.shortest + spare)).toBe(true)
          constraint!.mask(mask)
          const may = allowed(mask, small.size)
          expect(may).toEqual(tried(constraint!, small))
          masks++
          constraint!.accept(may[choice % may.length]!)
        }
      }),
      // Two characters are free as the pattern is, but an @ that comes first makes the text too short for ever.
      { numRuns: runs(480, 4), examples: [[{ type: 'string', pattern: '^[^@]*@.$', minLength: 3 }, [0, 0], 6]] },
    )
    expect(masks).toBeGreaterThan(100)
  })

  it('takes work once, where the budget restricts nothing', () => {
    const mask = new Uint32Array(small.words)
    const { inStrings } = Learned.of(small)
    const work = (constraint: TokenConstraint) => {
      const before = inStrings.followed
      constraint.mask(mask)
      return inStrings.followed - before
    }
    let all = 0
    fc.assert(
      fc.property(schemas, fc.array(fc.nat(1000), { maxLength: 10 }), fc.boolean(), (schema, way, bounded) => {
        const constraint = made(() => compile(schema))?.start(small)
        if (bounded && constraint) expect(constraint.closing(constraint.shortest + 5000)).toBe(true)
        for (const choice of constraint === undefined ? [] : way) {
          if (constraint!.done) break
          all += work(constraint!)
          expect(work(constraint!)).toBe(0)
          const may = allowed(mask, small.size)
          constraint!.accept(may[choice % may.length]!)
        }
      }),
      // From its last place no text of its least length leads to the end.
      { numRuns: runs(200, 4), examples: [[{ type: 'string', pattern: '^x?$', minLength: 1 }, [0, 0], true]] },
    )
    expect(all).toBeGreaterThan(0)
  })

  it('holds those that end inside a character also the first time that a place may end anywhere', () => {
    const vocabulary = vocabularyOf(smallWords())
    const constraint = compile({ type: 'string', pattern: '^[aé]{2,}$', maxLength: 27 }).start(vocabulary)
    const mask = new Uint32Array(vocabulary.words)
    for (const text of ['"', 'a', 'é']) {
      constraint.closing(constraint.shortest + 4)
      constraint.mask(mask)
      const bytes = [...new TextEncoder().encode(text)]
      for (const byte of bytes) expect(constraint.accept(byte)).toBe(true)
    }
    constraint.closing(constraint.shortest + 4)
    constraint.mask(mask)
    expect(allowed(mask, vocabulary.size)).toEqual(tried(constraint, vocabulary))
  })
})
