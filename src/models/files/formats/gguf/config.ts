/** What a GGUF file says of its architecture, in its own words; each architecture knows what they mean. */

import type { JsonObject } from '../../../../platform/index.js'
import { broken } from '../../failure.js'
import type { GgufMetadata } from './head.js'

/** Tensors that say how positions turn, and are no weights: divisors of the angles of each pair. */
export const POSITIONS = /^rope_(freqs|factors_(long|short))\.weight$/

/** What is said of an architecture without its name before it. */
const APART = /^xielu\./

/** `positions`: such tensors, by their names without suffix. */
export function readConfig(
  place: string,
  metadata: GgufMetadata,
  positions: Readonly<Record<string, readonly number[]>>,
): JsonObject {
  const architecture = metadata.get('general.architecture')
  if (typeof architecture !== 'string') throw broken(place, 'it does not name its architecture (general.architecture).')
  const prefix = `${architecture}.`
  const own = [...metadata].filter(([key]) => key.startsWith(prefix) || APART.test(key))
  const config = Object.fromEntries(own.map(([key, value]) => [key.replace(prefix, ''), value]))
  const tokens = metadata.get('tokenizer.ggml.tokens')
  const types = metadata.get('tokenizer.ggml.token_type_count')
  return {
    model_type: architecture,
    ...(Array.isArray(tokens) && { vocab_size: tokens.length }),
    // Texts that an encoder tells apart.
    ...(types !== undefined && { type_vocab_size: types }),
    ...config,
    ...positions,
  }
}
