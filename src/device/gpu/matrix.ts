/** Matrices as buffers, which the host writes row by row. */
import { type Matrix, type MatrixBand, type MatrixShape, type MatrixUse, Q4_BLOCK, rowBytes } from '../contract.js'
import type { Gpu, MappedBuffer } from './gpu.js'
import type { StoredMatrix } from './kernels/formats.js'
import { type RowRange, rowParts } from './row-parts.js'
import { Buffers } from './tensors.js'

/** Rows of a matrix in buffers of their own, which the host writes until they are all there. */
interface BegunPart {
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
  readonly #begun = new Map<readonly RowRange[], BegunPart>()
  #filled = 0

  /** `most`: bytes that a part may have; gates stay beside their values, where all are of one form. */
  constructor(gpu: Gpu, bands: readonly MatrixShape[], most: number, { gated, together }: MatrixUse) {
    super(gpu)
    this.gated = gated === true && bands.length === 1
    let first = 0
    this.#bands = bands.map((shape) => {
      const band = { shape, first, parts: rowParts(shape, most, this.gated, together) }
      first += shape.rows
      return band
    })
    this.rows = first
    this.columns = bands[0]!.columns
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
  #put(part: BegunPart, rows: MatrixBand, [from, to]: RowRange, at: number): void {
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

  #begin({ shape, first }: { shape: MatrixShape; first: number }, ranges: readonly RowRange[]): BegunPart {
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
