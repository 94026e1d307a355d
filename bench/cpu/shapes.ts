/** Decoders of known sizes with seeded random 4-bit weights: speed depends on shapes, not on what the weights say. */
import type { RawTensor, WeightSource } from '../../src/engines/webgpu/weights/source.js'

export interface Shape {
  readonly name: string
  readonly hidden: number
  readonly intermediate: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly vocabulary: number
}

export const SHAPES: readonly Shape[] = [
  shape('3M', 192, 512, 6, 6, 2, 32, 4096),
  shape('stories15M', 288, 768, 6, 6, 6, 48, 32000),
  shape('SmolLM2-135M', 576, 1536, 30, 9, 3, 64, 49152),
  shape('Qwen2.5-0.5B', 896, 4864, 24, 14, 2, 64, 151936),
]

function shape(name: string, ...sizes: [number, number, number, number, number, number, number]): Shape {
  const [hidden, intermediate, layers, heads, keyHeads, headSize, vocabulary] = sizes
  return { name, hidden, intermediate, layers, heads, keyHeads, headSize, vocabulary }
}

/** The matrices of one layer: name, rows, columns. */
export function layerMatrices(of: Shape): [string, number, number][] {
  const { hidden, intermediate, heads, keyHeads, headSize } = of
  return [
    ['self_attn.qkv_proj', (heads + 2 * keyHeads) * headSize, hidden],
    ['self_attn.o_proj', hidden, heads * headSize],
    ['mlp.gate_up_proj', 2 * intermediate, hidden],
    ['mlp.down_proj', hidden, intermediate],
  ]
}

export function parameters(of: Shape): number {
  const layer = layerMatrices(of).reduce((sum, [, rows, columns]) => sum + rows * columns, 0)
  return of.layers * layer + of.vocabulary * of.hidden
}

/** An MLC repository of the shape, made up as it is read. Embeddings and head are tied. */
export function randomSource(of: Shape, contextLength: number): WeightSource {
  const tensors = new Map<string, Omit<RawTensor, 'data'>>()
  const add = (name: string, dtype: RawTensor['dtype'], ...dims: number[]) =>
    tensors.set(name, { name, dtype, shape: dims })
  const matrix = (name: string, rows: number, columns: number) => {
    add(`${name}.q_weight`, 'u32', rows, columns / 8)
    add(`${name}.q_scale`, 'f16', rows, columns / 32)
  }
  matrix('model.embed_tokens', of.vocabulary, of.hidden)
  for (let i = 0; i < of.layers; i++) {
    for (const [name, rows, columns] of layerMatrices(of)) matrix(`model.layers.${i}.${name}`, rows, columns)
    add(`model.layers.${i}.input_layernorm.weight`, 'f16', of.hidden)
    add(`model.layers.${i}.post_attention_layernorm.weight`, 'f16', of.hidden)
  }
  add('model.norm.weight', 'f16', of.hidden)
  return {
    chatConfig: {
      model_type: 'llama',
      context_window_size: contextLength,
      model_config: {
        hidden_size: of.hidden,
        intermediate_size: of.intermediate,
        num_hidden_layers: of.layers,
        num_attention_heads: of.heads,
        num_key_value_heads: of.keyHeads,
        head_dim: of.headSize,
        vocab_size: of.vocabulary,
        tie_word_embeddings: true,
      },
    },
    names: [...tensors.keys()],
    has: (name) => tensors.has(name),
    describe: (name) => tensors.get(name)!,
    async read(name) {
      const tensor = tensors.get(name)!
      return { ...tensor, data: randomBytes(tensor) }
    },
    digest: `random ${of.name}`,
  }
}

/** Codes at random; scales and norms near the sizes that trained weights have. */
function randomBytes({ name, shape: dims, dtype }: Omit<RawTensor, 'data'>): Uint8Array {
  const count = dims.reduce((product, side) => product * side, 1)
  if (dtype === 'u32') {
    const words = new Uint32Array(count)
    let state = name.length * 7919 + count
    for (let i = 0; i < count; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      words[i] = state ^ (state >>> 15)
    }
    return new Uint8Array(words.buffer)
  }
  // f16: 1.0 for norms, about 2^-7 for scales.
  const halves = new Uint16Array(count).fill(name.endsWith('q_scale') ? 0x2000 : 0x3c00)
  return new Uint8Array(halves.buffer)
}
