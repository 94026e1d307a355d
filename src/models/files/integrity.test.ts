import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import { writeMadeUp } from './formats/gguf/made-up.test-helper.js'
import { type Hub, hub, send } from './hub.test-helper.js'
import { type OpenOptions, openRepository } from './open.js'
import { verify } from './verify.js'

const PATH = 'org/model/resolve/main/model.gguf'

const folder = ownFolder()
let bytes: Buffer
let sha256: string
let cache: string
let server: Hub
let count = 0

beforeAll(async () => {
  const path = join(folder, 'model.gguf')
  await writeMadeUp(path, { types: { '*': 'Q8_0' } })
  bytes = await readFile(path)
  sha256 = createHash('sha256').update(bytes).digest('hex')
})
beforeEach(async () => {
  cache = join(folder, `cache-${count++}`)
  server = await hub(new Map([[PATH, bytes]]))
})
afterEach(() => server.close())

/** As the hub names a file's hash; `serve` answers in another way than a server of files does. */
function named(hash: string, serve?: (nth: number, ...rest: Parameters<typeof send>) => boolean): void {
  let nth = 0
  server.intercept = (_file, request, response) => {
    if (request.method === 'HEAD') {
      response.writeHead(200, { 'x-linked-etag': `"${hash}"`, 'x-linked-size': bytes.length }).end()
      return true
    }
    // What its head is read by.
    if (request.headers.range?.startsWith('bytes=0-')) return false
    return serve?.(nth++, bytes, request, response) ?? false
  }
}

const place = () => ({ kind: 'url', url: server.url + PATH }) as const
const open = (options: Partial<OpenOptions> = {}) =>
  openRepository(place(), { cache, report: () => {}, signal: new AbortController().signal, ...options })
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it was not refused'),
    (error: Error) => error.message,
  )
async function verified() {
  const found = []
  for await (const each of verify(place(), cache, new AbortController().signal)) found.push(each)
  return found
}
const stored = () => join(cache, new URL(server.url).host.replace(':', '%3A'), PATH)

describe('a file whose hash its source names', () => {
  it('is held against it, and can be verified later without a network', async () => {
    named(sha256)
    await open()
    const before = server.requests.length
    expect(await verified()).toEqual([{ name: 'model.gguf', by: 'sha256' }])
    expect(server.requests).toHaveLength(before)
    const changed = Buffer.from(bytes)
    changed[bytes.length - 9]! ^= 1
    await writeFile(stored(), changed)
    expect((await verified())[0]!.fault).toContain(`should be ${sha256}`)
  })

  it('is refused where it is another file, and nothing of it is kept', async () => {
    named('0'.repeat(64))
    const message = await refusal(open())
    expect(message).toContain(`model.gguf has the SHA-256 hash ${sha256}`)
    expect(message).toContain('Nothing was stored')
    await expect(readFile(stored())).rejects.toThrow('ENOENT')
  })

  it('goes on where the connection broke off, and is whole then', async () => {
    const half = bytes.length >> 1
    const ranges: (string | undefined)[] = []
    named(sha256, (nth, all, request, response) => {
      ranges.push(request.headers.range)
      send(all, request, response, nth === 0 ? half : undefined)
      return true
    })
    await open()
    expect(ranges).toHaveLength(2)
    expect(ranges[1]).toMatch(/^bytes=\d+-$/)
    expect(bytes.equals(await readFile(stored()))).toBe(true)
  })

  it('is downloaded anew where a part of it is not what it was', async () => {
    const stop = new AbortController()
    named(sha256, (nth, _all, _request, response) => {
      if (nth > 0) return false
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(new Uint8Array(1000).fill(7))
      return true
    })
    const report: OpenOptions['report'] = ({ bytesLoaded }) => bytesLoaded > 0 && stop.abort('enough')
    await expect(open({ signal: stop.signal, report })).rejects.toBe('enough')
    await open()
    expect(bytes.equals(await readFile(stored()))).toBe(true)
  })

  it('is found in the list of its repository where the answer that names it cannot be seen', async () => {
    const requests: string[] = []
    const fetch: OpenOptions['fetch'] = async (url, init) => {
      requests.push(`${init.method ?? 'GET'} ${new URL(url).pathname}`)
      if (init.method === 'HEAD') return Object.defineProperty(new Response(), 'type', { value: 'opaqueredirect' })
      if (url.includes('/api/models/')) {
        return Response.json([{ path: 'model.gguf', lfs: { oid: '1'.repeat(64), size: bytes.length } }])
      }
      return globalThis.fetch(url, init)
    }
    expect(await refusal(open({ fetch }))).toContain(`the repository names ${'1'.repeat(64)}`)
    expect(requests).toContain('GET /api/models/org/model/tree/main')
  })
})

describe('a server that is not to be relied on', () => {
  it('that never says what a file should be holds up no download', async () => {
    const fetch: OpenOptions['fetch'] = (url, init) =>
      init.method === 'HEAD'
        ? new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('left'))))
        : globalThis.fetch(url, init)
    await open({ fetch })
    expect(bytes.equals(await readFile(stored()))).toBe(true)
  })

  it('that knows no ranges is read from the beginning', async () => {
    server.intercept = (_file, request, response) => {
      if (request.method === 'HEAD') return !!response.writeHead(405).end()
      delete request.headers.range
      send(bytes, request, response)
      return true
    }
    await open()
    expect(bytes.equals(await readFile(stored()))).toBe(true)
  })

  it('that says a file is longer than it is is not believed', async () => {
    server.intercept = (_file, request, response) => {
      if (request.method === 'HEAD') return !!response.writeHead(405).end()
      const range = request.headers.range?.match(/^bytes=(\d+)-(\d*)$/)
      const from = Number(range?.[1] ?? 0)
      const to = range?.[2] ? Math.min(Number(range[2]) + 1, bytes.length) : bytes.length
      const partial = { 'content-range': `bytes ${from}-${to - 1}/${bytes.length + 1000}` }
      if (from >= bytes.length) response.writeHead(416).end()
      else response.writeHead(range ? 206 : 200, range ? partial : {}).end(bytes.subarray(from, to))
      return true
    }
    const retries: string[] = []
    const stop = new AbortController()
    const report: OpenOptions['report'] = ({ retry }) => {
      if (retry !== undefined) retries.push(retry)
      if (retries.length > 1) stop.abort(new Error('heard'))
    }
    await expect(open({ signal: stop.signal, report })).rejects.toThrow('heard')
    expect(retries[0]).toContain(`it ended at byte ${bytes.length} of ${bytes.length + 1000}`)
    await expect(readFile(stored())).rejects.toThrow('ENOENT')
  })

  it('that sends another part than it was asked for is not believed', async () => {
    const half = bytes.length >> 1
    let nth = 0
    named(sha256, (_nth, all, request, response) => {
      if (nth++ === 0) send(all, request, response, half)
      else if (nth === 2) {
        const wrong = { 'content-range': `bytes 0-${half}/${all.length}` }
        response.writeHead(206, wrong).end(all.subarray(0, half + 1))
      } else send(all, request, response)
      return true
    })
    await open()
    expect(bytes.equals(await readFile(stored()))).toBe(true)
  })
})
