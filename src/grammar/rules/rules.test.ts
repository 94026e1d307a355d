import { describe, expect, it, vi } from 'vitest'
import { Values } from '../schema/values.js'
import { choice, compile, fromSource, gbnf, lark, regex, repeat, sequence, upTo, without } from '../structured.js'
import { randomness } from '../testing.test-helper.js'
import { derives, type Plain, textsOf } from './rules.test-helper.js'

describe('a regular expression', () => {
  for (const source of [
    'a|bc',
    '(?:ab)*',
    '[^b]+',
    'a{2,3}b?',
    '(?=ab).{2,3}',
    'a.c',
    '\\w+',
    'é|🙂',
    '"[^"]*"',
    'a|b|',
  ]) {
    it(`/${source}/ holds what RegExp matches as a whole`, () => {
      const whole = new RegExp(`^(?:${source})$`, 'u')
      const grammar = regex(source)
      for (const text of textsOf('abc"é🙂\n'.match(/./gsu)!.slice(0, 7).join(''), 4)) {
        if (/\p{Surrogate}/u.test(text)) continue
        expect(grammar.accepts(text), JSON.stringify(text)).toBe(whole.test(text))
      }
    })
  }

  it('with the flags i and s', () => {
    for (const source of ['[a-c]+', '[^k]', 'straße|K', '\\w', '\\W', 'a.b'].filter((one) => !one.includes('ß'))) {
      const whole = new RegExp(`^(?:${source})$`, 'ius')
      const grammar = regex(source, 'is')
      for (const text of ['a', 'B', 'bC', 'k', 'K', '\u212a', 's', '\u017f', 'a\nb', 'A.B', '–', '']) {
        expect(grammar.accepts(text), `${source} ${JSON.stringify(text)}`).toBe(whole.test(text))
      }
    }
    expect(regex('é', 'i').accepts('É')).toBe(true)
    expect(() => regex('a', 'g')).toThrow(/flag 'g'/)
    expect(() => regex('a)(b')).toThrow(/Invalid regular expression/)
  })
})

describe('parts', () => {
  it('follow each other, JSON among them', () => {
    const grammar = sequence([
      'I say "',
      without('"'),
      '": ',
      compile({ type: 'object', properties: { a: { type: 'integer' } } }),
    ])
    expect(grammar.accepts('I say "well": {"a":1,"b":"x"}')).toBe(true)
    expect(grammar.accepts('I say "": {}')).toBe(true)
    expect(grammar.accepts('I say "well": {"a":"1"}')).toBe(false)
    // No key twice, whatever quotes came before.
    expect(grammar.accepts('I say "well": {"b":1,"b":2}')).toBe(false)
    expect(grammar.accepts('I say "we"ll": {}')).toBe(false)
  })

  it('are chosen from by what they begin with, however they share it', () => {
    const random = randomness(7)
    const word = (most: number) =>
      Array.from({ length: Math.floor(random() * (most + 1)) }, () => 'aé'[+(random() < 0.5)]).join('')
    for (let round = 0; round < 40; round++) {
      const options = Array.from({ length: 1 + Math.floor(random() * 9) }, () => [word(4), word(2)] as const)
      const grammar = choice(options.map(([head, end]) => sequence([head, regex(`[xé]?${end}`)])))
      const whole = new RegExp(`^(?:${options.map(([head, end]) => `${head}[xé]?${end}`).join('|')})$`, 'u')
      for (const text of [...textsOf('aéx', 5), ...options.map(([head, end]) => head + end)]) {
        expect(grammar.accepts(text), JSON.stringify([options, text])).toBe(whole.test(text))
      }
    }
  })

  it('that are grammars of schemas are not compiled again', () => {
    const part = compile({ type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false })
    const compiled = vi.spyOn(Values.prototype, 'root')
    const grammar = sequence(['x', part, choice([part, repeat(part, { max: 2 })])])
    expect(compiled).not.toHaveBeenCalled()
    compiled.mockRestore()
    expect(grammar.accepts('x{"a":1}{}{}')).toBe(true)
    expect(fromSource(grammar.source).steps).toBe(grammar.steps)
  })

  it('repeat, and are chosen from', () => {
    const grammar = repeat(choice(['a', 'bb', regex('[0-9]{2}')]), { min: 1, max: 3 })
    const whole = /^(?:a|bb|[0-9]{2}){1,3}$/
    for (const text of textsOf('ab0', 6)) expect(grammar.accepts(text), text).toBe(whole.test(text))
  })

  it('may hold a quote that is no string', () => {
    const grammar = sequence([regex('[{",a]*'), compile({ type: 'object', additionalProperties: { type: 'integer' } })])
    expect(grammar.accepts('{"a{"b":1,"c":2}')).toBe(true)
    expect(grammar.accepts('{"a{"b":1,"b":2}')).toBe(false)
    expect(grammar.accepts('","{"a":1}')).toBe(true)
  })

  it('end where a text first comes', () => {
    const grammar = sequence([upTo('--'), choice(['a', '-'])])
    for (const text of textsOf('a-', 7)) {
      const at = text.indexOf('--')
      expect(grammar.accepts(text), text).toBe(at >= 0 && (text.slice(at + 2) === 'a' || text.slice(at + 2) === '-'))
    }
  })

  it('refuse what they do not know', () => {
    const bad: [unknown, RegExp][] = [
      [{ regexp: 'a' }, /'regexp' is not known/],
      [{ choice: [] }, /'choice' is empty/],
      [{ sequence: ['a', 5] }, /not number/],
      [{ repeat: 'a', min: 3, max: 2 }, /from 3 to 2/],
      [{ choice: ['\ud800', { regex: '[]' }] }, /no text|half of a character/],
      [{ regex: '[]' }, /no text satisfies/],
      [{ without: [''] }, /empty text/],
      [{ sequence: ['a', { schema: { type: 'nothing' } }] }, /nothing/],
    ]
    for (const [source, message] of bad) expect(() => fromSource(source as never)).toThrow(message)
  })
})

