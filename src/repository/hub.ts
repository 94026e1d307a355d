/** Which files a repository at the hub has. */
import type { Fetch } from './download.js'
import { broken } from './failure.js'
import { RemoteFiles } from './remote.js'
import type { FileStore } from './store/store.js'

/** The GGUF file of that quantisation; of a model in parts the first. The list is kept, for loads without a network. */
export async function fileOnHub(
  repository: string,
  quantisation: string,
  store: FileStore,
  signal: AbortSignal,
  fetch?: Fetch,
): Promise<string> {
  const place = `https://huggingface.co/api/models/${repository}/tree/`
  const text = await new RemoteFiles(place, store, { ...(fetch && { fetch }) }).text('main', signal)
  const names = text === undefined ? [] : namesIn(place, text).filter((name) => /\.gguf$/i.test(name))
  if (names.length === 0) throw broken(repository, 'it has no GGUF files.')
  const wanted = new RegExp(`(^|[^a-z0-9])${quantisation.replace(/[.]/g, '\\.')}([^a-z0-9_]|$)`, 'i')
  const found = names.filter((name) => wanted.test(name) && !/mmproj/i.test(name)).sort()
  if (found[0] !== undefined) return found[0]
  throw broken(repository, `it has no GGUF file of ${quantisation}; there are ${names.join(', ')}.`)
}

function namesIn(place: string, text: string): string[] {
  try {
    const entries: unknown = JSON.parse(text)
    if (Array.isArray(entries)) return entries.map((entry: { path?: unknown }) => String(entry?.path))
  } catch {}
  throw broken(place, 'its list of files is no JSON list.')
}
