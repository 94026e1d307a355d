/** Where downloaded files are kept, by their address. */
export interface FileStore {
  read(url: string): Promise<StoredFile | undefined>
  /** Begins a file, or goes on where an earlier download of it broke off. */
  write(url: string): Promise<FileWriter>
  /** Bytes of the whole files whose addresses begin with `base`, which ends with a slash. */
  kept(base: string): Promise<number>
  /** Deletes all files below `base`, begun ones too. */
  forget(base: string): Promise<void>
}

export interface StoredFile {
  readonly bytes: number
  slice(from: number, to: number): Promise<Uint8Array>
}

/** One download. Nobody reads the file before `commit`. */
export interface FileWriter {
  /** Bytes held, those of an earlier attempt included. */
  readonly written: number
  append(chunk: Uint8Array): Promise<void>
  /** All bytes held so far, for the hash. */
  contents(): AsyncIterable<Uint8Array>
  /** Forgets what is held. */
  restart(): Promise<void>
  commit(): Promise<StoredFile>
  /** Leaves; what is held may serve a later attempt. */
  close(): Promise<void>
}

export function blobFile(blob: Blob): StoredFile {
  return {
    bytes: blob.size,
    slice: async (from, to) => new Uint8Array(await blob.slice(from, to).arrayBuffer()),
  }
}

/** Collects a file in memory; `keep` is given the whole. */
export function memoryWriter(keep: (blob: Blob) => Promise<void>): FileWriter {
  let chunks: Uint8Array<ArrayBuffer>[] = []
  let written = 0
  return {
    get written() {
      return written
    },
    async append(chunk) {
      chunks.push(chunk as Uint8Array<ArrayBuffer>)
      written += chunk.length
    },
    async *contents() {
      yield* chunks
    },
    async restart() {
      chunks = []
      written = 0
    },
    async commit() {
      const blob = new Blob(chunks)
      chunks = []
      await keep(blob)
      return blobFile(blob)
    },
    async close() {},
  }
}

/** Keeps nothing beyond the load. */
export const noStore: FileStore = {
  read: async () => undefined,
  write: async () => memoryWriter(async () => {}),
  kept: async () => 0,
  forget: async () => {},
}
