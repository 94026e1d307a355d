/**
 * What answers tell of their values, over random schemas and texts, and over hostile texts:
 * `npm run check:evidence [-- COUNT] [--seed N]`. Each case is asked through the service, alone and whole, then in the
 * company of three others as a stream; `scripts/evidence/judge.ts` judges every source. Then texts of a megabyte.
 * `--quote` takes documents of quotes instead, each of which must be a stretch of what the user says.
 * Exits with 1 where anything is wrong. `--nano [--limit N]` prints instead what nano's confidence is worth.
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { evidenceCases, quoteCases } from './evidence/cases.js'
import { hostileFaults, hostileQuoteFaults } from './evidence/hostile.js'
import { printNano } from './evidence/nano.js'
import { evidenceTarget } from './evidence/run.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    nano: { type: 'boolean', default: false },
    quote: { type: 'boolean', default: false },
    limit: { type: 'string', default: '300' },
  },
})
if (values.nano) {
  await printNano(Number(values.limit))
  process.exit()
}
const count = Number(positionals[0] ?? 10_000)
const TOGETHER = 4
/** Cases made at once. */
const AT_ONCE = 500
const MOST_SHOWN = 20

const target = evidenceTarget()
const faults: string[] = []
for (let done = 0; done < count && faults.length < MOST_SHOWN; done += AT_ONCE) {
  const numRuns = Math.min(AT_ONCE, count - done)
  const cases = fc.sample(values.quote ? quoteCases : evidenceCases, { numRuns, seed: Number(values.seed) + done })
  for (let at = 0; at < cases.length; at += TOGETHER) faults.push(...(await target.try(cases.slice(at, at + TOGETHER))))
}
await target.close()
const { documents, values: valueCount, sources } = target.counts
console.log(`${count} schemas and texts: ${documents} whole documents, ${valueCount} values, ${sources} with a source`)
if (values.quote) {
  const { faults: more, slowest, texts } = hostileQuoteFaults(2 ** 20 - 16)
  console.log(`quotes of ${texts} hostile texts of a megabyte; the slowest: ${slowest}`)
  faults.push(...more)
} else {
  const { faults: more, slowest, searches } = hostileFaults(2 ** 20)
  console.log(`${searches} searches in hostile texts of a megabyte; the slowest: ${slowest}`)
  faults.push(...more)
}
for (const fault of faults.slice(0, MOST_SHOWN)) console.log(`\n${fault}`)
console.log(`${faults.length} faults`)
if (faults.length > 0) process.exitCode = 1
