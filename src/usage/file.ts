import type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'
import { LineFile } from './line-file.js'
import { rowOf, UsageTable } from './table.js'

export interface FileUsageOptions {
  /**
   * How many lines the file may have when it is opened. If it has more they are summed up by minute, caller, project and
   * model, as usage is reported anyway.
   * @default 100000
   */
  maxLines?: number
}

interface OpenFile {
  readonly table: UsageTable
  readonly lines: LineFile
}

/**
 * Usage in a file of JSON lines, one per request, for Node and Deno. A line is written before its answer ends, in one
 * call to the system: a process that is killed loses nothing it has answered, and a line torn by a crash of the whole
 * machine is passed over.
 */
export function fileUsage(path: string, { maxLines = 100_000 }: FileUsageOptions = {}): UsageLedger {
  let opening: Promise<OpenFile> | undefined
  const opened = () => {
    opening ??= open(path, maxLines)
    // A directory that is missing now may be there at the next request.
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }
  return {
    async record(event) {
      const { lines, table } = await opened()
      lines.append(JSON.stringify(event))
      table.add(rowOf(event))
    },
    rows: async (from, to) => (await opened()).table.rows(from, to),
    async close() {
      const file = await opening
      opening = undefined
      file?.lines.close()
    },
  }
}

async function open(path: string, maxLines: number): Promise<OpenFile> {
  const table = new UsageTable()
  const lines = await LineFile.open(path)
  let count = 0
  for (const line of lines.unread()) {
    count++
    const row = parsed(line)
    if (row) table.add(row)
  }
  // Half at least, so that it is worth its while, and not done at every start.
  if (count > maxLines && table.size <= count / 2) {
    try {
      lines.replace(table.rows().map((row) => JSON.stringify(row)))
    } catch (error) {
      // A folder that may not be written to, or a full disk: the long file serves as well.
      console.warn(`local-v1: ${path} could not be shortened: ${(error as Error).message}`)
    }
  }
  return { table, lines }
}

/** A line is a request, or the sum of several. */
function parsed(line: string): UsageRow | undefined {
  try {
    const entry = JSON.parse(line) as Partial<UsageRow & UsageEvent>
    const { promptTokens, cachedTokens, completionTokens, caller, model } = entry
    if (typeof caller !== 'string' || typeof model !== 'string') return undefined
    if (![promptTokens, cachedTokens, completionTokens].every(Number.isFinite)) return undefined
    if (Number.isFinite(entry.time)) return rowOf(entry as UsageEvent)
    const sums = [entry.start, entry.requests, entry.errors, entry.aborts]
    return sums.every(Number.isFinite) ? (entry as UsageRow) : undefined
  } catch {
    return undefined
  }
}
