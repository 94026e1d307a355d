/**
 * Decoding on the CPU device beside llama.cpp, family by family, both reading the same file in 4 bits and writing in turns:
 * `chrt -r 1 npx tsx bench/families/main.ts --peers FOLDER`. One thread is timed by what the process computed.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { GREEDY } from '../../src/models/architectures/cases.test-helper.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'
import { installed } from '../peers/installed.js'
import type { BlockName } from './blocks.js'
import { FAMILIES, writeFamily } from './models.js'

/** What our users were promised. */
const BAR = 0.6
const PROMPT = Array.from({ length: 32 }, (_, i) => 300 + i)

interface Options {
  readonly peers: string
  readonly threads: string
  readonly rounds: string
  readonly tokens: string
  readonly type: BlockName[]
}

/** Tokens of one answer, by their times. */
type Answer = (tokens: number) => Promise<number>

function clockOf(threads: number): () => number {
  if (threads > 1) return () => performance.now()
  return () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}

async function ours(
  path: string,
  threads: number,
  clock: () => number,
): Promise<{ answer: Answer; close(): Promise<void> }> {
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository({ kind: 'folder', path }, options)
  const device = await openCpuDevice({ threads })
  const core = await loadCore(device, weights, { contextLength: 256, maxBatch: 1 })
  const { topLogprobs: _, ...sample } = GREEDY
  return {
    async answer(tokens) {
      const sequence = core.open()
      const [first] = await core.step([{ sequence, tokens: PROMPT, sample }])
      let token = first!.token
      const start = clock()
      for (let i = 0; i < tokens; i++) token = (await core.step([{ sequence, tokens: [token], sample }]))[0]!.token
      const seconds = (clock() - start) / 1000
      sequence.close()
      return tokens / seconds
    },
    async close() {
      await core.close()
      device.destroy()
    },
  }
}

interface Llama {
  loadModel(options: object): Promise<{
    createContext(options: object): Promise<{
      getSequence(): {
        evaluate(tokens: number[], options: object): AsyncGenerator<number>
        clearHistory(): Promise<void>
      }
      dispose(): Promise<void>
    }>
    dispose(): Promise<void>
  }>
}

async function theirs(llama: Llama, path: string, threads: number, clock: () => number) {
  const model = await llama.loadModel({ modelPath: path })
  const context = await model.createContext({ contextSize: 256, threads: { ideal: threads, min: threads } })
  const sequence = context.getSequence()
  return {
    async answer(tokens: number) {
      await sequence.clearHistory()
      let start = 0
      let count = 0
      for await (const _ of sequence.evaluate([...PROMPT], { temperature: 0, yieldEogToken: true })) {
        if (count === 0) start = clock()
        if (count++ === tokens) break
      }
      return (1000 * tokens) / (clock() - start)
    },
    async close() {
      await context.dispose()
      await model.dispose()
    },
  }
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!

await new Command('bench:families')
  .argument('[architectures...]', 'only these')
  .requiredOption('--peers <folder>', 'where node-llama-cpp is installed')
  .option('--threads <n>', 'of both', '1')
  .option('--rounds <n>', 'in which both take their turn', '5')
  .option('--tokens <n>', 'of each answer', '24')
  .option('--type <name...>', 'of the blocks: Q4_0, Q4_K, or Q4_K_M, which mixes Q6_K in', ['Q4_0', 'Q4_K'])
  .action(async (wanted: string[], { peers, threads: all, rounds, tokens, type: types }: Options) => {
    const threads = Number(all)
    const clock = clockOf(threads)
    const library = await import(pathToFileURL(installed(peers, 'node-llama-cpp')).href)
    const logLevel = library.LlamaLogLevel.error
    const llama = (await library.getLlama({ gpu: false, build: 'never', maxThreads: threads, logLevel })) as Llama
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-families-'))
    let below = 0
    console.log('family                  ours   llama.cpp  ratio   tokens/s, one answer')
    const asked = FAMILIES.filter(({ architecture }) => wanted.length === 0 || wanted.includes(architecture))
    for (const [family, type] of asked.flatMap((family) => types.map((type) => [family, type] as const))) {
      const path = join(folder, 'model.gguf')
      const bytes = await writeFamily(path, family, type)
      const [us, them] = [await ours(path, threads, clock), await theirs(llama, path, threads, clock)]
      const speeds = { us: [] as number[], them: [] as number[] }
      for (let round = 0; round <= Number(rounds); round++) {
        const [a, b] = [await us.answer(Number(tokens)), await them.answer(Number(tokens))]
        // The first warms up.
        if (round > 0) {
          speeds.us.push(a)
          speeds.them.push(b)
        }
      }
      await us.close()
      await them.close()
      const [a, b] = [median(speeds.us), median(speeds.them)]
      if (a / b < BAR) below++
      const cells = [
        `${family.like} ${type}`.padEnd(21),
        a.toFixed(1).padStart(6),
        b.toFixed(1).padStart(10),
        (a / b).toFixed(2).padStart(7),
      ]
      console.log(`${cells.join(' ')}${a / b < BAR ? ' <' : '  '} ${Math.round(bytes / 1e6)} MB`)
    }
    await rm(folder, { recursive: true })
    console.log(below === 0 ? `All are at ${BAR} or above.` : `${below} are below ${BAR}.`)
    process.exit(below === 0 ? 0 : 1)
  })
  .parseAsync()
