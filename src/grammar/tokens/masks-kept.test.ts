import { afterEach, describe, expect, it, vi } from 'vitest'
import { atOnce } from '../../platform/index.js'
import { FrameTable } from '../automaton/frame-table.js'
import { Machine } from '../automaton/machine.js'
import { Fuel } from '../fuel.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Quotes } from '../schema/quotes.js'
import { Values } from '../schema/values.js'
import { fromSource, Vocabulary } from '../structured.js'
import { allowed, smallWords, vocabularyOf } from '../testing.test-helper.js'
import { COMPACT } from '../values/format.js'
import { advance, startPlace, type TextPlace } from '../walk.js'
import { Learned } from './learned.js'
import { Masks } from './masks.js'
import { StateWalk } from './state-walk.js'

afterEach(() => void vi.restoreAllMocks())

const utf8 = new TextEncoder()
/** Of which nothing is known yet. */
const vocabulary = () => vocabularyOf(smallWords())
function masksOf(schema: object, own = vocabulary(), texts?: readonly string[]): Masks {
  const quotes = texts && atOnce(Quotes.compiled({ texts }))
  const values = new Values(new Context(new Document(schema), new Fuel(), COMPACT, undefined, {}, quotes))
  return new Masks(new Machine(new FrameTable(COMPACT).value(atOnce(values.root()))), own)
}
function placeAfter({ machine }: Masks, text: string): TextPlace {
  let place = startPlace(machine)
  for (const byte of utf8.encode(text)) place = advance(machine, place, byte)
  expect(place.state.dead).toBe(false)
  return place
}
function fill(masks: Masks, text: string, budget = Number.POSITIVE_INFINITY): number[] {
  // Whatever stood there.
  const mask = new Uint32Array(masks.vocabulary.words).fill(0xffffffff)
  atOnce(masks.fillInSlices(mask, placeAfter(masks, text), budget))
  return allowed(mask, masks.vocabulary.size)
}
/** Walks over states: of what stands outside of strings. */
function walks(work: () => unknown): number {
  const started = [vi.spyOn(StateWalk.prototype, 'start'), vi.spyOn(StateWalk.prototype, 'enter')]
  work()
  const count = started.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  vi.restoreAllMocks()
  return count
}

