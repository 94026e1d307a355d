import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { caselessBeyond } from '../automata/charset.js'
import { TextError } from '../automata/types.js'
import { acceptsText } from '../automata/words.js'
import { compile, regex } from '../structured.js'
import { compileRegex } from './regex.js'

/** As grammars and `guided_regex` ask: of a text as a whole. */
function matches(source: string, text: string): boolean | undefined {
  try {
    return acceptsText(compileRegex(source, undefined, { whole: true }), text)
  } catch (error) {
    if (error instanceof TextError) return undefined
    throw error
  }
}

const JUDGE = `
import json, re, sys
rows = []
for source, texts in json.load(sys.stdin):
    try:
        pattern = re.compile(source)
    except (re.error, RecursionError):
        rows.append(None)
        continue
    rows.append([pattern.fullmatch(text) is not None for text in texts])
json.dump(rows, sys.stdout)
`

/** What Python's `re` says of each pattern and its texts; null of a pattern that is none to it. */
function judged(cases: readonly (readonly [string, readonly string[]])[]): (boolean[] | null)[] {
  const options = { input: JSON.stringify(cases), encoding: 'utf8', maxBuffer: 2 ** 28 } as const
  return JSON.parse(execFileSync('python3', ['-W', 'ignore', '-c', JUDGE], options))
}

const hasPython = (() => {
  try {
    return judged([['a', ['a']]])[0]![0]!
  } catch {
    return false
  }
})()

const LETTERS = [
  'a',
  'A',
  'b',
  'k',
  'K',
  '\u212a',
  'ſ',
  's',
  'é',
  'É',
  'ß',
  'ẞ',
  'σ',
  'ς',
  'Σ',
  'я',
  'Я',
  'ǆ',
  '1',
  ' ',
  '#',
  '\n',
]
const atom = fc.constantFrom(
  ...[
    'a',
    'B',
    'k',
    's',
    'S',
    'é',
    'ß',
    'Σ',
    'я',
    'ǅ',
    '1',
    '.',
    '[a-k]',
    '[^a]',
    '[а-я]',
    '[é-ü]',
    '[^Σ]',
    '[k#]',
    '\\d',
  ],
  ...['\\#', '\\ ', '[ #]', '\\U0001F600', '\\x41', '\\a'],
)
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 5, arbitrary: atom },
    { weight: 1, arbitrary: fc.constantFrom('\\A', '\\Z', '^', '(?#a note)', ' ', '(?m:$)', '(?m:^)', '# note\n') },
    { weight: 5, arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b) },
    { weight: 2, arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '+?', '{2}', '{1,3}', '{,2}', '*+', '++'))
        .map(([a, count]) => `(${a})${count}`),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          fc.constantFrom('(?i:', '(?-i:', '(?s:', '(?m:', '(?x:', '(?is-m:', '(?ix:', '(?>', '(?=', '(?!', '(?:'),
          tie('pattern'),
        )
        .map(([open, a]) => `${open}${a})`),
    },
  ),
}))
const text = fc.array(fc.constantFrom(...LETTERS), { maxLength: 5 }).map((letters) => letters.join(''))
const sources = fc
  .tuple(fc.constantFrom('', '', '(?i)', '(?s)', '(?m)', '(?x)', '(?im)', '(?isx)'), pattern)
  .map(([flags, body]) => flags + body)

