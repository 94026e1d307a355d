/**
 * How many real schemas are enforced exactly: MaskBench's part and the JSON-Schema-Test-Suite in ../shared/schemas, or
 * `--file PATH` of the same form; and random documents (`--documents N`, default 40000, `--seed N`) over schemas as zod,
 * Pydantic, TypeBox, tools of MCP and OpenAPI write them. `--verbose` prints every instance on the wrong side. Exit code 1
 * below the bar.
 */

import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { type Case, type Judgement, judge, judgeDescribed, NOBODYS, type Verdict } from './schemas/judge.js'
import { ajvAccepts } from './schemas/oracle.js'
import { isStrictSubset } from './schemas/strict-subset.js'
import { WRITTEN } from './schemas/written/index.js'
import { checkWritten } from './schemas/written-documents.js'

interface Disputed {
  readonly id: string
  readonly test: number
  readonly reason: string
}

const { values: flags } = parseArgs({
  options: {
    file: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    documents: { type: 'string', default: '40000' },
    seed: { type: 'string', default: '1' },
  },
})
const here = (path: string) => new URL(path, import.meta.url)
const disputed = JSON.parse(readFileSync(here('./schemas/disputed.json'), 'utf8')) as readonly Disputed[]

function read(path: string | URL): Case[] {
  const bytes = readFileSync(path)
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case)
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`
}

function quantile(values: readonly number[], q: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0
}

const count = (judgements: readonly Judgement[], verdict: Verdict) =>
  judgements.filter((j) => j.verdict === verdict).length

function printGroups(judgements: readonly Judgement[]): void {
  const groups = new Map<string, number>()
  for (const { verdict, reason } of judgements) {
    if (verdict !== 'refused') continue
    const keyword = reason.split('\t')[0]!
    groups.set(keyword, (groups.get(keyword) ?? 0) + 1)
  }
  const ofSchema: readonly (readonly [string, RegExp])[] = [
    ['names a format that nobody defines', NOBODYS],
    ['misspells a word', /did you mean|is not a keyword/],
    ['admits no value', /no value can satisfy/],
  ]
  const own = ofSchema.map(([label, pattern]) => {
    return `${label} ${judgements.filter((j) => j.verdict === 'refused' && pattern.test(j.reason)).length}`
  })
  console.log(`  refused as the schema itself ${own.join(', ')}`)
  const listed = [...groups].sort((a, b) => b[1] - a[1]).map(([keyword, n]) => `${keyword} ${n}`)
  if (listed.length > 0) console.log(`  refused for: ${listed.join(', ')}`)
}

function printInstances(cases: readonly Case[], judgements: readonly Judgement[]): void {
  judgements.forEach((judgement, i) => {
    const { id, verdict, accepted, rejected, misjudged, reason } = judgement
    if (verdict === 'refused' && flags.verbose) console.log(`  refused ${id}: ${reason.replace('\t', ': ')}`)
    if (verdict === 'crashed') console.log(`  crashed ${id}: ${reason}`)
    if (verdict === 'accepting' || verdict === 'rejecting') {
      console.log(`  ${verdict} ${id}: accepted [${accepted.join()}], rejected [${rejected.join()}]`)
    }
    if (misjudged.length > 0) console.log(`  misjudged ${id}: [${misjudged.join()}]`)
    if (!flags.verbose) return
    for (const t of new Set([...accepted, ...rejected, ...misjudged])) {
      const { valid, data, description } = cases[i]!.tests[t]!
      const opinion = ajvAccepts(cases[i]!.schema, data)
      const text = JSON.stringify(data)
      console.log(
        `    ${t} labelled ${valid ? 'valid' : 'invalid'}, ajv says ${opinion}: ${description ?? ''} ${text.slice(0, 2000)}`,
      )
    }
  })
}

function summarise(name: string, judgements: readonly Judgement[]): void {
  const n = judgements.length
  const line = (label: string, verdict: Verdict) =>
    console.log(
      `  ${label.padEnd(18)} ${String(count(judgements, verdict)).padStart(6)}  ${percent(count(judgements, verdict), n)}`,
    )
  console.log(`${name}: ${n} schemas`)
  line('fully right', 'right')
  line('refused', 'refused')
  line('wrongly accepting', 'accepting')
  line('wrongly rejecting', 'rejecting')
  if (count(judgements, 'crashed') > 0) line('crashed', 'crashed')
}

function run(name: string, cases: readonly Case[]): Judgement[] {
  const ids = new Set(cases.map((one) => one.id))
  const listed = disputed.filter((dispute) => ids.has(dispute.id))
  const skipped = ({ id }: Case) => new Set(listed.filter((dispute) => dispute.id === id).map(({ test }) => test))
  const judgements = cases.map((one) => judge(one, skipped(one)))
  summarise(name, judgements)
  printGroups(judgements)
  const described = judgements.flatMap((judgement, i) => {
    return NOBODYS.test(judgement.reason) ? [judgeDescribed(cases[i]!, skipped(cases[i]!), judgement)] : []
  })
  if (described.length > 0) summarise('  of these, where `formats` says that such names only describe', described)
  printInstances(cases, judgements)
  const times = judgements.map((j) => j.compileMs)
  console.log(
    `  compile: p50 ${quantile(times, 0.5).toFixed(3)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms, most ${Math.max(...times).toFixed(1)} ms`,
  )
  const instances = cases.flatMap((one) => one.tests)
  const wrong = (key: 'accepted' | 'rejected' | 'misjudged') => judgements.reduce((sum, j) => sum + j[key].length, 0)
  console.log(
    `  instances: ${wrong('accepted')} of ${instances.filter((t) => !t.valid).length} invalid ones accepted, ` +
      `${wrong('rejected')} of ${instances.filter((t) => t.valid).length} valid ones rejected; ` +
      `${wrong('misjudged')} misjudged by their value`,
  )
  const strict = judgements.filter((_, i) => isStrictSubset(cases[i]!.schema))
  if (strict.length > 0) summarise(`  of these, OpenAI's strict keywords with closed objects`, strict)
  for (const { id, test, reason } of listed) console.log(`  disputed ${id} instance ${test}: ${reason}`)
  return judgements
}

