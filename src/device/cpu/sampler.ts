/**
 * Sampling on the CPU device, as `sampling.ts` defines it: SIMD passes over the logits find the few tokens that matter,
 * and among these the choice is made in doubles.
 */
import { UNDRAWN } from '../../contract/index.js'
import { exp, log } from '../../platform/index.js'
import { MAX_TOP, type SampledRow, type SampleRow, type Sampler, type SamplerShape } from '../contract.js'
import { drawKey, gumbel, logSumExp, needsDetails, penaliseRepeats, rangeOf } from '../sampling.js'
import type { DeviceMemory } from './memory.js'
import type { Kernels } from './wasm.js'

/** More than the kernels' rounding: f32 puts e^x off by up to 87 * 2^-22. */
const SLACK = 1e-4
/** Times zero it is still zero in f32; anything else that it is multiplied with ends far below e^-87. */
const GREATEST_INVERSE = 1e30

export class CpuSampler implements Sampler {
  readonly shape: SamplerShape
  readonly bytes: number
  /** The token last sampled into each slot. */
  readonly slots: Int32Array
  readonly #memory: DeviceMemory
  readonly #kernels: Kernels
  /** A row of logits that may be changed, what the race writes, a list of ids, a mask. */
  readonly #values: number
  readonly #weights: number
  readonly #odds: number
  readonly #bound: number
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
    // The race writes four at a time.
    const raceBytes = Math.ceil(tokens / 4) * 16
    this.#weights = memory.allocate(raceBytes)
    this.#odds = memory.allocate(raceBytes)
    this.#bound = memory.allocate(4)
    this.#ids = memory.allocate(tokens * 4)
    this.#mask = memory.allocate(Math.ceil(tokens / 32) * 4)
    this.bytes = tokens * 8 + raceBytes * 2 + Math.ceil(tokens / 32) * 4
  }

  /** `logits`: where the row begins. */
  sample(logits: number, row: SampleRow): SampledRow {
    if (!this.#alive) throw new Error('This sampler was destroyed.')
    const { tokens } = this.shape
    if (!this.#kernels.areFinite(logits, tokens)) {
      // Passes that are under way already find a token that there is.
      this.slots[row.slot] = 0
      return { token: UNDRAWN }
    }
    const values = this.#adjusted(logits, row)
    const greatest = this.#kernels.greatest(values, tokens)
    // Drawing may forbid more.
    const admitted = row.admitted ? this.#massOf(logits, values, greatest, row) : undefined
    const token = row.temperature > 0 ? this.#draw(values, row, greatest) : this.#first(values, greatest)
    this.slots[row.slot] = token
    return needsDetails(row) ? { token, ...this.#logprobs(logits, token, row, admitted) } : { token }
  }

  /** Where the logits stand after adjustments and mask: the row itself if there are none. */
  #adjusted(logits: number, { repeats, adjust, mask }: SampleRow): number {
    if (!repeats && !adjust && !mask) return logits
    const { tokens } = this.shape
    const { u8, f32, i32 } = this.#memory
    u8.copyWithin(this.#values, logits, logits + tokens * 4)
    if (repeats) penaliseRepeats(f32, this.#values / 4, tokens, repeats)
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

  #idsAtLeast(values: number, least: number): Int32Array {
    const count = this.#kernels.idsAtLeast(values, this.shape.tokens, least, this.#ids)
    return this.#memory.i32.subarray(this.#ids / 4, this.#ids / 4 + count)
  }

  #first(values: number, greatest: number): number {
    return this.#idsAtLeast(values, greatest)[0] ?? 0
  }

  /** Where the values stand of which one is drawn, and the greatest of them: others are forbidden, in a copy. */
  #narrowed(values: number, row: SampleRow, greatest: number): readonly [values: number, greatest: number] {
    const { f32 } = this.#memory
    const of = (ids: Int32Array) => Float32Array.from(ids, (id) => f32[values / 4 + id]!)
    const [least, most] = rangeOf(row, greatest, (floor) => of(this.#idsAtLeast(values, floor)))
    if (least === Number.NEGATIVE_INFINITY && most === greatest) return [values, greatest]
    const ids = this.#idsAtLeast(values, least)
    const kept = of(ids)
    const at = this.#values / 4
    f32.fill(Number.NEGATIVE_INFINITY, at, at + this.shape.tokens)
    for (let i = 0; i < kept.length; i++) if (kept[i]! <= most) f32[at + ids[i]!] = kept[i]!
    return [this.#values, most]
  }

  /**
   * The winner of the race among all tokens, if it stands in the nucleus. If not, the nucleus lies wholly above it, and
   * so does the winner: the next race is among those above alone. No race needs anything sorted.
   */
  #draw(all: number, row: SampleRow, most: number): number {
    const { tokens } = this.shape
    const [values, greatest] = this.#narrowed(all, row, most)
    const { f32 } = this.#memory
    const key = drawKey(row.seed, row.index)
    const inverse = Math.min(1 / row.temperature, GREATEST_INVERSE)
    const [weights, odds] = [this.#weights, this.#odds]
    const total = this.#kernels.race(values, tokens, greatest, inverse, key, weights, odds, this.#bound)
    for (;;) {
      const token = this.#winner(values, row, greatest, key)
      const value = f32[values / 4 + token]!
      if (row.topP >= 1 || !(value < greatest)) return token
      const above = this.#kernels.raceAbove(values, tokens, value, weights, odds, this.#bound)
      if (!this.#reaches(values, row, greatest, value, above, total)) return token
    }
  }

  /** Who wins the race that the kernels have just narrowed down. */
  #winner(values: number, row: SampleRow, greatest: number, key: number): number {
    const { f32 } = this.#memory
    const least = f32[this.#bound / 4]!
    // Nothing is allowed.
    if (!(least < Infinity)) return this.#first(values, greatest)
    const inverse = 1 / row.temperature
    let chosen = 0
    let best = Number.NEGATIVE_INFINITY
    for (const token of this.#idsAtLeast(this.#odds, -least * (1 + SLACK))) {
      const sum = (f32[values / 4 + token]! - greatest) * inverse + gumbel(key, token)
      if (sum > best) {
        best = sum
        chosen = token
      }
    }
    return chosen
  }

  /** Whether the tokens above `value` alone hold the mass that the nucleus wants. */
  #reaches(values: number, row: SampleRow, greatest: number, value: number, mass: number, total: number): boolean {
    if (Math.abs(mass - row.topP * total) > SLACK * total) return mass >= row.topP * total
    // Too close for sums in f32: as it is defined.
    const { tokens } = this.shape
    const inverse = 1 / row.temperature
    const all = this.#memory.f32.subarray(values / 4, values / 4 + tokens)
    const weight = (value: number) => exp((value - greatest) * inverse)
    const wanted = row.topP * all.reduce((sum, each) => (each > -Infinity ? sum + weight(each) : sum), 0)
    let exact = 0
    for (const each of all
      .filter((each) => each > value)
      .sort()
      .reverse())
      exact += weight(each)
    return exact >= wanted
  }

  /** The log of e to the power of each allowed logit, summed up. */
  #massOf(logits: number, values: number, greatest: number, { repeats, adjust, mask }: SampleRow): number {
    const { tokens } = this.shape
    if (!repeats && !adjust) return greatest + log(this.#kernels.sumExp(values, tokens, greatest, 1))
    return logSumExp(this.#memory.f32.subarray(logits / 4, logits / 4 + tokens), tokens, mask)
  }

  #logprobs(
    logits: number,
    token: number,
    { topLogprobs: wanted, among }: SampleRow,
    admitted: number | undefined,
  ): Omit<SampledRow, 'token'> {
    const { tokens } = this.shape
    const greatest = this.#kernels.greatest(logits, tokens)
    const total = greatest + log(this.#kernels.sumExp(logits, tokens, greatest, 1))
    const { f32 } = this.#memory
    const of = (id: number) => f32[logits / 4 + id]!
    const extra = {
      ...(among && { among: among.map((id) => of(id) - total) }),
      ...(admitted !== undefined && { admitted: admitted - total }),
    }
    if (wanted === undefined) return extra
    const top = this.#greatestOf(logits, Math.min(wanted, MAX_TOP, tokens), greatest)
    return { logprob: of(token) - total, top: top.map((id) => ({ token: id, logprob: of(id) - total })), ...extra }
  }

  /** Ids of the `count` greatest, greatest first, the lowest id first among equals. */
  #greatestOf(logits: number, count: number, greatest: number): number[] {
    if (count === 0) return []
    const { f32 } = this.#memory
    for (let reach = 4; ; reach *= 2) {
      const ids = this.#idsAtLeast(logits, reach > 1e6 ? Number.NEGATIVE_INFINITY : greatest - reach)
      if (ids.length < count && reach <= 1e6) continue
      const of = (id: number) => f32[logits / 4 + id]!
      return [...ids].sort((a, b) => of(b) - of(a) || a - b).slice(0, count)
    }
  }

  destroy(): void {
    if (!this.#alive) return
    this.#alive = false
    for (const at of [this.#values, this.#weights, this.#odds, this.#bound, this.#ids, this.#mask]) {
      this.#memory.free(at)
    }
  }
}
