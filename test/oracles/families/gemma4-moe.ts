/** Gemma 4 26B-A4B: experts beside the MLP of every layer, and full layers whose values are what keys are made of. */
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
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
import { type ExpertsShape, expertsMetadata, type RouterTraits, routed } from './experts.js'
import {
  anglesOf,
  CAP,
  EPSILON,
  FULL_HEAD,
  GGUF_NAMES,
  gemma4,
  gemma4Metadata,
  HIDDEN,
  INNER,
  LOCAL_HEAD,
  still,
  VOCABULARY,
  WINDOW,
} from './gemma4.js'
import { embedding, gatedMlp, layerName } from './llama.js'

const EXPERTS: ExpertsShape = { experts: 8, chosen: 3, size: wide(96, 256) }
const HEADS = 4
const [LOCAL_KEYS, FULL_KEYS] = [2, 1]
const KINDS = ['sliding', 'sliding', 'full', 'sliding', 'full'] as const
const isFull = (layer: number) => KINDS[layer] === 'full'
const headOf = (layer: number) => (isFull(layer) ? FULL_HEAD : LOCAL_HEAD)
const keysOf = (layer: number) => (isFull(layer) ? FULL_KEYS : LOCAL_KEYS)

/** Weights that are left as they are would go unseen: what experts give is normed. */
const ROUTER_MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'takes one expert more': { normed: true, more: 1 },
  'takes the least': { normed: true, least: true },
  'lets all count alike': { normed: true, alike: true },
}
const MISTAKES = [
  ...Object.keys(ROUTER_MISTAKES),
  'lets the router read what the MLP reads',
  'forgets the scale of the router',
  'forgets the width in the router',
  'forgets the factors of experts',
  'gives experts what the MLP reads',
  'forgets the norms of both',
  'leaves out the MLP',
  'leaves out the experts',
  'takes silu in experts',
  'takes normed keys for values',
  'forgets the norm of values',
  'lets full layers see a window',
  'forgets the scale of layers',
]

/** The row as the layer's attention leaves it, to what the MLP and the experts add to it. */
function mixture(x: Vector, weights: Weights, at: string, mistake?: string): Vector {
  const of = (name: string) => weights(`${at}.${name}`)
  const normed = (y: Vector, name: string) => rmsNorm(y, of(`${name}.weight`), EPSILON)
  const m = normed(x, 'pre_feedforward_layernorm')
  const flat = rmsNorm(x, undefined, EPSILON)
  const scale = mistake === 'forgets the scale of the router' ? flat.map(() => 1) : of('router.scale')
  const width = mistake === 'forgets the width in the router' ? 1 : HIDDEN ** -0.5
  const read = mistake === 'lets the router read what the MLP reads' ? m : times(both(flat, scale), width)
  const scores = product(of('router.proj.weight'), read)
  const own = mistake === 'gives experts what the MLP reads' ? m : normed(x, 'pre_feedforward_layernorm_2')
  const act = mistake === 'takes silu in experts' ? silu : geluTanh
  const { chosen, size } = EXPERTS
  const mixed = routed(scores, chosen, ROUTER_MISTAKES[mistake ?? ''] ?? { normed: true })
    .map(([e, weight]) => {
      const [into, out] = [2 * size * HIDDEN, HIDDEN * size]
      const inner = product(of('experts.gate_up_proj').subarray(e * into, (e + 1) * into), own)
      const opened = both(inner.slice(0, size).map(act), inner.slice(size))
      const factor = mistake === 'forgets the factors of experts' ? 1 : of('router.per_expert_scale')[e]!
      return times(product(of('experts.down_proj').subarray(e * out, (e + 1) * out), opened), weight * factor)
    })
    .reduce(add)
  const plain = mistake === 'forgets the norms of both'
  const after = (y: Vector, i: number) => (plain ? y : normed(y, `post_feedforward_layernorm_${i}`))
  const dense = after(gatedMlp(m, weights, `${at}.mlp`, geluTanh), 1)
  const beside = after(mixed, 2)
  const sum =
    mistake === 'leaves out the MLP' ? beside : mistake === 'leaves out the experts' ? dense : add(dense, beside)
  return normed(sum, 'post_feedforward_layernorm')
}

function reference(weights: Weights, mistake?: string, kept?: Kept) {
  const caches = KINDS.map(() => new Attention(kept))
  let position = 0
  return {
    step(token: number): Vector {
      let x = times(embedding(weights, token, HIDDEN), Math.sqrt(HIDDEN))
      for (const [i] of KINDS.entries()) {
        const at = layerName(i)
        const of = (name: string) => weights(`${at}.${name}.weight`)
        const [size, full] = [headOf(i), isFull(i)]
        const h = rmsNorm(x, of('input_layernorm'), EPSILON)
        const headed = (name: string) =>
          normHeads(product(of(`self_attn.${name}_proj`), h), size, of(`self_attn.${name}_norm`), EPSILON)
        const turned = (name: string) => rotate(headed(name), size, position, anglesOf(full))
        const raw =
          full && mistake === 'takes normed keys for values'
            ? headed('k')
            : product(of(`self_attn.${full ? 'k' : 'v'}_proj`), h)
        const values = mistake === 'forgets the norm of values' ? raw : normHeads(raw, size, undefined, EPSILON)
        const seen = caches[i]!.look(turned('q'), turned('k'), values, {
          ...{ headSize: size, keyHeads: keysOf(i), scale: 1 },
          ...((!full || mistake === 'lets full layers see a window') && { window: WINDOW }),
        })
        const attended = product(of('self_attn.o_proj'), seen)
        x = add(x, rmsNorm(attended, of('post_attention_layernorm'), EPSILON))
        x = add(x, mixture(x, weights, at, mistake))
        if (mistake !== 'forgets the scale of layers') x = times(x, weights(`${at}.layer_scalar`)[0]!)
      }
      position++
      const last = rmsNorm(x, weights('model.norm.weight'), EPSILON)
      return product(weights('model.embed_tokens.weight'), last).map((logit) => softCap(logit, CAP))
    },
  }
}

const NORMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(GGUF_NAMES).filter(([from]) => from.endsWith('layernorm'))),
  pre_feedforward_layernorm_2: 'pre_ffw_norm_2',
  post_feedforward_layernorm_1: 'post_ffw_norm_1',
  post_feedforward_layernorm_2: 'post_ffw_norm_2',
}
/** A layer's tensors, by what GGUF calls them. */
const ALL_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries({ ...GGUF_NAMES, ...NORMS }).map(([from, to]) => [`${from}.weight`, `${to}.weight`]),
  ),
  'router.proj.weight': 'ffn_gate_inp.weight',
  'router.scale': 'ffn_gate_inp.scale',
  'router.per_expert_scale': 'ffn_down_exps.scale',
  'experts.gate_up_proj': 'ffn_gate_up_exps.weight',
  'experts.down_proj': 'ffn_down_exps.weight',
  layer_scalar: 'layer_output_scale.weight',
}

function layerTensors(i: number): TensorSpec[] {
  const at = layerName(i)
  const size = headOf(i)
  const { experts, size: inner } = EXPERTS
  const all = (name: string, rows: number, columns: number, gain: number): TensorSpec => ({
    ...matrix(`${at}.experts.${name}`, rows, columns, gain),
    shape: [experts, rows, columns],
  })
  return [
    ...Object.keys(NORMS).map((name) => norm(`${at}.${name}.weight`, HIDDEN)),
    // Scores are not scaled down, so that these stand for it.
    vector(`${at}.self_attn.q_norm.weight`, size, size ** -0.5, 0.1 * size ** -0.5),
    norm(`${at}.self_attn.k_norm.weight`, size),
    matrix(`${at}.self_attn.q_proj.weight`, HEADS * size, HIDDEN, 1.5),
    matrix(`${at}.self_attn.k_proj.weight`, keysOf(i) * size, HIDDEN, 1.5),
    ...(isFull(i) ? [] : [matrix(`${at}.self_attn.v_proj.weight`, keysOf(i) * size, HIDDEN)]),
    matrix(`${at}.self_attn.o_proj.weight`, HIDDEN, HEADS * size),
    matrix(`${at}.mlp.gate_proj.weight`, INNER, HIDDEN),
    matrix(`${at}.mlp.up_proj.weight`, INNER, HIDDEN),
    matrix(`${at}.mlp.down_proj.weight`, HIDDEN, INNER),
    // What it reads is divided by the root of the width.
    matrix(`${at}.router.proj.weight`, experts, HIDDEN, 2 * Math.sqrt(HIDDEN)),
    vector(`${at}.router.scale`, HIDDEN, 1, 0.3),
    vector(`${at}.router.per_expert_scale`, experts, 1, 0.5),
    all('gate_up_proj', 2 * inner, HIDDEN, 1.5),
    all('down_proj', HIDDEN, inner, 1),
    vector(`${at}.layer_scalar`, 1, 0.7, 0.1),
  ]
}

const TENSORS: readonly TensorSpec[] = [
  { ...matrix('model.embed_tokens.weight', VOCABULARY, HIDDEN), deviation: 0.1 },
  norm('model.norm.weight', HIDDEN),
  ...KINDS.flatMap((_, i) => layerTensors(i)),
]

function ggufTensors(weights: Weights): GgufTensor[] {
  const list: GgufTensor[] = []
  const put = (name: string, from: string) => {
    const spec = TENSORS.find((each) => each.name === from)
    if (spec) list.push({ name, dims: spec.shape.toReversed(), values: weights(from) })
  }
  put('token_embd.weight', 'model.embed_tokens.weight')
  put('output_norm.weight', 'model.norm.weight')
  list.push(still())
  for (const [i] of KINDS.entries()) {
    for (const [from, to] of Object.entries(ALL_NAMES)) put(`blk.${i}.${to}`, `${layerName(i)}.${from}`)
  }
  return list
}

export const gemma4Moe: Case = {
  name: 'gemma4_moe',
  config: {
    ...gemma4.config,
    hidden_size_per_layer_input: 0,
    use_double_wide_mlp: false,
    num_hidden_layers: KINDS.length,
    num_kv_shared_layers: 0,
    num_attention_heads: HEADS,
    num_key_value_heads: LOCAL_KEYS,
    num_global_key_value_heads: FULL_KEYS,
    attention_k_eq_v: true,
    layer_types: KINDS.map((kind) => `${kind}_attention`),
    enable_moe_block: true,
    num_experts: EXPERTS.experts,
    top_k_experts: EXPERTS.chosen,
    moe_intermediate_size: EXPERTS.size,
    use_bidirectional_attention: 'vision',
  },
  tensors: TENSORS,
  prompt: 80,
  mistakes: MISTAKES,
  reference,
  gguf: {
    architecture: 'gemma4',
    approximate: true,
    metadata(out) {
      gemma4Metadata(out, {
        ...{ kinds: KINDS, beside: 0, inner: INNER, heads: HEADS, shared: 0 },
        keyHeads: KINDS.map((_, i) => keysOf(i)),
      })
      expertsMetadata(out, 'gemma4', EXPERTS)
    },
    tensors: ggufTensors,
  },
}
