/** What is said of a handful of measurements: the middle one, and how far the others lie from it. */

export interface Spread {
  readonly median: number
  /** The median absolute deviation: half of the values lie within it. */
  readonly deviation: number
  readonly least: number
  readonly most: number
}

export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export function spreadOf(values: readonly number[]): Spread {
  const middle = median(values)
  return {
    median: middle,
    deviation: median(values.map((value) => Math.abs(value - middle))),
    least: Math.min(...values),
    most: Math.max(...values),
  }
}
