/** Cuts a matrix into parts by its rows, each small enough for one binding. */
import { V1Error } from '../../contract/index.js'
import { type MatrixShape, rowBytes } from '../contract.js'

/** From the first row to before the second. */
export type RowRange = readonly [from: number, to: number]

/** The ranges of rows that each part has: two of a gated matrix, gates and their values; or whole experts' of so many. */
export function rowParts(
  { format, rows, columns }: Omit<MatrixShape, 'scaleType'>,
  most: number,
  gated: boolean,
  together = 1,
): RowRange[][] {
  const halves = gated ? 2 : 1
  const bytes = format === 'q4' ? columns / 2 : rowBytes(format, columns)
  const fit = Math.floor(most / (bytes * halves * together)) * together
  if (fit < 1) throw tooWide(bytes * halves * together, most)
  const all = rows / halves
  const count = Math.ceil(all / fit)
  // Of equal size, so that they share their kernels as far as they can; whole workgroups, where there is room for these.
  const equal = Math.ceil(all / count)
  const whole = together > 1 ? together : 64
  const step = Math.min(fit, Math.ceil(equal / whole) * whole)
  const parts: RowRange[][] = []
  for (let from = 0; from < all; from += step) {
    const to = Math.min(from + step, all)
    parts.push(Array.from({ length: halves }, (_, half) => [from + half * all, to + half * all]))
  }
  return parts
}

function tooWide(bytes: number, most: number): V1Error {
  return new V1Error(503, `A row of weights takes ${bytes} bytes, and the device binds at most ${most}.`, {
    code: 'device_too_small',
    headers: { 'x-should-retry': 'false' },
  })
}
