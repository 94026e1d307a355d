import { describe, expect, it, vi } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import { compile, fromSource, type Vocabulary } from '../structured.js'
import { allowed, pick, randomness, realWords, smallWords, tried, vocabularyOf } from '../testing.test-helper.js'
import { Learned } from './learned.js'
import type { LeadingTo } from './text-walk.js'

const object = (rest: object) => ({ type: 'object', ...rest })
const pattern = (source: string, rest: object = {}) => ({ type: 'string', pattern: source, ...rest })

/** Each comes to a shortcut of its own: kinds of characters that pass, limits of length, keys that are taken. */
const SCHEMAS: Readonly<Record<string, unknown>> = {
  'any text': { type: 'string' },
  'a short text': { type: 'string', maxLength: 3 },
  'a text of some length': { type: 'string', minLength: 4, maxLength: 40 },
  'small letters': pattern('^[a-z]*$'),
  'kinds cut in two': pattern('^[a-ch-j0-4é-ü]*$'),
  'no slash': pattern('^[^/]+$'),
  'letters of any script': pattern('^\\p{L}+$'),
  'pairs of characters': pattern('^(..)*$'),
  'a row of characters': pattern('^.{2,9}$'),
  'a name': pattern('^[A-Z][a-zA-Z0-9_-]*$', { maxLength: 12 }),
  'a pattern with both limits': pattern('^x?[a-z]*9$', { minLength: 3, maxLength: 8 }),
  'letters, many of them': pattern('^[a-zé ]+$', { minLength: 12, maxLength: 40 }),
  'any keys by a pattern': object({ patternProperties: { '^.*$': { type: 'number' } }, additionalProperties: false }),
  'few keys by a pattern': object({
    properties: { b: { type: 'null' } },
    patternProperties: { '^[a-c]{1,2}$': { type: 'integer' } },
    additionalProperties: false,
    minProperties: 3,
  }),
  'somewhere a word': pattern('foo'),
  'a quote leads on': pattern('^[^"]*("x{4})?$', { maxLength: 60 }),
  'somewhere a word, within a limit': pattern('foo', { maxLength: 50 }),
  'an ending': pattern('\\.(js|json)$'),
  'an address': { type: 'string', format: 'email' },
  'a link': { type: 'string', format: 'uri' },
  'one of two': { anyOf: [pattern('^[a-z]*$'), { type: 'string', minLength: 5 }] },
  'any keys': object({ properties: { name: {}, na: {} }, minProperties: 3 }),
  'keys of one character': object({ propertyNames: { maxLength: 1 }, properties: { a: {} }, minProperties: 1 }),
  'keys of some length': object({ propertyNames: { minLength: 2, maxLength: 5 }, properties: { name: {} } }),
  'keys by pattern': object({
    properties: { aa: { type: 'null' } },
    patternProperties: { '^[a-f]+$': { type: 'integer' }, '^x-': {} },
    additionalProperties: false,
    minProperties: 2,
  }),
  'keys with a word in them': object({
    patternProperties: { x_: { type: 'integer' }, '': {} },
    required: ['x_', 'na'],
  }),
  'keys with words in them that exclude each other': object({
    patternProperties: { foo: { type: 'integer' }, ba: { type: 'null' }, '[A-Z]': { type: 'string' } },
    additionalProperties: false,
    properties: { food: {} },
  }),
  'a text without a word': { type: 'string', not: { pattern: 'ab|xyz' } },
  'a text without a sign, or one with a word': { anyOf: [pattern('^[^@]*$'), pattern('@x')] },
  'a key still owed': object({ required: ['late'], maxProperties: 2 }),
}

const small = vocabularyOf(smallWords())
const gpt2 = vocabularyOf(realWords('gpt2'))
/** Large ones share the schemas where not all is asked for. */
const half = (turn: number) => Object.entries(SCHEMAS).filter((_, i) => FULL || i % 2 === turn)
const vocabularies: [string, () => Vocabulary, number, number, [string, unknown][]][] = [
  ['a small one', () => small, 8, 1, Object.entries(SCHEMAS)],
  ['GPT-2', () => gpt2, FULL ? 2 : 1, 0.2, Object.entries(SCHEMAS)],
  ['Llama 3', () => vocabularyOf(realWords('llama3_2')), 1, 0.06, half(0)],
  ['Qwen 2.5', () => vocabularyOf(realWords('qwen2_5')), 1, 0.06, half(1)],
]

