/** Mixtures of experts: what a router does with a row, and each expert's MLP, from the definitions. */
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, type TensorSpec, vector, type Weights } from '../family.js'
import { add, both, product, sigmoid, silu, softmax, times, type Vector } from '../float64.js'
import { wide } from '../width.js'
import { lfm2, lfm2Metadata, lfm2Reference } from './lfm2.js'
import {
  gatedMlp,
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
import { qwen35, qwen35Metadata, qwen35Reference } from './qwen3-5.js'
import { GRANITE, granite, graniteFactors } from './variants.js'

export interface ExpertsShape {
  readonly experts: number
  readonly chosen: number
  readonly size: number
  /** Of what all rows go through beside them, weighed by the sigmoid of a score. */
  readonly shared?: number
}

/** What is done with the scores of a row. */
export interface RouterTraits {
  /** @default softmax */
  readonly scores?: 'softmax' | 'sigmoid'
  /** The weights of those that are chosen are divided by their sum. */
  readonly normed?: boolean
  /** The least are chosen, or one more, or one less. */
  readonly least?: boolean
  readonly more?: number
  /** All chosen count alike. */
  readonly alike?: boolean
  /** Added to what is chosen by. */
  readonly bias?: Vector | undefined
  /** It weighs, too. */
  readonly biasWeighs?: boolean
  /** What is shared is left out, or counts as it is. */
  readonly unshared?: boolean
  readonly unweighed?: boolean
}

/** Told by how much, as logarithms, the last expert that is chosen leads the next; says whether that one is to be chosen. */
type Choosing = (lead: number) => boolean
let choosing: Choosing | undefined

/** While it runs, another decides where experts tie. */
export function whileChoosing<T>(by: Choosing, run: () => T): T {
  choosing = by
  try {
    return run()
  } finally {
    choosing = undefined
  }
}

/** Numbers of experts, the best first, and what each counts for. */
export function routed(scores: Vector, chosen: number, traits: RouterTraits): [expert: number, weight: number][] {
  const shares = traits.scores === 'sigmoid' ? [...scores].map(sigmoid) : softmax([...scores])
  const sign = traits.least ? -1 : 1
  const keys = shares.map((share, e) => share + (traits.bias?.[e] ?? 0))
  if (traits.biasWeighs) shares.splice(0, shares.length, ...keys)
  const best = [...shares.keys()].sort((a, b) => sign * (keys[b]! - keys[a]!) || a - b)
  const [last, next] = [best[chosen - 1]!, best[chosen]!]
  if (choosing?.(Math.abs(Math.log(keys[last]! / keys[next]!)))) best.splice(chosen - 1, 2, next, last)
  const taken = best.slice(0, chosen + (traits.more ?? 0))
  const sum = traits.normed ? taken.reduce((all, expert) => all + shares[expert]!, 0) : 1
  return taken.map((expert) => [expert, traits.alike ? 1 / taken.length : shares[expert]! / sum])
}

/** How a family calls a layer's. */
export interface ExpertNames {
  readonly router: string
  /** Of an expert: gate, up, down. */
  parts(expert: number): readonly [gate: string, up: string, down: string]
}

const USUAL: ExpertNames = {
  router: 'gate.weight',
  parts: (e) => [`experts.${e}.gate_proj.weight`, `experts.${e}.up_proj.weight`, `experts.${e}.down_proj.weight`],
}

/** `at`: what the names of router and experts begin with. */
export function mixture(
  x: Vector,
  weights: Weights,
  at: string,
  { chosen, shared }: ExpertsShape,
  traits: RouterTraits,
  names = USUAL,
): Vector {
  const scores = product(weights(`${at}.${names.router}`), x)
  const sum = routed(scores, chosen, traits)
    .map(([expert, weight]) => {
      const [gate, up, down] = names.parts(expert).map((name) => weights(`${at}.${name}`))
      return times(product(down!, both(product(gate!, x).map(silu), product(up!, x))), weight)
    })
    .reduce(add)
  if (!shared || traits.unshared) return sum
  const by = traits.unweighed ? 1 : sigmoid(product(weights(`${at}.shared_expert_gate.weight`), x)[0]!)
  return add(sum, times(gatedMlp(x, weights, `${at}.shared_expert`, silu), by))
}

/** Of a layer. */
export function mixtureTensors(
  at: string,
  hidden: number,
  { experts, size, shared }: ExpertsShape,
  names = USUAL,
): TensorSpec[] {
  return [
    // Far apart, so that no rounding decides who is chosen.
    matrix(`${at}.${names.router}`, experts, hidden, 2),
    ...Array.from({ length: experts }, (_, expert) => {
      const [gate, up, down] = names.parts(expert).map((name) => `${at}.${name}`)
      return [matrix(gate!, size, hidden), matrix(up!, size, hidden), matrix(down!, hidden, size, 2)]
    }).flat(),
    ...(shared
      ? [
          matrix(`${at}.shared_expert_gate.weight`, 1, hidden),
          matrix(`${at}.shared_expert.gate_proj.weight`, shared, hidden),
          matrix(`${at}.shared_expert.up_proj.weight`, shared, hidden),
          matrix(`${at}.shared_expert.down_proj.weight`, hidden, shared),
        ]
      : []),
  ]
}

/** Llama's tensors with experts in place of its MLPs. */
export function expertsTensors(shape: LlamaShape, experts: ExpertsShape): TensorSpec[] {
  return [
    ...llamaTensors(shape).filter(({ name }) => !name.includes('.mlp.')),
    ...Array.from({ length: shape.layers }, (_, i) =>
      mixtureTensors(`${layerName(i)}.mlp`, shape.hidden, experts),
    ).flat(),
  ]
}

export function expertsMetadata(out: Metadata, architecture: string, of: ExpertsShape): void {
  out.u32(`${architecture}.expert_count`, of.experts)
  out.u32(`${architecture}.expert_used_count`, of.chosen)
  out.u32(`${architecture}.expert_feed_forward_length`, of.size)
  if (of.shared) out.u32(`${architecture}.expert_shared_feed_forward_length`, of.shared)
}

/** llama.cpp has all experts of a layer in one tensor. */
export function mixtureGguf(
  layer: number,
  at: string,
  hidden: number,
  { experts, size, shared }: ExpertsShape,
  weights: Weights,
  names = USUAL,
): GgufTensor[] {
  const of = (name: string) => weights(`${at}.${name}`)
  const all = (part: number) => {
    const each = Array.from({ length: experts }, (_, e) => of(names.parts(e)[part]!))
    const out = new Float64Array(experts * size * hidden)
    for (const [e, values] of each.entries()) out.set(values, e * size * hidden)
    return out
  }
  const to = (name: string) => `blk.${layer}.${name}.weight`
  return [
    { name: to('ffn_gate_inp'), dims: [hidden, experts], values: of(names.router) },
    { name: to('ffn_gate_exps'), dims: [hidden, size, experts], values: all(0) },
    { name: to('ffn_up_exps'), dims: [hidden, size, experts], values: all(1) },
    { name: to('ffn_down_exps'), dims: [size, hidden, experts], values: all(2) },
    ...(shared
      ? [
          { name: to('ffn_gate_inp_shexp'), dims: [hidden], values: of('shared_expert_gate.weight') },
          { name: to('ffn_gate_shexp'), dims: [hidden, shared], values: of('shared_expert.gate_proj.weight') },
          { name: to('ffn_up_shexp'), dims: [hidden, shared], values: of('shared_expert.up_proj.weight') },
          { name: to('ffn_down_shexp'), dims: [shared, hidden], values: of('shared_expert.down_proj.weight') },
        ]
      : []),
  ]
}

/** As if a layer's MLP were empty, for what writes all else. */
export const withoutMlp =
  (pattern: RegExp, weights: Weights): Weights =>
  (name) =>
    pattern.test(name) ? new Float64Array(0) : weights(name)

function expertsGguf(shape: LlamaShape, experts: ExpertsShape, weights: Weights, permute = false): GgufTensor[] {
  return [
    ...llamaGgufTensors(shape, withoutMlp(/\.mlp\./, weights), permute).filter(({ values }) => values.length > 0),
    ...Array.from({ length: shape.layers }, (_, i) =>
      mixtureGguf(i, `${layerName(i)}.mlp`, shape.hidden, experts, weights),
    ).flat(),
  ]
}

/** llama.cpp's heads make up the width of some. */
const SQUARE: LlamaShape = { ...SMALL, hidden: 256, layers: 3, inner: 128, theta: 1_000_000, epsilon: 1e-6 }
const MIXED: LlamaShape = { ...SMALL, layers: 3, headSize: 128, theta: 1_000_000, epsilon: 1e-6 }
const EXPERTS: ExpertsShape = { experts: 12, chosen: 3, size: wide(96, 256) }

const attentionOf = (i: number, name: string) => `${layerName(i)}.self_attn.${name}`
const each = <T>(of: (layer: number) => T[]): T[] => Array.from({ length: MIXED.layers }, (_, i) => of(i)).flat()

interface Form {
  readonly name: string
  readonly className: string
  readonly architecture: string
  readonly shape?: LlamaShape
  readonly experts: ExpertsShape
  readonly config: object
  /** Beside Llama's, of a layer: sizes by their names, and how llama.cpp calls them. */
  readonly more: Readonly<Record<string, readonly [size: number, mean: number, gguf: string]>>
  readonly llama: LlamaTraits
  readonly router: RouterTraits
  readonly mistakes: Readonly<Record<string, RouterTraits>>
}

function mixtureCase(form: Form): Case {
  const { name, className, architecture, shape = MIXED, experts, config, more, llama, router, mistakes } = form
  return {
    name,
    config: {
      ...llamaConfig(shape, name, className),
      num_experts: experts.experts,
      num_experts_per_tok: experts.chosen,
      output_router_logits: false,
      router_aux_loss_coef: 0.001,
      ...config,
    },
    tensors: [
      ...expertsTensors(shape, experts),
      ...each((i) =>
        Object.entries(more).map(([of, [size, mean]]) =>
          vector(attentionOf(i, of), size, mean, mean === 0 ? 0.3 : 0.2),
        ),
      ),
    ],
    prompt: 80,
    mistakes: Object.keys(mistakes),
    reference: (weights, mistake, kept) => {
      const traits = { ...router, ...(mistake !== undefined && mistakes[mistake]) }
      return llamaReference(shape, weights, {
        kept,
        ...llama,
        feedForward: (x, at) => mixture(x, weights, at, experts, traits),
      })
    },
    gguf: {
      architecture,
      metadata: (out) => {
        llamaMetadata(out, architecture, shape)
        expertsMetadata(out, architecture, experts)
      },
      tensors: (weights) => [
        ...expertsGguf(shape, experts, weights),
        ...each((i) =>
          Object.entries(more).map(([of, [size, , gguf]]): GgufTensor => {
            return { name: `blk.${i}.${gguf}`, dims: [size], values: weights(attentionOf(i, of)) }
          }),
        ),
      ],
    },
  }
}

const ROUTER_MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'takes one expert more': { more: 1 },
  'takes one expert less': { more: -1 },
  'takes the least': { least: true },
  'lets all count alike': { alike: true },
}
const QWEN = {
  moe_intermediate_size: EXPERTS.size,
  decoder_sparse_step: 1,
  mlp_only_layers: [],
  use_sliding_window: false,
  max_window_layers: 3,
}
const [QUERIES, KEYS] = [SQUARE.heads * SQUARE.headSize, SQUARE.keyHeads * SQUARE.headSize]

