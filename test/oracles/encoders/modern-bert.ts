/** ModernBERT, from "Smarter, Better, Faster, Longer" and the form that transformers gives it; mmBERT is one too. */
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type GgufTensor, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import {
  add,
  addTimes,
  both,
  dotOf,
  frequencies,
  gelu,
  geluTanh,
  layerNorm,
  product,
  rotate,
  softmax,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { addPieces, CLS, PAD, pooled, SEP, sentenceFiles } from './bert.js'
import type { EncoderCase, Input } from './encoder-case.js'

export interface ModernShape {
  readonly vocab: number
  readonly hidden: number
  readonly inner: number
  readonly layers: number
  readonly heads: number
  readonly positions: number
  readonly epsilon: number
  /** Every so many layers one sees everything, the first among them. */
  readonly every: number
  /** Tokens that the others see, half of them before a token and half behind it. */
  readonly local: number
  readonly theta: { readonly global: number; readonly local: number }
}

/** Heads of 64, as all of them have. */
export const SHAPE: ModernShape = {
  vocab: 640,
  hidden: wide(192, 256),
  inner: wide(288, 384),
  layers: 5,
  heads: wide(3, 4),
  positions: 128,
  epsilon: 1e-5,
  every: 3,
  local: 16,
  theta: { global: 160_000, local: 10_000 },
}
const MULTILINGUAL: ModernShape = { ...SHAPE, theta: { global: 160_000, local: 160_000 } }

export const modernConfig = (shape: ModernShape) => ({
  model_type: 'modernbert',
  architectures: ['ModernBertModel'],
  vocab_size: shape.vocab,
  hidden_size: shape.hidden,
  intermediate_size: shape.inner,
  num_hidden_layers: shape.layers,
  num_attention_heads: shape.heads,
  max_position_embeddings: shape.positions,
  layer_norm_eps: shape.epsilon,
  norm_eps: shape.epsilon,
  norm_bias: false,
  attention_bias: false,
  mlp_bias: false,
  decoder_bias: true,
  hidden_activation: 'gelu',
  local_attention: shape.local,
  global_attn_every_n_layers: shape.every,
  global_rope_theta: shape.theta.global,
  local_rope_theta: shape.theta.local,
  position_embedding_type: 'absolute',
  classifier_activation: 'gelu',
  classifier_bias: false,
  classifier_dropout: 0,
  classifier_pooling: 'mean',
  attention_dropout: 0,
  embedding_dropout: 0,
  mlp_dropout: 0,
  initializer_cutoff_factor: 2,
  initializer_range: 0.02,
  deterministic_flash_attn: false,
  reference_compile: null,
  repad_logits_with_grad: false,
  sparse_pred_ignore_index: -100,
  sparse_prediction: false,
  pad_token_id: PAD,
  torch_dtype: 'float32',
})

const isGlobal = ({ every }: ModernShape, layer: number) => layer % every === 0

/** The same, as transformers 5 writes it. */
function newerConfig(shape: ModernShape) {
  const { global_rope_theta: _, local_rope_theta: __, position_embedding_type: ___, ...rest } = modernConfig(shape)
  const angles = (rope_theta: number) => ({ rope_type: 'default', rope_theta })
  return {
    ...rest,
    position_embedding_type: 'sans_pos',
    layer_types: Array.from({ length: shape.layers }, (_, i) =>
      isGlobal(shape, i) ? 'full_attention' : 'sliding_attention',
    ),
    rope_parameters: { full_attention: angles(shape.theta.global), sliding_attention: angles(shape.theta.local) },
  }
}

export function modernTensors({ vocab, hidden, inner, layers }: ModernShape, prefix = ''): TensorSpec[] {
  const list: TensorSpec[] = [
    { name: `${prefix}embeddings.tok_embeddings.weight`, shape: [vocab, hidden], mean: 0, deviation: 0.5 },
    norm(`${prefix}embeddings.norm.weight`, hidden),
    norm(`${prefix}final_norm.weight`, hidden),
  ]
  for (let i = 0; i < layers; i++) {
    const at = `${prefix}layers.${i}`
    if (i > 0) list.push(norm(`${at}.attn_norm.weight`, hidden))
    list.push(
      matrix(`${at}.attn.Wqkv.weight`, 3 * hidden, hidden, 1.4),
      matrix(`${at}.attn.Wo.weight`, hidden, hidden),
      norm(`${at}.mlp_norm.weight`, hidden),
      matrix(`${at}.mlp.Wi.weight`, 2 * inner, hidden, 1.5),
      matrix(`${at}.mlp.Wo.weight`, hidden, inner),
    )
  }
  return list
}

/** Of all tokens together, heads side by side: `sees` says which of them each one sees. */
export function attended(
  [q, k, v]: readonly [Vector[], Vector[], Vector[]],
  size: number,
  sees: (position: number, other: number) => boolean,
): Vector[] {
  return q.map((query, position) => {
    const seen = new Float64Array(query.length)
    const others = k.map((_, other) => other).filter((other) => sees(position, other))
    for (let from = 0; from < query.length; from += size) {
      const scores = others.map((other) => dotOf(query, from, k[other]!, from, size))
      softmax(scores.map((score) => score / Math.sqrt(size))).forEach((share, at) => {
        addTimes(seen, from, share, v[others[at]!]!, from, size)
      })
    }
    return seen
  })
}

/** The last layer's rows, one for each token, behind the last norm. */
export function modernRows(
  shape: ModernShape,
  weights: Weights,
  { tokens }: Pick<Input, 'tokens'>,
  { mistake, prefix = '' }: { mistake?: string | undefined; prefix?: string } = {},
): Vector[] {
  const { hidden, heads, inner, layers, epsilon, every, local } = shape
  const of = (name: string) => weights(`${prefix}${name}`)
  const ones = new Float64Array(hidden).fill(1)
  const normed = (x: Vector, name?: string) => layerNorm(x, name ? of(name) : ones, undefined, epsilon)
  const size = hidden / heads
  const act = mistake === 'takes the gelu of tanh' ? geluTanh : gelu
  const thetas = {
    global: mistake === 'turns global layers by the local base' ? shape.theta.local : shape.theta.global,
    local: mistake === 'turns local layers by 10000' ? 10_000 : shape.theta.local,
  }
  if (mistake === 'turns local layers by the global base') thetas.local = shape.theta.global
  const reach = {
    'sees all in every layer': Number.POSITIVE_INFINITY,
    'sees the whole window on either side': local,
    'counts a token itself in half a window': local / 2 - 1,
  }[mistake ?? '']
  let rows = tokens.map((token) => {
    const x = of('embeddings.tok_embeddings.weight').slice(token * hidden, (token + 1) * hidden)
    return mistake === 'forgets the norm of embeddings' ? x : normed(x, 'embeddings.norm.weight')
  })
  for (let i = 0; i < layers; i++) {
    const at = `layers.${i}`
    const global = mistake === 'counts layers from one' ? (i + 1) % every === 0 : isGlobal(shape, i)
    const first = (x: Vector) => (mistake === 'norms before the first attention' ? normed(x) : x)
    const turns = frequencies(global ? thetas.global : thetas.local, size)
    const parts = rows.map((x, position) => {
      const qkv = product(of(`${at}.attn.Wqkv.weight`), i === 0 ? first(x) : normed(x, `${at}.attn_norm.weight`))
      const part = (n: number) => qkv.slice(n * hidden, (n + 1) * hidden)
      const turned = (n: number) => rotate(part(n), size, position, turns)
      return [turned(0), turned(1), part(2)] as const
    })
    const qkv = [0, 1, 2].map((n) => parts.map((part) => part[n]!)) as [Vector[], Vector[], Vector[]]
    const seen = attended(qkv, size, (position, other) => {
      if (mistake === 'sees no later token' && other > position) return false
      return global || Math.abs(position - other) <= (reach ?? local / 2)
    })
    rows = rows.map((x, position) => {
      const mixed = add(x, product(of(`${at}.attn.Wo.weight`), seen[position]!))
      const wide = product(of(`${at}.mlp.Wi.weight`), normed(mixed, `${at}.mlp_norm.weight`))
      const halves = [wide.slice(0, inner), wide.slice(inner)]
      if (mistake === 'takes the second half for the gate') halves.reverse()
      return add(mixed, product(of(`${at}.mlp.Wo.weight`), both(halves[0]!.map(act), halves[1]!)))
    })
  }
  return mistake === 'forgets the last norm' ? rows : rows.map((x) => normed(x, 'final_norm.weight'))
}

/** `type`: llama.cpp's number of the way to pool. */
export function modernGguf(shape: ModernShape, type: number, prefix = ''): NonNullable<EncoderCase['gguf']> {
  return {
    architecture: 'modern-bert',
    metadata: (out) => modernMetadata(out, shape, type),
    tensors: (weights) => modernGgufTensors(shape, weights, prefix),
    words: (out) => addPieces(out, shape.vocab, 1),
  }
}

function modernMetadata(out: Metadata, shape: ModernShape, type: number): void {
  const u32 = (name: string, value: number) => out.u32(`modern-bert.${name}`, value)
  const float = (name: string, value: number) => out.float(`modern-bert.${name}`, value)
  u32('context_length', shape.positions)
  u32('embedding_length', shape.hidden)
  u32('block_count', shape.layers)
  u32('feed_forward_length', shape.inner)
  u32('attention.head_count', shape.heads)
  float('attention.layer_norm_epsilon', shape.epsilon)
  out.flag('modern-bert.attention.causal', false)
  u32('attention.sliding_window', shape.local)
  u32('attention.sliding_window_pattern', shape.every)
  float('rope.freq_base', shape.theta.global)
  float('rope.freq_base_swa', shape.theta.local)
  out.text('modern-bert.rope.scaling.type', 'none')
  out.text('modern-bert.hidden_activation', 'gelu')
  u32('pooling_type', type)
}

export function modernGgufTensors(shape: ModernShape, weights: Weights, prefix = ''): GgufTensor[] {
  const { hidden, inner, vocab, layers } = shape
  const list: GgufTensor[] = []
  const put = (name: string, from: string, ...dims: number[]) =>
    list.push({ name: `${name}.weight`, dims, values: weights(`${prefix}${from}.weight`) })
  put('token_embd', 'embeddings.tok_embeddings', hidden, vocab)
  put('token_embd_norm', 'embeddings.norm', hidden)
  put('output_norm', 'final_norm', hidden)
  for (let i = 0; i < layers; i++) {
    const [to, at] = [`blk.${i}`, `layers.${i}`]
    if (i > 0) put(`${to}.attn_norm`, `${at}.attn_norm`, hidden)
    put(`${to}.attn_qkv`, `${at}.attn.Wqkv`, hidden, 3 * hidden)
    put(`${to}.attn_output`, `${at}.attn.Wo`, hidden, hidden)
    put(`${to}.ffn_norm`, `${at}.mlp_norm`, hidden)
    put(`${to}.ffn_up`, `${at}.mlp.Wi`, hidden, 2 * inner)
    put(`${to}.ffn_down`, `${at}.mlp.Wo`, inner, hidden)
  }
  return list
}

const MISTAKES = [
  'takes the gelu of tanh',
  'norms before the first attention',
  'sees all in every layer',
  'sees the whole window on either side',
  'counts a token itself in half a window',
  'sees no later token',
  'counts layers from one',
  'takes the second half for the gate',
  'forgets the norm of embeddings',
  'forgets the last norm',
  'pools the other way',
]

const common = {
  tensors: modernTensors(SHAPE),
  around: { begin: [CLS], end: [SEP] },
  lengths: [1, 5, 19, 40, 90],
}

/** gte-modernbert and its like: the first token. */
export const modernBert: EncoderCase = {
  ...common,
  name: 'modernbert by its first token',
  config: modernConfig(SHAPE),
  files: sentenceFiles('cls', SHAPE.hidden),
  reference: (weights, input, mistake) => pooled(modernRows(SHAPE, weights, input, { mistake }), 'cls', mistake),
  mistakes: [...MISTAKES, 'turns global layers by the local base', 'turns local layers by the global base'],
  gguf: modernGguf(SHAPE, 2),
}

/** mmBERT turns all layers alike. */
export const mmBert: EncoderCase = {
  ...common,
  name: 'mmbert by mean',
  config: newerConfig(MULTILINGUAL),
  files: sentenceFiles('mean', SHAPE.hidden, 92),
  reference: (weights, input, mistake) =>
    pooled(modernRows(MULTILINGUAL, weights, input, { mistake }), 'mean', mistake),
  mistakes: [...MISTAKES, 'turns local layers by 10000', 'pools padding too', 'leaves out the marks'],
  gguf: modernGguf(MULTILINGUAL, 1),
}
