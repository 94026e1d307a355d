import { shelvedResponses } from './shelved.js'
import type { ResponseBounds, ResponseStore, Shelf } from './store.js'
import { inOrder } from './store.js'

/** The few functions of `node:fs/promises` used here; Deno and Bun have them too. */
interface Files {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>
  chmod(path: string, mode: number): Promise<void>
  readdir(path: string): Promise<string[]>
  utimes(path: string, read: number, written: number): Promise<void>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  writeFile(path: string, text: string, options: { mode: number }): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { force: true }): Promise<void>
}

const KEPT = /^(resp|conv)_[0-9a-f]+\.json$/
const NEW = /^(resp|conv)_[0-9a-f]+\.json\.new$/

/**
 * Stores responses and conversations in a folder of their own, a file each, for Node, Deno and Bun, so that they are there
 * after a restart. Only one process at a time should use the folder; no other user of the machine can read it.
 */
export function folderResponses(path: string, bounds?: ResponseBounds): ResponseStore {
  return shelvedResponses(new FolderShelf(path), bounds)
}

class FolderShelf implements Shelf {
  readonly #path: string
  #files: Promise<Files> | undefined
  readonly #now = inOrder()

  constructor(path: string) {
    this.#path = path
  }

  async *open(): AsyncIterable<string> {
    const files = await this.#load()
    await files.mkdir(this.#path, { recursive: true, mode: 0o700 })
    // It may have been there before, and be somebody else's.
    await files.chmod(this.#path, 0o700).catch(() => {})
    const names = await files.readdir(this.#path)
    // Of a process that ended while it wrote.
    for (const name of names) if (NEW.test(name)) await files.rm(`${this.#path}/${name}`, { force: true })
    const kept = names.filter((name) => KEPT.test(name))
    const dated = await Promise.all(
      kept.map(async (name) => ({ name, time: (await files.stat(`${this.#path}/${name}`)).mtimeMs })),
    )
    dated.sort((a, b) => a.time - b.time)
    for (const { name } of dated) yield files.readFile(`${this.#path}/${name}`, 'utf8')
  }

  async read(id: string): Promise<string | undefined> {
    try {
      return await (await this.#load()).readFile(this.#file(id), 'utf8')
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return undefined
      throw error
    }
  }

  async write(id: string, text: string): Promise<void> {
    const files = await this.#load()
    const unfinished = `${this.#file(id)}.new`
    try {
      // Renamed into place: a reader finds the old text or the new one, never half of it.
      await files.writeFile(unfinished, text, { mode: 0o600 })
      // Systems count in ticks of some milliseconds; what cannot be told apart would have no order for the next process.
      const seconds = this.#now() / 1000
      await files.utimes(unfinished, seconds, seconds)
      await files.rename(unfinished, this.#file(id))
    } catch (error) {
      // On a full disk half of it is there.
      await files.rm(unfinished, { force: true }).catch(() => {})
      throw error
    }
  }

  async remove(id: string): Promise<void> {
    await (await this.#load()).rm(this.#file(id), { force: true })
  }

  async close(): Promise<void> {}

  #file(id: string): string {
    return `${this.#path}/${id}.json`
  }

  #load(): Promise<Files> {
    // In a variable, so that bundlers for browsers do not look for it.
    const name = 'node:fs/promises'
    this.#files ??= import(/* @vite-ignore */ /* webpackIgnore: true */ name) as Promise<Files>
    return this.#files
  }
}