/** Softmax over all experts, the best of them, whose shares are made to sum up to one. */
export const qwen3Moe = mixtureCase({
  name: 'qwen3_moe',
  className: 'Qwen3MoeForCausalLM',
  architecture: 'qwen3moe',
  experts: EXPERTS,
  config: { ...QWEN, norm_topk_prob: true, attention_bias: false, sliding_window: null },
  more: {
    'q_norm.weight': [MIXED.headSize, 1, 'attn_q_norm.weight'],
    'k_norm.weight': [MIXED.headSize, 1, 'attn_k_norm.weight'],
  },
  llama: { headNorms: true },
  router: { normed: true },
  mistakes: {
    'leaves the weights of the chosen as they are': { normed: false },
    ...ROUTER_MISTAKES,
    'scores by sigmoid': { scores: 'sigmoid' },
  },
})

const SHARED: ExpertsShape = { ...EXPERTS, shared: wide(160, 256) }

/** Their shares count as they are, and all rows go through one more. */
export const qwen2Moe = mixtureCase({
  name: 'qwen2_moe',
  className: 'Qwen2MoeForCausalLM',
  architecture: 'qwen2moe',
  shape: SQUARE,
  experts: SHARED,
  config: { ...QWEN, norm_topk_prob: false, sliding_window: 32, shared_expert_intermediate_size: SHARED.shared },
  more: {
    'q_proj.bias': [QUERIES, 0, 'attn_q.bias'],
    'k_proj.bias': [KEYS, 0, 'attn_k.bias'],
    'v_proj.bias': [KEYS, 0, 'attn_v.bias'],
  },
  llama: { biased: true },
  router: {},
  mistakes: {
    'makes the weights sum up to one': { normed: true },
    ...ROUTER_MISTAKES,
    'leaves out what is shared': { unshared: true },
    'takes what is shared as it is': { unweighed: true },
  },
})

