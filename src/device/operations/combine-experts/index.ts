import type { Activations, Routing } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { combineExpertsKernel } from './kernel.js'

export interface CombineExpertsOptions {
  /** As in `TopKExpertsOptions`. */
  readonly rows?: number
  /** What all rows go through, which is weighed and added too. */
  readonly shared?: Activations | undefined
}

/** out[row] = what its experts gave, x[place], times their weights, added up. */
export const combineExperts = defineOperation({
  name: 'combineExperts',
  fit(
    batch: BatchShape,
    x: Activations,
    out: Activations,
    { shape }: Routing,
    { rows = batch.rows, shared }: CombineExpertsOptions = {},
  ) {
    atLeast('Places to combine', x.rows, rows * shape.chosen)
    if (shared) atLeast('Columns that are shared', shared.columns, x.columns)
    atLeast('Columns to combine', out.columns, x.columns)
    atLeast('Rows to combine into', out.rows, rows)
  },
  gpu(pass, x, out, routing, { rows, shared } = {}) {
    const strides = { x: x.columns, out: out.columns }
    const kernel = combineExpertsKernel({ ...routing.shape, strides, ...(shared && { shared: shared.columns }) })
    const buffers = [routing, x, ...(shared ? [shared] : []), out].map((tensor) => pass.buffer(tensor))
    pass.dispatch(kernel, buffers, Math.ceil(x.columns / 256), pass.counted(rows).count)
  },
  // `shared`: 0 or where. Items: rows.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', placeOf: 'pointer', weights: 'pointer', chosen: 'i32', out: 'pointer' },
    ...{ outStride: 'pointer', columns: 'i32', shared: 'pointer', sharedStride: 'pointer' },
  },
  cpu(pass, x, out, routing, { rows = pass.rows, shared } = {}) {
    const { chosen } = routing.shape
    const { placeOf, weights } = pass.routing(routing)
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      placeOf,
      weights,
      chosen,
      out: pass.at(out),
      outStride: pass.stride(out),
      columns: x.columns,
      ...(shared ? { shared: pass.at(shared), sharedStride: pass.stride(shared) } : { shared: 0, sharedStride: 0 }),
    }
    return { args, items: rows, values: rows * chosen * x.columns }
  },
})
