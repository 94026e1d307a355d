/** What a step of decoding asks of GPUs whose products are cut in ways of their own: of one small shape, as it is cut most. */
import type { GpuTraits } from '../../src/device/gpu/kernels/kernel.js'
import { costOfStep, type Form } from '../step/step.js'
import { BLOCK_WAYS, WAYS } from '../step/ways.js'
import type { Counts } from './compare.js'

const SHAPE = 'SmolLM2-135M-like'
/** Whose rows are whole blocks of 256. */
const BLOCKS_SHAPE = 'Llama-3.2-1B-like'

export async function countCuts(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  for (const [name, traits] of Object.entries(WAYS)) found[name] = await count(SHAPE, traits, 'q4f16')
  for (const [name, traits] of Object.entries(BLOCK_WAYS)) {
    found[`Q4_K_M, ${name}`] = await count(BLOCKS_SHAPE, traits, 'Q4_K_M')
  }
  return found
}

async function count(shape: string, of: GpuTraits, form: Form): Promise<Counts> {
  const { dispatches, waits, waitsOfProducts, weights, activations } = await costOfStep(shape, of, form)
  return {
    dispatches,
    'barriers within workgroups': waits,
    'of them in products': waitsOfProducts,
    'bytes of weights': weights,
    'bytes of activations': activations,
  }
}
