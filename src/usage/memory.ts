import type { UsageLedger } from './ledger.js'
import { rowOf, UsageTable } from './table.js'

/** Usage kept as long as the process lives. */
export function memoryUsage(): UsageLedger {
  const table = new UsageTable()
  return {
    record: (event) => table.add(rowOf(event)),
    rows: (from, to) => table.rows(from, to),
  }
}
