/** A GPUDevice with what all kernels share: pipelines by source, bind groups by buffers, and a count of its memory. */

import { V1Error } from '../../contract/index.js'
import { ofNative } from '../../platform/index.js'
import type { MemoryUse } from '../contract.js'
import type { GpuTraits, Kernel } from './kernels/kernel.js'
import { type Bound, type Dispatch, type PassTape, Tapes } from './tapes.js'

const STORAGE = 0x80
const COPY_SRC = 0x4
const COPY_DST = 0x8
const MAP_READ = 0x1
/** Such buffers are never bound. */
const STAGING = 'staging'

interface Compiled {
  readonly pipeline: GPUComputePipeline
  readonly layout: GPUBindGroupLayout
  readonly groups: Map<string, GPUBindGroup>
}

export interface MappedBuffer {
  readonly buffer: GPUBuffer
  readonly bytes: Uint8Array
}

export class Gpu {
  readonly device: GPUDevice
  readonly traits: GpuTraits
  readonly #compiled = new Map<string, Compiled>()
  readonly #ids = new Map<GPUBuffer, number>()
  readonly tapes = new Tapes()
  readonly passTapes = new Tapes<PassTape>()
  #nextId = 0
  #generation = 0
  #bytes = 0
  #failure: Error | undefined

  constructor(device: GPUDevice, traits: GpuTraits) {
    this.device = device
    this.traits = traits
    device.addEventListener('uncapturederror', (event) => {
      this.#failure ??= failureOf((event as GPUUncapturedErrorEvent).error)
    })
  }

  get memory(): MemoryUse {
    return { bytes: this.#bytes, buffers: this.#ids.size }
  }

  /** Grows whenever a buffer is gone that kernels may have been bound to. */
  get generation(): number {
    return this.#generation
  }

  /** Throws what went wrong since it was last asked: WebGPU reports most errors late. */
  check(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) throw failure
  }

  storage(bytes: number, label: string): GPUBuffer {
    return this.#track(this.device.createBuffer({ size: padded(bytes), usage: STORAGE | COPY_SRC | COPY_DST, label }))
  }

  /** As `storage`; undefined where the device has no memory for it. */
  async storageIfRoom(bytes: number, label: string): Promise<GPUBuffer | undefined> {
    const { device } = this
    device.pushErrorScope('out-of-memory')
    const buffer = device.createBuffer({ size: padded(bytes), usage: STORAGE | COPY_SRC | COPY_DST, label })
    const error = await ofNative(device.popErrorScope())
    if (!error) return this.#track(buffer)
    buffer.destroy()
    return undefined
  }

  /** All of a buffer into the beginning of another, behind what was handed over before. */
  copy(from: GPUBuffer, to: GPUBuffer): void {
    const encoder = this.device.createCommandEncoder()
    encoder.copyBufferToBuffer(from, 0, to, 0, from.size)
    this.device.queue.submit([encoder.finish()])
  }

  /** A storage buffer that the host writes, until it is unmapped. */
  mapped(bytes: number, label: string): MappedBuffer {
    const buffer = this.#track(this.#mapped(padded(bytes), label))
    return { buffer, bytes: new Uint8Array(buffer.getMappedRange()) }
  }

  staging(bytes: number): GPUBuffer {
    return this.#track(this.device.createBuffer({ size: padded(bytes), usage: MAP_READ | COPY_DST, label: STAGING }))
  }

  release(buffer: GPUBuffer): void {
    const id = this.#ids.get(buffer)
    if (id === undefined) return
    this.#ids.delete(buffer)
    if (buffer.label !== STAGING) this.#generation++
    this.#bytes -= buffer.size
    buffer.destroy()
    const mark = `,${id},`
    for (const { groups } of this.#compiled.values()) {
      for (const key of groups.keys()) if (key.includes(mark)) groups.delete(key)
    }
  }

  bind(pass: GPUComputePassEncoder, dispatch: Dispatch): void {
    let { bound } = dispatch
    if (bound?.generation !== this.#generation) {
      bound = this.#bind(dispatch)
      dispatch.bound = bound
    }
    pass.setPipeline(bound.pipeline)
    pass.setBindGroup(0, bound.group)
  }

  /** Pipelines are kept by their source, bind groups by their buffers. */
  #bind({ kernel, buffers }: Dispatch): Bound {
    const compiled = this.#compile(kernel)
    let key = ','
    for (const buffer of buffers) key += `${this.#ids.get(buffer)},`
    let group = compiled.groups.get(key)
    if (!group) {
      group = this.device.createBindGroup({
        layout: compiled.layout,
        entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
      })
      compiled.groups.set(key, group)
    }
    return { pipeline: compiled.pipeline, group, generation: this.#generation }
  }

  destroy(): void {
    for (const buffer of [...this.#ids.keys()]) this.release(buffer)
    this.#compiled.clear()
    this.device.destroy()
  }

  #mapped(size: number, label: string): GPUBuffer {
    try {
      return this.device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST, label, mappedAtCreation: true })
    } catch (cause) {
      // A mapped buffer that finds no memory is refused at once, with a RangeError.
      throw outOfMemory(cause)
    }
  }

  #track(buffer: GPUBuffer): GPUBuffer {
    this.#ids.set(buffer, this.#nextId++)
    this.#bytes += buffer.size
    return buffer
  }

  /** Compiles kernels aside, several at a time, so that passes find them ready. */
  async compileAll(kernels: Iterable<Kernel>, onProgress?: (done: number, of: number) => void): Promise<void> {
    const missing = [...kernels].filter(({ source }) => !this.#compiled.has(source))
    let done = 0
    await Promise.all(
      missing.map(async (kernel) => {
        const { layout, descriptor } = this.#describe(kernel)
        const pipeline = await ofNative(this.device.createComputePipelineAsync(descriptor))
        if (!this.#compiled.has(kernel.source)) {
          this.#compiled.set(kernel.source, { pipeline, layout, groups: new Map() })
        }
        onProgress?.(++done, missing.length)
      }),
    )
  }

  #compile(kernel: Kernel): Compiled {
    let compiled = this.#compiled.get(kernel.source)
    if (!compiled) {
      const { layout, descriptor } = this.#describe(kernel)
      compiled = { pipeline: this.device.createComputePipeline(descriptor), layout, groups: new Map() }
      this.#compiled.set(kernel.source, compiled)
    }
    return compiled
  }

  #describe({ name: label, source, bindings }: Kernel) {
    const layout = this.device.createBindGroupLayout({
      entries: [...bindings].map((access, binding) => ({
        binding,
        visibility: 4,
        buffer: { type: access === 'r' ? ('read-only-storage' as const) : ('storage' as const) },
      })),
    })
    const descriptor: GPUComputePipelineDescriptor = {
      label,
      layout: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: this.device.createShaderModule({ code: source, label }) },
    }
    return { layout, descriptor }
  }
}

function padded(bytes: number): number {
  return Math.max(16, Math.ceil(bytes / 16) * 16)
}

function failureOf(error: GPUError): V1Error {
  if (error.constructor?.name === 'GPUOutOfMemoryError') return outOfMemory(error)
  return new V1Error(503, `The GPU failed: ${error.message}`, { code: 'device_failed' })
}

function outOfMemory(cause: unknown): V1Error {
  return new V1Error(503, 'The GPU has not enough memory for this model.', { code: 'device_too_small', cause })
}
