import { describe, expect, it, vi } from 'vitest'
import type { State } from '../automaton/machine.js'
import { ENTRY_BYTES } from '../kept.js'
import { compile, fromSource, type Grammar, Vocabulary } from '../structured.js'
import { randomDocument, randomness, smallWords, vocabularyOf } from '../testing.test-helper.js'
import { TokenCosts } from './costs.js'

const words = smallWords()
const vocabulary = vocabularyOf(words)
const utf8 = new TextEncoder()
/** Longer ways are counted in bytes. */
const SPELLED = 2048

/** Each once. */
const TOKENS = [...new Set(words.tokens.flatMap((bytes) => (bytes?.length ? [String.fromCharCode(...bytes)] : [])))]

/** From each byte of a text, the fewest tokens that spell the rest. */
function fewest(text: string): number[] {
  const bytes = String.fromCharCode(...utf8.encode(text))
  const least = new Array<number>(bytes.length + 1).fill(0)
  for (let i = bytes.length - 1; i >= 0; i--) {
    const here = TOKENS.filter((token) => bytes.startsWith(token, i))
    least[i] = 1 + Math.min(...here.map((token) => least[i + token.length]!))
  }
  return least
}

/** What a constraint says at each byte of a text. */
function shortestOf(constraint: ReturnType<ReturnType<typeof compile>['start']>, text: string): number[] {
  const bytes = utf8.encode(text)
  const found = [constraint.shortest]
  for (const byte of bytes) {
    expect(constraint.accept(tokenOf(vocabulary, byte))).toBe(true)
    found.push(constraint.shortest)
  }
  return found
}

const tokenOf = (of: Vocabulary, byte: number): number =>
  of.tries.map((trie) => trie.token(trie.child(0, byte))).find((token) => token >= 0)!

const nested = (depth: number): unknown => (depth === 0 ? ['name'] : [nested(depth - 1)])

