import type { TextFiles } from '../decode/chat-text.js'
import type { JsonObject } from '../platform/json.js'
import type { Fetch } from './download.js'
import { broken } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { folderFiles } from './folder.js'
import { openMlc } from './formats/mlc.js'
import { openSafetensors } from './formats/safetensors.js'
import { parseJson } from './json.js'
import type { ModelLocation } from './location.js'
import type { LoadReport } from './progress.js'
import { RemoteFiles, type RemoteFilesOptions } from './remote.js'
import type { WeightCheck, WeightSource } from './source.js'
import { defaultFolder, diskStore } from './store/disk.js'
import { type FileStore, noStore } from './store/store.js'
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
  const files = filesAt(place, cache, { fetch, onRetry })
  const mlc = await files.text('mlc-chat-config.json', signal)
  if (mlc !== undefined) {
    const config = parseJson(files.place, 'mlc-chat-config.json', mlc)
    const text = await readText(files, config, listed(config), signal)
    return { weights: await openMlc(files, config, report, signal, check), text }
  }
  const plain = await files.text('config.json', signal)
  if (plain === undefined) {
    throw broken(files.place, 'it has neither mlc-chat-config.json (an MLC repository) nor config.json (safetensors).')
  }
  const config = parseJson(files.place, 'config.json', plain)
  const text = await readText(files, config, undefined, signal)
  return { weights: await openSafetensors(files, config, { report, signal, check }), text }
}

/** Reads what an MLC repository says about text, for an engine that takes its weights elsewhere. */
export async function openText(files: RepositoryFiles, signal: AbortSignal): Promise<TextFiles> {
  const mlc = await files.text('mlc-chat-config.json', signal)
  if (mlc === undefined) throw broken(files.place, 'it has no mlc-chat-config.json.')
  const config = parseJson(files.place, 'mlc-chat-config.json', mlc)
  return readText(files, config, listed(config), signal)
}

/** What is kept of a repository that was opened before, in bytes; nothing of a folder, which is nobody's copy. */
export async function keptOf(place: ModelLocation, cache: string | false | undefined): Promise<number> {
  return place.kind === 'folder' ? 0 : storeFor(cache).kept(baseOf(place))
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
  cache: string | false | undefined,
  options: RemoteFilesOptions,
): RepositoryFiles {
  if (place.kind === 'folder') return folderFiles(place.path)
  return new RemoteFiles(baseOf(place), storeFor(cache), options)
}

const baseOf = (place: Exclude<ModelLocation, { kind: 'folder' }>) =>
  resolveUrl(place.kind === 'hub' ? `${HUB}${place.repository}` : place.url)

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

/** The files that an MLC repository says it has. */
function listed(config: JsonObject): ReadonlySet<string> | undefined {
  return Array.isArray(config.tokenizer_files) ? new Set(config.tokenizer_files.map(String)) : undefined
}

async function readText(
  files: RepositoryFiles,
  chatConfig: JsonObject,
  names: ReadonlySet<string> | undefined,
  signal: AbortSignal,
): Promise<TextFiles> {
  const optional = async (name: string) => (names && !names.has(name) ? undefined : files.text(name, signal))
  const json = async (name: string) => {
    const text = await optional(name)
    return text === undefined ? undefined : parseJson(files.place, name, text)
  }
  const tokenizer = await files.text('tokenizer.json', signal)
  if (tokenizer === undefined) throw broken(files.place, 'it has no tokenizer.json.')
  return {
    tokenizer: parseJson(files.place, 'tokenizer.json', tokenizer),
    tokenizerConfig: await json('tokenizer_config.json'),
    chatTemplate: await optional('chat_template.jinja'),
    generationConfig: await json('generation_config.json'),
    chatConfig,
  }
}
