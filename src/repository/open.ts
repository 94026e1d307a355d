import type { TextFiles } from '../decode/chat-text.js'
import type { Fetch } from './download.js'
import { fetchAll } from './fetch-all.js'
import type { RepositoryFiles } from './files.js'
import { folderFiles } from './folder.js'
import { detect } from './formats/index.js'
import { fileOnHub } from './hub.js'
import { isKept } from './kept.js'
import type { ModelLocation } from './location.js'
import type { LoadReport } from './progress.js'
import { RemoteFiles, type RemoteFilesOptions } from './remote.js'
import type { WeightCheck, WeightSource } from './source.js'
import { defaultFolder, diskStore } from './store/disk.js'
import { noStore } from './store/memory.js'
import type { FileStore } from './store/store.js'
import { webStore } from './store/web.js'

export interface OpenOptions {
  readonly report: LoadReport
  readonly signal: AbortSignal
  /** A folder, or `false` to keep nothing. @default the Cache API in browsers, the user's cache directory elsewhere */
  readonly cache?: string | false
  /** Is asked before weights are downloaded. */
  readonly check?: WeightCheck
  /** @default the platform's */
  readonly fetch?: Fetch
}

const HUB = 'https://huggingface.co/'

/** Opens a model repository: downloads what is not here yet, reads what describes it, leaves the weights to be read. */
export async function openRepository(
  place: ModelLocation,
  { report: told, signal, cache, check, fetch }: OpenOptions,
): Promise<{ weights: WeightSource; text: TextFiles }> {
  const { report, onRetry } = withRetries(told)
  const store = storeFor(cache)
  const file = await fileAt(place, store, { fetch, signal })
  const files = filesAt(place, file, store, { ...(fetch && { fetch }), onRetry })
  const found = await detect(files, signal)
  // Throws at what can never be read, before it is downloaded.
  const outline = found.outline()
  check?.(outline)
  await fetchAll(files, found.wanted, report, signal)
  return { weights: found.open(), text: found.text }
}

/** What is kept of a repository that was opened before, in bytes; nothing of a folder, which is nobody's copy. */
export async function keptOf(place: ModelLocation, cache: string | false | undefined): Promise<number> {
  return place.kind === 'folder' ? 0 : storeFor(cache).kept(baseOf(place))
}

/** Whether all of a repository is here, so that it can be loaded without a network. */
export async function isWhole(place: ModelLocation, cache: string | false | undefined): Promise<boolean> {
  if (place.kind === 'folder') return true
  const store = storeFor(cache)
  const offline: Fetch = () => Promise.reject(new Error('Nothing is asked for.'))
  const { signal } = new AbortController()
  const file = await fileAt(place, store, { fetch: offline, signal }).catch(() => null)
  return file !== null && isKept(baseOf(place), store, file)
}

/** Deletes what was downloaded of a repository. */
export async function forget(place: ModelLocation, cache: string | false | undefined): Promise<void> {
  if (place.kind !== 'folder') await storeFor(cache).forget(baseOf(place))
}

/** What a download waits for is told with how far it has come. */
function withRetries(told: LoadReport): { report: LoadReport; onRetry: (message: string) => void } {
  let last: Parameters<LoadReport>[0] = {
    phase: 'download',
    bytesLoaded: 0,
    bytesTotal: 0,
    filesLoaded: 0,
    filesTotal: 0,
  }
  const report: LoadReport = (progress) => {
    last = progress
    told(progress)
  }
  return { report, onRetry: (retry) => told({ ...last, retry }) }
}

function filesAt(
  place: ModelLocation,
  file: string | undefined,
  store: FileStore,
  options: RemoteFilesOptions,
): RepositoryFiles {
  if (place.kind === 'folder')
    return file === undefined ? folderFiles(place.path) : folderFiles(folderOf(place.path), file)
  return new RemoteFiles(baseOf(place), store, { ...options, ...(file !== undefined && { file }) })
}

const GGUF_FILE = /[^/\\]+\.gguf$/i

/** The one file that a model is in, where it is in one. */
async function fileAt(
  place: ModelLocation,
  store: FileStore,
  { fetch, signal }: { fetch?: Fetch | undefined; signal: AbortSignal },
): Promise<string | undefined> {
  if (place.kind === 'folder') return place.path.match(GGUF_FILE)?.[0]
  if (place.kind === 'url') return new URL(place.url).pathname.match(GGUF_FILE)?.[0]
  if (place.file !== undefined || place.quantisation === undefined) return place.file
  return fileOnHub(place.repository, place.quantisation, store, signal, fetch)
}

const folderOf = (path: string) => path.replace(GGUF_FILE, '') || '.'

function baseOf(place: Exclude<ModelLocation, { kind: 'folder' }>): string {
  if (place.kind === 'hub') return resolveUrl(`${HUB}${place.repository}`)
  const url = new URL(place.url)
  if (!GGUF_FILE.test(url.pathname)) return resolveUrl(place.url)
  // Pages of files at the hub show what `resolve` gives.
  const path = url.pathname.replace(GGUF_FILE, '').replace(/^(\/[^/]+\/[^/]+)\/blob\//, '$1/resolve/')
  return new URL(path, url).href
}

/** Where the files of a repository lie: WebLLM's rule, so that both engines find the same files in the cache. */
export function resolveUrl(url: string): string {
  const base = url.endsWith('/') ? url : `${url}/`
  const isHub = new URL(base).host === new URL(HUB).host
  return new URL(isHub && !/\/resolve\/[^/]+\//.test(base) ? `${base}resolve/main/` : base).href
}

export function storeFor(cache: string | false | undefined): FileStore {
  if (cache === false) return noStore
  const folder = cache ?? defaultFolder()
  const disk = folder === undefined ? undefined : diskStore(folder)
  if (disk) return disk
  return typeof caches === 'undefined' ? noStore : webStore()
}
