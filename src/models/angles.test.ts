import { describe, expect, it } from 'vitest'
import { angleTable, frequencies } from './angles.js'
import { readModel } from './architectures/index.js'
import type { AttentionLayer } from './model-plan.js'

const CONFIG = {
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 1,
  num_attention_heads: 1,
  vocab_size: 8,
  rope_theta: 10000,
}
const anglesOf = (rope_scaling: object, more = {}) =>
  (readModel({ ...CONFIG, rope_scaling, ...more }).model.layers[0] as AttentionLayer).angles
const plain = { size: 64, theta: 10000 }

describe('scaled angles', () => {
  it('llama3: only long wavelengths are stretched', () => {
    const scaling = { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 }
    const scaled = frequencies(anglesOf({ ...scaling, original_max_position_embeddings: 8192 }), 16)
    const before = frequencies(plain, 16)
    expect(scaled[0]).toBe(before[0])
    expect(scaled[31]! / before[31]!).toBeCloseTo(1 / 8, 12)
    for (let i = 1; i < 32; i++) expect(scaled[i]!).toBeLessThan(scaled[i - 1]!)
  })

  it('yarn: pairs that turn more often than beta_fast stay, those below beta_slow are stretched', () => {
    const yarn = { type: 'yarn', factor: 4, original_max_position_embeddings: 4096 }
    const angles = anglesOf(yarn)
    const [scaled, before] = [frequencies(angles, 16), frequencies(plain, 16)]
    const ratio = (i: number) => scaled[i]! / before[i]!
    // Turns of a pair within the original length: its wavelengths there, by the definition of a frequency.
    const turns = Array.from(before, (frequency) => (4096 * frequency) / (2 * Math.PI))
    const last = turns.findLastIndex((count) => count > 32)
    const first = turns.findIndex((count) => count < 1)
    for (let i = 0; i <= last; i++) expect(ratio(i)).toBeCloseTo(1, 12)
    for (let i = first; i < 32; i++) expect(ratio(i)).toBeCloseTo(1 / 4, 12)
    for (let i = last + 1; i < first; i++) {
      // A straight line between the whole pairs around those two.
      const blend = 1 - (i - last) / (first - last)
      expect(ratio(i)).toBeCloseTo(blend + (1 - blend) / 4, 12)
    }
    // Its published factor of attention, on every cosine and sine.
    expect(angleTable(1, angles)[0]).toBeCloseTo(0.1 * Math.log(4) + 1, 6)
    expect(angleTable(1, anglesOf({ ...yarn, mscale: 1, mscale_all_dim: 1 }))[0]).toBe(1)
    expect(angleTable(1, anglesOf({ ...yarn, attention_factor: 0.5 }))[0]).toBe(0.5)
  })

  it('longrope: its own divisors for short contexts and for long ones', () => {
    const short = Array.from({ length: 32 }, (_, i) => 1 + i / 100)
    const long = Array.from({ length: 32 }, (_, i) => 2 + i)
    const more = { original_max_position_embeddings: 4096, max_position_embeddings: 131072 }
    const angles = anglesOf({ type: 'longrope', short_factor: short, long_factor: long }, more)
    const before = frequencies(plain, 1)
    for (const [length, divisors] of [
      [4096, short],
      [4097, long],
    ] as const) {
      const scaled = frequencies(angles, length)
      for (let i = 0; i < 32; i++) expect(before[i]! / scaled[i]!).toBeCloseTo(divisors[i]!, 10)
    }
    expect(angleTable(1, angles)[0]).toBeCloseTo(Math.sqrt(1 + Math.log(32) / Math.log(4096)), 6)
  })

  it('dynamic: plain within the length that the model was trained for, and no further', () => {
    const { model } = readModel({
      ...CONFIG,
      max_position_embeddings: 2048,
      context_window_size: 8192,
      rope_scaling: { type: 'dynamic', factor: 4 },
    })
    expect(model.contextLength).toBe(2048)
    expect(model.layers[0]).toMatchObject({ angles: plain })
  })
})
