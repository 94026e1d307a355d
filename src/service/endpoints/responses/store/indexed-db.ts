import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { isForbidden } from '../../../../platform/index.js'
import { shelvedResponses } from './shelved.js'
import type { ResponseBounds, ResponseStore, Shelf } from './store.js'
import { inOrder } from './store.js'

interface Schema extends DBSchema {
  responses: { key: string; value: { readonly text: string; readonly written: number }; indexes: { written: number } }
}

/**
 * Stores responses and conversations in the browser's IndexedDB, also when all pages are closed. If the browser blocks
 * storage, as in frames of other sites, they are there only as long as the page or worker.
 *
 * @param name The database. @default 'local-v1-responses'
 */
export function indexedDbResponses(name = 'local-v1-responses', bounds?: ResponseBounds): ResponseStore {
  return shelvedResponses(new DatabaseShelf(name), bounds)
}

class DatabaseShelf implements Shelf {
  readonly #name: string
  #opening: Promise<IDBPDatabase<Schema>> | undefined
  readonly #now = inOrder()
  /** Where the database is forbidden. */
  readonly #fleeting = new Map<string, string>()

  constructor(name: string) {
    this.#name = name
  }

  async *open(): AsyncIterable<string> {
    const database = await this.#allowed()
    let newest = 0
    for (const id of (await database?.getAllKeysFromIndex('responses', 'written')) ?? []) {
      const kept = await database?.get('responses', id)
      newest = kept?.written ?? newest
      if (kept) yield kept.text
    }
    this.#now(newest)
  }

  async read(id: string): Promise<string | undefined> {
    const database = await this.#allowed()
    return database ? (await database.get('responses', id))?.text : this.#fleeting.get(id)
  }

  async write(id: string, text: string): Promise<void> {
    const database = await this.#allowed()
    if (!database) this.#fleeting.set(id, text)
    else await database.put('responses', { text, written: this.#now() }, id)
  }

  async remove(id: string): Promise<void> {
    const database = await this.#allowed()
    if (!database) this.#fleeting.delete(id)
    else await database.delete('responses', id)
  }

  async close(): Promise<void> {
    const database = await this.#opening
    this.#opening = undefined
    database?.close()
  }

  /** The database; undefined where it is forbidden. */
  async #allowed(): Promise<IDBPDatabase<Schema> | undefined> {
    try {
      return await this.#database()
    } catch (error) {
      if (!isForbidden(error)) throw error
      return undefined
    }
  }

  #database(): Promise<IDBPDatabase<Schema>> {
    this.#opening ??= openDB<Schema>(this.#name, 1, {
      upgrade: (database) => void database.createObjectStore('responses').createIndex('written', 'written'),
      // The user may want to clear the data: that shall not wait for us.
      blocking: (_current, _next, event) => {
        this.#opening = undefined
        ;(event.target as unknown as IDBDatabase).close()
      },
      terminated: () => {
        this.#opening = undefined
      },
    })
    this.#opening.catch(() => {
      this.#opening = undefined
    })
    return this.#opening
  }
}
