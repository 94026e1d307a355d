/** A model in MLC's 4 bits as GGUF with the same codes, so that llama.cpp computes on the same numbers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readModel } from '../../src/models/architectures/index.js'
import type { WeightSource } from '../../src/models/files/source.js'
import type { AttentionLayer, ModelPlan } from '../../src/models/model-plan.js'
import { planTensors } from '../../src/models/plan-tensors.js'
import type { PlannedMatrix, PlannedTensors, PlannedVector } from '../../src/models/planned.js'
import { planPointing } from '../../src/models/pointing/plan-pointing.js'
import { readMatrix, readVector } from '../../src/models/tensors.js'
import { F32, Metadata, Q4_0, type Tensor, writeGgufFile } from './gguf-file.js'
import { FIRST_WORD, wordOf } from './token-ids.js'

export interface Gguf {
  readonly path: string
  readonly vocabulary: number
  remove(): Promise<void>
}

/** In a folder of its own, which `remove` deletes. Throws a `TypeError` where the model has parts that are not written. */
export async function writeGguf(model: string, source: WeightSource, context: number, quantize = false): Promise<Gguf> {
  const { architecture, model: plan } = readModel(source.chatConfig, model)
  if (plan.tied === false) throw notWritable(model)
  // What points beside a decoder writes no text, and llama.cpp has none of it.
  const trunk = planPointing(source, plan, model)?.trunk ?? source
  const planned = planTensors(trunk, architecture, plan, quantize)
  assertWritable(plan, planned, model)
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-gguf-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'model.gguf')
  try {
    await writeGgufFile(path, metadata(plan, model, context), tensors(plan, planned, source))
  } catch (error) {
    await remove()
    throw error
  }
  return { path, vocabulary: plan.vocabulary, remove }
}

function assertWritable({ architecture, layers }: ModelPlan, { embedding, head }: PlannedTensors, model: string): void {
  const four = embedding.quantize || (embedding.parts[0]?.stored === 'q4' && embedding.scaleType === 'f16')
  const plain = layers.every((layer) => {
    return layer.kind === 'attention' && layer.angles.scaling === undefined && layer.biased.length === 0
  })
  if (architecture === 'llama' && !head && plain && four) return
  throw notWritable(model)
}

function notWritable(model: string): TypeError {
  const can = 'a Llama in q4f16_1, its embeddings its head too, without scaled positions'
  return new TypeError(`${model} cannot be written as GGUF here: that takes ${can}.`)
}

function tensors(of: ModelPlan, planned: PlannedTensors, source: WeightSource): Tensor[] {
  const list: Tensor[] = []
  const norm = (name: string, vector: PlannedVector | undefined) =>
    vector &&
    list.push({
      name,
      dims: [of.hidden],
      type: F32,
      bytes: of.hidden * 4,
      data: async () => Buffer.from((await readVector(source, vector)).buffer),
    })
  const matrix = (
    name: string,
    of: PlannedMatrix,
    rows = of.rows,
    columns = of.columns,
    rowAt = (row: number) => row,
  ) =>
    list.push({
      name,
      dims: [columns, rows],
      type: Q4_0,
      bytes: (rows * columns * 18) / 32,
      data: async () => {
        const data = await readMatrix(source, of)
        if (data.format !== 'q4')
          throw new TypeError(`${name} is ${data.format}: only 4 bits are written as GGUF here.`)
        return toQ4_0(data.codes, data.scales, { rows, columns, rowAt })
      },
    })
  matrix('token_embd.weight', planned.embedding)
  norm('output_norm.weight', planned.norm)
  planned.layers.forEach(({ matrices, vectors }, i) => {
    const { heads, keyHeads, headSize: d, feedForward } = of.layers[i] as AttentionLayer
    const { size: inner } = feedForward
    const { qkv, output, gateUp, down } = matrices as Required<typeof matrices>
    const { attentionNorm, mlpNorm } = vectors
    const [queries, keys] = [heads * d, keyHeads * d]
    norm(`blk.${i}.attn_norm.weight`, attentionNorm)
    matrix(`blk.${i}.attn_q.weight`, qkv, queries, of.hidden, (row) => rotated(row, d))
    matrix(`blk.${i}.attn_k.weight`, qkv, keys, of.hidden, (row) => queries + rotated(row, d))
    matrix(`blk.${i}.attn_v.weight`, qkv, keys, of.hidden, (row) => queries + keys + row)
    matrix(`blk.${i}.attn_output.weight`, output)
    norm(`blk.${i}.ffn_norm.weight`, mlpNorm)
    matrix(`blk.${i}.ffn_gate.weight`, gateUp, inner)
    matrix(`blk.${i}.ffn_up.weight`, gateUp, inner, of.hidden, (row) => inner + row)
    matrix(`blk.${i}.ffn_down.weight`, down)
  })
  return list
}

