/**
 * A model of each family at the width of one that people run, with fewer layers and words, as GGUF in 4 bits: what llama.cpp
 * and our core read alike. Weights are made up; speed does not hang on them.
 */
import type { ModelShape } from '../../src/bench/shapes.js'
import { llamaMetadata } from '../../test/oracles/families/llama.js'
import { addWords } from '../../test/oracles/files/gguf.js'
import { F32, Metadata, type Tensor, writeGgufFile } from '../peers/gguf-file.js'
import { type BlockName, blocksOf, type Place } from './blocks.js'

type Sizes = Omit<ModelShape, 'vocabulary'>

/** By columns and rows in 4 bits, or values in f32; `fill`: what they are. */
interface Row {
  readonly name: string
  readonly dims: readonly number[]
  readonly fill?: number
}

export interface Family {
  /** Whose width it has. */
  readonly like: string
  readonly architecture: string
  readonly sizes: Sizes
  metadata?(out: Metadata): void
  layer(at: (name: string) => string, layer: number): Row[]
  /** @default 32,768 words, so that they do not hide the layers */
  readonly vocabulary?: number
  readonly rotated?: number
  readonly keyHeads?: readonly number[]
  /** Of each layer's MLP, where they differ. */
  readonly inner?: readonly number[]
  readonly norm?: string
  /** Its head is no embedding. */
  readonly head?: boolean
  /** What belongs to no layer, beside embedding, norm and head. */
  readonly beside?: readonly Row[]
}

const VOCABULARY = 32_768
const CONTEXT = 32_768

const sizes = (
  [hidden, inner, layers]: readonly [number, number, number],
  [heads, keyHeads, headSize]: readonly [number, number, number],
): Sizes => ({ hidden, inner, layers, heads, keyHeads, headSize })

const values = (name: string, count: number, fill = 1): Row => ({ name: `${name}.weight`, dims: [count], fill })
const matrix = (name: string, columns: number, rows: number): Row => ({ name: `${name}.weight`, dims: [columns, rows] })

type At = (name: string) => string
const norms = (at: At, { hidden }: Sizes, ...names: string[]) => names.map((name) => values(at(name), hidden))

function attention(at: At, { hidden, heads, keyHeads, headSize }: Sizes, gates = 1): Row[] {
  return [
    matrix(at('attn_q'), hidden, heads * headSize * gates),
    matrix(at('attn_k'), hidden, keyHeads * headSize),
    matrix(at('attn_v'), hidden, keyHeads * headSize),
    matrix(at('attn_output'), heads * headSize, hidden),
  ]
}
const headNorms = (at: At, { headSize }: Sizes) => ['q', 'k'].map((one) => values(at(`attn_${one}_norm`), headSize))

const mlp = (at: At, { hidden, inner }: Sizes): Row[] => [
  matrix(at('ffn_gate'), hidden, inner),
  matrix(at('ffn_up'), hidden, inner),
  matrix(at('ffn_down'), inner, hidden),
]

/** Llama, and what differs from it by numbers alone. */
function plain(like: string, architecture: string, of: Sizes, metadata?: (out: Metadata) => void): Family {
  const layer = (at: At) => [...norms(at, of, 'attn_norm', 'ffn_norm'), ...attention(at, of), ...mlp(at, of)]
  return { like, architecture, sizes: of, ...(metadata && { metadata }), layer }
}

