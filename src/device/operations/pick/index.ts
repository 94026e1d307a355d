import type { Activations } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { pickKernel } from './kernel.js'

/** out[i] = x[rows[i]]. A pass picks and pools the same way throughout. */
export const pick = defineOperation({
  name: 'pick',
  fit(_batch: BatchShape, x: Activations, rows: Int32Array, out: Activations) {
    atLeast('Rows to pick into', out.rows, rows.length)
    atLeast('Columns to pick into', out.columns, x.columns)
  },
  gpu(pass, x, rows, out) {
    pass.pick(rows)
    const groups = Math.ceil((rows.length * (x.columns / 4)) / 64)
    pass.dispatch(pickKernel(x.columns), [pass.meta, pass.buffer(x), pass.buffer(out)], groups)
  },
  // `rows`: row of x for each item, or 0: each its own. Items: rows of out.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', rows: 'pointer', out: 'pointer', outStride: 'pointer', bytes: 'pointer' },
  },
  cpu(pass, x, rows, out) {
    const bytes = Math.min(pass.stride(x), pass.stride(out))
    const args = {
      ...{ x: pass.at(x), xStride: pass.stride(x), rows: pass.put(rows) },
      ...{ out: pass.at(out), outStride: pass.stride(out), bytes },
    }
    return { args, items: rows.length, values: (rows.length * bytes) / 4 }
  },
})
