/** A pass in which some products have another beside them, of low rank, that is added to what they make. */
import { type Activations, type MatmulOptions, type Matrix, matmul, type Pass } from '../../device/index.js'

export interface Adapter {
  readonly into: Matrix
  readonly out: Matrix
}

type ProductOperands = [matrix: Matrix, x: Activations, out: Activations, options?: MatmulOptions]

/** `room`: of as many columns as their rank. */
export function adaptedPass(pass: Pass, adapters: ReadonlyMap<Matrix, Adapter>, room: Activations): Pass {
  return {
    rows: pass.rows,
    run(operation, ...operands) {
      pass.run(operation, ...operands)
      if (operation.name !== 'matmul') return
      const [matrix, x, out, { rows, norm } = {}] = operands as unknown as ProductOperands
      const adapter = adapters.get(matrix)
      if (!adapter) return
      pass.run(matmul, adapter.into, x, room, { rows, norm })
      pass.run(matmul, adapter.out, room, out, { rows, add: true })
    },
    // What was found out without adapters is something else.
    repeated: (_owner, _facts, record) => record(),
    clearPages: (cache, pages) => pass.clearPages(cache, pages),
    copyPages: (cache, pairs) => pass.copyPages(cache, pairs),
    write: (out, values) => pass.write(out, values),
    read: (x, rows) => pass.read(x, rows),
    submit: () => pass.submit(),
  }
}
