/** What the configurations of most decoders have in common: the parts of a layer, and what stands around the layers. */
import type { Gate } from '../../device/index.js'
import type { AttentionLayer, LayerPlan, LayerShape, MatrixRole } from '../model-plan.js'
import { refuse } from '../refuse.js'
import type { Architecture, DecoderPlan, FeedForwardReading, MixerOf, MixerReading } from './architecture.js'
import type { Fields } from './fields.js'
import type { GgufForm } from './gguf.js'
import { type ReadAngles, readAngles } from './read-angles.js'

/** Roles that have biases where a configuration asks for them. */
export const ATTENTION_BIAS: readonly MatrixRole[] = ['qkv', 'output']
const MLP_BIAS: readonly MatrixRole[] = ['gateUp', 'up', 'down']

/** How configurations call what gates go through. */
const ACTIVATIONS: ReadonlyMap<Gate, readonly string[]> = new Map([
  ['silu', ['silu', 'swish']],
  ['gelu', ['gelu_pytorch_tanh', 'gelu_tanh', 'gelu_new']],
  ['relu2', ['relu2']],
  ['clamped', ['silu', 'swish']],
])

export function readDecoder(
  { defaults = {}, only = {}, unused = [], prepare, layer, beside }: Architecture,
  given: Fields,
): DecoderPlan {
  const whole = given.withDefaults(defaults)
  for (const field of unused) whole.get(field)
  for (const [flag, value] of Object.entries(only)) {
    if (whole.flag(flag, value) !== value) throw whole.odd(flag, !value)
  }
  const fields = prepare?.(whole) ?? whole
  const { mixer, feedForward, biased = readBiases(fields), ...rest } = layer(fields)
  const { most, border } = mixer
  const { gate = 'silu' } = feedForward
  const context = fields.limit('context_window_size') ?? fields.limit('max_position_embeddings') ?? 4096
  // MLC's limit may be above or below the model's own.
  fields.get('max_position_embeddings')
  const plan = {
    hidden: fields.count('hidden_size'),
    vocabulary: fields.count('vocab_size'),
    contextLength: Math.min(context, most ?? context),
    ...(border !== undefined && { border }),
    epsilon: fields.number('rms_norm_eps', 1e-5),
    ...(gate !== 'silu' && { gate }),
    layers: Array.from(
      { length: fields.count('num_hidden_layers') },
      (_, i): LayerPlan => ({ ...rest, biased, ...mixer.of(i), ...feedForward.of(i) }),
    ),
    tied: fields.get('tie_word_embeddings') === undefined ? undefined : fields.flag('tie_word_embeddings'),
  }
  return { ...plan, ...beside?.(fields, plan) }
}

export interface AttentionOptions extends Omit<Partial<MixerOf<AttentionLayer>>, 'kind' | 'angles'> {
  /** Which layers have the window. @default all */
  readonly slides?: (layer: number) => boolean
  /** Whether positions turn queries and keys (rotary embedding). @default true */
  readonly rope?: boolean
  /** @default those of `rope_theta` and its like, over whole heads */
  readonly angles?: (headSize: number) => ReadAngles
}

/** Attention, as nearly all configurations describe it, with what sets this one apart. */
export function readAttention(fields: Fields, options: AttentionOptions = {}): MixerReading {
  const {
    window,
    slides = () => true,
    rope = true,
    angles: read = (size: number) => readAngles(fields, size),
    ...own
  } = options
  const heads = fields.count('num_attention_heads')
  const { keyHeads = fields.count('num_key_value_heads', heads) } = own
  const { headSize = fields.number('head_dim', fields.count('hidden_size') / heads) } = own
  if (headSize % 2 !== 0) throw refuse(fields.model, `heads of ${headSize} values`)
  if (heads % keyHeads !== 0) throw refuse(fields.model, `${heads} attention heads over ${keyHeads} key heads`)
  const { angles, ...limits } = read(headSize)
  const plan: MixerOf<AttentionLayer> = {
    ...own,
    kind: 'attention',
    heads,
    keyHeads,
    headSize,
    scale: own.scale ?? headSize ** -0.5,
    angles: rope ? angles : { ...angles, size: 0 },
  }
  return {
    ...(rope && limits),
    of: (layer) => (window !== undefined && slides(layer) ? { ...plan, window } : plan),
  }
}