describe('masks equal every token tried by itself', () => {
  for (const [vocabularyName, load, walks, share, schemas] of vocabularies) {
    it(`with ${vocabularyName}`, () => {
      const vocabulary = load()
      const random = randomness(17)
      const mask = new Uint32Array(vocabulary.words)
      for (const [name, schema] of schemas) {
        const grammar = compile(schema)
        for (let walk = 0; walk < walks * 2; walk++) {
          const constraint = grammar.start(vocabulary)
          // With no budget, with one that soon restricts, with one that restricts at once.
          const spare = [Infinity, 2 + Math.floor(random() * 12), 0][walk % 3]!
          for (let left = constraint.shortest + spare, i = 0; left > 0 && i < 16 && !constraint.done; left--, i++) {
            if (left < Infinity) expect(constraint.closing(left)).toBe(true)
            constraint.mask(mask)
            if (random() < share)
              expect(allowed(mask, vocabulary.size), `${name}, ${i}`).toEqual(tried(constraint, vocabulary))
            const token = pick(mask, vocabulary.size, random)
            expect(constraint.accept(token), `${name}, ${i}`).toBe(true)
          }
        }
      }
    })
  }
})

describe('what a mask costs inside keys that patterns tell apart', () => {
  const values = [{ type: 'integer' }, { type: 'string' }, { type: 'boolean' }, { type: 'null' }, { enum: ['a'] }, {}]
  const written = [1, 'text', true, null, 'a', 1.5]
  const words = ['foo', 'bar', 'baz', 'qux', 'name', 'kind']
  const several = (count: number, rest: object) => ({
    schema: object({
      patternProperties: Object.fromEntries(words.slice(0, count).map((word, i) => [word, values[i]])),
      ...rest,
    }),
    document: Object.fromEntries(words.slice(0, count).map((word, i) => [`my ${word} is here`, written[i]])),
  })
  const cases = {
    'three words': several(3, { additionalProperties: false }),
    'six words': several(6, { additionalProperties: false }),
    'six words, other keys too': several(6, {}),
    'kinds of characters': {
      schema: object({ patternProperties: { '[0-9]': values[0], '[A-Z]': values[1], '[_-]': values[2] } }),
      document: { abc1: 1, Title: 'x', snake_case: true },
    },
  }
  const nodes = gpt2.tries.reduce((sum, trie) => sum + trie.bytes.length, 0)
  /** Along a document, byte by byte. */
  const follow = ({ schema, document }: { schema: object; document: object }, spare: number) => {
    const constraint = compile(schema).start(gpt2)
    const mask = new Uint32Array(gpt2.words)
    const { inStrings } = Learned.of(gpt2)
    const text = new TextEncoder().encode(JSON.stringify(document))
    for (const [i, byte] of text.entries()) {
      const before = inStrings.followed
      constraint.closing(text.length - i + spare)
      constraint.mask(mask)
      expect(inStrings.followed - before).toBeLessThanOrEqual(nodes / 2)
      const token = gpt2.tries.map((trie) => trie.token(trie.child(0, byte))).find((found) => found >= 0)!
      expect(constraint.accept(token)).toBe(true)
    }
  }
  // A budget of 12 tokens beyond the document leaves room for any other key from all of its places.
  it.each(Object.entries(cases).flatMap(([name, one]) => [1000, 12].map((spare) => [name, spare, one] as const)))(
    'is that of following at most half of the vocabulary: %s, %d tokens to spare',
    (_, spare, one) => follow(one, spare),
  )

  it('is no more in a text of letters and digits: most tokens begin with a space, which leads nowhere', () => {
    const id = pattern('^[0-9A-Za-z]{8}-[0-9A-Za-z]{4}-[0-9A-Za-z]{12}$')
    follow({ schema: object({ properties: { id } }), document: { id: '12345678-9ABC-DEF012345678' } }, 1000)
  })

  it('is next to nothing where what stands behind leaves room in tokens, though not in bytes', () => {
    const schema = object({
      properties: { a: pattern('foo|bar|baz'), b: { const: 'behind it there stands a text of many words' } },
      required: ['a', 'b'],
    })
    const constraint = compile(schema).start(gpt2)
    for (const byte of new TextEncoder().encode('{"a":"my ')) {
      constraint.accept(gpt2.tries.map((trie) => trie.token(trie.child(0, byte))).find((found) => found >= 0)!)
    }
    const { inStrings } = Learned.of(gpt2)
    const mask = new Uint32Array(gpt2.words)
    const maskFor = (budget: number) => {
      const before = inStrings.followed
      constraint.closing(budget)
      constraint.mask(mask)
      return inStrings.followed - before
    }
    // Inside of a character or an escape a way takes some tokens more.
    const budget = constraint.shortest + 12
    expect(budget).toBeLessThan('foo","b":"behind it there stands a text of many words"}'.length)
    for (const left of [budget, budget - 1, budget - 2]) {
      expect(maskFor(left)).toBeLessThan(nodes / 100)
      expect(allowed(mask, gpt2.size)).toEqual(tried(constraint, gpt2))
    }
    // One that leaves none is found by the ways on, once: they are known then.
    const narrow = [constraint.shortest, constraint.shortest + 1, constraint.shortest + 2]
    const walked = narrow.map((left) => {
      const nodes = maskFor(left)
      expect(allowed(mask, gpt2.size)).toEqual(tried(constraint, gpt2))
      return nodes
    })
    expect(Math.max(...walked)).toBeLessThan(2 * nodes)
  })
})

