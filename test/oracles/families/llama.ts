import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, interleaved, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
  frequencies,
  type Kept,
  normHeads,
  product,
  rmsNorm,
  rotate,
  silu,
  times,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'

/** Shapes that Llama and those that differ from it by a trait or two have in common. */
export interface LlamaShape {
  readonly vocab: number
  readonly hidden: number
  readonly inner: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly theta: number
  readonly tied: boolean
  readonly epsilon: number
}

export const SMALL: LlamaShape = {
  vocab: 640,
  hidden: wide(192, 256),
  inner: wide(352, 512),
  layers: 4,
  heads: 4,
  keyHeads: 2,
  headSize: 64,
  theta: 10000,
  tied: false,
  epsilon: 1e-5,
}

export function llamaConfig(shape: LlamaShape, type: string, architecture: string) {
  return {
    model_type: type,
    architectures: [architecture],
    vocab_size: shape.vocab,
    hidden_size: shape.hidden,
    intermediate_size: shape.inner,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyHeads,
    head_dim: shape.headSize,
    rms_norm_eps: shape.epsilon,
    rope_theta: shape.theta,
    max_position_embeddings: 2048,
    tie_word_embeddings: shape.tied,
    hidden_act: 'silu',
    bos_token_id: 1,
    eos_token_id: 2,
  }
}

export const layerName = (i: number) => `model.layers.${i}`

export function llamaTensors(shape: LlamaShape, normMean = 1): TensorSpec[] {
  const { vocab, hidden, inner, layers, heads, keyHeads, headSize, tied } = shape
  const list = [
    matrix('model.embed_tokens.weight', vocab, hidden, tied ? 2 : 8),
    norm('model.norm.weight', hidden, normMean),
  ]
  if (!tied) list.push(matrix('lm_head.weight', vocab, hidden, 2))
  for (let i = 0; i < layers; i++) {
    const at = layerName(i)
    list.push(
      norm(`${at}.input_layernorm.weight`, hidden, normMean),
      norm(`${at}.post_attention_layernorm.weight`, hidden, normMean),
      matrix(`${at}.self_attn.q_proj.weight`, heads * headSize, hidden, 1.5),
      matrix(`${at}.self_attn.k_proj.weight`, keyHeads * headSize, hidden, 1.5),
      matrix(`${at}.self_attn.v_proj.weight`, keyHeads * headSize, hidden),
      matrix(`${at}.self_attn.o_proj.weight`, hidden, heads * headSize),
      matrix(`${at}.mlp.gate_proj.weight`, inner, hidden),
      matrix(`${at}.mlp.up_proj.weight`, inner, hidden),
      matrix(`${at}.mlp.down_proj.weight`, hidden, inner),
    )
  }
  return list
}

export function gatedMlp(x: Vector, weights: Weights, at: string, act: (x: number) => number): Vector {
  const gate = product(weights(`${at}.gate_proj.weight`), x).map(act)
  return product(weights(`${at}.down_proj.weight`), both(gate, product(weights(`${at}.up_proj.weight`), x)))
}

export function embedding(weights: Weights, token: number, hidden: number): Vector {
  return weights('model.embed_tokens.weight').slice(token * hidden, (token + 1) * hidden)
}

export const headOf = (weights: Weights, tied: boolean): Vector =>
  weights(tied ? 'model.embed_tokens.weight' : 'lm_head.weight')

interface Differences {
  /** Of each head, from its beginning. */
  readonly rotated?: number
  /** For each layer. */
  readonly keyHeads?: readonly number[]
  readonly inner?: readonly number[]
}

export function llamaMetadata(out: Metadata, architecture: string, shape: LlamaShape, its: Differences = {}): void {
  const u32 = (name: string, value: number) => out.u32(`${architecture}.${name}`, value)
  u32('context_length', 2048)
  u32('embedding_length', shape.hidden)
  u32('block_count', shape.layers)
  if (its.inner) out.integers(`${architecture}.feed_forward_length`, Int32Array.from(its.inner))
  else u32('feed_forward_length', shape.inner)
  u32('attention.head_count', shape.heads)
  if (its.keyHeads) out.integers(`${architecture}.attention.head_count_kv`, Int32Array.from(its.keyHeads))
  else u32('attention.head_count_kv', shape.keyHeads)
  u32('attention.key_length', shape.headSize)
  u32('attention.value_length', shape.headSize)
  u32('rope.dimension_count', its.rotated ?? shape.headSize)
  out.float(`${architecture}.rope.freq_base`, shape.theta)
  out.float(`${architecture}.attention.layer_norm_rms_epsilon`, shape.epsilon)
}

