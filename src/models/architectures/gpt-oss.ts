import type { JsonObject } from '../../platform/index.js'
import type { Architecture, Names } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts, sizeAsMlp } from './experts.js'
import type { TakeKey } from './gguf.js'
import { ATTENTION_BIAS, readAttention, slidesAllBut } from './read-decoder.js'

const LAYER = 'model.layers.#'

/** As `files/formats/gpt-oss.ts` gives them, and mlx-lm has them: gates and values apart, all experts in one. */
const HUGGINGFACE: Names = {
  ...EXPERT_NAMES.huggingface,
  sinks: `${LAYER}.self_attn.sinks`,
  router: `${LAYER}.mlp.router`,
  expertsIn: ['gate', 'up'].map((each) => `${LAYER}.mlp.experts.${each}_proj`),
  expertsOut: `${LAYER}.mlp.experts.down_proj`,
}
const GGUF: Names = { ...EXPERT_NAMES.gguf, sinks: 'blk.#.attn_sinks', mlpNorm: 'blk.#.post_attention_norm' }

/** What `clamped` clamps by. */
const LIMIT = 7

/** Files do not say that the range of YaRN's correction is not rounded, as the model was trained; llama.cpp rounds it. */
function fromGguf(take: TakeKey): JsonObject {
  return { ...ggufExperts(take), rope_parameters: { truncate: false } }
}

/** gpt-oss: every second layer sees a window, each head has a sink, and experts have biases and clamped gates. */
export const gptOss: Architecture = {
  names: { huggingface: HUGGINGFACE, gguf: GGUF },
  gguf: { own: fromGguf },
  // As MLC calls rope_theta.
  defaults: { position_embedding_base: 150_000 },
  // Its older name, in the same files.
  unused: ['experts_per_token'],
  prepare(fields) {
    if (fields.number('swiglu_limit', LIMIT) !== LIMIT) throw fields.odd('swiglu_limit', fields.get('swiglu_limit'))
  },
  layer: (fields) => ({
    mixer: readAttention(fields, {
      window: fields.count('sliding_window', 128),
      slides: slidesAllBut(fields, 2),
      sinks: true,
    }),
    feedForward: readExperts(fields, { gate: 'clamped', scores: 'softmax', normed: true, size: sizeAsMlp(fields) }),
    arrangement: 'before',
    biased: [...(fields.flag('attention_bias', true) ? ATTENTION_BIAS : []), 'router', 'expertsIn', 'expertsOut'],
  }),
}
