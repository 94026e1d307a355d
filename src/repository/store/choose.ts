/** Where downloads are kept on this platform. */
import { defaultFolder, diskStore } from './disk.js'
import { noStore } from './memory.js'
import type { FileStore } from './store.js'
import { webStore } from './web.js'

/** `cache`: a folder, or `false` for nowhere. */
export function storeFor(cache: string | false | undefined): FileStore {
  if (cache === false) return noStore
  const folder = cache ?? defaultFolder()
  const disk = folder === undefined ? undefined : diskStore(folder)
  if (disk) return disk
  return typeof caches === 'undefined' ? noStore : webStore()
}
