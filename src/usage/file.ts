import { assertOptions, atOnce, inTurns, mapped, type Slices } from '../platform/index.js'
import { usageEntriesOf } from './entries.js'
import type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'
import { LineFile } from './line-file.js'
import { Presence } from './presence.js'
import { nodeSystem, type System } from './system.js'
import { rowOf, UsageTable } from './table.js'

export interface FileUsageOptions {
  /**
   * How many lines the file may have. When it is longer, the lines are replaced by sums by minute, caller, project and
   * model. Reports stay the same.
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
  assertOptions<FileUsageOptions>('fileUsage', options, { maxLines: true })
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
      await ledger?.close()
    },
  }
}

/** The longest that another is waited for that is about to replace the file. */
const BUSY_MS = 30_000

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
  /** Who is about to replace the file: what stands behind its mark counts for nobody, and its writer adds it anew. */
  #sealedBy: string | undefined
  /** The line that is added, unless it stands behind such a mark. */
  #adding: string | undefined
  /** Another file is read that is in its place now. */
  #moving: Promise<void> | undefined
  readonly #recording = new Set<Promise<void>>()

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
    const presence = new Presence(system, real)
    // Whether anything can be written there is told now.
    presence.claim()
    presence.settle()
    const ledger = new FileLedger(system, real, presence, maxLines)
    // It may have a hundred thousand lines, and nobody but who waits for it shall be kept waiting.
    await inTurns(ledger.#begin(), undefined)
    return ledger
  }

  *#begin(): Slices<void> {
    yield* this.#followInSlices()
    if (this.#isLong) yield* this.#shorten()
  }

  record(event: UsageEvent): Promise<void> {
    const recorded = this.#record(event)
    this.#recording.add(recorded)
    return recorded.finally(() => this.#recording.delete(recorded))
  }

  async #record(event: UsageEvent): Promise<void> {
    try {
      const until = performance.now() + BUSY_MS
      while (!(await this.#isStored(JSON.stringify(event)))) {
        if (performance.now() > until) throw new Error('another process has been replacing it for long')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    } catch (error) {
      if (this.#unsaved.size === 0) {
        console.warn(
          `local-v1: ${this.#path} cannot be written, usage is counted in memory until it can: ${messageOf(error)}`,
        )
      }
      this.#unsaved.add(rowOf(event))
      return
    }
    if (!this.#isLong || this.#shortening) return
    this.#shortening = this.#shorten()
    void inTurns(this.#shortening, undefined)
  }

  async rows(from: number, to: number): Promise<UsageRow[]> {
    try {
      await this.#keepUp()
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

  async close(): Promise<void> {
    await Promise.all(this.#recording)
    this.#shortening?.return()
    try {
      if (this.#unsaved.size > 0) await this.#keepUp()
      if (!this.#save()) throw new Error('another process is replacing it')
    } catch (error) {
      const lost = this.#unsaved.rows().reduce((sum, { requests }) => sum + requests, 0)
      console.warn(
        `local-v1: the usage of ${lost} requests is lost, ${this.#path} cannot be written: ${messageOf(error)}`,
      )
    } finally {
      this.#lines.close()
    }
  }

  /** Whether the file has it, and what it could not take before. Throws where it takes nothing. */
  async #isStored(line: string): Promise<boolean> {
    await this.#keepUp()
    return this.#save() && this.#add(line)
  }

  /** Writes what the file could not take before, or as much of it as it takes now. */
  #save(): boolean {
    if (this.#unsaved.size === 0) return true
    for (let row = this.#unsaved.take(); row; row = this.#unsaved.take()) {
      let stored = false
      try {
        // Of two who save the same sums each knows its own line, as it does that of a request by its id.
        stored = this.#add(JSON.stringify({ ...row, by: this.#presence.id }))
      } finally {
        if (!stored) this.#unsaved.add(row)
      }
      if (!stored) return false
    }
    console.warn(`local-v1: ${this.#path} can be written again and has all usage.`)
    return true
  }

  /** Whether the line stands before any mark of one who replaces the file. */
  #add(line: string): boolean {
    if (!this.#isFree()) return false
    this.#adding = line
    this.#lines.append(line)
    this.#follow()
    return this.#adding !== undefined
  }

  #isFree(): boolean {
    const by = this.#sealedBy
    if (by === undefined) return true
    // In this order: whoever is no longer busy has replaced it before.
    if (this.#presence.isBusy(by) || this.#lines.replaced) return false
    this.#open(by)
    return this.#sealedBy === undefined
  }

  /** The file stays, as who was about to replace it has failed, or was killed. */
  #open(by: string): void {
    this.#lines.append(JSON.stringify({ opened: by }))
    this.#follow()
  }

  /** Goes on in the file that somebody has put in the place of this one. */
  async #keepUp(): Promise<void> {
    if (!this.#moving && this.#lines.replaced) {
      const lines = new LineFile(this.#system.fs, this.#path)
      this.#lines.close()
      this.#lines = lines
      this.#table = new UsageTable()
      this.#since = undefined
      this.#sealedBy = undefined
      this.#count = 0
      this.#most = this.#maxLines
      this.#moving = inTurns(this.#followInSlices(), undefined).finally(() => {
        this.#moving = undefined
      })
    }
    await this.#moving
  }

  /** Takes in what was added, by this process and by others. */
  #follow(): void {
    atOnce(this.#followInSlices())
  }

  *#followInSlices(): Slices<void> {
    yield* this.#lines.read((line, ended) => {
      const taken = this.#take(line, ended)
      if (taken) this.#count++
      return taken
    })
  }

  /** Whether all of it was taken: of a line without its end, all or nothing. */
  #take(line: string, ended: boolean): boolean {
    const entries = usageEntriesOf(line)
    const { row, sealed, opened } = entries.at(-1)!
    if (!ended && (row ?? sealed ?? opened) === undefined) return false
    for (const { text, row, sealed, opened } of entries) {
      if (sealed !== undefined) this.#sealedBy ??= sealed
      else if (opened !== undefined && opened === this.#sealedBy) this.#sealedBy = undefined
      else if (row && this.#sealedBy === undefined) (this.#since ?? this.#table).add(row)
      else if (text === this.#adding) this.#adding = undefined
    }
    return true
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
      if (!this.#isFree() || !this.#presence.claim()) return
      const { id } = this.#presence
      const mark = JSON.stringify({ sealed: id })
      const seal = () => {
        if (this.#lines !== lines || lines.replaced || !this.#presence.alone) return false
        lines.append(mark)
        this.#follow()
        return this.#sealedBy === id
      }
      const rows = mapped(this.#table.rows(), (row) => JSON.stringify(row))
      if (!(yield* lines.replace(rows, seal, mark))) return
      this.#sealedBy = undefined
      // The mark is in the other one.
      this.#count += this.#table.size - before - 1
      this.#most = this.#maxLines
    } catch (error) {
      // A folder that may not be written to, or a full disk: the long file serves as well.
      console.warn(`local-v1: ${this.#path} could not be shortened: ${messageOf(error)}`)
    } finally {
      this.#since = undefined
      this.#shortening = undefined
      // Of another file nothing of it is known.
      if (this.#lines === lines) for (const row of since.rows()) this.#table.add(row)
      this.#giveUp()
    }
  }

  /** Where the file has not been replaced it stays. */
  #giveUp(): void {
    const { id } = this.#presence
    try {
      if (this.#sealedBy === id) this.#open(id)
    } catch {
      // There is no room: whoever comes next sees that nobody is at it.
    }
    try {
      this.#presence.settle()
    } catch {
      // Its folder is gone, and its note with it.
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
