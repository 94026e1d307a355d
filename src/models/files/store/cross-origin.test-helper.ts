/**
 * A stand-in for `navigator.crossOriginStorage`, after its explainer (https://github.com/WICG/cross-origin-storage): all
 * sites of a test see the same files, each as far as it may.
 */
import { createHash } from 'node:crypto'
import type { CrossOriginStorage } from './cross-origin.js'

interface Entry {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** That have stored it: they always find it. */
  readonly storing: Set<string>
  readonly listed: Set<string>
  global: boolean
}

export class SharedFiles {
  readonly entries = new Map<string, Entry>()
  /** Bytes that an origin may store. */
  quota = Number.POSITIVE_INFINITY
  /** A policy forbids it. */
  forbidden = false
  /** Hashes of which all sites may know. */
  readonly publicHashes = new Set<string>()
  readonly requestedHashes: string[] = []

  /** As the pages of an origin see it. */
  of(origin: string): CrossOriginStorage {
    return {
      requestFileHandle: async ({ algorithm, value }, { create = false, origins } = {}) => {
        this.requestedHashes.push(value)
        if (this.forbidden) throw new DOMException('Permissions Policy', 'NotAllowedError')
        if (algorithm !== 'SHA-256' || !/^[0-9a-f]{64}$/.test(value)) throw new TypeError('No hash.')
        const found = this.entries.get(value)
        const seen = found?.storing.has(origin) || found?.listed.has(origin)
        const allowed = seen || (found?.global === true && this.publicHashes.has(value))
        if (!create && !allowed) throw new DOMException('Not found', 'NotFoundError')
        const handle = {
          getFile: async () => new File([this.entries.get(value)!.bytes], value),
          createWritable: async () => this.#writable(origin, value, origins),
        }
        return handle as unknown as FileSystemFileHandle
      },
    }
  }

  #writable(origin: string, value: string, origins: '*' | readonly string[] = []): WritableStream<Uint8Array> {
    const chunks: Uint8Array[] = []
    return new WritableStream({
      write: (chunk) => void chunks.push(chunk.slice()),
      close: () => {
        const bytes = new Uint8Array(Buffer.concat(chunks))
        if (bytes.length > this.quota) throw new DOMException('Too much', 'QuotaExceededError')
        if (createHash('sha256').update(bytes).digest('hex') !== value) throw new DOMException('Other', 'DataError')
        const entry = this.entries.get(value) ?? { bytes, storing: new Set(), listed: new Set(), global: false }
        entry.storing.add(origin)
        if (origins === '*') entry.global = true
        else for (const each of origins) entry.listed.add(each)
        this.entries.set(value, entry)
      },
    })
  }
}