describe('regular expressions as Python and Rust write them', () => {
  // Python is no dependency: where it is not, the table below stands alone.
  it.skipIf(!hasPython)("agree with Python's re on random texts, or are refused", () => {
    const cases = fc.sample(fc.tuple(sources, fc.array(text, { minLength: 12, maxLength: 12 })), {
      numRuns: runs(6000),
    })
    const verdicts = judged(cases)
    const refused: string[] = []
    let held = 0
    cases.forEach(([source, texts], i) => {
      const verdict = verdicts[i]
      if (!verdict) return
      const ours = texts.map((each) => matches(source, each))
      if (ours[0] === undefined) {
        // What it tries in order, and looks within looks, is no language of ours.
        if (!/[*+?}]\+|\(\?>/.test(source)) refused.push(source)
        return
      }
      held++
      expect([source, texts, ours]).toEqual([source, texts, verdict])
    })
    expect(held).toBeGreaterThan(cases.length / 3)
    expect(refused.length).toBeLessThan(held / 50)
  })

  const held: readonly [string, readonly string[], readonly string[]][] = [
    ['(?P<year>\\d{4})-(?P<month>\\d\\d)', ['2026-11'], ['2026-1']],
    ['\\Aab\\Z', ['ab'], ['ab\n']],
    ['\\Aab\\z', ['ab'], ['ab\n']],
    ['(?i)straße', ['STRAßE', 'straẞe'], ['STRASSE']],
    ['a(?i:b)c', ['abc', 'aBc'], ['ABc', 'abC']],
    ['(?i)a(?-i:b)', ['Ab'], ['aB']],
    ['((?i)ab|cd)e', ['CDe', 'ABe'], ['abE']],
    ['(?i:\\bab\\b)', ['AB'], ['ABx']],
    ['(?x) a b # both\n [ c]', ['abc', 'ab '], ['a b c']],
    ['(?s).', ['\n'], ['']],
    ['(?m)^a$\\n^b$', ['a\nb'], ['ab']],
    ['\\pL+\\x{1F600}', ['é😀'], ['1😀']],
    ['a(?#a note)b', ['ab'], ['a']],
    ['[]a]+[^]b]', [']ax'], ['x', ']b']],
    ['[^][a]', ['xa'], ['x', 'xb']],
    // A class of these signs, as ECMAScript has it under the flag u, too.
    ['[[:alpha:]+', ['[:', 'alpha'], ['beta']],
    ['a{,2}b', ['b', 'aab'], ['aaab', 'a{,2}b']],
    ['\\p{Greek}+\\P{Latin}', ['αβ1'], ['aβ1', 'αβz']],
    ['[\\p{Cyrillic}\\p{L}]', ['я', 'a'], ['1']],
  ]
  it.each(held)('%s', (source, good, bad) => {
    expect([good.map((each) => matches(source, each)), bad.map((each) => matches(source, each))]).toEqual([
      good.map(() => true),
      bad.map(() => false),
    ])
  })

  it.each([
    ['(?P<a>x)(?P=a)', '(?P=a)'],
    ['(?P>a)', '(?P>'],
    ['(?>a+?)b', 'lazy'],
    ['(?:a|ab)*+b', 'more than one length'],
    ['(?>a*)*+b', 'may be empty'],
    ['a{0,9999}+', 'too many ways'],
    ['(?(1)a|b)', 'conditional'],
    ['(?L)a', 'flag L'],
    ['a(?i)b', '(?i)'],
    ['\\Qa\\E', '\\Q'],
    ['\\U00110000', '\\U00110000'],
    ['[[:alpha:]]+', '[:alpha:]'],
    ['[^_[:^digit:][:space:]]', '[:^digit:]'],
  ])('%s is refused by the name of %s', (source, name) => {
    expect(() => compileRegex(source)).toThrow(name)
  })

  it('take for the same letter what the platform does under the flags i and u', () => {
    for (let letter = 0x80; letter <= 0x1ffff; letter++) {
      if (letter >= 0xd800 && letter <= 0xdfff) continue
      const text = String.fromCodePoint(letter)
      if (text.toLowerCase() === text && text.toUpperCase() === text) continue
      const same = caselessBeyond([letter, letter])
      const all = [...new Set([...text.toLowerCase(), ...text.toUpperCase(), text])].map((each) => each.codePointAt(0)!)
      const platform = new RegExp(`^\\u{${letter.toString(16)}}$`, 'iu')
      for (const other of all) {
        const ours = same.some((low, i) => i % 2 === 0 && other >= low && other <= same[i + 1]!)
        expect([letter, other, ours]).toEqual([letter, other, platform.test(String.fromCodePoint(other))])
      }
    }
  })
})

