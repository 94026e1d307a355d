/** What the configurations of most decoders have in common. */
import type { AttentionLayer, FeedForwardPlan, GatedPlan, LayerPlan, MatrixRole, ModelPlan } from '../model-plan.js'
import { refuse } from '../refuse.js'
import type { Fields } from './fields.js'
import type { GgufForm } from './gguf.js'
import { type ReadAngles, readAngles } from './read-angles.js'

/** Roles that have biases where a configuration asks for them. */
export const ATTENTION_BIAS: readonly MatrixRole[] = ['qkv', 'output']
export const MLP_BIAS: readonly MatrixRole[] = ['gateUp', 'up', 'down']

/** How configurations call what gates go through. */
const ACTIVATIONS: ReadonlyMap<ModelPlan['gate'], readonly string[]> = new Map([
  ['silu', ['silu', 'swish']],
  ['gelu', ['gelu_pytorch_tanh', 'gelu_tanh', 'gelu_new']],
  ['relu2', ['relu2']],
  ['clamped', ['silu', 'swish']],
])

export interface DecoderTraits {
  /** @default what the configuration says of `attention_bias` and `mlp_bias` */
  readonly biased?: readonly MatrixRole[]
  readonly queryKeyNorm?: AttentionLayer['queryKeyNorm']
  /** @default norms stand before attention and MLP, not after them */
  readonly arrangement?: AttentionLayer['arrangement']
  /** @default 'silu' */
  readonly gate?: ModelPlan['gate']
  /** Of a layer. @default a gated one of `intermediate_size` */
  readonly feedForward?: (layer: number) => FeedForwardPlan
  /** What scores are multiplied by. @default headSize ** -0.5 */
  readonly scale?: number
  /** The window of a layer. @default none */
  readonly window?: (layer: number) => number | undefined
  /** What else sets a layer apart. */
  readonly layer?: (layer: number, shape: AttentionLayer) => Partial<AttentionLayer> | LayerPlan
  /** @default those of `rope_theta` and its like, over whole heads */
  readonly angles?: (headSize: number) => ReadAngles
}

export function readDecoder(fields: Fields, traits: DecoderTraits = {}): Omit<ModelPlan, 'architecture'> {
  const heads = fields.count('num_attention_heads')
  const hidden = fields.count('hidden_size')
  const keyHeads = fields.count('num_key_value_heads', heads)
  const headSize = fields.number('head_dim', hidden / heads)
  const { queryKeyNorm, arrangement = 'before', gate = 'silu' } = traits
  for (const key of ['hidden_act', 'hidden_activation']) {
    const known = ACTIVATIONS.get(gate)!
    fields.word(key, known, known[0]!)
  }
  if (headSize % 2 !== 0) throw refuse(fields.model, `heads of ${headSize} values`)
  if (heads % keyHeads !== 0) throw refuse(fields.model, `${heads} attention heads over ${keyHeads} key heads`)
  const { angles, most, border } = (traits.angles ?? ((size) => readAngles(fields, size)))(headSize)
  const feedForward = traits.feedForward ?? always(readGated(fields))
  const shape: Omit<AttentionLayer, 'feedForward'> = {
    kind: 'attention',
    heads,
    keyHeads,
    headSize,
    scale: traits.scale ?? headSize ** -0.5,
    angles,
    ...(queryKeyNorm && { queryKeyNorm }),
    arrangement,
    biased: traits.biased ?? readBiases(fields),
  }
  const context = fields.limit('context_window_size') ?? fields.limit('max_position_embeddings') ?? 4096
  // MLC's limit may be above or below the model's own.
  fields.get('max_position_embeddings')
  return {
    hidden,
    vocabulary: fields.count('vocab_size'),
    contextLength: Math.min(context, most ?? context),
    ...(border !== undefined && { border }),
    epsilon: fields.number('rms_norm_eps', 1e-5),
    ...(gate !== 'silu' && { gate }),
    layers: Array.from({ length: fields.count('num_hidden_layers') }, (_, layer) => {
      const window = traits.window?.(layer)
      const usual = { ...shape, feedForward: feedForward(layer) }
      const own = traits.layer?.(layer, usual)
      // One that says of what kind it is is a layer as it stands.
      if (own && 'kind' in own && own.kind !== 'attention') return own as LayerPlan
      return { ...usual, ...(window !== undefined && { window }), ...(own as Partial<AttentionLayer>) }
    }),
    tied: fields.get('tie_word_embeddings') === undefined ? undefined : fields.flag('tie_word_embeddings'),
  }
}

/** Of which norms take the mean away and have biases. */
export function readLayerNormed(fields: Fields, traits: DecoderTraits): Omit<ModelPlan, 'architecture'> {
  const rms_norm_eps = fields.number('layer_norm_eps', 1e-5)
  return { ...readDecoder(fields.replaced({ rms_norm_eps }), traits), centred: true, normBias: true }
}

/** What is not said of rope.dimension_count there is a whole head. */
export const GGUF_LAYER_NORMS: GgufForm = {
  partial: true,
  own: (take) => ({ layer_norm_eps: take('attention.layer_norm_epsilon'), partial_rotary_factor: 1 }),
}

const always = (plan: FeedForwardPlan) => () => plan

export function readGated(fields: Fields): GatedPlan {
  return { kind: 'gated', size: fields.count('intermediate_size') }
}

export function readBiases(fields: Fields): readonly MatrixRole[] {
  return [...(fields.flag('attention_bias') ? ATTENTION_BIAS : []), ...(fields.flag('mlp_bias') ? MLP_BIAS : [])]
}

/** The size of a sliding window, as MLC or transformers name it. */
export function readWindow(fields: Fields): number | undefined {
  const transformers = fields.limit('sliding_window')
  return fields.limit('sliding_window_size') ?? transformers
}

/** Whether a layer's attention slides, by transformers' list of kinds; undefined where there is none. */
export function readLayerTypes(fields: Fields, layers: number): ((layer: number) => boolean) | undefined {
  const types = fields.list('layer_types', layers)
  if (!types) return undefined
  for (const type of types) {
    if (type !== 'full_attention' && type !== 'sliding_attention') {
      throw refuse(fields.model, `a layer of the type ${JSON.stringify(type)}`)
    }
  }
  return (layer) => types[layer] === 'sliding_attention'
}
