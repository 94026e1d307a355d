import { blobFile, memoryWriter } from './memory.js'
import { type FileStore, isNote, type KeptRepository, USED } from './store.js'

/**
 * Files in the Cache API under WebLLM's names and addresses, so that a model which one engine has downloaded is there
 * for the other one too. A cache keeps whole files only: a download that broke off goes on within the same load.
 */
export function webStore(): FileStore {
  /** What is being written: it can be read, and counts as kept once it is. */
  const writing = new Map<string, { readonly blob: Blob; readonly kept: Promise<boolean> }>()
  const written = () => Promise.all([...writing.values()].map(({ kept }) => kept))
  return {
    async read(url) {
      const begun = writing.get(url)
      if (begun) return blobFile(begun.blob)
      const response = await (await open(url))?.match(url)
      return response && blobFile(await response.blob())
    },
    write: async (url) => {
      const put = async (blob: Blob) => {
        const headers = { 'content-length': String(blob.size), 'content-type': typeOf(url) }
        const cache = await open(url)
        await cache?.put(url, new Response(blob, { headers }))
        return cache !== undefined
      }
      const keep = (blob: Blob) => {
        // A full disk is no reason to fail: the model runs, and is downloaded again next time.
        const kept = put(blob)
          .catch(() => false)
          .finally(() => writing.delete(url))
        writing.set(url, { blob, kept })
        return kept
      }
      return memoryWriter(keep, { ahead: true })
    },
    async kept(base) {
      await written()
      let bytes = 0
      await each(base, async (cache, file) => {
        if (!isNote(file.url)) bytes += Number((await cache.match(file))?.headers.get('content-length') ?? 0)
      })
      return bytes
    },
    async repositories() {
      const found = new Map<string, KeptRepository>()
      const marks = new Map<string, Date>()
      const sizes: [string, number][] = []
      await each('', async (cache, { url }) => {
        const kept = await cache.match(url)
        if (url.endsWith(`/${USED}`)) {
          const { usedAt } = (await kept!.json()) as { usedAt: string }
          marks.set(url.slice(0, -USED.length), new Date(usedAt))
        } else if (!isNote(url)) sizes.push([url, Number(kept?.headers.get('content-length') ?? 0)])
      })
      const bases = [...marks.keys()].sort((a, b) => b.length - a.length)
      for (const [url, bytes] of sizes) {
        const base = bases.find((each) => url.startsWith(each)) ?? url.match(RESOLVED)?.[0] ?? new URL('.', url).href
        const usedAt = marks.get(base)
        found.set(base, { base, bytes: bytes + (found.get(base)?.bytes ?? 0), ...(usedAt && { usedAt }) })
      }
      return [...found.values()]
    },
    async room() {
      const { navigator } = globalThis as { navigator?: Navigator }
      const { quota, usage = 0 } = (await navigator?.storage?.estimate?.().catch(() => undefined)) ?? {}
      return quota === undefined ? undefined : Math.max(0, quota - usage)
    },
    keepsIfItCan: true,
    async forget(base) {
      await written()
      await each(base, (cache, file) => cache.delete(file))
    },
  }
}

const RESOLVED = /^https?:\/\/[^/]+\/[^/]+\/[^/]+\/resolve\/[^/]+\//

const CACHES = { config: 'webllm/config', model: 'webllm/model' }

/** Undefined where storage is blocked, as in frames of other sites: there a model is downloaded each time. */
async function open(url: string): Promise<Cache | undefined> {
  try {
    return await caches.open(url.endsWith('/mlc-chat-config.json') ? CACHES.config : CACHES.model)
  } catch {
    return undefined
  }
}

async function each(base: string, action: (cache: Cache, file: Request) => Promise<unknown>): Promise<void> {
  for (const name of Object.values(CACHES)) {
    // Opening a cache would make it.
    if (!(await caches.has(name).catch(() => false))) continue
    const cache = await caches.open(name)
    for (const file of await cache.keys()) if (file.url.startsWith(base)) await action(cache, file)
  }
}

const typeOf = (url: string) => (url.endsWith('.json') ? 'application/json' : 'application/octet-stream')
