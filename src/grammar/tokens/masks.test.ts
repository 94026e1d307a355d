import { describe, expect, it, vi } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import { expectTokens } from '../same-tokens.test-helper.js'
import { compile, type Grammar, type Vocabulary } from '../structured.js'
import {
  allowed,
  maskGrammars,
  masksByChance,
  object,
  pattern,
  realWords,
  tried,
  vocabularyOf,
} from '../testing.test-helper.js'
import { Learned } from './learned.js'
import type { LeadingTo } from './text-walk.js'

const gpt2 = vocabularyOf(realWords('gpt2'))
/** Each has a third of the schemas where not all is asked for: every schema is tried with one of them. */
const third = (turn: number) => (FULL ? maskGrammars() : maskGrammars(3, turn))

it.each<[string, Vocabulary, [string, Grammar][], number, number]>([
  ['GPT-2', gpt2, third(0), FULL ? 2 : 1, 0.2],
  ['Llama 3', vocabularyOf(realWords('llama3_2')), third(1), 1, 0.06],
  ['Qwen 2.5', vocabularyOf(realWords('qwen2_5')), third(2), 1, 0.06],
])('masks equal every token tried by itself: %s', (_, vocabulary, grammars, walks, share) => {
  for (const { name, masked, tokens } of masksByChance(vocabulary, grammars, walks, share))
    expectTokens(masked, tokens, name)
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
      expectTokens(allowed(mask, gpt2.size), tried(constraint, gpt2))
    }
    // One that leaves none is found by the ways on, once: they are known then.
    const narrow = [constraint.shortest, constraint.shortest + 1, constraint.shortest + 2]
    const walked = narrow.map((left) => {
      const nodes = maskFor(left)
      expectTokens(allowed(mask, gpt2.size), tried(constraint, gpt2))
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
      if (costs.length % 7 === 0) expectTokens(allowed(mask, gpt2.size), tried(constraint, gpt2))
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
    expectTokens(allowed(mask, gpt2.size), tried(constraint, gpt2))
  })
})
