import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAttention, readUngated } from './read-decoder.js'

const LAYER = 'model.layers.#'
/** In the order in which the devices take them. */
const CURVE = ['alpha_p', 'alpha_n', 'beta', 'eps'] as const

/** One for all layers, or one for each. */
function numberOf(curves: Fields, name: string, layer: number, layers: number): number {
  const given = curves.get(name)
  const value: unknown = Array.isArray(given) && given.length === layers ? given[layer] : given
  if (typeof value !== 'number') throw curves.odd(name, given ?? null)
  return value
}

/** The activations of layers, unless they stand among the tensors. */
function readCurves(fields: Fields): (layer: number) => number[] | 'stored' {
  const layers = fields.count('num_hidden_layers')
  const curves = fields.part('xielu')
  return (layer) => (curves ? CURVE.map((name) => numberOf(curves, name, layer, layers)) : 'stored')
}

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
  defaults: { rope_theta: 12_000_000 },
  only: { qk_norm: true, post_norm: false },
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'head' }),
    feedForward: readUngated(fields, { called: ['xielu'], curve: readCurves(fields) }),
    arrangement: 'before',
  }),
}
