/** What became of the mutants of each file when it was last judged, as found.json has it. */
import type { Verdict } from './judge.js'

/** Of a file that was judged before survivors were counted nobody knows how many there were. */
export type Found = 'not run yet' | { readonly percent: number; readonly survivors: number | 'not recorded' }

/** With what came of one more; in the order of the list, and nothing that is not on it. */
export function withFound(
  found: Readonly<Record<string, Found>>,
  { file, percent, survivors }: Verdict,
  listed: readonly string[],
): Record<string, Found> {
  const of = (name: string): Found =>
    name === file ? { percent, survivors: survivors.length } : (found[name] ?? 'not run yet')
  return Object.fromEntries(listed.map((name) => [name, of(name)]))
}

/** A line for each file, as the formatter wants it. */
export function foundText(found: Readonly<Record<string, Found>>): string {
  const value = (each: Found) =>
    typeof each === 'string'
      ? JSON.stringify(each)
      : `{ "percent": ${each.percent}, "survivors": ${JSON.stringify(each.survivors)} }`
  const rows = Object.entries(found).map(([file, each]) => `  ${JSON.stringify(file)}: ${value(each)}`)
  return `{\n${rows.join(',\n')}\n}\n`
}
