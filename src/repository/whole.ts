import { isRecord } from '../platform/json.js'
import type { ModelLocation } from './location.js'
import { resolveUrl, storeFor } from './open.js'
import type { FileStore, StoredFile } from './store/store.js'

/** Whether all the weights of a repository are kept, so that it can be loaded without a network. */
export async function isWhole(place: ModelLocation, cache: string | false | undefined): Promise<boolean> {
  if (place.kind === 'folder') return true
  const base = resolveUrl(place.kind === 'hub' ? `https://huggingface.co/${place.repository}` : place.url)
  const store = storeFor(cache)
  const wanted = (await shards(store, base)) ?? (await safetensors(store, base))
  for (const { name, bytes } of wanted) {
    const file = await store.read(base + name)
    if (file === undefined || (bytes !== undefined && file.bytes !== bytes)) return false
  }
  return true
}

interface Wanted {
  readonly name: string
  readonly bytes?: number
}

/** The files that an MLC manifest names. */
async function shards(store: FileStore, base: string): Promise<Wanted[] | undefined> {
  const manifest = (await json(store, `${base}tensor-cache.json`)) ?? (await json(store, `${base}ndarray-cache.json`))
  if (!Array.isArray(manifest?.records)) return undefined
  return manifest.records
    .filter(isRecord)
    .map(({ dataPath, nbytes }) => ({ name: String(dataPath), bytes: Number(nbytes) }))
}

async function safetensors(store: FileStore, base: string): Promise<Wanted[]> {
  const index = await json(store, `${base}model.safetensors.index.json`)
  if (!isRecord(index?.weight_map)) return [{ name: 'model.safetensors' }]
  return [...new Set(Object.values(index.weight_map))].map((name) => ({ name: String(name) }))
}

async function json(store: FileStore, url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = await store.read(url)
  if (file === undefined) return undefined
  try {
    const value: unknown = JSON.parse(await textOf(file))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

const textOf = async (file: StoredFile) => new TextDecoder().decode(await file.slice(0, file.bytes))
