/**
 * A language model as transformers.js loads it, small enough to be written in a moment: what comes next depends on the
 * last token alone. It knows nothing of JSON.
 */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const WIDTH = 8
const [FLOAT, INT64] = [1, 7]

/** A message of Protocol Buffers: numbers as varints, all else by length. */
function message(...fields: readonly (readonly [field: number, value: number | string | Uint8Array])[]): Uint8Array {
  const parts = fields.map(([field, value]) => {
    if (typeof value === 'number') return Buffer.concat([varint(field << 3), varint(value)])
    const bytes = Buffer.from(value as Uint8Array)
    return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes])
  })
  return Buffer.concat(parts)
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}

function weights(name: string, dims: readonly number[], random: () => number): Uint8Array {
  const values = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, () => random() * 2 - 1)
  const sizes = dims.map((dim) => [1, dim] as const)
  return message(...sizes, [2, FLOAT], [8, name], [9, new Uint8Array(values.buffer)])
}

function tensor(name: string, type: number, dims: readonly (string | number)[]): Uint8Array {
  const shape = message(...dims.map((dim) => [1, message(typeof dim === 'string' ? [2, dim] : [1, dim])] as const))
  return message([1, name], [2, message([1, message([1, type], [2, shape])])])
}

const node = (type: string, inputs: readonly string[], output: string) =>
  message(...inputs.map((input) => [1, input] as const), [2, output], [4, type])

/** Writes the folder of a model, with its tokenizer; the same numbers for the same `random`. */
export async function writeTinyModel(folder: string, files: TokenizerFiles, random: () => number): Promise<void> {
  const { vocabulary, eos } = files
  const graph = message(
    [1, node('Gather', ['table', 'input_ids'], 'states')],
    [1, node('MatMul', ['states', 'head'], 'logits')],
    [2, 'tiny'],
    [5, weights('table', [vocabulary, WIDTH], random)],
    [5, weights('head', [WIDTH, vocabulary], random)],
    [11, tensor('input_ids', INT64, ['batch', 'length'])],
    [12, tensor('logits', FLOAT, ['batch', 'length', vocabulary])],
  )
  await mkdir(join(folder, 'onnx'), { recursive: true })
  await writeFile(join(folder, 'onnx/model.onnx'), message([1, 8], [7, graph], [8, message([1, ''], [2, 13])]))
  const shape = { hidden_size: WIDTH, num_hidden_layers: 1, num_attention_heads: 1, num_key_value_heads: 1 }
  const config = { model_type: 'llama', architectures: ['LlamaForCausalLM'], vocab_size: vocabulary, ...shape }
  const ends = { eos_token_id: eos, pad_token_id: eos, bos_token_id: eos }
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, ...ends }))
  await writeFile(join(folder, 'generation_config.json'), JSON.stringify(ends))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(files.tokenizer))
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(files.config))
}

export interface TokenizerFiles {
  readonly tokenizer: unknown
  readonly config: unknown
  readonly vocabulary: number
  readonly eos: number
}
