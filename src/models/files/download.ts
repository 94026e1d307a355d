import { V1Error } from '../../contract/index.js'
import { missingFlag, wait } from '../../platform/index.js'
import { broken, unreachable } from './failure.js'
import type { WantedFile } from './files.js'
import { hashOf, namedHash } from './hash.js'
import { SteadyReader } from './steady.js'
import type { FileWriter } from './store/store.js'

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Download {
  readonly url: string
  readonly file: WantedFile
  readonly writer: FileWriter
  readonly fetch: Fetch
  readonly onBytes: (bytes: number) => void
  /** Hears why it is tried again, and when. */
  readonly onRetry?: (message: string) => void
  readonly signal: AbortSignal
}

const ATTEMPTS = 5
/** Bytes of a file whose size nobody names, beyond those that its head says: the largest of such are vocabularies. */
const MOST_UNKNOWN = 128 * 2 ** 20

/** Thrown where another attempt may succeed. */
class Retry extends Error {
  readonly afterMs: number | undefined
  constructor(message: string, afterMs?: number, cause?: unknown) {
    super(message, { cause })
    this.afterMs = afterMs
  }
}

/** Brings the whole file into the writer, verified; false where the server has no such file. */
export async function download(job: Download): Promise<boolean> {
  const { url, file, writer, signal } = job
  job.onBytes(writer.written)
  let corrupt = false
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      if (!(await receive(job))) return false
      const fault = await faultOf(file, writer)
      if (fault === undefined) return true
      await restart(job)
      // Once may be an old part of a file that has changed since, twice is the server's.
      if (corrupt) throw broken(url, `${fault} Nothing was stored.`)
      corrupt = true
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Retry)) throw error
      if (attempt === ATTEMPTS) throw unreachable(url, `${file.name}: ${error.message}`, error)
      const ms = error.afterMs ?? 250 * 2 ** attempt
      job.onRetry?.(`${file.name}: ${error.message} Trying again in ${(ms / 1000).toFixed(1)} s.`)
      await wait(ms, signal)
    }
  }
}

async function receive(job: Download): Promise<boolean> {
  const { url, file, writer, signal } = job
  if (writer.written === file.bytes) return true
  // Nothing would tell whether an old part of a file of unknown size belongs to what the server has now.
  if (file.bytes === undefined || writer.written > file.bytes) await restart(job)
  const from = writer.written
  const response = await job
    .fetch(url, { signal, headers: from > 0 ? { range: `bytes=${from}-` } : {} })
    .catch((cause: unknown) => {
      // Where it sends on to is refused the next time, too.
      if (V1Error.is(cause)) throw cause
      throw new Retry(`the network failed${reasonOf(cause)}.`, undefined, cause)
    })
  if (!(await isUsable(job, response))) return false
  if (from > 0 && !continues(response, from, file.bytes!)) {
    await restart(job)
    // A server that does not know ranges sends the whole; another part than the one asked for is of no use.
    if (response.status === 206) {
      await response.body!.cancel()
      throw new Retry('the file has changed on the server.', 0)
    }
  }
  await pour(job, response)
  return true
}

/** Node says `fetch failed`, and why in its cause. */
function reasonOf(error: unknown): string {
  const flag = missingFlag(error)
  if (flag !== undefined) return `: start the program with ${flag}`
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
}

async function pour({ url, file, writer, onBytes }: Download, response: Response): Promise<void> {
  const most = file.bytes ?? (file.least ?? 0) + MOST_UNKNOWN
  const reader = new SteadyReader(response.body!)
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new Retry(`the connection broke at byte ${writer.written}.`, undefined, cause)
      })
      if (done) return
      await writer.append(value)
      onBytes(value.length)
      if (writer.written <= most) continue
      if (file.bytes !== undefined) return
      await writer.restart()
      throw broken(url, `${file.name} has more than the ${most} bytes that such a file may have. Nothing was stored.`)
    }
  } finally {
    reader.leave()
  }
}

/** Whether the answer holds bytes of the file; false for a file that is not there. */
async function isUsable({ url, file }: Download, response: Response): Promise<boolean> {
  if (response.ok && response.body) return true
  await response.body?.cancel()
  const { status } = response
  if (status === 404 || status === 410) return false
  if (status === 401 || status === 403) {
    throw broken(
      url,
      `the server refuses ${file.name} (${status}): the model may be private or its terms not accepted. Choose another, or give its files from this disk.`,
    )
  }
  if (status === 416) throw new Retry('the file has changed on the server.', 0)
  if (status === 408 || status === 429 || status >= 500) {
    const seconds = Number(response.headers.get('retry-after'))
    throw new Retry(`the server answered ${status}.`, seconds > 0 && seconds <= 60 ? seconds * 1000 : undefined)
  }
  throw broken(url, `the server answered ${status} for ${file.name}.`)
}

/** Whether the answer goes on where we stopped, in a file of the size that we expect. */
function continues(response: Response, from: number, bytes: number): boolean {
  const range = response.headers.get('content-range')?.match(/^bytes (\d+)-\d+\/(\d+|\*)$/)
  if (response.status !== 206 || !range || Number(range[1]) !== from) return false
  return range[2] === '*' || Number(range[2]) === bytes
}

/** What is wrong with a file that has been received, if anything is. */
async function faultOf(file: WantedFile, writer: FileWriter): Promise<string | undefined> {
  const { name, bytes = writer.written } = file
  if (writer.written < bytes) throw new Retry(`it ended at byte ${writer.written} of ${bytes}.`)
  if (writer.written > bytes) return `${name} has more than the ${bytes} bytes that the repository names.`
  const hash = namedHash(file)
  if (!hash) return undefined
  const found = await hashOf(hash.kind, writer.contents(), writer.written)
  if (found === hash.wanted) return undefined
  return `${name} has the ${hash.kind === 'md5' ? 'MD5' : 'SHA-256'} hash ${found}, and the repository names ${hash.wanted}.`
}

async function restart({ writer, onBytes }: Download): Promise<void> {
  onBytes(-writer.written)
  await writer.restart()
}
