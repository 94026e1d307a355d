/** In the page: the CPU device and wllama, one after the other, as often as asked. */
import { openCpuDevice } from '../../src/engines/webgpu/device/cpu/index.js'
import { loadCore } from '../../src/engines/webgpu/model/load.js'
import { decodeSpeed } from './decode.js'
import { randomSource, SHAPES } from './shapes.js'

interface Wllama {
  loadModel(files: Blob[], options: object): Promise<void>
  createCompletion(options: object): Promise<{ timings?: { predicted_per_second: number } }>
}

export interface PageResult {
  readonly device: string
  readonly ours: number[]
  readonly theirs: number[]
}

async function compare(name: string, threads: number, rounds: number, steps: number): Promise<PageResult> {
  const of = SHAPES.find((shape) => shape.name === name)!
  const module = (await import(/* @vite-ignore */ `${location.origin}/wllama.js`)) as {
    Wllama: new (paths: object, options: object) => Wllama
  }
  const quiet = { debug() {}, log() {}, warn() {}, error: console.error }
  const wllama = new module.Wllama({ default: '/wllama.wasm' }, { logger: quiet })
  const file = await (await fetch('/model.gguf')).blob()
  await wllama.loadModel([file], { n_ctx: 512, n_threads: threads, n_gpu_layers: 0, n_batch: 64 })
  const device = await openCpuDevice({ threads })
  const core = await loadCore(device, randomSource(of, 512), { contextLength: 512 })
  const result: PageResult = { device: device.info.name, ours: [], theirs: [] }
  for (let round = 0; round <= rounds; round++) {
    const ours = await decodeSpeed(core, 1, steps)
    const answer = await wllama.createCompletion({
      prompt: 'Once upon a time',
      max_tokens: steps,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: false,
    })
    // The first round warms up.
    if (round === 0) continue
    result.ours.push(ours)
    result.theirs.push(answer.timings?.predicted_per_second ?? Number.NaN)
  }
  return result
}

Object.assign(globalThis, { compare })
