/** The table in this browser's IndexedDB, a record for each row: a reload in the middle loses none that was written. */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Row, Wanted } from './rows.js'

/** What stands beside the rows. */
export interface Head extends Wanted {
  readonly pasted: string
  /** It was being filled when this was kept. */
  readonly filling: boolean
}

interface Schema extends DBSchema {
  head: { key: 'head'; value: Head }
  rows: { key: number; value: Row }
}

export class TableStore {
  readonly #database: IDBPDatabase<Schema> | undefined

  private constructor(database: IDBPDatabase<Schema> | undefined) {
    this.#database = database
  }

  /** Where a browser keeps nothing, the table lasts as long as the page. */
  static async open(): Promise<TableStore> {
    try {
      const database = await openDB<Schema>('local-v1 playground table', 1, {
        upgrade(database) {
          database.createObjectStore('head')
          database.createObjectStore('rows', { keyPath: 'id' })
        },
      })
      return new TableStore(database)
    } catch {
      return new TableStore(undefined)
    }
  }

  async read(): Promise<{ head: Head | undefined; rows: Row[] }> {
    try {
      const [head, rows = []] = await Promise.all([this.#database?.get('head', 'head'), this.#database?.getAll('rows')])
      return { head, rows }
    } catch {
      return { head: undefined, rows: [] }
    }
  }

  keepHead(head: Head): void {
    void this.#database?.put('head', head, 'head').catch(() => {})
  }

  keepRow(row: Row): void {
    void this.#database?.put('rows', row).catch(() => {})
  }

  /** These and no others. */
  keepRows(rows: readonly Row[]): void {
    void this.#replace(rows).catch(() => {})
  }

  async #replace(rows: readonly Row[]): Promise<void> {
    const transaction = this.#database?.transaction('rows', 'readwrite')
    if (!transaction) return
    await transaction.store.clear()
    await Promise.all([...rows.map((row) => transaction.store.put(row)), transaction.done])
  }
}
