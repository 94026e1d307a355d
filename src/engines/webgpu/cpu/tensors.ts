/** Tensors in the device's memory, and how their bytes get there. */
import {
  type Activations,
  type CacheShape,
  type KeyValueCache,
  type Matrix,
  type MatrixData,
  PAGE,
  Q4_BLOCK,
  type Span,
  type States,
  type StatesShape,
} from '../contract.js'
import { BF16, F16, F32, GROUP, Q4, Q4_BLOCK_BYTES, Q4_EXACT, type WeightKind } from './abi.js'
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
  begin({ pages, position, tokens }: Span): void {
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

export class CpuMatrix extends Tensor implements Matrix {
  readonly rows: number
  readonly columns: number
  readonly kind: WeightKind

  constructor(device: DeviceMemory, kernels: Kernels, data: MatrixData, exact: boolean) {
    super(device, storedBytes(data))
    this.rows = data.rows
    this.columns = data.columns
    this.kind = kindOf(data, exact)
    try {
      upload(device, kernels, data, this.at)
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /** Groups of eight rows, and the bytes of one. */
  get groups(): number {
    return Math.ceil(this.rows / GROUP)
  }
  get groupBytes(): number {
    return this.bytes / this.groups
  }
}

function kindOf(data: MatrixData, exact: boolean): WeightKind {
  if (data.format === 'q4') return exact ? Q4_EXACT : Q4
  return data.format === 'f16' ? F16 : data.format === 'bf16' ? BF16 : F32
}

export function storedBytes(data: Pick<MatrixData, 'format' | 'rows' | 'columns'>): number {
  const groups = Math.ceil(data.rows / GROUP)
  if (data.format !== 'q4') return groups * GROUP * data.columns * (data.format === 'f32' ? 4 : 2)
  if (data.columns % Q4_BLOCK !== 0) {
    throw new RangeError(`A 4-bit matrix has a multiple of ${Q4_BLOCK} columns, not ${data.columns}.`)
  }
  return groups * (data.columns / Q4_BLOCK) * Q4_BLOCK_BYTES
}

function expectBytes(what: string, bytes: Uint8Array, expected: number): void {
  if (bytes.byteLength !== expected) {
    throw new RangeError(`The matrix's ${what} take ${expected} bytes, but ${bytes.byteLength} were given.`)
  }
}

function upload(device: DeviceMemory, kernels: Kernels, data: MatrixData, at: number): void {
  const { rows, columns } = data
  if (data.format === 'q4') {
    const scaleBytes = (columns / Q4_BLOCK) * (data.scaleType === 'f16' ? 2 : 4)
    expectBytes('codes', data.codes, (rows * columns) / 2)
    expectBytes('scales', data.scales, rows * scaleBytes)
    stage(device, rows, [data.codes, data.scales], (from, to, [codes, scales]) => {
      kernels.packQ4(codes!, scales!, data.scaleType === 'f16', at, from, to, columns / Q4_BLOCK)
    })
  } else {
    const size = data.format === 'f32' ? 4 : 2
    expectBytes('values', data.data, rows * columns * size)
    stage(device, rows, [data.data], (from, to, [values]) => {
      kernels.packDense(values!, size, at, from, to, columns)
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
