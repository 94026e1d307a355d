import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
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
import { embedding, gatedMlp, layerName } from './llama.js'

export const VOCABULARY = 640
export const HIDDEN = wide(160, 256)
export const INNER = wide(192, 256)
const HEADS = 2
const KEY_HEADS = 1
export const LOCAL_HEAD = 256
export const FULL_HEAD = 512
export const WINDOW = 32
const LOCAL_THETA = 10_000
const THETA = 1_000_000
/** Of the head of a full layer. */
const TURNING = 0.25
/** Values of a layer's own embedding. */
const BESIDE = wide(32, 256)
export const CAP = 4
export const EPSILON = 1e-6
/** The last three have no keys and values of their own. */
const KINDS = ['sliding', 'sliding', 'full', 'sliding', 'full', 'sliding', 'sliding', 'full'] as const
const SHARED = 3
const OWN = KINDS.length - SHARED

const isFull = (layer: number) => KINDS[layer] === 'full'
const headOf = (layer: number) => (isFull(layer) ? FULL_HEAD : LOCAL_HEAD)
const innerOf = (layer: number) => (layer < OWN ? INNER : 2 * INNER)
/** The layer whose keys and values a layer sees. */
function giverOf(layer: number, mistake?: string): number {
  if (layer < OWN || mistake === 'computes keys where they are shared') return layer
  const given = KINDS.slice(0, OWN)
  return mistake === 'shares those of the first layer' ? given.indexOf(KINDS[layer]!) : given.lastIndexOf(KINDS[layer]!)
}

/** Exponents and pairs are those of the whole head, of which only the first pairs turn. */
export function anglesOf(full: boolean, mistake?: string): Vector {
  if (!full) return frequencies(LOCAL_THETA, LOCAL_HEAD)
  const theta = mistake === 'takes one base for all' ? LOCAL_THETA : THETA
  if (mistake === 'turns the first quarter of a head') return frequencies(theta, FULL_HEAD * TURNING)
  const all = frequencies(theta, FULL_HEAD)
  if (mistake === 'turns whole heads') return all
  return all.map((angle, i) => (i < (FULL_HEAD / 2) * TURNING ? angle : 0))
}

/** What each layer is given beside the stream: of the token alone, and of its embedding. */
function besides(weights: Weights, token: number, x: Vector, mistake?: string): Vector {
  const wide = KINDS.length * BESIDE
  const own = weights('model.embed_tokens_per_layer.weight').slice(token * wide, (token + 1) * wide)
  const scaled = times(own, mistake === 'forgets the scale of what layers are given' ? 1 : Math.sqrt(BESIDE))
  const projected = times(product(weights('model.per_layer_model_projection.weight'), x), HIDDEN ** -0.5)
  const weight = weights('model.per_layer_projection_norm.weight')
  const normed =
    mistake === 'norms what layers are given in one'
      ? both(
          rmsNorm(projected, undefined, EPSILON),
          projected.map((_, i) => weight[i % BESIDE]!),
        )
      : normHeads(projected, BESIDE, weight, EPSILON)
  if (mistake === 'forgets what the embedding gives to layers') return scaled
  return times(add(normed, scaled), Math.SQRT1_2)
}

function reference(weights: Weights, mistake?: string, kept?: Kept) {
  const plus = mistake === 'adds one to norms' ? 1 : 0
  const window = mistake === 'sees one key more' ? WINDOW + 1 : mistake === 'sees one key less' ? WINDOW - 1 : WINDOW
  const caches = KINDS.map(() => new Attention(kept))
  const act = mistake === 'takes silu for gelu' ? silu : geluTanh
  let position = 0
  return {
    step(token: number): Vector {
      let x = times(embedding(weights, token, HIDDEN), mistake === 'forgets sqrt(hidden)' ? 1 : Math.sqrt(HIDDEN))
      const given = besides(weights, token, x, mistake)
      for (const [i] of KINDS.entries()) {
        const of = (name: string) => weights(`${layerName(i)}.${name}.weight`)
        const normed = (y: Vector, name: string) => rmsNorm(y, of(name), EPSILON, plus)
        const [size, full] = [headOf(i), isFull(i)]
        const before = x
        const h = normed(x, 'input_layernorm')
        const turned = (name: string) => {
          const y = normHeads(
            product(of(`self_attn.${name}_proj`), h),
            size,
            of(`self_attn.${name}_norm`),
            EPSILON,
            plus,
          )
          return rotate(y, size, position, anglesOf(full, mistake))
        }
        const form = {
          headSize: size,
          keyHeads: KEY_HEADS,
          scale: mistake === 'scales scores by the size of heads' ? size ** -0.5 : 1,
          ...(!full && { window }),
        }
        const giver = giverOf(i, mistake)
        let seen: Vector
        if (giver === i) {
          const values = product(of('self_attn.v_proj'), h)
          const even = mistake === 'forgets the norm of values' ? values : normHeads(values, size, undefined, EPSILON)
          seen = caches[i]!.look(turned('q'), turned('k'), even, form)
        } else {
          seen = caches[giver]!.seen(turned('q'), form)
        }
        x = add(x, normed(product(of('self_attn.o_proj'), seen), 'post_attention_layernorm'))
        const own = given.slice(i * BESIDE, (i + 1) * BESIDE)
        const addOwn = () => {
          const gates = product(of('per_layer_input_gate'), x).map(act)
          const y = product(of('per_layer_projection'), both(gates, own))
          x = add(x, normed(y, 'post_per_layer_input_norm'))
        }
        if (mistake === 'gives layers their own before the MLP') addOwn()
        const m = gatedMlp(normed(x, 'pre_feedforward_layernorm'), weights, `${layerName(i)}.mlp`, act)
        x = add(x, normed(m, 'post_feedforward_layernorm'))
        if (mistake !== 'gives layers their own before the MLP' && mistake !== 'gives layers nothing') addOwn()
        const [by] = weights(`${layerName(i)}.layer_scalar`)
        if (mistake === 'scales what a layer adds alone') x = add(before, times(add(x, times(before, -1)), by!))
        else if (mistake !== 'forgets the scale of layers') x = times(x, by!)
      }
      position++
      const logits = product(
        weights('model.embed_tokens.weight'),
        rmsNorm(x, weights('model.norm.weight'), EPSILON, plus),
      )
      return mistake === 'forgets the cap of logits' ? logits : logits.map((logit) => softCap(logit, CAP))
    },
  }
}

