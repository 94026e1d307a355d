/** Which kernels make a product, by how many rows there are and what the GPU can. */

import type { Gate } from '../contract.js'
import { gateRows } from '../operations/gate/kernel.js'
import { isQ4 } from './kernels/formats.js'
import { halve } from './kernels/halve.js'
import type { Recorder } from './kernels/kernel.js'
import { matmul } from './kernels/matmul.js'
import { matmulHalf } from './kernels/matmul-half.js'
import { matvec } from './kernels/matvec.js'
import { norm } from './kernels/norm.js'
import type { GpuMatrix } from './matrix.js'
import type { GpuActivations } from './tensors.js'

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

export function project(
  pass: Recorder,
  matrix: GpuMatrix,
  from: GpuActivations,
  to: GpuActivations,
  job: ProductJob,
): void {
  const { parts, gated: together, rows } = matrix
  if (parts.length === 1 || job.gated === together) {
    multiply(pass, matrix, from, to.buffer, job)
    return
  }
  if (!job.gated) throw new Error('A gated matrix in parts is projected with as such.')
  // Gates and their values are of several forms: they meet once they are computed.
  const both = to.scratch(job.count * rows * 4)
  multiply(pass, matrix, from, both, { ...job, gated: false })
  const strides = { gates: rows, values: rows, out: rows / 2 }
  const shape = { gate: job.gate, strides, gatesFrom: 0, valuesFrom: rows / 2, within: undefined }
  gateRows(pass, shape, { gates: both, values: both, out: to.buffer }, job.count)
}

function multiply(
  pass: Recorder,
  { parts, columns }: GpuMatrix,
  from: GpuActivations,
  out: GPUBuffer,
  { count, head, add, gated, gate, bias, norm: normed }: ProductJob,
): void {
  const { serial, half } = pass.traits
  const many = !serial && !pass.few(count)
  const shape = { add, gated, head, bias: bias !== undefined, ...(gated && gate !== 'silu' && { gate }) }
  const rest = { ...(bias ? { bias } : {}), out }
  const inHalves = many && half ? parts.filter(({ format }) => isQ4(format)) : []
  if (inHalves.length > 0) {
    const rows = { columns, ...(normed ? { epsilon: normed.epsilon } : {}) }
    halve(pass, rows, from.buffer, normed?.gain, count, from.halved)
    for (const matrix of inHalves) matmulHalf(pass, shape, { ...rest, matrix }, from.halved, count)
  }
  const others = parts.filter((part) => !inHalves.includes(part))
  if (others.length === 0) return
  if (normed && !many && !serial) {
    const { gain, epsilon } = normed
    const operands = { ...rest, x: from.buffer, gain }
    for (const matrix of others) matvec(pass, { ...shape, epsilon }, { ...operands, matrix }, count)
    return
  }
  if (normed) norm(pass, { columns, epsilon: normed.epsilon }, from.buffer, normed.gain, count, from.normed)
  const x = normed ? from.normed : from.buffer
  for (const matrix of others) (many ? matmul : matvec)(pass, shape, { ...rest, x, matrix }, count)
}
