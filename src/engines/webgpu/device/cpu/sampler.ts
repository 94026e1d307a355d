/** Sampling on the CPU device: `sampling.ts` over the logits where they lie. */
import { sampleRow } from '../../sampling.js'
import type { SampledRow, SampleRow, Sampler, SamplerShape } from '../device.js'
import type { DeviceMemory } from './memory.js'

export class CpuSampler implements Sampler {
  readonly shape: SamplerShape
  readonly bytes = 0
  /** The token last sampled into each slot. */
  readonly slots: Int32Array
  readonly #memory: DeviceMemory
  #scratch: Float32Array | undefined

  constructor(memory: DeviceMemory, shape: SamplerShape) {
    this.#memory = memory
    this.shape = shape
    this.slots = new Int32Array(shape.slots)
    this.#scratch = new Float32Array(shape.vocabulary)
  }

  /** `at`: where a row of logits begins. */
  sample(at: number, row: SampleRow): SampledRow {
    if (!this.#scratch) throw new Error('This sampler was destroyed.')
    const { vocabulary, tokens } = this.shape
    const logits = this.#memory.f32.subarray(at / 4, at / 4 + vocabulary)
    const sampled = sampleRow(logits, tokens, row, this.#scratch)
    this.slots[row.slot] = sampled.token
    return sampled
  }

  destroy(): void {
    this.#scratch = undefined
  }
}
