/** The device's memory: one WebAssembly memory that grows as tensors are made, shared out first fit. */
import { V1Error } from '../../contract/index.js'

const PAGE_BYTES = 65536
/** Growth in steps of a mebibyte, so that small tensors do not each ask the host. */
const STEP_PAGES = 16
/**
 * And of this share of what is there: a host counts the whole memory anew whenever it grows, and collects garbage for it.
 * Pages that nothing was written to take no room.
 */
const SHARE = 1 / 4
const ALIGNMENT = 64

interface Gap {
  at: number
  bytes: number
}

/** As much as the host lets a memory grow to: 4 GiB, less on phones that reserve it all. */
function createMemory(initialPages: number, shared: boolean): { memory: WebAssembly.Memory; pages: number } {
  for (let pages = 65536; ; pages >>= 1) {
    try {
      return { memory: new WebAssembly.Memory({ initial: initialPages, maximum: pages, shared }), pages }
    } catch (error) {
      if (pages <= 4096) throw error
    }
  }
}

export class DeviceMemory {
  readonly memory: WebAssembly.Memory
  /** The most it can grow to. */
  readonly limit: number
  /** Live allocations. */
  bytes = 0
  buffers = 0
  #gaps: Gap[] = []
  /** Each growth of a shared memory has a buffer of its own. */
  readonly #shown = new WeakSet<ArrayBufferLike>()
  #sizes = new Map<number, number>()
  #end: number
  /** Views of the whole memory; an allocation makes them stale. */
  u8!: Uint8Array
  f32!: Float32Array
  i32!: Int32Array

  /** `reserved` bytes at the start are never handed out. */
  constructor(reserved: number, shared: boolean) {
    const { memory, pages } = createMemory(STEP_PAGES, shared)
    this.memory = memory
    this.limit = pages * PAGE_BYTES
    this.#end = reserved
    this.#view()
  }

  #view(): void {
    const { buffer } = this.memory
    this.u8 = new Uint8Array(buffer)
    this.f32 = new Float32Array(buffer)
    this.i32 = new Int32Array(buffer)
  }

  /** A byte offset. Contents are undefined. */
  allocate(size: number): number {
    const bytes = Math.max(ALIGNMENT, Math.ceil(size / ALIGNMENT) * ALIGNMENT)
    const at = this.#fromGap(bytes) ?? this.#fromEnd(bytes)
    this.#sizes.set(at, bytes)
    this.bytes += bytes
    this.buffers++
    return at
  }

  #fromGap(bytes: number): number | undefined {
    for (let i = 0; i < this.#gaps.length; i++) {
      const gap = this.#gaps[i]!
      if (gap.bytes < bytes) continue
      const at = gap.at
      gap.at += bytes
      gap.bytes -= bytes
      if (gap.bytes === 0) this.#gaps.splice(i, 1)
      return at
    }
    return undefined
  }

  #fromEnd(bytes: number): number {
    const at = this.#end
    const missing = at + bytes - this.memory.buffer.byteLength
    if (missing > 0) this.#grow(missing, bytes)
    this.#end = at + bytes
    return at
  }

  /** Whether views of it stay, however it grows: what is read from a file beside may then be written into it. */
  get stays(): boolean {
    return typeof SharedArrayBuffer !== 'undefined' && this.memory.buffer instanceof SharedArrayBuffer
  }

  /** Where bytes lie in it; undefined: they lie elsewhere. */
  placeOf({ buffer, byteOffset }: Uint8Array): number | undefined {
    return this.#shown.has(buffer) ? byteOffset : undefined
  }

  /** A view that is known by `placeOf`. */
  show(at: number, bytes: number): Uint8Array {
    const { buffer } = this.memory
    this.#shown.add(buffer)
    return new Uint8Array(buffer, at, bytes)
  }

  /** Makes room at once for what will be asked for in pieces. Where the host has not so much, the pieces hear of it. */
  reserve(bytes: number): void {
    const missing = this.#end + bytes - this.memory.buffer.byteLength
    if (missing > 0) this.#growBy(Math.ceil(missing / PAGE_BYTES))
  }

  #grow(missing: number, wanted: number): void {
    const least = Math.ceil(missing / PAGE_BYTES)
    const pages = this.memory.buffer.byteLength / PAGE_BYTES
    const ahead = Math.min(Math.max(STEP_PAGES, Math.ceil(pages * SHARE)), this.limit / PAGE_BYTES - pages)
    if (ahead > least && this.#growBy(ahead) === undefined) return
    const cause = this.#growBy(least)
    if (cause !== undefined) {
      const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1048576)} MiB`
      throw new V1Error(
        503,
        `The CPU device is out of memory: ${mebibytes(wanted)} more are needed beside the ${mebibytes(this.bytes)} in use, of at most ${mebibytes(this.limit)}.`,
        { code: 'device_out_of_memory', cause },
      )
    }
  }

  /** Why it did not. */
  #growBy(pages: number): unknown {
    try {
      this.memory.grow(pages)
      this.#view()
      return undefined
    } catch (cause) {
      return cause
    }
  }

  free(at: number): void {
    const bytes = this.#sizes.get(at)
    if (bytes === undefined) return
    this.#sizes.delete(at)
    this.bytes -= bytes
    this.buffers--
    this.#release(at, bytes)
  }

  /** Joins the gap with its neighbours, and with the unused end. */
  #release(at: number, bytes: number): void {
    const gaps = this.#gaps
    let i = 0
    while (i < gaps.length && gaps[i]!.at < at) i++
    const before = gaps[i - 1]
    const after = gaps[i]
    const joinsBefore = before !== undefined && before.at + before.bytes === at
    const joinsAfter = after !== undefined && at + bytes === after.at
    if (joinsBefore && joinsAfter) {
      before.bytes += bytes + after.bytes
      gaps.splice(i, 1)
    } else if (joinsBefore) before.bytes += bytes
    else if (joinsAfter) {
      after.at = at
      after.bytes += bytes
    } else gaps.splice(i, 0, { at, bytes })
    const last = gaps[gaps.length - 1]!
    if (last.at + last.bytes === this.#end) {
      this.#end = last.at
      gaps.pop()
    }
  }
}
