/** Mixtures of experts: what a router does with a row, and each expert's MLP, from the definitions. */
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import { add, product, sigmoid, silu, softmax, times, type Vector } from '../float64.js'
import { wide } from '../width.js'
import {
  gatedMlp,
  type LlamaShape,
  layerName,
  llamaConfig,
  llamaGgufTensors,
  llamaMetadata,
  llamaReference,
  llamaTensors,
  SMALL,
} from './llama.js'

export interface ExpertsShape {
  readonly experts: number
  readonly chosen: number
  readonly size: number
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
  readonly gate?: (x: number) => number
}

/** Numbers of experts, the best first, and what each counts for. */
export function routed(scores: Vector, chosen: number, traits: RouterTraits): [expert: number, weight: number][] {
  const shares = traits.scores === 'sigmoid' ? [...scores].map(sigmoid) : softmax([...scores])
  const sign = traits.least ? -1 : 1
  const best = [...shares.keys()].sort((a, b) => sign * (shares[b]! - shares[a]!) || a - b)
  const taken = best.slice(0, chosen + (traits.more ?? 0))
  const sum = traits.normed ? taken.reduce((all, expert) => all + shares[expert]!, 0) : 1
  return taken.map((expert) => [expert, traits.alike ? 1 / taken.length : shares[expert]! / sum])
}

/** `at`: what the names of router and experts begin with. */
export function mixture(
  x: Vector,
  weights: Weights,
  at: string,
  { chosen }: ExpertsShape,
  traits: RouterTraits,
): Vector {
  const scores = product(weights(`${at}.gate.weight`), x)
  return routed(scores, chosen, traits)
    .map(([expert, weight]) => times(gatedMlp(x, weights, `${at}.experts.${expert}`, traits.gate ?? silu), weight))
    .reduce(add)
}

/** Llama's tensors with experts in place of its MLPs. */
export function expertsTensors(shape: LlamaShape, { experts, size }: ExpertsShape): TensorSpec[] {
  const of = (at: string) => [
    // Far apart, so that no rounding decides who is chosen.
    matrix(`${at}.gate.weight`, experts, shape.hidden, 2),
    ...Array.from({ length: experts }, (_, expert) => [
      matrix(`${at}.experts.${expert}.gate_proj.weight`, size, shape.hidden),
      matrix(`${at}.experts.${expert}.up_proj.weight`, size, shape.hidden),
      matrix(`${at}.experts.${expert}.down_proj.weight`, shape.hidden, size, 2),
    ]).flat(),
  ]
  return [
    ...llamaTensors(shape).filter(({ name }) => !name.includes('.mlp.')),
    ...Array.from({ length: shape.layers }, (_, i) => of(`${layerName(i)}.mlp`)).flat(),
  ]
}

export function expertsMetadata(out: Metadata, architecture: string, { experts, chosen, size }: ExpertsShape): void {
  out.u32(`${architecture}.expert_count`, experts)
  out.u32(`${architecture}.expert_used_count`, chosen)
  out.u32(`${architecture}.expert_feed_forward_length`, size)
}

/** llama.cpp has all experts of a layer in one tensor. */
export function expertsGguf(shape: LlamaShape, { experts, size }: ExpertsShape, weights: Weights): GgufTensor[] {
  const none: Weights = (name) => (name.includes('.mlp.') ? new Float64Array(0) : weights(name))
  const list = llamaGgufTensors(shape, none, false).filter(({ name }) => !/ffn_(gate|up|down)/.test(name))
  for (let i = 0; i < shape.layers; i++) {
    const at = `${layerName(i)}.mlp`
    const all = (part: string) =>
      Float64Array.from(
        Array.from({ length: experts }, (_, e) => [...weights(`${at}.experts.${e}.${part}_proj.weight`)]).flat(),
      )
    list.push(
      { name: `blk.${i}.ffn_gate_inp.weight`, dims: [shape.hidden, experts], values: weights(`${at}.gate.weight`) },
      { name: `blk.${i}.ffn_gate_exps.weight`, dims: [shape.hidden, size, experts], values: all('gate') },
      { name: `blk.${i}.ffn_up_exps.weight`, dims: [shape.hidden, size, experts], values: all('up') },
      { name: `blk.${i}.ffn_down_exps.weight`, dims: [size, shape.hidden, experts], values: all('down') },
    )
  }
  return list
}

const MIXED: LlamaShape = { ...SMALL, layers: 3, headSize: 128, theta: 1_000_000, epsilon: 1e-6 }
const EXPERTS: ExpertsShape = { experts: 12, chosen: 3, size: wide(96, 256) }

const NORMS = ['q', 'k']
const QWEN3: RouterTraits = { normed: true }
const MISTAKES: Readonly<Record<string, RouterTraits>> = {
  'leaves the weights of the chosen as they are': { normed: false },
  'takes one expert more': { more: 1 },
  'takes one expert less': { more: -1 },
  'takes the least': { least: true },
  'lets all count alike': { alike: true },
  'scores by sigmoid': { scores: 'sigmoid' },
}

/** Softmax over all experts, the best of them, whose shares are made to sum up to one. */
export const qwen3Moe: Case = {
  name: 'qwen3_moe',
  config: {
    ...llamaConfig(MIXED, 'qwen3_moe', 'Qwen3MoeForCausalLM'),
    num_experts: EXPERTS.experts,
    num_experts_per_tok: EXPERTS.chosen,
    moe_intermediate_size: EXPERTS.size,
    norm_topk_prob: true,
    decoder_sparse_step: 1,
    mlp_only_layers: [],
    output_router_logits: false,
    router_aux_loss_coef: 0.001,
    attention_bias: false,
    use_sliding_window: false,
    sliding_window: null,
    max_window_layers: 3,
  },
  tensors: [
    ...expertsTensors(MIXED, EXPERTS),
    ...Array.from({ length: MIXED.layers }, (_, i) =>
      NORMS.map((one) => norm(`${layerName(i)}.self_attn.${one}_norm.weight`, MIXED.headSize)),
    ).flat(),
  ],
  prompt: 80,
  mistakes: Object.keys(MISTAKES),
  reference: (weights, mistake, kept) => {
    const traits = { ...QWEN3, ...(mistake !== undefined && MISTAKES[mistake]) }
    return llamaReference(MIXED, weights, {
      kept,
      headNorms: true,
      feedForward: (x, at) => mixture(x, weights, at, EXPERTS, traits),
    })
  },
  gguf: {
    architecture: 'qwen3moe',
    metadata: (out) => {
      llamaMetadata(out, 'qwen3moe', MIXED)
      expertsMetadata(out, 'qwen3moe', EXPERTS)
    },
    tensors: (weights) => [
      ...expertsGguf(MIXED, EXPERTS, weights),
      ...Array.from({ length: MIXED.layers }, (_, i) =>
        NORMS.map((one): GgufTensor => {
          const values = weights(`${layerName(i)}.self_attn.${one}_norm.weight`)
          return { name: `blk.${i}.attn_${one}_norm.weight`, dims: [values.length], values }
        }),
      ).flat(),
    ],
  },
}