/** `permute`: llama.cpp turns neighbours for this architecture. */
export function llamaGgufTensors(shape: LlamaShape, weights: Weights, permute: boolean): GgufTensor[] {
  const { vocab, hidden, inner, layers, heads, keyHeads, headSize, tied } = shape
  const list: GgufTensor[] = []
  const put = (name: string, dims: number[], values: Vector) => list.push({ name, dims, values })
  const turned = (values: Vector) => (permute ? interleaved(values, hidden, headSize) : values)
  put('token_embd.weight', [hidden, vocab], weights('model.embed_tokens.weight'))
  put('output_norm.weight', [hidden], weights('model.norm.weight'))
  if (!tied) put('output.weight', [hidden, vocab], weights('lm_head.weight'))
  for (let i = 0; i < layers; i++) {
    const from = (name: string) => weights(`${layerName(i)}.${name}.weight`)
    const to = (name: string) => `blk.${i}.${name}.weight`
    put(to('attn_norm'), [hidden], from('input_layernorm'))
    put(to('ffn_norm'), [hidden], from('post_attention_layernorm'))
    put(to('attn_q'), [hidden, heads * headSize], turned(from('self_attn.q_proj')))
    put(to('attn_k'), [hidden, keyHeads * headSize], turned(from('self_attn.k_proj')))
    put(to('attn_v'), [hidden, keyHeads * headSize], from('self_attn.v_proj'))
    put(to('attn_output'), [heads * headSize, hidden], from('self_attn.o_proj'))
    put(to('ffn_gate'), [hidden, inner], from('mlp.gate_proj'))
    put(to('ffn_up'), [hidden, inner], from('mlp.up_proj'))
    put(to('ffn_down'), [inner, hidden], from('mlp.down_proj'))
  }
  return list
}

/** Llama, and what Granite and SmolLM3 change about it. */
export interface LlamaTraits {
  readonly embeddingFactor?: number
  readonly residualFactor?: number
  readonly attentionScale?: number
  readonly logitDivisor?: number
  rotates?(layer: number): boolean
  /** @default those of theta alone */
  readonly angles?: Vector
  /** By which queries grow with their position, once they are turned. */
  queryFactor?(position: number): number
  /** What is added to the weights of norms. */
  readonly normOffset?: number
  /** Queries, keys and values have biases. */
  readonly biased?: boolean
  /** Queries and keys are normed, each head by itself. */
  readonly headNorms?: boolean
  /** All of a row together. */
  readonly rowNorms?: boolean
  /** Keys that a query sees, its own among them. */
  readonly window?: number
  /** Neighbouring numbers of a head are turned, which is right for files in another order alone. */
  readonly turnsNeighbours?: boolean
  /** Keys go round among queries, instead of each serving those that lie together. */
  readonly tiled?: boolean
  /** What gates go through. @default silu */
  readonly gate?: (x: number) => number
  /** In place of the MLP, of which names begin with `at`. */
  feedForward?(x: Vector, at: string): Vector
  readonly kept?: Kept
}

