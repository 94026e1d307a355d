/** Where a step and a prompt go. */
import type { Timed } from './operation.js'

export interface Row {
  readonly operation: string
  readonly kernel: string
  /** Times that it runs. */
  readonly count: number
  readonly milliseconds: number
  /** Of all dispatches. */
  readonly share: number
  /** Weights, keys and values, and logits that it must read: from memory, where no cache holds them. */
  readonly bytes: number
  readonly multiplications: number
}

export interface Outside {
  readonly what: string
  readonly milliseconds: number
}

export interface Part {
  /** `a step of decoding, x8, 128 tokens behind` */
  readonly title: string
  readonly rows: readonly Row[]
  /** All rows together. */
  readonly milliseconds: number
  /** The same step when nothing is timed, and dispatches share a compute pass: what a user waits. */
  readonly unprofiled: number
  /** The step while every dispatch is timed. */
  readonly profiled: number
  /** What else a step consists of, unprofiled. */
  readonly outside: readonly Outside[]
}

export interface Profile {
  readonly kind: 'local-v1 profile'
  readonly version: string
  readonly date: string
  readonly model: string
  readonly device: string
  readonly deviceName: string
  readonly machine: Readonly<Record<string, string | number | boolean>>
  readonly parts: readonly Part[]
  readonly notes: readonly string[]
}

/** One row for each kind of dispatch, in the order of their first run; times are means over the quickest steps. */
export function rowsOf(steps: readonly (readonly Timed[])[]): Row[] {
  const quick = quickest(steps, (step) => sum(step.map(({ milliseconds }) => milliseconds)))
  const rows = new Map<string, { -readonly [K in keyof Row]: Row[K] }>()
  for (const { operation, kernel, milliseconds, bytes, multiplications } of quick.flat()) {
    const key = `${operation}\n${kernel}`
    const row = rows.get(key) ?? {
      operation,
      kernel,
      count: 0,
      milliseconds: 0,
      share: 0,
      bytes: 0,
      multiplications: 0,
    }
    rows.set(key, row)
    row.count++
    row.milliseconds += milliseconds / quick.length
    row.bytes += bytes / quick.length
    row.multiplications += multiplications / quick.length
  }
  const total = sum([...rows.values()].map(({ milliseconds }) => milliseconds))
  for (const row of rows.values()) {
    row.count /= quick.length
    row.share = total > 0 ? row.milliseconds / total : 1 / rows.size
  }
  return [...rows.values()]
}

/**
 * The quickest quarter: in the others something else had the machine. Whole steps, for means: clocks of browsers are
 * coarse, and only many readings see through that.
 */
export function quickest<T>(steps: readonly T[], took: (step: T) => number): T[] {
  return [...steps].sort((a, b) => took(a) - took(b)).slice(0, Math.max(1, Math.ceil(steps.length / 4)))
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length
}
