import type { CacheLayout } from './cache.js'

export interface AttendShape extends CacheLayout {
  /** Heads of queries. */
  readonly queries: number
  /** Columns of a row of qkv. */
  readonly columns: number
  readonly window?: number
  /** @default true */
  readonly causal?: boolean
  readonly scale: number
  readonly cap?: number | undefined
  /** The last buffer has a score for each head that takes its share of the softmax. */
  readonly sinks?: boolean
  /** Of the rows that were picked alone. */
  readonly picked?: boolean
}
