/** The WebGPU device behind the decoder's interface. */

import { V1Error } from '../../contract/index.js'
import { ofNative } from '../../platform/index.js'
import type {
  Activations,
  Batch,
  CacheShape,
  Device,
  DeviceInfo,
  DeviceLimits,
  GrowingMatrix,
  KeyValueCache,
  Matrix,
  MatrixData,
  MatrixShape,
  MatrixUse,
  MemoryUse,
  Pass,
  Routing,
  RoutingShape,
  Sampler,
  SamplerShape,
  States,
  StatesShape,
  Vector,
} from '../contract.js'
import { filled, Q4_BLOCK, rowBytes } from '../contract.js'
import { FEW } from '../operations/matmul/kernel.js'
import { multipliesBytes } from '../operations/matmul/packed.js'
import type { DispatchProfiler } from './dispatch-profiler.js'
import { Gpu } from './gpu.js'
import type { GpuTraits } from './kernels/kernel.js'
import { GpuMatrix } from './matrix.js'
import { GpuPass, type GpuPassHost } from './pass.js'
import { Rehearsal } from './rehearsal.js'
import { SubmitWork } from './submit-work.js'
import { GpuActivations, GpuCache, GpuRouting, GpuSampler, GpuStates, GpuVector } from './tensors.js'

/** Changes whenever a kernel's arithmetic does. */
const KERNELS = 'wgsl-7'

/** Bytes of a part of a matrix: so many of the host's memory hold it while it is written. */
const MOST_MAPPED = 256 * 1048576

export interface GpuDeviceOptions {
  readonly name: string
  readonly reason: string
  readonly traits: GpuTraits
  /** Bytes that one binding may have, where a test wants fewer than the adapter allows. */
  readonly bindingBytes?: number
  /** @default 2^33, and more once this GPU has shown how quick it is: see `SubmitWork` */
  readonly submitWork?: number
  /** @default none */
  readonly profiler?: DispatchProfiler
}

export class GpuDevice implements Device, GpuPassHost {
  readonly info: DeviceInfo
  readonly limits: DeviceLimits
  readonly lost: Promise<Error>
  readonly gpu: Gpu
  readonly submits: SubmitWork
  readonly profiler?: DispatchProfiler
  #batch: GPUBuffer | undefined
  #destroyed = false
  #loss: Error | undefined

  constructor(device: GPUDevice, options: GpuDeviceOptions) {
    const { name, reason, traits, bindingBytes, submitWork, profiler } = options
    this.submits = new SubmitWork(submitWork)
    if (profiler) this.profiler = profiler
    this.gpu = new Gpu(device, traits)
    const { matrices } = traits
    const how = [
      `parallel ${traits.lanes}`,
      ...(traits.half ? ['half'] : []),
      ...(multipliesBytes(traits) ? ['packed'] : []),
      ...(matrices ? [`matrices of ${matrices.component}`] : []),
    ]
    const cut = traits.serial ? 'serial' : how.join(' ')
    this.info = { kind: 'webgpu', name, reason, kernels: `${KERNELS} ${cut} on ${name}` }
    const { maxBufferSize, maxStorageBufferBindingSize } = device.limits
    this.limits = {
      tensorBytes: Math.min(maxBufferSize, maxStorageBufferBindingSize, bindingBytes ?? Number.POSITIVE_INFINITY),
      rows: 8192,
      headSize: 512,
      ...(traits.serial ? {} : { fewRows: FEW }),
    }
    this.lost = new Promise((resolve) => {
      device.lost.then(({ message }) => {
        if (this.#destroyed) return
        this.#loss = lostError(message)
        resolve(this.#loss)
      })
    })
  }

  get memory(): MemoryUse {
    return this.gpu.memory
  }

  matrix(data: MatrixData, use: MatrixUse = {}): Matrix {
    this.#assertUsable()
    return filled(data, (bands) => new GpuMatrix(this.gpu, bands, this.#partBytes, use))
  }

  growingMatrix(bands: readonly MatrixShape[], use: MatrixUse = {}): GrowingMatrix {
    this.#assertUsable()
    const matrix = new GpuMatrix(this.gpu, bands, this.#partBytes, use)
    return {
      matrix,
      add: (rows) => {
        this.#assertUsable()
        matrix.add(rows)
      },
    }
  }

  /** The host holds a part while it is written. */
  get #partBytes(): number {
    return Math.min(this.limits.tensorBytes, MOST_MAPPED)
  }

  matrixBytes({ format, rows, columns, scaleType }: MatrixShape): number {
    // Buffers are whole words.
    if (format !== 'q4') return Math.ceil((rows * rowBytes(format, columns)) / 4) * 4
    return rows * (columns / 2 + (columns / Q4_BLOCK) * (scaleType === 'f16' ? 2 : 4))
  }

  vector(values: Float32Array): Vector {
    this.#assertUsable()
    return new GpuVector(this.gpu, values)
  }

  activations(rows: number, columns: number): Activations {
    this.#assertUsable()
    return new GpuActivations(this.gpu, rows, columns)
  }

  routing(shape: RoutingShape): Routing {
    this.#assertUsable()
    return new GpuRouting(this.gpu, shape)
  }

  cache(shape: CacheShape): KeyValueCache {
    this.#assertUsable()
    return new GpuCache(this.gpu, shape)
  }

  states(shape: StatesShape): States {
    this.#assertUsable()
    return new GpuStates(this.gpu, shape)
  }

  sampler(shape: SamplerShape): Sampler {
    this.#assertUsable()
    return new GpuSampler(this.gpu, shape)
  }

  begin(batch: Batch): Pass {
    this.#assertUsable()
    return new GpuPass(this, batch)
  }

  async prepare(
    record: (begin: (batch: Batch) => Pass) => void,
    onProgress?: (done: number, of: number) => void,
  ): Promise<void> {
    this.#assertUsable()
    const rehearsals: Rehearsal[] = []
    record((batch) => {
      const rehearsal = new Rehearsal(this, batch)
      rehearsals.push(rehearsal)
      return rehearsal
    })
    const kernels = new Map(rehearsals.flatMap((pass) => pass.kernels.map((kernel) => [kernel.source, kernel])))
    try {
      await this.gpu.compileAll(kernels.values(), onProgress)
    } catch (error) {
      throw this.explain(error)
    }
  }

  batchBuffer(words: number): GPUBuffer {
    if (!this.#batch || this.#batch.size < words * 4) {
      if (this.#batch) this.gpu.release(this.#batch)
      this.#batch = this.gpu.storage(Math.max(16384, words * 8), 'batch')
    }
    return this.#batch
  }

  explain(error: unknown): Error {
    return this.#loss ?? lostError(error instanceof Error ? error.message : String(error))
  }

  async idle(): Promise<void> {
    if (this.#destroyed) return
    if (this.#loss) throw this.#loss
    await ofNative(this.gpu.device.queue.onSubmittedWorkDone())
    this.gpu.check()
  }

  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    this.gpu.destroy()
  }

  #assertUsable(): void {
    if (this.#destroyed) throw new Error('This device was destroyed.')
    if (this.#loss) throw this.#loss
  }
}

function lostError(message: string): V1Error {
  return new V1Error(503, `The GPU was lost${message ? `: ${message}` : '.'}`, { code: 'device_lost', retryAfter: 1 })
}