/** The best of softmax, whose shares count as they are; norms of whole rows. */
export const olmoe = mixtureCase({
  name: 'olmoe',
  className: 'OlmoeForCausalLM',
  architecture: 'olmoe',
  shape: { ...SQUARE, keyHeads: SQUARE.heads },
  experts: { ...EXPERTS, size: SQUARE.inner },
  config: { norm_topk_prob: false, attention_bias: false, clip_qkv: null },
  more: {
    'q_norm.weight': [QUERIES, 1, 'attn_q_norm.weight'],
    'k_norm.weight': [QUERIES, 1, 'attn_k_norm.weight'],
  },
  llama: { rowNorms: true },
  router: {},
  mistakes: { 'makes the weights sum up to one': { normed: true }, ...ROUTER_MISTAKES },
})

const LFM2: ExpertNames = {
  router: 'gate.weight',
  parts: (e) => [`experts.${e}.w1.weight`, `experts.${e}.w3.weight`, `experts.${e}.w2.weight`],
}
const DENSE = 1
const BIAS = 'expert_bias'
const lfm2At = (i: number) => `${layerName(i)}.feed_forward`
const LFM2_MLP = /layers\.[1-9]\d*\.feed_forward\./
const LFM2_MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'scores by softmax': { scores: 'softmax' },
  'leaves the weights of the chosen as they are': { normed: false },
  'weighs by what it chooses by': { biasWeighs: true },
  'chooses by scores alone': { bias: undefined },
  ...ROUTER_MISTAKES,
}
const LFM2_HIDDEN = Number(lfm2.config.block_dim)
const LFM2_LAYERS = Array.from({ length: Number(lfm2.config.num_hidden_layers) - DENSE }, (_, i) => i + DENSE)

