import type { Activations, States } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation, stateFits } from '../define.js'
import { tokenShiftKernel } from './kernel.js'

export interface TokenShiftOptions {
  /** State `index` then has the last row of each span. @default true */
  readonly keeps?: boolean
}

/**
 * Each row of a sequence is given the one before it: out[row] = x[row - 1], and for a span's first row what state `index`
 * has of the last row before it, or zeros where there was none.
 */
export const tokenShift = defineOperation({
  name: 'tokenShift',
  fit(
    batch: BatchShape,
    x: Activations,
    states: States,
    index: number,
    out: Activations,
    _options?: TokenShiftOptions,
  ) {
    atLeast('Rows to shift', Math.min(x.rows, out.rows), batch.rows)
    atLeast('Columns to shift into', out.columns, x.columns)
    stateFits(batch, states, index, x.columns)
  },
  gpu(pass, x, states, index, out, { keeps = true } = {}) {
    const shape = { columns: x.columns, stride: out.columns, size: states.shape.sizes[index]!, keeps }
    const buffers = [pass.meta, pass.buffer(x), pass.state(states, index), pass.buffer(out)]
    pass.dispatch(tokenShiftKernel(shape), buffers, Math.ceil(x.columns / 64), pass.spans)
  },
  // Items: spans.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', out: 'pointer', outStride: 'pointer', columns: 'i32', keeps: 'bool' },
    ...{ state: 'pointer', slotBytes: 'pointer', spans: 'pointer' },
  },
  cpu(pass, x, states, index, out, { keeps = true } = {}) {
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      out: pass.at(out),
      outStride: pass.stride(out),
      columns: x.columns,
      keeps,
      spans: pass.spanWords,
      ...pass.state(states, index),
    }
    return { args, items: pass.spans.length, values: pass.rows * x.columns }
  },
})
