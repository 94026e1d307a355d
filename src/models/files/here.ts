/** Whether a model is here, whole. */
import { damaged, unreachable } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { folderFiles } from './folder.js'
import { detect } from './formats/index.js'
import { notedHash } from './named-hash.js'
import type { ForeignPlace } from './store/foreign/index.js'
import type { FileStore } from './store/store.js'
import { within } from './within.js'

/** A repository at an address, as far as it is kept: what is not here is not asked for. */
export function keptRepository(base: string, store: FileStore, file?: string): RepositoryFiles {
  const read = (name: string) => store.read(new URL(within(base, name), base).href)
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
    ...(file !== undefined && { file }),
    phase: 'read',
    async text(name) {
      const file = await read(name)
      return file && new TextDecoder().decode(await file.slice(0, file.bytes))
    },
    async fetch({ name, bytes, least = 0 }) {
      const file = await read(name)
      if (file === undefined) throw unreachable(base, `${name} is not kept.`)
      if (file.bytes < least || (bytes !== undefined && file.bytes !== bytes))
        throw damaged(base, `${name} is incomplete: it has ${file.bytes} of ${bytes ?? least} bytes.`)
    },
    head,
    slice,
    known: (name) => notedHash(store, new URL(name, base).href),
    release() {},
  }
}

/** What is missing of a model whose files are here, or why it cannot be read; undefined where nothing is. */
export async function lackOf(files: RepositoryFiles): Promise<unknown> {
  const { signal } = new AbortController()
  const described: RepositoryFiles = {
    ...files,
    // Megabytes that say nothing of the weights: that it is here is enough.
    text: async (name) =>
      name === 'tokenizer.json' ? ((await has(files, name, signal)) ? '{}' : undefined) : files.text(name, signal),
  }
  try {
    const { wanted, outline } = await detect(described, signal)
    outline()
    for (const file of wanted) await files.fetch(file, () => {}, signal)
    return undefined
  } catch (error) {
    return error
  }
}

/** How much of a model in a folder there is, and what `lackOf` says of it. */
export async function surveyed(place: ForeignPlace): Promise<{ bytes: number; lack: unknown }> {
  const files = folderFiles(place)
  let bytes = 0
  const onBytes = (more: number) => {
    bytes += more
  }
  const fetch: RepositoryFiles['fetch'] = (file, _, signal) => files.fetch(file, onBytes, signal)
  const lack = await lackOf({ ...files, fetch })
  return { bytes, lack }
}

async function has(files: RepositoryFiles, name: string, signal: AbortSignal): Promise<boolean> {
  return files.head(name, 0, 1, signal).then(
    () => true,
    () => false,
  )
}
