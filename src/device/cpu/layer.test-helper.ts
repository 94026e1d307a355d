/** Work for a device that every runtime can do and compare: no test framework in here. */

import { BLOCK_TYPES, type BlockType, blockBytes } from '../../platform/block-types.js'
import type { Activations, Device, Span } from '../contract.js'
import { embed } from '../operations/embed/index.js'
import { matmul } from '../operations/matmul/index.js'
import { floats, matrixQ4, random } from './kernels.test-helper.js'

/** What is in `values` row by row, through an f32 matrix as the table of an embedding. */
export function fill(on: Device, values: Float32Array, rows: number): { into: (out: Activations) => void; span: Span } {
  const columns = values.length / rows
  const table = on.matrix({ format: 'f32', rows, columns, data: new Uint8Array(values.buffer) })
  const span = { tokens: Int32Array.from({ length: rows }, (_, i) => i), position: 0, pages: new Int32Array(rows) }
  return {
    span,
    into(out) {
      const pass = on.begin({ spans: [span] })
      pass.run(embed, table, out)
      void pass.submit()
    },
  }
}

/** A layer's worth of operations over a 4-bit matrix, once for each number of rows. */
export async function layer(on: Device, rows: number): Promise<Float32Array> {
  const [hidden, inner] = [96, 224]
  const up = matrixQ4(2 * inner, hidden, 1)
  const down = matrixQ4(hidden, inner, 2)
  const q4 = ({ codes, scales }: typeof up, n: number, k: number) =>
    on.matrix({
      ...({ format: 'q4', scaleType: 'f32', rows: n, columns: k } as const),
      codes: new Uint8Array(codes.buffer),
      scales: new Uint8Array(scales.buffer),
    })
  const x = on.activations(rows, hidden)
  const middle = on.activations(rows, inner)
  const { into, span } = fill(on, floats(rows * hidden, 3), rows)
  into(x)
  const norm = { weight: on.vector(floats(hidden, 4)), epsilon: 1e-5 }
  const [first, second] = [q4(up, 2 * inner, hidden), q4(down, hidden, inner)]
  const bias = on.vector(floats(hidden, 5))
  let result: Float32Array = new Float32Array()
  // Several times, so that the threads are chosen both ways.
  for (let round = 0; round < 8; round++) {
    into(x)
    const pass = on.begin({ spans: [span] })
    pass.run(matmul, first, x, middle, { norm, gated: true })
    pass.run(matmul, second, middle, x, { add: true, bias })
    const read = pass.read(x, rows)
    await pass.submit()
    const values = await read
    if (round > 0 && values.some((value, i) => value !== result[i])) throw new Error('Rounds differ.')
    result = values
  }
  return result
}

/** Products with a matrix in each kind of ggml's blocks: four rows of activations together, and one that is left. */
export async function blocks(on: Device): Promise<number[]> {
  const [rows, columns, tokens] = [20, 512, 5]
  const x = on.activations(tokens, columns)
  const out = on.activations(tokens, rows)
  const { into, span } = fill(on, floats(tokens * columns, 6), tokens)
  into(x)
  const results: number[] = []
  for (const [type, block] of Object.entries(BLOCK_TYPES) as [BlockType, (typeof BLOCK_TYPES)[BlockType]][]) {
    const { bytes, halves } = block
    const next = random(bytes)
    const data = Uint8Array.from({ length: rows * blockBytes(type, columns) }, () => next() * 256)
    // Exponents of scales between 2^-14 and 1.
    for (const half of halves) {
      for (let at = half + 1; at < data.length; at += bytes) data[at]! &= 0xbf
    }
    // What computes elsewhere tells its numbers as JSON, which has no infinity.
    if ('power' in block) for (let at = block.power; at < data.length; at += bytes) data[at] = 113 + (data[at]! % 15)
    const matrix = on.matrix({ format: type, rows, columns, data })
    const pass = on.begin({ spans: [span] })
    pass.run(matmul, matrix, x, out)
    const read = pass.read(out, tokens)
    await pass.submit()
    results.push(...(await read))
    matrix.destroy()
  }
  return results
}
