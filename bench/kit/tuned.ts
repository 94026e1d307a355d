/** What came of trying several ways of cutting a kernel. */
import type { MachineBound } from '../profile/table.js'

export const TUNED = ['decode attention', 'prompt attention', 'few rows', 'many rows', 'whole prompts'] as const
export type Subject = (typeof TUNED)[number]

export interface TunedRow {
  readonly shape: string
  readonly variant: string
  readonly microseconds?: number
  readonly bytes: number
  readonly multiplications: number
  /** The greatest difference from what the first variant answers, beside the greatest answer. */
  readonly error?: number
  readonly fault?: string
}

export function tunedTable(rows: readonly TunedRow[], bound: MachineBound | undefined): string {
  const lines: string[] = []
  let shape = ''
  for (const row of rows) {
    if (row.shape !== shape) lines.push('', row.shape)
    shape = row.shape
    const { variant, microseconds: us, bytes, multiplications, error, fault } = row
    if (us === undefined) {
      lines.push(`  ${variant.padEnd(44)} ${fault}`)
      continue
    }
    const [gbps, gmulps] = [bytes / us / 1e3, multiplications / us / 1e3]
    const share = bound ? Math.max(gbps / bound.copyGBps, gmulps / bound.fmaGMulps) : 0
    const figures = [`${us.toFixed(2)} us`, `${gbps.toFixed(0)} GB/s`, `${gmulps.toFixed(0)} GMul/s`]
    const cells = [...figures, bound ? `${(share * 100).toFixed(1)} %` : '', `off ${error?.toExponential(1)}`]
    lines.push(`  ${variant.padEnd(44)} ${cells.map((cell) => cell.padStart(12)).join(' ')}`)
  }
  return `${lines.join('\n')}\n`
}
