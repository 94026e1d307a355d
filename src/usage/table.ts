import type { Slices } from '../platform/index.js'
import type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'

export type UsageSums = { -readonly [Field in keyof UsageRow]: UsageRow[Field] }

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/** The start of the minute, hour or day of a time, in UTC. */
export const bucketOf = (time: number, width: number): number => time - (time % width)

export function rowOf(event: UsageEvent): UsageSums {
  return {
    start: bucketOf(event.time, MINUTE),
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

/** Rows that are summed up with each that comes. */
const AT_A_TIME = 64
/** How many are counted in the time of one that is summed up. */
const COUNTED = 16

/** Sums by minute, caller, project and model: what every ledger keeps, wherever it keeps it. */
export class UsageTable {
  readonly #rows = new Map<string, UsageSums>()
  readonly #maxRows: number
  #limit: number
  /** The one that was last added to: the next is likely to be of the same minute. */
  #last: UsageSums | undefined
  /** The older half on its way: all of it at once would keep everybody waiting. */
  #rolling: Slices<void> | undefined

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
    if (this.#rows.size > this.#limit) this.#rolling ??= this.#rollUp()
    for (let i = 0; i < AT_A_TIME && this.#rolling; i++) if (this.#rolling.next().done) this.#rolling = undefined
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

  /** The start that the newest of the older half has, and how many with that start belong to it: by days, then in its day. */
  *#olderHalf(): Slices<{ readonly last: number; readonly ofLast: number }> {
    let [last, ofLast] = [0, Math.ceil(this.#rows.size / 2)]
    let day: number | undefined
    for (const width of [DAY, 1]) {
      const counts = new Map<number, number>()
      let seen = 0
      for (const { start } of this.#rows.values()) {
        if (++seen % COUNTED === 0) yield
        if (day !== undefined && bucketOf(start, DAY) !== day) continue
        const bucket = bucketOf(start, width)
        counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
      }
      for (const [bucket, count] of [...counts].sort(([a], [b]) => a - b)) {
        last = bucket
        if (ofLast <= count) break
        ofLast -= count
      }
      day = last
    }
    return { last, ofLast }
  }

  *#rollUp(): Slices<void> {
    for (const width of [HOUR, DAY]) {
      if (this.#rows.size <= this.#maxRows) break
      const older = yield* this.#olderHalf()
      let { ofLast } = older
      const { last } = older
      for (const [key, row] of this.#rows) {
        if (row.start > last || (row.start === last && ofLast-- <= 0)) continue
        const start = bucketOf(row.start, width)
        if (start === row.start) continue
        yield
        this.#rows.delete(key)
        if (this.#last === row) this.#last = undefined
        this.#put({ ...row, start })
      }
    }
    // A day may have more callers and projects than that: they are kept, and not gone through again for each request.
    this.#limit = this.#rows.size > this.#maxRows ? Math.ceil(this.#rows.size * 1.5) : this.#maxRows
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
