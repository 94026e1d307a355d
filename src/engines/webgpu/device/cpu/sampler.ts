/**
 * Sampling on the CPU device, as `sampling.ts` defines it: SIMD passes over the logits find the few tokens that matter,
 * and among these the choice is made in doubles.
 */
import { drawKey, GUMBEL_MAX, gumbel } from '../../sampling.js'
import { MAX_TOP, type SampledRow, type SampleRow, type Sampler, type SamplerShape } from '../device.js'
import type { DeviceMemory } from './memory.js'
import type { Kernels } from './wasm.js'

/** Reaches of temperature below the greatest logit within which the nucleus is looked for, one after the other. */
const REACHES = [4, 8, 16, 32, Number.POSITIVE_INFINITY]

export class CpuSampler implements Sampler {
  readonly shape: SamplerShape
  readonly bytes: number
  /** The token last sampled into each slot. */
  readonly slots: Int32Array
  readonly #memory: DeviceMemory
  readonly #kernels: Kernels
  /** A row of logits that may be changed, a list of ids, a mask. */
  readonly #values: number
  readonly #ids: number
  readonly #mask: number
  #alive = true

  constructor(memory: DeviceMemory, kernels: Kernels, shape: SamplerShape) {
    const { tokens } = shape
    this.#memory = memory
    this.#kernels = kernels
    this.shape = shape
    this.slots = new Int32Array(shape.slots)
    this.#values = memory.allocate(tokens * 4)
    this.#ids = memory.allocate(tokens * 4)
    this.#mask = memory.allocate(Math.ceil(tokens / 32) * 4)
    this.bytes = tokens * 8 + Math.ceil(tokens / 32) * 4
  }

  /** `logits`: where the row begins. */
  sample(logits: number, row: SampleRow): SampledRow {
    if (!this.#alive) throw new Error('This sampler was destroyed.')
    const { tokens } = this.shape
    const values = this.#adjusted(logits, row)
    const greatest = this.#kernels.greatest(values, tokens)
    const token = row.temperature > 0 ? this.#draw(values, row, greatest) : this.#first(values, greatest)
    this.slots[row.slot] = token
    return row.topLogprobs === undefined ? { token } : { token, ...this.#logprobs(logits, token, row.topLogprobs) }
  }

  /** Where the logits stand after adjustments and mask: the row itself if there are none. */
  #adjusted(logits: number, { adjust, mask }: SampleRow): number {
    if (!adjust && !mask) return logits
    const { tokens } = this.shape
    const { u8, f32, i32 } = this.#memory
    u8.copyWithin(this.#values, logits, logits + tokens * 4)
    if (adjust) {
      const base = this.#values / 4
      for (let i = 0; i < adjust.tokens.length; i++) {
        const token = adjust.tokens[i]!
        if (token < tokens) f32[base + token]! += adjust.deltas[i]!
      }
    }
    if (mask) {
      const words = Math.ceil(tokens / 32)
      const at = this.#mask / 4
      // A mask that is too short forbids what it does not reach.
      i32.fill(0, at + Math.min(mask.length, words), at + words)
      i32.set(mask.length > words ? mask.subarray(0, words) : mask, at)
      this.#kernels.forbid(this.#values, tokens, this.#mask)
    }
    return this.#values
  }

  #collect(values: number, least: number): Int32Array {
    const count = this.#kernels.collect(values, this.shape.tokens, least, this.#ids)
    return this.#memory.i32.subarray(this.#ids / 4, this.#ids / 4 + count)
  }

  #first(values: number, greatest: number): number {
    return this.#collect(values, greatest)[0] ?? 0
  }

  #draw(values: number, row: SampleRow, greatest: number): number {
    const { temperature, topP, seed, index } = row
    const inverse = 1 / temperature
    const key = drawKey(seed, index)
    let chosen = this.#first(values, greatest)
    let best = gumbel(key, chosen)
    const nucleus = topP < 1 ? this.#nucleus(values, row, greatest) : Number.NEGATIVE_INFINITY
    // Below this not even the luckiest draw beats the most likely token's; a little less, for the rounding to f32.
    const hopeless = greatest + (best - GUMBEL_MAX) * temperature - 1e-3 * temperature - Math.abs(greatest) * 1e-6
    const { f32 } = this.#memory
    const base = values / 4
    for (const token of this.#collect(values, Math.max(nucleus, hopeless))) {
      const x = (f32[base + token]! - greatest) * inverse
      if (!(x + GUMBEL_MAX > best)) continue
      const sum = x + gumbel(key, token)
      if (sum > best || (sum === best && token < chosen)) {
        best = sum
        chosen = token
      }
    }
    return chosen
  }

  /** The least value of the smallest set of most likely tokens that holds `topP` of the mass. */
  #nucleus(values: number, { temperature, topP }: SampleRow, greatest: number): number {
    const inverse = 1 / temperature
    const wanted = topP * this.#kernels.sumExp(values, this.shape.tokens, greatest, inverse)
    const { f32 } = this.#memory
    for (const reach of REACHES) {
      // -Infinity itself is forbidden: the least finite value bounds what is not.
      const ids = this.#collect(values, Math.max(greatest - reach * temperature, -3.4e38))
      const candidates = Float32Array.from(ids, (id) => f32[values / 4 + id]!).sort()
      let mass = 0
      for (let i = candidates.length - 1; i >= 0; i--) {
        mass += Math.exp((candidates[i]! - greatest) * inverse)
        if (mass >= wanted) return candidates[i]!
      }
    }
    return Number.NEGATIVE_INFINITY
  }

  #logprobs(logits: number, token: number, wanted: number): Omit<SampledRow, 'token'> {
    const { tokens } = this.shape
    const greatest = this.#kernels.greatest(logits, tokens)
    const total = greatest + Math.log(this.#kernels.sumExp(logits, tokens, greatest, 1))
    const { f32 } = this.#memory
    const of = (id: number) => f32[logits / 4 + id]!
    const top = this.#greatestOf(logits, Math.min(wanted, MAX_TOP, tokens), greatest)
    return { logprob: of(token) - total, top: top.map((id) => ({ token: id, logprob: of(id) - total })) }
  }

  /** Ids of the `count` greatest, greatest first, the lowest id first among equals. */
  #greatestOf(logits: number, count: number, greatest: number): number[] {
    if (count === 0) return []
    const { f32 } = this.#memory
    for (let reach = 4; ; reach *= 2) {
      const ids = this.#collect(logits, reach > 1e6 ? Number.NEGATIVE_INFINITY : greatest - reach)
      if (ids.length < count && reach <= 1e6) continue
      const of = (id: number) => f32[logits / 4 + id]!
      return [...ids].sort((a, b) => of(b) - of(a) || a - b).slice(0, count)
    }
  }

  destroy(): void {
    if (!this.#alive) return
    this.#alive = false
    for (const at of [this.#values, this.#ids, this.#mask]) this.#memory.free(at)
  }
}
