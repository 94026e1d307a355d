/** Attention over the paged cache. */

import { mergeKernel } from './attend-merge.js'
import { attendSerialKernel } from './attend-serial.js'
import { isLarge, PART, sharersOf, tiledKernel, tileRowsOf } from './attend-tiled.js'
import type { CacheLayout } from './cache.js'
import type { Recorder } from './kernel.js'
import type { PlaceOperands } from './place.js'
import type { PlaceShape } from './turn.js'

export interface AttendShape extends CacheLayout {
  /** Heads of queries. */
  readonly queries: number
  /** Columns of a row of qkv. */
  readonly columns: number
  readonly window?: number
  /** @default true */
  readonly causal?: boolean
  readonly scale: number
  readonly cap?: number | undefined
}

export interface AttendBuffers {
  readonly qkv: GPUBuffer
  readonly cache: GPUBuffer
  readonly out: GPUBuffer
  /** Room for the parts of split contexts. */
  readonly scratch: (bytes: number) => GPUBuffer
}

/** What is placed by the way. */
export interface Placing {
  readonly shape: PlaceShape
  readonly operands: Pick<PlaceOperands, 'angles' | 'gains'>
}

/** Whether one workgroup of a pass of single rows has all queries of a head of keys, and so may place them. */
export function placesWithin(shape: AttendShape): boolean {
  return sharersOf(shape) === shape.queries / shape.heads
}

/** `few`: the pass is one of few rows, whose contexts are split when they are long. */
export function attend(
  pass: Recorder,
  shape: AttendShape,
  buffers: AttendBuffers,
  few: boolean,
  placing?: Placing,
): void {
  const { qkv, cache, out } = buffers
  const { queries, headSize } = shape
  if (pass.traits.serial) {
    const groups = Math.ceil((pass.rows * queries) / 64)
    pass.dispatch(attendSerialKernel(shape), [pass.meta, qkv, cache, out], groups)
    return
  }
  const splits = few ? Math.ceil((pass.lastPosition + 1) / PART) : 1
  const tileRows = few ? 1 : tileRowsOf(shape)
  const tiled = { ...shape, tileRows, split: splits > 1, ...(placing ? { placing: placing.shape } : {}) }
  const tiles = pass.tiles(tileRows, splits, isLarge(shape))
  const groups = queries / sharersOf(shape)
  const target = splits > 1 ? buffers.scratch(pass.rows * queries * splits * (headSize + 2) * 4) : out
  const more = placing ? [placing.operands.angles, ...(placing.operands.gains ?? [])] : []
  pass.dispatch(tiledKernel(tiled, pass.traits), [pass.meta, qkv, cache, target, ...more], tiles, groups, splits)
  if (splits > 1) {
    pass.dispatch(mergeKernel(tiled), [pass.meta, target, out], Math.ceil((pass.rows * queries * headSize) / 64))
  }
}
