import { builtin } from '../../platform/builtin.js'
import { sliceOfFile } from '../slice-of-file.js'
import { type FileStore, type FileWriter, type KeptRepository, type StoredFile, USED } from './store.js'

type Fs = typeof import('node:fs/promises')
type FileHandle = import('node:fs/promises').FileHandle

const CHUNK = 1 << 20

/** Files below `folder`, by host and path. A file that is not whole yet ends in `.part`, and a later load goes on with it. */
export function diskStore(folder: string): FileStore | undefined {
  const fs = builtin<Fs>('node:fs/promises')
  if (!fs) return undefined
  const at = (url: string) => `${folder}/${pathOf(url)}`
  return {
    async read(url) {
      const size = await sizeOf(fs, at(url))
      return size === undefined ? undefined : diskFile(fs, at(url), size)
    },
    write: (url) => openWriter(fs, at(url), folder),
    kept: (base) => sizeBelow(fs, at(base)),
    repositories: () => repositoriesBelow(fs, folder),
    room: () => roomFor(fs, folder),
    forget: (base) => fs.rm(at(base), { recursive: true, force: true }),
  }
}

/** `begun`: with what is not whole yet. */
async function sizeBelow(fs: Fs, folder: string, { begun = false } = {}): Promise<number> {
  let bytes = 0
  for (const entry of await fs.readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) bytes += await sizeBelow(fs, path, { begun })
    else if ((begun || !entry.name.endsWith('.part')) && entry.name !== USED) bytes += (await sizeOf(fs, path)) ?? 0
  }
  return bytes
}

/** Those that were noted, and of the hub's those from before there were notes, by their newest file. */
async function repositoriesBelow(fs: Fs, folder: string): Promise<KeptRepository[]> {
  const found: KeptRepository[] = []
  const files = await fs.readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const hub = new Map<string, { bytes: number; newest: number }>()
  const noted = new Set<string>()
  for (const entry of files) {
    if (!entry.isFile()) continue
    const path = `${entry.parentPath}/${entry.name}`
    if (entry.name === USED) {
      const note = await fs.readFile(path, 'utf8').then(JSON.parse, () => undefined)
      if (typeof note?.base !== 'string') continue
      noted.add(note.base)
      const bytes = await sizeBelow(fs, entry.parentPath, { begun: true })
      found.push({ base: note.base, bytes, usedAt: new Date(note.usedAt) })
      continue
    }
    const [, repository] =
      entry.parentPath.replaceAll('\\', '/').match(/\/huggingface\.co\/([^/]+\/[^/]+)\/resolve\/main/) ?? []
    if (repository === undefined) continue
    const { size, mtimeMs } = await fs.stat(path)
    const { bytes = 0, newest = 0 } = hub.get(repository) ?? {}
    hub.set(repository, { bytes: bytes + size, newest: Math.max(newest, mtimeMs) })
  }
  for (const [repository, { bytes, newest }] of hub) {
    const base = `https://huggingface.co/${repository}/resolve/main/`
    if (!noted.has(base)) found.push({ base, bytes, usedAt: new Date(newest) })
  }
  return found
}

/** What is free where the folder is, or will be. */
async function roomFor(fs: Fs, folder: string): Promise<number | undefined> {
  for (let at = folder; at !== ''; at = parentOf(at)) {
    const found = await fs.statfs(at).catch(() => undefined)
    if (found) return found.bavail * found.bsize
  }
  return undefined
}

/** A path without `..`, drive letters or anything else that could lead out of the folder. */
function pathOf(url: string): string {
  const { host, pathname } = new URL(url)
  return [host, ...pathname.split('/')]
    .filter((part) => part !== '')
    .map((part) =>
      decodeURIComponent(part)
        .replace(/[^\w.-]+/g, '_')
        .replace(/^\.+$/, '_'),
    )
    .join('/')
}

function diskFile(fs: Fs, path: string, bytes: number): StoredFile {
  return { bytes, slice: (from, to, into) => sliceOfFile(fs, path, from, to, into) }
}

/** Nothing is made before there is something to keep, and what holds nothing in the end is taken away. */
async function openWriter(fs: Fs, path: string, folder: string): Promise<FileWriter> {
  const part = `${path}.part`
  let written = (await sizeOf(fs, part)) ?? 0
  let file: FileHandle | undefined = written > 0 ? await fs.open(part, 'a+') : undefined
  const begin = async () => {
    await fs.mkdir(parentOf(path), { recursive: true })
    return fs.open(part, 'a+')
  }
  const close = async () => {
    await file?.close()
    file = undefined
  }
  return {
    get written() {
      return written
    },
    async append(chunk) {
      file ??= await begin()
      await file.appendFile(chunk)
      written += chunk.length
    },
    contents: () => contentsOf(file, written),
    async restart() {
      await file?.truncate(0)
      written = 0
    },
    async commit() {
      file ??= await begin()
      await file.sync()
      await close()
      await fs.rename(part, path)
      return diskFile(fs, path, written)
    },
    async close() {
      const begun = file !== undefined
      await close()
      if (begun && written === 0) await discard(fs, part, folder)
    },
  }
}

/** Deletes an empty file, and the folders above it that are empty now. */
async function discard(fs: Fs, part: string, folder: string): Promise<void> {
  await fs.rm(part, { force: true })
  try {
    for (let above = parentOf(part); above.length > folder.length; above = parentOf(above)) await fs.rmdir(above)
  } catch {
    // There is more in it.
  }
}

const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'))

async function* contentsOf(file: FileHandle | undefined, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += CHUNK) {
    const chunk = new Uint8Array(Math.min(CHUNK, bytes - at))
    await file!.read(chunk, 0, chunk.length, at)
    yield chunk
  }
}

async function sizeOf(fs: Fs, path: string): Promise<number | undefined> {
  return fs.stat(path).then(
    (stat) => stat.size,
    () => undefined,
  )
}

/** `local-v1` in the user's cache directory, as each system names it; undefined in a browser. */
export function defaultFolder(): string | undefined {
  const os = builtin<typeof import('node:os')>('node:os')
  const process = builtin<typeof import('node:process')>('node:process')
  if (!os || !process) return undefined
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  if (XDG_CACHE_HOME) return `${XDG_CACHE_HOME}/local-v1`
  if (process.platform === 'win32' && LOCALAPPDATA) return `${LOCALAPPDATA}/local-v1`
  return `${os.homedir()}/${process.platform === 'darwin' ? 'Library/Caches' : '.cache'}/local-v1`
}
