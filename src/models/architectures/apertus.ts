import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readDecoder, readGated } from './read-decoder.js'

const LAYER = 'model.layers.#'
/** In the order in which the devices take them. */
const CURVE = ['alpha_p', 'alpha_n', 'beta', 'eps'] as const

/** Llama with norms of heads, and between the two matrices of its MLP an activation that each layer has learned. */
export const apertus: Architecture = {
  ...llama,
  names: {
    huggingface: {
      ...NAMES.huggingface,
      attentionNorm: `${LAYER}.attention_layernorm`,
      mlpNorm: `${LAYER}.feedforward_layernorm`,
      up: `${LAYER}.mlp.up_proj`,
      curve: CURVE.map((name) => `${LAYER}.mlp.act_fn.${name}`),
    },
    gguf: { ...NAMES.gguf, up: 'blk.#.ffn_up' },
  },
  gguf: { own: (take) => ({ xielu: Object.fromEntries(CURVE.map((name) => [name, take(`xielu.${name}`)])) }) },
  read(fields) {
    fields.word('hidden_act', ['xielu'], 'xielu')
    if (!fields.flag('qk_norm', true)) throw fields.odd('qk_norm', false)
    if (fields.flag('post_norm')) throw fields.odd('post_norm', true)
    const { size } = readGated(fields)
    const layers = fields.count('num_hidden_layers')
    const curves = fields.part('xielu')
    return readDecoder(fields.replaced({ hidden_act: 'silu' }).withDefaults({ rope_theta: 12_000_000 }), {
      queryKeyNorm: 'head',
      feedForward: () => ({ kind: 'ungated', size }),
      layer: (layer) => ({ curve: curves ? CURVE.map((name) => numberOf(curves, name, layer, layers)) : 'stored' }),
    })
  },
}

/** One for all layers, or one for each. */
function numberOf(curves: Fields, name: string, layer: number, layers: number): number {
  const given = curves.get(name)
  const value: unknown = Array.isArray(given) && given.length === layers ? given[layer] : given
  if (typeof value !== 'number') throw curves.odd(name, given ?? null)
  return value
}
