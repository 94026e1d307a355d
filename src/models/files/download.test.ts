import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { joined } from '../../platform/bytes.js'
import { type Download, download } from './download.js'
import { broken } from './failure.js'
import type { FileWriter, StoredFile } from './store/store.js'

const URL = 'https://models.test/m.bin'
const BYTES = Uint8Array.of(1, 2, 3, 4, 5, 6)
const hash = (kind: 'md5' | 'sha256', bytes = BYTES) => createHash(kind).update(bytes).digest('hex')

/** What is held of a file, in memory. */
class Held implements FileWriter {
  #chunks: Uint8Array[]
  restarts = 0

  constructor(...before: number[]) {
    this.#chunks = before.length > 0 ? [Uint8Array.from(before)] : []
  }
  get bytes(): number[] {
    return [...joined(this.#chunks)]
  }
  get written(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }
  async append(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(chunk)
  }
  async *contents(): AsyncIterable<Uint8Array> {
    yield* this.#chunks
  }
  async restart(): Promise<void> {
    this.restarts++
    this.#chunks = []
  }
  commit(): Promise<StoredFile> {
    return expect.fail('nobody has asked for that')
  }
  async close(): Promise<void> {}
}

type Answer = (range: string | undefined) => Response | Error

/** A server that answers so, one answer after the other and the last one again. */
function job(answers: readonly Answer[], file: Partial<Download['file']> = {}, writer = new Held(), part: object = {}) {
  const ranges: (string | undefined)[] = []
  const retries: string[] = []
  const leaving = new AbortController()
  let bytes = 0
  const whole: Download = {
    url: URL,
    file: { name: 'm.bin', bytes: BYTES.length, ...file },
    writer,
    async fetch(url, { headers, signal }) {
      expect([url, signal]).toEqual([URL, leaving.signal])
      const { range } = headers as { range?: string }
      const answer = answers[Math.min(ranges.length, answers.length - 1)]!
      ranges.push(range)
      const response = answer(range)
      if (response instanceof Error) throw response
      return response
    },
    onBytes: (more) => {
      bytes += more
    },
    onRetry: (message) => retries.push(message),
    signal: leaving.signal,
    ...part,
  }
  const run = () => {
    const done = download(whole)
    done.catch(() => {})
    return done
  }
  return { run, writer, ranges, retries, leaving, reported: () => bytes }
}

const left: string[] = []
/** A body of these chunks; an error breaks the connection there. Notes when it is left before its end. */
function bodyOf(chunks: readonly (Uint8Array | Error)[]): ReadableStream<Uint8Array> {
  const all = [...chunks]
  return new ReadableStream(
    {
      pull(controller) {
        const next = all.shift()
        if (next instanceof Error) controller.error(next)
        else if (next === undefined) controller.close()
        else controller.enqueue(next)
      },
      cancel: () => void left.push('body'),
    },
    { highWaterMark: 0 },
  )
}

const sends =
  (from: number, to: number, init: ResponseInit = {}): Answer =>
  () =>
    new Response(bodyOf([BYTES.subarray(from, to)]), init)
const part = (from: number, to: number, total: string | number = BYTES.length, at = from) =>
  sends(from, to, { status: 206, headers: { 'content-range': `bytes ${at}-${to - 1}/${total}` } })
const status =
  (code: number, headers: HeadersInit = {}): Answer =>
  () =>
    new Response(bodyOf([Uint8Array.of(9)]), { status: code, headers })
const whole = sends(0, 6)

const { setInterval: often, clearInterval: nevermore } = globalThis
let pump: ReturnType<typeof often>
beforeEach(() => {
  left.length = 0
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  // Nobody waits for long.
  pump = often(() => void vi.advanceTimersByTime(250), 1)
})
afterEach(() => {
  nevermore(pump)
  vi.useRealTimers()
})

describe('a download', () => {
  it.each([{}, { sha256: hash('sha256') }, { md5: hash('md5') }, { bytes: undefined }])(
    'brings the whole file, and tells of all bytes: %j',
    async (file) => {
      const { run, writer, ranges, reported, retries } = job([whole], file)
      expect(await run()).toBe(true)
      expect([writer.bytes, ranges, reported(), retries]).toEqual([[...BYTES], [undefined], 6, []])
    },
  )

  it('is tried once where its server sends on to what is refused', async () => {
    const { run, ranges, retries } = job([() => broken(URL, 'its server redirects.')])
    await expect(run()).rejects.toMatchObject({ code: 'model_files' })
    expect([ranges.length, retries]).toEqual([1, []])
  })

  it('is gone on with where it has stopped: others wait for it', async () => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'Date', 'setInterval', 'clearInterval', 'performance'],
    })
    const stops = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(BYTES.slice(0, 3)) }))
    const { run, writer, ranges, retries } = job([stops, part(3, 6)])
    expect(await run()).toBe(true)
    expect([writer.bytes, ranges]).toEqual([[...BYTES], [undefined, 'bytes=3-']])
    expect(retries).toEqual([expect.stringContaining('the connection broke at byte 3')])
  })

  it.each([404, 410])('of what is not there says so (%i)', async (code) => {
    const { run, writer } = job([status(code)])
    expect(await run()).toBe(false)
    expect([writer.written, left]).toEqual([0, ['body']])
    expect(await job([() => new Response(null, { status: code })]).run()).toBe(false)
  })

  it.each([
    ['of this size', part(3, 6)],
    ['of a size that is not told', part(3, 6, '*')],
  ])('goes on where an earlier one broke off, in a file %s', async (_, rest) => {
    const { run, writer, ranges, reported } = job([rest], { md5: hash('md5') }, new Held(1, 2, 3))
    expect(await run()).toBe(true)
    expect([writer.bytes, ranges, reported()]).toEqual([[...BYTES], ['bytes=3-'], 6])
  })

  it('asks for nothing that is whole already, and looks whether it is right', async () => {
    const right = job([whole], { sha256: hash('sha256') }, new Held(...BYTES))
    expect([await right.run(), right.ranges, right.reported()]).toEqual([true, [], 6])
    const wrong = job([whole], { sha256: hash('sha256') }, new Held(6, 5, 4, 3, 2, 1))
    expect([await wrong.run(), wrong.ranges, wrong.writer.bytes]).toEqual([true, [undefined], [...BYTES]])
    const long = job([whole], {}, new Held(...BYTES, 7))
    expect([await long.run(), long.ranges, long.reported()]).toEqual([true, [undefined], 6])
  })

  it('begins anew where nobody names the size: an old part may be of another file', async () => {
    const { run, writer, ranges } = job([whole], { bytes: undefined }, new Held(7, 8))
    expect([await run(), ranges, writer.bytes]).toEqual([true, [undefined], [...BYTES]])
  })

  it('goes on by numbers of several digits', async () => {
    const rest = Uint8Array.of(10, 11)
    const answer = () => new Response(rest, { status: 206, headers: { 'content-range': 'bytes 10-11/12' } })
    const before = Array.from({ length: 10 }, (_, i) => i)
    const { run, writer, ranges, retries } = job([answer], { bytes: 12 }, new Held(...before))
    expect(await run()).toBe(true)
    expect([writer.bytes, ranges, retries]).toEqual([[...before, ...rest], ['bytes=10-'], []])
  })

  it.each([
    ['knows no ranges', whole],
    ['sends the whole, and says that it is a part', sends(0, 6, { headers: { 'content-range': 'bytes 3-5/6' } })],
  ])('begins anew where the server %s', async (_, answer) => {
    const { run, writer, ranges, reported } = job([answer], {}, new Held(1, 2, 3))
    expect([await run(), writer.bytes, ranges, reported()]).toEqual([true, [...BYTES], ['bytes=3-'], 6])
  })

  it('takes a whole that the server calls a part', async () => {
    const { run, writer, retries } = job([sends(0, 6, { status: 206 })])
    expect([await run(), writer.bytes, retries]).toEqual([true, [...BYTES], []])
  })

  it.each([
    ['another part', part(2, 6)],
    ['a part of another file', part(3, 6, 7)],
    ['a part that it does not name', sends(3, 6, { status: 206 })],
    ['a part that it names otherwise', sends(3, 6, { status: 206, headers: { 'content-range': 'x bytes 3-5/6' } })],
    ['several parts', sends(3, 6, { status: 206, headers: { 'content-range': 'bytes 3-5/6, 0-1/6' } })],
    ['nothing, as there is none', status(416)],
  ])('begins anew where the server sends %s', async (_, odd) => {
    const { run, writer, ranges, retries, reported } = job([odd, whole], {}, new Held(1, 2, 3))
    expect(await run()).toBe(true)
    expect(retries).toEqual(['m.bin: the file has changed on the server. Trying again in 0.0 s.'])
    expect(ranges[0]).toBe('bytes=3-')
    expect([writer.bytes, reported(), left]).toEqual([[...BYTES], 6, ['body']])
  })
})

