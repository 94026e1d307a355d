import type { JsonObject } from '../../platform/index.js'
import type { Architecture, Names } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts } from './experts.js'
import type { TakeKey } from './gguf.js'
import { readAngles } from './read-angles.js'
import { ATTENTION_BIAS, readDecoder, readLayerTypes } from './read-decoder.js'

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

const THETA = 150_000
/** What `clamped` clamps by. */
const LIMIT = 7

/** gpt-oss: every second layer sees a window, each head has a sink, and experts have biases and clamped gates. */
export const gptOss: Architecture = {
  names: { huggingface: HUGGINGFACE, gguf: GGUF },
  gguf: { own: fromGguf },
  read(fields) {
    const layers = fields.count('num_hidden_layers')
    const slides = readLayerTypes(fields, layers) ?? ((layer: number) => layer % 2 === 0)
    const window = fields.count('sliding_window', 128)
    const size = fields.count('moe_intermediate_size', fields.count('intermediate_size'))
    if (fields.number('swiglu_limit', LIMIT) !== LIMIT) throw fields.odd('swiglu_limit', fields.get('swiglu_limit'))
    // Its older name, in the same files.
    fields.get('experts_per_token')
    const experts = readExperts(fields, { scores: 'softmax', normed: true }, size)
    return readDecoder(fields, {
      gate: 'clamped',
      biased: [...(fields.flag('attention_bias', true) ? ATTENTION_BIAS : []), 'router', 'expertsIn', 'expertsOut'],
      angles: (headSize) => readAngles(fields, headSize, undefined, THETA),
      window: (layer) => (slides(layer) ? window : undefined),
      feedForward: () => experts,
      layer: () => ({ sinks: true }),
    })
  },
}

/** Files do not say that the range of YaRN's correction is not rounded, as the model was trained; llama.cpp rounds it. */
function fromGguf(take: TakeKey): JsonObject {
  return { ...ggufExperts(take), rope_parameters: { truncate: false } }
}
