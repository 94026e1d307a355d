import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, type Weights } from '../family.js'
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
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { embedding, layerName, llamaConfig, llamaMetadata } from './llama.js'

export const LFM2_SHAPE = {
  vocab: 640,
  hidden: wide(192, 256),
  inner: 256,
  layers: 5,
  heads: wide(3, 4),
  keyHeads: 1,
  headSize: 64,
  theta: 1_000_000,
  tied: true,
  epsilon: 1e-5,
}
export const KERNEL = 3
/** Before two thirds of it are taken and rounded up: 2 * 370 / 3 = 246, to the next multiple of 32. */
const GIVEN_INNER = 370
export const FULL = [2, 4]

const tensors: TensorSpec[] = [
  matrix('model.embed_tokens.weight', LFM2_SHAPE.vocab, LFM2_SHAPE.hidden, 2),
  norm('model.embedding_norm.weight', LFM2_SHAPE.hidden),
  ...Array.from({ length: LFM2_SHAPE.layers }, (_, i) => layerTensors(i)).flat(),
]

function layerTensors(i: number): TensorSpec[] {
  const { hidden, inner, heads, keyHeads, headSize } = LFM2_SHAPE
  const at = layerName(i)
  const list = [
    norm(`${at}.operator_norm.weight`, hidden),
    norm(`${at}.ffn_norm.weight`, hidden),
    matrix(`${at}.feed_forward.w1.weight`, inner, hidden),
    matrix(`${at}.feed_forward.w3.weight`, inner, hidden),
    matrix(`${at}.feed_forward.w2.weight`, hidden, inner),
  ]
  if (!FULL.includes(i)) {
    return [
      ...list,
      matrix(`${at}.conv.in_proj.weight`, 3 * hidden, hidden),
      { name: `${at}.conv.conv.weight`, shape: [hidden, 1, KERNEL], deviation: 0.6 },
      matrix(`${at}.conv.out_proj.weight`, hidden, hidden),
    ]
  }
  return [
    ...list,
    matrix(`${at}.self_attn.q_proj.weight`, heads * headSize, hidden),
    matrix(`${at}.self_attn.k_proj.weight`, keyHeads * headSize, hidden),
    matrix(`${at}.self_attn.v_proj.weight`, keyHeads * headSize, hidden),
    matrix(`${at}.self_attn.out_proj.weight`, hidden, heads * headSize, 2),
    norm(`${at}.self_attn.q_layernorm.weight`, headSize),
    norm(`${at}.self_attn.k_layernorm.weight`, headSize),
  ]
}

/** `within`: what a layer has in place of its MLP. */
export function lfm2Reference(
  weights: Weights,
  mistake?: string,
  kept?: Kept,
  within?: (layer: number, x: Vector) => Vector | undefined,
) {
  const { hidden, headSize, keyHeads, epsilon } = LFM2_SHAPE
  const caches = Array.from({ length: LFM2_SHAPE.layers }, () => new Attention(kept))
  const recent: Vector[][] = Array.from({ length: LFM2_SHAPE.layers }, () => [])
  const angles = frequencies(LFM2_SHAPE.theta, headSize)
  let position = 0

  function convolve(i: number, h: Vector): Vector {
    const of = (name: string) => weights(`${layerName(i)}.conv.${name}.weight`)
    const parts = product(of('in_proj'), h)
    const [b, c, x] = [0, 1, 2].map((part) => parts.slice(part * hidden, (part + 1) * hidden))
    const [into, out] = mistake === 'mixes up B and C' ? [c!, b!] : [b!, c!]
    recent[i] = [...recent[i]!, both(into, x!)].slice(-KERNEL)
    const mixed = into.map((_, channel) => {
      let sum = 0
      recent[i]!.forEach((input, at) => {
        const back = recent[i]!.length - 1 - at
        sum += input[channel]! * of('conv')[channel * KERNEL + KERNEL - 1 - back]!
      })
      return mistake === 'activates the convolution' ? silu(sum) : sum
    })
    return product(of('out_proj'), both(out, mixed))
  }

  function attend(i: number, h: Vector): Vector {
    const of = (name: string) => weights(`${layerName(i)}.self_attn.${name}.weight`)
    const turned = (name: string) => {
      const y = product(of(`${name}_proj`), h)
      const even =
        mistake === 'forgets the norms of heads' ? y : normHeads(y, headSize, of(`${name}_layernorm`), epsilon)
      return rotate(even, headSize, position, angles)
    }
    const form = { headSize, keyHeads, scale: headSize ** -0.5 }
    return product(of('out_proj'), caches[i]!.look(turned('q'), turned('k'), product(of('v_proj'), h), form))
  }

  return {
    step(token: number): Vector {
      let x = embedding(weights, token, hidden)
      if (mistake === 'norms the embeddings') x = rmsNorm(x, weights('model.embedding_norm.weight'), epsilon)
      for (let i = 0; i < LFM2_SHAPE.layers; i++) {
        const of = (name: string) => weights(`${layerName(i)}.${name}.weight`)
        const h = rmsNorm(x, of('operator_norm'), epsilon)
        x = add(x, FULL.includes(i) ? attend(i, h) : convolve(i, h))
        const m = rmsNorm(x, of('ffn_norm'), epsilon)
        const other = within?.(i, m)
        if (other) {
          x = add(x, other)
          continue
        }
        const gate = product(of(mistake === 'mixes up w1 and w3' ? 'feed_forward.w3' : 'feed_forward.w1'), m)
        const up = product(of(mistake === 'mixes up w1 and w3' ? 'feed_forward.w1' : 'feed_forward.w3'), m)
        x = add(x, product(of('feed_forward.w2'), both(gate.map(silu), up)))
      }
      position++
      return product(weights('model.embed_tokens.weight'), rmsNorm(x, weights('model.embedding_norm.weight'), epsilon))
    },
  }
}

