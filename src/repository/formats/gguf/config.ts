/** The hyperparameters of a GGUF file under transformers' names, as the architectures read them. */

import type { JsonObject } from '../../../platform/json.js'
import { broken } from '../../failure.js'
import type { GgufMetadata } from './head.js'

/** Under the architecture's prefix. What says nothing of the arithmetic that is done here is left out by name. */
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
  vocab_size: 'vocab_size',
}
/** Read elsewhere, or implied by the rest: the value must agree then. */
const ELSEWHERE = /^(attention\.value_length|rope\.dimension_count|rope\.scaling\..*|rope\.scale_linear)$/

/** `factors`: what the angles of each pair are divided by, where the file has them (`rope_freqs.weight`). */
export function readConfig(place: string, metadata: GgufMetadata, factors: readonly number[] | undefined): JsonObject {
  const architecture = metadata.get('general.architecture')
  if (typeof architecture !== 'string') throw broken(place, 'it does not name its architecture (general.architecture).')
  const prefix = `${architecture}.`
  const config: Record<string, unknown> = { model_type: architecture }
  for (const [key, value] of metadata) {
    if (!key.startsWith(prefix)) continue
    const name = key.slice(prefix.length)
    if (ELSEWHERE.test(name)) continue
    // A name that is not known here keeps it: the architecture refuses those that matter.
    config[Object.hasOwn(NAMES, name) ? NAMES[name]! : name.replaceAll('.', '_')] = value
  }
  const own = (name: string) => metadata.get(prefix + name)
  const heads = Number(config.num_attention_heads)
  const size = Number(config.head_dim ?? Number(config.hidden_size) / heads)
  for (const name of ['attention.value_length', 'rope.dimension_count']) {
    const given = own(name)
    if (given !== undefined && given !== size)
      throw broken(place, `it has ${prefix}${name} = ${given}, and heads of ${size}.`)
  }
  const tokens = metadata.get('tokenizer.ggml.tokens')
  if (config.vocab_size === undefined && Array.isArray(tokens)) config.vocab_size = tokens.length
  const scaling = readScaling(place, own, factors, config)
  if (scaling) config.rope_scaling = scaling
  return config
}

function readScaling(
  place: string,
  own: (name: string) => unknown,
  factors: readonly number[] | undefined,
  config: JsonObject,
): JsonObject | undefined {
  const type = own('rope.scaling.type') ?? 'none'
  const factor = own('rope.scaling.factor') ?? own('rope.scale_linear')
  const originalLength = own('rope.scaling.original_context_length') ?? config.max_position_embeddings
  if (factors) {
    if (type !== 'none') throw broken(place, `it has rope_freqs.weight beside rope.scaling.type "${String(type)}".`)
    const attention = { attention_factor: 1, factor: 1 }
    const original_max_position_embeddings = originalLength
    return {
      rope_type: 'longrope',
      short_factor: factors,
      long_factor: factors,
      original_max_position_embeddings,
      ...attention,
    }
  }
  if (type === 'none' || factor === undefined || factor === 1) return undefined
  if (type === 'linear') return { rope_type: type, factor }
  if (type === 'yarn') return { rope_type: type, factor, original_max_position_embeddings: originalLength }
  throw broken(place, `its rope.scaling.type "${String(type)}" is not known; none, linear and yarn are.`)
}
