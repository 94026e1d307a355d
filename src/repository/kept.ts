import { broken, unreachable } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { detect } from './formats/index.js'
import type { FileStore } from './store/store.js'

/** A repository at an address, as far as it is kept: what is not here is not asked for. */
function keptFiles(base: string, store: FileStore): RepositoryFiles {
  const read = (name: string) => store.read(new URL(name, base).href)
  const head = async (name: string, from: number, to: number) => {
    const file = await read(name)
    if (file === undefined) throw unreachable(base, `${name} is not kept.`)
    return file.slice(from, to)
  }
  const slice = async (name: string, from: number, to: number) => {
    const bytes = await head(name, from, to)
    if (bytes.length < to - from) throw unreachable(base, `${name} is not kept.`)
    return bytes
  }
  return {
    place: base,
    phase: 'read',
    async text(name) {
      const file = await read(name)
      // Megabytes that say nothing of the weights: that it is here is enough.
      if (name === 'tokenizer.json') return file && '{}'
      return file && new TextDecoder().decode(await file.slice(0, file.bytes))
    },
    async fetch({ name, bytes, least = 0 }) {
      const file = await read(name)
      if (file === undefined) throw unreachable(base, `${name} is not kept.`)
      if (file.bytes < least || (bytes !== undefined && file.bytes !== bytes))
        throw broken(base, `${name} is not whole.`)
    },
    head,
    slice,
    release() {},
  }
}

/** Whether all of a repository is kept, so that it can be loaded without a network. */
export async function isKept(base: string, store: FileStore, file?: string): Promise<boolean> {
  const files = { ...keptFiles(base, store), ...(file !== undefined && { file }) }
  const { signal } = new AbortController()
  try {
    const { wanted } = await detect(files, signal)
    for (const file of wanted) await files.fetch(file, () => {}, signal)
    return true
  } catch {
    return false
  }
}
