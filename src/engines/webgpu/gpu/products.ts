/** Which kernels make a product, by how many rows there are and what the GPU can. */

import type { Gate } from '../contract.js'
import { isQ4 } from './kernels/formats.js'
import { halve } from './kernels/halve.js'
import type { Recorder } from './kernels/kernel.js'
import { matmul } from './kernels/matmul.js'
import { matmulHalf } from './kernels/matmul-half.js'
import { matvec } from './kernels/matvec.js'
import { norm } from './kernels/norm.js'
import type { GpuActivations, GpuMatrix } from './tensors.js'

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
  { parts, columns, gated: together }: GpuMatrix,
  from: GpuActivations,
  out: GPUBuffer,
  { count, head, add, gated, gate, bias, norm: normed }: ProductJob,
): void {
  if (parts.length > 1 && gated !== together) throw new Error('A matrix in parts is gated always, or never.')
  const { serial, half } = pass.traits
  const many = count > FEW && !serial
  const shape = { add, gated, head, bias: bias !== undefined, ...(gated && gate !== 'silu' && { gate }) }
  const rest = { ...(bias ? { bias } : {}), out }
  if (many && half && isQ4(parts[0]!.format)) {
    const rows = { columns, ...(normed ? { epsilon: normed.epsilon } : {}) }
    halve(pass, rows, from.buffer, normed?.gain, count, from.halved)
    for (const matrix of parts) matmulHalf(pass, shape, { ...rest, matrix }, from.halved, count)
    return
  }
  if (normed && !many && !serial) {
    const { gain, epsilon } = normed
    const operands = { ...rest, x: from.buffer, gain }
    for (const matrix of parts) matvec(pass, { ...shape, epsilon }, { ...operands, matrix }, count)
    return
  }
  if (normed) norm(pass, { columns, epsilon: normed.epsilon }, from.buffer, normed.gain, count, from.normed)
  const x = normed ? from.normed : from.buffer
  for (const matrix of parts) (many ? matmul : matvec)(pass, shape, { ...rest, x, matrix }, count)
}
