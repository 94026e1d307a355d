/**
 * How long a model takes from a warm disk to the CPU device, beside reading its bytes, and how much memory that takes at
 * its peak beyond what stays: in Node and in Chromium, each in a process of its own, on a made-up model in Q4_0. In Node on
 * one thread in turns with memory that threads may share, into which files are read straight, and with the kernels' own, as
 * in pages: then the least and the middle of all turns.
 */
import { spawnSync } from 'node:child_process'
import { open, stat } from 'node:fs/promises'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import { median } from '../../src/bench/stats.js'
import { canUnpack } from '../../test/support/unpack.js'
import { writeGguf } from '../peers/gguf.js'
import { type Load, type Measured, measureLoad } from './load.js'

const MB = 1e6
/** As kernels on one thread have it in pages, and in Node. */
const MEMORIES = ['own', 'shared'] as const
type Memory = (typeof MEMORIES)[number]

async function readAll(path: string): Promise<number> {
  const file = await open(path)
  const chunk = new Uint8Array(1 << 22)
  const start = performance.now()
  let bytes = 0
  for (let read = -1; read !== 0; bytes += read) read = (await file.read(chunk, 0, chunk.length, bytes)).bytesRead
  const ms = performance.now() - start
  await file.close()
  return ms
}

async function keepAll(path: string): Promise<number> {
  const file = await open(path)
  const { size } = await file.stat()
  const start = performance.now()
  const kept = Array.from({ length: Math.ceil(size / (1 << 22)) }, () => new Uint8Array(1 << 22))
  for (const [i, chunk] of kept.entries()) await file.read(chunk, 0, chunk.length, i << 22)
  const ms = performance.now() - start
  await file.close()
  return ms
}

/** In a child of its own: what it kept counts in no peak. */
async function measureReading(path: string): Promise<void> {
  await readAll(path)
  const readMs = Math.min(await readAll(path), await readAll(path))
  console.log(JSON.stringify({ readMs, keptMs: await keepAll(path) }))
}

/** In the child. */
async function measure(path: string, threads: number, memory: Memory): Promise<void> {
  // As in a page that is not isolated: the device then has memory of its own.
  if (memory === 'own') delete (globalThis as { SharedArrayBuffer?: unknown }).SharedArrayBuffer
  const stay = async (load: Load) => {
    const peak = process.resourceUsage().maxRSS * 1024
    globalThis.gc?.()
    // Freed memory goes back to the system a moment later.
    await new Promise((resolve) => setTimeout(resolve, 100))
    console.log(JSON.stringify({ load, peak, stays: process.memoryUsage().rss }))
  }
  await measureLoad({ kind: 'folder', path }, threads, stay, () => {
    const { user, system } = process.cpuUsage()
    return { own: user / 1000, system: system / 1000 }
  })
}

function inNode(path: string, threads: string, memory: Memory): Measured {
  const child = (...what: string[]) => {
    const own = ['--expose-gc', ...process.execArgv, fileURLToPath(import.meta.url)]
    const { stdout, stderr } = spawnSync(process.execPath, [...own, ...what, '--threads', threads], {
      encoding: 'utf8',
    })
    if (!stdout) throw new Error(stderr)
    return JSON.parse(stdout)
  }
  return { ...child('--reading', path), ...child('--child', path, '--memory', memory) }
}

/** Rows of a table: of every figure the least and the middle one, for each memory, and how many times the own memory's. */
function compare(measured: Readonly<Record<Memory, readonly Measured[]>>): void {
  const figures: [string, (of: Load) => number][] = [
    ['the weights, by the clock', ({ weights }) => weights],
    ["the weights, the process's own time", ({ spent }) => spent!.own],
    ["the weights, the system's time", ({ spent }) => spent!.system],
    ['the weights, both times together', ({ spent }) => spent!.own + spent!.system],
  ]
  console.log(`| ${measured.own.length} loads each: least, middle | own memory, copied | shared, read straight | |`)
  console.log('|---|---|---|---|')
  for (const [name, figure] of figures) {
    const found = MEMORIES.map((memory) => {
      const all = measured[memory].map(({ load }) => figure(load))
      return [Math.min(...all), median(all)] as const
    })
    const [own, shared] = found as [(typeof found)[number], (typeof found)[number]]
    const ratios = shared.map((of, i) => (of / own[i]!).toFixed(2)).join(', ')
    const cells = found.map((of) => `${of.map((ms) => ms.toFixed(0)).join(', ')} ms`)
    console.log(`| ${[name, ...cells, ratios].join(' | ')} |`)
  }
}

function print(host: string, { readMs, keptMs, load: { device, head, weights }, peak, stays }: Measured): void {
  const ms = (of: number) => `${of.toFixed(0)} ms`
  const all = device + head + weights
  const parts = `device ${ms(device)}, head and vocabulary ${ms(head)}, weights ${ms(weights)}`
  const memory = `peak ${((peak - stays) / MB).toFixed(0)} MB above the ${(stays / MB).toFixed(0)} MB that stay`
  console.log(
    `${host}: read ${ms(readMs)}, to memory of its own ${ms(keptMs)}, loaded ${ms(all)} (${(all / readMs).toFixed(1)} and ${(all / keptMs).toFixed(1)} times: ${parts}); ${memory}`,
  )
}

interface Options {
  readonly runs: string
  readonly threads: string
  readonly chromium: boolean
  readonly child?: string
  readonly reading?: string
  readonly memory: Memory
}

await new Command('bench:loading')
  .argument('[shape]', `one of ${Object.keys(SHAPES).join(', ')}`, 'SmolLM2-135M-like')
  .option('--runs <count>', 'in each host', '3')
  .option('--threads <count>', 'of the CPU device in Node', '1')
  .option('--no-chromium', 'in Node alone')
  .addOption(new Option('--child <path>').hideHelp())
  .addOption(new Option('--reading <path>').hideHelp())
  .addOption(new Option('--memory <kind>').choices(MEMORIES).default('shared').hideHelp())
  .action(async (shape: string, { runs, threads, chromium, child, reading, memory }: Options) => {
    if (reading) return measureReading(reading)
    if (child) return measure(child, Number(threads), memory)
    const of = SHAPES[shape]
    if (!of) throw new Error(`No shape is called ${shape}.`)
    const { path, remove } = await writeGguf(`made-up/${shape}`, syntheticSource(of), 512)
    console.log(`${shape}, ${((await stat(path)).size / MB).toFixed(0)} MB`)
    // Several threads share theirs.
    const memories = Number(threads) > 1 ? (['shared'] as const) : MEMORIES
    const measured: Record<Memory, Measured[]> = { own: [], shared: [] }
    for (let run = 0; run < Number(runs); run++) {
      for (const memory of memories) {
        const found = inNode(path, threads, memory)
        measured[memory].push(found)
        print(`Node, ${memory} memory`, found)
      }
    }
    if (measured.own.length > 0) compare(measured)
    for (let run = 0; run < Number(runs) && chromium && canUnpack; run++)
      print('Chromium', await (await import('./chromium.js')).inChromium(path))
    await remove()
  })
  .parseAsync()
process.exit(0)
