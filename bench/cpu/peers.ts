/**
 * Decode speed of the CPU device beside llama.cpp's own code (node-llama-cpp) on the same 4-bit weights and the same
 * number of threads, in turn, in one run. The peer is no dependency of this repository: install it anywhere and say
 * where, `tsx bench/cpu/peers.ts --peers <folder with node_modules> [--shape SmolLM2-135M] [--threads 2] [--rounds 4]`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { openCpuDevice } from '../../src/engines/webgpu/device/cpu/index.js'
import { loadCore } from '../../src/engines/webgpu/model/load.js'
import { decodeSpeed } from './decode.js'
import { writeGguf } from './gguf.js'
import { randomSource, SHAPES } from './shapes.js'

const CONTEXT = 512

interface Sequence {
  evaluate(tokens: number[], options: object): AsyncGenerator<number>
  clearHistory(): Promise<void>
}
interface Peer {
  getLlama(options: object): Promise<{
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{ getSequence(): Sequence }>
    }>
    dispose(): Promise<void>
  }>
  LlamaLogLevel: { error: string }
}

const { values: options } = parseArgs({
  options: {
    peers: { type: 'string' },
    shape: { type: 'string', default: 'SmolLM2-135M' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '4' },
    steps: { type: 'string', default: '40' },
  },
})
if (!options.peers) throw new Error('Say where node-llama-cpp is installed: --peers <folder>.')

async function llamaSpeed(sequence: Sequence, steps: number): Promise<number> {
  await sequence.clearHistory()
  const prompt = Array.from({ length: 16 }, (_, i) => 300 + i)
  let start = 0
  let count = 0
  for await (const _ of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    if (count++ === 0) start = performance.now()
    if (count > steps) break
  }
  return steps / ((performance.now() - start) / 1000)
}

const of = SHAPES.find(({ name }) => name === options.shape)!
const threads = Number(options.threads)
const folder = mkdtempSync(join(tmpdir(), 'gguf-'))
try {
  const path = join(folder, 'model.gguf')
  await writeGguf(path, of, randomSource(of, CONTEXT), CONTEXT)
  const require = createRequire(join(resolve(options.peers), 'here.js'))
  const peer = (await import(pathToFileURL(require.resolve('node-llama-cpp')).href)) as Peer
  const llama = await peer.getLlama({
    gpu: false,
    build: 'never',
    maxThreads: threads,
    logLevel: peer.LlamaLogLevel.error,
  })
  const model = await llama.loadModel({ modelPath: path })
  const context = await model.createContext({ contextSize: CONTEXT, threads: { ideal: threads, min: threads } })
  const sequence = context.getSequence()
  const device = await openCpuDevice({ threads })
  const core = await loadCore(device, randomSource(of, CONTEXT), { contextLength: CONTEXT })
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round <= Number(options.rounds); round++) {
    const pair = [await decodeSpeed(core, 1, Number(options.steps)), await llamaSpeed(sequence, Number(options.steps))]
    // The first round warms up.
    if (round > 0) {
      ours.push(pair[0]!)
      theirs.push(pair[1]!)
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!
  console.table([
    {
      model: of.name,
      threads,
      device: device.info.name,
      'tokens/s': median(ours).toFixed(1),
      'llama.cpp': median(theirs).toFixed(1),
      ratio: (median(ours) / median(theirs)).toFixed(2),
      'best against best': (Math.max(...ours) / Math.max(...theirs)).toFixed(2),
    },
  ])
  await core.close()
  device.destroy()
  await llama.dispose()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
