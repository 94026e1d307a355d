import type { UsageLedger } from './ledger.js'
import { rowOf, UsageTable } from './table.js'

/** Usage in memory, as long as the process runs. */
export function memoryUsage(): UsageLedger {
  const table = new UsageTable()
  return {
    record: (event) => table.add(rowOf(event)),
    rows: (from, to) => table.rows(from, to),
  }
}