describe('a download that fails', () => {
  const failed = async (answers: readonly Answer[], file: object = {}, writer = new Held()) => {
    const one = job(answers, file, writer)
    const began = Date.now()
    const error: unknown = await one.run().catch((reason: unknown) => reason)
    return { ...one, seconds: (Date.now() - began) / 1000, error }
  }

  it.each([
    ['the network failed.', () => new Error('fetch failed')],
    ['the network failed (ECONNRESET).', () => new Error('fetch failed', { cause: new Error('ECONNRESET') })],
    ['the network failed.', () => new Error('fetch failed', { cause: new Error('') })],
    ['the network failed.', () => new Error('fetch failed', { cause: 'odd' })],
    ['the server answered 500.', status(500)],
    ['the server answered 503.', status(503)],
    ['the server answered 429.', status(429)],
    ['the server answered 408.', status(408)],
    ['the connection broke at byte 0.', () => new Response(bodyOf([new Error('gone')]))],
    ['it ended at byte 0 of 6.', () => new Response(bodyOf([]))],
  ])('is tried five times, each time later, and says why: %s', async (why, answer) => {
    const { error, retries, seconds, ranges } = await failed([answer])
    expect(error).toMatchObject({ status: 503, code: 'model_unreachable' })
    expect((error as Error).message).toContain(`${URL} cannot be fetched now: m.bin: ${why}`)
    expect((error as Error).cause).toBeInstanceOf(Error)
    const waits = ['0.5', '1.0', '2.0', '4.0']
    expect(retries).toEqual(waits.map((one) => `m.bin: ${why} Trying again in ${one} s.`))
    expect([ranges.length, seconds >= 7.5]).toEqual([5, true])
  })

  it.each([
    ['1', '1.0'],
    ['60', '60.0'],
    ['61', '0.5'],
    ['0', '0.5'],
    ['-1', '0.5'],
    ['soon', '0.5'],
  ])('is tried again when the server says, if that is soon: %s', async (after, wait) => {
    const { error, retries } = await failed([status(503, { 'retry-after': after }), whole])
    expect([error, retries]).toEqual([true, [`m.bin: the server answered 503. Trying again in ${wait} s.`]])
  })

  it('tells what the network said as its cause', async () => {
    const refused = new Error('ECONNREFUSED')
    const { error } = await failed([() => refused])
    expect(((error as Error).cause as Error).cause).toBe(refused)
  })

  it('goes on from where the connection broke, and from where it ended', async () => {
    const broke: Answer = () => new Response(bodyOf([BYTES.subarray(0, 2), new Error('gone')]))
    const { error, retries, ranges, writer, reported } = await failed([broke, part(2, 4), part(4, 6)])
    expect([error, ranges, writer.bytes, reported()]).toEqual([
      true,
      [undefined, 'bytes=2-', 'bytes=4-'],
      [...BYTES],
      6,
    ])
    expect(retries.map((one) => one.replace(/ Trying.*/, ''))).toEqual([
      'm.bin: the connection broke at byte 2.',
      'm.bin: it ended at byte 4 of 6.',
    ])
  })

  it.each([
    [
      401,
      'the server refuses m.bin (401): the model may be private or its terms not accepted. Choose another, or give its files from this disk.',
    ],
    [
      403,
      'the server refuses m.bin (403): the model may be private or its terms not accepted. Choose another, or give its files from this disk.',
    ],
    [418, 'the server answered 418 for m.bin.'],
    [400, 'the server answered 400 for m.bin.'],
  ])('is not tried again where that helps nothing: %i', async (code, why) => {
    const { error, ranges } = await failed([status(code)])
    expect(error).toMatchObject({ status: 500, code: 'model_files' })
    expect((error as Error).message).toBe(`The model at ${URL} cannot be loaded: ${why}`)
    expect([ranges.length, left]).toEqual([1, ['body']])
  })

  it.each([
    ['of another hash', { sha256: hash('sha256') }, 'SHA-256', 'sha256'],
    ['of another hash, an old one', { md5: hash('md5') }, 'MD5', 'md5'],
  ] as const)('brings a file %s: once it may be an old part, twice it is the server’s', async (_, file, name, kind) => {
    const other = BYTES.map((byte) => byte + 1)
    const wrong: Answer = () => new Response(bodyOf([other]))
    const once = await failed([wrong, whole], file)
    expect([once.error, once.writer.bytes, once.ranges, once.reported()]).toEqual([
      true,
      [...BYTES],
      [undefined, undefined],
      6,
    ])
    const twice = await failed([wrong], file)
    expect(twice.error).toMatchObject({ status: 500, code: 'model_files' })
    const message = `m.bin has the ${name} hash ${hash(kind, other)}, and the repository names ${hash(kind)}. Nothing was stored.`
    expect((twice.error as Error).message).toContain(message)
    expect([twice.ranges.length, twice.writer.written, twice.reported(), twice.retries]).toEqual([2, 0, 0, []])
  })

  it('is left where the server sends more than there is to be', async () => {
    const endless: Answer = () => new Response(bodyOf([BYTES, Uint8Array.of(7), Uint8Array.of(8), Uint8Array.of(9)]))
    const { error, writer, ranges } = await failed([endless])
    expect((error as Error).message).toContain('m.bin has more than the 6 bytes that the repository names.')
    expect([ranges.length, writer.written, left]).toEqual([2, 0, ['body', 'body']])
    const exact = await failed([() => new Response(bodyOf([BYTES.subarray(0, 3), BYTES.subarray(3)]))])
    expect(exact.error).toBe(true)
  })

  it.each([
    [undefined, 128 * 2 ** 20],
    [1000, 128 * 2 ** 20 + 1000],
  ])('is left where a file whose size nobody names has no end, of at least %s bytes', async (least, most) => {
    const chunk = new Uint8Array(2 ** 20)
    let written = 0
    const counting = Object.assign(new Held(), {
      async append({ length }: Uint8Array) {
        written += length
      },
      async restart() {
        written = 0
      },
    })
    Object.defineProperty(counting, 'written', { get: () => written })
    const of = (bytes: number): Answer => {
      const chunks = Array.from({ length: Math.floor(bytes / chunk.length) }, () => chunk)
      return () =>
        new Response(bodyOf([...chunks, chunk.subarray(0, bytes % chunk.length)].filter(({ length }) => length)))
    }
    const file = { bytes: undefined, ...(least && { least }) }
    expect((await failed([of(most)], file, counting)).error).toBe(true)
    const { error, ranges } = await failed([of(most + 1)], file, counting)
    expect(error).toMatchObject({ status: 500, code: 'model_files' })
    const message = `m.bin has more than the ${most} bytes that such a file may have. Nothing was stored.`
    expect((error as Error).message).toContain(message)
    expect([ranges.length, written]).toEqual([1, 0])
  })

  it('says what keeps it from being kept, as it is', async () => {
    const full = new Error('ENOSPC')
    const writer = Object.assign(new Held(), {
      append: () => Promise.reject(full),
    })
    const { error, ranges } = await failed([whole], {}, writer)
    expect([error, ranges.length]).toEqual([full, 1])
  })

  it('ends when it is left: before, between two tries and in the middle of one', async () => {
    const before = job([whole])
    before.leaving.abort('left')
    await expect(before.run()).rejects.toBe('left')
    expect(before.ranges).toEqual([])
    const between = job([status(500)])
    const waiting = between.run()
    while (between.retries.length === 0) await new Promise((resolve) => setImmediate(resolve))
    between.leaving.abort('left')
    await expect(waiting).rejects.toBe('left')
    const during = job([
      () => {
        during.leaving.abort('left')
        return new Error('aborted')
      },
    ])
    await expect(during.run()).rejects.toBe('left')
    expect(during.ranges).toHaveLength(1)
  })

  it('needs nobody who hears of it', async () => {
    const { run } = job([status(500), whole], {}, new Held(), { onRetry: undefined })
    expect(await run()).toBe(true)
  })
})
