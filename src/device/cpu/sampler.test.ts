import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SampleRow } from '../contract.js'
import { sampleRow } from '../sampling.js'
import { CONTROL } from './abi.js'
import { random } from './kernels.test-helper.js'
import { DeviceMemory } from './memory.js'
import { CpuSampler } from './sampler.js'
import { compileKernels, instantiate, type Kernels } from './wasm.js'

describe('the sampler', () => {
  let memory: DeviceMemory
  let kernels: Kernels
  beforeAll(async () => {
    memory = new DeviceMemory(CONTROL, false)
    kernels = await instantiate(await compileKernels('simd', false), memory.memory)
  })
  afterAll(() => expect(memory).toMatchObject({ bytes: 0, buffers: 0 }))

  /** Logits of `tokens` tokens as models give them: a few far above the rest, some equal. */
  function logitsOf(tokens: number, seed: number, spread: number): Float32Array {
    const next = random(seed)
    return Float32Array.from({ length: tokens }, () => {
      const value = (next() + next() + next() - 1.5) * spread + (next() < 0.02 ? spread : 0)
      return next() < 0.1 ? Math.round(value) : value
    })
  }

  function check(logits: Float32Array, tokens: number, row: SampleRow) {
    const sampler = new CpuSampler(memory, kernels, { vocabulary: logits.length, tokens, rows: 1, slots: 4 })
    const at = memory.allocate(logits.length * 4)
    try {
      memory.f32.set(logits, at / 4)
      const got = sampler.sample(at, row)
      const expected = sampleRow(logits, tokens, row, new Float32Array(logits.length))
      expect(got.token).toBe(expected.token)
      expect(sampler.slots[row.slot]).toBe(expected.token)
      expect(got.top?.map(({ token }) => token)).toEqual(expected.top?.map(({ token }) => token))
      if (expected.logprob !== undefined) expect(got.logprob).toBeCloseTo(expected.logprob, 4)
      for (const [i, { logprob }] of (expected.top ?? []).entries())
        expect(got.top![i]!.logprob).toBeCloseTo(logprob, 4)
      const after = memory.f32.subarray(at / 4, at / 4 + logits.length)
      expect(after.every((value, i) => value === logits[i])).toBe(true)
    } finally {
      memory.free(at)
      sampler.destroy()
      sampler.destroy()
    }
  }

  const settings = fc.record({
    tokens: fc.integer({ min: 1, max: 700 }),
    padding: fc.integer({ min: 0, max: 40 }),
    seed: fc.integer({ min: 0, max: 2 ** 40 }),
    index: fc.nat(5000),
    spread: fc.constantFrom(0.01, 1, 8, 40),
    temperature: fc.constantFrom(0, 0.01, 0.5, 1, 2),
    topP: fc.constantFrom(0.05, 0.5, 0.9, 0.99, 1),
    masked: fc.constantFrom(undefined, 0.02, 0.5, 1),
    adjusted: fc.boolean(),
    topK: fc.constantFrom(undefined, 1, 2, 7, 40, 1000),
    minP: fc.constantFrom(undefined, 1e-9, 0.05, 0.5, 1),
    typicalP: fc.constantFrom(undefined, 0, 0.2, 0.9, 1),
    xtcProbability: fc.constantFrom(undefined, 0, 0.5, 1),
    xtcThreshold: fc.constantFrom(undefined, 0, 0.01, 0.2),
    repeated: fc.constantFrom(undefined, 0.5, 1.3),
    topLogprobs: fc.constantFrom(undefined, 0, 1, 5, 20),
  })

  it('chooses what the definition chooses', () => {
    fc.assert(
      fc.property(settings, ({ tokens, padding, seed, index, spread, masked, adjusted, repeated, ...rest }) => {
        const logits = logitsOf(tokens + padding, seed, spread)
        // Padding would win if it were looked at.
        logits.fill(1000, tokens)
        const next = random(seed + 1)
        const row: SampleRow = { ...rest, slot: 3, seed, index }
        const mask = new Uint32Array(Math.ceil(tokens / 32) + (seed % 2))
        if (masked !== undefined) {
          for (let t = 0; t < tokens; t++) if (next() < masked) mask[t >>> 5]! |= 1 << (t & 31)
          mask[(seed % tokens) >>> 5]! |= 1 << ((seed % tokens) & 31)
        }
        const ids = Array.from({ length: 5 }, () => Math.floor(next() * tokens))
        // Of more tokens than there are, as a request may name padding.
        const pastTokens = Uint32Array.from({ length: mask.length + 1 }, () => next() * 2 ** 32)
        check(logits, tokens, {
          ...row,
          ...(repeated !== undefined && { repeats: { tokens: pastTokens, by: repeated } }),
          ...(masked !== undefined && { mask }),
          ...(adjusted && {
            adjust: {
              tokens: Int32Array.from(new Set(ids)),
              deltas: Float32Array.from(new Set(ids), () => next() * 9 - 4),
            },
          }),
        })
      }),
      { numRuns: 600 },
    )
  })

  it('forbids what a short mask does not reach', () => {
    const logits = Float32Array.from({ length: 100 }, (_, i) => i)
    check(logits, 100, { slot: 0, temperature: 0, topP: 1, seed: 1, index: 0, mask: Uint32Array.of(1 << 7) })
  })

  it('chooses what the definition chooses among very many tokens, however flat', () => {
    for (const [tokens, spread] of [
      [32003, 0.01],
      [32003, 2],
      [32003, 60],
    ] as const) {
      const logits = logitsOf(tokens, tokens, spread)
      for (const [topP, topK] of [[0.001], [0.3, 20], [0.95], [1, 3], [1]] as const) {
        for (const temperature of [0.8, 1e-6, 1e-42, 50]) {
          check(logits, tokens, { slot: 0, temperature, topP, ...(topK && { topK }), seed: 5, index: topP * 1000 })
        }
      }
    }
  })

  it('takes the token at which the nucleus is full, and none after it', () => {
    const logits = Float32Array.from([0.05, 0.3, 0.5, 0.15], Math.log)
    for (const topP of [0.5, 0.8, 0.95]) {
      for (let index = 0; index < 60; index++) check(logits, 4, { slot: 0, temperature: 1, topP, seed: 1, index })
    }
    const equal = new Float32Array(10).fill(3)
    for (let index = 0; index < 60; index++) check(equal, 10, { slot: 0, temperature: 1, topP: 0.5, seed: 1, index })
  })

  it('draws tokens about as often as they are likely', () => {
    const weights = [0.5, 0.25, 0.15, 0.1]
    const logits = Float32Array.from(weights, Math.log)
    const sampler = new CpuSampler(memory, kernels, { vocabulary: 4, tokens: 4, rows: 1, slots: 1 })
    const at = memory.allocate(16)
    memory.f32.set(logits, at / 4)
    const counts = [0, 0, 0, 0]
    const draws = 20000
    for (let index = 0; index < draws; index++) {
      counts[sampler.sample(at, { slot: 0, temperature: 1, topP: 1, seed: 9, index }).token]!++
    }
    memory.free(at)
    sampler.destroy()
    // Five standard deviations.
    for (const [i, p] of weights.entries()) {
      expect(Math.abs(counts[i]! - draws * p)).toBeLessThan(5 * Math.sqrt(draws * p * (1 - p)))
    }
  })
})
