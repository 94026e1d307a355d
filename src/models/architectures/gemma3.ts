import type { JsonObject } from '../../platform/index.js'
import type { Architecture, Names } from './architecture.js'
import type { Fields } from './fields.js'
import { gemma } from './gemma.js'
import { AFTER, GGUF_AFTER, NAMES, VISION } from './names.js'
import { readAngles } from './read-angles.js'
import { type AttentionOptions, readAttention, readGated, slidesAllBut, where } from './read-decoder.js'

/** Where Gemma 2 and 3 have their norms. */
export const GEMMA_NORMS: Names = { ...AFTER, mlpNorm: 'model.layers.#.pre_feedforward_layernorm' }
/** In the largest one, known by its layers, the scale comes from the model's width; GGUF files do not speak of it. */
export function gemmaScale(config: JsonObject, largest: number): JsonObject {
  const { hidden_size: hidden, num_attention_heads: heads, head_dim: head, num_hidden_layers: layers } = config
  const width = Number(hidden) / Number(heads)
  return { query_pre_attn_scalar: layers === largest ? width : (head ?? width) }
}

const LOCAL_THETA = 10_000

export const readSliding = (fields: Fields) =>
  fields.count('sliding_window', fields.limit('sliding_window_size') ?? 4096)

export const readScale = (fields: Fields) => fields.number('query_pre_attn_scalar', 256) ** -0.5

const patternOf = (fields: Fields) => fields.count('sliding_window_pattern', fields.count('_sliding_window_pattern', 6))

const seesAfter = (fields: Fields) => fields.flag('use_bidirectional_attention')

/** What all layers have. */
const readEach = (fields: Fields): AttentionOptions => ({
  queryKeyNorm: 'head',
  scale: readScale(fields),
  causal: seesAfter(fields) ? false : undefined,
})

/** Layers with a window have a base of their own, and no scaling. */
function readLocal(fields: Fields): AttentionOptions {
  const newer = fields.part('rope_parameters')?.part('sliding_attention')
  newer?.word('rope_type', ['default'], 'default')
  const outer = fields.number('rope_local_base_freq', LOCAL_THETA)
  const theta = newer?.number('rope_theta', outer) ?? outer
  const window = readSliding(fields)
  return {
    // Half of it lies in each direction.
    window: seesAfter(fields) ? Math.floor(window / 2) + 1 : window,
    angles: (size) => ({ angles: { size, theta } }),
  }
}

const readFull = (fields: Fields): AttentionOptions => ({
  angles: (size) => readAngles(fields, size, fields.part('rope_parameters')?.part('full_attention')),
})

/**
 * Gemma 3, text: norms before and after, each by one plus its weight; five of six layers see a window and have angles of
 * their own.
 */
export const gemma3: Architecture = {
  names: {
    huggingface: { ...NAMES.huggingface, ...GEMMA_NORMS },
    // Queries, keys and values apart, gates and values together.
    mlc: { ...NAMES.huggingface, gateUp: NAMES.mlc.gateUp, ...GEMMA_NORMS },
    gguf: { ...NAMES.gguf, ...GGUF_AFTER },
  },
  gguf: {
    // The second spelling is that of Ollama's own files.
    own: (take, config) => ({
      rope_theta: config.rope_theta ?? take('rope.global.freq_base'),
      rope_local_base_freq: take('rope.freq_base_swa') ?? take('rope.local.freq_base'),
      sliding_window_pattern: take('attention.sliding_window_pattern'),
      ...gemmaScale(config, 62),
    }),
  },
  prefixes: ['language_model.model.', 'model.language_model.'],
  idle: VISION,
  defaults: {
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    // As MLC calls rope_theta.
    position_embedding_base: 1_000_000,
    vocab_size: 262_208,
    rms_norm_eps: 1e-6,
    max_position_embeddings: 131_072,
    tie_word_embeddings: true,
  },
  beside: gemma.beside!,
  layer: (fields) => ({
    mixer: where(
      slidesAllBut(fields, patternOf(fields)),
      readAttention(fields, { ...readEach(fields), ...readLocal(fields) }),
      readAttention(fields, { ...readEach(fields), ...readFull(fields) }),
    ),
    feedForward: readGated(fields, { gate: 'gelu' }),
    arrangement: 'both',
  }),
}
