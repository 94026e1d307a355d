import { V1Error } from '../../contract/index.js'
import { builtin, missingFlag } from '../../platform/index.js'
import { broken, damaged } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { sliceOfFile } from './slice-of-file.js'
import type { ForeignPlace } from './store/foreign/index.js'
import { within } from './within.js'

type Fs = typeof import('node:fs/promises')

/** A repository in a local folder. Sizes are checked; hashes are not, for who can write the files can write those too. */
export function folderFiles({ folder: path, file, known }: ForeignPlace): RepositoryFiles {
  const fs = builtin<Fs>('node:fs/promises')
  if (!fs) throw new V1Error(500, `The model at ${path} cannot be loaded: there are no local folders in a browser.`)
  const at = (name: string) => `${path.replace(/[/\\]+$/, '')}/${within(path, name)}`
  const missing = (name: string) => (cause: unknown) => {
    throw broken(path, `${name} is missing: check the path, or download it again.`, cause)
  }
  const part = (name: string, from: number, to: number, into?: Uint8Array) =>
    sliceOfFile(fs, at(name), from, to, into).catch(missing(name))
  const slice = async (name: string, from: number, to: number, into?: Uint8Array) => {
    const data = await part(name, from, to, into)
    if (data.length < to - from) throw damaged(path, `${name} ends before byte ${to}.`)
    return data
  }
  return {
    place: path,
    ...(file !== undefined && { file }),
    phase: 'read',
    async text(name) {
      try {
        return await fs.readFile(at(name), 'utf8')
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        const flag = missingFlag(cause)
        const what = flag === undefined ? 'may this user open it?' : `start the program with ${flag}.`
        throw broken(path, `${name} cannot be read: ${what}`, cause)
      }
    },
    ...(known && { known }),
    pathOf: at,
    async fetch({ name, bytes: named, least = 0 }, onBytes) {
      const stat = await fs.stat(at(name)).catch(missing(name))
      const bytes = named ?? (await known?.(name))?.bytes
      if (bytes !== undefined && stat.size !== bytes) {
        const fault = stat.size < bytes ? 'is incomplete: it' : 'has changed: it'
        throw damaged(path, `${name} ${fault} has ${stat.size} bytes and should have ${bytes}.`)
      }
      if (stat.size < least)
        throw damaged(path, `${name} is incomplete: it has ${stat.size} of at least ${least} bytes.`)
      onBytes(stat.size)
    },
    head: (name, from, to) => part(name, from, to),
    slice,
    release() {},
  }
}
