import { describe, expect, it } from 'vitest'
import { compile, fromSource, type Vocabulary } from '../structured.js'
import { smallWords, vocabularyOf } from '../testing.test-helper.js'

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
function told(constraint: ReturnType<ReturnType<typeof compile>['start']>, text: string): number[] {
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
    expect(told(compile({ const: value }).start(vocabulary), text)).toEqual(fewest(text))
  })

  it('are the same whatever was counted before by the same grammar', () => {
    const value = { name: ['the name', 'a name'], age: 'the name' }
    const text = JSON.stringify(value)
    const grammar = compile({ const: value })
    const whole = told(grammar.start(vocabulary), text)
    // From the end on, and again from the beginning.
    for (const from of [text.length - 1, 8, 0]) {
      const constraint = grammar.start(vocabulary)
      const bytes = utf8.encode(text)
      for (const byte of bytes.subarray(0, from)) constraint.accept(tokenOf(vocabulary, byte))
      expect(constraint.shortest).toBe(whole[from])
    }
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
    expect(told(compile({ const: value }).start(vocabulary), text)).toEqual(wanted)
  })

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
  it.each([
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

  it('hold whatever number of them was counted: what is kept is bounded', () => {
    // Each of them is far from the others: more than is kept.
    const values = Array.from({ length: 260 }, (_, i) => `${String(i).padStart(4, '0')}${'the name '.repeat(200)}`)
    const grammar = compile({ enum: values })
    for (const value of [values[0]!, values[130]!, values[259]!, values[0]!]) {
      const constraint = grammar.start(vocabulary)
      for (const byte of utf8.encode(`"${value.slice(0, 4)}`)) constraint.accept(tokenOf(vocabulary, byte))
      expect(constraint.shortest).toBe(fewest(JSON.stringify(value))[5])
    }
  })
})
