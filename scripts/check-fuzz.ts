/**
 * `npx tsx scripts/check-fuzz.ts [requests] [seed] [path...]`: hostile requests, to these paths alone where some are named;
 * none is answered with 5xx, none hangs.
 */
import process from 'node:process'
import fc from 'fast-check'
import { fuzzTarget } from './fuzz.js'
import { hostile, hostileTo } from './fuzz-requests.js'

const numRuns = Number(process.argv[2] ?? 100_000)
const seed = process.argv[3] === undefined ? undefined : Number(process.argv[3])
const paths = process.argv.slice(4)
const target = fuzzTarget()
const began = performance.now()
let done = 0
const outcome = await fc.check(
  fc.asyncProperty(paths.length > 0 ? hostileTo(paths) : hostile, async (each) => {
    const wrong = await target.try(each)
    if (++done % 10_000 === 0) console.log(`${done} requests, ${Math.round((performance.now() - began) / 1000)} s`)
    if (wrong !== undefined) throw new Error(wrong)
  }),
  { numRuns, seed },
)
if (outcome.failed) {
  console.error(fc.defaultReportMessage(outcome))
  process.exitCode = 1
} else console.log(`${numRuns} hostile requests: none answered with 5xx, none hung, every error body valid.`)
