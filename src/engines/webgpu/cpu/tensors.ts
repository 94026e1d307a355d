/** Tensors in the device's memory, and how their bytes get there. */
import { BLOCK_TYPES, isBlockType } from '../../../platform/block-types.js'
import {
  type Activations,
  bandsOf,
  type CacheShape,
  type KeyValueCache,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type MatrixShape,
  PAGE,
  Q4_BLOCK,
  rowBytes,
  type Span,
  type States,
  type StatesShape,
} from '../contract.js'
import { BF16, F16, F32, GROUP, Q4, Q4_BLOCK_BYTES, Q4_EXACT, type WeightKind } from './abi.js'
import { blockKind, blockRoom, EXACT_BLOCKS, FIRST_BLOCK_KIND } from './block-kinds.js'
import type { DeviceMemory } from './memory.js'
import type { Kernels } from './wasm.js'

/** Staged at a time on the way to the kernels' layout. */
const STAGE_BYTES = 1 << 22

export class Tensor {
  readonly at: number
  readonly bytes: number
  protected readonly device: DeviceMemory
  #alive = true

  constructor(device: DeviceMemory, bytes: number) {
    this.device = device
    this.bytes = bytes
    this.at = device.allocate(bytes)
  }

  /** Where it lies, for an operation that is being recorded. */
  use(): number {
    if (!this.#alive) throw new Error('This tensor was destroyed.')
    return this.at
  }

  destroy(): void {
    if (!this.#alive) return
    this.#alive = false
    this.device.free(this.at)
  }
}

export class CpuVector extends Tensor {
  readonly length: number

  constructor(device: DeviceMemory, values: Float32Array) {
    super(device, values.byteLength)
    this.length = values.length
    device.f32.set(values, this.at / 4)
  }
}

export class CpuActivations extends Tensor implements Activations {
  readonly rows: number
  readonly columns: number
  readonly stride: number
  /** By purpose, then by bytes of a row. */
  readonly #scratch = {
    normed: new Map<number, number>(),
    prepared: new Map<number, number>(),
    halves: new Map<number, number>(),
  }

  constructor(device: DeviceMemory, rows: number, columns: number) {
    super(device, rows * columns * 4)
    this.rows = rows
    this.columns = columns
    this.stride = columns * 4
  }

  /** Room that operations on this tensor need beside it, kept until it is destroyed. */
  scratch(purpose: 'normed' | 'prepared' | 'halves', bytesPerRow: number): number {
    const rooms = this.#scratch[purpose]
    let at = rooms.get(bytesPerRow)
    if (at === undefined) {
      at = this.device.allocate(this.rows * bytesPerRow)
      rooms.set(bytesPerRow, at)
    }
    return at
  }

  override destroy(): void {
    for (const rooms of Object.values(this.#scratch)) {
      for (const at of rooms.values()) this.device.free(at)
      rooms.clear()
    }
    super.destroy()
  }
}

export class CpuCache extends Tensor implements KeyValueCache {
  readonly shape: CacheShape
  readonly half: boolean
  readonly keyPageBytes: number
  readonly valuePageBytes: number
  /** Pages that hold nothing but numbers: slots without a position are multiplied with zero, and must not be NaN. */
  readonly #begun: Uint8Array
  /** Of each page, a bit for each slot with a key or a value that f16 cannot hold: whoever sees it computes NaN. */
  readonly #overflows: number

  constructor(device: DeviceMemory, shape: CacheShape) {
    const size = shape.type === 'f16' ? 2 : 4
    const keys = shape.heads * shape.headSize * PAGE * size
    const values = shape.heads * Math.ceil(shape.headSize / 16) * 16 * PAGE * size
    const bytes = shape.layers * shape.pages * (keys + values)
    super(device, bytes + shape.pages * 4)
    this.#overflows = this.at + bytes
    this.shape = shape
    this.#begun = new Uint8Array(shape.pages)
    this.half = shape.type === 'f16'
    this.keyPageBytes = keys
    this.valuePageBytes = values
  }

  keys(layer: number): number {
    return this.use() + layer * this.shape.pages * (this.keyPageBytes + this.valuePageBytes)
  }

  overflows(): number {
    this.use()
    return this.#overflows
  }

  values(layer: number): number {
    return this.keys(layer) + this.shape.pages * this.keyPageBytes
  }

  /** Makes the pages ready to which the span's tokens go. Memory is touched page by page, as it is needed. */
  begin({ pages: all, windowPages, position, tokens }: Span): void {
    const pages = this.shape.sliding ? windowPages! : all
    for (let i = Math.floor(position / PAGE); i * PAGE < position + tokens.length; i++) {
      const page = pages[i]!
      if (this.#begun[page] === 0) this.clearPage(page)
      // What stood where the span's tokens go is forgotten.
      this.device.i32[this.#overflows / 4 + page]! &= (1 << Math.max(0, position - i * PAGE)) - 1
    }
  }

  clearPage(page: number): void {
    this.#begun[page] = 1
    const { u8, i32 } = this.device
    i32[this.#overflows / 4 + page] = 0
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const keys = this.keys(layer) + page * this.keyPageBytes
      const values = this.values(layer) + page * this.valuePageBytes
      u8.fill(0, keys, keys + this.keyPageBytes)
      u8.fill(0, values, values + this.valuePageBytes)
    }
  }

  copyPage(from: number, to: number): void {
    const { u8, i32 } = this.device
    this.#begun[to] = 1
    i32.copyWithin(this.#overflows / 4 + to, this.#overflows / 4 + from, this.#overflows / 4 + from + 1)
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const [keys, values] = [this.keys(layer), this.values(layer)]
      u8.copyWithin(
        keys + to * this.keyPageBytes,
        keys + from * this.keyPageBytes,
        keys + (from + 1) * this.keyPageBytes,
      )
      const source = values + from * this.valuePageBytes
      u8.copyWithin(values + to * this.valuePageBytes, source, source + this.valuePageBytes)
    }
  }
}

export class CpuStates extends Tensor implements States {
  readonly shape: StatesShape
  /** Where each state begins: those of a slot lie together. */
  readonly #offsets: readonly number[]
  readonly slotBytes: number

  constructor(device: DeviceMemory, shape: StatesShape) {
    let bytes = 0
    const offsets = shape.sizes.map((size) => {
      const at = bytes
      bytes += Math.ceil(size / 16) * 64
      return at
    })
    super(device, shape.slots * bytes)
    this.shape = shape
    this.#offsets = offsets
    this.slotBytes = bytes
  }

  /** Of the first slot. */
  state(index: number): number {
    return this.use() + this.#offsets[index]!
  }
}

/** Rows of one form. */
export interface Band {
  readonly kind: WeightKind
  readonly at: number
  /** Which of the matrix's rows comes first, and how many there are. */
  readonly first: number
  readonly rows: number
  /** Of eight rows, which lie together. */
  readonly groups: number
  readonly groupBytes: number
}

export class CpuMatrix extends Tensor implements Matrix {
  readonly rows: number
  readonly columns: number
  readonly bands: readonly Band[]

  constructor(device: DeviceMemory, kernels: Kernels, data: MatrixData, exact: boolean) {
    const bands = bandsOf(data)
    super(
      device,
      bands.reduce((sum, band) => sum + storedBytes(band), 0),
    )
    this.rows = data.rows
    this.columns = data.columns
    let { at } = this
    let first = 0
    try {
      this.bands = bands.map((band) => {
        const { rows } = band
        const groups = Math.ceil(rows / GROUP)
        const bytes = storedBytes(band)
        const placed = { kind: kindOf(band, exact), at, first, rows, groups, groupBytes: bytes / groups }
        upload(device, kernels, band, at)
        at += bytes
        first += rows
        return placed
      })
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /** The only one: of a matrix that is gated, or a table. */
  get whole(): Band {
    const [band, another] = this.bands
    if (!band || another) throw new TypeError('A gated matrix, or a table, has rows of one form.')
    return band
  }
}

function kindOf({ format }: MatrixBand, exact: boolean): WeightKind {
  if (format === 'q4') return exact ? Q4_EXACT : Q4
  if (isBlockType(format)) return blockKind(format) + (exact ? EXACT_BLOCKS : 0)
  return format === 'f16' ? F16 : format === 'bf16' ? BF16 : F32
}

/** In which form activations are multiplied with a matrix. */
export function activationsOf(kind: WeightKind): WeightKind {
  if (kind >= EXACT_BLOCKS) return F32
  return kind >= FIRST_BLOCK_KIND ? Q4 : kind
}

/** Room that a thread needs beside a product with so many rows of activations, or a table's rows. */
export function roomOf(kind: WeightKind, columns: number, rows: number): number {
  // Sixteen bits for each weight of a group of rows, where they are unpacked for several tokens.
  if (kind === Q4) return rows >= 4 ? columns * GROUP * 2 : 0
  if (kind < FIRST_BLOCK_KIND) return 0
  const room = blockRoom(columns, rows >= 4)
  return kind >= EXACT_BLOCKS ? room + columns * GROUP * 4 : room
}

export function storedBytes({ format, rows, columns }: Pick<MatrixShape, 'format' | 'rows' | 'columns'>): number {
  const groups = Math.ceil(rows / GROUP)
  if (format !== 'q4') {
    const values = isBlockType(format) ? BLOCK_TYPES[format].values : 1
    if (columns % values !== 0) throw wrongColumns(format, values, columns)
    return groups * GROUP * rowBytes(format, columns)
  }
  if (columns % Q4_BLOCK !== 0) throw wrongColumns('4-bit', Q4_BLOCK, columns)
  return groups * (columns / Q4_BLOCK) * Q4_BLOCK_BYTES
}

function wrongColumns(format: string, values: number, columns: number): RangeError {
  return new RangeError(`A ${format} matrix has a multiple of ${values} columns, not ${columns}.`)
}

function expectBytes(what: string, bytes: Uint8Array, expected: number): void {
  if (bytes.byteLength !== expected) {
    throw new RangeError(`The matrix's ${what} take ${expected} bytes, but ${bytes.byteLength} were given.`)
  }
}

function upload(device: DeviceMemory, kernels: Kernels, data: MatrixBand, at: number): void {
  const { rows, columns } = data
  if (data.format === 'q4') {
    const scaleBytes = (columns / Q4_BLOCK) * (data.scaleType === 'f16' ? 2 : 4)
    expectBytes('codes', data.codes, (rows * columns) / 2)
    expectBytes('scales', data.scales, rows * scaleBytes)
    stage(device, rows, [data.codes, data.scales], (from, to, [codes, scales]) => {
      kernels.packQ4(codes!, scales!, data.scaleType === 'f16', at, from, to, columns / Q4_BLOCK)
    })
  } else {
    const { format } = data
    expectBytes('values', data.data, rows * rowBytes(format, columns))
    stage(device, rows, [data.data], (from, to, [values]) => {
      if (isBlockType(format)) kernels.packBlocks(blockKind(format), values!, at, from, to, columns)
      else kernels.packDense(values!, rowBytes(format, 1), at, from, to, columns)
    })
  }
}

/** Hands rows to the kernels a few at a time: their bytes lie outside the kernels' memory. */
function stage(
  device: DeviceMemory,
  rows: number,
  parts: readonly Uint8Array[],
  pack: (from: number, to: number, staged: readonly number[]) => void,
): void {
  const strides = parts.map((part) => part.byteLength / rows)
  const rowBytes = strides.reduce((sum, stride) => sum + stride, 0)
  const count = Math.min(rows, Math.max(1, Math.floor(STAGE_BYTES / rowBytes)))
  const staged: number[] = []
  try {
    for (const stride of strides) staged.push(device.allocate(count * stride))
    const { u8 } = device
    for (let from = 0; from < rows; from += count) {
      const to = Math.min(from + count, rows)
      for (const [i, part] of parts.entries()) u8.set(part.subarray(from * strides[i]!, to * strides[i]!), staged[i]!)
      pack(from, to, staged)
    }
  } finally {
    for (const at of staged) device.free(at)
  }
}
