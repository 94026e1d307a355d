/** Matrices, vectors, activations and caches as buffers. */

import {
  type Activations,
  bandsOf,
  type CacheShape,
  type KeyValueCache,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type MatrixShape,
  Q4_BLOCK,
  rowBytes,
  type Sampler,
  type SamplerShape,
  type States,
  type StatesShape,
  shapeOf,
  type Vector,
} from '../contract.js'
import type { Gpu, MappedBuffer } from './gpu.js'
import { pageWords } from './kernels/cache.js'
import type { StoredMatrix } from './kernels/formats.js'
import type { Halved } from './kernels/halve.js'
import { samplerSizes } from './kernels/sample.js'
import { type RowRange, rowParts } from './row-parts.js'

abstract class Buffers {
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

/** Rows of a matrix in buffers of their own, which the host writes until they are all there. */
interface Part {
  readonly ranges: readonly RowRange[]
  readonly values: MappedBuffer
  readonly scales?: MappedBuffer
  missing: number
}

export class GpuMatrix extends Buffers implements Matrix {
  readonly rows: number
  readonly columns: number
  readonly parts: StoredMatrix[] = []
  readonly gated: boolean
  readonly #bands: readonly { readonly shape: MatrixShape; readonly first: number; readonly parts: RowRange[][] }[]
  /** Those with some of their rows. */
  readonly #begun = new Map<readonly RowRange[], Part>()
  #filled = 0

  /** `most`: bytes that a part may have; `gated`: gates stay beside their values, where all are of one form. */
  constructor(gpu: Gpu, bands: readonly MatrixShape[], most: number, gated: boolean) {
    super(gpu)
    this.gated = gated && bands.length === 1
    let first = 0
    this.#bands = bands.map((shape) => {
      const band = { shape, first, parts: rowParts(shape, most, this.gated) }
      first += shape.rows
      return band
    })
    this.rows = first
    this.columns = bands[0]!.columns
  }

  static of(gpu: Gpu, data: MatrixData, most: number, gated: boolean): GpuMatrix {
    const bands = bandsOf(data)
    const matrix = new GpuMatrix(gpu, bands.map(shapeOf), most, gated)
    try {
      for (const band of bands) matrix.add(band)
    } catch (error) {
      matrix.destroy()
      throw error
    }
    return matrix
  }

  /** The next rows. */
  add(rows: MatrixBand): void {
    const band = this.#bands.find(({ first, shape }) => this.#filled < first + shape.rows)
    const from = this.#filled - (band?.first ?? 0)
    const to = from + rows.rows
    if (!band || to > band.shape.rows) throw new RangeError('A matrix was given more rows than it has.')
    for (const ranges of band.parts) {
      let before = 0
      for (const [start, end] of ranges) {
        const [low, high] = [Math.max(from, start), Math.min(to, end)]
        if (low < high) this.#put(this.#begin(band, ranges), rows, [low - from, high - from], before + low - start)
        before += end - start
      }
    }
    this.#filled += rows.rows
  }

  /** Rows of what came to where they are in a part. */
  #put(part: Part, rows: MatrixBand, [from, to]: RowRange, at: number): void {
    const write = (bytes: Uint8Array, into: MappedBuffer) => {
      const stride = bytes.byteLength / rows.rows
      into.bytes.set(bytes.subarray(from * stride, to * stride), at * stride)
    }
    write(rows.format === 'q4' ? rows.codes : rows.data, part.values)
    if (rows.format === 'q4') write(rows.scales, part.scales!)
    part.missing -= to - from
    if (part.missing > 0) return
    for (const { buffer } of [part.values, ...(part.scales ? [part.scales] : [])]) buffer.unmap()
    this.#begun.delete(part.ranges)
  }

  #begin({ shape, first }: { shape: MatrixShape; first: number }, ranges: readonly RowRange[]): Part {
    const begun = this.#begun.get(ranges)
    if (begun) return begun
    const { format, columns, scaleType } = shape
    const rows = ranges.reduce((sum, [from, to]) => sum + to - from, 0)
    const make = (rowBytes: number, label: string) => {
      const mapped = this.gpu.mapped(rows * rowBytes, label)
      this.own(mapped.buffer)
      return mapped
    }
    const four = format === 'q4'
    const values = four ? make(columns / 2, 'codes') : make(rowBytes(format, columns), 'weights')
    const scales = four ? make((columns / Q4_BLOCK) * (scaleType === 'f16' ? 2 : 4), 'scales') : undefined
    const stored: StoredMatrix = {
      format: four ? (scaleType === 'f16' ? 'q4f16' : 'q4f32') : format,
      rows,
      columns,
      first: first + ranges[0]![0],
      of: this.rows,
      values: values.buffer,
      ...(scales && { scales: scales.buffer }),
    }
    this.parts.push(stored)
    const part = { ranges, values, ...(scales && { scales }), missing: rows }
    this.#begun.set(ranges, part)
    return part
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
  #halved: Halved | undefined
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
  get halved(): Halved {
    this.#halved ??= {
      halves: this.own(this.gpu.storage(this.rows * this.columns * 2, 'halves')),
      steps: this.own(this.gpu.storage(this.rows * 4, 'steps')),
    }
    return this.#halved
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

export class GpuCache extends Buffers implements KeyValueCache {
  readonly shape: CacheShape
  readonly layers: readonly GPUBuffer[]
  readonly pageBytes: number
  /** One page of every layer, on its way to another. */
  readonly aside: GPUBuffer

  constructor(gpu: Gpu, shape: CacheShape) {
    super(gpu)
    this.shape = shape
    const { heads, headSize, type } = shape
    this.pageBytes = pageWords({ heads, headSize, half: type === 'f16' }) * 4
    this.layers = Array.from({ length: shape.layers }, (_, i) =>
      this.own(gpu.storage(shape.pages * this.pageBytes, `cache ${i}`)),
    )
    this.aside = this.own(gpu.storage(shape.layers * this.pageBytes, 'page aside'))
  }
}

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
  readonly #idle: GPUBuffer[] = []

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

  /** A buffer in which results are read; given back with `giveStaging`. */
  takeStaging(): GPUBuffer {
    return this.#idle.pop() ?? this.own(this.gpu.staging(this.results.size))
  }

  giveStaging(buffer: GPUBuffer): void {
    this.#idle.push(buffer)
  }
}
