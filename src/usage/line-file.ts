/** The few functions of `node:fs` used here; Deno has them too. */
interface FileSystem {
  openSync(path: string, flags: string): number
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number
  writeSync(file: number, text: string): number
  fstatSync(file: number): { readonly nlink: number }
  fsyncSync(file: number): void
  renameSync(from: string, to: string): void
  closeSync(file: number): void
}

/** How much is read at once: a file may be larger than the longest string. */
const PIECE = 2 ** 16

/** A file of lines that is read once and then added to. A line is written in one call to the system. */
export class LineFile {
  readonly #fs: FileSystem
  readonly #path: string
  #file: number
  /** How far it has been read. */
  #read = 0
  /** The last line may lack its end: it must not swallow the next one. */
  #torn = false

  private constructor(fs: FileSystem, path: string) {
    this.#fs = fs
    this.#path = path
    this.#file = fs.openSync(path, 'a+')
  }

  static async open(path: string): Promise<LineFile> {
    // In a variable, so that bundlers for browsers do not look for it.
    const name = 'node:fs'
    return new LineFile((await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as FileSystem, path)
  }

  /** The lines that have not been read yet. */
  *unread(): Generator<string> {
    const piece = new Uint8Array(PIECE)
    const decoder = new TextDecoder()
    let begun = ''
    for (;;) {
      const length = this.#fs.readSync(this.#file, piece, 0, PIECE, this.#read)
      if (length === 0) break
      this.#read += length
      const lines = (begun + decoder.decode(piece.subarray(0, length), { stream: true })).split('\n')
      begun = lines.pop()!
      yield* lines
    }
    this.#torn = begun !== ''
    if (this.#torn) yield begun
  }

  append(line: string): void {
    // Another process has put another file in its place.
    if (this.#fs.fstatSync(this.#file).nlink === 0) this.#reopen()
    const text = `${this.#torn ? '\n' : ''}${line}\n`
    this.#torn = true
    this.#write(this.#file, text)
    this.#torn = false
  }

  /** Puts these lines in place of all that was read: at once or, where that fails, not at all. */
  replace(lines: readonly string[]): void {
    const fresh = `${this.#path}.new`
    const file = this.#fs.openSync(fresh, 'w')
    try {
      for (const line of lines) this.#write(file, `${line}\n`)
      // What another process has added meanwhile.
      for (const line of this.unread()) this.#write(file, `${line}\n`)
      this.#fs.fsyncSync(file)
    } finally {
      this.#fs.closeSync(file)
    }
    // Windows renames over no file that is open.
    this.close()
    try {
      this.#fs.renameSync(fresh, this.#path)
      this.#torn = false
    } finally {
      this.#file = this.#fs.openSync(this.#path, 'a+')
    }
  }

  close(): void {
    this.#fs.closeSync(this.#file)
  }

  #write(file: number, text: string): void {
    if (this.#fs.writeSync(file, text) < new TextEncoder().encode(text).length) {
      throw new Error(`${this.#path} is full.`)
    }
  }

  #reopen(): void {
    this.close()
    this.#file = this.#fs.openSync(this.#path, 'a+')
    this.#torn = false
  }
}
