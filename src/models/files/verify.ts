/** Whether what lies on this disk is what it was: every byte of it, where its source names hashes. */
import { isRemote } from './address.js'
import type { RepositoryFiles, WantedFile } from './files.js'
import { detect } from './formats/index.js'
import { hashOf, namedHash } from './hash.js'
import type { ModelLocation } from './location.js'
import { filesInHubCache, filesKept, filesOnDisk } from './open.js'
import { storeFor } from './store/choose.js'

export interface VerifiedFile {
  readonly name: string
  /** What it was held against. */
  readonly by: 'sha256' | 'md5' | 'size'
  readonly fault?: string
}

const CHUNK = 1 << 22

/** Throws where the model is not here, or where it cannot be told what its files are. */
export async function* verify(
  place: ModelLocation,
  cache: string | false | undefined,
  signal: AbortSignal,
): AsyncGenerator<VerifiedFile> {
  const files = await filesFor(place, cache)
  const { wanted } = await detect(files, signal)
  for (const file of wanted) yield await verifyFile(files, { ...(await files.known?.(file.name)), ...file }, signal)
}

async function filesFor(place: ModelLocation, cache: string | false | undefined) {
  if (!isRemote(place)) return filesOnDisk(place)
  const store = storeFor(cache)
  return (await filesInHubCache(place, store)) ?? filesKept(place, store)
}

async function verifyFile(files: RepositoryFiles, file: WantedFile, signal: AbortSignal): Promise<VerifiedFile> {
  const { name } = file
  const hash = namedHash(file)
  const by = hash?.kind ?? 'size'
  try {
    await files.fetch(file, () => {}, signal)
    if (!hash) return { name, by }
    const found = await hashOf(hash.kind, contentsOf(files, name, signal))
    if (found === hash.wanted) return { name, by }
    return { name, by, fault: `its hash is ${found} and should be ${hash.wanted}` }
  } catch (error) {
    signal.throwIfAborted()
    return { name, by, fault: error instanceof Error ? error.message : String(error) }
  } finally {
    files.release(name)
  }
}

async function* contentsOf(files: RepositoryFiles, name: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    signal.throwIfAborted()
    const bytes = await files.head(name, at, at + CHUNK, signal)
    if (bytes.length === 0) return
    yield bytes
    at += bytes.length
  }
}
