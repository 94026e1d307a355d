import type { System } from './system.js'

/** A note of a process that cannot be asked for is believed for so long. */
const BELIEVED_MS = 300_000

const FORBIDDEN: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS'])

/**
 * Who is about to replace a file. Whoever wants to leaves a note beside it (`<file>.<id>.busy`), and may if it sees that of
 * nobody else: of two who come at once each makes its note before it looks for others, so at least one sees the other. A
 * note of a process that was killed is taken away by the next one who comes: its name says all, as a process may be killed
 * before it has written anything into it.
 */
export class Presence {
  /** Another each time that it claims the file: what is said of one time says nothing of the next. */
  id = ''
  readonly #system: System
  readonly #folder: string
  readonly #file: string

  constructor(system: System, path: string) {
    const name = path.lastIndexOf('/') + 1 || path.lastIndexOf('\\') + 1
    this.#system = system
    this.#folder = path.slice(0, name) || './'
    this.#file = path.slice(name)
  }

  /** Whether the file may be replaced, until `settle`: in a folder that takes no notes it never may. */
  claim(): boolean {
    this.id = `${this.#system.pid}-${this.#system.host}-${Math.random().toString(36).slice(2, 10)}`
    try {
      write(this.#system, this.#noteOf(this.id))
    } catch (error) {
      if (FORBIDDEN.has((error as { code?: string }).code)) return false
      this.settle()
      throw error
    }
    if (this.alone) return true
    this.settle()
    return false
  }

  /** It still may: nobody has taken its note for that of one who is gone, and nobody else has come. */
  get alone(): boolean {
    const mine = this.#system.fs.statSync(this.#noteOf(this.id), { throwIfNoEntry: false })
    return mine !== undefined && !this.#notes().some((id) => id !== this.id && this.isBusy(id))
  }

  /** From now on the file stays in its place. */
  settle(): void {
    this.#system.fs.rmSync(this.#noteOf(this.id), { force: true })
  }

  /** Whether somebody of this id is still about to replace it. */
  isBusy(id: string): boolean {
    const { fs, host, began, pid: own, ended } = this.#system
    const note = this.#noteOf(id)
    const facts = fs.statSync(note, { throwIfNoEntry: false })
    if (facts === undefined) return false
    const pid = Number.parseInt(id, 10)
    const isOfHere = id.split('-')[1] === host
    // In a container that is started again a process has the number of the one that was killed.
    const isGone = () => ended(pid) || (pid === own && facts.mtimeMs < began)
    const gone = isOfHere ? isGone() : Date.now() - facts.mtimeMs > BELIEVED_MS
    if (gone) fs.rmSync(note, { force: true })
    return !gone
  }

  #noteOf(id: string): string {
    return `${this.#folder}${this.#file}.${id}.busy`
  }

  /** The ids of all who have left one. */
  #notes(): string[] {
    const names = this.#system.fs.readdirSync(this.#folder).filter((name) => name.startsWith(`${this.#file}.`))
    return names.flatMap((name) => /^\.(\d+-[a-z0-9]+-[a-z0-9]+)\.busy$/.exec(name.slice(this.#file.length))?.[1] ?? [])
  }
}

/** Something in it, which a full disk does not take. */
function write({ fs }: System, note: string): void {
  const file = fs.openSync(note, 'w')
  try {
    if (fs.writeSync(file, Uint8Array.of(10)) < 1) throw new Error(`ENOSPC: no space left on device, write '${note}'`)
  } finally {
    fs.closeSync(file)
  }
}
