/** Matrices in the device's memory. */
import { BLOCK_TYPES, isBlockType } from '../../platform/index.js'
import { type Matrix, type MatrixBand, type MatrixShape, Q4_BLOCK, rowBytes } from '../contract.js'
import type { BandOfMatrix } from '../operations/define.js'
import {
  ACTIVATION_BLOCK_BYTES,
  BF16,
  F16,
  F32,
  GROUP,
  Q4,
  Q4_BLOCK_BYTES,
  Q4_EXACT,
  type WeightKind,
  WIDE,
} from './abi.js'
import {
  BYTE_WAYS,
  blockKind,
  blockRoom,
  EXACT_BLOCKS,
  FIRST_BLOCK_KIND,
  SUMS_BYTES,
  WIDE_BLOCKS,
} from './block-kinds.js'
import type { DeviceMemory } from './memory.js'
import type { Filling, Packer } from './packer.js'
import { Tensor } from './tensors.js'
import type { KernelVariant } from './wasm.js'

/** Rows of activations from which on codes are unpacked for several of them. */
export const MANY = 4

/** The kinds of a matrix as it is multiplied: with few rows of activations, and with `MANY` or more. */
export interface MultipliedAs {
  readonly few: WeightKind
  readonly many: WeightKind
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

  /** With few rows of activations, and with many. */
  readonly #multiplied: { readonly few: readonly BandOfMatrix[]; readonly many: readonly BandOfMatrix[] }
  readonly #packer: Packer
  readonly #fillings: readonly Filling[]
  #filled = 0

  /** `kernelsOf`: as what bands of a kind are multiplied. */
  constructor(
    device: DeviceMemory,
    packer: Packer,
    bands: readonly MatrixShape[],
    exact: boolean,
    kernelsOf: (kind: WeightKind) => MultipliedAs,
  ) {
    super(
      device,
      bands.reduce((sum, band) => sum + storedBytes(band), 0),
    )
    this.#packer = packer
    this.rows = bands.reduce((sum, { rows }) => sum + rows, 0)
    this.columns = bands[0]!.columns
    let { at } = this
    let first = 0
    this.bands = bands.map((band) => {
      const { rows } = band
      const groups = Math.ceil(rows / GROUP)
      const bytes = storedBytes(band)
      const kind = kindOf(band, exact)
      const groupBytes = bytes / groups
      const placed = { kind, at, first, rows, groups, groupBytes }
      at += bytes
      first += rows
      return placed
    })
    const as = this.bands.map(({ kind }) => kernelsOf(kind))
    const multiplied = (length: keyof MultipliedAs, rows: number) =>
      this.bands.map((band, i) => {
        const kind = as[i]![length]
        return { ...band, kind, form: activationsOf(kind), roomBytes: unpackingRoom(kind, this.columns, rows) }
      })
    this.#multiplied = { few: multiplied('few', 1), many: multiplied('many', MANY) }
    this.#fillings = this.bands.map(({ kind, at, groupBytes }) => ({ kind, at, groupBytes, waiting: [] }))
  }

  /** The next rows. */
  add(rows: MatrixBand): void {
    const index = this.bands.findIndex(({ first, rows }) => this.#filled < first + rows)
    const band = this.bands[index]
    const filled = this.#filled + rows.rows
    if (!band || filled > band.first + band.rows) throw new RangeError('A matrix was given more rows than it has.')
    this.#packer.add(this.#fillings[index]!, rows, filled === band.first + band.rows)
    this.#filled = filled
  }

  /** The bands as they are multiplied with so many rows of activations. */
  multipliedWith(rows: number): readonly BandOfMatrix[] {
    this.use()
    return rows >= MANY ? this.#multiplied.many : this.#multiplied.few
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
export function activationsOf(multiplied: WeightKind): WeightKind {
  const kind = multiplied & ~BYTE_WAYS
  if (kind >= EXACT_BLOCKS) return F32
  if (kind >= WIDE_BLOCKS) return WIDE
  return kind >= FIRST_BLOCK_KIND ? Q4 : kind
}

/** Bytes of a row of activations in such a form. */
export function activationBytes(form: WeightKind, columns: number, variant: KernelVariant): number {
  if (form !== Q4 && form !== WIDE) return columns * 4
  return Math.ceil(columns / Q4_BLOCK) * ACTIVATION_BLOCK_BYTES[form === WIDE ? 'simd' : variant]
}

/** Room that a thread needs beside a product with so many rows of activations, or a table's rows. */
export function unpackingRoom(multiplied: WeightKind, columns: number, rows: number): number {
  const kind = multiplied & ~BYTE_WAYS
  // Sixteen bits for each weight of a group of rows, where they are unpacked for several tokens.
  if (kind === Q4) return SUMS_BYTES + (rows >= MANY ? columns * GROUP * 2 : 0)
  if (kind < FIRST_BLOCK_KIND) return rows >= MANY ? SUMS_BYTES + (kind === F32 ? 0 : columns * GROUP * 4) : 0
  const room = blockRoom(columns, rows >= MANY)
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