/** Scored by sigmoid; what is chosen by has a number of the expert's own in it, what weighs has not. */
export const lfm2Moe: Case = {
  name: 'lfm2_moe',
  config: {
    ...lfm2.config,
    model_type: 'lfm2_moe',
    architectures: ['Lfm2MoeForCausalLM'],
    ...{ block_dim: undefined, block_ff_dim: undefined, block_auto_adjust_ff_dim: undefined },
    ...{ block_ffn_dim_multiplier: undefined, block_multiple_of: undefined },
    intermediate_size: 256,
    num_dense_layers: DENSE,
    num_experts: EXPERTS.experts,
    num_experts_per_tok: EXPERTS.chosen,
    moe_intermediate_size: EXPERTS.size,
    norm_topk_prob: true,
    use_expert_bias: true,
    routed_scaling_factor: 1,
  },
  tensors: [
    ...lfm2.tensors.filter(({ name }) => !LFM2_MLP.test(name)),
    ...LFM2_LAYERS.flatMap((i) => [
      ...mixtureTensors(lfm2At(i), LFM2_HIDDEN, EXPERTS, LFM2),
      vector(`${lfm2At(i)}.${BIAS}`, EXPERTS.experts, 0, 0.3),
    ]),
  ],
  prompt: lfm2.prompt,
  mistakes: Object.keys(LFM2_MISTAKES),
  reference: (weights, mistake, kept) =>
    lfm2Reference(weights, undefined, kept, (i, x) => {
      if (i < DENSE) return undefined
      const usual: RouterTraits = { scores: 'sigmoid', normed: true, bias: weights(`${lfm2At(i)}.${BIAS}`) }
      const traits = { ...usual, ...(mistake !== undefined && LFM2_MISTAKES[mistake]) }
      return mixture(x, weights, lfm2At(i), EXPERTS, traits, LFM2)
    }),
  gguf: {
    architecture: 'lfm2moe',
    metadata: (out) => {
      lfm2Metadata(out, 'lfm2moe')
      expertsMetadata(out, 'lfm2moe', EXPERTS)
      out.u32('lfm2moe.leading_dense_block_count', DENSE)
      out.u32('lfm2moe.expert_gating_func', 2)
    },
    tensors: (weights) => [
      ...lfm2.gguf!.tensors(withoutMlp(LFM2_MLP, weights)).filter(({ values }) => values.length > 0),
      ...LFM2_LAYERS.flatMap((i) => [
        ...mixtureGguf(i, lfm2At(i), LFM2_HIDDEN, EXPERTS, weights, LFM2),
        { name: `blk.${i}.exp_probs_b.bias`, dims: [EXPERTS.experts], values: weights(`${lfm2At(i)}.${BIAS}`) },
      ]),
    ],
  },
}