describe('the fewest tokens to the end', () => {
  it.each<[string, unknown]>([
    ['a word', 'name'],
    ['words that tokens share', 'aaaaaaaaaaaa the name the aa'],
    ['characters of several bytes', 'é語 😀é'],
    ['escapes', 'a"b\\c\n'],
    ['an object', { name: 'a', age: [true, null, { name: [] }], the: {} }],
    ['an empty list', []],
    ['a number', -1250.5],
    ['what is nested deep', nested(40)],
    ['what is nested deeper than stacks are counted as they come', nested(130)],
  ])('are those of the text itself, from each of its places: %s', (_, value) => {
    const text = JSON.stringify(value)
    expect(shortestOf(compile({ const: value }).start(vocabulary), text)).toEqual(fewest(text))
  })

  it('count the first token of a vocabulary as any other', () => {
    const { tokens } = smallWords()
    const first = vocabularyOf({ tokens: [utf8.encode('aaab'), ...tokens], eos: [tokens.length], special: [] })
    expect(compile({ const: 'aaab' }).start(first).shortest).toBe(3)
  })

  it('count a token that stands for no text as one', () => {
    const { tokens, eos } = smallWords()
    const named = new Vocabulary([...tokens, undefined], { eos, named: { '<call>': tokens.length } })
    const sequence = [{ schema: { const: 'name' } }, { token: '<call>' }, { schema: { const: 'name' } }]
    expect(fromSource({ sequence }).start(named).shortest).toBe(2 * fewest('"name"')[0]! + 1)
  })

  it('are those of the text of the fewest bytes, though a longer one takes fewer tokens', () => {
    const { tokens } = smallWords()
    const vocabulary = vocabularyOf({
      tokens: [...tokens, utf8.encode('affoo')],
      eos: [tokens.length - 1],
      special: [],
    })
    const gbnf = 'root ::= x | y\nx ::= z\ny ::= z "oo"\nz ::= "<" z "f" | "a"'
    const constraint = fromSource({ gbnf }).start(vocabulary)
    for (const byte of utf8.encode('<<')) constraint.accept(tokenOf(vocabulary, byte))
    expect(constraint.shortest).toBe(fewest('aff')[0])
  })

  it('are those of the shortest of several ways', () => {
    const [long, short] = ['name the name', 'nb']
    const constraint = compile({ enum: [long, short] }).start(vocabulary)
    expect(constraint.shortest).toBe(fewest(JSON.stringify(short))[0])
    for (const byte of utf8.encode('"na')) constraint.accept(tokenOf(vocabulary, byte))
    expect(constraint.shortest).toBe(fewest(JSON.stringify(long))[3])
  })

  it('are counted in bytes where the way is very long, and in tokens nearer to its end', () => {
    const value = 'a'.repeat(SPELLED + 40)
    const text = JSON.stringify(value)
    const wanted = fewest(text).map((tokens, i) => (text.length - i > SPELLED ? text.length - i : tokens))
    expect(shortestOf(compile({ const: value }).start(vocabulary), text)).toEqual(wanted)
  })

  it.each([0, 1, 2])(
    'are those of several ways behind what need not come, as long as is counted in tokens less %i',
    (less) => {
      const [short, long] = ['b'.repeat(SPELLED - less), 'c'.repeat(SPELLED + 1)]
      const gbnf = `root ::= "(" x | "(" y\nx ::= z "${short}"\ny ::= z "${long}"\nz ::= "<" "f"*`
      const constraint = fromSource({ gbnf }).start(vocabulary)
      for (const byte of utf8.encode('(<')) constraint.accept(tokenOf(vocabulary, byte))
      expect(constraint.shortest).toBe(fewest(short)[0])
    },
  )

  it('are none at the end, and those of what must still come before it', () => {
    const list = { type: 'array', items: { enum: ['a', 'name'] }, minItems: 3 }
    const constraint = compile(list).start(vocabulary)
    expect(constraint.shortest).toBe(fewest('["a","a","a"]')[0])
    for (const byte of utf8.encode('["name",')) constraint.accept(tokenOf(vocabulary, byte))
    expect(constraint.shortest).toBe(fewest('["name","a","a"]')[8])
    for (const byte of utf8.encode('"a","a"]')) constraint.accept(tokenOf(vocabulary, byte))
    expect([constraint.done, constraint.shortest]).toEqual([true, 0])
  })

  it('are found through rules that refer to each other', () => {
    // By the text of the fewest bytes.
    const grammar =
      'root ::= "[" item ("," item)* "]"\nitem ::= "name" | "(" root ")" | "aa" tail\ntail ::= "b" | tail "c"'
    const constraint = fromSource({ gbnf: grammar }).start(vocabulary)
    expect(constraint.shortest).toBe(fewest('[aab]')[0])
    for (const byte of utf8.encode('[(')) constraint.accept(tokenOf(vocabulary, byte))
    expect(constraint.shortest).toBe(fewest('[aab])]')[0])
    for (const byte of utf8.encode('[aa')) constraint.accept(tokenOf(vocabulary, byte))
    expect(constraint.shortest).toBe(fewest('b])]')[0])
  })

  const SUM = 'root ::= e\ne ::= e "+" e | "a" | "(" e ")" | e "name"'
  const TWO = 'root ::= x "name" | x "bcd" | "(" root ")"\nx ::= "a" | x x'
  // Behind what all have in common, one of several stands in the same place: tokens reach over its border.
  const CLOSERS = 'root ::= "[" root "]" | "[" root "}" | "a"'
  const BEHIND = 'root ::= "(" x ")" | "(" y "]" | "(" root ")"\nx ::= z "oo"\ny ::= z "b"\nz ::= "<" z "f" | "a"'
  const OR_NONE = 'root ::= z | z "oo"\nz ::= "<" z "f" | "a"'
  const LETTERS = 'root ::= "[" root "o" | "[" root "f" | "b"'
  it.each([
    // The first of several closes the innermost.
    [LETTERS, '[[[[', ['bofoo', 'boooo']],
    [LETTERS, '[[[[[[[', ['bofoofoo', 'boooofff']],
    [CLOSERS, '[', ['a]', 'a}']],
    [CLOSERS, '[[[', ['a]}]', 'a}]]', 'a]]}']],
    [CLOSERS, '[[[[[a}', ['}]}]']],
    [CLOSERS, '['.repeat(150), [`a${'}]'.repeat(75)}`]],
    [BEHIND, '(<', ['afoo)', 'afb]']],
    [BEHIND, '(<<<a', ['fffoo)', 'fffb]']],
    [BEHIND, '(((<', ['afoo)))', 'afb]))']],
    [BEHIND, `${'('.repeat(130)}<<`, [`affoo${')'.repeat(130)}`]],
    [OR_NONE, '<<', ['aff']],
    [SUM, 'a+', ['a']],
    [SUM, 'a+a', ['']],
    [SUM, '(a+(', ['a))']],
    [SUM, '(a+(a+anam', ['e))']],
    [SUM, '(a)+(a)+(', ['a)']],
    [SUM, `${'('.repeat(150)}a+`, [`a${')'.repeat(150)}`]],
    [SUM, `${'(a+'.repeat(120)}a`, [')'.repeat(120)]],
    [TWO, 'a', ['bcd']],
    [TWO, 'aaa', ['bcd']],
    [TWO, '((aa', ['bcd))']],
    [TWO, '((aab', ['cd))']],
    [TWO, `${'('.repeat(130)}aa`, [`bcd${')'.repeat(130)}`]],
  ])('are the least of all ways, where a text may be read in several: %#', (gbnf, before, ways) => {
    const grammar = fromSource({ gbnf })
    const least = Math.min(...ways.map((rest) => fewest(rest)[0]!))
    // Twice: what is known of it from before is the same.
    for (let round = 0; round < 2; round++) {
      const constraint = grammar.start(vocabulary)
      for (const byte of utf8.encode(before)) expect(constraint.accept(tokenOf(vocabulary, byte))).toBe(true)
      expect(constraint.shortest).toBe(least)
    }
  })

  it.each([
    { patternProperties: { '^[xy]$': { type: 'null' } }, properties: { a: { enum: ['a'] } }, minProperties: 2 },
    { propertyNames: { enum: ['name', 'aaaaaaaa', 'foo'] }, additionalProperties: { enum: [1] }, minProperties: 2 },
  ])('suffice, whichever key comes where others may: %j', (schema) => {
    const grammar = compile({ type: 'object', additionalProperties: false, ...schema })
    const random = randomness(5)
    for (let i = 0; i < 12; i++) {
      const constraint = grammar.start(vocabulary)
      const text = randomDocument(constraint, vocabulary, constraint.shortest + (i % 3), random)
      expect(grammar.accepts(text)).toBe(true)
    }
  })
})

