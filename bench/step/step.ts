/** What a step of decoding asks of a GPU and of the processor that records it, on a GPU that computes nothing. */
import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { groupOf } from '../../src/device/gpu/kernels/blocks.js'
import type { GpuTraits } from '../../src/device/gpu/kernels/kernel.js'
import { loadCore } from '../../src/models/load.js'
import { type BlockType, blockBytes, isBlockType } from '../../src/platform/block-types.js'
import { ofZeros } from '../guard/steps.js'
import { type Dispatched, StillGpu } from '../guard/still-gpu.js'
import { SAMPLE } from '../profile/measure.js'
import { inMixture } from './mixture.js'

export interface StepCost {
  readonly dispatches: number
  /** Between dispatches: what a dispatch needs is not there before an earlier one ends. */
  readonly barriers: number
  /** Within workgroups: `workgroupBarrier`s of all of them, one in a loop counted once. */
  readonly waits: number
  /** Those of products. */
  readonly waitsOfProducts: number
  /** Bytes of weights that products read, each once. */
  readonly weights: number
  /** Bytes of activations, gains and steps that invocations of products read, most of them from a cache. */
  readonly activations: number
}

const BEHIND = 128
/** Rounds before those that count: until then most of what records a step is compiled anew. */
const WARM = 6

/** How the weights are kept. */
export type Form = 'q4f16' | 'Q4_K_M'

export async function stillModel(shape: string, traits: GpuTraits, form: Form = 'q4f16') {
  const gpu = new StillGpu()
  const device = new GpuDevice(gpu.device, { name: 'still', reason: 'It is counted.', traits, submitWork: 2 ** 33 })
  const four = syntheticSource(SHAPES[shape]!)
  const source = ofZeros(form === 'q4f16' ? four : inMixture(four, SHAPES[shape]!.layers))
  const core = await loadCore(device, source, { contextLength: 512, cacheTokens: 1024, maxBatch: 1 })
  const sequence = core.open()
  await core.step([{ sequence, tokens: new Array(BEHIND).fill(7) }])
  const step = async () => {
    await core.step([{ sequence, tokens: [7], sample: SAMPLE }])
    sequence.truncate(BEHIND)
  }
  const read = async (rows: number) => {
    const other = core.open()
    await core.step([{ sequence: other, tokens: new Array(rows).fill(7) }])
    other.close()
  }
  // What a first step makes stays.
  await step()
  gpu.take()
  return { gpu, device, step, read, close: () => core.close() }
}

export async function costOfStep(shape: string, traits: GpuTraits, form: Form = 'q4f16'): Promise<StepCost> {
  const { gpu, step, close } = await stillModel(shape, traits, form)
  await step()
  const { counts, dispatched } = gpu.take()
  await close()
  const products = dispatched.filter(({ kernel }) => kernel.startsWith('matvec'))
  const sum = (of: (each: Dispatched) => number, from = dispatched) => from.reduce((all, each) => all + of(each), 0)
  return {
    ...{ dispatches: counts.dispatches, barriers: counts.barriers },
    ...{ waits: sum(waitsOf), waitsOfProducts: sum(waitsOf, products) },
    ...{ weights: sum(weightsOf, products), activations: sum(activationsOf, products) },
  }
}

function waitsOf({ source, workgroups }: Dispatched): number {
  return workgroups * (source.split('workgroupBarrier()').length - 1)
}

function shapeOf({ kernel }: Dispatched): [form: 'q4f16' | BlockType, rows: number, columns: number] {
  const [, form, rows, columns] = / (\w+) (\d+)x(\d+) by 1$/.exec(kernel)!
  return [isBlockType(form!) ? form : 'q4f16', Number(rows), Number(columns)]
}

/** As they are stored: four bits and a scale of 16 for each 32, or blocks. */
function weightsOf(product: Dispatched): number {
  const [form, rows, columns] = shapeOf(product)
  return rows * (form === 'q4f16' ? columns / 2 + columns / 16 : blockBytes(form, columns))
}

/** All of a row of activations, once for the rows of the matrix that an invocation holds. */
function activationsOf(product: Dispatched): number {
  const { kernel, source, workgroups } = product
  const [form, , columns] = shapeOf(product)
  const threads = Number(/@workgroup_size\((\d+)\)/.exec(source)![1])
  const lanes = Number(/index % (\d+)u;/.exec(source)![1])
  // In 8 bits, what is multiplied at a time is so by the step of its block: a word of codes, or what shares a scale.
  const steps = 4 / (form === 'q4f16' ? 8 : groupOf(form))
  const value = kernel.startsWith('matvecPacked') ? 1 + steps : /gain\[/.test(source) ? 8 : 4
  return workgroups * (threads / lanes) * columns * value
}

/** Milliseconds of the processor for a step: as it is, with each operation repeated by itself, and recorded anew as the first one is. */
export async function timesOfStep(shape: string, traits: GpuTraits, rounds = 7, steps = 40) {
  const { gpu, device, step, close } = await stillModel(shape, traits)
  gpu.counting = false
  const { tapes, passTapes } = device.gpu
  const [find, findPass] = [tapes.find.bind(tapes), passTapes.find.bind(passTapes)]
  const times: { whole: number[]; repeated: number[]; anew: number[] } = { whole: [], repeated: [], anew: [] }
  // In turn: what else the machine does then slows down both.
  for (let round = -WARM; round < rounds; round++) {
    for (const way of ['whole', 'repeated', 'anew'] as const) {
      tapes.find = way === 'anew' ? () => undefined : find
      passTapes.find = way === 'whole' ? findPass : () => undefined
      await step()
      const before = process.cpuUsage()
      for (let i = 0; i < steps; i++) await step()
      const { user, system } = process.cpuUsage(before)
      if (round >= 0) times[way].push((user + system) / 1000 / steps)
    }
  }
  await close()
  const middle = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1]!
  return { whole: middle(times.whole), repeated: middle(times.repeated), anew: middle(times.anew) }
}
