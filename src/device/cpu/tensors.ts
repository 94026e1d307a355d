/** Tensors in the device's memory. */
import {
  type Activations,
  type CacheShape,
  cacheBytes,
  type KeyValueCache,
  PAGE,
  type ReadingRoom,
  type Span,
  type States,
  type StatesShape,
} from '../contract.js'
import { cacheCode } from './abi.js'
import type { DeviceMemory } from './memory.js'

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

export class CpuReadingRoom extends Tensor implements ReadingRoom {
  readonly room: Uint8Array

  constructor(device: DeviceMemory, bytes: number) {
    super(device, bytes)
    this.room = device.show(this.at, bytes)
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
  /** See `cacheCode`. */
  readonly kept: number
  readonly keyPageBytes: number
  readonly valuePageBytes: number
  /** Pages that hold nothing but numbers: slots without a position are multiplied with zero, and must not be NaN. */
  readonly #begun: Uint8Array
  /** Of each page, a bit for each slot with a key or a value that cannot be kept: whoever sees it computes NaN. */
  readonly #overflows: number

  constructor(device: DeviceMemory, shape: CacheShape) {
    const bytesOf = (values: number) => shape.heads * PAGE * cacheBytes(shape.type, values)
    const keys = bytesOf(shape.headSize)
    const values = bytesOf(Math.ceil(shape.headSize / 16) * 16)
    const bytes = shape.layers * shape.pages * (keys + values)
    super(device, bytes + shape.pages * 4)
    this.#overflows = this.at + bytes
    this.shape = shape
    this.#begun = new Uint8Array(shape.pages)
    this.kept = cacheCode(shape.type)
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

  get usedBytes(): number {
    const pages = this.#begun.reduce((sum, begun) => sum + begun, 0)
    return pages * this.shape.layers * (this.keyPageBytes + this.valuePageBytes)
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

/** The device's own tensor behind the interface's. */
export function own<T>(value: unknown, type: abstract new (...args: never[]) => T): T {
  if (value instanceof type) return value
  throw new TypeError('A tensor of another device was given.')
}
