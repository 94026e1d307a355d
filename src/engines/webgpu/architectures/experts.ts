/** What the configurations of mixtures of experts have in common, and how their tensors are called. */
import type { JsonObject } from '../../../platform/json.js'
import type { ExpertsPlan } from '../model/model-plan.js'
import { refuse } from '../model/refuse.js'
import type { Names } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { NAMES } from './names.js'

const MLP = 'model.layers.#.mlp'

/** Beside those of an MLP, which some layers may have. */
export const EXPERT_NAMES = {
  huggingface: {
    ...NAMES.huggingface,
    router: `${MLP}.gate`,
    expertsIn: ['gate', 'up'].map((each) => `${MLP}.experts.*.${each}_proj`),
    expertsOut: `${MLP}.experts.*.down_proj`,
  },
  /** mlx-lm puts all experts of a layer into one tensor. */
  mlx: {
    expertsIn: ['gate', 'up'].map((each) => `${MLP}.switch_mlp.${each}_proj`),
    expertsOut: `${MLP}.switch_mlp.down_proj`,
  },
  gguf: {
    ...NAMES.gguf,
    router: 'blk.#.ffn_gate_inp',
    expertsIn: ['gate', 'up'].map((each) => `blk.#.ffn_${each}_exps`),
    expertsOut: 'blk.#.ffn_down_exps',
  },
} as const satisfies Readonly<Record<string, Names>>

/** Experts are multiplied in pieces of so many rows. */
const PIECE = 32

export function readExperts(
  fields: Fields,
  traits: Pick<ExpertsPlan, 'scores' | 'normed' | 'scale'>,
  size = fields.count('moe_intermediate_size'),
): ExpertsPlan {
  const experts = fields.count('num_experts', fields.limit('num_local_experts'))
  const chosen = fields.count('num_experts_per_tok')
  if (chosen > experts) throw fields.odd('num_experts_per_tok', chosen)
  if (size % PIECE !== 0) throw refuse(fields.model, `experts of ${size} values, no multiple of ${PIECE}`)
  return { kind: 'experts', experts, chosen, size, ...traits }
}

/** llama.cpp's names. */
export const ggufExperts = (take: TakeKey): JsonObject => ({
  num_experts: take('expert_count'),
  num_experts_per_tok: take('expert_used_count'),
  moe_intermediate_size: take('expert_feed_forward_length'),
})
