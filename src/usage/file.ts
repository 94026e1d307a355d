import type { UsageEvent, UsageLedger } from './ledger.js'
import { rowOf, UsageTable } from './table.js'

/** The few functions of `node:fs` used here; Deno has them too. */
interface FileSystem {
  openSync(path: string, flags: string): number
  readFileSync(path: string, encoding: 'utf8'): string
  writeSync(file: number, text: string): number
  closeSync(file: number): void
}

interface OpenFile {
  readonly table: UsageTable
  append(event: UsageEvent): void
  close(): void
}

/**
 * Usage in a file of one JSON line per request, for Node and Deno. A line is written before its answer ends, in one
 * call to the system: a process that is killed loses nothing it has answered, and a line torn by a crash of the whole
 * machine is passed over.
 */
export function fileUsage(path: string): UsageLedger {
  let opening: Promise<OpenFile> | undefined
  const opened = () => {
    opening ??= open(path)
    // A directory that is missing now may be there at the next request.
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }
  return {
    record: async (event) => (await opened()).append(event),
    rows: async (from, to) => (await opened()).table.rows(from, to),
    async close() {
      const file = await opening
      opening = undefined
      file?.close()
    },
  }
}

async function open(path: string): Promise<OpenFile> {
  // In a variable, so that bundlers for browsers do not look for it.
  const name = 'node:fs'
  const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as FileSystem
  const table = new UsageTable()
  const file = fs.openSync(path, 'a+')
  const text = fs.readFileSync(path, 'utf8')
  for (const line of text.split('\n')) {
    const event = parsed(line)
    if (event) table.add(rowOf(event))
  }
  let torn = text !== '' && !text.endsWith('\n')
  return {
    table,
    append(event) {
      // What is left of a torn line must not swallow the next one.
      const line = `${torn ? '\n' : ''}${JSON.stringify(event)}\n`
      torn = true
      if (fs.writeSync(file, line) < new TextEncoder().encode(line).length) throw new Error(`${path} is full.`)
      torn = false
      table.add(rowOf(event))
    },
    close: () => fs.closeSync(file),
  }
}

function parsed(line: string): UsageEvent | undefined {
  try {
    const event = JSON.parse(line) as Partial<UsageEvent>
    const counts = [event.time, event.promptTokens, event.cachedTokens, event.completionTokens]
    const whole = counts.every(Number.isFinite) && typeof event.caller === 'string' && typeof event.model === 'string'
    return whole ? (event as UsageEvent) : undefined
  } catch {
    return undefined
  }
}
