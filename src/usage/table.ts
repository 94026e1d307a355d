import type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'

export type UsageSums = { -readonly [Field in keyof UsageRow]: UsageRow[Field] }

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

export function rowOf(event: UsageEvent): UsageSums {
  return {
    start: event.time - (event.time % MINUTE),
    caller: event.caller,
    project: event.project,
    model: event.model,
    requests: 1,
    errors: event.outcome === 'error' ? 1 : 0,
    aborts: event.outcome === 'aborted' ? 1 : 0,
    promptTokens: event.promptTokens,
    cachedTokens: event.cachedTokens,
    completionTokens: event.completionTokens,
  }
}

export function addRow(into: UsageSums, row: UsageRow): void {
  into.requests += row.requests
  into.errors += row.errors
  into.aborts += row.aborts
  into.promptTokens += row.promptTokens
  into.cachedTokens += row.cachedTokens
  into.completionTokens += row.completionTokens
}

const isAlike = (a: UsageRow, b: UsageRow): boolean =>
  a.start === b.start && a.caller === b.caller && a.project === b.project && a.model === b.model

const keyOf = (row: UsageRow): string => JSON.stringify([row.start, row.caller, row.project, row.model])

/** Sums by minute, caller, project and model: what every ledger keeps, wherever it keeps it. */
export class UsageTable {
  #rows = new Map<string, UsageSums>()
  readonly #maxRows: number
  #limit: number
  /** The one that was last added to: the next is likely to be of the same minute. */
  #last: UsageSums | undefined

  /** Beyond `maxRows` the older half is summed up by hours, then by days, so that years of use still fit. */
  constructor(maxRows = 50_000) {
    this.#maxRows = maxRows
    this.#limit = maxRows
  }

  get size(): number {
    return this.#rows.size
  }

  add(row: UsageRow): void {
    this.#put(row)
    if (this.#rows.size <= this.#limit) return
    for (const width of [HOUR, DAY]) if (this.#rows.size > this.#maxRows) this.#rollUp(width)
    // A day may have more callers and projects than that: they are kept, and not gone through again for each request.
    this.#limit = Math.max(this.#maxRows, Math.ceil(this.#rows.size * 1.5))
  }

  /** Takes a row out. */
  take(): UsageRow | undefined {
    this.#last = undefined
    for (const [key, row] of this.#rows) {
      this.#rows.delete(key)
      return row
    }
    return undefined
  }

  rows(from = 0, to = Number.POSITIVE_INFINITY): UsageRow[] {
    return [...this.#rows.values()].filter(({ start }) => start >= from && start < to)
  }

  #put(row: UsageRow): void {
    if (this.#last && isAlike(this.#last, row)) {
      addRow(this.#last, row)
      return
    }
    const key = keyOf(row)
    const known = this.#rows.get(key)
    this.#last = known ?? { ...row }
    if (known) addRow(known, row)
    else this.#rows.set(key, this.#last)
  }

  #rollUp(width: number): void {
    const rows = [...this.#rows.values()].sort((a, b) => a.start - b.start)
    this.#rows = new Map()
    this.#last = undefined
    rows.forEach((row, i) => {
      this.#put(i < rows.length / 2 ? { ...row, start: row.start - (row.start % width) } : row)
    })
  }
}

/** Usage in memory, as long as the process runs. */
export function memoryUsage(): UsageLedger {
  const table = new UsageTable()
  return {
    record: (event) => table.add(rowOf(event)),
    rows: (from, to) => table.rows(from, to),
  }
}