/** llama.cpp turns neighbours by their position, MLC the two halves of a head: where a row of the former stands. */
function rotated(row: number, headSize: number): number {
  const within = row % headSize
  return row - within + (within & 1) * (headSize / 2) + (within >> 1)
}

interface Rows {
  readonly rows: number
  readonly columns: number
  /** Where the source has a row. */
  readonly rowAt: (row: number) => number
}

/** MLC's value is (code - 7) * scale, Q4_0's (code - 8) * scale: 15 - code under the negated scale is the same number. */
function toQ4_0(codes: Uint8Array, scales: Uint8Array, { rows, columns, rowAt }: Rows): Buffer {
  const out = Buffer.alloc((rows * columns * 18) / 32)
  const blocks = columns / 32
  let at = 0
  for (let row = 0; row < rows; row++) {
    const from = rowAt(row) * blocks
    for (let block = from; block < from + blocks; block++) {
      out[at++] = scales[block * 2]!
      out[at++] = scales[block * 2 + 1]! ^ 0x80
      const code = (i: number) => 15 - ((codes[block * 16 + (i >> 1)]! >> ((i & 1) * 4)) & 15)
      for (let i = 0; i < 16; i++) out[at++] = code(i) | (code(i + 16) << 4)
    }
  }
  return out
}

function metadata(of: ModelPlan, model: string, context: number): Metadata {
  const { heads, keyHeads, headSize, feedForward, angles } = of.layers[0] as AttentionLayer
  const out = new Metadata()
  out.text('general.architecture', 'llama')
  out.text('general.name', model)
  out.u32('llama.context_length', context)
  out.u32('llama.embedding_length', of.hidden)
  out.u32('llama.block_count', of.layers.length)
  out.u32('llama.feed_forward_length', feedForward.size)
  out.u32('llama.attention.head_count', heads)
  out.u32('llama.attention.head_count_kv', keyHeads)
  out.u32('llama.attention.key_length', headSize)
  out.u32('llama.attention.value_length', headSize)
  out.u32('llama.rope.dimension_count', headSize)
  out.float('llama.rope.freq_base', angles.theta)
  out.u32('llama.vocab_size', of.vocabulary)
  out.float('llama.attention.layer_norm_rms_epsilon', of.epsilon)
  addWords(out, of.vocabulary)
  return out
}

const CONTROL = ['<unk>', '<s>', '</s>']
const [NORMAL, UNKNOWN, MARK, BYTE] = [1, 2, 3, 6]

/** The words are made up; llama.cpp asks for a vocabulary with a token for each byte. */
function addWords(out: Metadata, size: number): void {
  const byte = (i: number) => `<0x${(i - CONTROL.length).toString(16).toUpperCase().padStart(2, '0')}>`
  const words = Array.from({ length: size }, (_, i) => CONTROL[i] ?? (i < FIRST_WORD ? byte(i) : wordOf(i)))
  const kind = (i: number) => (i === 0 ? UNKNOWN : i < CONTROL.length ? MARK : i < FIRST_WORD ? BYTE : NORMAL)
  out.text('tokenizer.ggml.model', 'llama')
  out.texts('tokenizer.ggml.tokens', words)
  out.floats('tokenizer.ggml.scores', new Float32Array(size))
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from({ length: size }, (_, i) => kind(i)),
  )
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', 2)
  // A prompt is what was asked for, and nothing before it.
  out.flag('tokenizer.ggml.add_bos_token', false)
  out.flag('tokenizer.ggml.add_space_prefix', false)
}
