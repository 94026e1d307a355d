/** How queries and keys are turned by their positions. */
import type { CacheLayout } from '../../gpu/kernels/cache.js'
import { float } from '../../gpu/kernels/kernel.js'

export interface Growth {
  readonly by: number
  readonly every: number
}

export interface RopeShape extends CacheLayout {
  /** Heads of queries. */
  readonly queries: number
  /** Columns of a row of qkv. */
  readonly columns: number
  readonly growth?: Growth | undefined
  /** Of the norm of heads; absent: none. */
  readonly epsilon?: number
  /** No keys, no values. */
  readonly queriesOnly?: boolean
}

/** Spelt out: wherever a value is turned it must come out the same, however a compiler would put sums together. */
export function turned(which: 'low' | 'high'): string {
  return which === 'low' ? 'fma(low, cosine, -(high * sine))' : 'fma(high, cosine, low * sine)'
}

/** What queries are multiplied with at a position. */
export function grown({ growth }: RopeShape, position: string): string {
  return growth ? ` * (1.0 + ${float(growth.by)} * log(f32(1u + ${position} / ${growth.every}u)))` : ''
}
