/** Causal attention over the paged cache. */
import { attendSerialKernel } from './attend-serial.js'
import type { CacheLayout } from './cache.js'
import type { Recorder } from './kernel.js'

export interface AttendShape extends CacheLayout {
  /** Heads of queries. */
  readonly queries: number
  readonly window?: number
  readonly scale: number
}

export function attend(pass: Recorder, shape: AttendShape, qkv: GPUBuffer, cache: GPUBuffer, out: GPUBuffer): void {
  const units = pass.rows * shape.queries
  pass.dispatch(attendSerialKernel(shape), [pass.meta, qkv, cache, out], Math.ceil(units / 64))
}
