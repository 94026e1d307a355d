import { type FileStore, noStore } from '../../../models/index.js'

export interface SeenStore extends FileStore {
  /** Addresses of the whole files that were found or written through it. */
  readonly seen: ReadonlySet<string>
  /** False where nothing is kept beyond a load. */
  readonly keeps: boolean
}

/** A store that remembers what it has: WebLLM asks for all names at once, and folders on disk do not tell addresses. */
export function seenStore(store: FileStore): SeenStore {
  const seen = new Set<string>()
  return {
    seen,
    keeps: store !== noStore,
    async read(url) {
      const file = await store.read(url)
      if (file) seen.add(url)
      else seen.delete(url)
      return file
    },
    async write(url) {
      const writer = await store.write(url)
      return {
        get written() {
          return writer.written
        },
        append: (chunk) => writer.append(chunk),
        contents: () => writer.contents(),
        restart: () => writer.restart(),
        close: () => writer.close(),
        async commit() {
          const file = await writer.commit()
          if (store !== noStore) seen.add(url)
          return file
        },
      }
    },
    kept: (base) => store.kept(base),
    repositories: () => store.repositories(),
    room: () => store.room(),
    async forget(base) {
      for (const url of seen) if (url.startsWith(base)) seen.delete(url)
      await store.forget(base)
    },
  }
}
