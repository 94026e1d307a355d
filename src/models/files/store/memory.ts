import { joined } from '../../../platform/index.js'
import type { FileStore, FileWriter, StoredFile } from './store.js'

/** A file as large as that is read at one go: a browser takes as long over a small piece of a blob. */
const MOST_AT_ONCE = 32 * 2 ** 20
/** Up to that a file that was just downloaded stays here until it is read; a large model has many larger ones. */
const MOST_HELD = 16 * 2 ** 20

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

const heldFile = (bytes: Uint8Array): StoredFile => ({
  bytes: bytes.length,
  slice: async (from, to) => bytes.slice(from, to),
})

/**
 * Collects a file in memory; `keep` is given the whole, and says whether it could. With `ahead` the file is read before
 * that: who waits for a model does not wait for a disk.
 */
export function memoryWriter(keep: (blob: Blob) => Promise<boolean>, { ahead = false } = {}): FileWriter {
  let chunks: Uint8Array<ArrayBuffer>[] = []
  let written = 0
  /** Once it is all there: in one piece, as it is hashed, kept and read, where that is not too much. */
  const collected = () => {
    if (chunks.length > 1 && written <= MOST_HELD) chunks = [joined(chunks)]
    return chunks
  }
  return {
    get written() {
      return written
    },
    async append(chunk) {
      chunks.push(chunk as Uint8Array<ArrayBuffer>)
      written += chunk.length
    },
    async *contents() {
      yield* collected()
    },
    async restart() {
      chunks = []
      written = 0
    },
    async commit() {
      const [whole] = collected()
      const blob = new Blob(chunks)
      chunks = []
      const fleeting = keep(blob).then((kept) => !kept)
      if (!ahead) await fleeting
      // What a browser has as a blob comes back by another process.
      return { ...(whole?.length === written && written <= MOST_HELD ? heldFile(whole) : blobFile(blob)), fleeting }
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
