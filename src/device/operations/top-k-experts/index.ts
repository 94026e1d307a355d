import type { Activations, Routing, Vector } from '../../contract/tensors.js'
import { tilesOf } from '../../gpu/kernels/routing.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { groupKernel, topKExpertsKernel } from './kernel.js'

/** Which experts rows go to, by scores of which a row has one for each. */
export interface TopKExpertsOptions {
  /** @default all rows of the pass */
  readonly rows?: number
  /** What the scores of a row become before they weigh what its experts give. */
  readonly scores: 'softmax' | 'sigmoid'
  /** The weights of a row's experts are divided by their sum. */
  readonly normed?: boolean | undefined
  /** And multiplied by it. @default 1 */
  readonly scale?: number | undefined
  /** One for each expert, added to what is chosen by: what scores became, or scores before softmax. */
  readonly bias?: Vector | undefined
  /** One for each expert, by which its weights are multiplied. */
  readonly factors?: Vector | undefined
  /** Behind its scores a row has one that all rows share, whose sigmoid weighs what `combineExperts` adds. @default 1 weighs it */
  readonly shared?: boolean | undefined
}

/** Chooses for each row the experts of the greatest scores, of equal ones those with the lowest numbers. */
export const topKExperts = defineOperation({
  name: 'topKExperts',
  fit(batch: BatchShape, scores: Activations, { shape }: Routing, { rows = batch.rows, shared }: TopKExpertsOptions) {
    atLeast('Columns of scores', scores.columns, shape.experts + (shared ? 1 : 0))
    atLeast('Rows to route', Math.min(scores.rows, shape.rows), rows)
  },
  gpu(pass, scores, routing, { rows, scores: kind, normed = false, scale = 1, bias, factors, shared = false }) {
    const { count, head } = pass.counted(rows)
    const [given, weighed] = [bias !== undefined, factors !== undefined]
    const shape = {
      ...routing.shape,
      columns: scores.columns,
      kind,
      normed,
      scale,
      bias: given,
      factors: weighed,
      shared,
    }
    const traits = { serial: pass.traits.serial }
    const to = pass.buffer(routing)
    const more = [bias, factors].flatMap((one) => (one ? [pass.buffer(one)] : []))
    pass.dispatch(topKExpertsKernel(shape, head, traits), [pass.meta, pass.buffer(scores), to, ...more], count)
    const { held } = tilesOf(routing.shape, count, traits.serial)
    pass.dispatch(groupKernel(routing.shape, held, head, traits), [pass.meta, to], 1)
  },
  // `kind`: 0 is softmax, 1 sigmoid. Written are how many experts have rows, which (`list`), where the places of each begin,
  // and where the last end (`firsts`), the row of each place (`rowOf`), and of each row its places (`placeOf`) and weights,
  // behind which stands that of what all rows share. `cursors`, `keys`: room for a word for each expert. One item.
  fields: {
    ...{ scores: 'pointer', scoresStride: 'pointer', rows: 'i32', experts: 'i32', chosen: 'i32', kind: 'i32' },
    ...{ normed: 'bool', scale: 'f32', active: 'pointer', list: 'pointer', firsts: 'pointer', cursors: 'pointer' },
    ...{ rowOf: 'pointer', placeOf: 'pointer', weights: 'pointer', bias: 'pointer', factors: 'pointer' },
    ...{ shared: 'bool', keys: 'pointer' },
  },
  cpu(
    pass,
    scores,
    routing,
    { rows = pass.rows, scores: kind, normed = false, scale = 1, bias, factors, shared = false },
  ) {
    const { experts, chosen } = routing.shape
    const args = {
      scores: pass.at(scores),
      scoresStride: pass.stride(scores),
      rows,
      experts,
      chosen,
      kind: kind === 'sigmoid' ? 1 : 0,
      normed,
      scale,
      shared,
      ...pass.routing(routing),
      bias: bias ? pass.at(bias) : 0,
      factors: factors ? pass.at(factors) : 0,
    }
    return { args, items: 1, values: 0 }
  },
})
