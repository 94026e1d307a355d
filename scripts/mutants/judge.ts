/** What StrykerJS found, beside what is known to be no change at all. */

/** A mutant that does what the file does: why, in words. */
export interface Equal {
  /** The text that is changed, and what it becomes, as StrykerJS tells them. */
  readonly was: string
  readonly becomes: string
  readonly because: string
}

interface Place {
  readonly line: number
  readonly column: number
}

export interface Mutant {
  readonly status: string
  readonly replacement?: string
  readonly location: { readonly start: Place; readonly end: Place }
}

/** The part of a mutation testing report that is read here. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>
}

export interface Survivor {
  readonly line: number
  readonly was: string
  readonly becomes: string
  /** Some test ran it and noticed nothing; else no test came by. */
  readonly reached: boolean
}

export interface Verdict {
  readonly file: string
  readonly percent: number
  readonly killed: number
  readonly of: number
  readonly survivors: readonly Survivor[]
  /** Named as equal, and no survivor: it is found out after all, or no longer there. */
  readonly unheard: readonly Equal[]
}

/** A mutant that no test has found out is none of these. */
export const KILLED: ReadonlySet<string> = new Set(['Killed', 'Timeout'])
const ALIVE = new Set(['Survived', 'NoCoverage'])

/** Mutants that do not compile count on neither side. */
export function judged(file: string, report: Report, equals: readonly Equal[]): Verdict {
  const found = report.files[file]
  if (!found) throw new Error(`StrykerJS has nothing of ${file}.`)
  const lines = found.source.split('\n')
  const matched = new Set<Equal>()
  const survivors: Survivor[] = []
  let killed = 0
  for (const mutant of found.mutants) {
    const { status } = mutant
    if (KILLED.has(status)) killed++
    if (!ALIVE.has(status)) continue
    const { line, was, becomes } = changeOf(mutant, lines)
    const equal = equals.filter((each) => each.was === was && each.becomes === becomes)
    for (const each of equal) matched.add(each)
    if (equal.length === 0) {
      survivors.push({ line, was, becomes, reached: status === 'Survived' })
    }
  }
  const of = killed + survivors.length
  const percent = of === 0 ? 100 : Math.floor((100 * killed) / of)
  return { file, percent, killed, of, survivors, unheard: equals.filter((each) => !matched.has(each)) }
}

/** Where it is in the lines of the file, and what it makes of what. */
export function changeOf({ replacement = '', location: { start, end } }: Mutant, lines: readonly string[]) {
  return { line: start.line, was: inLine(textAt(lines, start, end)), becomes: inLine(replacement) }
}

function textAt(lines: readonly string[], start: Place, end: Place): string {
  const rows = lines.slice(start.line - 1, end.line)
  rows[rows.length - 1] = rows.at(-1)!.slice(0, end.column - 1)
  rows[0] = rows[0]!.slice(start.column - 1)
  return rows.join('\n')
}

const inLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