export function llamaReference(shape: LlamaShape, weights: Weights, traits: LlamaTraits = {}) {
  const { hidden, headSize, keyHeads, epsilon } = shape
  const form = {
    headSize,
    keyHeads,
    scale: traits.attentionScale ?? headSize ** -0.5,
    ...(traits.window && { window: traits.window }),
    ...(traits.tiled && { tiled: true }),
  }
  const caches = Array.from({ length: shape.layers }, () => new Attention(traits.kept))
  const angles = traits.angles ?? frequencies(shape.theta, headSize)
  const residual = traits.residualFactor ?? 1
  const { normOffset: offset = 0, gate = silu } = traits
  let position = 0
  return {
    step(token: number): Vector {
      let x = times(embedding(weights, token, hidden), traits.embeddingFactor ?? 1)
      for (let i = 0; i < shape.layers; i++) {
        const at = layerName(i)
        const h = rmsNorm(x, weights(`${at}.input_layernorm.weight`), epsilon, offset)
        const projected = (one: string) => {
          const name = `${at}.self_attn.${one}_proj`
          return product(weights(`${name}.weight`), h, traits.biased ? weights(`${name}.bias`) : undefined)
        }
        const normed = (one: string) => {
          if (traits.rowNorms) return rmsNorm(projected(one), weights(`${at}.self_attn.${one}_norm.weight`), epsilon)
          return traits.headNorms
            ? normHeads(projected(one), headSize, weights(`${at}.self_attn.${one}_norm.weight`), epsilon)
            : projected(one)
        }
        const [q, k, v] = [normed('q'), normed('k'), projected('v')]
        const turned = traits.turnsNeighbours ? rotateNeighbours : rotate
        const turn = (y: Vector) => (traits.rotates?.(i) === false ? y : turned(y, headSize, position, angles))
        const query = times(turn(q), traits.queryFactor?.(position) ?? 1)
        const seen = caches[i]!.look(query, turn(k), v, form)
        x = add(x, times(product(weights(`${at}.self_attn.o_proj.weight`), seen), residual))
        const m = rmsNorm(x, weights(`${at}.post_attention_layernorm.weight`), epsilon, offset)
        const within = traits.feedForward?.(m, `${at}.mlp`) ?? gatedMlp(m, weights, `${at}.mlp`, gate)
        x = add(x, times(within, residual))
      }
      position++
      const last = rmsNorm(x, weights('model.norm.weight'), epsilon, offset)
      return times(product(headOf(weights, shape.tied), last), 1 / (traits.logitDivisor ?? 1))
    },
  }
}

export function rotateNeighbours(x: Vector, headSize: number, position: number, angles: Vector): Vector {
  const out = x.slice()
  for (let at = 0; at < x.length; at += 2) {
    const angle = position * angles[(at % headSize) / 2]!
    const [a, b] = [x[at]!, x[at + 1]!]
    out[at] = a * Math.cos(angle) - b * Math.sin(angle)
    out[at + 1] = b * Math.cos(angle) + a * Math.sin(angle)
  }
  return out
}

/** As of Llama 3.1: pairs that turn slowly turn more slowly still. */
const SCALING = { factor: 8, low: 1, high: 4, original: 64 }
const PLAIN = frequencies(SMALL.theta, SMALL.headSize)
const SCALED = PLAIN.map((angle) => {
  const { factor, low, high, original } = SCALING
  const turns = (original * angle) / (2 * Math.PI)
  if (turns > high) return angle
  if (turns < low) return angle / factor
  const smooth = (turns - low) / (high - low)
  return ((1 - smooth) * angle) / factor + smooth * angle
})

const MISTAKES: Readonly<Record<string, LlamaTraits>> = {
  'scales no positions': { angles: PLAIN },
  'scales all positions': { angles: PLAIN.map((angle) => angle / SCALING.factor) },
  'turns neighbours': { turnsNeighbours: true },
  'lets keys go round among queries': { tiled: true },
}

export const llama: Case = {
  name: 'llama',
  config: {
    ...llamaConfig(SMALL, 'llama', 'LlamaForCausalLM'),
    rope_scaling: {
      rope_type: 'llama3',
      factor: SCALING.factor,
      low_freq_factor: SCALING.low,
      high_freq_factor: SCALING.high,
      original_max_position_embeddings: SCALING.original,
    },
    attention_bias: false,
    mlp_bias: false,
  },
  tensors: llamaTensors(SMALL),
  prompt: 80,
  mistakes: Object.keys(MISTAKES),
  reference: (weights, mistake, kept) =>
    llamaReference(SMALL, weights, { kept, angles: SCALED, ...(mistake !== undefined && MISTAKES[mistake]) }),
  gguf: {
    architecture: 'llama',
    metadata: (out) => llamaMetadata(out, 'llama', SMALL),
    tensors: (weights) => [
      ...llamaGgufTensors(SMALL, weights, true),
      { name: 'rope_freqs.weight', dims: [PLAIN.length], values: PLAIN.map((angle, i) => angle / SCALED[i]!) },
    ],
  },
}