/** `guesses`: with a head for it, which is a block behind the others. */
function qwen35(layers = 8, guesses = false): Family {
  const of = sizes([1024, 3584, guesses ? layers + 1 : layers], [8, 2, 256])
  const [heads, size] = [16, 128]
  const all = heads * size
  return {
    like: 'Qwen3.5 0.8B',
    architecture: 'qwen35',
    sizes: of,
    rotated: 64,
    metadata(out) {
      out.integers('qwen35.rope.dimension_sections', Int32Array.of(11, 11, 10, 0))
      out.u32('qwen35.ssm.conv_kernel', 4)
      out.u32('qwen35.ssm.state_size', size)
      out.u32('qwen35.ssm.group_count', heads)
      out.u32('qwen35.ssm.time_step_rank', heads)
      out.u32('qwen35.ssm.inner_size', all)
      out.u32('qwen35.full_attention_interval', 4)
      if (guesses) out.u32('qwen35.nextn_predict_layers', 1)
    },
    layer: (at, layer) => [
      ...norms(at, of, 'attn_norm', 'post_attention_norm'),
      ...mlp(at, of),
      ...(layer === layers
        ? [
            ...norms(at, of, 'nextn.enorm', 'nextn.hnorm', 'nextn.shared_head_norm'),
            matrix(at('nextn.eh_proj'), 2 * of.hidden, of.hidden),
          ]
        : []),
      ...(layer === layers || (layer + 1) % 4 === 0
        ? [...attention(at, of, 2), ...headNorms(at, of)]
        : [
            matrix(at('attn_qkv'), of.hidden, 3 * all),
            matrix(at('attn_gate'), of.hidden, all),
            matrix(at('ssm_beta'), of.hidden, heads),
            matrix(at('ssm_alpha'), of.hidden, heads),
            { name: at('ssm_conv1d.weight'), dims: [4, 3 * all], fill: 0.25 },
            { name: at('ssm_a'), dims: [heads], fill: -0.5 },
            { name: at('ssm_dt.bias'), dims: [heads], fill: 0.1 },
            values(at('ssm_norm'), size),
            matrix(at('ssm_out'), all, of.hidden),
          ]),
    ],
  }
}

function gemma3(): Family {
  const of = sizes([1152, 6912, 6], [4, 1, 256])
  return {
    like: 'Gemma 3 1B',
    architecture: 'gemma3',
    sizes: of,
    metadata: (out) => out.u32('gemma3.attention.sliding_window', 512),
    layer: (at) => [
      ...norms(at, of, 'attn_norm', 'post_attention_norm', 'ffn_norm', 'post_ffw_norm'),
      ...attention(at, of),
      ...headNorms(at, of),
      ...mlp(at, of),
    ],
  }
}

/** Of ten layers the last five see the keys and values of others, and have twice the MLP. */
function gemma4(): Family {
  const of = sizes([1536, 6144, 10], [8, 1, 512])
  const { hidden, inner, layers, heads, keyHeads, headSize } = of
  const [small, own, gifts] = [256, 5, 256]
  const isFull = (layer: number) => layer % 5 === 4
  const all = Array.from({ length: layers }, (_, layer) => layer)
  return {
    like: 'Gemma 4 E2B',
    architecture: 'gemma4',
    sizes: of,
    inner: all.map((layer) => (layer < own ? inner : 2 * inner)),
    metadata(out) {
      const u32 = (name: string, value: number) => out.u32(`gemma4.${name}`, value)
      u32('embedding_length_per_layer_input', gifts)
      u32('attention.key_length_swa', small)
      u32('attention.value_length_swa', small)
      u32('attention.shared_kv_layers', layers - own)
      u32('attention.sliding_window', 512)
      out.flags(
        'gemma4.attention.sliding_window_pattern',
        all.map((layer) => !isFull(layer)),
      )
      u32('rope.dimension_count_swa', small)
      out.float('gemma4.rope.freq_base_swa', 10_000)
      out.float('gemma4.final_logit_softcapping', 30)
    },
    beside: [
      matrix('per_layer_token_embd', layers * gifts, VOCABULARY),
      matrix('per_layer_model_proj', hidden, layers * gifts),
      values('per_layer_proj_norm', gifts),
      // A quarter of a full layer's pairs turns.
      values('rope_freqs', headSize / 2, 1),
    ],
    layer(at, layer) {
      const mine = { ...of, headSize: isFull(layer) ? headSize : small, inner: layer < own ? inner : 2 * inner }
      return [
        ...norms(at, mine, 'attn_norm', 'post_attention_norm', 'ffn_norm', 'post_ffw_norm', 'post_norm'),
        ...attention(at, { ...mine, heads, keyHeads }),
        ...headNorms(at, mine),
        ...mlp(at, mine),
        matrix(at('inp_gate'), hidden, gifts),
        matrix(at('proj'), gifts, hidden),
        { name: at('layer_output_scale.weight'), dims: [1], fill: 0.7 },
      ]
    },
  }
}

