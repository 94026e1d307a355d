import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ResolvedConfig } from 'vite'
import type { OwnFile } from './files.js'

const NAME = 'local-v1-nano'
const VIRTUAL = `\0${NAME}`
/** Of the package, what a browser reads. */
const READ = /^(?!package\.json$).*\.(json|bin)$/

/** The package `local-v1-nano` for pages: its files beside the page, and the module that says where. */
export class NanoFiles {
  /** Whether something that was built imports it. */
  wanted = false
  readonly #config: ResolvedConfig
  #all: Promise<Map<string, OwnFile>> | undefined

  constructor(config: ResolvedConfig) {
    this.#config = config
  }

  resolve(id: string): string | undefined {
    return id === NAME ? VIRTUAL : undefined
  }

  async load(id: string): Promise<string | undefined> {
    if (id !== VIRTUAL) return undefined
    this.wanted = true
    const folder = dirname([...(await this.all()).keys()][0]!)
    // A relative base is relative to the page, and to the worker's script, which lies at the root of what is built.
    const here = "typeof document === 'undefined' ? location.href : document.baseURI"
    const from = `new URL(${JSON.stringify(`${this.#config.base}${folder}/`)}, ${here}).href`
    return `export const nano = Object.freeze({ id: 'local-v1/nano', from: ${from} })`
  }

  async file(path: string): Promise<OwnFile | undefined> {
    return path.startsWith(NAME) ? (await this.all()).get(path) : undefined
  }

  /** By their paths in what is built: in a folder named after their contents, as browsers keep weights by address. */
  all(): Promise<Map<string, OwnFile>> {
    this.#all ??= this.#read()
    return this.#all
  }

  async #read(): Promise<Map<string, OwnFile>> {
    const folder = this.#folder()
    const hash = createHash('sha256')
    const files: [string, Buffer][] = []
    for (const name of (await readdir(folder)).filter((name) => READ.test(name)).sort()) {
      const bytes = await readFile(join(folder, name))
      hash.update(name).update(bytes)
      files.push([name, bytes])
    }
    const at = `${NAME}-${hash.digest('hex').slice(0, 12)}`
    return new Map(files.map(([name, bytes]) => [`${at}/${name}`, { bytes, forever: true }]))
  }

  #folder(): string {
    const require = createRequire(join(this.#config.root, 'package.json'))
    try {
      return dirname(require.resolve(NAME))
    } catch {
      throw new Error(
        `local-v1/vite: the package ${NAME} is not installed: install it like local-v1, or name other models.`,
      )
    }
  }
}
