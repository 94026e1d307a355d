/** Clef's head, which decides all questions of a text together: its settings, and which tensors make it. */
import type { DecisionForm } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import type { JsonObject } from '../../platform/index.js'
import { Fields } from '../architectures/fields.js'
import type { WeightOutline } from '../files/source.js'
import type { ModelPlan } from '../model-plan.js'
import type { PlannedMatrix, PlannedVector } from '../planned.js'
import { refuse } from '../refuse.js'
import { matrixBytes } from '../size.js'
import { readTemperatures } from './decision-plan.js'
import { EncoderTensors, type PlannedNorm } from './plan-encoder.js'
import type { VectorPlan } from './vector-plan.js'

export interface JointPlan extends DecisionForm {
  readonly type: 'clef'
  /** Layers in which options read the text, and then those in which questions read each other and the text. */
  readonly routing: number
  readonly joint: number
  readonly heads: number
}

export function readJoint(config: JsonObject, name: string): JointPlan {
  const fields = new Fields(name, config)
  const template = fields.get('systemone')
  return {
    type: fields.word('type', ['clef'] as const, 'clef'),
    routing: fields.count('routing_layers'),
    joint: fields.count('head_layers'),
    heads: fields.count('heads'),
    headTokens: 0,
    temperatures: readTemperatures(fields, config),
    ...(typeof template === 'string' && { template }),
  }
}

export interface PlannedAttention {
  readonly queries: PlannedMatrix
  /** Keys, then values. */
  readonly kept: PlannedMatrix
  readonly output: PlannedMatrix
}

export interface PlannedJointLayer {
  /** Of one in which questions read each other. */
  readonly own?: { readonly norm: PlannedNorm; readonly qkv: PlannedMatrix; readonly output: PlannedMatrix }
  readonly norm: PlannedNorm
  /** Of what is read, in layers of options alone. */
  readonly readNorm?: PlannedNorm
  readonly reading: PlannedAttention
  readonly innerNorm: PlannedNorm
  readonly inner: PlannedMatrix
  readonly down: PlannedMatrix
}

/** From the text's rows to the head's. */
export const PROJECTIONS = [
  'memory',
  'question',
  'option_question',
  'global',
  'option_context',
  'option_lexical',
] as const
export type Projection = (typeof PROJECTIONS)[number]

export interface PlannedJoint {
  /** Numbers of a row of the head, and of one within its layers. */
  readonly width: number
  readonly inner: number
  readonly heads: number
  readonly layers: readonly PlannedJointLayer[]
  readonly hiddenNorm: PlannedNorm
  readonly summaryNorm: PlannedNorm
  readonly fieldNorm: PlannedNorm
  readonly optionNorm: PlannedNorm
  readonly projections: Readonly<Record<Projection, PlannedMatrix>>
  /** Of what is told without reading, of what is decided together, and how much the latter counts. */
  readonly scales: PlannedVector
  readonly kinds: PlannedMatrix
  readonly scorer: PlannedMatrix
  readonly score: PlannedMatrix
  /** The vectors of words; absent: the embedding has them. */
  readonly words?: PlannedMatrix
}

const HEAD = /^(decision|dec|token_types|output)\./

