/** Vectors, activations and caches as buffers. */

import type {
  Activations,
  CacheShape,
  KeyValueCache,
  Routing,
  RoutingShape,
  Sampler,
  SamplerShape,
  States,
  StatesShape,
  Vector,
} from '../contract.js'
import type { HalfRows } from '../operations/matmul/to-half.js'
import type { PackedOrder, PackedRows } from '../operations/matmul/to-packed.js'
import { samplerSizes } from '../operations/sample/kernel.js'
import type { Gpu } from './gpu.js'
import { pageWords } from './kernels/cache.js'
import { routingWords } from './kernels/routing.js'

export abstract class Buffers {
  protected readonly gpu: Gpu
  readonly #buffers: GPUBuffer[] = []

  constructor(gpu: Gpu) {
    this.gpu = gpu
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { size }) => sum + size, 0)
  }

  protected own(buffer: GPUBuffer): GPUBuffer {
    this.#buffers.push(buffer)
    return buffer
  }

  protected disown(buffer: GPUBuffer): void {
    this.#buffers.splice(this.#buffers.indexOf(buffer), 1)
    this.gpu.release(buffer)
  }

  destroy(): void {
    for (const buffer of this.#buffers.splice(0)) this.gpu.release(buffer)
  }
}

export class GpuVector extends Buffers implements Vector {
  readonly length: number
  readonly buffer: GPUBuffer

  constructor(gpu: Gpu, values: Float32Array) {
    super(gpu)
    this.length = values.length
    const { buffer, bytes } = gpu.mapped(values.byteLength, 'vector')
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    buffer.unmap()
    this.buffer = this.own(buffer)
  }
}

export class GpuActivations extends Buffers implements Activations {
  readonly rows: number
  readonly columns: number
  readonly buffer: GPUBuffer
  #normed: GPUBuffer | undefined
  #inHalf: HalfRows | undefined
  readonly #packed = new Map<PackedOrder, PackedRows>()
  #scratch: GPUBuffer | undefined

  constructor(gpu: Gpu, rows: number, columns: number) {
    super(gpu)
    this.rows = rows
    this.columns = columns
    this.buffer = this.own(gpu.storage(rows * columns * 4, 'activations'))
  }

  /** Room for the same rows, normed. */
  get normed(): GPUBuffer {
    this.#normed ??= this.own(this.gpu.storage(this.rows * this.columns * 4, 'normed'))
    return this.#normed
  }

  /** Room for the same rows in f16. */
  get inHalf(): HalfRows {
    this.#inHalf ??= {
      halves: this.own(this.gpu.storage(this.rows * this.columns * 2, 'halves')),
      steps: this.own(this.gpu.storage(this.rows * 4, 'steps')),
    }
    return this.#inHalf
  }

  /** Room for the same rows in 8 bits. */
  packed(order: PackedOrder): PackedRows {
    const known = this.#packed.get(order)
    if (known) return known
    const words = this.own(this.gpu.storage(this.rows * this.columns, 'packed'))
    const made = { words, steps: this.own(this.gpu.storage((this.rows * this.columns) / 8, 'steps')) }
    this.#packed.set(order, made)
    return made
  }

  /** Room for intermediate results; its contents last until the next call. */
  scratch(bytes: number): GPUBuffer {
    if (!this.#scratch || this.#scratch.size < bytes) {
      if (this.#scratch) this.disown(this.#scratch)
      this.#scratch = this.own(this.gpu.storage(2 * bytes, 'scratch'))
    }
    return this.#scratch
  }
}

export class GpuRouting extends Buffers implements Routing {
  readonly shape: RoutingShape
  readonly buffer: GPUBuffer

  constructor(gpu: Gpu, shape: RoutingShape) {
    super(gpu)
    this.shape = shape
    this.buffer = this.own(gpu.storage(routingWords(shape) * 4, 'routing'))
  }
}

