/** What the metadata of GGUF files say, in the words of transformers' configurations. */

import { isRecord, type JsonObject } from '../../platform/index.js'
import { refuse } from '../refuse.js'

/** What llama.cpp does otherwise with an architecture. */
export interface GgufForm {
  /** It turns neighbouring values of a head, and has the rows of queries and keys in that order. */
  readonly interleaved?: boolean
  /** Whether less than a head may turn. */
  readonly partial?: boolean
  /** What it calls by names of its own, or fixes in its code. */
  own?(take: TakeKey, config: JsonObject): JsonObject
}

/** The value of a key, which is known from then on. */
export type TakeKey = (key: string) => unknown

/** What all architectures call so. */
const NAMES: Readonly<Record<string, string>> = {
  embedding_length: 'hidden_size',
  feed_forward_length: 'intermediate_size',
  block_count: 'num_hidden_layers',
  'attention.head_count': 'num_attention_heads',
  'attention.head_count_kv': 'num_key_value_heads',
  'attention.key_length': 'head_dim',
  'attention.layer_norm_rms_epsilon': 'rms_norm_eps',
  'attention.sliding_window': 'sliding_window',
  context_length: 'max_position_embeddings',
  'rope.freq_base': 'rope_theta',
}

/** `given`: the metadata below the architecture's name, without that name. A key that nobody knows keeps its name. */
export function fromGguf(given: JsonObject, form: GgufForm, model: string): JsonObject {
  const left = new Map(Object.entries(given))
  const take: TakeKey = (key) => {
    const value = left.get(key)
    left.delete(key)
    // One number for each layer, all the same; divisors of angles are a list whatever they are.
    if (!FACTORS.has(key) && Array.isArray(value) && value.length > 0 && value.every((each) => each === value[0]))
      return value[0]
    return value
  }
  const config: Record<string, unknown> = { model_type: take('model_type'), vocab_size: take('vocab_size') }
  for (const [key, name] of Object.entries(NAMES)) {
    const value = take(key)
    if (value !== undefined) config[name] = value
  }
  Object.assign(config, form.own?.(take, config))
  const head = Number(config.head_dim ?? Number(config.hidden_size) / Number(config.num_attention_heads))
  for (const key of ['attention.value_length', 'rope.dimension_count']) {
    const size = take(key) ?? head
    // Without either size that is missed by its own name.
    if (Object.is(size, head)) continue
    if (key !== 'rope.dimension_count' || !form.partial || !(Number(size) < head))
      throw refuse(model, `${key} = ${String(size)} with heads of ${head}`)
    config.partial_rotary_factor = Number(size) / head
  }
  const scaling = readScaling(take, config, model)
  if (scaling && !isRecord(config.rope_parameters)) config.rope_scaling = scaling
  else if (scaling) config.rope_parameters = { ...(config.rope_parameters as JsonObject), ...scaling }
  for (const [key, value] of left) config[key.replaceAll('.', '_')] = value
  return config
}

const FACTORS: ReadonlySet<string> = new Set(['rope_freqs', 'rope_factors_long', 'rope_factors_short'])

function readScaling(take: TakeKey, config: JsonObject, model: string): JsonObject | undefined {
  const type = take('rope.scaling.type') ?? 'none'
  const factor = take('rope.scaling.factor') ?? take('rope.scale_linear')
  const original_max_position_embeddings =
    take('rope.scaling.original_context_length') ?? config.max_position_embeddings
  const attention = take('rope.scaling.attn_factor') ?? 1
  // Says how it was trained, not how it is computed.
  take('rope.scaling.finetuned')
  const [freqs, long, short] = [...FACTORS].map(take)
  if (freqs !== undefined || long !== undefined) {
    if (type !== 'none' && type !== 'longrope')
      throw refuse(model, `divisors of angles beside rope.scaling.type "${String(type)}"`)
    const factors = { long_factor: long ?? freqs, short_factor: short ?? freqs }
    return {
      rope_type: 'longrope',
      ...factors,
      original_max_position_embeddings,
      attention_factor: attention,
      factor: 1,
    }
  }
  if (type === 'yarn' && factor !== undefined && factor !== 1) {
    return {
      rope_type: type,
      factor,
      original_max_position_embeddings,
      ...readYarn(take, Number(factor), Number(attention)),
    }
  }
  if (attention !== 1) throw refuse(model, `rope.scaling.attn_factor = ${String(attention)}`)
  if (type === 'none' || factor === undefined || factor === 1) return undefined
  if (type === 'linear') return { rope_type: type, factor }
  throw refuse(model, `rope.scaling.type "${String(type)}"`, 'Supported are none, linear and yarn.')
}

function readYarn(take: TakeKey, factor: number, attention: number): JsonObject {
  const beta_fast = take('rope.scaling.yarn_beta_fast')
  const beta_slow = take('rope.scaling.yarn_beta_slow')
  const mscale = take('rope.scaling.yarn_log_multiplier')
  const known = { ...(beta_fast !== undefined && { beta_fast }), ...(beta_slow !== undefined && { beta_slow }) }
  if (mscale !== undefined && mscale !== 0) return { ...known, mscale: 1, mscale_all_dim: mscale }
  return attention === 1 ? known : { ...known, attention_factor: attention * (0.1 * Math.log(factor) + 1) }
}