/** The head, and the outline of the model under it, which is `hidden` wide and knows so many words. */
export function planJoint(
  outline: WeightOutline,
  { routing, joint, heads }: Pick<JointPlan, 'routing' | 'joint' | 'heads'>,
  { hidden, vocabulary }: Pick<ModelPlan, 'hidden' | 'vocabulary'>,
  name: string,
): { readonly planned: PlannedJoint; readonly trunk: WeightOutline } {
  const named = (of: (name: string) => boolean) => ({ ...outline, names: outline.names.filter(of) })
  const tensors = new EncoderTensors(
    named((each) => HEAD.test(each)),
    '',
    false,
  )
  const rowsOf = (matrix: string) => tensors.rowsOf(`${matrix}.weight`)
  const width = rowsOf('decision.proj_memory')
  const inner = rowsOf('dec.blk.0.ffn_up')
  if (width % (4 * heads) !== 0)
    throw refuse(name, `a head of ${width} numbers for ${heads} heads (decision.head_count)`)
  const whole = { whole: true }
  const matrix = (names: readonly string[], rows: number, columns: number) =>
    tensors.matrix(names, rows, columns, whole)
  const norm = (own: string, length = width) => tensors.norm(own, length, whole)
  const layer = (i: number): PlannedJointLayer => {
    const at = `dec.blk.${i}`
    const square = (own: string) => matrix([`${at}.${own}`], width, width)
    const several = (own: string, parts: readonly string[]) =>
      matrix(
        parts.map((part) => `${at}.${own}_${part}`),
        parts.length * width,
        width,
      )
    return {
      ...(i >= routing && {
        own: {
          norm: norm(`${at}.attn_norm`),
          qkv: several('attn', ['q', 'k', 'v']),
          output: square('attn_o'),
        },
      }),
      norm: norm(`${at}.cross_attn_norm`),
      ...(i < routing && { readNorm: norm(`${at}.cross_attn_norm_kv`) }),
      reading: {
        queries: square('cross_attn_q'),
        kept: several('cross_attn', ['k', 'v']),
        output: square('cross_attn_o'),
      },
      innerNorm: norm(`${at}.ffn_norm`),
      inner: matrix([`${at}.ffn_up`], inner, width),
      down: matrix([`${at}.ffn_down`], width, inner),
    }
  }
  const projection = (own: Projection) =>
    tensors.matrix([`decision.proj_${own}`], width, hidden, { whole: true, plain: true })
  const table = (own: string, rows: number, columns: number) =>
    tensors.matrix([own], rows, columns, { whole: true, table: true })
  const planned: PlannedJoint = {
    ...{ width, inner, heads },
    layers: Array.from({ length: routing + joint }, (_, i) => layer(i)),
    hiddenNorm: norm('decision.hidden_norm', hidden),
    summaryNorm: norm('decision.option_summary_norm'),
    fieldNorm: norm('decision.field_norm'),
    optionNorm: norm('decision.option_norm'),
    projections: Object.fromEntries(PROJECTIONS.map((own) => [own, projection(own)])) as Record<
      Projection,
      PlannedMatrix
    >,
    scales: tensors.vector('decision.scales', 3),
    kinds: table('token_types', 3, width),
    scorer: matrix(['decision.scorer'], width, 4 * width),
    score: matrix(['decision.scorer_out'], 1, width),
    ...(outline.names.includes('output.weight') && { words: table('output', vocabulary, hidden) }),
  }
  tensors.assertAllUsed()
  return { planned, trunk: named((each) => !HEAD.test(each)) }
}

/** Tokens of a text that it was taught with, at most. */
const MOST = 16384

/** Its scores are as many as a text has options. */
export const scoredTogether = (positions: number): VectorPlan => ({
  ...{ pool: 'last', dense: [], size: 1 },
  most: Math.min(MOST, positions),
})

/** A layer for each of the head's. */
export const cacheOfJoint = ({ width, heads, layers }: PlannedJoint) => ({
  ...{ layers: layers.length, heads },
  headSize: width / heads,
})

/** Questions that are decided together, and options that are scored at a time. */
export const MOST_TOGETHER = 400

/** Its memory beside the model under it: bytes; numbers for each token of a batch, and whatever the batch. */
export function needOfJoint(device: Device, planned: PlannedJoint, hidden: number) {
  const { width, inner, layers, projections, words, scorer, score, kinds } = planned
  const matrices = [
    ...[scorer, score, kinds, ...(words ? [words] : [])],
    ...Object.values(projections),
    ...layers.flatMap(({ own, reading, inner, down }) => [
      ...(own ? [own.qkv, own.output] : []),
      ...[reading.queries, reading.kept, reading.output, inner, down],
    ]),
  ]
  const vectors = matrices.reduce((sum, { rows }) => sum + rows, 0) + 2 * hidden + 8 * width * (layers.length + 1)
  return {
    weights: matrices.reduce((sum, one) => sum + matrixBytes(device, one), 0) + 4 * vectors,
    perRow: 3 * hidden + 4 * width + (device.info.kind === 'cpu' ? hidden + width : 0),
    fixed: MOST_TOGETHER * (3 * hidden + 15 * width + 2 * inner),
  }
}
