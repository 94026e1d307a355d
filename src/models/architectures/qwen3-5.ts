import type { JsonObject } from '../../platform/index.js'
import type { AttentionLayer } from '../model-plan.js'
import { MAX_TAPS } from '../model-plan.js'
import type { Architecture, MixerReading, Names } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { NAMES, QWEN_NAMES } from './names.js'
import { readAngles, readPart } from './read-angles.js'
import { ATTENTION_BIAS, readAttention, readGated, readLayerTypes, where } from './read-decoder.js'

const LINEAR = 'model.layers.#.linear_attn'

export const QWEN35_NAMES: Names = {
  ...NAMES.huggingface,
  mixerIn: [`${LINEAR}.in_proj_qkv`, `${LINEAR}.in_proj_z`],
  rates: [`${LINEAR}.in_proj_b`, `${LINEAR}.in_proj_a`],
  taps: `${LINEAR}.conv1d`,
  speed: `${LINEAR}.A_log`,
  delay: `${LINEAR}.dt_bias`,
  headNorm: `${LINEAR}.norm`,
  mixerOut: `${LINEAR}.out_proj`,
  draftTokenNorm: 'mtp.pre_fc_norm_embedding',
  draftRowNorm: 'mtp.pre_fc_norm_hidden',
  draftIn: 'mtp.fc',
  draftNorm: 'mtp.norm',
  draftTables: ['mtp.embed_tokens'],
}

const MLC: Names = {
  ...QWEN35_NAMES,
  qkv: QWEN_NAMES.mlc.qkv!,
  gateUp: NAMES.mlc.gateUp!,
  taps: `${LINEAR}.conv1d_weight`,
}

export const QWEN35_GGUF: Names = {
  ...NAMES.gguf,
  mlpNorm: 'blk.#.post_attention_norm',
  mixerIn: ['blk.#.attn_qkv', 'blk.#.attn_gate'],
  rates: ['blk.#.ssm_beta', 'blk.#.ssm_alpha'],
  taps: 'blk.#.ssm_conv1d',
  speed: 'blk.#.ssm_a',
  delay: 'blk.#.ssm_dt.bias',
  headNorm: 'blk.#.ssm_norm',
  mixerOut: 'blk.#.ssm_out',
  draftTokenNorm: 'blk.#.nextn.enorm',
  draftRowNorm: 'blk.#.nextn.hnorm',
  draftIn: 'blk.#.nextn.eh_proj',
  draftNorm: 'blk.#.nextn.shared_head_norm',
  draftTables: ['blk.#.nextn.embed_tokens', 'blk.#.nextn.shared_head_head'],
}

export function ownOfQwen35(take: TakeKey, config: JsonObject): JsonObject {
  const interval = Number(take('full_attention_interval') ?? 4)
  const heads = Number(take('ssm.time_step_rank'))
  // Of text all sections have the same positions.
  take('rope.dimension_sections')
  const linear = take('attention.recurrent_layers')
  // Blocks that guess are counted with the others, behind them.
  const guessing = Number(take('nextn_predict_layers') ?? 0)
  const layers = Number(config.num_hidden_layers) - guessing
  // A list of the same throughout is told as one of them.
  const listed = Array.isArray(linear)
    ? linear.slice(0, layers)
    : linear === undefined
      ? linear
      : Array(layers).fill(linear)
  return {
    num_hidden_layers: layers,
    mtp_num_hidden_layers: guessing,
    full_attention_interval: interval,
    ...(Array.isArray(listed) && { layer_types: listed.map((each) => (each ? 'linear_attention' : 'full_attention')) }),
    linear_conv_kernel_dim: take('ssm.conv_kernel'),
    linear_key_head_dim: take('ssm.state_size'),
    linear_num_key_heads: take('ssm.group_count'),
    linear_num_value_heads: heads,
    linear_value_head_dim: Number(take('ssm.inner_size')) / heads,
    linear_heads_tiled: true,
    head_dim: config.head_dim ?? 256,
    tie_word_embeddings: undefined,
  }
}

/** Which layers attend: by a list of kinds, or every so many. */
export function attends35(fields: Fields): (layer: number) => boolean {
  const interval = fields.count('full_attention_interval', 4)
  const listed = readLayerTypes(fields, 'full_attention', 'linear_attention')
  return listed ?? ((layer) => (layer + 1) % interval === 0)
}

/** A part of each head turns, and what attention gives goes through gates. */
export function readGatedAttention(fields: Fields): MixerReading {
  const parameters = fields.part('rope_parameters')
  // Of text all sections have the same positions.
  for (const vision of ['mrope_section', 'mrope_interleaved']) parameters?.get(vision)
  const part = readPart(fields, parameters, 0.25)
  return readAttention(fields, {
    queryKeyNorm: 'head',
    outputGate: fields.flag('attn_output_gate', true),
    angles: (headSize) => readAngles(fields, headSize * part, parameters),
  })
}

/** Linear attention by the gated delta rule. */
export function readDelta(fields: Fields): MixerReading {
  // In what the state is kept, which is f32 here.
  fields.word('mamba_ssm_dtype', ['float32'], 'float32')
  const linear = {
    keyHeads: fields.count('linear_num_key_heads', 16),
    valueHeads: fields.count('linear_num_value_heads', 32),
    keySize: fields.count('linear_key_head_dim', 128),
    valueSize: fields.count('linear_value_head_dim', 128),
    taps: fields.count('linear_conv_kernel_dim', 4),
    ...(fields.flag('linear_heads_tiled') && { tiled: true }),
  }
  if (linear.taps > MAX_TAPS) throw fields.odd('linear_conv_kernel_dim', linear.taps)
  if (linear.valueHeads % linear.keyHeads !== 0) throw fields.odd('linear_num_value_heads', linear.valueHeads)
  for (const side of ['key', 'value'] as const) {
    const size = linear[`${side}Size`]
    if (size % 16 !== 0) throw fields.odd(`linear_${side}_head_dim`, size)
  }
  return { of: () => ({ kind: 'delta', ...linear, biased: [] }) }
}

/** Qwen3.5, dense: three of four layers are linear attention by the gated delta rule, the fourth is attention with gates. */
export const qwen35: Architecture = {
  names: { huggingface: QWEN35_NAMES, mlc: MLC, gguf: QWEN35_GGUF },
  prefixes: ['model.language_model.', 'language_model.model.'],
  // What sees, as transformers and as MLX call it, and what guesses several tokens ahead, where that is not used.
  idle: /^(model\.)?visual\.|^vision_tower\.|^mtp\./,
  draftLayer: { huggingface: 'mtp.layers.0', gguf: 'blk.#' },
  gguf: { partial: true, own: ownOfQwen35 },
  defaults: { head_dim: 256, rms_norm_eps: 1e-6, position_embedding_base: 10_000_000 },
  beside(fields, { layers }) {
    const layer = layers.find((each): each is AttentionLayer => each.kind === 'attention')
    // Of a file that does not speak of it it is known by its tensors.
    const guessing = fields.get('mtp_num_hidden_layers') ?? 1
    const draftHead = layer && typeof guessing === 'number' && guessing > 0 && { layers: guessing, layer }
    return { normOffset: 1, ...(draftHead && { draftHead }) }
  },
  layer: (fields) => ({
    mixer: where(attends35(fields), readGatedAttention(fields), readDelta(fields)),
    feedForward: readGated(fields),
    arrangement: 'before',
    biased: fields.flag('attention_bias') ? ATTENTION_BIAS : [],
  }),
}
