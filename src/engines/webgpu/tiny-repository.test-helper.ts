import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import type { RawTensor, WeightSource } from '../../models/files/source.js'

/** A decoder of two layers with seeded random weights, as a model repository in MLC's form (q0f32). */
const HIDDEN = 64
const LAYERS = 2
const HEADS = 4
const KEY_HEADS = 2
const HEAD_SIZE = 16
const INTERMEDIATE = 96

export interface TinyRepository {
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly source: WeightSource
}

/** `text`: whose tokens it has. */
export function tinyRepository(seed = 1, contextLength = 512, text = smallTokenizer()): TinyRepository {
  const { tokenizer, tokenizerConfig } = text
  const vocabulary = Object.keys(tokenizer.model.vocab).length + tokenizer.added_tokens.length
  const chatConfig = {
    model_type: 'llama',
    quantization: 'q0f32',
    context_window_size: contextLength,
    vocab_size: vocabulary,
    tokenizer_files: ['tokenizer.json', 'tokenizer_config.json'],
    model_config: {
      hidden_size: HIDDEN,
      intermediate_size: INTERMEDIATE,
      num_hidden_layers: LAYERS,
      num_attention_heads: HEADS,
      num_key_value_heads: KEY_HEADS,
      head_dim: HEAD_SIZE,
      vocab_size: vocabulary,
      rms_norm_eps: 1e-5,
      tie_word_embeddings: false,
    },
  }
  const tensors = makeTensors(vocabulary, seed)
  const shard = new Uint8Array(tensors.reduce((sum, tensor) => sum + tensor.data.byteLength, 0))
  let byteOffset = 0
  const records = tensors.map(({ name, shape, data }) => {
    shard.set(data, byteOffset)
    const record = { name, shape, dtype: 'float32', format: 'raw', nbytes: data.byteLength, byteOffset }
    byteOffset += data.byteLength
    return record
  })
  const cache = {
    metadata: { ParamSize: tensors.length, ParamBytes: shard.byteLength, BitsPerParam: 32 },
    records: [{ dataPath: 'params_shard_0.bin', format: 'raw-shard', nbytes: shard.byteLength, records }],
  }
  const files = new Map([
    ['mlc-chat-config.json', json(chatConfig)],
    ['tensor-cache.json', json(cache)],
    ['ndarray-cache.json', json(cache)],
    ['params_shard_0.bin', shard],
    ['tokenizer.json', json(tokenizer)],
    ['tokenizer_config.json', json(tokenizerConfig)],
  ])
  return { files, source: sourceOf(tensors, chatConfig, seed) }
}

/** Writes the repository into a folder. */
export async function writeRepository({ files }: TinyRepository, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
}

function makeTensors(vocabulary: number, seed: number): RawTensor[] {
  let state = seed >>> 0
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 31 - 1
  }
  const tensor = (name: string, shape: number[], scale: number, offset = 0): RawTensor => {
    const count = shape.reduce((product, side) => product * side, 1)
    const values = Float32Array.from({ length: count }, () => offset + scale * random())
    return { name, shape, dtype: 'f32', data: new Uint8Array(values.buffer) }
  }
  const tensors = [tensor('model.embed_tokens.weight', [vocabulary, HIDDEN], 1)]
  for (let i = 0; i < LAYERS; i++) {
    const at = `model.layers.${i}`
    tensors.push(
      tensor(`${at}.input_layernorm.weight`, [HIDDEN], 0.1, 1),
      tensor(`${at}.self_attn.qkv_proj.weight`, [(HEADS + 2 * KEY_HEADS) * HEAD_SIZE, HIDDEN], 0.25),
      tensor(`${at}.self_attn.o_proj.weight`, [HIDDEN, HEADS * HEAD_SIZE], 0.25),
      tensor(`${at}.post_attention_layernorm.weight`, [HIDDEN], 0.1, 1),
      tensor(`${at}.mlp.gate_up_proj.weight`, [2 * INTERMEDIATE, HIDDEN], 0.2),
      tensor(`${at}.mlp.down_proj.weight`, [HIDDEN, INTERMEDIATE], 0.2),
    )
  }
  tensors.push(tensor('model.norm.weight', [HIDDEN], 0.1, 1), tensor('lm_head.weight', [vocabulary, HIDDEN], 0.3))
  return tensors
}

function sourceOf(tensors: readonly RawTensor[], chatConfig: Record<string, unknown>, seed: number): WeightSource {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  return {
    chatConfig,
    names: [...byName.keys()],
    has: (name) => byName.has(name),
    describe: (name) => byName.get(name)!,
    read: async (name) => byName.get(name)!,
    digest: `tiny ${seed}`,
  }
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}
