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

/** Nothing is there, or a folder. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'EISDIR'])

/**
 * Stores responses and conversations in a folder of their own, a file each, for Node, Deno and Bun, so that they are there
 * after a restart. Only one process at a time should use the folder; no other user of the machine can read it.
 */
export function folderResponses(path: string, bounds?: ResponseBounds): ResponseStore {
  return shelvedResponses(new FolderShelf(path), bounds)
}

/** The same of one who says, before each writing, whether the folder is still its own: `claim` rejects where it is not. */
export function claimedResponses(path: string, claim: () => Promise<void>): ResponseStore {
  return shelvedResponses(new FolderShelf(path, claim))
}

class FolderShelf implements Shelf {
  readonly #path: string
  readonly #claim: (() => Promise<void>) | undefined
  #files: Promise<Files> | undefined
  readonly #now = inOrder()

  constructor(path: string, claim?: () => Promise<void>) {
    this.#path = path
    this.#claim = claim
  }

  async *open(): AsyncIterable<string> {
    const files = await this.#load()
    await files.mkdir(this.#path, { recursive: true, mode: 0o700 })
    // It may have been there before, and be somebody else's.
    await files.chmod(this.#path, 0o700).catch(() => {})
    const names = await files.readdir(this.#path)
    // Of a process that ended while it wrote.
    const paths = (which: RegExp) => names.filter((name) => which.test(name)).map((name) => `${this.#path}/${name}`)
    for (const path of paths(NEW)) await readable(path, () => files.rm(path, { force: true }))
    const found = await Promise.all(paths(KEPT).map((path) => readable(path, () => datedFile(files, path))))
    const dated = found.filter((each) => each !== undefined).sort((a, b) => a.time - b.time)
    this.#now(dated.at(-1)?.time)
    for (const { path } of dated) {
      const text = await readable(path, () => files.readFile(path, 'utf8'))
      if (text !== undefined) yield text
    }
  }

  async read(id: string): Promise<string | undefined> {
    try {
      return await (await this.#load()).readFile(this.#file(id), 'utf8')
    } catch (error) {
      if (ABSENT.has((error as { code?: string }).code)) return undefined
      throw error
    }
  }

  async write(id: string, text: string): Promise<void> {
    const files = await this.#load()
    await this.#claim?.()
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
      // Not every system says where there is no room.
      if (error instanceof Error && !error.message.includes(this.#path)) error.message += ` '${this.#path}'`
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

async function datedFile(files: Files, path: string) {
  return { path, time: (await files.stat(path)).mtimeMs }
}

/** One file that cannot be read, as one of another user's, takes none of the others along. */
async function readable<T>(path: string, act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act()
  } catch (error) {
    // Another process may have deleted it meanwhile.
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    console.warn(`local-v1: ${path} cannot be read and is passed over: ${(error as Error).message}`)
    return undefined
  }
}
