import type { Activations, Vector } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { xieluKernel } from './kernel.js'

export interface XieluOptions {
  /** @default all rows of the pass */
  readonly rows?: number
}

/**
 * Each value x of `x` goes through Apertus's activation, whose `curve` was learned: four numbers, a_p, a_n, beta and
 * epsilon. Above 0 it is softplus(a_p) x^2 + beta x, else (beta + softplus(a_n)) (e^min(x, epsilon) - 1 - x) + beta x.
 */
export const xielu = defineOperation({
  name: 'xielu',
  fit(batch: BatchShape, x: Activations, curve: Vector, { rows = batch.rows }: XieluOptions) {
    atLeast('Numbers of a curve', curve.length, 4)
    atLeast('Rows to bend', x.rows, rows)
  },
  gpu(pass, x, curve, { rows = pass.rows }) {
    pass.dispatch(xieluKernel(x.columns), [pass.buffer(x), pass.buffer(curve)], Math.ceil(x.columns / 256), rows)
  },
  // Items: rows.
  fields: { x: 'pointer', stride: 'pointer', columns: 'i32', curve: 'pointer' },
  cpu(pass, x, curve, { rows = pass.rows }) {
    const { columns } = x
    const args = { x: pass.at(x), stride: pass.stride(x), columns, curve: pass.at(curve) }
    return { args, items: rows, values: rows * columns }
  },
})
