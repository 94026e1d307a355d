import { describe, expect, it } from 'vitest'
import { readDecoderConfig } from './config.js'
import { floatToHalf, halfToFloat } from './half.js'
import { ropeFrequencies } from './rope.js'

const SIZES = {
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  vocab_size: 100,
  rms_norm_eps: 1e-6,
}

describe('readDecoderConfig', () => {
  it('reads what MLC nests, and what transformers does not', () => {
    const mlc = readDecoderConfig({
      model_type: 'llama',
      context_window_size: 4096,
      model_config: { ...SIZES, num_key_value_heads: 2, position_embedding_base: 500000, context_window_size: 131072 },
    })
    expect(mlc).toMatchObject({
      keyHeads: 2,
      headSize: 16,
      ropeTheta: 500000,
      contextLength: 4096,
      qkvName: 'qkv_proj',
    })
    const plain = readDecoderConfig({ model_type: 'qwen3', ...SIZES, head_dim: 32, max_position_embeddings: 512 })
    expect(plain).toMatchObject({ keyHeads: 4, headSize: 32, contextLength: 512, headNorm: true, qkvName: 'c_attn' })
  })

  it('takes a sliding window where the model uses one', () => {
    const window = (config: object) => readDecoderConfig({ ...SIZES, ...config } as Record<string, unknown>).window
    expect(window({ model_type: 'mistral', sliding_window: 4096 })).toBe(4096)
    expect(window({ model_type: 'mistral', sliding_window: null })).toBeUndefined()
    expect(window({ model_type: 'mistral', sliding_window_size: -1 })).toBeUndefined()
    expect(window({ model_type: 'qwen2', sliding_window: 4096, use_sliding_window: false })).toBeUndefined()
    const qwen = readDecoderConfig({
      ...SIZES,
      model_type: 'qwen2',
      sliding_window: 32,
      use_sliding_window: true,
      max_window_layers: 1,
    })
    expect(qwen).toMatchObject({ window: 32, windowFrom: 1 })
  })

  it('refuses by name what it does not know', () => {
    const refused = (config: object) => () => readDecoderConfig(config as Record<string, unknown>, 'org/model')
    expect(refused({ model_type: 'gemma2', ...SIZES })).toThrow(/org\/model .*"gemma2".*llama/)
    expect(refused({ ...SIZES })).toThrow(/model_type/)
    expect(refused({ model_type: 'llama', ...SIZES, hidden_act: 'gelu' })).toThrow(/"gelu"/)
    expect(refused({ model_type: 'llama', ...SIZES, rope_scaling: { type: 'yarn', factor: 4 } })).toThrow(/"yarn"/)
    expect(refused({ model_type: 'llama', ...SIZES, vocab_size: undefined })).toThrow(/vocab_size/)
    expect(refused({ model_type: 'llama', ...SIZES, num_key_value_heads: 3 })).toThrow(/3 key heads/)
  })
})

describe('ropeFrequencies', () => {
  it('stretches only long wavelengths with llama3 scaling', () => {
    const scaling = { type: 'llama3', factor: 8, lowFrequency: 1, highFrequency: 4, originalLength: 8192 } as const
    const plain = ropeFrequencies(64, 500000)
    const scaled = ropeFrequencies(64, 500000, scaling)
    expect(scaled[0]).toBe(plain[0])
    expect(scaled[31]! / plain[31]!).toBeCloseTo(1 / 8, 12)
    for (let i = 1; i < 32; i++) expect(scaled[i]!).toBeLessThan(scaled[i - 1]!)
  })
})

describe('half precision', () => {
  it('keeps every half, and rounds what lies between to the nearer, ties to even', () => {
    for (let bits = 0; bits < 0x7c00; bits++) {
      expect(floatToHalf(halfToFloat(bits))).toBe(bits)
      const next = halfToFloat(bits + 1)
      if (next === Number.POSITIVE_INFINITY) break
      const middle = (halfToFloat(bits) + next) / 2
      expect(floatToHalf(middle)).toBe(bits % 2 === 0 ? bits : bits + 1)
      expect(floatToHalf(-middle) & 0x7fff).toBe(bits % 2 === 0 ? bits : bits + 1)
    }
    expect([floatToHalf(65520), floatToHalf(-1e9), floatToHalf(65519)]).toEqual([0x7c00, 0xfc00, 0x7bff])
  })
})
