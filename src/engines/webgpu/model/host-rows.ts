/** A table that stays with the host, which gives the device a row of it for each token: too large for what it is asked. */
import { halfToFloat } from '../../../platform/half.js'
import { storedRows } from '../../../repository/rows.js'
import type { StoredRows, WeightSource } from '../../../repository/source.js'
import { Q4_BLOCK, rowBytes, type Span } from '../contract.js'
import type { PlannedMatrix } from './planned.js'
import { quantize } from './quantize.js'
import { readMatrix } from './tensors.js'

/** Bytes that are read at a time. */
const CHUNK = 64 * 1048576

interface Rows {
  /** Some rows in one piece. */
  readonly perChunk: number
  readonly chunks: readonly Uint8Array[]
  readonly form: Pick<StoredRows, 'rowBytes' | 'widen'>
}

/** Memory of the host that it takes. */
export function hostBytes({ rows, columns, parts, quantize }: PlannedMatrix): number {
  const [{ stored }] = parts as readonly [PlannedMatrix['parts'][number]]
  return rows * (quantize || stored === 'q4' ? fourBits(columns).rowBytes : rowBytes(stored, columns))
}

export class HostRows {
  readonly columns: number
  readonly #rows: Rows
  #out = new Float32Array(0)

  private constructor(columns: number, rows: Rows) {
    this.columns = columns
    this.#rows = rows
  }

  static async load(source: WeightSource, planned: PlannedMatrix, signal?: AbortSignal): Promise<HostRows> {
    const { rows, columns, parts } = planned
    const [{ name, stored }] = parts as readonly [PlannedMatrix['parts'][number]]
    const found = stored !== 'q4' && source.rows?.(name)
    if (!found) return new HostRows(columns, await whole(source, planned, signal))
    const perChunk = Math.max(1, Math.floor(CHUNK / found.rowBytes))
    const form = planned.quantize ? fourBits(columns) : found
    const values = new Float32Array(columns)
    const chunks: Uint8Array[] = []
    for (let from = 0; from < rows; from += perChunk) {
      signal?.throwIfAborted()
      const to = Math.min(rows, from + perChunk)
      const bytes = await found.read(from, to, signal)
      chunks.push(planned.quantize ? packed(to - from, found, bytes, values) : bytes)
    }
    return new HostRows(columns, { perChunk, chunks, form })
  }

  /** Rows of all tokens of a pass, times `scale`, one after the other. Holds until the next call. */
  of(spans: readonly Pick<Span, 'tokens'>[], scale: number): Float32Array {
    const count = spans.reduce((sum, { tokens }) => sum + tokens.length, 0)
    if (this.#out.length < count * this.columns) this.#out = new Float32Array(count * this.columns)
    const { perChunk, chunks, form } = this.#rows
    let at = 0
    for (const { tokens } of spans) {
      for (const token of tokens) {
        const out = this.#out.subarray(at, at + this.columns)
        form.widen(chunks[Math.floor(token / perChunk)]!, (token % perChunk) * form.rowBytes, out)
        for (let i = 0; i < out.length; i++) out[i]! *= scale
        at += this.columns
      }
    }
    return this.#out.subarray(0, at)
  }
}

/** What is small, or can be read in no other way. */
async function whole(source: WeightSource, planned: PlannedMatrix, signal?: AbortSignal): Promise<Rows> {
  const { rows, columns } = planned
  const read = await readMatrix(source, planned, signal)
  if (read.format === 'mixed') throw new TypeError('A table has rows of one form.')
  if (read.format !== 'q4') {
    return { perChunk: rows, chunks: [read.data], form: storedRows(read.format, columns, async () => read.data) }
  }
  const form = fourBits(columns, read.scaleType)
  return { perChunk: rows, chunks: [beside(rows, columns, read, form)], form }
}

/** A row's codes, then its scales. */
function beside(
  rows: number,
  columns: number,
  { codes, scales }: { readonly codes: Uint8Array; readonly scales: Uint8Array },
  { rowBytes }: Pick<StoredRows, 'rowBytes'>,
): Uint8Array {
  const data = new Uint8Array(rows * rowBytes)
  const [half, rest] = [columns / 2, rowBytes - columns / 2]
  for (let row = 0; row < rows; row++) {
    data.set(codes.subarray(row * half, (row + 1) * half), row * rowBytes)
    data.set(scales.subarray(row * rest, (row + 1) * rest), row * rowBytes + half)
  }
  return data
}

function packed(rows: number, of: StoredRows, bytes: Uint8Array, values: Float32Array): Uint8Array {
  const form = fourBits(values.length)
  const data = new Uint8Array(rows * form.rowBytes)
  for (let row = 0; row < rows; row++) {
    of.widen(bytes, row * of.rowBytes, values)
    data.set(beside(1, values.length, quantize(values), form), row * form.rowBytes)
  }
  return data
}

function fourBits(columns: number, scaleType: 'f16' | 'f32' = 'f16'): Pick<StoredRows, 'rowBytes' | 'widen'> {
  const half = columns / 2
  const size = scaleType === 'f16' ? 2 : 4
  const rowBytes = half + (columns / Q4_BLOCK) * size
  return {
    rowBytes,
    widen(bytes, at, out) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, rowBytes)
      for (let block = 0; block * Q4_BLOCK < columns; block++) {
        const place = half + block * size
        const scale = size === 2 ? halfToFloat(view.getUint16(place, true)) : view.getFloat32(place, true)
        for (let i = 0; i < Q4_BLOCK / 2; i++) {
          const pair = bytes[at + block * (Q4_BLOCK / 2) + i]!
          out[block * Q4_BLOCK + 2 * i] = ((pair & 15) - 7) * scale
          out[block * Q4_BLOCK + 2 * i + 1] = ((pair >> 4) - 7) * scale
        }
      }
    },
  }
}
