/** What a pass has recorded and not handed over yet, and how its results come back. */

import { ofNative } from '../../platform/index.js'
import type { DispatchProfiler } from './dispatch-profiler.js'
import type { Gpu } from './gpu.js'
import type { Dispatch } from './tapes.js'

export interface CommandHost {
  readonly gpu: Gpu
  readonly profiler?: DispatchProfiler
  /** What an error of the queue means. */
  explain(error: unknown): Error
}

export class Commands {
  readonly #host: CommandHost
  #encoder: GPUCommandEncoder | undefined
  #compute: GPUComputePassEncoder | undefined

  constructor(host: CommandHost) {
    this.#host = host
  }

  dispatch(dispatch: Dispatch): void {
    const { gpu, profiler } = this.#host
    const timestampWrites = profiler?.dispatch(dispatch.kernel, dispatch.buffers)
    if (timestampWrites) this.#endCompute()
    this.#compute ??= this.#encoding.beginComputePass(timestampWrites && { timestampWrites })
    gpu.bind(this.#compute, dispatch)
    this.#compute.dispatchWorkgroups(dispatch.x, dispatch.y, dispatch.z)
  }

  copy(from: GPUBuffer, fromByte: number, to: GPUBuffer, toByte: number, bytes: number): void {
    this.#endCompute()
    this.#encoding.copyBufferToBuffer(from, fromByte, to, toByte, bytes)
  }

  clear(buffer: GPUBuffer, at: number, bytes: number): void {
    this.#endCompute()
    this.#encoding.clearBuffer(buffer, at, bytes)
  }

  handOver(): void {
    this.#endCompute()
    const { gpu, profiler } = this.#host
    const encoder = this.#encoding
    this.#encoder = undefined
    profiler?.finish(encoder)
    gpu.device.queue.submit([encoder.finish()])
  }

  /** The bytes of a staging buffer, copied. */
  async read(staging: GPUBuffer): Promise<ArrayBuffer> {
    try {
      await ofNative(staging.mapAsync(1))
    } catch (error) {
      throw this.#host.explain(error)
    }
    const bytes = staging.getMappedRange().slice(0)
    staging.unmap()
    return bytes
  }

  /** Resolves when all that was handed over is done. */
  async done(): Promise<void> {
    const { gpu } = this.#host
    try {
      await ofNative(gpu.device.queue.onSubmittedWorkDone())
    } catch (error) {
      throw this.#host.explain(error)
    }
    gpu.check()
  }

  get #encoding(): GPUCommandEncoder {
    this.#encoder ??= this.#host.gpu.device.createCommandEncoder()
    return this.#encoder
  }

  #endCompute(): void {
    this.#compute?.end()
    this.#compute = undefined
  }
}
