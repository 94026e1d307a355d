/** What downloads take, what may go when there is no room, and the error that says so. Nothing is removed unasked. */
import { V1Error } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { baseOf, isRemote, type RemoteLocation } from './address.js'
import { locationOf, type ModelLocation } from './location.js'
import { type CacheChoice, storeFor } from './store/choose.js'
import { defaultFolder } from './store/disk.js'
import { COST, type FileStore, type KeptRepository, noteText, USED } from './store/store.js'

export interface StoredModel {
  /** As `models` takes it. */
  readonly name: string
  readonly bytes: number
  /** When it was last opened; absent if that is not known. */
  readonly usedAt?: Date
}

export interface StorageOptions {
  /** The folder of `webgpu({ cache })`. @default the usual one */
  readonly cache?: string
}

export interface FreeOptions extends StorageOptions {
  /** Names of models to keep, as in `models`. */
  readonly keep?: readonly string[]
}

/** Models that were downloaded here, the least recently used first. They can be downloaded again. */
export async function storedModels({ cache }: StorageOptions = {}): Promise<StoredModel[]> {
  return (await byUse(storeFor(cache))).map(modelOf)
}

/**
 * Removes downloaded models, the least recently used first, until this many more bytes are free or none is left. Returns
 * the removed ones.
 */
export async function freeStorage(bytes: number, { cache, keep = [] }: FreeOptions = {}): Promise<StoredModel[]> {
  const store = storeFor(cache)
  const kept = new Set(keep.map(locationOf).flatMap((place) => (isRemote(place) ? [baseOf(place)] : [])))
  const chosen = enough(
    (await byUse(store)).filter(({ base }) => !kept.has(base)),
    bytes,
  )
  for (const { base } of chosen) await store.forget(base)
  return chosen.map(modelOf)
}

/** Notes that a repository is used now. */
export const noteUse = (store: FileStore, base: string): Promise<void> =>
  noteText(store, `${base}${USED}`, JSON.stringify({ base, usedAt: new Date() }))

/** What a cache in fewer bits was found to cost a model of this identity; undefined where nobody noted it. */
export async function notedCost(
  place: ModelLocation,
  cache: CacheChoice,
  identity: string,
): Promise<number | undefined> {
  if (!isRemote(place)) return undefined
  const cost = (await costsAt(storeFor(cache), place))[identity]
  return typeof cost === 'number' ? cost : undefined
}

export async function noteCost(
  place: ModelLocation,
  cache: CacheChoice,
  identity: string,
  cost: number,
): Promise<void> {
  if (!isRemote(place)) return
  const store = storeFor(cache)
  const costs = { ...(await costsAt(store, place)), [identity]: cost }
  await noteText(store, `${baseOf(place)}${COST}`, JSON.stringify(costs))
}

/** By identity: a repository may have several files of weights. */
async function costsAt(store: FileStore, place: RemoteLocation): Promise<JsonObject> {
  try {
    const file = await store.read(`${baseOf(place)}${COST}`)
    const costs: unknown = file && JSON.parse(new TextDecoder().decode(await file.slice(0, file.bytes)))
    return isRecord(costs) ? costs : {}
  } catch {
    return {}
  }
}

/** Before a download of so many bytes. `warn` hears of one that will not be kept; it throws where it must be. */
export async function assertRoom(
  store: FileStore,
  place: string,
  bytes: number,
  warn?: (message: string) => void,
): Promise<void> {
  const room = await store.room()
  if (room === undefined || bytes <= room) return
  const error = await storageFull(store, place, { bytes, room })
  if (!store.keepsIfItCan) throw error
  warn?.(`${error.message} It runs, and is downloaded again next time.`)
}

/** What the system says when there is no room: of a disk, and of a quota. */
export function isFull(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || name === 'QuotaExceededError'
}

/** The error of a download. `bytes`: what is still to be kept. */
export async function storageFull(
  store: FileStore,
  place: string,
  { bytes, room = 0 }: { readonly bytes: number; readonly room?: number | undefined },
): Promise<V1Error> {
  const message = `There is no room for the model at ${place}: it needs ${amount(bytes)}, and ${amount(room)} are free.`
  return full(message, await adviceFor(store, bytes - room, place))
}

export function full(message: string, advice: string): V1Error {
  return new V1Error(507, `${message} ${advice}`, { code: 'storage_full', headers: { 'x-should-retry': 'false' } })
}

/** What would make room, and how. `place`: what it is for. */
export async function adviceFor(store: FileStore, bytes: number, place?: string): Promise<string> {
  const others = (await byUse(store).catch(() => [])).filter(({ base }) => base !== place)
  const lacking = Math.max(1, bytes)
  const chosen = enough(others, lacking)
  if (chosen.length === 0) return 'No other model was downloaded here that could be removed.'
  const list = chosen.map((one) => `${modelOf(one).name} (${amount(one.bytes)})`).join(', ')
  if (chosen.reduce((sum, one) => sum + one.bytes, 0) < lacking) {
    return `Removing all other models that were downloaded here (${list}) would not free enough.`
  }
  // A page has no command line.
  const command = defaultFolder() ? `local-v1 models remove --least-used ${amount(lacking).replace(' ', '')}, or ` : ''
  const ways = `${command}freeStorage(${lacking})`
  return `Removing ${list} (least recently used) would free enough: ${ways}.`
}

async function byUse(store: FileStore): Promise<KeptRepository[]> {
  const when = ({ usedAt }: KeptRepository) => usedAt?.getTime() ?? 0
  return (await store.repositories()).filter(({ bytes }) => bytes > 0).sort((a, b) => when(a) - when(b))
}

/** The first ones that together have so many bytes; all, where even those have fewer. */
function enough(all: readonly KeptRepository[], bytes: number): KeptRepository[] {
  let sum = 0
  return all.filter((one) => {
    const wanted = sum < bytes
    if (wanted) sum += one.bytes
    return wanted
  })
}

const HUB = /^https:\/\/huggingface\.co\/([^/]+\/[^/]+)\/resolve\/main\/$/

function modelOf({ base, bytes, usedAt }: KeptRepository): StoredModel {
  return { name: base.match(HUB)?.[1] ?? base, bytes, ...(usedAt && { usedAt }) }
}

/** Rounded up, as what is asked for must be enough. */
function amount(bytes: number): string {
  return bytes >= 1e8 ? `${Math.ceil(bytes / 1e8) / 10} GB` : `${Math.ceil(bytes / 1e6)} MB`
}
