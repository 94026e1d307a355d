import type { System } from './system.js'

/** A note of a process that cannot be asked for is believed this long after it was last renewed. */
const BELIEVED_MS = 300_000
const RENEWED_MS = 60_000
/** The longest that another is waited for while it may replace the file. */
const BUSY_MS = 30_000

const FORBIDDEN: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS'])

/**
 * Who has a file open. Everybody leaves a note beside it (`<file>.<id>.busy` while it may be replaced, `.open` otherwise),
 * so that the file is replaced by one who is alone with it. Of two who come at once each writes its note before it looks for
 * others: at least one sees the other. A note of a process that was killed is taken away by the next one who comes.
 */
export class Presence {
  readonly #system: System
  readonly #folder: string
  readonly #file: string
  readonly #id: string
  /** Undefined in a folder that takes none: nobody replaces a file there. */
  #note: string | undefined
  #renewed = Date.now()

  private constructor(system: System, path: string) {
    const name = path.lastIndexOf('/') + 1 || path.lastIndexOf('\\') + 1
    this.#system = system
    this.#folder = path.slice(0, name) || './'
    this.#file = path.slice(name)
    this.#id = `${system.pid}-${Math.random().toString(36).slice(2, 10)}`
    const note = this.#noteThatIs('busy')
    try {
      write(system, note)
      this.#note = note
    } catch (error) {
      if (FORBIDDEN.has((error as { code?: string }).code)) return
      system.fs.rmSync(note, { force: true })
      throw error
    }
  }

  /** Settles when nobody else is about to replace the file. */
  static async at(system: System, path: string): Promise<Presence> {
    const presence = new Presence(system, path)
    if (presence.#note === undefined || presence.alone) return presence
    // Two who are busy would wait for each other.
    presence.settle()
    const until = performance.now() + BUSY_MS
    while (presence.#others().some((note) => note.endsWith('.busy')) && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return presence
  }

  /** Nobody else has the file, and whoever comes now waits until `settle`. */
  get alone(): boolean {
    return this.#note?.endsWith('.busy') === true && this.#others().length === 0
  }

  /** From now on the file stays in its place. */
  settle(): void {
    if (this.#note?.endsWith('.busy')) this.#become('open')
  }

  /** Whether it may be replaced, until `settle`: of two who want to, one at most may. */
  claim(): boolean {
    // Whoever has it for long is not to keep others waiting for each try.
    if (this.#note === undefined || this.#others().length > 0) return false
    this.#become('busy')
    return this.alone
  }

  #become(state: 'busy' | 'open'): void {
    const before = this.#note!
    this.#note = this.#noteThatIs(state)
    this.#system.fs.renameSync(before, this.#note)
  }

  /** To be called now and then. */
  renew(): void {
    const now = Date.now()
    // The clock may be set back.
    if (this.#note === undefined || Math.abs(now - this.#renewed) < RENEWED_MS) return
    this.#renewed = now
    try {
      write(this.#system, this.#note)
    } catch {
      // A full disk: the next time may find room.
    }
  }

  leave(): void {
    if (this.#note) this.#system.fs.rmSync(this.#note, { force: true })
  }

  #noteThatIs(state: 'busy' | 'open'): string {
    return `${this.#folder}${this.#file}.${this.#id}.${state}`
  }

  #others(): string[] {
    return this.#system.fs.readdirSync(this.#folder).filter((name) => {
      if (!name.startsWith(`${this.#file}.`)) return false
      const note = /^\.((\d+)-[a-z0-9]+)\.(?:busy|open)$/.exec(name.slice(this.#file.length))
      return note !== null && note[1] !== this.#id && this.#isHere(this.#folder + name, Number(note[2]))
    })
  }

  #isHere(note: string, pid: number): boolean {
    const { fs, host, began, pid: own, ended } = this.#system
    const facts = fs.statSync(note, { throwIfNoEntry: false })
    if (facts === undefined) return false
    // In a container that is started again a process has the number of the one that was killed.
    const isGone = () => ended(pid) || (pid === own && facts.mtimeMs < began)
    const gone = hostOf(fs, note) === host ? isGone() : Date.now() - facts.mtimeMs > BELIEVED_MS
    if (gone) fs.rmSync(note, { force: true })
    return !gone
  }
}

function write({ fs, host }: System, note: string): void {
  const file = fs.openSync(note, 'w')
  try {
    const bytes = new TextEncoder().encode(host)
    if (fs.writeSync(file, bytes) < bytes.length) throw new Error(`ENOSPC: no space left on device, write '${note}'`)
  } finally {
    fs.closeSync(file)
  }
}

function hostOf(fs: System['fs'], note: string): string | undefined {
  try {
    return fs.readFileSync(note, 'utf8')
  } catch {
    return undefined
  }
}
