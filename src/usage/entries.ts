/** What stands in a usage file. */
import type { UsageEvent, UsageRow } from './ledger.js'
import { rowOf } from './table.js'

/** Nothing but its text is known of what is no entry, or not all of one. */
export interface UsageEntry {
  readonly text: string
  /** A request, or the sum of several. */
  readonly row?: UsageRow
  /** Who is about to replace the file. */
  readonly sealed?: string
  /** Who does not after all. */
  readonly opened?: string
}

/** The beginnings of entries. Where a process died before it wrote a line's end, the next line follows it directly. */
const BEGINNING = /(?=\{"(?:time|start|sealed|opened)":)/

const ID = /^\d+-[a-z0-9]+-[a-z0-9]+$/

export const usageEntriesOf = (line: string): UsageEntry[] =>
  line.split(BEGINNING).map((text) => ({ text, ...read(text) }))

function read(text: string): Omit<UsageEntry, 'text'> {
  try {
    const entry = JSON.parse(text) as Partial<UsageRow & UsageEvent & UsageEntry & { by: string }>
    const { promptTokens, cachedTokens, completionTokens, caller, model, sealed, opened } = entry
    if (ID.test(sealed ?? '')) return { sealed: sealed! }
    if (ID.test(opened ?? '')) return { opened: opened! }
    if (typeof caller !== 'string' || typeof model !== 'string') return {}
    if (![promptTokens, cachedTokens, completionTokens].every(Number.isFinite)) return {}
    if (Number.isFinite(entry.time)) return { row: rowOf(entry as UsageEvent) }
    const sums = [entry.start, entry.requests, entry.errors, entry.aborts]
    const { by: _, ...row } = entry
    return sums.every(Number.isFinite) ? { row: row as UsageRow } : {}
  } catch {
    return {}
  }
}
