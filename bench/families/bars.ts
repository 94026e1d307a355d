/** What our users were promised of the ratios to llama.cpp, and whether a run keeps it. */
import type { Row } from './plan.js'

export interface Measured extends Row {
  readonly label: string
  /** Tokens a second, ours by llama.cpp's. */
  readonly ratio: number
}

interface Bar {
  readonly each?: number
  readonly median: number
}

/** `revectorized`: V8 makes 256-bit code of the kernels. */
export const barsOf = (revectorized: boolean): Readonly<Record<Row['what'], Bar>> => ({
  decode: { each: 1, median: 1.2 },
  prompt: { median: revectorized ? 0.8 : 0.55 },
})

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

/** A line for each kind of row that was measured. */
export function verdictOf(measured: readonly Measured[], revectorized: boolean): { lines: string[]; kept: boolean } {
  const lines: string[] = []
  let kept = measured.length > 0
  for (const [what, bar] of Object.entries(barsOf(revectorized))) {
    const rows = measured.filter((row) => row.what === what).sort((a, b) => a.ratio - b.ratio)
    const worst = rows[0]
    if (!worst) continue
    const middle = median(rows.map(({ ratio }) => ratio))
    const below = rows.filter(({ ratio }) => ratio < (bar.each ?? 0)).length
    const good = below === 0 && middle >= bar.median
    kept &&= good
    const each = bar.each === undefined ? '' : `, ${bar.each.toFixed(2)} in each`
    lines.push(
      `${what}: median ${middle.toFixed(2)} of ${rows.length}, worst ${worst.ratio.toFixed(2)} (${worst.label}); ` +
        `wanted ${bar.median.toFixed(2)} in the median${each}: ${good ? 'kept' : `not kept${below ? `, ${below} below` : ''}`}`,
    )
  }
  return { lines: lines.length > 0 ? lines : ['Nothing was measured.'], kept }
}
