/** Files of the user's own, kept in the origin's private file system: large ones are read there without being copied. */
import { V1Error } from '../../../contract/index.js'
import { blobFiles, chosenFiles, fileNameOf, type NamedBlob } from '../blobs.js'
import type { RepositoryFiles } from '../files.js'
import { gguf } from '../formats/gguf/index.js'
import { adviceFor, full, isFull } from '../storage.js'
import { storeFor } from './choose.js'

const FOLDER = 'local-v1-models'

export interface KeptFile {
  /** Its name; in `models` it is `kept:NAME`. */
  readonly name: string
  readonly bytes: number
}

export interface KeepOptions {
  /** Ends the copy. */
  readonly signal?: AbortSignal
  /** Called with the progress of the copy. */
  readonly onProgress?: (bytes: number, of: number) => void
}

/**
 * Stores a GGUF file that a user chose or dropped (all parts of a split one), so that it is there at the next visit:
 * `webgpu({ models: [await keepFile(file)] })`. Other files are refused before they are copied.
 */
export async function keepFile(
  chosen: NamedBlob | readonly NamedBlob[],
  { signal = new AbortController().signal, onProgress }: KeepOptions = {},
): Promise<string> {
  const files = [chosen].flat() as readonly NamedBlob[]
  const given = chosenFiles(files)
  const found = await gguf.detect({ ...given, file: given.file ?? given.place }, signal)
  for (const wanted of found!.wanted) await given.fetch(wanted, () => {}, signal)
  const total = files.reduce((sum, { size }) => sum + size, 0)
  const folder = await folderOf({ create: true })
  await assertRoom(total, files)
  let done = 0
  for (const file of files) {
    const counted = (bytes: number) => {
      done += bytes
      onProgress?.(done, total)
    }
    await copy(folder!, file, signal, counted).catch(async (error: unknown) => {
      // The estimate was wrong, or someone else was faster.
      throw isFull(error) ? await noRoom(total - done, 0) : error
    })
  }
  return `kept:${given.file}`
}

/** The stored files; empty if the browser has no private file system. */
export async function keptFiles(): Promise<KeptFile[]> {
  const folder = await folderOf({}).catch(() => undefined)
  const found: KeptFile[] = []
  if (!folder) return found
  for await (const entry of entriesOf(folder)) {
    if (entry.kind !== 'file') continue
    const { size } = await (entry as FileSystemFileHandle).getFile()
    // One that is being written, or that a page has left unfinished.
    if (size > 0) found.push({ name: entry.name, bytes: size })
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Deletes a stored file, and the other parts of a split one. */
export async function removeFile(name: string): Promise<void> {
  const folder = await folderOf({})
  const parts = await filesOfModel(name)
  for (const part of parts) await folder?.removeEntry(part.name)
}

/** The files of one model that is kept. */
export async function filesOfModel(name: string): Promise<KeptFile[]> {
  const stem = (of: string) => of.replace(/-\d{5}-of-(\d{5}\.gguf)$/, '-$1')
  return (await keptFiles()).filter((file) => stem(file.name) === stem(name))
}

export function originFiles(name: string): RepositoryFiles {
  return blobFiles({
    place: `kept:${name}`,
    file: name,
    async get(file) {
      const folder = await folderOf({})
      const handle = await folder?.getFileHandle(file).catch(() => undefined)
      return handle?.getFile()
    },
  })
}

async function folderOf(options: FileSystemGetDirectoryOptions): Promise<FileSystemDirectoryHandle | undefined> {
  const storage = (globalThis as { navigator?: Navigator }).navigator?.storage
  if (!storage?.getDirectory) {
    throw new V1Error(500, 'There is no private file system here: give the file itself as the model, or its path.')
  }
  const { FileSystemFileHandle: Handle } = globalThis as { FileSystemFileHandle?: { prototype: object } }
  if (options.create && Handle && !('createWritable' in Handle.prototype)) {
    throw new V1Error(500, 'This browser does not write to its private file system: give the file itself as the model.')
  }
  const root = await storage.getDirectory()
  return options.create
    ? root.getDirectoryHandle(FOLDER, options)
    : root.getDirectoryHandle(FOLDER).catch(() => undefined)
}

/** Not in the types of all platforms. */
function entriesOf(folder: FileSystemDirectoryHandle): AsyncIterable<FileSystemHandle> {
  return (folder as unknown as { values(): AsyncIterable<FileSystemHandle> }).values()
}

async function assertRoom(bytes: number, files: readonly NamedBlob[]): Promise<void> {
  const held = new Map((await keptFiles()).map((file) => [file.name, file.bytes]))
  const replaced = files.reduce((sum, file) => sum + (held.get(fileNameOf(file)) ?? 0), 0)
  const { quota, usage = 0 } = await navigator.storage.estimate()
  const free = quota === undefined ? Number.POSITIVE_INFINITY : quota - usage + replaced
  if (bytes <= free) return
  throw await noRoom(bytes, free)
}

async function noRoom(bytes: number, free: number): Promise<V1Error> {
  const megabytes = (of: number) => `${Math.floor(of / 1e6)} MB`
  const message = `The file has ${megabytes(bytes)}, and this site may store ${megabytes(free)} more.`
  return full(message, await adviceFor(storeFor(undefined), bytes - free))
}

async function copy(
  folder: FileSystemDirectoryHandle,
  file: NamedBlob,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const handle = await folder.getFileHandle(fileNameOf(file), { create: true })
  // What a writable is given is not in the file before it is closed.
  const writable = await handle.createWritable()
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onBytes(chunk.length)
      controller.enqueue(chunk)
    },
  })
  try {
    await file.stream().pipeThrough(counted).pipeTo(writable, { signal })
  } catch (error) {
    const { size } = await handle.getFile()
    if (size === 0) await folder.removeEntry(fileNameOf(file)).catch(() => {})
    throw error
  }
}
