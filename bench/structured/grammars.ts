/** Context-free grammars that are hard to follow, each along one text: this package beside llguidance. */

import type { Tokenizer } from '../../src/generate/tokenizer/tokenizer.js'
import { gbnf, lark, structuralTag, type Vocabulary } from '../../src/grammar/structured.js'
import type { Entry } from './corpus.js'
import { type Measured, now, quantile } from './measure.js'
import { measureOurs } from './ours.js'
import { measurePeer } from './peer.js'

/** As the bars have it: microseconds of one byte, mask and step together. */
const LADDER_US = 1000
const BYTE_US = 5000
const COMPILE_US = 100_000
/** Of what llguidance takes for the same text, where it takes the grammar and comes to an end. */
const TIMES = 3

const lines = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i))

function ladder(levels: number): string {
  const rules = lines(levels, (i) => `e${i}: e${i + 1} "o${i};" e${i} | e${i + 1}`)
  return ['start: e0', ...rules, `e${levels}: "x" | "(" e0 ")"`].join('\n')
}

const GRAMMARS: Readonly<Record<string, readonly [string, string, number?]>> = {
  'a ladder of 18 levels': [ladder(18), `x${'o3;(xo17;x)o5;x'.repeat(40)}`, LADDER_US],
  'a ladder of 100 levels': [ladder(100), `x${'o3;(xo98;x)o5;x'.repeat(40)}`, LADDER_US],
  'eighteen rules that double': [
    ['start: r0', ...lines(18, (i) => `r${i}: r${i + 1} r${i + 1}`), 'r18: "a" | ""'].join('\n'),
    'a'.repeat(2000),
  ],
  'a loop in a loop': ['start: r\nr: ((r | "a") start+)*', 'a'.repeat(2000)],
  'sums in any order': [
    'start: e\ne: e "+" e | e "*" e | "-" e | "(" e ")" | "1"',
    '1+1*(1+-1)*1+'.repeat(150).slice(0, -1),
  ],
  palindromes: ['start: "a" start "a" | "b" start "b" | "a" | "b" | ""', `${'ab'.repeat(500)}${'ba'.repeat(500)}`],
  'one of three, doubled': ['start: start start | "a" | "b" | "c"', 'abc'.repeat(660)],
  'nested brackets': ['start: "(" start ")" start | ""', `${'('.repeat(1000)}${')'.repeat(1000)}`],
  'a small language': [
    [
      'start: (statement "\\n")*',
      'statement: id " = " sum ";" | "if (" sum ") {\\n" (statement "\\n")* "}" | "return " sum ";"',
      'sum: term (op term)*',
      'op: " + " | " - " | " * " | " < "',
      'term: id | number | "(" sum ")" | id "(" (sum (", " sum)*)? ")"',
      'id: /[a-z]/ | /[a-z]/ id',
      'number: /[0-9]/ | /[0-9]/ number',
    ].join('\n'),
    'foo = bar(1, x + 2) * (y - 314);\nif (a < b) {\nreturn a + b;\n}\n'.repeat(25),
  ],
}

/** Microseconds of each byte; a token's are shared among its bytes. */
function perByte({ maskUs, acceptUs }: Measured, tokens: readonly number[], vocabulary: Vocabulary): number[] {
  return maskUs.flatMap((us, i) => {
    const { length } = vocabulary.bytes(tokens[i]!)
    return new Array<number>(length).fill((us + (acceptUs[i] ?? 0)) / length)
  })
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)

/** As often as the other: of the whole text, of a byte at the median and at p99. */
function ratios(own: readonly number[], theirs: readonly number[]): { text: string; kept: boolean | undefined } {
  if (theirs.length === 0 || theirs.length !== own.length) return { text: '-', kept: undefined }
  const whole = sum(own) / sum(theirs)
  const at = (q: number) => (quantile(own, q) / quantile(theirs, q)).toFixed(2)
  return { text: `${whole.toFixed(2)} (${at(0.5)}, ${at(0.99)})`, kept: whole <= TIMES }
}

const shown = (us: number) =>
  Number.isNaN(us) ? '-' : us < 1000 ? `${us.toFixed(1)} us` : `${(us / 1000).toFixed(2)} ms`

/** Prints the table and how the bars are kept; `peer` is llguidance's file. */
export async function grammarTable(vocabulary: Vocabulary, tokenizer: Tokenizer, peer?: string): Promise<void> {
  const entries: Entry[] = Object.entries(GRAMMARS).map(([id, [source, text]]) => {
    return { id, lark: source, tokens: tokenizer.encodePlain(text) }
  })
  const others = peer === undefined ? [] : (await measurePeer(peer, entries)).results
  console.log(
    '| grammar | compile | byte p50 | byte p99 | longest token | llguidance: byte p50 | p99 | text of llguidance (p50, p99) | bars |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|')
  entries.forEach((entry, i) => {
    const own = measureOurs(entry, vocabulary)
    const bytes = perByte(own, entry.tokens!, vocabulary)
    const other = others[i]
    const theirs = other?.followed ? perByte(other, entry.tokens!, vocabulary) : []
    const bar = GRAMMARS[entry.id]![2] ?? BYTE_US
    const p99 = quantile(bytes, 0.99)
    const ratio = ratios(bytes, theirs)
    const kept = p99 <= bar && ratio.kept !== false ? 'kept' : 'MISSED'
    const verdict = own.followed ? kept : `${kept}, refused after ${bytes.length} bytes`
    const bars = ratio.kept === undefined ? shown(bar) : `${shown(bar)}, ${TIMES} times`
    console.log(
      `| ${entry.id} | ${shown(own.compileUs)} | ${shown(quantile(bytes, 0.5))} | ${shown(p99)} | ${shown(Math.max(...own.maskUs))} | ` +
        `${other && !other.followed ? other.outcome : shown(quantile(theirs, 0.5))} | ${shown(quantile(theirs, 0.99))} | ${ratio.text} | ${bars}: ${verdict} |`,
    )
  })
  const many = lines(40_000, (i) => `"word${i}"`).join(' | ')
  const tools = lines(1000, (i) => `get_${i}`).map((name, i) => ({
    begin: `<function=${name}>`,
    schema: { type: 'object', properties: { [`a${i}`]: { type: 'integer' } }, required: [`a${i}`] },
    end: '</function>',
  }))
  const compiled: Readonly<Record<string, () => unknown>> = {
    '40,000 alternatives, GBNF': () => gbnf(`root ::= ${many}`),
    '40,000 alternatives, Lark': () => lark(`start: ${many}`),
    'structural tags of 1,000 tools': () => structuralTag({ triggers: ['<function='], structures: tools }),
  }
  for (const [name, make] of Object.entries(compiled)) {
    const times = lines(3, () => '').map(() => {
      const started = now()
      make()
      return now() - started
    })
    const least = Math.min(...times)
    console.log(
      `${name}: compiled in ${shown(least)}, bar ${shown(COMPILE_US)}: ${least <= COMPILE_US ? 'kept' : 'MISSED'}`,
    )
  }
}