function layerTensors(i: number): TensorSpec[] {
  const at = layerName(i)
  const size = headOf(i)
  return [
    ...['input_layernorm', 'post_attention_layernorm', 'pre_feedforward_layernorm', 'post_feedforward_layernorm'].map(
      (name) => norm(`${at}.${name}.weight`, HIDDEN),
    ),
    vector(`${at}.post_per_layer_input_norm.weight`, HIDDEN, 0.5, 0.1),
    // Scores are not scaled down, so that these stand for it.
    vector(`${at}.self_attn.q_norm.weight`, size, size ** -0.5, 0.1 * size ** -0.5),
    norm(`${at}.self_attn.k_norm.weight`, size),
    matrix(`${at}.self_attn.q_proj.weight`, HEADS * size, HIDDEN, 1.5),
    // Files have them in layers that do without, too.
    matrix(`${at}.self_attn.k_proj.weight`, KEY_HEADS * size, HIDDEN, 1.5),
    matrix(`${at}.self_attn.v_proj.weight`, KEY_HEADS * size, HIDDEN),
    matrix(`${at}.self_attn.o_proj.weight`, HIDDEN, HEADS * size),
    matrix(`${at}.mlp.gate_proj.weight`, innerOf(i), HIDDEN),
    matrix(`${at}.mlp.up_proj.weight`, innerOf(i), HIDDEN),
    matrix(`${at}.mlp.down_proj.weight`, HIDDEN, innerOf(i)),
    matrix(`${at}.per_layer_input_gate.weight`, BESIDE, HIDDEN),
    matrix(`${at}.per_layer_projection.weight`, HIDDEN, BESIDE),
    vector(`${at}.layer_scalar`, 1, 0.7, 0.1),
  ]
}

/** What GGUF calls the tensors that a layer of each kind has. */
export const GGUF_NAMES: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'post_attention_norm',
  pre_feedforward_layernorm: 'ffn_norm',
  post_feedforward_layernorm: 'post_ffw_norm',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
}
const OWN_NAMES: Readonly<Record<string, string>> = {
  post_per_layer_input_norm: 'post_norm',
  per_layer_input_gate: 'inp_gate',
  per_layer_projection: 'proj',
}

const TENSORS: readonly TensorSpec[] = [
  { ...matrix('model.embed_tokens.weight', VOCABULARY, HIDDEN), deviation: 0.1 },
  { ...matrix('model.embed_tokens_per_layer.weight', VOCABULARY, KINDS.length * BESIDE), deviation: 0.15 },
  matrix('model.per_layer_model_projection.weight', KINDS.length * BESIDE, HIDDEN),
  norm('model.per_layer_projection_norm.weight', BESIDE),
  norm('model.norm.weight', HIDDEN),
  ...KINDS.flatMap((_, i) => layerTensors(i)),
]

/** Which pairs of a full layer's heads do not turn. */
export function still(): GgufTensor {
  const pairs = FULL_HEAD / 2
  const values = Float64Array.from({ length: pairs }, (_, i) => (i < pairs * TURNING ? 1 : 1e30))
  return { name: 'rope_freqs.weight', dims: [pairs], values }
}

/** Of each layer, where they differ. */
interface Traits {
  readonly kinds: readonly ('sliding' | 'full')[]
  readonly beside: number
  readonly inner: number | readonly number[]
  readonly heads: number
  readonly keyHeads: number | readonly number[]
  readonly shared: number
}

