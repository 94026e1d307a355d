import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { isForbidden } from '../platform/index.js'
import type { UsageLedger, UsageRow } from './ledger.js'
import { addRow, memoryUsage, rowOf } from './table.js'

interface Schema extends DBSchema {
  usage: {
    key: [start: number, caller: string, project: string, model: string]
    value: UsageRow
  }
}

/**
 * Usage in the browser's IndexedDB: shared by all pages and the service worker of an origin, also when they are closed.
 * It is stored as sums by minute. If the browser blocks storage, as in frames of other sites, it is there only as long as
 * the page or worker.
 *
 * @param name The database. @default 'local-v1'
 */
export function indexedDbUsage(name = 'local-v1'): UsageLedger {
  let opening: Promise<IDBPDatabase<Schema>> | undefined
  let fleeting: UsageLedger | undefined
  const opened = () => {
    opening ??= openDB<Schema>(name, 1, {
      upgrade: (database) => void database.createObjectStore('usage'),
      // Another version of the page wants to change the form, or the user to clear the data: they shall not wait for us.
      blocking(_current, _next, event) {
        opening = undefined
        ;(event.target as unknown as IDBDatabase).close()
      },
      terminated() {
        opening = undefined
      },
    })
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }
  /** The database; undefined where it is forbidden. One that only failed now is tried again next time. */
  const allowed = async () => {
    if (fleeting) return undefined
    try {
      return await opened()
    } catch (error) {
      if (!isForbidden(error)) throw error
      fleeting = memoryUsage()
      return undefined
    }
  }
  return {
    async record(event) {
      const database = await allowed()
      if (!database) return fleeting?.record(event)
      const row = rowOf(event)
      // A project is never empty, so that '' can stand for none: null is no key.
      const key: Schema['usage']['key'] = [row.start, row.caller, row.project ?? '', row.model]
      const transaction = database.transaction('usage', 'readwrite')
      const known = await transaction.store.get(key)
      if (known) addRow(row, known)
      await Promise.all([transaction.store.put(row, key), transaction.done])
    },
    async rows(from, to) {
      const database = await allowed()
      if (!database) return fleeting?.rows(from, to) ?? []
      const end = Number.isFinite(to) ? to : Number.MAX_SAFE_INTEGER
      // An array is greater than every shorter one that it starts with.
      const range = IDBKeyRange.bound([from], [end], false, true)
      return database.getAll('usage', range)
    },
    async close() {
      const database = await opening
      opening = undefined
      database?.close()
    },
  }
}
