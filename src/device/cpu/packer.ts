/** Brings rows of weights into the kernels' layout, on all threads, a few at a time: their bytes lie outside. */
import { type MatrixBand, Q4_BLOCK, rowBytes } from '../contract.js'
import { GROUP, type WeightKind } from './abi.js'
import type { DeviceMemory } from './memory.js'
import { OPERATION_BYTES, PassProgram } from './program.js'
import type { Runner } from './runner.js'

/** Staged at a time. */
const STAGE_BYTES = 1 << 22
/** Of bytes that lie outside. */
const NOWHERE = -1

/** A band that is being filled. */
export interface Filling {
  readonly kind: WeightKind
  readonly groupBytes: number
  /** Where the next group goes. */
  at: number
  /** Rows that are no whole group yet, by what `partsOf` has of them. */
  waiting: readonly Uint8Array[]
}

export class Packer {
  readonly #memory: DeviceMemory
  readonly #runner: Runner
  readonly #program: PassProgram

  constructor(memory: DeviceMemory, runner: Runner, threads: number) {
    this.#memory = memory
    this.#runner = runner
    this.#program = new PassProgram(threads)
  }

  /** The next rows; `last`: none come after them, and the rest of their group is zeros. */
  add(filling: Filling, band: MatrixBand, last: boolean): void {
    const given = partsOf(band)
    const parts = given.map(({ bytes, stride }, i) => ({
      stride,
      stretches: [filling.waiting[i] ?? bytes.subarray(0, 0), bytes],
    }))
    const [before] = filling.waiting
    const rows = band.rows + (before ? before.length / parts[0]!.stride : 0)
    const whole = last ? rows : rows - (rows % GROUP)
    const [values, scales = 0] = given.map(({ bytes }) => this.#memory.placeOf(bytes) ?? NOWHERE)
    const liesThere = values !== NOWHERE && scales !== NOWHERE && !before?.length
    if (liesThere && whole % GROUP === 0) this.#packWhereItLies(filling, band, whole, values!, scales)
    else if (whole > 0) this.#pack(filling, band, parts, whole)
    filling.waiting = parts.map((part) => copyRows(part, whole, rows, new Uint8Array((rows - whole) * part.stride)))
  }

  /** Whole groups of rows that were read into the kernels' memory. */
  #packWhereItLies(filling: Filling, band: MatrixBand, rows: number, source: number, scales: number): void {
    const program = this.#memory.allocate(OPERATION_BYTES)
    try {
      this.#run(filling, band, program, rows / GROUP, source, scales)
    } finally {
      this.#memory.free(program)
    }
  }

  #run(filling: Filling, band: MatrixBand, program: number, groups: number, source: number, scales: number): void {
    if (groups === 0) return
    const { kind, at: matrix } = filling
    const half = band.format === 'q4' && band.scaleType === 'f16'
    this.#program.count = 0
    this.#program.add('pack', groups, { kind, source, scales, half, matrix, columns: band.columns })
    this.#program.write(this.#memory.i32, program)
    this.#runner.share(program)
    filling.at += groups * filling.groupBytes
  }

  #pack(filling: Filling, band: MatrixBand, parts: readonly RowStretches[], rows: number): void {
    const memory = this.#memory
    const bytes = parts.reduce((sum, { stride }) => sum + stride, 0)
    const step = Math.min(Math.ceil(rows / GROUP), Math.max(1, Math.floor(STAGE_BYTES / GROUP / bytes))) * GROUP
    const taken: number[] = []
    const take = (size: number) => {
      const at = memory.allocate(size)
      taken.push(at)
      return at
    }
    try {
      const program = take(OPERATION_BYTES)
      const staged = parts.map(({ stride }) => take(step * stride))
      const [source, scales = 0] = staged as [number, number?]
      for (let from = 0; from < rows; from += step) {
        const to = Math.min(rows, from + step)
        const groups = Math.ceil((to - from) / GROUP)
        for (const [i, part] of parts.entries()) {
          const room = memory.u8.subarray(staged[i], staged[i]! + groups * GROUP * part.stride)
          copyRows(part, from, to, room).fill(0, (to - from) * part.stride)
        }
        this.#run(filling, band, program, groups, source, scales)
      }
    } finally {
      for (const at of taken) memory.free(at)
    }
  }
}

/** Bytes of each row, in stretches of rows one behind the other. */
interface RowStretches {
  readonly stride: number
  readonly stretches: readonly Uint8Array[]
}

function partsOf(band: MatrixBand): { readonly bytes: Uint8Array; readonly stride: number }[] {
  const { rows, columns } = band
  const part = (name: string, bytes: Uint8Array, stride: number) => {
    if (bytes.byteLength === rows * stride) return { bytes, stride }
    throw new RangeError(`The matrix's ${name} take ${rows * stride} bytes, but ${bytes.byteLength} were given.`)
  }
  if (band.format !== 'q4') return [part('values', band.data, rowBytes(band.format, columns))]
  const scaleBytes = (columns / Q4_BLOCK) * (band.scaleType === 'f16' ? 2 : 4)
  return [part('codes', band.codes, columns / 2), part('scales', band.scales, scaleBytes)]
}

/** Rows from `from` to `to`, to the begin of `into`. */
function copyRows({ stride, stretches }: RowStretches, from: number, to: number, into: Uint8Array): Uint8Array {
  let first = 0
  for (const bytes of stretches) {
    const end = first + bytes.length / stride
    const [low, high] = [Math.max(from, first), Math.min(to, end)]
    if (low < high) into.set(bytes.subarray((low - first) * stride, (high - first) * stride), (low - from) * stride)
    first = end
  }
  return into
}
