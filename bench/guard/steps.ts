/** What prompts and steps ask of a GPU, model by model: of real shapes, with weights that nobody reads. */
import { FAMILIES } from '../../src/bench/families.js'
import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import { type SyntheticModel, syntheticWeights } from '../../src/bench/synthetic.js'
import type { SampleSettings, Sequence, StepInput } from '../../src/contract/token-model.js'
import { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import type { GpuTraits } from '../../src/device/gpu/kernels/kernel.js'
import type { Core } from '../../src/models/core.js'
import type { WeightSource } from '../../src/models/files/source.js'
import { loadCore } from '../../src/models/load.js'
import { blockBytes, isBlockType } from '../../src/platform/block-types.js'
import { SAMPLE } from '../profile/measure.js'
import type { Counts } from './compare.js'
import { StillGpu } from './still-gpu.js'

/** GPUs as they differ to our kernels. */
export const GPUS: Readonly<Record<string, GpuTraits>> = {
  'with f16': { serial: false, lanes: 32, half: true },
  'without f16': { serial: false, lanes: 32, half: false },
  'without subgroups': { serial: false, lanes: 1, half: false },
  'in software': { serial: true, lanes: 1, half: false },
}

const [NEAR, FAR] = [128, 1024]
const BATCH = 8

/** So many layers of a family show all kinds that it has, but of those whose last layers share what earlier ones keep. */
const LAYERS = 6
const SHARED = /Gemma-4/
const CHOSEN = [
  ...['Qwen3-0.6B', 'Qwen3.5-0.8B', 'Gemma-3-270M', 'Gemma-4-E2B', 'LFM2-350M', 'Granite-4.0-1.6B'],
  ...['Ministral-3-3B', 'Phi-4-mini-3.8B', 'SmolLM3-3B'],
]

/** Of two sizes all that is worth a look, of each family a step: what it adds to Llama's is layers of its own. */
export async function countSteps(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  const shapes = { 'SmolLM2-135M-like': Object.keys(GPUS), 'Llama-3.2-1B-like': ['with f16'] }
  for (const [name, gpus] of Object.entries(shapes)) {
    const source = ofZeros(syntheticSource(SHAPES[name]!))
    for (const gpu of gpus) found[`${name}, ${gpu}`] = await countModel(source, GPUS[gpu]!, true)
  }
  for (const name of CHOSEN) {
    const model = FAMILIES[`${name}-like`]!()
    const source = ofZeros(syntheticWeights(SHARED.test(name) ? model : cut(model)))
    found[`${name}-like, with f16`] = await countModel(source, GPUS['with f16']!, false)
  }
  return found
}

function cut({ naming, config, tensors }: SyntheticModel): SyntheticModel {
  const layers = config.num_hidden_layers
  const shorter = Object.entries(config).map(([name, value]) => {
    return [name, Array.isArray(value) && value.length === layers ? value.slice(0, LAYERS) : value]
  })
  return {
    naming,
    config: { ...Object.fromEntries(shorter), num_hidden_layers: LAYERS },
    tensors: tensors.filter(([name]) => Number(/\.layers\.(\d+)\./.exec(name)?.[1] ?? 0) < LAYERS),
  }
}

async function countModel(source: WeightSource, traits: GpuTraits, whole: boolean): Promise<Counts> {
  const gpu = new StillGpu()
  const device = new GpuDevice(gpu.device, { name: 'still', reason: 'It is counted.', traits, submitWork: 2 ** 33 })
  const core = await loadCore(device, source, { contextLength: 2048, cacheTokens: BATCH * 2048, maxBatch: BATCH })
  const { made } = gpu.take().counts
  await core.prepare()
  const { pipelines } = gpu.take().counts
  const counter = new StepCounter(core, gpu)
  const steps: Record<string, Counts> = { [`a step after ${NEAR}`]: await counter.steps(1, NEAR) }
  if (whole) {
    const mask = new Uint32Array(Math.ceil(core.vocabSize / 32)).fill(0xffffffff)
    steps[`a prompt of ${NEAR}`] = await counter.prompt(NEAR)
    steps[`a prompt of ${FAR}`] = await counter.prompt(FAR)
    steps[`a step after ${FAR}`] = await counter.steps(1, FAR)
    steps[`a step of ${BATCH} after ${NEAR}`] = await counter.steps(BATCH, NEAR)
    steps[`a step of strict JSON after ${NEAR}`] = await counter.steps(1, NEAR, { mask })
    steps[`a step of 4 forced tokens after ${NEAR}`] = await counter.steps(1, NEAR, { mask }, 4)
    steps[`a greedy step after ${NEAR}`] = await counter.steps(1, NEAR, { temperature: 0 })
    steps[`8 steps without waiting, after ${NEAR}`] = await counter.ahead(NEAR, 8)
    steps[`8 steps of strict JSON, each begun before its mask is made, after ${NEAR}`] = await counter.follow(
      NEAR,
      8,
      mask,
    )
  }
  await core.close()
  return { 'bytes on the device': made, 'kernels made ready': pipelines, ...steps }
}

class StepCounter {
  readonly #core: Core
  readonly #gpu: StillGpu

  constructor(core: Core, gpu: StillGpu) {
    this.#core = core
    this.#gpu = gpu
  }

  /** The second of two: what a first one makes stays. */
  async #second(ask: () => Promise<unknown>): Promise<Counts> {
    await ask()
    this.#gpu.take()
    await ask()
    const { counts } = this.#gpu.take()
    const { dispatches, workgroups, barriers, submits, stalls, written, read, bindGroups, pipelines } = counts
    return { dispatches, workgroups, barriers, submits, stalls, written, read, bindGroups, pipelines }
  }

  async prompt(length: number): Promise<Counts> {
    return this.#second(async () => {
      const sequence = this.#core.open()
      await this.#append(sequence, length, SAMPLE)
      sequence.close()
    })
  }

  async steps(batch: number, behind: number, settings: Partial<SampleSettings> = {}, forced = 1): Promise<Counts> {
    const sequences = await this.#opened(batch, behind)
    const counts = await this.#second(async () => {
      const inputs = sequences.map((sequence): StepInput => {
        return { sequence, tokens: new Array(forced).fill(7), sample: { ...SAMPLE, ...settings } }
      })
      await this.#core.step(inputs)
      for (const sequence of sequences) sequence.truncate(behind)
    })
    for (const sequence of sequences) sequence.close()
    return counts
  }

  async ahead(behind: number, steps: number): Promise<Counts> {
    const [sequence] = (await this.#opened(1, behind)) as [Sequence]
    const counts = await this.#second(async () => {
      for await (const _ of this.#core.run([{ sequence, tokens: [7], sample: SAMPLE }], steps));
      sequence.truncate(behind)
    })
    sequence.close()
    return counts
  }

  async follow(behind: number, steps: number, mask: Uint32Array): Promise<Counts> {
    const [sequence] = (await this.#opened(1, behind)) as [Sequence]
    const sample = { ...SAMPLE, mask }
    const counts = await this.#second(async () => {
      const tokens = this.#core.follow!([{ sequence, tokens: [7], sample }])
      await tokens.next()
      for (let i = 1; i < steps; i++) await tokens.next([{ ...sample, index: i }])
      await tokens.return()
      sequence.truncate(behind)
    })
    sequence.close()
    return counts
  }

  async #opened(count: number, length: number): Promise<Sequence[]> {
    const sequences = Array.from({ length: count }, () => this.#core.open())
    for (const sequence of sequences) await this.#append(sequence, length)
    return sequences
  }

  async #append(sequence: Sequence, length: number, sample?: SampleSettings): Promise<void> {
    for (let left = length; left > 0; ) {
      const tokens: number[] = new Array(Math.min(left, this.#core.maxChunk)).fill(7)
      left -= tokens.length
      await this.#core.step([{ sequence, tokens, ...(left === 0 && sample && { sample }) }])
    }
  }
}

/** Without making up what nobody reads. */
export function ofZeros(weights: WeightSource): WeightSource {
  let zeros = new Uint8Array(0)
  return {
    ...weights,
    async read(name) {
      const { shape, dtype } = weights.describe(name)
      const count = shape.reduce((a, b) => a * b)
      const bytes = isBlockType(dtype) ? blockBytes(dtype, count) : count * (dtype === 'u32' ? 4 : 2)
      if (zeros.length < bytes) zeros = new Uint8Array(bytes)
      return { name, shape, dtype, data: zeros.subarray(0, bytes) }
    },
  }
}
