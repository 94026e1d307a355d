import type { Activations } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { gatherRowsKernel } from './kernel.js'

/** out[i] = x[rows[i]]. A pass gathers and pools the same way throughout. */
export const gatherRows = defineOperation({
  name: 'gatherRows',
  fit(_batch: BatchShape, x: Activations, rows: Int32Array, out: Activations) {
    atLeast('Rows to gather into', out.rows, rows.length)
    atLeast('Columns to gather into', out.columns, x.columns)
  },
  gpu(pass, x, rows, out) {
    pass.gather(rows)
    const groups = Math.ceil((rows.length * (x.columns / 4)) / 64)
    pass.dispatch(gatherRowsKernel(x.columns), [pass.meta, pass.buffer(x), pass.buffer(out)], groups)
  },
  // `rows`: row of x for each item, or 0: each its own. Items: rows of out.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', rows: 'pointer', out: 'pointer', outStride: 'pointer', bytes: 'pointer' },
  },
  cpu(pass, x, rows, out) {
    const bytes = Math.min(pass.stride(x), pass.stride(out))
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      rows: pass.put(rows),
      out: pass.at(out),
      outStride: pass.stride(out),
      bytes,
    }
    return { args, items: rows.length, values: (rows.length * bytes) / 4 }
  },
})