describe('what counting takes', () => {
  /** The states of a grammar at each place of a text. */
  function statesOn(grammar: Grammar, text: string): State[] {
    const of = vi.spyOn(TokenCosts.prototype, 'of')
    const constraint = grammar.start(vocabulary)
    try {
      shortestOf(constraint, text)
      return of.mock.calls.map(([state]) => state)
    } finally {
      of.mockRestore()
    }
  }

  /** Counted by somebody who knows nothing: looks at nodes of tries, calls within each other, what is kept. */
  function counted(states: readonly State[], stacks = false) {
    let [looks, deepest] = [0, 0]
    const { stackTraceLimit } = Error
    const tries = vocabulary.tries.map((trie) => {
      const child = (node: number, byte: number) => {
        looks++
        if (stacks && looks % 8 === 0) deepest = Math.max(deepest, new Error().stack!.split('\n').length)
        return trie.child(node, byte)
      }
      return Object.create(trie, { child: { value: child } })
    })
    const costs = new TokenCosts({ tries } as unknown as Vocabulary)
    try {
      Error.stackTraceLimit = Infinity
      let most = 0
      const found = states.map((state) => {
        const cost = costs.of(state)
        most = Math.max(most, costs.bytes)
        return cost
      })
      return { found, looks, deepest, bytes: costs.bytes, most }
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }

  const text = JSON.stringify('the name of the aaaaaaaaaaaa é'.repeat(4))
  const length = utf8.encode(text).length
  const states = statesOn(compile({ const: JSON.parse(text) }), text)

  it('is a look at each byte once, wherever it is begun', () => {
    const [forth, back] = [counted(states), counted(states.toReversed())]
    expect(forth.found).toEqual(fewest(text))
    expect(back.found).toEqual(fewest(text).reverse())
    expect(back.looks).toBe(forth.looks)
    expect(counted([...states, ...states]).looks).toBe(forth.looks)
    // All is known once the whole is.
    expect(counted(states.slice(0, 1)).looks).toBe(forth.looks)
    expect(counted([states[0]!, ...states.toReversed()]).looks).toBe(forth.looks)
    // No token is longer than eight bytes, and of three kinds each.
    expect(forth.looks).toBeLessThan(3 * 9 * length)
    // What is known of a place is kept; of its bytes once, where they are a part of others.
    expect(forth.bytes).toBe(length * (ENTRY_BYTES + 5))
    expect(back.bytes).toBe(length * ENTRY_BYTES + (5 * length * (length + 1)) / 2)
  })

  it('is that of each of two ways that end otherwise, one behind the other', () => {
    const other = JSON.stringify('a name '.repeat(9))
    const grammar = compile({ enum: [JSON.parse(text), JSON.parse(other)] })
    const [one, two] = [text, other].map((text) => statesOn(grammar, text).slice(3))
    expect(counted([...one!, ...two!]).looks).toBeLessThanOrEqual(counted(one!).looks + counted(two!).looks)
  })

  it('is bounded in what is kept of it', () => {
    const long = JSON.stringify('aaaaaa the '.repeat(120))
    const all = statesOn(compile({ const: JSON.parse(long) }), long).toReversed()
    const { found, most, bytes } = counted(all)
    expect(found).toEqual(fewest(long).reverse())
    // All of it would be 4 MB.
    expect(most).toBeGreaterThan(2 ** 21)
    expect(most).toBeLessThan(2 ** 21 + ENTRY_BYTES + 5 * SPELLED)
    expect(bytes).toBeLessThan(most)
  })

  it('is none for a way that is told in bytes beside one that is short', () => {
    const long = 'b'.repeat(SPELLED + 1)
    const gbnf = `root ::= "(" x ")" | "(" y "]"\nx ::= z "oo"\ny ::= z "${long}"\nz ::= "<" z "f" | "a"`
    const { found, bytes } = counted(statesOn(fromSource({ gbnf }), '(<').slice(-1))
    expect(found).toEqual(fewest('afoo)').slice(0, 1))
    expect(bytes).toBeLessThan(long.length)
  })

  it('is kept of each of several ways, and of where they part', () => {
    const gbnf = 'root ::= "(" root ")" | "(" root "]" | "a"'
    const { bytes } = counted(statesOn(fromSource({ gbnf }), '((').slice(-1))
    // The `a)`, what closes the outer one in both ways, and where these part.
    expect(bytes).toBe(4 * ENTRY_BYTES + 4 * 5)
  })

  it.each([
    ['root ::= "(" root ")" | "a"', '('],
    ['root ::= "[" root "]" | "[" root "}" | "a"', '['],
    ['root ::= e\ne ::= e "+" e | "a" | "(" e ")"', '(a+'],
  ])('grows with what stands open, and no call within another: %s', (gbnf, opening) => {
    const grammar = fromSource({ gbnf })
    const at = (times: number) => counted(statesOn(grammar, opening.repeat(times)).slice(-1), true)
    const [some, more] = [at(110), at(220)]
    expect(more.looks).toBeLessThan(3 * some.looks)
    expect(more.deepest).toBeLessThan(some.deepest + 20)
    // Each is kept, with a byte or two: two at most, and where they part.
    expect(more.bytes - some.bytes).toBeGreaterThanOrEqual(110 * ENTRY_BYTES)
    expect(more.bytes - some.bytes).toBeLessThanOrEqual(330 * (ENTRY_BYTES + 10))
  })
})
