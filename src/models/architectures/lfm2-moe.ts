import type { JsonObject } from '../../platform/index.js'
import { refuse } from '../refuse.js'
import type { Architecture, Names } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts, switched } from './experts.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { attendsIn, LFM2_GGUF, LFM2_NAMES, lfm2, ownOfLfm2, readConvolution, readLfm2Traits } from './lfm2.js'
import { readAttention, readGated, where } from './read-decoder.js'

const WITHIN = 'model.layers.#.feed_forward'
const { expertsIn, expertsOut, router } = EXPERT_NAMES.gguf

const HUGGINGFACE: Names = {
  ...LFM2_NAMES,
  router: `${WITHIN}.gate`,
  choiceBias: `${WITHIN}.expert_bias`,
  expertsIn: [`${WITHIN}.experts.*.w1`, `${WITHIN}.experts.*.w3`],
  expertsOut: `${WITHIN}.experts.*.w2`,
}
/** llama.cpp numbers them so: softmax is 1. */
const SIGMOID = 2

function fromGguf(take: TakeKey, config: JsonObject): JsonObject {
  const scores = take('expert_gating_func')
  if (scores !== SIGMOID) throw refuse('This model', `expert_gating_func = ${String(scores)}`)
  return { ...ownOfLfm2(take, config), ...ggufExperts(take), num_dense_layers: take('leading_dense_block_count') }
}

function denseIn(fields: Fields): (layer: number) => boolean {
  const dense = Number(fields.get('num_dense_layers') ?? 0)
  return (layer) => layer < dense
}

/** Scored by sigmoid, and chosen by that and a number of their own. */
const readMixture = (fields: Fields) =>
  readExperts(fields, {
    scores: 'sigmoid',
    normed: fields.flag('norm_topk_prob', true),
    scale: fields.number('routed_scaling_factor', 1),
    ...(fields.flag('use_expert_bias', true) && { choiceBias: true }),
  })

/** LFM2 with experts in all layers but the first. */
export const lfm2Moe: Architecture = {
  ...lfm2,
  names: {
    huggingface: HUGGINGFACE,
    gguf: { ...LFM2_GGUF, router, expertsIn, expertsOut, choiceBias: 'blk.#.exp_probs_b.bias' },
  },
  others: { huggingface: [switched(WITHIN)] },
  gguf: { own: fromGguf },
  defaults: { ...lfm2.defaults, block_auto_adjust_ff_dim: false },
  // Of dense layers, as it is.
  prepare: (fields) => lfm2.prepare!(fields.replaced({ block_ff_dim: fields.count('intermediate_size') })),
  layer: (fields) => ({
    mixer: where(attendsIn(fields), readAttention(fields, readLfm2Traits(fields)), readConvolution(fields)),
    feedForward: where(denseIn(fields), readGated(fields), readMixture(fields)),
    arrangement: 'before',
    biased: [],
  }),
}