export interface FeedForwardOptions {
  /** @default 'silu' */
  readonly gate?: Gate
  /** How configurations call it. @default as nearly all do */
  readonly called?: readonly string[]
  /** @default `intermediate_size` */
  readonly size?: number
}

export function readGated(fields: Fields, options: FeedForwardOptions = {}): FeedForwardReading {
  return readRows(fields, options, { feedForward: { kind: 'gated', size: sizeOf(fields, options) } })
}

/** `curve`: where its activation is learned. */
export function readUngated(
  fields: Fields,
  { curve, ...options }: FeedForwardOptions & { readonly curve?: (layer: number) => LayerShape['curve'] } = {},
): FeedForwardReading {
  const same = readRows(fields, options, { feedForward: { kind: 'ungated', size: sizeOf(fields, options) } })
  return curve ? { ...same, of: (layer) => ({ ...same.of(layer), curve: curve(layer) }) } : same
}

const sizeOf = (fields: Fields, { size }: FeedForwardOptions) => size ?? fields.count('intermediate_size')

/** The same for all layers. */
export function readRows(
  fields: Fields,
  { gate = 'silu', called = ACTIVATIONS.get(gate)! }: FeedForwardOptions,
  plan: Pick<LayerShape, 'feedForward'>,
): FeedForwardReading {
  for (const key of ['hidden_act', 'hidden_activation']) fields.word(key, called, called[0]!)
  return { gate, of: () => plan }
}

/** One in some layers, another in the others. */
export function where<Reading extends MixerReading | FeedForwardReading>(
  which: (layer: number) => boolean,
  there: Reading,
  elsewhere: Reading,
): Reading {
  return { ...elsewhere, ...there, of: (layer: number) => (which(layer) ? there : elsewhere).of(layer) }
}

/** Norms of the stream that take the mean away call what they add to its square otherwise. */
export const inLayerNorms = (fields: Fields) => fields.replaced({ rms_norm_eps: fields.number('layer_norm_eps', 1e-5) })

/** Of which all norms take the mean away and have biases. */
export const LAYER_NORMED = {
  prepare: inLayerNorms,
  beside: () => ({ centred: true, normBias: true }),
} satisfies Partial<Architecture>

/** What is not said of rope.dimension_count there is a whole head. */
export const GGUF_LAYER_NORMS: GgufForm = {
  partial: true,
  own: (take) => ({ layer_norm_eps: take('attention.layer_norm_epsilon'), partial_rotary_factor: 1 }),
}

function readBiases(fields: Fields): readonly MatrixRole[] {
  return [...(fields.flag('attention_bias') ? ATTENTION_BIAS : []), ...(fields.flag('mlp_bias') ? MLP_BIAS : [])]
}

/** The size of a sliding window, as MLC or transformers name it. */
export function readWindow(fields: Fields): number | undefined {
  const transformers = fields.limit('sliding_window')
  return fields.limit('sliding_window_size') ?? transformers
}

/** Whether a layer is the first of two kinds, by transformers' list of kinds; undefined where there is none. */
export function readLayerTypes(
  fields: Fields,
  there = 'sliding_attention',
  elsewhere = 'full_attention',
): ((layer: number) => boolean) | undefined {
  const types = fields.list('layer_types', fields.count('num_hidden_layers'))
  const odd = types?.find((type) => type !== there && type !== elsewhere)
  if (odd !== undefined) throw fields.odd('layer_types', odd)
  return types && ((layer) => types[layer] === there)
}

/** Those that slide where no list says so: all but every so many. */
export function slidesAllBut(fields: Fields, every: number): (layer: number) => boolean {
  return readLayerTypes(fields) ?? ((layer) => (layer + 1) % every !== 0)
}
