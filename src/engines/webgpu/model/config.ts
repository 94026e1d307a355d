/** What distinguishes one model of the Llama family from another, read from `mlc-chat-config.json` or `config.json`. */
import { refuse } from './refuse.js'
import { type RopeScaling, readRopeScaling } from './rope.js'

export interface DecoderConfig {
  readonly architecture: Architecture
  readonly hidden: number
  readonly intermediate: number
  readonly layers: number
  /** Heads of queries. */
  readonly heads: number
  /** Heads of keys, and of values. */
  readonly keyHeads: number
  readonly headSize: number
  /** Logits per position, padding included. */
  readonly vocabulary: number
  /** The longest sequence that the model was made for. */
  readonly contextLength: number
  readonly epsilon: number
  readonly ropeTheta: number
  readonly ropeScaling?: RopeScaling
  /** The token embeddings are the output head too. */
  readonly tied: boolean
  /** Qwen3: heads of queries and keys are normed. */
  readonly headNorm: boolean
  /** Positions that a query sees, in layers from `windowFrom` on; absent: all. */
  readonly window?: number
  readonly windowFrom: number
  /** MLC's name of the fused projection to queries, keys and values. */
  readonly qkvName: 'qkv_proj' | 'c_attn'
}

const ARCHITECTURES = {
  llama: { qkvName: 'qkv_proj', headNorm: false, windowed: false },
  mistral: { qkvName: 'qkv_proj', headNorm: false, windowed: true },
  qwen2: { qkvName: 'c_attn', headNorm: false, windowed: false },
  qwen3: { qkvName: 'c_attn', headNorm: true, windowed: false },
} as const

export type Architecture = keyof typeof ARCHITECTURES
type Json = Readonly<Record<string, unknown>>

/** `config` as the repository has it. `name` is the model's, for messages. */
export function readDecoderConfig(config: Json, name = 'this model'): DecoderConfig {
  const inner = object(config.model_config) ?? config
  const architecture = readArchitecture(config, name)
  const read = numbers(inner, config, name)
  const heads = read('num_attention_heads')
  const hidden = read('hidden_size')
  const headSize = read('head_dim', hidden / heads)
  const keyHeads = read('num_key_value_heads', heads)
  checkActivation(inner, name)
  if (!Number.isInteger(headSize) || headSize % 2 !== 0) throw refuse(name, `heads of ${headSize} values`)
  if (heads % keyHeads !== 0) throw refuse(name, `${heads} attention heads over ${keyHeads} key heads`)
  const scaling = readRopeScaling(inner.rope_scaling, name)
  return {
    architecture,
    hidden,
    intermediate: read('intermediate_size'),
    layers: read('num_hidden_layers'),
    heads,
    keyHeads,
    headSize,
    vocabulary: read('vocab_size'),
    contextLength: contextLength(inner, config),
    epsilon: read('rms_norm_eps', 1e-5),
    ropeTheta: read('rope_theta', positive(inner.position_embedding_base) ?? ropeParameters(inner) ?? 10000),
    ...(scaling ? { ropeScaling: scaling } : {}),
    tied: inner.tie_word_embeddings === true,
    ...readWindow(architecture, inner, config),
    qkvName: ARCHITECTURES[architecture].qkvName,
    headNorm: ARCHITECTURES[architecture].headNorm,
  }
}

function readArchitecture(config: Json, name: string): Architecture {
  const type = config.model_type ?? object(config.model_config)?.model_type
  if (typeof type !== 'string') throw refuse(name, 'a configuration that does not name its model_type')
  if (!Object.hasOwn(ARCHITECTURES, type)) {
    throw refuse(name, `the architecture "${type}"`, `Known are ${Object.keys(ARCHITECTURES).join(', ')}.`)
  }
  return type as Architecture
}

function checkActivation(inner: Json, name: string): void {
  const act = inner.hidden_act
  if (act !== undefined && act !== 'silu' && act !== 'swish') throw refuse(name, `the activation "${String(act)}"`)
}

function contextLength(inner: Json, config: Json): number {
  return (
    positive(config.context_window_size) ??
    positive(inner.context_window_size) ??
    positive(inner.max_position_embeddings) ??
    4096
  )
}

/** Mistral's window holds for all layers; Qwen2's only where `use_sliding_window` says so. -1 and null mean none. */
function readWindow(architecture: Architecture, inner: Json, config: Json) {
  const size =
    positive(config.sliding_window_size) ?? positive(inner.sliding_window_size) ?? positive(inner.sliding_window)
  const wanted = ARCHITECTURES[architecture].windowed || inner.use_sliding_window === true
  const from = ARCHITECTURES[architecture].windowed ? 0 : (positive(inner.max_window_layers) ?? 0)
  return wanted && size !== undefined ? { window: size, windowFrom: from } : { windowFrom: 0 }
}

/** transformers 5 moved the base of the angles into an object. */
function ropeParameters(inner: Json): number | undefined {
  return positive(object(inner.rope_parameters)?.rope_theta)
}

function numbers(inner: Json, outer: Json, name: string) {
  return (key: string, otherwise?: number): number => {
    const value = positive(inner[key]) ?? positive(outer[key]) ?? otherwise
    if (value === undefined) throw refuse(name, `a configuration without ${key}`)
    return value
  }
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined
}

export function object(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}
