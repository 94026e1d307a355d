/**
 * `npm run check:patterns`: how many regular expressions of the kinds that vLLM's, Outlines' and Pydantic's test suites ask
 * for are done, as a share. The patterns are written here, one of each construct and use that those suites have. Python's
 * `re` judges: what a pattern is done as takes what Python takes of some thousand texts that are near to it, and no other.
 */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { regex } from '../src/grammar/structured.js'

/** By what they are for. `text`: one that matches, from which others are made. */
const PATTERNS: readonly (readonly [pattern: string, text: string])[] = [
  // Addresses, numbers, codes: what a `regex` of vLLM's and Outlines' asks for.
  ['((25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1?\\d?\\d)', '192.168.0.1'],
  ['((25[0-5]|(2[0-4]|1\\d|[1-9]|)\\d)\\.?\\b){4}', '10.0.0.255'],
  ['[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}', 'jo.e+x@mail.example.org'],
  ['^[\\w.+-]+@[\\w-]+\\.(com|net|org)$', 'joe@mail.com'],
  ['\\w+@\\w+\\.com\\n', 'alan@machine.com\n'],
  ['(19|20)\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])', '2026-11-26'],
  ['([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?', '23:59:07.25'],
  ['\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(Z|[+-]\\d\\d:\\d\\d)', '2026-11-26T08:00:00+01:00'],
  ['P(\\d+Y)?(\\d+M)?(\\d+D)?(T(\\d+H)?(\\d+M)?(\\d+S)?)?', 'P1Y2M3DT4H5M6S'],
  ['[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}', '0b5a3c1e-9d2f-4a6b-8c7d-1e2f3a4b5c6d'],
  ['\\+?[1-9]\\d{6,14}', '+41791234567'],
  ['\\(\\d{3}\\) [2-9]\\d{2}-\\d{4}', '(555) 234-5678'],
  ['\\(?\\d{3}\\)?[-. ]?\\d{3}[-. ]?\\d{4}', '555-234-5678'],
  ['\\d{5}(-\\d{4})?', '12345-6789'],
  ['[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}', 'SW1A 1AA'],
  ['(97[89][- ]?)?\\d{1,5}[- ]?\\d+[- ]?\\d+[- ]?[\\dX]', '978-3-16-148410-0'],
  ['(?=[\\dX]{10}$)\\d{9}[\\dX]', '316148410X'],
  ['arXiv:\\d{4}\\.\\d{4,5}(v\\d)?', 'arXiv:2601.12345v2'],
  ['#(?:[0-9a-fA-F]{3}){1,2}', '#ffAA00'],
  ['[+-]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+)?', '-12.5e+3'],
  ['(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[\\da-z.-]+)?(\\+[\\da-z.-]+)?', '1.12.3-beta.1+7'],
  ['https?://[\\w.-]+(:\\d+)?(/[\\w./?=&%-]*)?', 'https://ex.org:80/a?b=1'],
  ['[A-Z]{2}\\d{2}[A-Z0-9]{11,30}', 'CH9300762011623852957'],
  ['(?:4\\d{12}(?:\\d{3})?|5[1-5]\\d{14})', '4111111111111111'],
  ['[ABCD]', 'C'],
  ['[A-Ha-h]', 'g'],
  ['(yes|no|maybe)', 'maybe'],
  ['Mercury|Venus|Earth|Mars', 'Earth'],
  ['.*(pink|elephant).*', 'a pink one'],
  ['.*\\n?', 'all\n'],
  ['[^"\\n]*', 'some text'],
  ['[^\\W\\d_]\\w*', 'name_1'],
  ['"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"', '"a \\" b"'],
  ['\\[("\\w+"(, ?"\\w+")*)?\\]', '["a", "b"]'],
  ['\\{"name": ?"\\w{1,10}", ?"age": ?\\d{1,3}\\}', '{"name": "Jo", "age": 30}'],
  ['<(b|i)>[^<]*</(b|i)>', '<b>x</b>'],
  ['(\\s*\\w+\\s*){2,3}', ' a bc '],
  ['\\d+(,\\d{3})*(\\.\\d\\d)?', '1,234.50'],
  ['[😁-😎]+', '😂😎'],
  ['[àâäéèêëîïôöùûüç]+', 'éàç'],
  ['[\\u4e00-\\u9fff]{2,4}', '你好'],
  ['\\$\\d+|€\\d+', '€20'],
  ['a|b|', 'b'],
  ['()', ''],
  ['[a]', 'a'],
  ['a?b+c*d{2}e{1,}f{,2}g{1,3}', 'abbddefg'],
  ['a??b+?c*?d{2,3}?', 'abcdd'],
  ['[a-z]++\\d*+x?', 'abc12x'],
  ['"(?>[^"\\\\]++|\\\\.)*+"', '"a \\" b"'],
  ['(?>a|ab)c', 'ac'],
  ['(?:ab){2}', 'abab'],
  ['((a|b)(c|d))+', 'acbd'],
  // `pattern` of fields, as Pydantic's have it: searched for, in Rust's words or Python's.
  ['^foo$', 'foo'],
  ['^[a-z]+$', 'abc'],
  ['^\\d+$', '123'],
  ['^whatever\\d$', 'whatever1'],
  ['^apple (pie|tart|sandwich)$', 'apple tart'],
  ['^([a-zA-Z_][a-zA-Z0-9_]*)$', 'name_1'],
  ['^\\S+$', 'abc'],
  ['^\\S+@\\S+\\.\\S+$', 'a@b.c'],
  ['^.{2,5}$', 'abcd'],
  ['^(?!.*secret).*$', 'public'],
  ['^(?=.*\\d)(?=.*[a-z])[a-z\\d]{4,8}$', 'abc123'],
  ['^a(?=bc)bc$', 'abc'],
  ['^(?<!x)ab$', 'ab'],
  ['^\\w+(?<=ing)$', 'going'],
  ['^(?P<year>\\d{4})-(?P<month>\\d{2})$', '2026-11'],
  ['(?P<a>x)|(?P<b>y)', 'y'],
  ['(?i)^hello$', 'HeLLo'],
  ['(?i:yes|no)', 'YES'],
  ['a(?i:b)c', 'aBc'],
  ['(?is)a.b', 'A\nB'],
  ['(?s).+', 'a\nb'],
  ['(?m)^a$\\n^b$', 'a\nb'],
  ['(?x) a b # what\n c', 'abc'],
  ['(?-i:a)', 'a'],
  ['\\Aabc\\Z', 'abc'],
  ['\\bword\\b', 'word'],
  ['\\w\\B\\w', 'ab'],
  ['[\\w\\-]+', 'a-b'],
  ['[-a-z]+', 'a-b'],
  ['[a-z-]+', 'a-b'],
  ['[]a]+', 'a]'],
  ['[^]a]+', 'bc'],
  ['[\\]\\[]+', '[]'],
  ['[.*+?]+', '.*'],
  ['[\\d\\s]+', '1 2'],
  ['[\\D]+', 'ab'],
  ['[^\\s]+', 'ab'],
  ['\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\', '.*+?()[]{}|^$\\'],
  ['\\t\\n\\r\\f\\v', '\t\n\r\f\v'],
  ['\\x41\\u0042', 'AB'],
  ['\\U0001F600', '😀'],
  ['\\-\\/\\ \\#\\&\\~', '-/ #&~'],
  ['a{', 'a{'],
  ['a{x}', 'a{x}'],
  ['{a}', '{a}'],
  ['a(?#what)b', 'ab'],
  ['(a*)*', 'aa'],
  ['(a|ab)(c|bcd)(d*)', 'abcd'],
  ['(?:a|b)*abb', 'ababb'],
  ['(.+)x(.+)', 'axb'],
  ['\\d{3,}', '1234'],
  ['\\d{0}', ''],
  ['[0-9]{1,3}(?:\\.[0-9]{1,3}){0,2}', '1.22.333'],
  ['(?:[01]?\\d|2[0-4]):\\d\\d ?(?:am|pm)?', '9:05 am'],
]

const JUDGE = `
import json, re, sys
print(json.dumps([[re.compile(p).fullmatch(t) is not None for t in texts] for p, texts in json.load(sys.stdin)]))
`

/** Texts near one: a letter more, fewer, another, and what it has twice. */
const near = (text: string, seed: number): string[] => {
  // Of letters beyond ASCII \w is Python's own matter, and here ECMAScript's.
  const letters = [...'aZ09 .-_"\n#]€😀', ...text]
  const change = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...letters)).map(([at, how, letter]) => (of: string) => {
    const all = [...of]
    all.splice(at % (all.length + 1), how === 0 ? 0 : 1, ...(how === 2 ? [] : [letter]))
    return all.join('')
  })
  const changed = fc.array(change, { maxLength: 3 }).map((changes) => changes.reduce((of, make) => make(of), text))
  return [text, ...fc.sample(changed, { numRuns: 40, seed })]
}

