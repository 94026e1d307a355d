/** GPUs as they differ in how the products of a step are cut. */
import { CUTS } from '../../src/device/gpu/kernels/cuts.js'
import type { GpuTraits } from '../../src/device/gpu/kernels/kernel.js'
import { GPUS } from '../guard/steps.js'

export const present = GPUS['with f16']!
const { vectors } = CUTS
const with32 = { ...vectors, lanes: 32 } as const

export const WAYS: Readonly<Record<string, GpuTraits>> = {
  'subgroups of 32': present,
  'subgroups of 64': { ...present, lanes: 64 },
  '32 lanes a row': { ...present, cuts: { vectors: with32 } },
  'workgroups of 16 KB': { ...present, tight: true },
  'activations in 8 bits': { ...present, packed: true, cuts: { vectors: { ...vectors, packed: true } } },
  both: { ...present, packed: true, cuts: { vectors: { ...with32, packed: true } } },
}

/** Those that matter to GGUF's blocks, whose cut does not hang on `vectors`. */
export const BLOCK_WAYS: Readonly<Record<string, GpuTraits>> = {
  'activations in f32': present,
  'activations in 8 bits': WAYS['activations in 8 bits']!,
}

/** Of products with many rows. */
export const PROMPT_WAYS: Readonly<Record<string, GpuTraits>> = {
  'without f16': { ...present, half: false },
  'tiles in one room': { ...present, cuts: { halves: { twice: false } } },
  'tiles in two rooms': present,
  'matrices of subgroups': { ...present, matrices: { M: 16, N: 16, K: 16, component: 'f16', lanes: 32 } },
}
