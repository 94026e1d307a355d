import type { TextFiles } from '../../generate/index.js'
import { baseOf, fileAt, isRemote, type RemoteLocation, splitPath } from './address.js'
import { chosenFiles } from './blobs.js'
import type { Fetch } from './download.js'
import { broken } from './failure.js'
import { fetchAll } from './fetch-all.js'
import type { RepositoryFiles } from './files.js'
import { folderFiles } from './folder.js'
import type { FoundModel } from './formats/format.js'
import { describeGguf } from './formats/gguf/index.js'
import { detect } from './formats/index.js'
import { AGENT } from './formats/laya.js'
import { MLC_CONFIG } from './formats/mlc.js'
import { keptRepository, lackOf } from './here.js'
import { quantisationsOnHub } from './hub.js'
import { digestOf, parseJson } from './json.js'
import type { ModelLocation } from './location.js'
import type { LoadReport } from './progress.js'
import { RemoteFiles, type RemoteFilesOptions } from './remote.js'
import { readSentence } from './sentence.js'
import type { WeightCheck, WeightOutline, WeightSource } from './source.js'
import { assertRoom, noteUse } from './storage.js'
import { type CacheChoice, storeFor } from './store/choose.js'
import { findForeign, findOnHub } from './store/foreign/index.js'
import { filesOfModel, originFiles, removeFile } from './store/origin.js'
import type { FileStore } from './store/store.js'

export interface OpenOptions {
  readonly report: LoadReport
  readonly signal: AbortSignal
  /** @default the Cache API in browsers, the user's cache directory elsewhere */
  readonly cache?: CacheChoice
  /** Is asked before weights are downloaded. */
  readonly check?: WeightCheck
  /** @default the platform's */
  readonly fetch?: Fetch
  /** Hears, before anything is downloaded, that it will not be kept, and why. */
  readonly warn?: (message: string) => void
}

/** Opens a model repository: downloads what is not here yet, reads what describes it, leaves the weights to be read. */
export async function openRepository(
  place: ModelLocation,
  { report: outer, signal, cache, check, fetch, warn }: OpenOptions,
): Promise<{ weights: WeightSource; text: TextFiles }> {
  const { report, onRetry } = withRetries(outer)
  const store = storeFor(cache)
  const files = await filesAt(place, store, signal, { ...(fetch && { fetch }), onRetry, warn })
  const found = await detect(files, signal)
  // Throws at what can never be read, before it is downloaded.
  const outline = found.outline()
  await check?.(outline, found.text)
  await fetchWanted(files, store, found, { report, signal, warn })
  return { weights: found.open(), text: found.text }
}

/** What the first bytes of a GGUF file say of its model. */
export interface FileHead {
  readonly text: TextFiles
  /** What it says that it is for. */
  readonly about: Awaited<ReturnType<typeof describeGguf>>
}

/** May refuse a file by throwing, before its weights are downloaded, and is waited for. */
export type HeadCheck = (head: FileHead) => unknown

/** A model in GGUF files on this disk: for who reads weights himself. Downloads what is not here yet. */
export async function openOnDisk(
  place: ModelLocation,
  { report: outer, signal, cache, fetch, warn, check }: Omit<OpenOptions, 'check'> & { readonly check?: HeadCheck },
): Promise<FileHead & { path: string; digest: string }> {
  const { report, onRetry } = withRetries(outer)
  const store = storeFor(cache)
  const files = await filesAt(place, store, signal, { ...(fetch && { fetch }), onRetry, warn })
  if (files.file === undefined) throw broken(files.place, 'a GGUF file is needed here: name one (*.gguf).')
  const found = await detect(files, signal)
  const [first] = found.wanted
  const path = files.pathOf?.(first!.name)
  if (path === undefined) throw broken(files.place, 'its file must be on a disk of this machine.')
  const about = await describeGguf(files, files.file, signal)
  await check?.({ about, text: found.text })
  await fetchWanted(files, store, found, { report, signal, warn })
  return {
    about,
    path,
    text: found.text,
    digest: digestOf(JSON.stringify(found.text.chatConfig), JSON.stringify(found.wanted)),
  }
}

/** Downloads what of it is not here yet, where there is room for it. */
async function fetchWanted(
  files: RepositoryFiles,
  store: FileStore,
  found: FoundModel,
  { report, signal, warn }: Pick<OpenOptions, 'report' | 'signal' | 'warn'>,
): Promise<void> {
  if (files instanceof RemoteFiles) {
    await assertRoom(store, files.place, (await amountOf(files, store, found)).left, warn)
  }
  await fetchAll(files, found.wanted, report, signal)
  if (files instanceof RemoteFiles) await noteUse(store, files.place)
}

/** What the heads of its files say, and how much of them is to be downloaded: no weights are. */
export async function surveyRepository(
  place: ModelLocation,
  { signal, cache, fetch }: Omit<OpenOptions, 'report' | 'check' | 'warn'>,
): Promise<{ outline: WeightOutline; bytes: number; left: number }> {
  const store = storeFor(cache)
  const files = await filesAt(place, store, signal, fetch ? { fetch } : {})
  const found = await detect(files, signal)
  return { outline: found.outline(), ...(await amountOf(files, store, found)) }
}

/** All that a model takes, and what of it is not here yet. */
async function amountOf(
  files: RepositoryFiles,
  store: FileStore,
  { wanted }: Pick<FoundModel, 'wanted'>,
): Promise<{ bytes: number; left: number }> {
  let [bytes, left] = [0, 0]
  for (const file of wanted) {
    const size = file.bytes ?? file.least ?? 0
    const here = files instanceof RemoteFiles ? await store.read(new URL(file.name, files.place).href) : { bytes: size }
    bytes += size
    left += Math.max(0, size - (here?.bytes ?? 0))
  }
  return { bytes, left }
}

