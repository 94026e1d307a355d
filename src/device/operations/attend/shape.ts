/** What attention is asked for, and what its kernels have in common. */
import type { CacheLayout } from '../../gpu/kernels/cache.js'
import type { Binding } from '../../gpu/kernels/formats.js'

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
  /** Of the rows that were gathered alone. */
  readonly gathered?: boolean
}

/** The attention mask: the first and the last position that a row sees. */
export function maskFunctions({ window, causal = true }: Pick<AttendShape, 'window' | 'causal'>): string {
  const reach = window === undefined ? 'endOf(row)' : `min(endOf(row), positionOf(row) + ${window - 1}u)`
  return `fn firstOf(row: u32) -> u32 { return ${window === undefined ? '0u' : `max(positionOf(row) + 1u, ${window}u) - ${window}u`}; }
fn lastOf(row: u32) -> u32 { return ${causal ? 'positionOf(row)' : reach}; }`
}

/** A sink: a score that takes its share of a head's softmax, and gives nothing. It is the last that a query's sum gets. */
export const sinkBinding = ({ sinks }: Sinking): Binding[] => (sinks ? [['sinks', 'f32', 'r']] : [])

/** What is added to the sum of a head of queries whose greatest score is `most`; both are expressions. */
export function sunk({ sinks }: Sinking, head: string, most: string): string {
  // Far above all scores it leaves nothing of them anyway: no more than f32 holds is asked for.
  return sinks ? ` + exp(min(sinks[${head}] - ${most}, 80.0))` : ''
}

type Sinking = Pick<AttendShape, 'sinks'>
