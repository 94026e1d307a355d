/** Tensors in the device's memory. */
import { cacheBytes, getOrMake } from '../../platform/index.js'
import {
  type Activations,
  type CacheShape,
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
    return getOrMake(rooms, bytesPerRow, () => this.device.allocate(this.rows * bytesPerRow))
  }

  override destroy(): void {
    for (const rooms of Object.values(this.#scratch)) {
      for (const at of rooms.values()) this.device.free(at)
      rooms.clear()
    }
    super.destroy()
  }
}

/** Keys, or values, of one layer: of each head all pages, one behind the other. See `assembly/cache-page.ts`. */
interface Heads {
  readonly pageBytes: number
  readonly headBytes: number
  readonly bytes: number
}

export class CpuCache extends Tensor implements KeyValueCache {
  readonly shape: CacheShape
  /** See `cacheCode`. */
  readonly kept: number
  readonly #keys: Heads
  readonly #values: Heads
  readonly keyHeadBytes: number
  readonly valueHeadBytes: number
  /** Pages that hold nothing but numbers: slots without a position are multiplied with zero, and must not be NaN. */
  readonly #begun: Uint8Array
  /** Of each page, a bit for each slot with a key or a value that cannot be kept: whoever sees it computes NaN. */
  readonly overflows: number

  constructor(device: DeviceMemory, shape: CacheShape) {
    const headsOf = (values: number): Heads => {
      const pageBytes = PAGE * cacheBytes(shape.type, values)
      const headBytes = shape.pages * pageBytes
      return { pageBytes, headBytes, bytes: shape.heads * headBytes }
    }
    const keys = headsOf(shape.headSize)
    const values = headsOf(Math.ceil(shape.headSize / 16) * 16)
    const bytes = shape.layers * (keys.bytes + values.bytes)
    super(device, bytes + shape.pages * 4)
    this.overflows = this.at + bytes
    this.shape = shape
    this.#begun = new Uint8Array(shape.pages)
    this.kept = cacheCode(shape.type)
    this.#keys = keys
    this.#values = values
    this.keyHeadBytes = keys.headBytes
    this.valueHeadBytes = values.headBytes
  }

  /** Where a layer's begin. */
  layer(index: number): { readonly keys: number; readonly values: number } {
    const keys = this.use() + index * (this.#keys.bytes + this.#values.bytes)
    return { keys, values: keys + this.#keys.bytes }
  }

  get usedBytes(): number {
    const pages = this.#begun.reduce((sum, begun) => sum + begun, 0)
    const { layers, heads } = this.shape
    return pages * layers * heads * (this.#keys.pageBytes + this.#values.pageBytes)
  }

  /** Makes the pages ready to which the span's tokens go. Memory is touched page by page, as it is needed. */
  begin({ pages: all, windowPages, position, tokens }: Span): void {
    const pages = this.shape.sliding ? windowPages! : all
    for (let i = Math.floor(position / PAGE); i * PAGE < position + tokens.length; i++) {
      const page = pages[i]!
      if (this.#begun[page] === 0) this.clearPage(page)
      // What stood where the span's tokens go is forgotten.
      this.device.i32[this.overflows / 4 + page]! &= (1 << Math.max(0, position - i * PAGE)) - 1
    }
  }

  clearPage(page: number): void {
    this.#begun[page] = 1
    const { u8, i32 } = this.device
    i32[this.overflows / 4 + page] = 0
    for (const [first, bytes] of this.#pieces()) u8.fill(0, first + page * bytes, first + (page + 1) * bytes)
  }

  copyPage(from: number, to: number): void {
    const { u8, i32 } = this.device
    this.#begun[to] = 1
    i32.copyWithin(this.overflows / 4 + to, this.overflows / 4 + from, this.overflows / 4 + from + 1)
    for (const [first, bytes] of this.#pieces()) {
      u8.copyWithin(first + to * bytes, first + from * bytes, first + (from + 1) * bytes)
    }
  }

  /** What a page consists of: where that piece of the first page begins, and its bytes, by which the next page's follows. */
  *#pieces(): Generator<readonly [number, number]> {
    for (let layer = 0; layer < this.shape.layers; layer++) {
      const { keys, values } = this.layer(layer)
      for (let head = 0; head < this.shape.heads; head++) {
        yield [keys + head * this.keyHeadBytes, this.#keys.pageBytes]
        yield [values + head * this.valueHeadBytes, this.#values.pageBytes]
      }
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
