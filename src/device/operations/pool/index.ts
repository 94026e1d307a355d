import type { Activations } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { poolKernel } from './kernel.js'

/** out[i] = the mean of the rows of span i */
export const pool = defineOperation({
  name: 'pool',
  fit(batch: BatchShape, x: Activations, out: Activations) {
    atLeast('Rows to pool into', out.rows, batch.spans.length)
    atLeast('Columns to pool', out.columns, x.columns)
  },
  gpu(pass, x, out) {
    pass.gather()
    const groups = Math.ceil((pass.spans * (x.columns / 4)) / 64)
    pass.dispatch(poolKernel(x.columns), [pass.meta, pass.buffer(x), pass.buffer(out)], groups)
  },
  // `firsts`: the first row of each span, and the end of the last. Items: spans.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', firsts: 'pointer', out: 'pointer', outStride: 'pointer', columns: 'i32' },
  },
  cpu(pass, x, out) {
    const firsts = [0]
    for (const { tokens } of pass.spans) firsts.push(firsts.at(-1)! + tokens.length)
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      firsts: pass.put(Int32Array.from(firsts)),
      out: pass.at(out),
      outStride: pass.stride(out),
      columns: x.columns,
    }
    return { args, items: pass.spans.length, values: pass.rows * x.columns }
  },
})
