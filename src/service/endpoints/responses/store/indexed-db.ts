import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { shelvedResponses } from './shelved.js'
import type { ResponseBounds, ResponseStore, Shelf } from './store.js'
import { inOrder } from './store.js'

interface Schema extends DBSchema {
  responses: { key: string; value: { readonly text: string; readonly written: number }; indexes: { written: number } }
}

/**
 * Stores responses and conversations in the browser's IndexedDB, also when all pages are closed.
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

  constructor(name: string) {
    this.#name = name
  }

  async *open(): AsyncIterable<string> {
    const database = await this.#database()
    for (const id of await database.getAllKeysFromIndex('responses', 'written')) {
      const kept = await database.get('responses', id)
      if (kept) yield kept.text
    }
  }

  async read(id: string): Promise<string | undefined> {
    return (await (await this.#database()).get('responses', id))?.text
  }

  async write(id: string, text: string): Promise<void> {
    await (await this.#database()).put('responses', { text, written: this.#now() }, id)
  }

  async remove(id: string): Promise<void> {
    await (await this.#database()).delete('responses', id)
  }

  async close(): Promise<void> {
    const database = await this.#opening
    this.#opening = undefined
    database?.close()
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
