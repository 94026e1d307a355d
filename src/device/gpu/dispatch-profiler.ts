import type { Kernel } from './kernels/kernel.js'

/** Takes the time of single dispatches: see `bench/profile`. */
export interface DispatchProfiler {
  /** Where the compute pass of this dispatch, its own then, writes its times; undefined: recorded as ever. */
  dispatch(kernel: Kernel, buffers: readonly GPUBuffer[]): GPUComputePassTimestampWrites | undefined
  /** The encoder is about to be finished. */
  finish(encoder: GPUCommandEncoder): void
}
