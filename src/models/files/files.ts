/** A file that must be whole: what the repository says of it is checked before anyone reads it. */
export interface WantedFile {
  readonly name: string
  readonly bytes?: number
  /** What its head says that it must have, where nobody names its size. */
  readonly least?: number
  /** Hashes in hexadecimal digits, as far as the repository names them. */
  readonly md5?: string
  readonly sha256?: string
}

/** What a store says of a file. */
export type KnownOfFile = Omit<WantedFile, 'name'>

/** The files of one model repository, wherever they lie. */
export interface RepositoryFiles {
  /** Where it lies, for messages. */
  readonly place: string
  /** The one file that the model is in, where it was named. */
  readonly file?: string
  /** What making its files ready is called in progress reports. */
  readonly phase: 'download' | 'read'
  /** A small file; undefined where there is none. */
  text(name: string, signal: AbortSignal): Promise<string | undefined>
  /** Makes a large file ready for `slice`: fetched, verified, kept. `onBytes` hears of bytes that are ready (or lost). */
  fetch(file: WantedFile, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>
  /** Bytes of a file that need not be ready: what must be known before it is fetched. Fewer where it ends before. */
  head(name: string, from: number, to: number, signal: AbortSignal): Promise<Uint8Array>
  /** Bytes of a file that was fetched. `into` has room for them, and may be used for them: a large array less. */
  slice(name: string, from: number, to: number, into?: Uint8Array): Promise<Uint8Array>
  /** What is said of a file where it lies, beyond what its format says. */
  known?(name: string): Promise<KnownOfFile | undefined>
  /** The file on this disk, once it is fetched; absent or undefined: it lies on none. */
  pathOf?(name: string): string | undefined
  /** No more bytes of this file will be asked for. */
  release(name: string): void
}
