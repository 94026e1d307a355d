/** The plan of a model that makes vectors, before its weights are read: BERT's kind, or a decoder. */

import type { CacheShape, Device } from '../../device/index.js'
import type { WeightOutline } from '../files/source.js'
import type { KeptPlan } from '../kept.js'
import type { ModelPlan } from '../model-plan.js'
import type { PlannedTensors } from '../planned.js'
import { matrixBytes } from '../size.js'
import { readEncoder, readScores } from './bert.js'
import type { DecisionPlan, PlannedDecision } from './decision-plan.js'
import type { JointPlan, PlannedJoint } from './joint-plan.js'
import type { ModernPlan, PlannedModern } from './modern-bert.js'
import { type PlannedDense, type PlannedEncoder, type PlannedNorm, planEncoder } from './plan-encoder.js'
import { isMlcEncoder, readMlcVectors, readVectors } from './read-vectors.js'
import type { EncoderPlan, VectorPlan } from './vector-plan.js'

interface Body {
  readonly vectors: VectorPlan
  /** The layers after the pool. */
  readonly dense: readonly PlannedDense[]
  /** Tokens of a text that it can read at all. */
  readonly positions: number
  /** Layers whose heads have the same form share one. */
  readonly caches: readonly (Pick<CacheShape, 'heads' | 'headSize'> & Partial<Pick<CacheShape, 'layers'>>)[]
  need(device: Device): Need
}

/** Memory: bytes of weights; numbers for each token and each text of a batch, for each position, and in any case. */
export interface Need {
  readonly weights: number
  readonly perRow: number
  readonly perText: number
  readonly perPosition: number
  readonly fixed?: number
}

export type EncoderBody =
  | (Body & { readonly kind: 'bert'; readonly plan: EncoderPlan; readonly tensors: PlannedEncoder })
  | (Body & {
      readonly kind: 'modern'
      readonly plan: ModernPlan
      readonly tensors: PlannedModern
      /** Absent: it makes vectors, or scores of pairs. */
      readonly decision?: DecisionPlan
    })
  | (Body & {
      readonly kind: 'decoder'
      /** It scores by the words that it would say. */
      readonly judges: boolean
      readonly model: ModelPlan
      readonly tensors: PlannedTensors
      readonly kept: KeptPlan
      /** Absent: it makes vectors, or scores. Its head has the last of the caches. */
      readonly decision?: {
        readonly plan: DecisionPlan
        readonly planned: PlannedDecision
        readonly pooled: PlannedNorm
      }
      /** It decides all questions of a text together, by a head that has the last of the caches. */
      readonly joint?: { readonly plan: JointPlan; readonly planned: PlannedJoint }
    })

export function bertBody(outline: WeightOutline, quantize: boolean, name: string): EncoderBody {
  const plan = readEncoder(outline.chatConfig, name)
  const { hidden, heads, intermediate, layers, types } = plan
  const positions = plan.positions - plan.firstPosition
  const vectors = outline.sentence
    ? readVectors(outline.sentence, name, hidden, positions)
    : isMlcEncoder(outline.chatConfig)
      ? readMlcVectors(outline.chatConfig, name, hidden, positions)
      : readScores(outline.chatConfig, plan, name)
  const tensors = planEncoder(outline, plan, vectors, quantize, name)
  return {
    kind: 'bert',
    plan,
    vectors,
    tensors,
    dense: tensors.dense,
    positions,
    caches: [{ heads, headSize: hidden / heads }],
    need(device) {
      const prepared = preparedOf(device, plan)
      return {
        weights: matricesBytes(device, tensors, tensors.layers) + 4 * hidden * (2 + 4 * layers),
        perRow: 5 * hidden + intermediate + prepared,
        perText: numbersOf(vectors, hidden),
        perPosition: (types + 1) * hidden,
      }
    },
  }
}

type Matrices = 'qkv' | 'output' | 'inner' | 'down'

export function matricesBytes(
  device: Device,
  { words, dense }: Pick<PlannedEncoder, 'words' | 'dense'>,
  layers: readonly Pick<PlannedEncoder['layers'][number], Matrices>[],
): number {
  const all = [words, ...dense, ...layers.flatMap(({ qkv, output, inner, down }) => [qkv, output, inner, down])]
  return all.reduce((sum, one) => sum + matrixBytes(device, one), 0)
}

/** Numbers of a row that a processor keeps beside it, in the form in which it is multiplied. */
export const preparedOf = (device: Device, { hidden, intermediate }: Pick<EncoderPlan, 'hidden' | 'intermediate'>) =>
  device.info.kind === 'cpu' ? 2 * hidden + intermediate : 0

/** Of a text, from what was pooled on. */
export const numbersOf = ({ dense }: VectorPlan, hidden: number): number =>
  dense.reduce((sum, { rows }) => sum + rows, hidden)
