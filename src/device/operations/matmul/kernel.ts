/** Which kernels make a product, by how many rows there are and what the GPU can. */

import type { Activations, Matrix } from '../../contract/tensors.js'
import { isQ4, type StoredMatrix } from '../../gpu/kernels/formats.js'
import { matvec } from '../../gpu/kernels/matvec.js'
import type { Gate, GpuRecorder } from '../define.js'
import { gateRows } from '../gate/kernel.js'
import { norm } from './norm.js'
import { matvecPacked, packedOrder } from './packed.js'
import { multiplyTiled } from './tiled.js'
import { multiplyTiledHalf } from './tiled-half.js'
import { multipliesMatrices, multiplyMatrices } from './tiled-matrices.js'
import { toHalf } from './to-half.js'
import { ORDERS, toPacked } from './to-packed.js'

/** Up to so many rows, the weights are read once for every eight; beyond, the tiled product is quicker. */
export const FEW = 16

export interface ProductJob {
  /** Rows of activations. */
  readonly count: number
  /** They are those of the head. */
  readonly head: boolean
  readonly add: boolean
  readonly gated: boolean
  readonly gate: Gate
  readonly bias: GPUBuffer | undefined
  readonly norm: { readonly gain: GPUBuffer; readonly epsilon: number } | undefined
}

export function dispatchProduct(
  pass: GpuRecorder,
  matrix: Matrix,
  from: Activations,
  to: Activations,
  job: ProductJob,
): void {
  const { rows } = matrix
  const out = pass.buffer(to)
  if (pass.parts(matrix).length === 1 || job.gated === pass.isTogether(matrix)) {
    multiply(pass, matrix, from, out, job)
    return
  }
  if (!job.gated) throw new Error('A gated matrix in parts is projected with as such.')
  // Gates and their values are of several forms: they meet once they are computed.
  const both = pass.scratch(to, job.count * rows * 4)
  multiply(pass, matrix, from, both, { ...job, gated: false })
  const strides = { gates: rows, values: rows, out: rows / 2 }
  const shape = { gate: job.gate, strides, gatesFrom: 0, valuesFrom: rows / 2, within: undefined }
  gateRows(pass, shape, { gates: both, values: both, out }, job.count)
}

function multiply(
  pass: GpuRecorder,
  matrix: Matrix,
  from: Activations,
  out: GPUBuffer,
  { count, head, add, gated, gate, bias, norm: normed }: ProductJob,
): void {
  const { columns } = matrix
  const parts = pass.parts(matrix)
  const { serial, half, matrices } = pass.traits
  const many = !serial && !pass.few(count)
  const isMatrices = ({ format }: StoredMatrix) => multipliesMatrices(format, pass.traits)
  const isHalves = (part: StoredMatrix) =>
    isMatrices(part) ? matrices!.component === 'f16' : half && isQ4(part.format)
  const shape = { add, gated, head, bias: bias !== undefined, ...(gated && { gate }) }
  const rest = { ...(bias ? { bias } : {}), out }
  const inHalves = many ? parts.filter(isHalves) : []
  if (inHalves.length > 0) {
    const rows = { columns, ...(normed ? { epsilon: normed.epsilon } : {}) }
    const halves = pass.inHalf(from)
    toHalf(pass, rows, pass.buffer(from), normed?.gain, count, halves)
    for (const matrix of inHalves) {
      const operands = { ...rest, matrix }
      if (isMatrices(matrix)) multiplyMatrices(pass, shape, operands, [halves.halves, halves.steps], count)
      else multiplyTiledHalf(pass, shape, operands, halves, count)
    }
  }
  const inWords = many
    ? []
    : ORDERS.filter((order) => parts.some(({ format }) => packedOrder(format, pass.traits) === order))
  for (const order of inWords) {
    const rows = { columns, order, ...(normed ? { epsilon: normed.epsilon } : {}) }
    const packed = pass.packed(from, order)
    toPacked(pass, rows, pass.buffer(from), normed?.gain, count, packed)
    for (const matrix of parts) {
      if (packedOrder(matrix.format, pass.traits) === order)
        matvecPacked(pass, shape, { ...rest, matrix }, packed, count)
    }
  }
  const others = parts.filter((part) => !inHalves.includes(part) && (many || !packedOrder(part.format, pass.traits)))
  if (others.length === 0) return
  if (normed && !many && !serial) {
    const { gain, epsilon } = normed
    const operands = { ...rest, x: pass.buffer(from), gain }
    for (const matrix of others) matvec(pass, { ...shape, epsilon }, { ...operands, matrix }, count)
    return
  }
  const x = normed ? pass.normed(from) : pass.buffer(from)
  if (normed) norm(pass, { columns, epsilon: normed.epsilon }, pass.buffer(from), normed.gain, count, x)
  for (const matrix of others) {
    if (many && isMatrices(matrix)) multiplyMatrices(pass, shape, { ...rest, matrix }, [x], count)
    else (many ? multiplyTiled : matvec)(pass, shape, { ...rest, x, matrix }, count)
  }
}