const faults: string[] = []
const done: { readonly pattern: string; readonly texts: readonly string[]; readonly ours: readonly boolean[] }[] = []
for (const [i, [pattern, text]] of PATTERNS.entries()) {
  try {
    const compiled = regex(pattern)
    const texts = near(text, i)
    done.push({ pattern, texts, ours: texts.map((each) => compiled.accepts(each)) })
    if (!compiled.accepts(text)) faults.push(`${pattern} does not take ${JSON.stringify(text)}`)
  } catch (error) {
    console.log(`refused  ${pattern}: ${(error as Error).message}`)
  }
}
const input = JSON.stringify(done.map(({ pattern, texts }) => [pattern, texts]))
const options = { input, encoding: 'utf8', maxBuffer: 2 ** 28 } as const
const theirs: boolean[][] = JSON.parse(execFileSync('python3', ['-W', 'ignore', '-c', JUDGE], options))
let texts = 0
for (const [i, { pattern, texts: samples, ours }] of done.entries()) {
  texts += samples.length
  const other = samples.find((_, j) => ours[j] !== theirs[i]![j])
  if (other !== undefined) faults.push(`${pattern} is something else to Python, as of ${JSON.stringify(other)}`)
}
for (const fault of faults) console.log(`NO       ${fault}`)
const share = done.length / PATTERNS.length
console.log(
  `${done.length} of ${PATTERNS.length} patterns are done (${(100 * share).toFixed(1)} %), ${texts} texts judged by Python, ${faults.length} faults.`,
)
process.exit(share >= 0.99 && faults.length === 0 ? 0 : 1)
