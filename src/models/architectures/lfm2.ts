import type { JsonObject } from '../../platform/index.js'
import type { AttentionLayer, FeedForwardPlan, LayerPlan } from '../model-plan.js'
import { MAX_TAPS } from '../model-plan.js'
import type { Architecture, Names } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { NAMES } from './names.js'
import { readDecoder } from './read-decoder.js'

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

/** LFM2 and LFM2.5: short convolutions in most layers, attention in the others. */
export const lfm2: Architecture = {
  names: { huggingface: LFM2_NAMES, gguf: LFM2_GGUF },
  gguf: { own: ownOfLfm2 },
  prefixes: ['model.language_model.'],
  idle: /^model\.(vision_tower|multi_modal_projector)\./,
  read: (fields) => readLfm2(fields),
}

/** `feedForward`: of a layer, where that is not what all have. */
export function readLfm2(fields: Fields, feedForward?: (layer: number) => FeedForwardPlan) {
  const layers = fields.count('num_hidden_layers')
  const hidden = fields.count('hidden_size')
  const taps = fields.count('conv_L_cache', 3)
  if (taps > MAX_TAPS) throw fields.odd('conv_L_cache', taps)
  const both = fields.flag('use_bidirectional_attention')
  if (both && taps % 2 === 0) throw fields.odd('conv_L_cache', taps)
  if (fields.flag('conv_bias')) throw fields.odd('conv_bias', true)
  for (const side of ['conv_dim', 'conv_dim_out', 'block_dim']) {
    if (fields.count(side, hidden) !== hidden) throw fields.odd(side, fields.get(side))
  }
  // Of training, or in whose place others are read.
  for (const idle of ['conv_use_xavier_init', 'block_norm_eps', 'num_heads']) fields.get(idle)
  const attends = readKinds(fields, layers)
  const epsilon = fields.number('norm_eps', fields.number('rms_norm_eps', 1e-5))
  const intermediate = readIntermediate(fields)
  return readDecoder(
    fields
      .replaced({ rms_norm_eps: epsilon, intermediate_size: intermediate })
      .withDefaults({ tie_word_embeddings: fields.flag('tie_embedding', true), rope_theta: 1_000_000 }),
    {
      queryKeyNorm: 'head',
      biased: [],
      ...(feedForward && { feedForward }),
      layer: (layer, { arrangement, biased, feedForward }): Partial<AttentionLayer> | LayerPlan =>
        attends(layer)
          ? { ...(both && { causal: false }) }
          : { kind: 'convolution', taps, ...(both && { centred: true }), arrangement, biased, feedForward },
    },
  )
}

/** Which layers attend: by a list of kinds, or a list of layers. */
function readKinds(fields: Fields, layers: number): (layer: number) => boolean {
  const types = fields.list('layer_types', layers)
  const full = fields.get('full_attn_idxs')
  const odd = types?.find((type) => type !== 'full_attention' && type !== 'conv')
  if (odd !== undefined) throw fields.odd('layer_types', odd)
  if (types) return (layer) => types[layer] === 'full_attention'
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
