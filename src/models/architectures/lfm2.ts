import type { JsonObject } from '../../platform/index.js'
import { MAX_TAPS } from '../model-plan.js'
import type { Architecture, MixerReading, Names } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { NAMES } from './names.js'
import { type AttentionOptions, readAttention, readGated, readLayerTypes, where } from './read-decoder.js'

const LAYER = 'model.layers.#'

export const LFM2_NAMES: Names = {
  ...NAMES.huggingface,
  norm: 'model.embedding_norm',
  attentionNorm: `${LAYER}.operator_norm`,
  queryNorm: `${LAYER}.self_attn.q_layernorm`,
  keyNorm: `${LAYER}.self_attn.k_layernorm`,
  output: `${LAYER}.self_attn.out_proj`,
  mixerIn: `${LAYER}.conv.in_proj`,
  taps: `${LAYER}.conv.conv`,
  mixerOut: `${LAYER}.conv.out_proj`,
  mlpNorm: `${LAYER}.ffn_norm`,
  gateUp: [`${LAYER}.feed_forward.w1`, `${LAYER}.feed_forward.w3`],
  down: `${LAYER}.feed_forward.w2`,
}

export const LFM2_GGUF: Names = {
  ...NAMES.gguf,
  norm: 'token_embd_norm',
  mixerIn: 'blk.#.shortconv.in_proj',
  taps: 'blk.#.shortconv.conv',
  mixerOut: 'blk.#.shortconv.out_proj',
}

export function ownOfLfm2(take: TakeKey, { num_key_value_heads: heads }: JsonObject): JsonObject {
  return {
    conv_L_cache: take('shortconv.l_cache'),
    use_bidirectional_attention: take('attention.causal') === false,
    // Says what comes out of it.
    block_auto_adjust_ff_dim: false,
    // One number for each layer: those that do not attend have none.
    ...(Array.isArray(heads) && {
      layer_types: heads.map((count) => (count > 0 ? 'full_attention' : 'conv')),
      num_key_value_heads: Math.max(...heads),
    }),
  }
}

/** Which layers attend: by a list of kinds, or a list of layers. */
export function attendsIn(fields: Fields): (layer: number) => boolean {
  const listed = readLayerTypes(fields, 'full_attention', 'conv')
  const full = fields.get('full_attn_idxs')
  if (listed) return listed
  if (Array.isArray(full)) return (layer) => full.includes(layer)
  throw fields.odd('layer_types', null)
}

/** The size of the MLP as it is, or what two thirds of it are rounded up to. */
function readIntermediate(fields: Fields): number {
  const given = fields.count('block_ff_dim', fields.limit('intermediate_size'))
  const multiple = fields.count('block_multiple_of', 256)
  const factor = fields.number('block_ffn_dim_multiplier', 1)
  if (!fields.flag('block_auto_adjust_ff_dim', true)) return given
  return multiple * Math.ceil(Math.floor(factor * Math.floor((2 * given) / 3)) / multiple)
}

const seesAfter = (fields: Fields) => fields.flag('use_bidirectional_attention')

/** Its own token is in the middle of what it sees, where attention sees what follows, too. */
export function readConvolution(fields: Fields): MixerReading {
  const centred = seesAfter(fields)
  const taps = fields.count('conv_L_cache', 3)
  if (taps > MAX_TAPS || (centred && taps % 2 === 0)) throw fields.odd('conv_L_cache', taps)
  return { of: () => ({ kind: 'convolution', taps, ...(centred && { centred }) }) }
}

export const readLfm2Traits = (fields: Fields): AttentionOptions => ({
  queryKeyNorm: 'head',
  causal: seesAfter(fields) ? false : undefined,
})

/** LFM2 and LFM2.5: short convolutions in most layers, attention in the others. */
export const lfm2: Architecture = {
  names: { huggingface: LFM2_NAMES, gguf: LFM2_GGUF },
  gguf: { own: ownOfLfm2 },
  prefixes: ['model.language_model.'],
  idle: /^model\.(vision_tower|multi_modal_projector)\./,
  defaults: { rope_theta: 1_000_000 },
  only: { conv_bias: false },
  // Of training, or in whose place others are read.
  unused: ['conv_use_xavier_init', 'block_norm_eps', 'num_heads'],
  prepare(fields) {
    const hidden = fields.count('hidden_size')
    for (const side of ['conv_dim', 'conv_dim_out', 'block_dim']) {
      if (fields.count(side, hidden) !== hidden) throw fields.odd(side, fields.get(side))
    }
    return fields
      .replaced({
        rms_norm_eps: fields.number('norm_eps', fields.number('rms_norm_eps', 1e-5)),
        intermediate_size: readIntermediate(fields),
      })
      .withDefaults({ tie_word_embeddings: fields.flag('tie_embedding', true) })
  },
  layer: (fields) => ({
    mixer: where(attendsIn(fields), readAttention(fields, readLfm2Traits(fields)), readConvolution(fields)),
    feedForward: readGated(fields),
    arrangement: 'before',
    biased: [],
  }),
}
