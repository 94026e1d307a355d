/** The table in this browser's IndexedDB, a record for each row: a reload in the middle loses none that was written. */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Row, Wanted } from './rows.js'

/** What stands beside the rows. */
export interface Head extends Wanted {
  readonly pasted: string
  /** The name of the example that it began as. */
  readonly example?: string
  /** It was being filled when this was kept. */
  readonly filling: boolean
}

/** A whole table. */
export interface Kept {
  readonly head: Head
  readonly rows: Row[]
}

interface Schema extends DBSchema {
  head: { key: 'head'; value: Head }
  rows: { key: number; value: Row }
  aside: { key: 'aside'; value: Kept }
}

/** The name of the lock that a tab holds which fills the table. */
const FILLING = 'local-v1 playground table'

export class TableStore {
  readonly #database: IDBPDatabase<Schema> | undefined
  /** Where nothing is kept. */
  #aside: Kept | undefined

  private constructor(database: IDBPDatabase<Schema> | undefined) {
    this.#database = database
  }

  /** Where a browser keeps nothing, the table lasts as long as the page. */
  static async open(): Promise<TableStore> {
    try {
      const database = await openDB<Schema>('local-v1 playground tables', 1, {
        upgrade(database) {
          database.createObjectStore('head')
          database.createObjectStore('rows', { keyPath: 'id' })
          database.createObjectStore('aside')
        },
      })
      return new TableStore(database)
    } catch {
      return new TableStore(undefined)
    }
  }

  /** Other tabs know that it is filled in this one. */
  whileFilling(fill: () => Promise<void>): Promise<void> {
    const done = fill()
    // A tab that holds it already has it until it is done, and all rows are written: behind them it counts.
    const held = async () => navigator.locks.request(FILLING, () => done.then(() => this.#database?.count('rows')))
    held().catch(() => {})
    return done
  }

  async isFilledElsewhere(): Promise<boolean> {
    try {
      const { held = [] } = await navigator.locks.query()
      return held.some(({ name }) => name === FILLING)
    } catch {
      return false
    }
  }

  /** Until no other tab fills it. */
  async untilFilled(): Promise<void> {
    await navigator.locks.request(FILLING, () => {})
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

  /** What an example takes the place of, to be brought back, after a reload too. */
  async putAside(table: Kept): Promise<void> {
    this.#aside = table
    try {
      await this.#database?.put('aside', table, 'aside')
    } catch {
      // It lasts as long as the page.
    }
  }

  async hasAside(): Promise<boolean> {
    if (this.#aside) return true
    return (await this.#database?.count('aside').catch(() => 0)) === 1
  }

  async takeAside(): Promise<Kept | undefined> {
    const kept = this.#aside ?? (await this.#database?.get('aside', 'aside').catch(() => undefined))
    this.discardAside()
    return kept
  }

  discardAside(): void {
    this.#aside = undefined
    void this.#database?.delete('aside', 'aside').catch(() => {})
  }

  async #replace(rows: readonly Row[]): Promise<void> {
    const transaction = this.#database?.transaction('rows', 'readwrite')
    if (!transaction) return
    await transaction.store.clear()
    await Promise.all([...rows.map((row) => transaction.store.put(row)), transaction.done])
  }
}
