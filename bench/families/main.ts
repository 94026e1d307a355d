/**
 * The CPU device beside llama.cpp, both reading the same file, in turns:
 * `chrt -r 1 npm run bench:families -- --peers FOLDER`, family by family; with `--full` whole models of 135M, 0.5B and 1B,
 * their prompts and what they write behind long ones. One thread is timed by what the process computed; with `--chromium`,
 * where ours runs in a page, by the clock. Rows are printed
 * as they are found: a run that is cut keeps them.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { installed } from '../peers/installed.js'
import { type Measured, median, verdictOf } from './bars.js'
import { FORMS } from './blocks.js'
import { chromiumSide } from './in-chromium.js'
import { type Llama, theirSide } from './llama.js'
import { writeFamily } from './models.js'
import { ourSide } from './ours.js'
import { formOf, labelOf, numbers, type Options, type Row, rowsOf, runsOf } from './plan.js'
import type { Side } from './side.js'

/** What one thread computed; but what a page computes, another process does. */
function clockOf(threads: number, elsewhere: boolean): () => number {
  if (threads > 1 || elsewhere) return () => performance.now()
  return () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}

/** Steps until our device has tried whether its threads help (`TeamTrial`), a few of them on one alone. */
const TRIED = 8

/** Both in turns, each round the other way about; a first round warms up unless it alone takes half of the time. */
async function speedsOf(us: Side, them: Side, row: Row, { rounds, tokens, seconds }: Options): Promise<number[]> {
  const { what, length, threads } = row
  if (what === 'decode') {
    for (const side of [us, them]) {
      await side.fill(length)
      if (threads > 1) await side.write(TRIED)
    }
  }
  const ask = (side: Side) => (what === 'prompt' ? side.read(length) : side.write(tokens))
  const speeds = new Map<Side, number[]>([
    [us, []],
    [them, []],
  ])
  const start = performance.now()
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? [us, them] : [them, us]) speeds.get(side)!.push(await ask(side))
    const spent = (performance.now() - start) / 1000
    if (round === 0 && rounds > 0 && spent < seconds / 2) for (const all of speeds.values()) all.length = 0
    else if (spent >= seconds) break
  }
  return [...speeds.values()].map(median)
}

function lineOf(label: string, [ours, theirs]: readonly number[], bytes: number): string {
  const cells = [
    ours!.toFixed(1).padStart(8),
    theirs!.toFixed(1).padStart(10),
    (ours! / theirs!).toFixed(2).padStart(6),
  ]
  return `${label.padEnd(54)} ${cells.join(' ')}  ${Math.round(bytes / 1e6)} MB`
}

async function measure(rows: readonly Row[], options: Options): Promise<number> {
  const threads = Math.max(...rows.map((row) => row.threads))
  const library = await import(pathToFileURL(installed(options.peers, 'node-llama-cpp')).href)
  const logLevel = library.LlamaLogLevel.error
  const llama = (await library.getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel })) as Llama
  const folder = await mkdtemp(join(options.folder ?? tmpdir(), 'local-v1-families-'))
  const measured: Measured[] = []
  const close = async (cut: boolean): Promise<number> => {
    await rm(folder, { recursive: true, force: true })
    const { lines, kept } = verdictOf(measured, options.revectorize ?? false)
    const left = rows.length - measured.length
    console.log(['', ...lines, ...(left > 0 ? [`Cut: ${left} of ${rows.length} rows are missing.`] : [])].join('\n'))
    return cut || !kept ? 1 : 0
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => close(true).then(process.exit))
  console.log(`${'tokens/s, one answer'.padEnd(54)}     ours  llama.cpp  ratio`)
  for (const file of runsOf(rows, ({ family, type }) => `${family.like} ${type}`)) {
    const { family, type } = file[0]!
    const path = join(folder, 'model.gguf')
    const bytes = await writeFamily(path, family, type)
    for (const run of runsOf(file, ({ threads }) => `${threads}`)) {
      const [{ threads }] = run as [Row]
      const context = Math.max(...run.map(({ length }) => length)) + (options.rounds + 2) * (options.tokens + 1) + TRIED
      const { chromium = false, revectorize = false } = options
      const opened = { threads, context, clock: clockOf(threads, chromium), revectorize }
      const us = chromium ? await chromiumSide(path, opened) : await ourSide({ kind: 'folder', path }, opened)
      const them = await theirSide(llama, path, opened)
      for (const row of run) {
        const speeds = await speedsOf(us, them, row, options)
        const label = labelOf(row)
        measured.push({ ...row, label, ratio: speeds[0]! / speeds[1]! })
        console.log(lineOf(label, speeds, bytes))
      }
      await us.close()
      await them.close()
    }
  }
  return close(false)
}

await new Command('bench:families')
  .argument('[architectures...]', 'only these, by architecture or by the name of the model')
  .requiredOption('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--full', 'whole models of 135M, 0.5B and 1B, with all their layers and words')
  .option('--threads <list>', 'of both, one run after the other (1; of --full 1,2)', numbers)
  .option('--prompts <list>', 'tokens of prompts that are read (none; of --full 512,2048)', numbers)
  .option('--behind <list>', 'tokens behind which is written (32; of --full 512,8000)', numbers)
  .option('--type <name...>', `of the blocks: ${FORMS.join(', ')} (Q4_0 Q4_K; of --full Q4_0 Q4_K_M Q8_0 F16)`, formOf)
  .option('--only <pattern>', 'rows whose name it is found in', (pattern) => new RegExp(pattern, 'i'))
  .option('--rounds <n>', 'in which both take their turn', Number, 5)
  .option('--tokens <n>', 'of each answer', Number, 24)
  .option('--seconds <n>', 'after which a row has no further round', Number, 60)
  .option('--folder <folder>', 'where files are written, and removed from (that for temporary files)')
  .option('--chromium', 'ours in a page of a headless Chromium, timed by the clock')
  .option('--revectorize', 'ours with kernels in 256 bits (Node 24 on x64)')
  .option('--quick', 'short prompts, to see that it runs')
  .action(async (wanted: string[], options: Options) => {
    const rows = rowsOf(wanted, options)
    if (rows.length === 0) throw new TypeError('No row has such a name.')
    process.exit(await measure(rows, options))
  })
  .parseAsync()