const QWEN35_HIDDEN = Number(qwen35.config.hidden_size)
const QWEN35_LAYERS = Array.from({ length: Number(qwen35.config.num_hidden_layers) }, (_, i) => i)
const QWEN35_MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'leaves the weights of the chosen as they are': { normed: false },
  'leaves out what is shared': { unshared: true },
  'takes what is shared as it is': { unweighed: true },
  ...ROUTER_MISTAKES,
}

/** What a layer of it has in place of an MLP, whatever the layer is called. */
export const QWEN35_EXPERTS = {
  run: (x: Vector, weights: Weights, at: string, mistaken?: RouterTraits) =>
    mixture(x, weights, `${at}.mlp`, SHARED, { normed: true, ...mistaken }),
  tensors: (at: string) => mixtureTensors(`${at}.mlp`, QWEN35_HIDDEN, SHARED),
  gguf: (weights: Weights, at: string, i: number) => mixtureGguf(i, `${at}.mlp`, QWEN35_HIDDEN, SHARED, weights),
  metadata: (out: Metadata) => expertsMetadata(out, 'qwen35moe', SHARED),
}

/** Qwen3.5 with experts in every layer, and one that all rows go through. */
export const qwen35Moe: Case = {
  name: 'qwen3_5_moe',
  config: {
    ...qwen35.config,
    model_type: 'qwen3_5_moe_text',
    architectures: ['Qwen3_5MoeForCausalLM'],
    intermediate_size: undefined,
    num_experts: SHARED.experts,
    num_experts_per_tok: SHARED.chosen,
    moe_intermediate_size: SHARED.size,
    shared_expert_intermediate_size: SHARED.shared,
  },
  tensors: [
    ...qwen35.tensors.filter(({ name }) => !name.includes('.mlp.')),
    ...QWEN35_LAYERS.flatMap((i) => QWEN35_EXPERTS.tensors(layerName(i))),
  ],
  prompt: qwen35.prompt,
  mistakes: Object.keys(QWEN35_MISTAKES),
  reference: (weights, mistake, kept) =>
    qwen35Reference(weights, undefined, kept, (x, at) =>
      QWEN35_EXPERTS.run(x, weights, at, mistake === undefined ? {} : QWEN35_MISTAKES[mistake]),
    ),
  gguf: {
    architecture: 'qwen35moe',
    metadata: (out) => {
      qwen35Metadata(out, 'qwen35moe')
      QWEN35_EXPERTS.metadata(out)
    },
    tensors: (weights) => [
      ...qwen35.gguf!.tensors(withoutMlp(/\.mlp\./, weights)).filter(({ values }) => values.length > 0),
      ...QWEN35_LAYERS.flatMap((i) => QWEN35_EXPERTS.gguf(weights, layerName(i), i)),
    ],
  },
}

const FUSED = 'block_sparse_moe'
const GRANITE_SHAPE: LlamaShape = { ...SMALL, tied: true, layers: 3, inner: EXPERTS.size }
const fusedOf = (i: number) => `${layerName(i)}.${FUSED}`

/** Each expert's, out of the tensors that hold all of them. */
function unfused(weights: Weights): Weights {
  const { hidden, inner } = GRANITE_SHAPE
  return (name) => {
    const [, at, expert, part] = /^(.*)\.mlp\.experts\.(\d+)\.(gate|up|down)_proj\.weight$/.exec(name) ?? []
    if (at === undefined) return weights(name.replace('.mlp.gate.weight', `.${FUSED}.router.layer.weight`))
    const all = weights(`${at}.${FUSED}.${part === 'down' ? 'output' : 'input'}_linear.weight`)
    const size = inner * hidden
    const first = part === 'down' ? Number(expert) : 2 * Number(expert) + (part === 'up' ? 1 : 0)
    return all.subarray(first * size, (first + 1) * size)
  }
}