describe('what is learned of a mask', () => {
  const keyed = {
    type: 'object',
    properties: { ab: { type: 'string' }, n: {} },
    additionalProperties: { type: 'null' },
  }

  it.each([
    ['between values', keyed, ''],
    ['in a key', keyed, '{"a'],
    ['behind the end of any text', keyed, '{"ab":"x'],
    ['behind the end of a text of its own', { enum: ['ab', 'ac'] }, '"a'],
  ])('is kept: %s', (_, schema, text) => {
    const masks = masksOf(schema)
    const place = placeAfter(masks, text)
    expect(walks(() => fill(masks, text))).toBeGreaterThan(0)
    const first = fill(masks, text)
    expect(walks(() => fill(masks, text))).toBe(0)
    expect(fill(masks, text)).toEqual(first)
    // A budget that suffices in any case asks for nothing else.
    expect(walks(() => fill(masks, text, place.state.length + 100))).toBe(0)
    // One that may not is looked at each time.
    const narrow = place.state.length - 1
    expect(walks(() => fill(masks, text, narrow))).toBe(walks(() => fill(masks, text, narrow)))
  })

  it.each([{}, { maxLength: 40 }])('of what stands behind one text holds behind any other: %j', (limit) => {
    const masks = masksOf({ type: 'array', items: { type: 'string', ...limit } })
    fill(masks, '["a')
    expect(walks(() => fill(masks, '["語 and more'))).toBe(0)
    expect(walks(() => fill(masks, '["a","b'))).toBeLessThan(2)
  })

  it.each<[string, object, string, boolean]>([
    ['of a text that others may have serves them too', { type: 'string', pattern: '^[a-f0-9]+$' }, '"a', true],
    ['of keys is of one grammar', { type: 'object', patternProperties: { '^[a-f0-9]+$': {} } }, '{"a', false],
    ['of a quote is of one grammar', { type: 'string', 'x-quote': true }, '"the', false],
  ])('%s', (_, schema, text, shared) => {
    const own = vocabulary()
    const masks = masksOf(schema, own, ['the name of the foo'])
    const { strings } = Learned.of(own)
    const before = strings.bytes
    fill(masks, text)
    expect(strings.bytes > before).toBe(shared)
  })

  it('of a key that goes on as one that has come is no walk through the vocabulary', () => {
    const masks = masksOf({ type: 'object', additionalProperties: { type: 'null' } })
    const { inStrings } = Learned.of(masks.vocabulary)
    const { followed } = inStrings
    for (const text of ['{"ab":null,"', '{"ab":null,"a', '{"ab":null,"é":null,"']) fill(masks, text)
    expect(inStrings.followed).toBe(followed)
  })

  const text = { type: 'string', maxLength: 40 }
  const named = { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false }
  it.each<[string, object, string, readonly string[]]>([
    ['a text', text, '["z', ['["ab","a', '["ab","ab', '["abcd","x","ab', '["é","é']],
    ['an object', named, '[{"a":"z', ['[{"a":"xyz"},{"a":"x', '[{"a":"xyz"},{"a":"xy', '[{"a":"é"},{"a":"b"},{"a":"']],
  ])('of an item that begins as one that has come is no walk over the vocabulary: %s', (_, items, before, texts) => {
    const masks = masksOf({ type: 'array', uniqueItems: true, items })
    fill(masks, before)
    for (const text of texts) {
      const place = placeAfter(masks, text)
      const mask = new Uint32Array(masks.vocabulary.words)
      const step = vi.spyOn(Machine.prototype, 'step')
      atOnce(masks.fillInSlices(mask, place, Number.POSITIVE_INFINITY))
      // Of the few tokens with which it stays like that one.
      expect(step.mock.calls.length).toBeLessThan(masks.vocabulary.size / 8)
      step.mockRestore()
    }
  })

  it('counts with all that it takes, whatever it is', () => {
    const masks = masksOf(keyed)
    const grows = (text: string, budget?: number) => {
      const before = masks.bytes
      fill(masks, text, budget)
      expect([text, masks.bytes > before]).toEqual([text, true])
    }
    grows('')
    grows('{"ab":"x')
    grows('{"a')
    grows('{"n":{"', 4)
    const { bytes } = masks
    fill(masks, '')
    expect(masks.bytes).toBe(bytes)
    const costs = masks.costs.bytes
    masks.costs.of(placeAfter(masks, '{"n":[[{"ab":[').state)
    expect(masks.costs.bytes).toBeGreaterThan(costs)
    expect(masks.bytes - bytes).toBe(masks.costs.bytes - costs)
  })

  it('counts with each token that must be tried each time', () => {
    const { tokens, ...rest } = smallWords()
    const more = Array.from({ length: 60 }, (_, i) => utf8.encode(`":null,"${i}`))
    const [few, many] = [tokens, [...tokens, ...more]].map((tokens) => {
      const masks = masksOf(keyed, vocabularyOf({ tokens, ...rest }))
      fill(masks, '{"a')
      return masks.bytes
    })
    expect(many).toBeGreaterThanOrEqual(few! + 8 * more.length)
  })

  it('of the texts of keys counts too', () => {
    const masks = masksOf({ type: 'object', patternProperties: { '^[a-f0-9]+$': {}, '^[a-z]+ [A-Z]+$': {} } })
    for (const text of ['{"', '{"a', '{"a0', '{"ab', '{"ab ', '{"ab A']) {
      const before = masks.bytes
      fill(masks, text)
      expect([text, masks.bytes >= before]).toEqual([text, true])
    }
    expect(masks.bytes).toBeGreaterThan(masks.costs.bytes)
  })
})

