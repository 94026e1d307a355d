import type { Case, GgufTensor, Weights } from '../family.js'
import { norm, type TensorSpec, vector } from '../family.js'
import {
  type LlamaShape,
  type LlamaTraits,
  layerName,
  llamaConfig,
  llamaGgufTensors,
  llamaMetadata,
  llamaReference,
  llamaTensors,
  SMALL,
} from './llama.js'

const COMMON = { ...SMALL, layers: 3, tied: true, theta: 1_000_000, epsilon: 1e-6 }
/** Its heads make up its width, as those of all its models do, the smallest of which has heads of 64. */
const NARROW: LlamaShape = { ...COMMON, hidden: 256, inner: 256 }
const WIDE: LlamaShape = { ...COMMON, inner: 256, headSize: 128 }

const each = ({ layers }: LlamaShape, of: (at: string) => TensorSpec[]): TensorSpec[] =>
  Array.from({ length: layers }, (_, i) => of(`${layerName(i)}.self_attn`)).flat()

interface Form {
  readonly name: string
  readonly className: string
  readonly shape: LlamaShape
  readonly config: object
  readonly extra: readonly TensorSpec[]
  readonly traits: LlamaTraits
  readonly mistakes: Readonly<Record<string, LlamaTraits>>
  /** GGUF's names of what each layer has beside Llama's, by transformers'. */
  readonly names?: Readonly<Record<string, string>>
}

function caseOf({ name, className, shape, config, extra, traits, mistakes, names }: Form): Case {
  return {
    name,
    config: { ...llamaConfig(shape, name, className), ...config },
    tensors: [...llamaTensors(shape), ...extra],
    prompt: 80,
    mistakes: Object.keys(mistakes),
    reference: (weights, mistake, kept) =>
      llamaReference(shape, weights, { kept, ...traits, ...(mistake !== undefined && mistakes[mistake]) }),
    ...(names && {
      gguf: {
        architecture: name,
        metadata: (out) => llamaMetadata(out, name, shape),
        tensors: (weights) => [...llamaGgufTensors(shape, weights, false), ...beside(shape, weights, names)],
      },
    }),
  }
}

function beside({ layers }: LlamaShape, weights: Weights, names: Readonly<Record<string, string>>): GgufTensor[] {
  return Array.from({ length: layers }, (_, i) =>
    Object.entries(names).map(([from, to]): GgufTensor => {
      const values = weights(`${layerName(i)}.self_attn.${from}`)
      return { name: `blk.${i}.${to}`, dims: [values.length], values }
    }),
  ).flat()
}

/** Biases of queries, keys and values, whatever the configuration says of them. */
export const qwen2 = caseOf({
  name: 'qwen2',
  className: 'Qwen2ForCausalLM',
  shape: NARROW,
  config: { use_sliding_window: false, sliding_window: 32, max_window_layers: 3 },
  extra: each(NARROW, (at) => [
    vector(`${at}.q_proj.bias`, NARROW.heads * NARROW.headSize, 0, 0.3),
    vector(`${at}.k_proj.bias`, NARROW.keyHeads * NARROW.headSize, 0, 0.3),
    vector(`${at}.v_proj.bias`, NARROW.keyHeads * NARROW.headSize, 0, 0.3),
  ]),
  traits: { biased: true },
  mistakes: { 'forgets the biases': { biased: false }, 'sees a window': { window: 32 } },
  names: { 'q_proj.bias': 'attn_q.bias', 'k_proj.bias': 'attn_k.bias', 'v_proj.bias': 'attn_v.bias' },
})

/** Norms of each head's queries and keys. */
export const qwen3 = caseOf({
  name: 'qwen3',
  className: 'Qwen3ForCausalLM',
  shape: WIDE,
  config: { attention_bias: false, use_sliding_window: false, sliding_window: null, max_window_layers: 3 },
  extra: each(WIDE, (at) => ['q', 'k'].map((one) => norm(`${at}.${one}_norm.weight`, WIDE.headSize))),
  traits: { headNorms: true },
  mistakes: { 'forgets the norms of heads': { headNorms: false } },
  names: { 'q_norm.weight': 'attn_q_norm.weight', 'k_norm.weight': 'attn_k_norm.weight' },
})

/** Every layer sees a window; llama.cpp's Mistral is its Llama, which sees all. */
export const mistral = caseOf({
  name: 'mistral',
  className: 'MistralForCausalLM',
  shape: WIDE,
  config: { sliding_window: 32 },
  extra: [],
  traits: { window: 32 },
  mistakes: { 'sees one key more': { window: 33 }, 'sees one key less': { window: 31 }, 'sees all': { window: 4096 } },
})
