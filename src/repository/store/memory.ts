import type { FileStore, FileWriter, StoredFile } from './store.js'

/** A file as large as that is read at one go: a browser takes as long over a small piece of a blob. */
const MOST_AT_ONCE = 32 * 2 ** 20

export function blobFile(blob: Blob): StoredFile {
  let whole: Promise<ArrayBuffer> | undefined
  return {
    bytes: blob.size,
    async slice(from, to) {
      if (blob.size > MOST_AT_ONCE) return new Uint8Array(await blob.slice(from, to).arrayBuffer())
      whole ??= blob.arrayBuffer()
      return new Uint8Array((await whole).slice(from, to))
    },
  }
}

/**
 * Collects a file in memory; `keep` is given the whole, and says whether it could. With `ahead` the file is read before
 * that: who waits for a model does not wait for a disk.
 */
export function memoryWriter(keep: (blob: Blob) => Promise<boolean>, { ahead = false } = {}): FileWriter {
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
      const fleeting = keep(blob).then((kept) => !kept)
      if (!ahead) await fleeting
      return { ...blobFile(blob), fleeting }
    },
    async close() {},
  }
}

/** Keeps nothing beyond the load. */
export const noStore: FileStore = {
  read: async () => undefined,
  write: async () => memoryWriter(async () => true),
  kept: async () => 0,
  repositories: async () => [],
  room: async () => undefined,
  forget: async () => {},
}