/** Grammars in both notations and as plain data. */
const GRAMMARS: Record<
  string,
  { gbnf: string; lark: string; plain: Record<string, Plain>; letters: string; most?: number }
> = {
  'sums from the left': {
    gbnf: 'root ::= root "+" n | n\nn ::= "1" | "(" root ")"',
    lark: 'start: start "+" n | n\nn: "1" | "(" start ")"',
    plain: {
      root: { any: [{ all: [{ rule: 'root' }, '+', { rule: 'n' }] }, { rule: 'n' }] },
      n: { any: ['1', { all: ['(', { rule: 'root' }, ')'] }] },
    },
    letters: '1+()',
  },
  'two rules that begin with each other': {
    gbnf: 'root ::= b "x" | "y"\nb ::= root "z" | b "w" | ""',
    lark: 'start: b "x" | "y"\nb: start "z" | b "w" |',
    plain: {
      root: { any: [{ all: [{ rule: 'b' }, 'x'] }, 'y'] },
      b: { any: [{ all: [{ rule: 'root' }, 'z'] }, { all: [{ rule: 'b' }, 'w'] }, ''] },
    },
    letters: 'wxyz',
    most: 6,
  },
  'behind a part that may be empty': {
    gbnf: 'root ::= [a]* root "b" | "c"?',
    lark: 'start: /a*/ start "b" | "c"?',
    plain: { root: { any: [{ all: [/a*/, { rule: 'root' }, 'b'] }, 'c', ''] } },
    letters: 'abc',
    most: 7,
  },
  'as many of one as of the other': {
    gbnf: 'root ::= ("a" root "b")?',
    lark: 'start: ["a" start "b"]',
    plain: { root: { any: [{ all: ['a', { rule: 'root' }, 'b'] }, ''] } },
    letters: 'ab',
    most: 9,
  },
  'palindromes, which no single thread finds': {
    gbnf: 'root ::= "a" root "a" | "b" root "b" | "a" | "b" | ""',
    lark: 'start: "a" start "a" | "b" start "b" | "a" | "b" |',
    plain: {
      root: { any: [{ all: ['a', { rule: 'root' }, 'a'] }, { all: ['b', { rule: 'root' }, 'b'] }, 'a', 'b', ''] },
    },
    letters: 'ab',
    most: 9,
  },
  'every way at once': {
    gbnf: 'root ::= root root | "a" | "b"?',
    lark: 'start: start start | "a" | "b"?',
    plain: { root: { any: [{ all: [{ rule: 'root' }, { rule: 'root' }] }, 'a', 'b', ''] } },
    letters: 'abc',
    most: 5,
  },
  repetitions: {
    gbnf: 'root ::= ("a" | "bc"){2,3} ("d"+ | "")',
    lark: 'start: ("a" | "bc")~2..3 ("d"+)?',
    plain: { root: /(?:a|bc){2,3}d*/ },
    letters: 'abcd',
    most: 6,
  },
}

it('options of GBNF have blanks, line breaks and comments around their bars', () => {
  const grammar = gbnf(
    'root ::= "a"|"b" # "y" | "z"\n | "c"# |\n|# "x"\n # again\n "d" "e" | ("f"\n|\n# |\n"\\x67" | "") | "h\\"" |"i|#"\t|\r\n"j"',
  )
  const words = ['a', 'b', 'c', 'de', 'f', 'g', '', 'h"', 'i|#', 'j']
  for (const text of [...words, 'x', 'y', 'z', 'd', 'h', 'i'])
    expect(grammar.accepts(text), text).toBe(words.includes(text))
})

describe('context-free grammars derive what a chart finds', () => {
  for (const [name, { gbnf: first, lark: second, plain, letters, most = 7 }] of Object.entries(GRAMMARS)) {
    it(name, () => {
      const grammars = [gbnf(first), lark(second)]
      for (const text of textsOf(letters, most > 6 && letters.length > 2 ? 6 : most)) {
        const wanted = derives(plain, 'root', text)
        for (const grammar of grammars) expect(grammar.accepts(text), JSON.stringify(text)).toBe(wanted)
      }
    })
  }
})