describe('atomic groups and possessive quantifiers', () => {
  // ECMAScript's own way to say them: a lookahead is never tried another way.
  it.each([
    ['a*+b', '(?=(a*))\\1b'],
    ['a*+a', '(?=(a*))\\1a'],
    ['[ab]++b?', '(?=([ab]+))\\1b?'],
    ['a?+ab?', '(?=(a?))\\1ab?'],
    ['a{1,3}+[ab]', '(?=(a{1,3}))\\1[ab]'],
    ['(?:ab)*+a?b', '(?=((?:ab)*))\\1a?b'],
    ['(?>a|ab)b?', '(?=(a|ab))\\1b?'],
    ['(?>ab|a|)b?', '(?=(ab|a|))\\1b?'],
    ['(?>a*b?)b', '(?=(a*b?))\\1b'],
    ['(?>a*ab)', '(?=(a*ab))\\1'],
    ['(?>(?:a|ab)(?:b|bb|))b?', '(?=((?:a|ab)(?:b|bb|)))\\1b?'],
    ['(?>a{0,2}(?:ab|b))a', '(?=(a{0,2}(?:ab|b)))\\1a'],
    ['(?:(?>a|ab)b)+', '(?:(?=(a|ab))\\1b)+'],
    ['(?>(?>a|aa)b*+)b?', '(?=((?=(a|aa))\\2(?=(b*))\\3))\\1b?'],
    ['(?:(?>a|ab)b)*+b?', '(?=((?:(?=(a|ab))\\2b)*))\\1b?'],
    ['(?>a|bb?)*+b?', '(?=((?:(?=(a|bb?))\\2)*))\\1b?'],
    ['(?>aa++|b)*+ab?', '(?=((?:(?=(a(?=(a+))\\3|b))\\2)*))\\1ab?'],
    ['(?>[ab]a|[ab]|a)b', '(?=([ab]a|[ab]|a))\\1b'],
  ])('%s matches what %s does', (source, plain) => {
    const whole = new RegExp(`^(?:${plain})$`, 'u')
    const texts = ['']
    for (const text of texts) if (text.length < 6) texts.push(`${text}a`, `${text}b`)
    const taken = texts.filter((each) => whole.test(each))
    expect(texts.filter((each) => matches(source, each))).toEqual(taken)
  })
})

describe('classes of a text, which differ between dialects', () => {
  it.each([
    // No blank to Python and Rust, one to ECMAScript; the others the other way round.
    ['\\s', '\ufeff', false],
    ['\\S', '\ufeff', false],
    ['\\s', '\x85', false],
    ['\\S', '\x1c', false],
    ['\\s', '\u3000', true],
    ['\\d', '٣', false],
    ['\\D', '٣', false],
    ['\\D', 'é', true],
    ['\\w', 'é', false],
    ['\\W', 'é', false],
    ['\\W', '–', true],
    ['[^\\w–]', 'é', false],
    ['[^\\W]', 'é', false],
    ['[^\\W\\d]', 'a', true],
    ['[^\\s]', '\ufeff', false],
    ['(?!\\W).', 'é', false],
    ['(?!\\w).', 'é', false],
    ['(?!(?!\\w)).', 'é', false],
    ['[\\s\\S]', '\ufeff', true],
    ['[\\d\\D]+', '٣a', true],
    ['[a\\w][\\W]', 'aé', false],
  ])('%s and %j', (pattern, text, holds) => {
    expect(regex(pattern).accepts(text)).toBe(holds)
  })

  it('are ECMAScript’s in the pattern of a schema, which says so', () => {
    for (const [pattern, text] of [
      ['^\\s$', '\ufeff'],
      ['^\\W$', 'é'],
    ] as const)
      expect(compile({ type: 'string', pattern }).accepts(JSON.stringify(text))).toBe(true)
  })
})
