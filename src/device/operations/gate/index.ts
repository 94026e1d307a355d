import type { Activations } from '../../contract/tensors.js'
import { atLeast, type BatchShape, bothHave, defineOperation, type Gate, gateCode } from '../define.js'
import { gateRows } from './kernel.js'

export interface GateOptions {
  /** @default all rows of the pass */
  readonly rows?: number
  readonly gate: Gate
  /** Columns at which gates and values begin; multiples of 4. @default 0 */
  readonly gatesFrom?: number
  readonly valuesFrom?: number
}

/** out = gate(gates) * values, for the columns of `out`, which may be one of them if it begins with it. */
export const gate = defineOperation({
  name: 'gate',
  fit(
    batch: BatchShape,
    gates: Activations,
    values: Activations,
    out: Activations,
    { rows = batch.rows, gatesFrom = 0, valuesFrom = 0 }: GateOptions,
  ) {
    atLeast('Columns of gates', gates.columns, gatesFrom + out.columns)
    atLeast('Columns to gate', values.columns, valuesFrom + out.columns)
    bothHave('Rows to gate', gates, out, rows)
  },
  gpu(pass, gates, values, out, { gate, rows = pass.rows, gatesFrom = 0, valuesFrom = 0 }) {
    const strides = { gates: gates.columns, values: values.columns, out: out.columns }
    const within = out === gates ? 'gates' : out === values ? 'values' : undefined
    const operands = { gates: pass.buffer(gates), values: pass.buffer(values), out: pass.buffer(out) }
    gateRows(pass, { gate, strides, gatesFrom, valuesFrom, within }, operands, rows)
  },
  // Items: rows.
  fields: {
    ...{ gates: 'pointer', gatesStride: 'pointer', values: 'pointer', valuesStride: 'pointer' },
    ...{ out: 'pointer', outStride: 'pointer', columns: 'i32', gate: 'i32' },
  },
  cpu(pass, gates, values, out, { gate, rows = pass.rows, gatesFrom = 0, valuesFrom = 0 }) {
    const { columns } = out
    const args = {
      gates: pass.at(gates) + gatesFrom * 4,
      gatesStride: pass.stride(gates),
      values: pass.at(values) + valuesFrom * 4,
      valuesStride: pass.stride(values),
      out: pass.at(out),
      outStride: pass.stride(out),
      columns,
      gate: gateCode(gate),
    }
    return { args, items: rows, values: rows * columns }
  },
})