function lfm2(): Family {
  const of = sizes([2048, 8192, 6], [32, 8, 64])
  const attends = (layer: number) => layer % 3 === 2
  return {
    like: 'LFM2.5 1.2B',
    architecture: 'lfm2',
    sizes: of,
    norm: 'token_embd_norm',
    keyHeads: Array.from({ length: of.layers }, (_, layer) => (attends(layer) ? of.keyHeads : 0)),
    metadata: (out) => out.u32('lfm2.shortconv.l_cache', 3),
    layer: (at, layer) => [
      ...norms(at, of, 'attn_norm', 'ffn_norm'),
      ...mlp(at, of),
      ...(attends(layer)
        ? [...attention(at, of), ...headNorms(at, of)]
        : [
            matrix(at('shortconv.in_proj'), of.hidden, 3 * of.hidden),
            { name: at('shortconv.conv.weight'), dims: [3, of.hidden], fill: 0.3 },
            matrix(at('shortconv.out_proj'), of.hidden, of.hidden),
          ]),
    ],
  }
}

function phi3(): Family {
  const of = sizes([3072, 8192, 3], [24, 8, 128])
  const { hidden, inner, heads, keyHeads, headSize } = of
  return {
    like: 'Phi-4-mini',
    architecture: 'phi3',
    sizes: of,
    rotated: 96,
    metadata: (out) => out.u32('phi3.attention.sliding_window', 0),
    layer: (at) => [
      ...norms(at, of, 'attn_norm', 'ffn_norm'),
      matrix(at('attn_qkv'), hidden, (heads + 2 * keyHeads) * headSize),
      matrix(at('attn_output'), heads * headSize, hidden),
      matrix(at('ffn_up'), hidden, 2 * inner),
      matrix(at('ffn_down'), inner, hidden),
    ],
  }
}

function olmo2(): Family {
  const of = sizes([2048, 8192, 4], [16, 16, 128])
  return {
    like: 'OLMo 2 1B',
    architecture: 'olmo2',
    head: true,
    sizes: of,
    layer: (at) => [
      ...norms(at, of, 'post_attention_norm', 'post_ffw_norm', 'attn_q_norm', 'attn_k_norm'),
      ...attention(at, of),
      ...mlp(at, of),
    ],
  }
}

function qwen2(): Family {
  const of = sizes([896, 4864, 24], [14, 2, 64])
  const bias = (name: string, heads: number): Row => ({ name: `${name}.bias`, dims: [heads * of.headSize], fill: 0.1 })
  const layer = (at: At) => [
    ...norms(at, of, 'attn_norm', 'ffn_norm'),
    ...attention(at, of),
    bias(at('attn_q'), of.heads),
    bias(at('attn_k'), of.keyHeads),
    bias(at('attn_v'), of.keyHeads),
    ...mlp(at, of),
  ]
  return { like: 'Qwen2.5 0.5B', architecture: 'qwen2', sizes: of, layer }
}

function qwen3(): Family {
  const of = sizes([1024, 3072, 10], [16, 8, 128])
  const layer = (at: At) => [
    ...norms(at, of, 'attn_norm', 'ffn_norm'),
    ...headNorms(at, of),
    ...attention(at, of),
    ...mlp(at, of),
  ]
  return { like: 'Qwen3 0.6B', architecture: 'qwen3', sizes: of, layer }
}