/** A label may be disputed only where ajv contradicts it too. */
function checkDisputes(cases: readonly Case[]): string[] {
  return cases.flatMap((one) =>
    disputed
      .filter((dispute) => dispute.id === one.id)
      .filter(({ test }) => ajvAccepts(one.schema, one.tests[test]?.data) !== !one.tests[test]?.valid)
      .map(({ id, test }) => `${id} instance ${test} is listed as disputed, but ajv agrees with its label`),
  )
}

function misses(cases: readonly Case[], judgements: readonly Judgement[]): string[] {
  const n = judgements.length
  const strict = judgements.filter((_, i) => isStrictSubset(cases[i]!.schema))
  const found: string[] = []
  const bar = (label: string, holds: boolean) => {
    if (!holds) found.push(label)
  }
  bar('an invalid instance is accepted', count(judgements, 'accepting') === 0)
  bar('a schema crashes the compiler', count(judgements, 'crashed') === 0)
  bar(
    'an instance is misjudged by its value',
    judgements.every((one) => one.misjudged.length === 0),
  )
  bar('less than 85 % are fully right', count(judgements, 'right') >= 0.85 * n)
  bar('more than 14 % are refused', count(judgements, 'refused') <= 0.14 * n)
  bar('more than 0.2 % wrongly reject', count(judgements, 'rejecting') <= 0.002 * n)
  bar('more than 1 % of the strict subset are refused', count(strict, 'refused') <= 0.01 * strict.length)
  return found
}

/** Documents of schemas as libraries write them; what is wrong with any. */
function written(documents: number): string[] {
  const schemas = Object.values(WRITTEN).reduce((sum, all) => sum + Object.keys(all).length, 0)
  const found: string[] = []
  console.log(`As libraries write them: ${schemas} schemas`)
  for (const library of Object.keys(WRITTEN)) {
    const result = checkWritten(library, Math.ceil(documents / schemas), Number(flags.seed))
    console.log(
      `  ${library.padEnd(10)} ${result.documents} documents, ${result.byAjv} judged by ajv too, ${result.faults.length} wrong`,
    )
    for (const fault of result.faults.slice(0, 5)) console.log(`    ${fault}`)
    if (result.faults.length > 0) found.push(`a random document of ${library} breaks its schema`)
  }
  return found
}

const folder = here('../../shared/schemas/')
const random = flags.file === undefined ? written(Number(flags.documents)) : []
if (flags.file === undefined && !existsSync(folder)) {
  console.log('../shared/schemas is not here; name a file with --file')
  process.exit(random.length > 0 ? 1 : 0)
}
const main = flags.file === undefined ? read(new URL('maskbench.dev.jsonl.gz', folder)) : read(flags.file)
const found = [...random]
found.push(...misses(main, run(flags.file === undefined ? 'MaskBench' : 'File', main)))
found.push(...checkDisputes(main))
if (flags.file === undefined) {
  const suite = read(new URL('json-schema-test-suite.jsonl.gz', folder))
  run('JSON-Schema-Test-Suite', suite)
  found.push(...checkDisputes(suite))
}
for (const miss of found) console.log(`MISSED: ${miss}`)
process.exitCode = found.length > 0 ? 1 : 0
