/**
 * Cross-Origin Storage as proposed (https://wicg.github.io/cross-origin-storage/): files that several sites have once, found
 * by their SHA-256 alone. The browser holds what is written against its hash.
 */
import { notedHash, noteHash } from '../named-hash.js'
import { blobFile, memoryWriter } from './memory.js'
import type { FileStore, StoredFile } from './store.js'

/** `navigator.crossOriginStorage`, where a browser has it. */
export interface CrossOriginStorage {
  requestFileHandle(
    hash: { readonly algorithm: 'SHA-256'; readonly value: string },
    options?: { readonly create?: boolean; readonly origins?: '*' | readonly string[] },
  ): Promise<FileSystemFileHandle>
}

/** `true`: any site may find what this one writes; otherwise those of these origins, and of the same site. */
export type SharedWith = true | readonly string[]

/** Undefined where this browser has none. */
export function crossOriginStorage(): CrossOriginStorage | undefined {
  const { navigator } = globalThis as { navigator?: { crossOriginStorage?: Partial<CrossOriginStorage> } }
  const found = navigator?.crossOriginStorage
  return typeof found?.requestFileHandle === 'function' ? (found as CrossOriginStorage) : undefined
}

/** `own`, but for files whose hash is known: these are shared. What cannot be is kept in `own`. */
export function sharedStore(own: FileStore, shared: CrossOriginStorage, sharedWith: SharedWith): FileStore {
  const origins = sharedWith === true ? '*' : sharedWith

  async function find(value: string): Promise<StoredFile | undefined> {
    try {
      const file = await (await shared.requestFileHandle({ algorithm: 'SHA-256', value })).getFile()
      return file.size > 0 ? blobFile(file) : undefined
    } catch {
      // It is not there, or this page may not ask: both look alike, and neither keeps a model from being loaded.
      return undefined
    }
  }

  async function share(blob: Blob, value: string): Promise<boolean> {
    try {
      const handle = await shared.requestFileHandle({ algorithm: 'SHA-256', value }, { create: true, origins })
      await blob.stream().pipeTo(await handle.createWritable())
      return true
    } catch {
      return false
    }
  }

  return {
    ...own,
    asksForHashes: true,
    async read(url, sha256) {
      const kept = await own.read(url)
      if (kept) return kept
      const hash = sha256 ?? (await notedHash(own, url))?.sha256
      return hash === undefined ? undefined : find(hash)
    },
    async write(url, sha256) {
      if (sha256 === undefined) return own.write(url)
      return memoryWriter(async (blob) => {
        if (!(await share(blob, sha256))) return keep(own, url, blob)
        await noteHash(own, url, sha256)
        return true
      })
    },
  }
}

async function keep(store: FileStore, url: string, blob: Blob): Promise<boolean> {
  const writer = await store.write(url)
  try {
    await writer.restart()
    for (let at = 0; at < blob.size; at += 1 << 22) {
      await writer.append(new Uint8Array(await blob.slice(at, at + (1 << 22)).arrayBuffer()))
    }
    return !(await (
      await writer.commit()
    ).fleeting)
  } finally {
    await writer.close()
  }
}
