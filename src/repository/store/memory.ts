import type { FileStore, FileWriter, StoredFile } from './store.js'

export function blobFile(blob: Blob): StoredFile {
  return {
    bytes: blob.size,
    slice: async (from, to) => new Uint8Array(await blob.slice(from, to).arrayBuffer()),
  }
}

/** Collects a file in memory; `keep` is given the whole, and says whether it could. */
export function memoryWriter(keep: (blob: Blob) => Promise<boolean>): FileWriter {
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
      return (await keep(blob)) ? blobFile(blob) : { ...blobFile(blob), fleeting: true }
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
