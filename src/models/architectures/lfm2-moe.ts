import type { JsonObject } from '../../platform/index.js'
import { refuse } from '../refuse.js'
import type { Architecture, Names } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts } from './experts.js'
import type { TakeKey } from './gguf.js'
import { LFM2_GGUF, LFM2_NAMES, lfm2, ownOfLfm2, readLfm2 } from './lfm2.js'
import { readGated } from './read-decoder.js'

const WITHIN = 'model.layers.#.feed_forward'
const { expertsIn, expertsOut, router } = EXPERT_NAMES.gguf

const HUGGINGFACE: Names = {
  ...LFM2_NAMES,
  router: `${WITHIN}.gate`,
  choiceBias: `${WITHIN}.expert_bias`,
  expertsIn: [`${WITHIN}.experts.*.w1`, `${WITHIN}.experts.*.w3`],
  expertsOut: `${WITHIN}.experts.*.w2`,
}
/** As mlx-lm has them. */
const IN_ONE: Names = {
  expertsIn: ['gate', 'up'].map((each) => `${WITHIN}.switch_mlp.${each}_proj`),
  expertsOut: `${WITHIN}.switch_mlp.down_proj`,
}
/** llama.cpp numbers them so: softmax is 1. */
const SIGMOID = 2

/** LFM2 with experts in all layers but the first: scored by sigmoid, and chosen by that and a number of their own. */
export const lfm2Moe: Architecture = {
  ...lfm2,
  names: {
    huggingface: HUGGINGFACE,
    gguf: { ...LFM2_GGUF, router, expertsIn, expertsOut, choiceBias: 'blk.#.exp_probs_b.bias' },
  },
  others: { huggingface: [IN_ONE] },
  gguf: { own: fromGguf },
  read(fields) {
    const dense = Number(fields.get('num_dense_layers') ?? 0)
    const given = fields.withDefaults({ block_auto_adjust_ff_dim: false })
    const experts = readExperts(given, {
      scores: 'sigmoid',
      normed: given.flag('norm_topk_prob', true),
      scale: given.number('routed_scaling_factor', 1),
      ...(given.flag('use_expert_bias', true) && { choiceBias: true }),
    })
    const plain = readGated(given)
    return readLfm2(given, (layer) => (layer < dense ? plain : experts))
  },
}

function fromGguf(take: TakeKey, config: JsonObject): JsonObject {
  const scores = take('expert_gating_func')
  if (scores !== SIGMOID) throw refuse('This model', `expert_gating_func = ${String(scores)}`)
  return { ...ownOfLfm2(take, config), ...ggufExperts(take), num_dense_layers: take('leading_dense_block_count') }
}
