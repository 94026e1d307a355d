import { type ResponseBounds, type ResponseStore, type Shelf, shelvedResponses } from './store.js'

/** The few functions of `node:fs/promises` used here; Deno and Bun have them too. */
interface Files {
  mkdir(path: string, options: { recursive: true }): Promise<unknown>
  readdir(path: string): Promise<string[]>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  writeFile(path: string, text: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { force: true }): Promise<void>
}

/**
 * Responses in a folder of their own, a file each, for Node, Deno and Bun: they outlive the process. One process at a
 * time should use the folder.
 */
export function folderResponses(path: string, bounds?: ResponseBounds): ResponseStore {
  return shelvedResponses(new FolderShelf(path), bounds)
}

class FolderShelf implements Shelf {
  readonly #path: string
  #files: Promise<Files> | undefined

  constructor(path: string) {
    this.#path = path
  }

  async open(): Promise<readonly string[]> {
    const files = await this.#load()
    await files.mkdir(this.#path, { recursive: true })
    const names = (await files.readdir(this.#path)).filter((name) => /^resp_[0-9a-f]+\.json$/.test(name))
    const dated = await Promise.all(
      names.map(async (name) => ({ name, time: (await files.stat(`${this.#path}/${name}`)).mtimeMs })),
    )
    dated.sort((a, b) => a.time - b.time)
    return Promise.all(dated.map(({ name }) => files.readFile(`${this.#path}/${name}`, 'utf8')))
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
    // Renamed into place: a reader finds the old text or the new one, never half of it.
    await files.writeFile(`${this.#file(id)}.new`, text)
    await files.rename(`${this.#file(id)}.new`, this.#file(id))
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
