/** What the configurations of mixtures of experts have in common, and how their tensors are called. */
import type { JsonObject } from '../../platform/index.js'
import type { ExpertsPlan } from '../model-plan.js'
import { refuse } from '../refuse.js'
import type { FeedForwardReading, Names } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { NAMES } from './names.js'
import { type FeedForwardOptions, readRows } from './read-decoder.js'

const MLP = 'model.layers.#.mlp'

/** Beside those of an MLP, which some layers may have. */
export const EXPERT_NAMES = {
  huggingface: {
    ...NAMES.huggingface,
    router: `${MLP}.gate`,
    expertsIn: ['gate', 'up'].map((each) => `${MLP}.experts.*.${each}_proj`),
    expertsOut: `${MLP}.experts.*.down_proj`,
  },
  gguf: {
    ...NAMES.gguf,
    router: 'blk.#.ffn_gate_inp',
    expertsIn: ['gate', 'up'].map((each) => `blk.#.ffn_${each}_exps`),
    expertsOut: 'blk.#.ffn_down_exps',
  },
} as const satisfies Readonly<Record<string, Names>>

/** All experts of a layer in one tensor, as mlx-lm has them. */
export const switched = (within: string): Names => ({
  expertsIn: ['gate', 'up'].map((each) => `${within}.switch_mlp.${each}_proj`),
  expertsOut: `${within}.switch_mlp.down_proj`,
})

/** Also as transformers does since its fifth version. */
export const EXPERTS_IN_ONE: readonly Names[] = [
  switched(MLP),
  { expertsIn: `${MLP}.experts.gate_up_proj`, expertsOut: `${MLP}.experts.down_proj` },
]

/** Of Qwen's: the score of what all rows go through stands below those of the experts. */
export const SHARED_NAMES = {
  huggingface: {
    router: [`${MLP}.gate`, `${MLP}.shared_expert_gate`],
    sharedIn: ['gate', 'up'].map((each) => `${MLP}.shared_expert.${each}_proj`),
    sharedOut: `${MLP}.shared_expert.down_proj`,
  },
  gguf: {
    router: ['blk.#.ffn_gate_inp', 'blk.#.ffn_gate_inp_shexp'],
    sharedIn: ['gate', 'up'].map((each) => `blk.#.ffn_${each}_shexp`),
    sharedOut: 'blk.#.ffn_down_shexp',
  },
} as const satisfies Readonly<Record<string, Names>>

/** Experts are multiplied in pieces of so many rows. */
const PIECE = 32

type ExpertsOptions = Omit<ExpertsPlan, 'kind' | 'experts' | 'chosen' | 'size'>

export function readExperts(
  fields: Fields,
  { gate, called, size, ...options }: ExpertsOptions & FeedForwardOptions,
): FeedForwardReading {
  return readRows(fields, { gate, called }, { feedForward: planExperts(fields, options, size) })
}

/** Where nothing else says so, an expert is as large as an MLP. */
export const sizeAsMlp = (fields: Fields) => fields.count('moe_intermediate_size', fields.count('intermediate_size'))

export function planExperts(
  fields: Fields,
  options: ExpertsOptions,
  size = fields.count('moe_intermediate_size'),
): ExpertsPlan {
  const experts = fields.count('num_experts', fields.limit('num_local_experts'))
  const chosen = fields.count('num_experts_per_tok')
  if (chosen > experts) throw fields.odd('num_experts_per_tok', chosen)
  if (size % PIECE !== 0) throw refuse(fields.model, `experts of ${size} values, no multiple of ${PIECE}`)
  return { kind: 'experts', experts, chosen, size, ...options }
}

/** llama.cpp's names. */
export const ggufExperts = (take: TakeKey): JsonObject => ({
  num_experts: take('expert_count'),
  num_experts_per_tok: take('expert_used_count'),
  moe_intermediate_size: take('expert_feed_forward_length'),
  shared_expert_intermediate_size: take('expert_shared_feed_forward_length'),
})

/** What all rows go through, as Qwen's models have it. */
export function readShared(fields: Fields): NonNullable<ExpertsPlan['shared']> {
  return { size: fields.count('shared_expert_intermediate_size'), weighed: true }
}
