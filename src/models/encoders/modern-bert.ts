/** ModernBERT and mmBERT by their configuration. */

import type { Gate } from '../../device/index.js'
import { Fields } from '../architectures/fields.js'
import type { WeightOutline } from '../files/source.js'
import type { PlannedMatrix } from '../planned.js'
import { refuse } from '../refuse.js'
import type { PlannedDecision } from './decision-plan.js'
import type { PlannedDense, PlannedNorm } from './plan-encoder.js'
import { classCount } from './read-vectors.js'
import type { DensePlan, VectorPlan } from './vector-plan.js'

export interface PlannedModernLayer {
  /** Absent in the first layer: what embeddings give is normed already. */
  readonly norm?: PlannedNorm
  readonly qkv: PlannedMatrix
  readonly output: PlannedMatrix
  readonly innerNorm: PlannedNorm
  readonly inner: PlannedMatrix
  readonly down: PlannedMatrix
}

export interface PlannedModern {
  readonly words: PlannedMatrix
  readonly norm: PlannedNorm
  readonly layers: readonly PlannedModernLayer[]
  readonly last: PlannedNorm
  /** The layers after the pool. */
  readonly dense: readonly PlannedDense[]
  readonly decision?: PlannedDecision
  /** Of what was pooled. */
  readonly pooled?: PlannedNorm
}

/** Positions turn queries and keys; most layers see what is near alone. */
export interface ModernPlan {
  readonly hidden: number
  readonly vocabulary: number
  readonly heads: number
  readonly intermediate: number
  readonly gate: Gate
  /** Of all norms. */
  readonly epsilon: number
  readonly positions: number
  readonly layers: readonly ModernSight[]
}

/** How a layer turns, and how many positions it sees in each direction, its own included; absent: all. */
export interface ModernSight {
  readonly theta: number
  readonly window?: number
}

const ACTIVATIONS = { gelu: 'gelu_erf', gelu_pytorch_tanh: 'gelu', relu: 'relu', silu: 'silu' } as const
const ACTIVATION_NAMES = Object.keys(ACTIVATIONS) as (keyof typeof ACTIVATIONS)[]
/** Of heads, and of how one of them is trained. */
const HEADS = [
  ...['classifier_activation', 'classifier_pooling', 'classifier_bias', 'decoder_bias'],
  ...['sparse_prediction', 'sparse_pred_ignore_index'],
]
const GLOBAL = 'full_attention'
const LOCAL = 'sliding_attention'

export const isModernBert = ({ chatConfig }: Pick<WeightOutline, 'chatConfig'>): boolean =>
  chatConfig.model_type === 'modernbert'

/** Refuses by name what it does not know. */
export function readModernBert(config: WeightOutline['chatConfig'], name: string): ModernPlan {
  const fields = new Fields(name, config)
  const hidden = fields.count('hidden_size')
  const heads = fields.count('num_attention_heads')
  if (hidden % (4 * heads) !== 0 || hidden % 8 !== 0) throw refuse(name, `${heads} heads over ${hidden} values`)
  for (const key of ['norm_bias', 'attention_bias', 'mlp_bias']) if (fields.flag(key)) throw fields.odd(key, true)
  if (fields.flag('is_decoder')) throw fields.odd('is_decoder', true)
  // It says nothing of these models, which have no table of positions whatever stands here.
  fields.get('position_embedding_type')
  const norms = ['norm_eps', 'layer_norm_eps'].map((key) => fields.get(key))
  const epsilon = fields.number('norm_eps', fields.number('layer_norm_eps', 1e-5))
  if (norms.every((value) => value !== undefined) && norms[0] !== norms[1]) throw fields.odd('layer_norm_eps', norms[1])
  for (const key of HEADS) fields.get(key)
  const plan: ModernPlan = {
    hidden,
    heads,
    vocabulary: fields.count('vocab_size'),
    intermediate: fields.count('intermediate_size'),
    gate: ACTIVATIONS[fields.word('hidden_activation', ACTIVATION_NAMES, 'gelu')],
    epsilon,
    positions: fields.count('max_position_embeddings', 8192),
    layers: readSights(fields, config.local_rope_theta === null),
  }
  fields.assertAllRead()
  return plan
}

/** `alike`: said to turn all layers by one base. */
function readSights(fields: Fields, alike: boolean): ModernSight[] {
  const count = fields.count('num_hidden_layers')
  const every = fields.count('global_attn_every_n_layers', 3)
  const types = fields.list('layer_types', count)
  const local = fields.count('local_attention', 128)
  if (local % 2 !== 0) throw fields.odd('local_attention', local)
  const parameters = fields.part('rope_parameters')
  const theta = (type: string, key: string, otherwise: number) => {
    const outer = fields.number(key, otherwise)
    const part = parameters?.part(type)
    part?.word('rope_type', ['default'], 'default')
    return part?.number('rope_theta', outer) ?? outer
  }
  const global = theta(GLOBAL, 'global_rope_theta', 160_000)
  const near = theta(LOCAL, 'local_rope_theta', alike ? global : 10_000)
  return Array.from({ length: count }, (_, i) => {
    const type = types?.[i] ?? (i % every === 0 ? GLOBAL : LOCAL)
    if (type === GLOBAL) return { theta: global }
    if (type === LOCAL) return { theta: near, window: local / 2 + 1 }
    throw fields.odd('layer_types', types)
  })
}

/** The head of a cross-encoder or a classifier: one row through a layer more, a norm, then a number for each class. */
export function readModernScores(config: WeightOutline['chatConfig'], plan: ModernPlan, name: string): VectorPlan {
  const rows = classCount(config, name)
  const fields = new Fields(name, config)
  const { hidden, epsilon, positions } = plan
  const pool = fields.word('classifier_pooling', ['cls', 'mean'], 'cls')
  const gate = ACTIVATIONS[fields.word('classifier_activation', ACTIVATION_NAMES, 'gelu')]
  const bias = fields.flag('classifier_bias')
  const shape = { columns: hidden, tanh: false }
  const dense: DensePlan[] = [
    { ...shape, name: 'head.dense', rows: hidden, bias, gate, norm: { name: 'head.norm', epsilon } },
    { ...shape, name: 'classifier', rows, bias: true },
  ]
  return { pool: pool === 'cls' ? 'first' : 'mean', dense, size: rows, most: positions }
}
