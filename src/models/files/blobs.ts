/** A model in files that a page was given. */
import { broken, damaged } from './failure.js'
import type { RepositoryFiles } from './files.js'

/** Of a file that was dropped into a page, or of a `Blob` with a name. */
export type NamedBlob = Blob & { readonly name?: string }

/** `get` finds a file by its name, and may fail where there is none. */
export interface BlobFiles {
  readonly place: string
  /** The one that the model is in, where it is in one. */
  readonly file?: string
  get(name: string): Promise<Blob | undefined>
}

export function blobFiles({ place, file, get }: BlobFiles): RepositoryFiles {
  const whole = async (name: string) => {
    const blob = await get(name)
    if (blob) return blob
    throw broken(place, `${name} is missing: choose it too, or download it again.`)
  }
  const head = async (name: string, from: number, to: number) => {
    const part = (await whole(name)).slice(from, to)
    try {
      return new Uint8Array(await part.arrayBuffer())
    } catch (cause) {
      // A file that was moved or changed since it was chosen.
      throw broken(place, `${name} can no longer be read; choose it again.`, cause)
    }
  }
  return {
    place,
    ...(file !== undefined && { file }),
    phase: 'read',
    text: async (name) => (await get(name))?.text(),
    async fetch({ name, bytes, least = 0 }, onBytes) {
      const { size } = await whole(name)
      if (size < (bytes ?? least) || size > (bytes ?? size))
        throw damaged(
          place,
          `${name} is incomplete: it has ${size} of ${bytes === undefined ? 'at least ' : ''}${bytes ?? least} bytes.`,
        )
      onBytes(size)
    },
    head,
    async slice(name, from, to) {
      const data = await head(name, from, to)
      if (data.length < to - from) throw damaged(place, `${name} ends before byte ${to}.`)
      return data
    },
    release() {},
  }
}

/** Files by their names; of a GGUF that is split, all of its parts. */
export function chosenFiles(files: readonly NamedBlob[]): RepositoryFiles {
  const named = new Map(files.map((file) => [fileNameOf(file), file]))
  const [first] = [...named.keys()].filter((name) => !/-(?!00001)\d{5}-of-\d{5}\.gguf$/i.test(name))
  const file = named.size === 1 || first?.endsWith('.gguf') ? first : undefined
  return blobFiles({
    place: first ?? 'no file',
    ...(file !== undefined && { file }),
    get: async (name) => named.get(name),
  })
}

export const fileNameOf = ({ name = 'model.gguf' }: NamedBlob): string => name.split(/[/\\]/).at(-1)!