describe('the last masks of a budget', () => {
  const nodes = gpt2.tries.reduce((sum, trie) => sum + trie.bytes.length, 0)
  const inside = { properties: { u: {}, n: { type: 'integer' } }, required: ['u', 'n'], additionalProperties: false }
  /** What each of a document's masks costs, with so many tokens more than it takes: nodes one by one, and walks over all. */
  const costsOf = (text: object, document: string, spare: number) => {
    const schema = object({ ...inside, properties: { ...inside.properties, u: { type: 'string', ...text } } })
    const constraint = compile(schema).start(gpt2)
    const { inStrings, characters } = Learned.of(gpt2)
    const mask = new Uint32Array(gpt2.words)
    const costs: { followed: number; walks: number }[] = []
    for (const byte of new TextEncoder().encode(document)) {
      const before = { followed: inStrings.followed, walks: characters.walks }
      constraint.closing(constraint.shortest + spare)
      constraint.mask(mask)
      costs.push({ followed: inStrings.followed - before.followed, walks: characters.walks - before.walks })
      if (costs.length % 7 === 0) expect(allowed(mask, gpt2.size)).toEqual(tried(constraint, gpt2))
      // On its way it needs more.
      constraint.closing(1000)
      const token = gpt2.tries.map((trie) => trie.token(trie.child(0, byte))).find((found) => found >= 0)!
      expect(constraint.accept(token)).toBe(true)
    }
    return costs
  }
  const learned = (costs: ReturnType<typeof costsOf>) =>
    costs.filter(({ followed, walks }) => walks > 0 || followed > nodes / 50).length
  const words = 'of words and of letters and no more'

  // With nothing to spare the place behind a character may be the end of the budget, with some it may not.
  it.each([0, 1, 2, 5])('walk no text anew that may end anywhere, whatever its length: %d to spare', (spare) => {
    // Learned are the places before it may end, and those behind them.
    expect(learned(costsOf({ pattern: '^[\\p{L} ]{3,40}$' }, `{"u":"${words}`, spare))).toBeLessThanOrEqual(4)
    expect(learned(costsOf({ pattern: '^(?!.*admin)[\\w ]+$' }, `{"u":"${words}`, spare))).toBeLessThanOrEqual(3)
  })

  it('know a place far from the limit of its length from one before', () => {
    const pairs = 'abz'.repeat(12)
    const costs = costsOf({ pattern: '^(?:[a-y]+z)+$', maxLength: 250 }, `{"u":"${pairs}`, 0)
    // Two places, and where they lead.
    expect(learned(costs)).toBeLessThanOrEqual(6)
  })

  it.each([
    [{ pattern: 'https?://' }, 'see https://a'],
    [{ pattern: '^https?://' }, 'https://a.b/c'],
    [{ format: 'email' }, 'someone.else@example.org'],
    [{ format: 'uri' }, 'https://example.org/a?b=c'],
    [{ pattern: '^(?=.*\\d)(?=.*[a-z]).{8,}$' }, 'Words, 12 of 99'],
    [{ pattern: '^(?!.*admin)[\\w ]+$' }, 'an adm but no more'],
    [{ pattern: '^[\\p{L} ]{3,40}$' }, 'of letters and no more'],
  ])('look at few nodes one by one, and walk over all of them once at most: %j', (text, value) => {
    for (const spare of [0, 1, 3, 8]) {
      for (const { followed, walks } of costsOf(text, `{"u":"${value}`, spare)) {
        expect(followed).toBeLessThan(nodes / 10)
        expect(walks).toBeLessThanOrEqual(1)
      }
    }
  })
})

