import { V1Error } from '../../contract/index.js'
import { wait } from '../../platform/index.js'
import type { Fetch } from './download.js'
import { broken, unreachable } from './failure.js'
import { SteadyReader } from './steady.js'

const ATTEMPTS = 3

export interface FetchedBytes {
  /** Fewer than asked for where the file ends before. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of the whole file, where the server tells. */
  readonly total: number | undefined
}

/** Bytes of a file at an address of which nothing is kept. A server that does not know ranges is left once they are here. */
export async function fetchHead(
  url: string,
  from: number,
  to: number,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<FetchedBytes> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptHead(url, from, to, fetch, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (attempt === ATTEMPTS || (error as { status?: number }).status === 500) throw error
      await wait(250 * 2 ** attempt, signal)
    }
  }
}

async function attemptHead(
  url: string,
  from: number,
  to: number,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<FetchedBytes> {
  const response = await fetch(url, { signal, headers: { range: `bytes=${from}-${to - 1}` } }).catch(
    (cause: unknown) => {
      throw V1Error.is(cause) ? cause : unreachable(url, 'the network failed.', cause)
    },
  )
  const { status, body } = response
  if (status === 416) {
    await body?.cancel()
    // It ends before `from`.
    return { bytes: new Uint8Array(0), total: undefined }
  }
  if (!body || (status !== 200 && status !== 206)) {
    await body?.cancel()
    if (status === 404 || status === 410) throw broken(url, 'the server has no such file: check the name.')
    if (status === 401 || status === 403) {
      throw broken(
        url,
        `the server refuses it (${status}): the model may be private or its terms not accepted. Choose another, or give its files from this disk.`,
      )
    }
    throw unreachable(url, `the server answered ${status}.`)
  }
  const range = response.headers.get('content-range')?.match(/^bytes (\d+)-\d*\/(\d+|\*)$/)
  const start = status === 206 ? Number(range?.[1] ?? from) : 0
  if (start > from) {
    await body.cancel()
    throw unreachable(url, `the server sent bytes from ${start}, but ${from} was requested.`)
  }
  const named =
    status === 206
      ? range?.[2]
      : response.headers.get('content-encoding')
        ? null
        : response.headers.get('content-length')
  const total = Number.isSafeInteger(Number(named ?? Number.NaN)) ? Number(named) : undefined
  const bytes = await receive(new SteadyReader(body), from - start, to - start, url, (total ?? 0) - start)
  return { bytes, total }
}

/** Of the bytes that come, those from `from` to before `to`; the rest is not waited for. `least`: so many there must be. */
async function receive(
  reader: SteadyReader,
  from: number,
  to: number,
  url: string,
  least: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const wanted = new Uint8Array(to - from)
  let at = 0
  try {
    while (at < to) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw unreachable(url, `the connection broke at byte ${at}.`, cause)
      })
      if (done) {
        if (at < least) throw unreachable(url, `the connection broke at byte ${at}.`)
        return wanted.subarray(0, Math.max(0, at - from))
      }
      const skip = Math.max(0, from - at)
      wanted.set(value.subarray(skip, to - at), at + skip - from)
      at += value.length
    }
    return wanted
  } finally {
    reader.leave()
  }
}
