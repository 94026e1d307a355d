/** A table that stays with the host, which gives the device a row of it for each token: too large for what it is asked. */

import { Q4_BLOCK, rowBytes, type Span } from '../device/index.js'
import { storedRows } from './files/rows.js'
import type { StoredRows, WeightSource } from './files/source.js'
import { canShrink, type PlannedMatrix } from './planned.js'
import { quantize } from './quantize.js'
import { fourBits } from './stored-values.js'
import { readMatrix } from './tensors.js'

/** Bytes that are read at a time. */
const CHUNK = 64 * 1048576

/** Memory of the host that a table takes. */
export function hostBytes({ rows, columns, parts, quantize }: PlannedMatrix): number {
  const [{ stored }] = parts as readonly [PlannedMatrix['parts'][number]]
  return rows * ((quantize && canShrink(stored)) || stored === 'q4' ? fourBitBytes(columns) : rowBytes(stored, columns))
}

/** Writes the values of a row. */
type Widen = (row: number, out: Float32Array) => void

export class HostRows {
  /** Side by side. */
  readonly #tables: readonly { readonly columns: number; readonly widen: Widen }[]
  readonly #columns: number
  #out = new Float32Array(0)

  private constructor(tables: readonly { readonly columns: number; readonly widen: Widen }[]) {
    this.#tables = tables
    this.#columns = tables.reduce((sum, { columns }) => sum + columns, 0)
  }

  /** Tables whose rows lie side by side. */
  static async load(source: WeightSource, planned: readonly PlannedMatrix[], signal?: AbortSignal): Promise<HostRows> {
    const tables = []
    for (const one of planned) tables.push({ columns: one.columns, widen: await load(source, one, signal) })
    return new HostRows(tables)
  }

  /** Rows of all tokens of a pass, times `scale`, one after the other. Holds until the next call. */
  of(spans: readonly Pick<Span, 'tokens'>[], scale: number): Float32Array {
    const count = spans.reduce((sum, { tokens }) => sum + tokens.length, 0)
    if (this.#out.length < count * this.#columns) this.#out = new Float32Array(count * this.#columns)
    let at = 0
    for (const { tokens } of spans) {
      for (const token of tokens) {
        for (const { columns, widen } of this.#tables) {
          widen(token, this.#out.subarray(at, at + columns))
          at += columns
        }
      }
    }
    const out = this.#out.subarray(0, at)
    for (let i = 0; i < at; i++) out[i]! *= scale
    return out
  }
}

async function load(source: WeightSource, planned: PlannedMatrix, signal?: AbortSignal): Promise<Widen> {
  const { rows, columns, parts } = planned
  const [{ name, stored }] = parts as readonly [PlannedMatrix['parts'][number]]
  const found = stored !== 'q4' && source.rows?.(name)
  if (!found) return whole(source, planned, signal)
  const perChunk = Math.max(1, Math.floor(CHUNK / found.rowBytes))
  const shrinks = planned.quantize && canShrink(stored)
  const values = new Float32Array(columns)
  const chunks: Widen[] = []
  for (let from = 0; from < rows; from += perChunk) {
    signal?.throwIfAborted()
    const to = Math.min(rows, from + perChunk)
    const bytes = await found.read(from, to, signal)
    chunks.push(shrinks ? quantized(to - from, found, bytes, values) : asStored(found, bytes))
  }
  return (row, out) => chunks[Math.floor(row / perChunk)]!(row % perChunk, out)
}

/** What is small, or can be read in no other way. */
async function whole(source: WeightSource, planned: PlannedMatrix, signal?: AbortSignal): Promise<Widen> {
  const read = await readMatrix(source, planned, signal)
  if (read.format === 'mixed') throw new TypeError('A table has rows of one form.')
  if (read.format === 'q4') return fourBits(planned.columns, read.codes, read.scales, read.scaleType)
  return asStored(
    storedRows(read.format, planned.columns, async () => read.data),
    read.data,
  )
}

const asStored = (form: StoredRows, bytes: Uint8Array): Widen => {
  return (row, out) => form.widen(bytes, row * form.rowBytes, out)
}

/** Row by row: in numbers of f32 all of them would be twice as large as they are stored. */
function quantized(rows: number, form: StoredRows, bytes: Uint8Array, values: Float32Array): Widen {
  const columns = values.length
  const codes = new Uint8Array((rows * columns) / 2)
  const scales = new Uint8Array((rows * columns * 2) / Q4_BLOCK)
  for (let row = 0; row < rows; row++) {
    form.widen(bytes, row * form.rowBytes, values)
    const four = quantize(values)
    codes.set(four.codes, row * four.codes.length)
    scales.set(four.scales, row * four.scales.length)
  }
  return fourBits(columns, codes, scales, 'f16')
}

const fourBitBytes = (columns: number) => columns / 2 + (2 * columns) / Q4_BLOCK
