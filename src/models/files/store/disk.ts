import { builtin, decodedPart } from '../../../platform/index.js'
import { sliceOfFile } from '../slice-of-file.js'
import { type FileStore, type FileWriter, isNote, type KeptRepository, type StoredFile, USED } from './store.js'
import { lengthAt, PART, parentOf, partOf, SILENT_MS, takeOver } from './unfinished.js'

type Fs = typeof import('node:fs/promises')
type FileHandle = import('node:fs/promises').FileHandle

const CHUNK = 1 << 20

/**
 * Files below `folder`, by host and path. A file that is not whole yet ends in `.part`, and a later load goes on with it.
 * While it is written it has the writer's name: of several processes each writes its own.
 */
export function diskStore(folder: string): FileStore | undefined {
  const fs = builtin<Fs>('node:fs/promises')
  if (!fs) return undefined
  const at = (url: string) => `${folder}/${pathOf(url)}`
  const earlier = new Earlier(fs, folder)
  return {
    pathOf: at,
    async read(url) {
      const [path, size] = (await found(fs, at(url))) ?? (await earlier.found(url)) ?? []
      return path === undefined ? undefined : diskFile(fs, path, size!)
    },
    write: (url) => openWriter(fs, at(url), folder, () => earlier.begin()),
    kept: async (base) => (await sizeBelow(fs, at(base))) + (await earlier.kept(base)),
    repositories: () => repositoriesBelow(fs, folder),
    room: () => roomFor(fs, folder),
    async forget(base) {
      await earlier.forget(base)
      // Another process may add to it meanwhile.
      await fs.rm(at(base), { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** A path, and how long the file there is. */
type Found = readonly [path: string, bytes: number]

async function found(fs: Fs, path: string): Promise<Found | undefined> {
  const bytes = await lengthAt(fs, path)
  return bytes === undefined ? undefined : [path, bytes]
}

/** When the folder began to tell all addresses apart is when this file was made in it. */
export const APART = '.apart'

/**
 * What was kept when addresses that differ in some characters alone had one path: there an address may find it that has
 * nothing at its own. What has come since is never another's.
 */
class Earlier {
  readonly #fs: Fs
  readonly #folder: string

  constructor(fs: Fs, folder: string) {
    this.#fs = fs
    this.#folder = folder
  }

  async found(url: string): Promise<Found | undefined> {
    const path = this.#at(url)
    const stat = path === undefined ? undefined : await this.#fs.stat(path).catch(() => undefined)
    return stat?.isFile() && stat.mtimeMs < (await this.#until()) ? [path!, stat.size] : undefined
  }

  async kept(base: string): Promise<number> {
    const path = this.#at(base)
    return path === undefined ? 0 : sizeBelow(this.#fs, path, { until: await this.#until() })
  }

  async forget(base: string): Promise<void> {
    const path = this.#at(base)
    if (path === undefined) return
    const until = await this.#until()
    const entries = await this.#fs.readdir(path, { recursive: true, withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const file = `${entry.parentPath}/${entry.name}`
      const stat = entry.isFile() ? await this.#fs.stat(file).catch(() => undefined) : undefined
      if (stat && stat.mtimeMs < until) await discard(this.#fs, file, this.#folder)
    }
  }

  /** To be called before anything is kept. */
  async begin(): Promise<void> {
    if (Number.isFinite(await this.#until())) return
    await this.#fs.mkdir(this.#folder, { recursive: true })
    await this.#fs.writeFile(`${this.#folder}/${APART}`, '')
  }

  async #until(): Promise<number> {
    const stat = await this.#fs.stat(`${this.#folder}/${APART}`).catch(() => undefined)
    return stat?.mtimeMs ?? Number.POSITIVE_INFINITY
  }

  /** Undefined: where it is kept now. */
  #at(url: string): string | undefined {
    const path = earlierPathOf(url)
    return path === pathOf(url) || path.endsWith(PART) ? undefined : `${this.#folder}/${path}`
  }
}

/** `begun`: with what is not whole yet; `until`: what was written before. */
async function sizeBelow(fs: Fs, folder: string, { begun = false, until = Number.POSITIVE_INFINITY } = {}) {
  let bytes = 0
  for (const entry of await fs.readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) bytes += await sizeBelow(fs, path, { begun, until })
    else if ((begun || !entry.name.endsWith(PART)) && !isNote(entry.name)) {
      const stat = await fs.stat(path).catch(() => undefined)
      if (stat && stat.mtimeMs < until) bytes += stat.size
    }
  }
  return bytes
}

/** Those that were noted, and of the hub's those from before there were notes, by their newest file. */
async function repositoriesBelow(fs: Fs, folder: string): Promise<KeptRepository[]> {
  const files = await fs.readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const hub = new Map<string, { bytes: number; newest: number }>()
  const noted = new Map<string, Required<KeptRepository>>()
  for (const entry of files) {
    if (!entry.isFile()) continue
    const path = `${entry.parentPath}/${entry.name}`
    if (entry.name === USED) {
      const note = await fs
        .readFile(path, 'utf8')
        .then(JSON.parse)
        .catch(() => undefined)
      if (typeof note?.base !== 'string') continue
      const bytes = await sizeBelow(fs, entry.parentPath, { begun: true })
      const usedAt = new Date(note.usedAt)
      const twice = noted.get(note.base)
      // Some of it was kept elsewhere before.
      const latest = twice && twice.usedAt > usedAt ? twice.usedAt : usedAt
      noted.set(note.base, { base: note.base, bytes: bytes + (twice?.bytes ?? 0), usedAt: latest })
      continue
    }
    const folders = entry.parentPath.replaceAll('\\', '/')
    const repository = folders.match(/\/huggingface\.co\/([^/]+\/[^/]+)\/resolve\/main/)?.[1]
    if (repository === undefined) continue
    const stat = await fs.stat(path).catch(() => undefined)
    // Of a download that another process has ended meanwhile.
    if (stat === undefined) continue
    const { bytes = 0, newest = 0 } = hub.get(repository) ?? {}
    hub.set(repository, { bytes: bytes + stat.size, newest: Math.max(newest, stat.mtimeMs) })
  }
  const found: KeptRepository[] = [...noted.values()]
  for (const [repository, { bytes, newest }] of hub) {
    const base = `https://huggingface.co/${repository}/resolve/main/`
    if (!noted.has(base)) found.push({ base, bytes, usedAt: new Date(newest) })
  }
  return found
}

/** What is free where the folder is, or will be. */
async function roomFor(fs: Fs, folder: string): Promise<number | undefined> {
  const freeAt = (at: string) =>
    fs.statfs(at).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => undefined,
    )
  for (let at = folder; at !== ''; at = parentOf(at)) {
    const room = await freeAt(at)
    if (room !== undefined) return room
  }
  return freeAt(folder.startsWith('/') ? '/' : '.')
}

/** What one name of a path may have at most; systems take 255 bytes. */
const MOST_OF_NAME = 200

/**
 * A path without `..`, drive letters or anything else that could lead out of the folder, one for each address. `%` stands
 * before two digits of each byte that is no plain character, and else for what no name can be: for an empty one (`%_`),
 * before what cannot be decoded (`%!`) or is asked for (`%=`), and where a long name goes on in the folder of that name.
 */
function pathOf(url: string): string {
  const { host, pathname, search } = new URL(url)
  const names = pathname.split('/').slice(1)
  const last = names.pop()!
  const query = search === '' ? '' : `%=${plainly(search)}`
  const end = last === '' && query === '' ? [] : [storedPart(last) + query]
  return [plainly(host), ...names.map(storedPart), ...end].map(cut).join('/')
}

function storedPart(part: string): string {
  if (part === '') return '%_'
  try {
    const name = decodeURIComponent(part)
    // What is not whole ends so.
    if (name.endsWith(PART)) return `${plainly(name.slice(0, -PART.length))}%2Epart`
    return /^\.+$/.test(name) ? '%2E'.repeat(name.length) : plainly(name)
  } catch {
    return `%!${plainly(part)}`
  }
}

/** With each character that is not plain as its bytes. */
function plainly(text: string): string {
  const bytes = (odd: string) =>
    [...new TextEncoder().encode(odd)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  return text.replace(/[^\w.-]+/g, bytes)
}

function cut(name: string): string {
  return name.match(new RegExp(`.{1,${MOST_OF_NAME}}`, 'g'))!.join('%/')
}

/** The same path for all addresses that differ in characters that are not plain alone. */
function earlierPathOf(url: string): string {
  const { host, pathname } = new URL(url)
  return [host, ...pathname.split('/')]
    .filter((part) => part !== '')
    .map((part) =>
      decodedPart(part)
        .replace(/[^\w.-]+/g, '_')
        .replace(/^\.+$/, '_'),
    )
    .join('/')
}

function diskFile(fs: Fs, path: string, bytes: number): StoredFile {
  return { bytes, slice: (from, to, into) => sliceOfFile(fs, path, from, to, into) }
}

/** Nothing is made before there is something to keep, and what holds nothing in the end is taken away. */
async function openWriter(fs: Fs, path: string, folder: string, beginFolder: () => Promise<void>): Promise<FileWriter> {
  const part = partOf(path)
  const left = await takeOver(fs, path, part)
  let written = left ?? 0
  let file: FileHandle | undefined = left === undefined ? undefined : await fs.open(part, 'a+')
  let mine = file !== undefined
  const begin = async () => {
    await beginFolder()
    await fs.mkdir(parentOf(path), { recursive: true })
    mine = true
    return fs.open(part, 'a+')
  }
  // Whose server says nothing for long is at work as well.
  const alive = setInterval(() => void file?.utimes(new Date(), new Date()).catch(() => {}), SILENT_MS / 4)
  const close = async () => {
    clearInterval(alive)
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
      mine = false
      return diskFile(fs, path, written)
    },
    async close() {
      await close()
      if (!mine) return
      mine = false
      if (written === 0) await discard(fs, part, folder)
      // All of it may have been deleted meanwhile.
      else await fs.rename(part, `${path}${PART}`).catch(() => {})
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

async function* contentsOf(file: FileHandle | undefined, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += CHUNK) {
    const chunk = new Uint8Array(Math.min(CHUNK, bytes - at))
    await file!.read(chunk, 0, chunk.length, at)
    yield chunk
  }
}

/** `local-v1` in the user's cache directory, as each system names it; undefined in a browser. */
export function defaultFolder(): string | undefined {
  const os = builtin<typeof import('node:os')>('node:os')
  if (!os) return undefined
  const process = builtin<typeof import('node:process')>('node:process')!
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  if (XDG_CACHE_HOME) return `${XDG_CACHE_HOME}/local-v1`
  if (process.platform === 'win32' && LOCALAPPDATA) return `${LOCALAPPDATA}/local-v1`
  return `${os.homedir()}/${process.platform === 'darwin' ? 'Library/Caches' : '.cache'}/local-v1`
}
