import type { Architecture, Names } from './architecture.js'
import type { Fields } from './fields.js'
import { NAMES } from './names.js'
import { readAngles } from './read-angles.js'
import { readDecoder, readLayerTypes } from './read-decoder.js'

const NAMED: Readonly<Record<'huggingface' | 'gguf', Names>> = { huggingface: NAMES.huggingface, gguf: NAMES.gguf }
/** One layer in so many sees all. */
const PATTERN = 4

/** Command R: attention and MLP side by side, behind one norm that takes the mean away; neighbours are turned. */
export const cohere: Architecture = {
  names: NAMED,
  interleaved: true,
  gguf: {
    own: (take) => ({
      layer_norm_eps: take('attention.layer_norm_epsilon'),
      logit_scale: take('logit_scale'),
    }),
  },
  read: (fields) => readCohere(fields, () => ({})),
}

/** Command R7B and its like: three of four layers see a window, and the fourth, which sees all, has no positions. */
export const cohere2: Architecture = {
  ...cohere,
  read(fields) {
    const layers = fields.count('num_hidden_layers')
    const pattern = fields.count('sliding_window_pattern', PATTERN)
    const slides = readLayerTypes(fields, layers) ?? ((layer: number) => (layer + 1) % pattern !== 0)
    const window = fields.count('sliding_window', 4096)
    const { angles } = readAngles(fields, headOf(fields), undefined, 10_000)
    return readCohere(fields, (layer) => (slides(layer) ? { window } : { angles: { ...angles, size: 0 } }))
  },
}

const headOf = (fields: Fields) =>
  fields.number('head_dim', fields.count('hidden_size') / fields.count('num_attention_heads'))

function readCohere(fields: Fields, layer: NonNullable<NonNullable<Parameters<typeof readDecoder>[1]>['layer']>) {
  if (fields.flag('use_qk_norm')) throw fields.odd('use_qk_norm', true)
  for (const flag of ['use_gated_activation', 'use_parallel_block'])
    if (!fields.flag(flag, true)) throw fields.odd(flag, false)
  const plan = readDecoder(
    fields
      .replaced({ rms_norm_eps: fields.number('layer_norm_eps', 1e-5) })
      .withDefaults({ tie_word_embeddings: true }),
    { arrangement: 'parallel', layer },
  )
  return { ...plan, centred: true, logitScale: fields.number('logit_scale', 0.0625) }
}
