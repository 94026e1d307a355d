/** Attention over the paged cache. */

import { cutsOf } from '../../gpu/kernels/cuts.js'
import type { GpuTraits, Recorder } from '../../gpu/kernels/kernel.js'
import type { RopeOperands } from '../rope/kernel.js'
import type { RopeShape } from '../rope/rotation.js'
import { blockRowsOf, blocksKernel, inBlocks, sharersInBlock } from './blocks.js'
import { mergeKernel } from './merge.js'
import { attendPieces, inPieces, piecesKernel, sharersInPiece } from './pieces.js'
import { attendSerialKernel } from './serial.js'
import type { AttendShape } from './shape.js'
import { sharersOf, tiledKernel, tiledShapeOf } from './tiled.js'

export interface AttendBuffers {
  readonly qkv: GPUBuffer
  readonly cache: GPUBuffer
  readonly out: GPUBuffer
  readonly sinks?: GPUBuffer | undefined
  /** Room for the parts of split contexts. */
  readonly scratch: (bytes: number) => GPUBuffer
}

/** Rope that attention does by the way. */
interface Rope {
  readonly shape: RopeShape
  readonly operands: Pick<RopeOperands, 'angles' | 'gains'>
}

/** Whether one workgroup of a pass of single rows has all queries of a head of keys, and so may turn them. */
export function ropesWithin(shape: AttendShape, traits: GpuTraits): boolean {
  return inPieces(shape) && sharersInPiece(shape, traits) === shape.queries / shape.heads
}

/** Of a pass of few rows that has layers with windows and without, all keep their parts in the same places. */
export function splitsOf(pass: Recorder): number {
  return Math.ceil((pass.lastPosition + 1) / cutsOf(pass.traits).pieces.positions)
}

/** `few`: the pass is one of few rows, whose contexts are split when they are long. `read`: no other rows are. */
export function dispatchAttention(
  pass: Recorder,
  shape: AttendShape,
  buffers: AttendBuffers,
  few: boolean,
  read: Int32Array | undefined,
  rope?: Rope,
): void {
  const { qkv, cache, out, sinks } = buffers
  const bound = [pass.meta, qkv, cache, out, ...(sinks ? [sinks] : [])]
  const { queries } = shape
  if (pass.traits.serial) {
    const groups = Math.ceil(((read?.length ?? pass.rows) * queries) / 64)
    pass.dispatch(attendSerialKernel(shape), bound, groups)
    return
  }
  const splits = few ? splitsOf(pass) : 1
  if (few && inPieces(shape)) {
    attendInPieces(pass, shape, buffers, splits, rope)
    return
  }
  const { blocks } = cutsOf(pass.traits)
  if (!few && blocks.on && inBlocks(shape)) {
    const tiles = pass.tiles(blockRowsOf(shape, blocks), 1, false, read)
    const groups = queries / sharersInBlock(shape, blocks)
    pass.dispatch(blocksKernel(shape, pass.traits), bound, tiles, groups)
    return
  }
  const tiled = tiledShapeOf(shape, pass.traits, few)
  const tiles = pass.tiles(tiled.tileRows, splits, tiled.large, read)
  pass.dispatch(tiledKernel(tiled, pass.traits), bound, tiles, queries / sharersOf(tiled))
}

function attendInPieces(pass: Recorder, shape: AttendShape, buffers: AttendBuffers, splits: number, rope?: Rope): void {
  const { qkv, cache, out } = buffers
  const sinks = buffers.sinks ? [buffers.sinks] : []
  const { queries, headSize } = shape
  const pieces = attendPieces(shape, pass.lastPosition, cutsOf(pass.traits).pieces.positions)
  pass.tiles(1, splits, false)
  const whole = { ...shape, split: splits > 1, ...(rope ? { rope: rope.shape } : {}) }
  const groups = queries / sharersInPiece(shape, pass.traits)
  const target = splits > 1 ? buffers.scratch(pass.rows * queries * splits * (headSize + 2) * 4) : out
  const more = rope ? [rope.operands.angles, ...(rope.operands.gains ?? [])] : []
  const bound = [pass.meta, qkv, cache, target, ...more, ...(splits > 1 ? [] : sinks)]
  pass.dispatch(piecesKernel(whole, pass.traits), bound, pass.rows, groups, pieces)
  if (splits > 1) {
    const { rope: _, ...merged } = whole
    pass.dispatch(mergeKernel(merged, pass.traits), [pass.meta, target, out, ...sinks], pass.rows * queries)
  }
}
