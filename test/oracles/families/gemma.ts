import { type Case, type GgufTensor, norm, type Weights } from '../family.js'
import {
  Attention,
  add,
  frequencies,
  geluTanh,
  type Kept,
  normHeads,
  product,
  rmsNorm,
  rotate,
  silu,
  softCap,
  times,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { embedding, gatedMlp, layerName, llamaConfig, llamaGgufTensors, llamaMetadata, llamaTensors } from './llama.js'

const SHAPE = {
  vocab: 640,
  hidden: wide(160, 256),
  inner: 256,
  layers: 7,
  heads: 2,
  keyHeads: 1,
  headSize: 256,
  theta: 1_000_000,
  tied: true,
  epsilon: 1e-6,
}
const WINDOW = 32
const LOCAL_THETA = 10_000

interface Form {
  readonly attentionCap?: number
  readonly logitCap?: number
  readonly scale: number
  readonly headNorms: boolean
  isFull(layer: number): boolean
  angles(full: boolean): Vector
  readonly mistake?: string
  readonly kept?: Kept
}

/** Norms before and after attention and MLP, each by one plus its weight; some layers see a window alone. */
function reference(weights: Weights, form: Form) {
  const { hidden, headSize, keyHeads, epsilon } = SHAPE
  const { mistake } = form
  const plus = mistake === 'forgets the one of norms' ? 0 : 1
  const window = mistake === 'sees one key more' ? WINDOW + 1 : mistake === 'sees one key less' ? WINDOW - 1 : WINDOW
  const caches = Array.from({ length: SHAPE.layers }, () => new Attention(form.kept))
  const act = mistake === 'takes silu for gelu' ? silu : geluTanh
  let position = 0
  return {
    step(token: number): Vector {
      let x = times(embedding(weights, token, hidden), mistake === 'forgets sqrt(hidden)' ? 1 : Math.sqrt(hidden))
      for (let i = 0; i < SHAPE.layers; i++) {
        const of = (name: string) => weights(`${layerName(i)}.${name}.weight`)
        const normed = (y: Vector, name: string) => rmsNorm(y, of(name), epsilon, plus)
        const h = normed(x, 'input_layernorm')
        const full = form.isFull(i)
        const angles = form.angles(full)
        const prepared = (name: string) => {
          const y = product(of(`self_attn.${name}_proj`), h)
          const even = form.headNorms ? normHeads(y, headSize, of(`self_attn.${name}_norm`), epsilon, plus) : y
          return rotate(even, headSize, position, angles)
        }
        const seen = caches[i]!.look(prepared('q'), prepared('k'), product(of('self_attn.v_proj'), h), {
          headSize,
          keyHeads,
          scale: form.scale,
          ...(!full && { window }),
          ...(form.attentionCap !== undefined && { cap: form.attentionCap }),
        })
        x = add(x, normed(product(of('self_attn.o_proj'), seen), 'post_attention_layernorm'))
        const m = gatedMlp(normed(x, 'pre_feedforward_layernorm'), weights, `${layerName(i)}.mlp`, act)
        x = add(x, normed(m, 'post_feedforward_layernorm'))
      }
      position++
      const last = rmsNorm(x, weights('model.norm.weight'), epsilon, plus)
      const logits = product(weights('model.embed_tokens.weight'), last)
      return form.logitCap === undefined ? logits : logits.map((logit) => softCap(logit, form.logitCap!))
    },
  }
}

function tensors(headNorms: boolean) {
  const extra = Array.from({ length: SHAPE.layers }, (_, i) => [
    norm(`${layerName(i)}.pre_feedforward_layernorm.weight`, SHAPE.hidden, 0),
    norm(`${layerName(i)}.post_feedforward_layernorm.weight`, SHAPE.hidden, 0),
    ...(headNorms
      ? ['q', 'k'].map((one) => norm(`${layerName(i)}.self_attn.${one}_norm.weight`, SHAPE.headSize, 0))
      : []),
  ]).flat()
  const base = llamaTensors(SHAPE, 0).map((spec) =>
    // Else the embeddings, which sqrt(hidden) makes larger, would drown what the layers say.
    spec.name === 'model.embed_tokens.weight' ? { ...spec, deviation: 0.04 } : spec,
  )
  return [...base, ...extra]
}

function gguf(weights: Weights, headNorms: boolean): GgufTensor[] {
  // The one that is added to a norm's weight is already in it there.
  const grown: Weights = (name) => (name.includes('norm') ? weights(name).map((value) => value + 1) : weights(name))
  const list = llamaGgufTensors(SHAPE, grown, false).filter(({ name }) => !name.includes('ffn_norm'))
  for (let i = 0; i < SHAPE.layers; i++) {
    const put = (to: string, from: string) => {
      const values = grown(`${layerName(i)}.${from}.weight`)
      list.push({ name: `blk.${i}.${to}.weight`, dims: [values.length], values })
    }
    put('post_attention_norm', 'post_attention_layernorm')
    put('ffn_norm', 'pre_feedforward_layernorm')
    put('post_ffw_norm', 'post_feedforward_layernorm')
    if (headNorms) for (const one of ['q', 'k']) put(`attn_${one}_norm`, `self_attn.${one}_norm`)
  }
  return list
}

const COMMON = [
  'forgets the one of norms',
  'sees one key more',
  'sees one key less',
  'forgets sqrt(hidden)',
  'takes silu for gelu',
]

const plain = (theta: number) => frequencies(theta, SHAPE.headSize)

export const gemma2: Case = {
  name: 'gemma2',
  config: {
    ...llamaConfig({ ...SHAPE, theta: LOCAL_THETA }, 'gemma2', 'Gemma2ForCausalLM'),
    hidden_activation: 'gelu_pytorch_tanh',
    hidden_act: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: SHAPE.headSize,
    sliding_window: WINDOW,
    attn_logit_softcapping: 5,
    final_logit_softcapping: 4,
    attention_bias: false,
  },
  tensors: tensors(false),
  prompt: 80,
  mistakes: [...COMMON, 'forgets the cap of scores', 'forgets the cap of logits', 'begins with a full layer'],
  reference: (weights, mistake, kept) =>
    reference(weights, {
      scale: SHAPE.headSize ** -0.5,
      headNorms: false,
      attentionCap: mistake === 'forgets the cap of scores' ? undefined : 5,
      logitCap: mistake === 'forgets the cap of logits' ? undefined : 4,
      isFull: (i) => (i % 2 === 1) !== (mistake === 'begins with a full layer'),
      angles: () => plain(LOCAL_THETA),
      mistake,
      kept,
    }),
  gguf: {
    architecture: 'gemma2',
    approximate: true,
    metadata: (out) => {
      llamaMetadata(out, 'gemma2', { ...SHAPE, theta: LOCAL_THETA })
      out.u32('gemma2.attention.sliding_window', WINDOW)
      out.float('gemma2.attn_logit_softcapping', 5)
      out.float('gemma2.final_logit_softcapping', 4)
    },
    tensors: (weights) => gguf(weights, false),
  },
}

const FACTOR = 8

export const gemma3: Case = {
  name: 'gemma3',
  config: {
    ...llamaConfig(SHAPE, 'gemma3_text', 'Gemma3ForCausalLM'),
    hidden_activation: 'gelu_pytorch_tanh',
    hidden_act: undefined,
    query_pre_attn_scalar: SHAPE.headSize,
    rope_local_base_freq: LOCAL_THETA,
    rope_scaling: { rope_type: 'linear', factor: FACTOR },
    sliding_window: WINDOW,
    sliding_window_pattern: 6,
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    attention_bias: false,
  },
  tensors: tensors(true),
  prompt: 80,
  mistakes: [
    ...COMMON,
    'forgets the norms of heads',
    'scales the positions of every layer',
    'scales none',
    'takes one base for all',
    'makes the first of six full',
  ],
  reference: (weights, mistake, kept) =>
    reference(weights, {
      scale: SHAPE.headSize ** -0.5,
      headNorms: mistake !== 'forgets the norms of heads',
      isFull: (i) => (mistake === 'makes the first of six full' ? i % 6 === 0 : (i + 1) % 6 === 0),
      angles: (full) => {
        const theta = full || mistake === 'takes one base for all' ? SHAPE.theta : LOCAL_THETA
        const scaled = mistake === 'scales none' ? false : full || mistake === 'scales the positions of every layer'
        return scaled ? plain(theta).map((angle) => angle / FACTOR) : plain(theta)
      },
      mistake,
      kept,
    }),
  gguf: {
    architecture: 'gemma3',
    approximate: true,
    metadata: (out) => {
      llamaMetadata(out, 'gemma3', SHAPE)
      out.u32('gemma3.attention.sliding_window', WINDOW)
      out.text('gemma3.rope.scaling.type', 'linear')
      out.float('gemma3.rope.scaling.factor', FACTOR)
    },
    tensors: (weights) => gguf(weights, true),
  },
}
