/** Where the files of a model lie, and which of them it is in. */
import { fileOnHub, type ReadText } from './hub.js'
import type { ModelLocation } from './location.js'

const HUB = 'https://huggingface.co/'

const GGUF_FILE = /[^/\\]+\.gguf$/i

/** A place whose files are downloaded. */
export type RemoteLocation = Extract<ModelLocation, { kind: 'hub' | 'url' }>

export function isRemote(place: ModelLocation): place is RemoteLocation {
  return place.kind === 'hub' || place.kind === 'url'
}

/** Whether what lies here of it is our own copy, which may be deleted. */
export const isCopy = (place: ModelLocation): boolean => isRemote(place) || place.kind === 'kept'

/** A folder, and the one file in it that was meant. */
export function splitPath(path: string): { folder: string; file?: string } {
  const [file] = path.match(GGUF_FILE) ?? []
  return file === undefined ? { folder: path } : { folder: path.slice(0, -file.length) || '.', file }
}

/** The one file that a model is in, where it is in one. */
export async function fileAt(place: RemoteLocation, read: ReadText): Promise<string | undefined> {
  if (place.kind === 'url') return new URL(place.url).pathname.match(GGUF_FILE)?.[0]
  if (place.file !== undefined || place.quantisation === undefined) return place.file
  return fileOnHub(place.repository, place.quantisation, read)
}

/** What the addresses of all its files begin with. */
export function baseOf(place: RemoteLocation): string {
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