/** The quantisations that the same repository has as GGUF, with their bytes; none where nobody can tell. */
export async function siblingsOf(
  place: ModelLocation,
  { signal, cache, fetch }: Omit<OpenOptions, 'report' | 'check' | 'warn'>,
): Promise<ReadonlyMap<string, number>> {
  if (place.kind !== 'hub') return new Map()
  const store = storeFor(cache)
  const read = (base: string, name: string) => new RemoteFiles(base, store, fetch ? { fetch } : {}).text(name, signal)
  return quantisationsOnHub(place.repository, read).catch(() => {
    signal.throwIfAborted()
    return new Map()
  })
}

/** What a repository says of its model in its first small files: enough to tell what it is for. */
export async function describeRepository(
  place: ModelLocation,
  { signal, cache, fetch }: Omit<OpenOptions, 'report' | 'check' | 'warn'>,
): Promise<Pick<WeightOutline, 'chatConfig' | 'sentence' | 'decision' | 'rowLength'>> {
  const store = storeFor(cache)
  // What is here is not asked for again: without a network that would take long and tell nothing.
  const here = isRemote(place) && (await isKept(place, store))
  const files = here ? await filesKept(place, store) : await filesAt(place, store, signal, fetch ? { fetch } : {})
  if (files.file !== undefined) return describeGguf(files, files.file, signal)
  // One of MLC's says all of itself when it is opened.
  if ((await files.text(MLC_CONFIG, signal)) !== undefined) return { chatConfig: {} }
  const config = await files.text('config.json', signal)
  if (config === undefined) {
    const agent = await files.text(AGENT, signal)
    return { chatConfig: {}, ...(agent !== undefined && { decision: parseJson(files.place, AGENT, agent) }) }
  }
  const chatConfig = parseJson(files.place, 'config.json', config)
  return { chatConfig, sentence: await readSentence(files, signal) }
}

/** Where its files are read from: what is here already, wherever it lies, is not downloaded. */
async function filesAt(
  place: ModelLocation,
  store: FileStore,
  signal: AbortSignal,
  options: RemoteFilesOptions,
): Promise<RepositoryFiles> {
  if (!isRemote(place)) return filesOnDisk(place)
  const cached = await filesInHubCache(place, store)
  if (cached) return cached
  const file = await fileAt(place, (base, name) => new RemoteFiles(base, store, options).text(name, signal))
  return new RemoteFiles(baseOf(place), store, { ...options, ...(file !== undefined && { file }) })
}

export async function filesOnDisk(place: Exclude<ModelLocation, RemoteLocation>): Promise<RepositoryFiles> {
  if (place.kind === 'files') return chosenFiles(place.files)
  if (place.kind === 'kept') return originFiles(place.name)
  return folderFiles(place.kind === 'folder' ? splitPath(place.path) : await findForeign(place.store, place.name))
}

/** What Hugging Face's own libraries have downloaded, where that is all of it. One's own copy comes first. */
export async function filesInHubCache(place: RemoteLocation, store: FileStore): Promise<RepositoryFiles | undefined> {
  const found = place.kind === 'hub' ? await findOnHub(place) : undefined
  if (!found || (await isKept(place, store))) return undefined
  const files = folderFiles(found)
  return (await lackOf(files)) === undefined ? files : undefined
}

/** What is kept of a repository that was opened before, in bytes; nothing of what is nobody's copy. */
export async function keptOf(place: ModelLocation, cache: CacheChoice): Promise<number> {
  if (place.kind === 'kept') return (await filesOfModel(place.name)).reduce((sum, { bytes }) => sum + bytes, 0)
  return isRemote(place) ? storeFor(cache).kept(baseOf(place)) : 0
}

/** Whether all of a repository is here, so that it can be loaded without a network. */
export async function isWhole(place: ModelLocation, cache: CacheChoice): Promise<boolean> {
  if (place.kind === 'kept') return (await lackOf(originFiles(place.name))) === undefined
  if (!isRemote(place)) return true
  const store = storeFor(cache)
  return (await isKept(place, store)) || (await filesInHubCache(place, store)) !== undefined
}

async function isKept(place: RemoteLocation, store: FileStore): Promise<boolean> {
  const files = await filesKept(place, store).catch(() => undefined)
  return files !== undefined && (await lackOf(files)) === undefined
}

/** What was downloaded of it, without asking for more. */
export async function filesKept(place: RemoteLocation, store: FileStore): Promise<RepositoryFiles> {
  const { signal } = new AbortController()
  const file = await fileAt(place, (base, name) => keptRepository(base, store).text(name, signal))
  return keptRepository(baseOf(place), store, file)
}

/** Deletes what was downloaded of a repository. */
export async function forget(place: ModelLocation, cache: CacheChoice): Promise<void> {
  if (place.kind === 'kept') await removeFile(place.name)
  if (isRemote(place)) await storeFor(cache).forget(baseOf(place))
}

/** What a download waits for is reported with how far it has come. */
function withRetries(outer: LoadReport): { report: LoadReport; onRetry: (message: string) => void } {
  let last: Parameters<LoadReport>[0] = {
    phase: 'download',
    bytesLoaded: 0,
    bytesTotal: 0,
    filesLoaded: 0,
    filesTotal: 0,
  }
  const report: LoadReport = (progress) => {
    last = progress
    outer(progress)
  }
  return { report, onRetry: (retry) => outer({ ...last, retry }) }
}
