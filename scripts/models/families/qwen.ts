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

const SHAPE: LlamaShape = { ...SMALL, hidden: 256, tied: true, theta: 1_000_000, epsilon: 1e-6 }
const each = (of: (at: string) => TensorSpec[]): TensorSpec[] =>
  Array.from({ length: SHAPE.layers }, (_, i) => of(`${layerName(i)}.self_attn`)).flat()

interface Form {
  readonly name: string
  readonly className: string
  readonly config: object
  readonly extra: readonly TensorSpec[]
  readonly traits: LlamaTraits
  readonly mistakes: Readonly<Record<string, LlamaTraits>>
  /** GGUF's names of what each layer has beside Llama's, by transformers'. */
  readonly names?: Readonly<Record<string, string>>
}

function caseOf({ name, className, config, extra, traits, mistakes, names }: Form): Case {
  return {
    name,
    config: { ...llamaConfig(SHAPE, name, className), ...config },
    tensors: [...llamaTensors(SHAPE), ...extra],
    prompt: 80,
    mistakes: Object.keys(mistakes),
    reference: (weights, mistake) =>
      llamaReference(SHAPE, weights, { ...traits, ...(mistake !== undefined && mistakes[mistake]) }),
    ...(names && {
      gguf: {
        architecture: name,
        metadata: (out) => llamaMetadata(out, name, SHAPE),
        tensors: (weights) => [...llamaGgufTensors(SHAPE, weights, false), ...beside(weights, names)],
      },
    }),
  }
}

function beside(weights: Weights, names: Readonly<Record<string, string>>): GgufTensor[] {
  return Array.from({ length: SHAPE.layers }, (_, i) =>
    Object.entries(names).map(([from, to]): GgufTensor => {
      const values = weights(`${layerName(i)}.self_attn.${from}`)
      return { name: `blk.${i}.${to}`, dims: [values.length], values }
    }),
  ).flat()
}

const { heads, keyHeads, headSize } = SHAPE

/** Biases of queries, keys and values, whatever the configuration says of them. */
export const qwen2 = caseOf({
  name: 'qwen2',
  className: 'Qwen2ForCausalLM',
  config: { use_sliding_window: false, sliding_window: 32, max_window_layers: 4 },
  extra: each((at) => [
    vector(`${at}.q_proj.bias`, heads * headSize, 0, 0.3),
    vector(`${at}.k_proj.bias`, keyHeads * headSize, 0, 0.3),
    vector(`${at}.v_proj.bias`, keyHeads * headSize, 0, 0.3),
  ]),
  traits: { biased: true },
  mistakes: { 'forgets the biases': { biased: false }, 'sees a window': { window: 32 } },
  names: { 'q_proj.bias': 'attn_q.bias', 'k_proj.bias': 'attn_k.bias', 'v_proj.bias': 'attn_v.bias' },
})

/** Norms of each head's queries and keys. */
export const qwen3 = caseOf({
  name: 'qwen3',
  className: 'Qwen3ForCausalLM',
  config: { attention_bias: false, use_sliding_window: false, sliding_window: null, max_window_layers: 4 },
  extra: each((at) => [norm(`${at}.q_norm.weight`, headSize), norm(`${at}.k_norm.weight`, headSize)]),
  traits: { headNorms: true },
  mistakes: { 'forgets the norms of heads': { headNorms: false } },
  names: { 'q_norm.weight': 'attn_q_norm.weight', 'k_norm.weight': 'attn_k_norm.weight' },
})

/** Every layer sees a window; llama.cpp's Mistral is its Llama, which sees all. */
export const mistral = caseOf({
  name: 'mistral',
  className: 'MistralForCausalLM',
  config: { sliding_window: 32 },
  extra: [],
  traits: { window: 32 },
  mistakes: { 'sees one key more': { window: 33 }, 'sees one key less': { window: 31 }, 'sees all': { window: 4096 } },
})
