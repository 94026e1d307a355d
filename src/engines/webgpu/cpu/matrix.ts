/** Matrices in the device's memory, and how their bytes get there. */
import { BLOCK_TYPES, isBlockType } from '../../../platform/block-types.js'
import {
  bandsOf,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type MatrixShape,
  Q4_BLOCK,
  rowBytes,
  shapeOf,
} from '../contract.js'
import { BF16, F16, F32, GROUP, Q4, Q4_BLOCK_BYTES, Q4_EXACT, type WeightKind } from './abi.js'
import { blockKind, blockRoom, EXACT_BLOCKS, FIRST_BLOCK_KIND } from './block-kinds.js'
import type { DeviceMemory } from './memory.js'
import { Tensor } from './tensors.js'
import type { Kernels } from './wasm.js'

/** Staged at a time on the way to the kernels' layout. */
const STAGE_BYTES = 1 << 22

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

  readonly #kernels: Kernels
  #filled = 0

  constructor(device: DeviceMemory, kernels: Kernels, bands: readonly MatrixShape[], exact: boolean) {
    super(
      device,
      bands.reduce((sum, band) => sum + storedBytes(band), 0),
    )
    this.#kernels = kernels
    this.rows = bands.reduce((sum, { rows }) => sum + rows, 0)
    this.columns = bands[0]!.columns
    let { at } = this
    let first = 0
    this.bands = bands.map((band) => {
      const { rows } = band
      const groups = Math.ceil(rows / GROUP)
      const bytes = storedBytes(band)
      const placed = { kind: kindOf(band, exact), at, first, rows, groups, groupBytes: bytes / groups }
      at += bytes
      first += rows
      return placed
    })
  }

  static of(device: DeviceMemory, kernels: Kernels, data: MatrixData, exact: boolean): CpuMatrix {
    const bands = bandsOf(data)
    const matrix = new CpuMatrix(device, kernels, bands.map(shapeOf), exact)
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
    const band = this.bands.find(({ first, rows }) => this.#filled < first + rows)
    const from = this.#filled - (band?.first ?? 0)
    if (!band || from + rows.rows > band.rows) throw new RangeError('A matrix was given more rows than it has.')
    upload(this.device, this.#kernels, rows, { at: band.at, from })
    this.#filled += rows.rows
  }

  /** The only one: of a matrix that is gated, or a table. */
  get whole(): Band {
    const [band, another] = this.bands
    if (!band || another) throw new TypeError('A gated matrix, or a table, has rows of one form.')
    return band
  }
}

function kindOf({ format }: MatrixShape, exact: boolean): WeightKind {
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

/** Rows into the band that lies at `at`, from its row `from` on. */
function upload(
  device: DeviceMemory,
  kernels: Kernels,
  data: MatrixBand,
  { at, from: before }: { readonly at: number; readonly from: number },
): void {
  const { rows, columns } = data
  if (data.format === 'q4') {
    const scaleBytes = (columns / Q4_BLOCK) * (data.scaleType === 'f16' ? 2 : 4)
    expectBytes('codes', data.codes, (rows * columns) / 2)
    expectBytes('scales', data.scales, rows * scaleBytes)
    stage(device, rows, [data.codes, data.scales], (from, to, [codes, scales]) => {
      const half = data.scaleType === 'f16'
      kernels.packQ4(codes!, scales!, half, at, before + from, before + to, columns / Q4_BLOCK)
    })
  } else {
    const { format } = data
    expectBytes('values', data.data, rows * rowBytes(format, columns))
    stage(device, rows, [data.data], (from, to, [values]) => {
      if (isBlockType(format)) kernels.packBlocks(blockKind(format), values!, at, before + from, before + to, columns)
      else kernels.packDense(values!, rowBytes(format, 1), at, before + from, before + to, columns)
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
