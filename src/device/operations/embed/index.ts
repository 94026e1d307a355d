import type { Activations, Matrix } from '../../contract/tensors.js'
import { matrixBuffers, storedShapeOf } from '../../gpu/kernels/formats.js'
import { atLeast, type BatchShape, defineOperation } from '../define.js'
import { type EmbedBy, embedKernel } from './kernel.js'

/** Rows of the table by the batch's tokens, or by their places. */
export const embed = defineOperation({
  name: 'embed',
  fit(batch: BatchShape, table: Matrix, out: Activations, _by?: EmbedBy) {
    atLeast('Columns to embed into', out.columns, table.columns)
    atLeast('Rows to embed into', out.rows, batch.rows)
  },
  gpu(pass, table, out, by = 'tokens') {
    pass.repeat(table, [out, by, pass.rows, pass.slots], () => {
      const groups = Math.ceil((pass.rows * (table.columns / 8)) / 64)
      for (const part of pass.parts(table)) {
        const buffers = [pass.meta, pass.slots, ...matrixBuffers(part), pass.buffer(out)]
        pass.dispatch(embedKernel(storedShapeOf(part), by), buffers, groups)
      }
    })
  },
  // `ids`: the matrix's row for each item; `room`: for a group of rows of blocks. Items: tokens.
  fields: {
    ...{ kind: 'i32', matrix: 'pointer', ids: 'pointer', out: 'pointer', outStride: 'pointer', columns: 'i32' },
    ...{ room: 'pointer', roomGap: 'pointer' },
  },
  cpu(pass, table, out, by = 'tokens') {
    const { columns } = table
    const args = { ...pass.table(table), ids: pass.ids(by), out: pass.at(out), outStride: pass.stride(out), columns }
    return { args, items: pass.rows, values: pass.rows * columns }
  },
  cost: ({ rows }, table, _out, _by) => ({ weights: (table.bytes / table.rows) * rows }),
})
