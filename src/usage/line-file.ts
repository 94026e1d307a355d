import { joined, type Slices } from '../platform/index.js'
import type { FileSystem } from './system.js'

/** How much is read at once: a file may be larger than the longest string. */
const PIECE = 2 ** 13
const LINE_END = 10
/** Lines that are written at once. */
const TOGETHER = 500

/** A file of lines to which several processes add. A line is written in one call to the system. */
export class LineFile {
  readonly #fs: FileSystem
  readonly #path: string
  #file: number
  /** How far it has been read. */
  #read = 0
  /** It lacks its last line's end, which must not swallow the next line. */
  #torn = false

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs
    this.#path = path
    this.#file = fs.openSync(path, 'a+')
  }

  /** Somebody has put another file in its place, or emptied it: what was read of it holds no longer. */
  get replaced(): boolean {
    const here = this.#fs.statSync(this.#path, { throwIfNoEntry: false })
    return here === undefined || here.ino !== this.#fs.fstatSync(this.#file).ino || here.size < this.#read
  }

  /** Reads the lines that came since the last time. A line without its end is read again unless `take` says it is whole. */
  *read(take: (line: string, ended: boolean) => boolean): Slices<void> {
    const piece = new Uint8Array(PIECE)
    let begun = new Uint8Array()
    for (;;) {
      const length = this.#fs.readSync(this.#file, piece, 0, PIECE, this.#read + begun.length)
      if (length === 0) break
      const bytes = joined([begun, piece.subarray(0, length)])
      const end = bytes.lastIndexOf(LINE_END) + 1
      if (end > 0) for (const line of textOf(bytes.subarray(0, end - 1)).split('\n')) take(line, true)
      this.#read += end
      begun = bytes.slice(end)
      this.#torn = begun.length > 0
      if (length === PIECE) yield
    }
    // Without its end it may be torn, or still on its way.
    if (begun.length > 0 && take(textOf(begun), false)) this.#read += begun.length
  }

  /** Throws where the line is not whole in the file. */
  append(line: string): void {
    const bytes = new TextEncoder().encode(`${this.#torn ? '\n' : ''}${line}\n`)
    const written = this.#fs.writeSync(this.#file, bytes)
    this.#torn = written < bytes.length
    // Its end alone may be missing.
    if (written < bytes.length - 1) throw new Error(`ENOSPC: no space left on device, write '${this.#path}'`)
  }

  /**
   * Puts these lines in place of all that has been read by now, before what is added meanwhile: at once or, where that fails
   * or `seal` is false, not at all. Whether it did. `seal` adds this mark, behind which nobody adds what is to stay.
   */
  *replace(lines: Slices<readonly string[]>, seal: () => boolean, mark: string): Slices<boolean> {
    const covered = this.#read
    const fresh = `${this.#path}.new`
    const file = this.#fs.openSync(fresh, 'w')
    try {
      const filled = yield* this.#fill(file, lines, covered, seal, mark)
      if (!filled) return false
      // Windows renames over no file that is open.
      this.close()
      try {
        this.#fs.renameSync(fresh, this.#path)
        this.#torn = filled.torn
        this.#read = filled.size
      } finally {
        this.#file = this.#fs.openSync(this.#path, 'a+')
      }
      return true
    } finally {
      // It is gone where it has taken the other's place; a full disk has need of what it holds.
      this.#fs.rmSync(fresh, { force: true })
    }
  }

  close(): void {
    this.#fs.closeSync(this.#file)
  }

  /** With the lines, and behind them what has been added before the mark; how much they take. */
  *#fill(
    file: number,
    lines: Slices<readonly string[]>,
    covered: number,
    seal: () => boolean,
    mark: string,
  ): Slices<{ readonly size: number; readonly torn: boolean } | undefined> {
    try {
      const all = yield* lines
      for (let from = 0; from < all.length; from += TOGETHER) {
        const together = all.slice(from, from + TOGETHER).map((line) => `${line}\n`)
        this.#write(file, new TextEncoder().encode(together.join('')))
        yield
      }
      this.#fs.fsyncSync(file)
      if (!seal()) return undefined
      const torn = this.#copy(covered, file, new TextEncoder().encode(mark))
      return { size: this.#fs.fstatSync(file).size, torn }
    } finally {
      this.#fs.closeSync(file)
    }
  }

  /** What stands from there on, up to the mark; whether its last line lacks its end. */
  #copy(from: number, into: number, mark: Uint8Array): boolean {
    const pieces: Uint8Array[] = []
    for (let [at, length] = [from, PIECE]; length > 0; at += length) {
      const piece = new Uint8Array(PIECE)
      length = this.#fs.readSync(this.#file, piece, 0, PIECE, at)
      pieces.push(piece.subarray(0, length))
    }
    const all = joined(pieces)
    // A line that was taken without its end may have got it since.
    const before = all.subarray(all[0] === LINE_END ? 1 : 0, placeIn(all, mark))
    if (before.length > 0) this.#write(into, before)
    return before.length > 0 && before.at(-1) !== LINE_END
  }

  #write(file: number, bytes: Uint8Array): void {
    if (this.#fs.writeSync(file, bytes) < bytes.length) throw new Error(`${this.#path} is full.`)
  }
}

function placeIn(all: Uint8Array, wanted: Uint8Array): number {
  let at = all.indexOf(wanted[0]!)
  while (at >= 0 && wanted.some((byte, i) => all[at + i] !== byte)) at = all.indexOf(wanted[0]!, at + 1)
  if (at < 0) throw new Error('Another process has cut it meanwhile.')
  return at
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