describe('a token that begins and ends inside a character', () => {
  it('is allowed exactly where the budget suffices to complete both', () => {
    const tokens = [
      ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
      Uint8Array.of(0xa4, 0xed),
      undefined,
    ]
    const vocabulary = vocabularyOf({ tokens, eos: [257], special: [] })
    for (const budget of [2, 3, 4, 5]) {
      const constraint = compile({ type: 'string' }).start(vocabulary)
      for (const byte of [0x22, 0xe2, 0x80]) expect(constraint.accept(byte)).toBe(true)
      expect(constraint.closing(budget)).toBe(true)
      const mask = new Uint32Array(vocabulary.words)
      constraint.mask(mask)
      expect(allowed(mask, vocabulary.size), `budget ${budget}`).toEqual(tried(constraint, vocabulary))
      // What it begins takes two bytes more, and the quote one.
      expect(allowed(mask, vocabulary.size).includes(256)).toBe(budget >= 4)
    }
  })
})

describe('the shortest way out of a string', () => {
  it('takes of each character that may come the one of the fewest bytes', () => {
    // Of one class are a quote and é, which take two bytes, and of another the letter.
    const bytes = (schema: object) => compile({ type: 'string', ...schema }).shortest
    expect(bytes({ pattern: '^(?:["éa]a?)*$', minLength: 1, maxLength: 2 })).toBe(3)
    expect(bytes({ pattern: '^a?["\\\\éb]*$', minLength: 2 })).toBe(4)
  })
})

describe('the shortest way out of a text', () => {
  it.each([
    ['(?:a[abé"]é|b[ab]")', 3],
    ['aaé|bac', 3],
    ['😀|ccc', 3],
    ['(?:é|aa)c*d', 3],
  ])('takes the fewest bytes of all: %s', (regex, bytes) => {
    const constraint = fromSource({ regex }).start(vocabularyOf(smallWords()))
    expect(fromSource({ regex }).shortest).toBe(bytes)
    expect(constraint.closing(bytes)).toBe(true)
  })
})

describe('keys of which there are only so many', () => {
  const few = { patternProperties: { '^[xy]$': { type: 'null' } }, additionalProperties: false }
  const schemas = [
    { ...few, properties: { a: { enum: ['a'] } }, minProperties: 2 },
    { ...few, properties: { a: { enum: ['a'] }, b: { enum: [1] } }, minProperties: 3, maxProperties: 3 },
    { ...few, properties: { a: { enum: ['a'] } }, required: ['x'], minProperties: 3 },
    { ...few, minProperties: 2 },
    { propertyNames: { enum: ['x', 'y', 'xy'] }, additionalProperties: { enum: [1] }, minProperties: 3 },
  ]
  it.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
    'leave enough for all that must come: %s',
    (_, schema) => {
      const vocabulary = vocabularyOf(smallWords())
      const grammar = compile({ type: 'object', ...schema })
      const random = randomness(3)
      for (let i = 0; i < 30; i++) {
        // Without a budget no key is kept away by its cost.
        const constraint = grammar.start(vocabulary)
        const mask = new Uint32Array(vocabulary.words)
        while (!constraint.done) {
          constraint.mask(mask)
          expect(allowed(mask, vocabulary.size)).not.toEqual([])
          constraint.accept(pick(mask, vocabulary.size, random))
        }
      }
    },
  )
})

describe('the places to which the tokens of a text lead', () => {
  it('are asked about once for each text that is left behind them, however many they are', () => {
    // A label may have 63 letters: from each of them the same is left.
    const schema = object({ properties: { u: { type: 'string', format: 'email' } }, required: ['u'] })
    const constraint = compile(schema).start(gpt2)
    const { characters } = Learned.of(gpt2)
    const from = vi.spyOn(characters, 'from')
    const mask = new Uint32Array(gpt2.words)
    for (const byte of new TextEncoder().encode('{"u":"so@me')) {
      const token = gpt2.tries.map((trie) => trie.token(trie.child(0, byte))).find((found) => found >= 0)!
      expect(constraint.accept(token)).toBe(true)
    }
    constraint.closing(constraint.shortest)
    constraint.mask(mask)
    const [frame] = from.mock.calls[0]!
    const { states, alike } = from.mock.results[0]!.value as LeadingTo
    from.mockRestore()
    const left = states.map((state) => (state === 0 ? undefined : frame.home.spell(state)))
    states.forEach((state, number) => {
      if (state !== 0) expect(alike[number]).toBe(left.indexOf(left[number]))
    })
    expect(new Set(left).size).toBeLessThan(left.length / 2)
    expect(allowed(mask, gpt2.size)).toEqual(tried(constraint, gpt2))
  })
})