export class GpuCache extends Buffers implements KeyValueCache {
  readonly shape: CacheShape
  readonly layers: GPUBuffer[]
  readonly pageBytes: number
  /** One page of every layer, on its way to another. */
  readonly aside: GPUBuffer
  #ready: number

  constructor(gpu: Gpu, shape: CacheShape) {
    super(gpu)
    this.shape = shape
    const { heads, headSize, type } = shape
    this.pageBytes = pageWords({ heads, headSize, type }) * 4
    this.#ready = Math.min(shape.pages, shape.first ?? shape.pages)
    this.layers = Array.from({ length: shape.layers }, (_, i) =>
      this.own(gpu.storage(this.#bytesOf(this.#ready), label(i))),
    )
    this.aside = this.own(gpu.storage(shape.layers * this.pageBytes, 'page aside'))
  }

  get ready(): number {
    return this.#ready
  }

  get usedBytes(): number {
    return this.bytes
  }

  get openBytes(): number {
    return this.layers.reduce((sum, { size }) => sum + this.#bytesOf(this.shape.pages) - size, 0)
  }

  /** Layer by layer, so that no more than one of them is there twice. */
  async grow(pages: number): Promise<boolean> {
    const bytes = this.#bytesOf(pages)
    for (const [i, old] of this.layers.entries()) {
      if (old.size >= bytes) continue
      const wider = await this.gpu.storageIfRoom(bytes, label(i))
      if (!wider) return false
      this.gpu.copy(old, this.own(wider))
      this.layers[i] = wider
      this.disown(old)
    }
    this.#ready = pages
    return true
  }

  #bytesOf(pages: number): number {
    return pages * this.pageBytes
  }
}

const label = (layer: number): string => `cache ${layer}`

/** A buffer for each state. */
export class GpuStates extends Buffers implements States {
  readonly shape: StatesShape
  readonly states: readonly GPUBuffer[]

  constructor(gpu: Gpu, shape: StatesShape) {
    super(gpu)
    this.shape = shape
    this.states = shape.sizes.map((size, i) => this.own(gpu.storage(shape.slots * size * 4, `state ${i}`)))
  }
}

export class GpuSampler extends Buffers implements Sampler {
  readonly shape: SamplerShape
  readonly values: GPUBuffer
  readonly parts: GPUBuffer
  readonly races: GPUBuffer
  readonly slots: GPUBuffer
  readonly results: GPUBuffer
  #job: GPUBuffer | undefined
  readonly #idle = new Map<number, GPUBuffer[]>()

  constructor(gpu: Gpu, shape: SamplerShape) {
    super(gpu)
    this.shape = shape
    const sizes = samplerSizes(shape)
    this.values = this.own(gpu.storage(sizes.values * 4, 'sampler values'))
    this.parts = this.own(gpu.storage(sizes.parts * 4, 'sampler parts'))
    this.races = this.own(gpu.storage(sizes.races * 4, 'sampler races'))
    this.slots = this.own(gpu.storage(sizes.slots * 4, 'slots'))
    this.results = this.own(gpu.storage(sizes.results * 4, 'results'))
  }

  /** The buffer of settings, wide enough for so many words. */
  job(words: number): GPUBuffer {
    if (!this.#job || this.#job.size < words * 4) {
      if (this.#job) this.disown(this.#job)
      this.#job = this.own(this.gpu.storage(Math.max(1024, 2 * words * 4), 'sampler job'))
    }
    return this.#job
  }

  /** A buffer in which so many bytes of the results are read; given back with `giveStaging`. */
  takeStaging(bytes: number): GPUBuffer {
    return this.#idle.get(bytes)?.pop() ?? this.own(this.gpu.staging(bytes))
  }

  giveStaging(buffer: GPUBuffer, bytes: number): void {
    const idle = this.#idle.get(bytes)
    if (idle) idle.push(buffer)
    else this.#idle.set(bytes, [buffer])
  }
}
