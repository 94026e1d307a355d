import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type ModelShape, syntheticSource } from '../../src/bench/shapes.js'
import { weightsOf } from '../../src/bench/weights.js'
import { NANO } from '../../src/models/catalog.js'
import { halfToFloat } from '../../src/platform/half.js'
import { writeGguf } from './gguf.js'
import { GgufReader } from './gguf.test-helper.js'
import { wordOf } from './token-ids.js'

const SHAPE: ModelShape = { hidden: 64, inner: 96, layers: 1, heads: 4, keyHeads: 2, headSize: 16, vocabulary: 320 }
const { hidden, heads, keyHeads, headSize } = SHAPE
const THETA = 500_000

/** The same matrix as MLC has it. */
async function mlcRows(name: string, columns: number): Promise<number[][]> {
  const source = syntheticSource(SHAPE)
  const [codes, scales] = [(await source.read(`${name}.q_weight`)).data, (await source.read(`${name}.q_scale`)).data]
  const halves = new Uint16Array(scales.buffer, scales.byteOffset)
  const rows = (codes.length * 2) / columns
  const at = (i: number) => (((codes[i >> 1]! >> ((i & 1) * 4)) & 15) - 7) * halfToFloat(halves[i >> 5]!)
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, i) => at(row * columns + i)))
}

const written = async () => {
  const { path, remove } = await writeGguf('a/b', syntheticSource(SHAPE), 128)
  try {
    return new GgufReader(await readFile(path))
  } finally {
    await remove()
  }
}
const product = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
/** By the position: the values at `pair(i)` are turned together. */
function turned(values: readonly number[], position: number, pair: (i: number) => [number, number]): number[] {
  const out = [...values]
  for (let i = 0; i < headSize / 2; i++) {
    const angle = position * THETA ** ((-2 * i) / headSize)
    const [a, b] = pair(i)
    out[a] = values[a]! * Math.cos(angle) - values[b]! * Math.sin(angle)
    out[b] = values[a]! * Math.sin(angle) + values[b]! * Math.cos(angle)
  }
  return out
}

describe('a model as GGUF', () => {
  it('has exactly the same values, of all 16 codes', async () => {
    const [ours, theirs] = [await mlcRows('model.layers.0.mlp.down_proj', SHAPE.inner), await written()]
    // Codes under one scale: 16 values. Adding 0 makes of -0 what it equals.
    expect(new Set(ours.flat()).size).toBe(16)
    expect(theirs.rows('blk.0.ffn_down.weight').map((row) => row.map((value) => value + 0))).toEqual(ours)
  })

  it('attends alike: llama.cpp turns neighbours by their position where MLC turns halves', async () => {
    const file = await written()
    const qkv = await mlcRows('model.layers.0.self_attn.qkv_proj', hidden)
    const x = Array.from({ length: hidden }, (_, i) => Math.sin(i + 1))
    const y = Array.from({ length: hidden }, (_, i) => Math.cos(3 * i))
    const head = (rows: number[][], from: number, by: number[]) =>
      rows.slice(from, from + headSize).map((row) => product(row, by))
    for (let h = 0; h < heads; h++) {
      const key = Math.floor((h * keyHeads) / heads) * headSize
      const score = (q: number[], k: number[], pair: (i: number) => [number, number]) =>
        product(turned(q, 9, pair), turned(k, 4, pair))
      const mlc = score(head(qkv, h * headSize, x), head(qkv, heads * headSize + key, y), (i) => [i, i + headSize / 2])
      const [q, k] = [file.rows('blk.0.attn_q.weight'), file.rows('blk.0.attn_k.weight')]
      const llama = score(head(q, h * headSize, x), head(k, key, y), (i) => [2 * i, 2 * i + 1])
      expect(llama).toBeCloseTo(mlc, 6)
    }
  })

  it('says what the model is', async () => {
    const { metadata } = await written()
    expect(metadata.get('llama.rope.freq_base')).toBe(THETA)
    expect(metadata.get('llama.attention.layer_norm_rms_epsilon')).toBeCloseTo(1e-5)
    const words = metadata.get('tokenizer.ggml.tokens') as string[]
    expect(new Set(words).size).toBe(SHAPE.vocabulary)
    expect(words.at(-1)).toBe(wordOf(SHAPE.vocabulary - 1))
  })

  it('is of the decoder alone, where something points beside it: the built-in model, which is measured by default', async () => {
    const from = fileURLToPath(new URL('../../models/nano', import.meta.url))
    const { path, vocabulary, remove } = await writeGguf(NANO, await weightsOf({ id: NANO, from }), 128)
    try {
      expect(new GgufReader(await readFile(path)).metadata.get('llama.vocab_size')).toBe(vocabulary)
    } finally {
      await remove()
    }
  })

  it('is refused where parts of the model would be left out', async () => {
    const source = syntheticSource(SHAPE)
    const inner = { ...(source.chatConfig.model_config as object), tie_word_embeddings: false }
    const untied = { ...source, chatConfig: { ...source.chatConfig, model_config: inner } }
    await expect(writeGguf('a/b', untied, 128)).rejects.toThrow(/a\/b cannot be written as GGUF/)
  })
})