export function gemma4Metadata(out: Metadata, { kinds, beside, inner, heads, keyHeads, shared }: Traits): void {
  const put = (name: string, value: number | readonly number[]) =>
    typeof value === 'number'
      ? out.u32(`gemma4.${name}`, value)
      : out.integers(`gemma4.${name}`, Int32Array.from(value))
  put('context_length', 2048)
  put('embedding_length', HIDDEN)
  put('embedding_length_per_layer_input', beside)
  put('block_count', kinds.length)
  put('feed_forward_length', inner)
  put('attention.head_count', heads)
  put('attention.head_count_kv', keyHeads)
  put('attention.key_length', FULL_HEAD)
  put('attention.value_length', FULL_HEAD)
  put('attention.key_length_swa', LOCAL_HEAD)
  put('attention.value_length_swa', LOCAL_HEAD)
  put('attention.shared_kv_layers', shared)
  put('attention.sliding_window', WINDOW)
  out.flags(
    'gemma4.attention.sliding_window_pattern',
    kinds.map((kind) => kind === 'sliding'),
  )
  put('rope.dimension_count', FULL_HEAD)
  put('rope.dimension_count_swa', LOCAL_HEAD)
  out.float('gemma4.rope.freq_base', THETA)
  out.float('gemma4.rope.freq_base_swa', LOCAL_THETA)
  out.float('gemma4.final_logit_softcapping', CAP)
  out.float('gemma4.attention.layer_norm_rms_epsilon', EPSILON)
}

function ggufTensors(weights: Weights): GgufTensor[] {
  const list: GgufTensor[] = []
  const put = (name: string, from: string) => {
    const { shape } = TENSORS.find((spec) => spec.name === from)!
    list.push({ name, dims: shape.toReversed(), values: weights(from) })
  }
  put('token_embd.weight', 'model.embed_tokens.weight')
  put('per_layer_token_embd.weight', 'model.embed_tokens_per_layer.weight')
  put('per_layer_model_proj.weight', 'model.per_layer_model_projection.weight')
  put('per_layer_proj_norm.weight', 'model.per_layer_projection_norm.weight')
  put('output_norm.weight', 'model.norm.weight')
  list.push(still())
  for (const [i] of KINDS.entries()) {
    const at = layerName(i)
    for (const [from, to] of Object.entries({ ...GGUF_NAMES, ...OWN_NAMES }))
      put(`blk.${i}.${to}.weight`, `${at}.${from}.weight`)
    put(`blk.${i}.layer_output_scale.weight`, `${at}.layer_scalar`)
  }
  return list
}

export const gemma4: Case = {
  name: 'gemma4',
  config: {
    model_type: 'gemma4_text',
    architectures: ['Gemma4ForCausalLM'],
    vocab_size: VOCABULARY,
    vocab_size_per_layer_input: VOCABULARY,
    hidden_size: HIDDEN,
    hidden_size_per_layer_input: BESIDE,
    intermediate_size: INNER,
    use_double_wide_mlp: true,
    num_hidden_layers: KINDS.length,
    num_kv_shared_layers: SHARED,
    num_attention_heads: HEADS,
    num_key_value_heads: KEY_HEADS,
    num_global_key_value_heads: null,
    head_dim: LOCAL_HEAD,
    global_head_dim: FULL_HEAD,
    attention_k_eq_v: false,
    attention_bias: false,
    hidden_activation: 'gelu_pytorch_tanh',
    rms_norm_eps: EPSILON,
    layer_types: KINDS.map((kind) => `${kind}_attention`),
    sliding_window: WINDOW,
    rope_parameters: {
      full_attention: { rope_type: 'proportional', partial_rotary_factor: TURNING, rope_theta: THETA },
      sliding_attention: { rope_type: 'default', rope_theta: LOCAL_THETA },
    },
    final_logit_softcapping: CAP,
    enable_moe_block: false,
    num_experts: null,
    top_k_experts: null,
    moe_intermediate_size: null,
    use_bidirectional_attention: null,
    max_position_embeddings: 2048,
    tie_word_embeddings: true,
  },
  tensors: TENSORS,
  prompt: 80,
  mistakes: [
    'adds one to norms',
    'scales scores by the size of heads',
    'forgets the norm of values',
    'sees one key more',
    'sees one key less',
    'forgets sqrt(hidden)',
    'takes silu for gelu',
    'turns the first quarter of a head',
    'turns whole heads',
    'takes one base for all',
    'shares those of the first layer',
    'computes keys where they are shared',
    'gives layers nothing',
    'gives layers their own before the MLP',
    'forgets the scale of what layers are given',
    'forgets what the embedding gives to layers',
    'norms what layers are given in one',
    'scales what a layer adds alone',
    'forgets the scale of layers',
    'forgets the cap of logits',
  ],
  reference,
  gguf: {
    architecture: 'gemma4',
    approximate: true,
    metadata: (out) =>
      gemma4Metadata(out, {
        ...{ kinds: KINDS, beside: BESIDE, heads: HEADS, keyHeads: KEY_HEADS, shared: SHARED },
        inner: KINDS.map((_, i) => innerOf(i)),
      }),
    tensors: ggufTensors,
  },
}
