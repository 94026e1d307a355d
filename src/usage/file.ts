import { atOnce, inTurns, mapped, type Slices } from '../platform/index.js'
import type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'
import { LineFile } from './line-file.js'
import { Presence } from './presence.js'
import { nodeSystem, type System } from './system.js'
import { rowOf, UsageTable } from './table.js'

export interface FileUsageOptions {
  /**
   * How many lines the file may have. When it is longer, and no other process uses it, the lines are replaced by sums by
   * minute, caller, project and model. Reports stay the same.
   * @default 100000
   */
  maxLines?: number
}

/**
 * Usage in a file of JSON lines, one for each request, for Node and Deno. A line is written before its answer ends, in one
 * system call: a process that is killed loses nothing that it has answered, and an incomplete line after a crash of the
 * machine is ignored. Several processes may share one file: each reports what all have counted. While the disk is full,
 * usage is counted in memory.
 */
export function fileUsage(path: string, options: FileUsageOptions = {}): UsageLedger {
  return fileUsageOn(nodeSystem, path, options)
}

/** `fileUsage` on a file system that a test can fill. */
export function fileUsageOn(
  system: () => Promise<System>,
  path: string,
  { maxLines = 100_000 }: FileUsageOptions,
): UsageLedger {
  let opening: Promise<FileLedger> | undefined
  const opened = () => {
    opening ??= system().then((here) => FileLedger.open(here, path, maxLines))
    // A directory that is missing now may be there at the next request.
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }
  return {
    open: async () => void (await opened()),
    record: async (event) => (await opened()).record(event),
    rows: async (from, to) => (await opened()).rows(from, to),
    async close() {
      const ledger = await opening
      opening = undefined
      ledger?.close()
    },
  }
}

class FileLedger {
  readonly #system: System
  readonly #path: string
  readonly #presence: Presence
  readonly #maxLines: number
  #lines: LineFile
  /** How many have been read of it. */
  #count = 0
  /** How many it may have until it is shortened. */
  #most: number
  /** What the file holds, whoever wrote it. */
  #table = new UsageTable()
  /** What came while it is shortened: the sums stay as they are until they are written. */
  #since: UsageTable | undefined
  #shortening: Slices<void> | undefined
  /** What the file could not take. */
  #unsaved = new UsageTable()

  private constructor(system: System, path: string, presence: Presence, maxLines: number) {
    this.#system = system
    this.#path = path
    this.#presence = presence
    this.#maxLines = maxLines
    this.#most = maxLines
    this.#lines = new LineFile(system.fs, path)
  }