/** Granite's factors, and softmax of the chosen scores alone. */
export const graniteMoe: Case = {
  name: 'granitemoe',
  config: {
    ...granite.config,
    ...llamaConfig(GRANITE_SHAPE, 'granitemoe', 'GraniteMoeForCausalLM'),
    num_local_experts: EXPERTS.experts,
    num_experts_per_tok: EXPERTS.chosen,
  },
  tensors: [
    ...llamaTensors(GRANITE_SHAPE).filter(({ name }) => !name.includes('.mlp.')),
    ...Array.from({ length: GRANITE_SHAPE.layers }, (_, i): TensorSpec[] => {
      const { hidden, inner } = GRANITE_SHAPE
      const { experts } = EXPERTS
      const all = (name: string, rows: number, columns: number, gain: number) => ({
        ...matrix(`${fusedOf(i)}.${name}.weight`, rows, columns, gain),
        shape: [experts, rows, columns],
      })
      return [
        matrix(`${fusedOf(i)}.router.layer.weight`, experts, hidden, 2),
        all('input_linear', 2 * inner, hidden, 1),
        all('output_linear', hidden, inner, 4),
      ]
    }).flat(),
  ],
  prompt: 80,
  mistakes: [...Object.keys(ROUTER_MISTAKES), 'forgets the factor of residuals'],
  reference: (weights, mistake, kept) =>
    llamaReference(GRANITE_SHAPE, unfused(weights), {
      kept,
      ...GRANITE,
      ...(mistake === 'forgets the factor of residuals' && { residualFactor: 1 }),
      feedForward: (x, at) =>
        mixture(x, unfused(weights), at, EXPERTS, { normed: true, ...ROUTER_MISTAKES[mistake ?? ''] }),
    }),
  gguf: {
    architecture: 'granitemoe',
    metadata: (out) => {
      llamaMetadata(out, 'granitemoe', GRANITE_SHAPE)
      graniteFactors(out, 'granitemoe')
      out.u32('granitemoe.expert_count', EXPERTS.experts)
      out.u32('granitemoe.expert_used_count', EXPERTS.chosen)
    },
    tensors: (weights) => expertsGguf(GRANITE_SHAPE, EXPERTS, unfused(weights), true),
  },
}

const MIXTRAL: LlamaShape = { ...SMALL, layers: 3, inner: EXPERTS.size, theta: 1_000_000 }
const MIXTRAL_PARTS: Readonly<Record<string, string>> = { gate: 'w1', up: 'w3', down: 'w2' }
const MIXTRAL_MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'leaves the weights of the chosen as they are': { normed: false },
  ...ROUTER_MISTAKES,
}

/** As Mixtral calls what others call so. */
const ofMixtral = (name: string) =>
  name
    .replace('.mlp.', `.${FUSED}.`)
    .replace(/(experts\.\d+)\.(gate|up|down)_proj/, (_, expert, part) => `${expert}.${MIXTRAL_PARTS[part]}`)

/** Mistral with experts, whose shares are made to sum up to one; llama.cpp's files call it a Llama. */
export const mixtral: Case = {
  name: 'mixtral',
  config: {
    ...llamaConfig(MIXTRAL, 'mixtral', 'MixtralForCausalLM'),
    num_local_experts: EXPERTS.experts,
    num_experts_per_tok: EXPERTS.chosen,
    sliding_window: null,
    output_router_logits: false,
    ...{ router_aux_loss_coef: 0.02, router_jitter_noise: 0 },
  },
  tensors: expertsTensors(MIXTRAL, EXPERTS).map((spec) => ({ ...spec, name: ofMixtral(spec.name) })),
  prompt: 80,
  mistakes: Object.keys(MIXTRAL_MISTAKES),
  reference: (weights, mistake, kept) =>
    llamaReference(MIXTRAL, weights, {
      kept,
      feedForward: (x, at) =>
        mixture(x, (name) => weights(ofMixtral(name)), at, EXPERTS, {
          normed: true,
          ...MIXTRAL_MISTAKES[mistake ?? ''],
        }),
    }),
  gguf: {
    architecture: 'llama',
    metadata: (out) => {
      llamaMetadata(out, 'llama', MIXTRAL)
      out.u32('llama.expert_count', EXPERTS.experts)
      out.u32('llama.expert_used_count', EXPERTS.chosen)
    },
    tensors: (weights) => expertsGguf(MIXTRAL, EXPERTS, (name) => weights(ofMixtral(name)), true),
  },
}
