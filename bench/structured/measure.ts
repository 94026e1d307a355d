/** What one engine needs for one schema. Times in microseconds. */

export interface Measured {
  readonly id: string
  readonly outcome: 'compiled' | 'refused' | 'timeout' | 'aborted'
  readonly compileUs: number
  readonly maskUs: readonly number[]
  /** When each of them began. */
  readonly maskAtUs?: readonly number[]
  /** Of these, at places where more than one byte may come next. */
  readonly choiceUs: readonly number[]
  readonly acceptUs: readonly number[]
  readonly tokens: number
  /** Tokens that lie wholly in runs that the grammar already knows. */
  readonly forced: number
  /** Whether the whole document went through. */
  readonly followed: boolean
}

export function failed(id: string, outcome: Measured['outcome'], compileUs: number): Measured {
  return { id, outcome, compileUs, maskUs: [], choiceUs: [], acceptUs: [], tokens: 0, forced: 0, followed: false }
}

export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!
}

export function now(): number {
  return performance.now() * 1000
}
