/** Which files a repository at the hub has. */
import { broken } from './failure.js'
import { pickFile } from './quantisation.js'

/** The text of a small file at an address; undefined where there is none. */
export type ReadText = (base: string, name: string) => Promise<string | undefined>

/** The GGUF file of that quantisation; of a model in parts the first. The list is kept, for loads without a network. */
export async function fileOnHub(repository: string, quantisation: string, read: ReadText): Promise<string> {
  const place = `https://huggingface.co/api/models/${repository}/tree/`
  const text = await read(place, 'main')
  const names = text === undefined ? [] : namesIn(place, text).filter((name) => /\.gguf$/i.test(name))
  if (names.length === 0) throw broken(repository, 'it has no GGUF files.')
  const found = pickFile(names, quantisation)
  if (found !== undefined) return found
  throw broken(repository, `it has no GGUF file of ${quantisation}; there are ${names.join(', ')}.`)
}

function namesIn(place: string, text: string): string[] {
  try {
    const entries: unknown = JSON.parse(text)
    if (Array.isArray(entries)) return entries.map((entry: { path?: unknown }) => String(entry?.path))
  } catch {}
  throw broken(place, 'its list of files is no JSON list.')
}
