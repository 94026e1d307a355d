/** Where downloads are kept on this platform. */
import { defaultFolder, diskStore } from './disk.js'
import { noStore } from './memory.js'
import type { FileStore } from './store.js'
import { webStore } from './web.js'

/** A folder, `false` for nowhere, or a store itself. */
export type CacheChoice = string | false | FileStore | undefined

export function storeFor(cache: CacheChoice): FileStore {
  if (cache === false) return noStore
  if (typeof cache === 'object') return cache
  const folder = cache ?? defaultFolder()
  const disk = folder === undefined ? undefined : diskStore(folder)
  if (disk) return disk
  return hasCaches() ? webStore() : noStore
}

/** A frame that is cut off from its origin has them, and throws where they are named. */
function hasCaches(): boolean {
  try {
    return typeof caches !== 'undefined'
  } catch {
    return false
  }
}