/** All layers of the one of 0.8B, and its head that guesses. */
export const GUESSING = qwen35(24, true)

export const FAMILIES: readonly Family[] = [
  plain('Llama 3.2 1B', 'llama', sizes([2048, 8192, 5], [32, 8, 64])),
  qwen3(),
  qwen35(),
  gemma3(),
  gemma4(),
  lfm2(),
  phi3(),
  plain('SmolLM3 3B', 'smollm3', sizes([2048, 11_008, 4], [16, 4, 128])),
  plain('Ministral 3 3B', 'mistral3', sizes([3072, 9216, 3], [32, 8, 128]), (out) => {
    out.text('mistral3.rope.scaling.type', 'yarn')
    out.float('mistral3.rope.scaling.factor', 16)
    out.u32('mistral3.rope.scaling.original_context_length', 16_384)
    out.float('mistral3.rope.scaling.yarn_beta_fast', 32)
    out.float('mistral3.rope.scaling.yarn_beta_slow', 1)
    out.float('mistral3.rope.scaling.yarn_log_multiplier', 1)
    out.float('mistral3.attention.temperature_scale', 0.1)
  }),
  plain('Granite 4.0 1B', 'granite', sizes([2048, 4096, 8], [16, 4, 128]), (out) => {
    out.float('granite.embedding_scale', 12)
    out.float('granite.residual_scale', 0.22)
    out.float('granite.attention.scale', 1 / 128)
    out.float('granite.logit_scale', 8)
  }),
  olmo2(),
]

/** Whole models of three sizes, with all their layers and words. */
export const FULL: readonly Family[] = [
  { ...plain('SmolLM2 135M', 'llama', sizes([576, 1536, 30], [9, 3, 64])), vocabulary: 49_152 },
  { ...qwen2(), vocabulary: 151_936 },
  { ...plain('Llama 3.2 1B', 'llama', sizes([2048, 8192, 16], [32, 8, 64])), vocabulary: 128_256 },
]

/** Bytes of its matrices. */
export async function writeFamily(path: string, of: Family, type: BlockName): Promise<number> {
  const { architecture, sizes, metadata, layer, norm = 'output_norm', rotated, keyHeads, inner, beside = [] } = of
  const { vocabulary = VOCABULARY } = of
  const out = new Metadata()
  out.text('general.architecture', architecture)
  out.u32(`${architecture}.vocab_size`, vocabulary)
  const shape = { ...sizes, vocab: vocabulary, theta: 1_000_000, tied: true, epsilon: 1e-6 }
  llamaMetadata(out, architecture, shape, {
    ...(rotated && { rotated }),
    ...(keyHeads && { keyHeads }),
    ...(inner && { inner }),
  })
  out.u32(`${architecture}.context_length`, CONTEXT)
  metadata?.(out)
  addWords(out, vocabulary)
  const rows = [
    matrix('token_embd', sizes.hidden, vocabulary),
    values(norm, sizes.hidden),
    ...beside,
    ...(of.head ? [matrix('output', sizes.hidden, vocabulary)] : []),
    ...Array.from({ length: sizes.layers }, (_, i) => layer((name) => `blk.${i}.${name}`, i)).flat(),
  ]
  const place = { layers: sizes.layers, head: of.head ? 'output.weight' : 'token_embd.weight' }
  const tensors = rows.map((row) => tensorOf(row, type, place))
  await writeGgufFile(path, out, tensors)
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0)
}

function tensorOf({ name, dims, fill }: Row, type: BlockName, place: Place): Tensor {
  const count = dims.reduce((product, side) => product * side)
  if (fill === undefined) return { name, dims, ...blocksOf(type, dims[0]!, count, name, place) }
  const data = async () => Buffer.from(new Float32Array(count).fill(fill).buffer)
  return { name, dims, type: F32, bytes: 4 * count, data }
}