describe('a mask', () => {
  const others = { type: 'object', properties: { ab: { enum: ['x'] }, n: {} }, additionalProperties: { type: 'null' } }
  const once = (items: object) => ({ type: 'array', uniqueItems: true, items })
  const places: readonly (readonly [object, readonly string[]])[] = [
    [
      others,
      ['', '{', '{"', '{"a', '{"ab', '{"ab":"x","', '{"ab":"x","a', '{"ab":"x","ab', '{"b":null,"', '{"aab":null,"a'],
    ],
    [
      { type: 'object', patternProperties: { '^a': { type: 'null' }, b$: {} }, additionalProperties: { enum: [12] } },
      ['{"', '{"a', '{"ab":null,"a', '{"c":12,"', '{"b":true,"', '{"aa":null,"a', '{"bb":1,"b'],
    ],
    [
      { type: 'object', propertyNames: { pattern: '^[ab]+$' }, minProperties: 2 },
      ['{"', '{"a', '{"ab":1,"a', '{"ab":1,"', '{"b":1,"'],
    ],
    [
      { type: 'object', required: ['ab', 'foo'], additionalProperties: { type: 'null' } },
      ['{"', '{"a', '{"f', '{"ab":null,"', '{"ab":null,"a', '{"ab":null,"f', '{"ab":null,"foo":null}'],
    ],
    [once({ type: 'string', maxLength: 3 }), ['["', '["ab","a', '["b","', '["ab","ab', '["b","a","', '["é","']],
    [once({ type: 'integer' }), ['[', '[1,1', '[12,1', '[1,', '[-1,-', '[0,']],
    [once({ enum: ['a', 'aa', 1, 12, true] }), ['[', '["a",', '["a","a', '["aa","a', '[12,1']],
    [
      once({ ...others, properties: { ab: { enum: ['x'] }, n: { enum: [1, 2] } }, additionalProperties: false }),
      ['[{"ab":"x"},{"ab":"x"', '[{"n":1},{"', '[{},{'],
    ],
    [{ enum: ['ab', 'ac', 'name'] }, ['', '"', '"a', '"ab', '"ab"']],
    [{ enum: [1, 12] }, ['', '1', '12']],
    [{ type: 'array', items: { type: 'string' }, minItems: 3 }, ['["a', '["a","b', '["a","b","c', '["a","b","c","']],
    [{ type: 'string', pattern: '^[ab"]*$', maxLength: 4 }, ['"', '"a', '"aa', '"aaaa']],
  ]

  it.each(places)(
    'holds what each token gives that is tried by itself, whatever is left to be spent: %j',
    (schema, texts) => {
      const own = vocabulary()
      const masks = masksOf(schema, own)
      for (const text of texts) {
        const place = placeAfter(masks, text)
        const { accepting } = place.state
        const shortest = masks.costs.of(place.state)
        for (const budget of [Number.POSITIVE_INFINITY, ...[0, 1, 2, 3, 5, 9].map((more) => shortest + more)]) {
          const tried = Array.from({ length: own.size }, (_, token) => token).filter((token) => {
            if (own.eos.includes(token)) return accepting
            const bytes = own.bytes(token)
            if (bytes.length === 0) return false
            let next = place
            for (const byte of bytes) next = next.state.dead ? next : advance(masks.machine, next, byte)
            return !next.state.dead && masks.costs.of(next.state) <= budget
          })
          expect([text, budget, fill(masks, text, budget)]).toEqual([text, budget, tried])
        }
      }
    },
  )

  it('holds the first token of a vocabulary as any other', () => {
    const { tokens, ...rest } = smallWords()
    const masks = masksOf({ type: 'null' }, vocabularyOf({ ...rest, tokens: [utf8.encode('nul'), ...tokens.slice(1)] }))
    expect(fill(masks, '')).toContain(0)
  })

  it('is empty where no text leads', () => {
    const masks = masksOf({})
    const mask = new Uint32Array(masks.vocabulary.words).fill(0xffffffff)
    const dead = { ...startPlace(masks.machine), state: masks.machine.dead }
    atOnce(masks.fillInSlices(mask, dead, Number.POSITIVE_INFINITY))
    expect(allowed(mask, masks.vocabulary.size)).toEqual([])
  })

  it('is refused of a model without a token that is asked for', () => {
    const grammar = fromSource({ sequence: [{ token: '<call>' }, { schema: {} }] })
    expect(() => grammar.start(vocabulary())).toThrow("the model has no token '<call>'.")
    const { tokens, eos } = smallWords()
    const named = new Vocabulary([...tokens, undefined], { eos, named: { '<call>': tokens.length } })
    const constraint = grammar.start(named)
    const mask = new Uint32Array(named.words)
    constraint.mask(mask)
    expect(allowed(mask, named.size)).toEqual([tokens.length])
    expect(constraint.accept(tokens.length)).toBe(true)
    expect(constraint.accept(tokens.length)).toBe(false)
  })
})

describe('what is learned of strings', () => {
  const texts: readonly (readonly [object, readonly string[]])[] = [
    [{ type: 'string', pattern: '^[a-f0-9]+$' }, ['"', '"a', '"a0']],
    [{ type: 'string', pattern: '^(?:ab|cd)*é$', maxLength: 9 }, ['"', '"a', '"ab']],
    [{ type: 'string', pattern: '^[a-z]+ [A-Z]+$' }, ['"', '"a', '"a A']],
    [{ type: 'string', pattern: '^[^/]+$', maxLength: 40 }, ['"', '"a']],
    [{ type: 'string', minLength: 3, maxLength: 5 }, ['"', '"ab', '"abc']],
  ]
  it.each(texts)('counts with all that it takes, and is not taken twice: %j', (schema, ways) => {
    const own = vocabulary()
    const masks = masksOf(schema, own)
    const { strings, inStrings } = Learned.of(own)
    for (const text of ways) {
      for (const budget of [1, 2, 3, 5, 8, Number.POSITIVE_INFINITY]) {
        const before = strings.bytes
        const first = fill(masks, text, budget)
        expect(strings.bytes).toBeGreaterThanOrEqual(before)
        fill(masks, text, budget)
        const { bytes } = strings
        expect(fill(masks, text, budget)).toEqual(first)
        expect(strings.bytes).toBe(bytes)
      }
      const { followed } = inStrings
      fill(masks, text)
      expect(inStrings.followed).toBe(followed)
    }
    expect(strings.bytes).toBeGreaterThan(0)
  })
})