  static async open(system: System, path: string, maxLines: number): Promise<FileLedger> {
    // Others may come to it by another name; and the file is to be replaced, not a link to it.
    const real = realPath(system, path)
    const presence = await Presence.at(system, real)
    try {
      const ledger = new FileLedger(system, real, presence, maxLines)
      // It may have a hundred thousand lines, and nobody but who waits for it shall be kept waiting.
      await inTurns(ledger.#begin(), undefined)
      presence.settle()
      return ledger
    } catch (error) {
      presence.leave()
      throw error
    }
  }

  *#begin(): Slices<void> {
    yield* this.#followInSlices()
    if (this.#isLong) yield* this.#shorten()
  }

  record(event: UsageEvent): void {
    this.#presence.renew()
    try {
      this.#keepUp()
      this.#save()
      this.#lines.append(JSON.stringify(event))
    } catch (error) {
      if (this.#unsaved.size === 0) {
        console.warn(
          `local-v1: ${this.#path} cannot be written, usage is counted in memory until it can: ${messageOf(error)}`,
        )
      }
      this.#unsaved.add(rowOf(event))
      return
    }
    this.#follow()
    if (!this.#isLong || this.#shortening) return
    this.#shortening = this.#shorten()
    void inTurns(this.#shortening, undefined)
  }

  rows(from: number, to: number): UsageRow[] {
    this.#presence.renew()
    try {
      this.#keepUp()
    } catch {
      // Its folder is gone: what was counted is still known here.
    }
    this.#follow()
    const more = [this.#since, this.#unsaved].filter((table) => table !== undefined && table.size > 0)
    if (more.length === 0) return this.#table.rows(from, to)
    const all = new UsageTable()
    for (const table of [this.#table, ...more]) for (const row of table!.rows(from, to)) all.add(row)
    return all.rows()
  }

  close(): void {
    this.#shortening?.return()
    try {
      this.#save()
    } catch (error) {
      const lost = this.#unsaved.rows().reduce((sum, { requests }) => sum + requests, 0)
      console.warn(
        `local-v1: the usage of ${lost} requests is lost, ${this.#path} cannot be written: ${messageOf(error)}`,
      )
    } finally {
      this.#lines.close()
      this.#presence.leave()
    }
  }

  /** Writes what the file could not take before, or as much of it as it takes now. */
  #save(): void {
    if (this.#unsaved.size === 0) return
    this.#keepUp()
    for (let row = this.#unsaved.take(); row; row = this.#unsaved.take()) {
      try {
        this.#lines.append(JSON.stringify(row))
      } catch (error) {
        this.#unsaved.add(row)
        throw error
      }
    }
    console.warn(`local-v1: ${this.#path} can be written again and has all usage.`)
  }

  /** Goes on in the file that somebody has put in the place of this one. */
  #keepUp(): void {
    if (!this.#lines.replaced) return
    const lines = new LineFile(this.#system.fs, this.#path)
    this.#lines.close()
    this.#lines = lines
    this.#table = new UsageTable()
    this.#since = undefined
    this.#count = 0
    this.#most = this.#maxLines
  }

  /** Takes in what was added, by this process and by others. */
  #follow(): void {
    atOnce(this.#followInSlices())
  }

  *#followInSlices(): Slices<void> {
    yield* this.#lines.read((line, ended) => {
      const taken = takeLine(line, ended, this.#since ?? this.#table)
      if (taken) this.#count++
      return taken
    })
  }

  /** By half at least, so that it is worth its while. */
  get #isLong(): boolean {
    return this.#count > this.#most && this.#table.size <= this.#count / 2
  }

  /** Sums in place of the lines, while requests go on: one that serves for months would have the longest file. */
  *#shorten(): Slices<void> {
    const lines = this.#lines
    const before = this.#count
    const since = new UsageTable()
    this.#since = since
    // What cannot be done now is tried again once it is half again as long.
    this.#most = before * 1.5
    try {
      if (!this.#presence.claim()) return
      const rows = mapped(this.#table.rows(), (row) => JSON.stringify(row))
      if (!(yield* lines.replace(rows, () => this.#lines === lines && this.#presence.alone))) return
      this.#count += this.#table.size - before
      this.#most = this.#maxLines
    } catch (error) {
      // A folder that may not be written to, or a full disk: the long file serves as well.
      console.warn(`local-v1: ${this.#path} could not be shortened: ${messageOf(error)}`)
    } finally {
      this.#since = undefined
      this.#shortening = undefined
      // Of another file nothing of it is known.
      if (this.#lines === lines) for (const row of since.rows()) this.#table.add(row)
      try {
        this.#presence.settle()
      } catch {
        // Its folder is gone, and its note with it.
      }
    }
  }
}

/** Where a link says that the file is; the path itself where it is none, or says so of no place that can be written. */
function realPath({ fs }: System, path: string): string {
  try {
    fs.readlinkSync(path)
    // Of a file that is yet to come nobody says where it will be.
    fs.closeSync(fs.openSync(path, 'a'))
    return fs.realpathSync(path)
  } catch {
    return path
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The beginnings of entries. Where a process died before it wrote a line's end, the next line follows it directly. */
const ENTRY = /(?=\{"(?:time|start)":)/

/** Whether all of it was taken: of a line without its end, all or nothing. */
function takeLine(line: string, ended: boolean, table: UsageTable): boolean {
  const rows = line.split(ENTRY).map(parsed)
  if (!ended && rows.at(-1) === undefined) return false
  for (const row of rows) if (row) table.add(row)
  return true
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