function gguf(weights: Weights): GgufTensor[] {
  const { vocab, hidden, inner, heads, keyHeads, headSize } = LFM2_SHAPE
  const list: GgufTensor[] = []
  const put = (name: string, dims: number[], values: Vector) => list.push({ name, dims, values })
  put('token_embd.weight', [hidden, vocab], weights('model.embed_tokens.weight'))
  put('token_embd_norm.weight', [hidden], weights('model.embedding_norm.weight'))
  for (let i = 0; i < LFM2_SHAPE.layers; i++) {
    const from = (name: string) => weights(`${layerName(i)}.${name}.weight`)
    const to = (name: string) => `blk.${i}.${name}.weight`
    put(to('attn_norm'), [hidden], from('operator_norm'))
    put(to('ffn_norm'), [hidden], from('ffn_norm'))
    put(to('ffn_gate'), [hidden, inner], from('feed_forward.w1'))
    put(to('ffn_up'), [hidden, inner], from('feed_forward.w3'))
    put(to('ffn_down'), [inner, hidden], from('feed_forward.w2'))
    if (FULL.includes(i)) {
      put(to('attn_q'), [hidden, heads * headSize], from('self_attn.q_proj'))
      put(to('attn_k'), [hidden, keyHeads * headSize], from('self_attn.k_proj'))
      put(to('attn_v'), [hidden, keyHeads * headSize], from('self_attn.v_proj'))
      put(to('attn_output'), [heads * headSize, hidden], from('self_attn.out_proj'))
      put(to('attn_q_norm'), [headSize], from('self_attn.q_layernorm'))
      put(to('attn_k_norm'), [headSize], from('self_attn.k_layernorm'))
    } else {
      put(to('shortconv.in_proj'), [hidden, 3 * hidden], from('conv.in_proj'))
      put(to('shortconv.conv'), [KERNEL, hidden], from('conv.conv'))
      put(to('shortconv.out_proj'), [hidden, hidden], from('conv.out_proj'))
    }
  }
  return list
}

export function lfm2Metadata(out: Metadata, architecture: string): void {
  const keyHeads = Array.from({ length: LFM2_SHAPE.layers }, (_, i) => (FULL.includes(i) ? LFM2_SHAPE.keyHeads : 0))
  llamaMetadata(out, architecture, LFM2_SHAPE, { keyHeads })
  out.u32(`${architecture}.shortconv.l_cache`, KERNEL)
}

export const lfm2: Case = {
  name: 'lfm2',
  config: {
    ...llamaConfig(LFM2_SHAPE, 'lfm2', 'Lfm2ForCausalLM'),
    rms_norm_eps: undefined,
    norm_eps: LFM2_SHAPE.epsilon,
    hidden_act: undefined,
    head_dim: undefined,
    intermediate_size: undefined,
    block_dim: LFM2_SHAPE.hidden,
    block_ff_dim: GIVEN_INNER,
    block_auto_adjust_ff_dim: true,
    block_ffn_dim_multiplier: 1,
    block_multiple_of: 32,
    conv_L_cache: KERNEL,
    conv_bias: false,
    layer_types: Array.from({ length: LFM2_SHAPE.layers }, (_, i) => (FULL.includes(i) ? 'full_attention' : 'conv')),
  },
  tensors,
  prompt: 80,
  mistakes: [
    'mixes up B and C',
    'activates the convolution',
    'forgets the norms of heads',
    'norms the embeddings',
    'mixes up w1 and w3',
  ],
  reference: (weights, mistake, kept) => lfm2Reference(weights, mistake, kept),
  gguf: {
    architecture: 'lfm2',
    metadata: (out) => lfm2Metadata(out, 'lfm2'),
    tensors: gguf,
  },
}
