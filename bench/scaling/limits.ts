/**
 * How cost grows to the limits that are named: contexts to 32k, batches to 16, vocabularies to 262k.
 * `npm run bench:scaling` measures made-up models and prints one table: each time beside the first of its group, and beside
 * what the cost model of SCALING.md, fitted to its own points, says of that growth. `--quick` goes a part of the way.
 */
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { coreCandidate } from '../../src/bench/candidates.js'
import { machine } from '../../src/bench/machine.js'
import type { BenchReport } from '../../src/bench/report.js'
import { run } from '../../src/bench/rounds.js'
import { settingsOf } from '../../src/bench/settings.js'
import { numbers } from '../families/plan.js'
import { version } from '../version.js'
import { fitCosts } from './fit.js'
import { HEAD, lineOf, measuredOf, type Step, stepsOf, TOKENS } from './growth.js'
import { pointsOf } from './points.js'

interface Options {
  readonly quick?: boolean
  readonly only?: RegExp
  readonly threads: readonly number[]
  readonly rounds: number
}

const folder = fileURLToPath(new URL('points/', import.meta.url))

async function measure({ shape, context, batch }: Step, threads: number, rounds: number): Promise<BenchReport> {
  const model = { id: `made-up/${shape}`, contextLength: Math.round(context * 1.2) + 4 * TOKENS + 64 }
  const candidate = coreCandidate({ name: 'it', model, device: 'cpu', threads, maxBatch: batch })
  const clock = threads === 1 ? 'processor' : 'wall'
  const settings = { promptLengths: [context], batches: [batch], tokens: TOKENS, rounds, leastSeconds: 0 } as const
  return run([candidate], settingsOf({ only: ['prompt', 'decode'], clock, ...settings }), { version, machine })
}

await new Command('bench:scaling')
  .option('--quick', 'a part of the way: contexts to 2,048, batches to 4')
  .option(
    '--only <pattern>',
    'steps whose name it is found in: context, batch, vocabulary',
    (text) => new RegExp(text, 'i'),
  )
  .option('--threads <list>', 'one table after the other', numbers, [1])
  .option('--rounds <n>', 'of each step, after one that warms up', Number, 2)
  .action(async ({ quick = false, only, threads, rounds }: Options) => {
    const names = readdirSync(folder).sort()
    const reports = names.map((name) => JSON.parse(readFileSync(folder + name, 'utf8')) as BenchReport)
    const costs = fitCosts(pointsOf(reports, 'cpu'))
    for (const count of threads) {
      console.log(`${count} thread${count === 1 ? '' : 's'}\n\n${HEAD}`)
      const found: { step: Step; measured: ReturnType<typeof measuredOf> }[] = []
      for (const step of stepsOf(quick).filter(({ group, shape }) => only?.test(`${group} ${shape}`) ?? true)) {
        const measured = measuredOf(await measure(step, count, rounds))
        found.push({ step, measured })
        const first = found.find((one) => one.step.group === step.group && one.step.of === step.of)!
        console.log(lineOf({ step, measured }, first, costs))
      }
      console.log('')
    }
    process.exit(0)
  })
  .parseAsync()
