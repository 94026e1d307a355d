/** Which files a repository at the hub has. */
import { broken } from './failure.js'
import { pickFile, quantisationOf } from './quantisation.js'

/** The text of a small file at an address; undefined where there is none. */
export type ReadText = (base: string, name: string) => Promise<string | undefined>

/** The GGUF file of that quantisation; of a model in parts the first. The list is kept, for loads without a network. */
export async function fileOnHub(repository: string, quantisation: string, read: ReadText): Promise<string> {
  const place = treeOf(repository)
  const text = await read(place, 'main')
  const names =
    text === undefined ? [] : filesIn(place, text).flatMap(({ name }) => (/\.gguf$/i.test(name) ? [name] : []))
  if (names.length === 0)
    throw broken(repository, 'it has no GGUF files: name it without a quantisation, or choose another.')
  const found = pickFile(names, quantisation)
  if (found !== undefined) return found
  throw broken(repository, `it has no GGUF file of ${quantisation}; there are ${names.join(', ')}.`)
}

/** The quantisations that a repository at the hub has as GGUF, and the bytes of each. */
export async function quantisationsOnHub(repository: string, read: ReadText): Promise<ReadonlyMap<string, number>> {
  const place = treeOf(repository)
  const text = await read(place, 'main')
  const files = text === undefined ? [] : filesIn(place, text).filter(({ name }) => /\.gguf$/i.test(name))
  const names = files.map(({ name }) => name)
  const sizes = new Map<string, number>()
  for (const { name, bytes } of files) {
    const quantisation = quantisationOf(name)
    if (quantisation === undefined || bytes === undefined) continue
    const first = pickFile(names, quantisation)
    // Of a model in parts all count; of several files that are meant by a quantisation, the one that it gives.
    if (first !== undefined && partsOf(first) === partsOf(name)) {
      sizes.set(quantisation, (sizes.get(quantisation) ?? 0) + bytes)
    }
  }
  return sizes
}

const partsOf = (name: string) => name.replace(/-\d{5}-of-(\d{5}\.gguf)$/i, '-of-$1')
const treeOf = (repository: string) => `https://huggingface.co/api/models/${repository}/tree/`

function filesIn(place: string, text: string): { readonly name: string; readonly bytes: number | undefined }[] {
  try {
    const entries: unknown = JSON.parse(text)
    if (Array.isArray(entries)) {
      return entries.map((entry: { path?: unknown; size?: unknown }) => ({
        name: String(entry?.path),
        bytes: typeof entry?.size === 'number' ? entry.size : undefined,
      }))
    }
  } catch {}
  throw broken(place, 'its list of files is not a JSON list.')
}
