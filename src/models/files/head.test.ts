import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Fetch } from './download.js'
import { broken } from './failure.js'
import { fetchHead } from './head.js'

const URL = 'https://hub.test/a/model.gguf'
const SIZE = 500
const FILE = Uint8Array.from({ length: SIZE }, (_, i) => (i * 37) ^ (i >> 3))
const never = new AbortController().signal

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** The result of something that waits between its attempts. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  await vi.runAllTimersAsync()
  return promise
}

/** These bytes in pieces of such a size, and what became of them; `broken`: the connection ends with an error. */
function pieces(bytes: Uint8Array, size = 64, broken = false) {
  const seen = { pulled: 0, cancelled: false }
  let at = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulled++
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size))
        else if (broken) controller.error(new Error('reset'))
        else controller.close()
        at += size
      },
      cancel() {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, body }
}

/** Answers one after the other, the last again and again; what was asked of them. */
function server(...answers: ((from: number, to: number) => Response | Promise<Response>)[]) {
  const ranges: string[] = []
  const fetch: Fetch = async (_, init) => {
    const range = new Headers(init?.headers).get('range')!
    ranges.push(range)
    const [from, last] = range.slice('bytes='.length).split('-').map(Number) as [number, number]
    const answer = answers[Math.min(ranges.length, answers.length) - 1]!
    return answer(from, last + 1)
  }
  return { ranges, fetch }
}

const part = (from: number, to: number, size?: number) =>
  new Response(pieces(FILE.slice(from, to), size).body, {
    status: 206,
    headers: { 'content-range': `bytes ${from}-${to - 1}/${SIZE}` },
  })
const whole = () => new Response(pieces(FILE).body, { headers: { 'content-length': `${SIZE}` } })

describe('bytes of a file at an address', () => {
  it('are those that were asked for, whatever the server makes of ranges', async () => {
    const place = fc.nat(SIZE + 50)
    await fc.assert(
      fc.asyncProperty(
        place,
        place,
        fc.nat(40),
        fc.nat(40),
        fc.integer({ min: 9, max: 200 }),
        async (a, b, early, more, size) => {
          const [from, to] = [Math.min(a, b), Math.max(a, b) + 1]
          const expected = FILE.slice(from, to)
          const ways: [Response, number | undefined][] = [
            [part(Math.max(0, from - early), to + more, size), SIZE],
            [new Response(pieces(FILE.slice(from, to + more), size).body, { status: 206 }), undefined],
            [new Response(pieces(FILE, size).body), undefined],
            [whole(), SIZE],
          ]
          for (const [response, total] of ways) {
            const { fetch, ranges } = server(() => response)
            const got = await soon(fetchHead(URL, from, to, fetch, never))
            expect(got).toEqual({ bytes: expected, total })
            expect(ranges).toEqual([`bytes=${from}-${to - 1}`])
          }
        },
      ),
      { numRuns: 25 },
    )
  })

  it('are not waited for any longer than they take, where the server sends all there is', async () => {
    const { seen, body } = pieces(FILE, 50)
    const { fetch } = server(() => new Response(body))
    await soon(fetchHead(URL, 60, 110, fetch, never))
    expect(seen).toEqual({ pulled: 3, cancelled: true })
  })

  it('are none behind the end', async () => {
    const { seen, body } = pieces(FILE)
    const { fetch, ranges } = server(() => new Response(body, { status: 416 }))
    expect(await soon(fetchHead(URL, SIZE, SIZE + 9, fetch, never))).toEqual({
      bytes: new Uint8Array(),
      total: undefined,
    })
    expect([ranges.length, seen.cancelled]).toEqual([1, true])
    const bare = server(() => new Response(null, { status: 416 }))
    expect((await soon(fetchHead(URL, SIZE, SIZE + 9, bare.fetch, never))).bytes).toHaveLength(0)
    expect(bare.ranges).toHaveLength(1)
  })

  it.each<[string, Record<string, string>, number]>([
    ['packed', { 'content-encoding': 'gzip', 'content-length': '80' }, 200],
    ['more than can be counted', { 'content-length': '9007199254740993' }, 200],
    ['not known', { 'content-range': `bytes 0-9/*` }, 206],
    ['told in other units', { 'content-range': `lines 0-9/10` }, 206],
    ['told in larger units', { 'content-range': `kilobytes 0-9/10` }, 206],
    ['told in several parts', { 'content-range': `bytes 0-9/10, 20-29/30` }, 206],
  ])('say nothing of the length of a file that is %s', async (_, headers, status) => {
    const { fetch } = server(() => new Response(pieces(FILE.slice(0, 10)).body, { status, headers }))
    const { bytes, total } = await soon(fetchHead(URL, 0, 10, fetch, never))
    expect([bytes, total]).toEqual([FILE.slice(0, 10), undefined])
  })
})

describe('a server that does not answer as it should', () => {
  const refused = (status: number) => {
    const { seen, body } = pieces(FILE)
    return { seen, ...server(() => new Response(body, { status })) }
  }

  it.each([
    [404, 'has no such file'],
    [410, 'has no such file'],
    [401, 'refuses it (401): the model may be private'],
    [403, 'refuses it (403): the model may be private'],
  ])('is asked once where asking again is of no use: %i', async (status, why) => {
    const { fetch, ranges, seen } = refused(status)
    const error = await soon(fetchHead(URL, 0, 9, fetch, never).catch((error: unknown) => error))
    expect(error).toMatchObject({ status: 500, code: 'model_files', message: expect.stringContaining(why) })
    expect([ranges.length, seen.cancelled]).toEqual([1, true])
  })

  it('is asked again, three times in all, and then said to be out of reach', async () => {
    const attempts = async (...answers: Parameters<typeof server>) => {
      const { fetch, ranges } = server(...answers)
      const error = await soon(fetchHead(URL, 100, 200, fetch, never).catch((error: unknown) => error))
      expect(ranges).toEqual(Array(3).fill('bytes=100-199'))
      expect(error).toMatchObject({ status: 503, code: 'model_unreachable' })
      return (error as Error).message
    }
    expect(await attempts(() => new Response(null, { status: 502 }))).toContain('answered 502')
    expect(await attempts(() => new Response('x', { status: 206 + 1 }))).toContain('answered 207')
    expect(await attempts(() => new Response(null, { status: 200 }))).toContain('answered 200')
    expect(await attempts(() => Promise.reject(new Error('no route')))).toContain('network failed')
    const refused = vi.fn(() => Promise.reject(broken(URL, 'its server redirects.')))
    await expect(fetchHead(URL, 100, 200, refused, never)).rejects.toMatchObject({ code: 'model_files' })
    expect(refused).toHaveBeenCalledTimes(1)
    // It broke after 64 bytes.
    const torn = () => new Response(pieces(FILE.slice(100, 164), 64, true).body, { status: 206 })
    expect(await attempts(torn)).toContain('broke at byte 64')
    const short = (from: number) =>
      new Response(pieces(FILE.slice(from, from + 30)).body, {
        status: 206,
        headers: { 'content-range': `bytes ${from}-${from + 99}/${SIZE}` },
      })
    expect(await attempts(short)).toContain('broke at byte 30')
    // What lies between would be made up.
    expect(await attempts((from, to) => part(from + 1, to))).toContain('sent bytes from 101, but 100 was requested')
  })

  it('is believed as soon as it does', async () => {
    const { fetch, ranges } = server(
      () => Promise.reject(new Error('no route')),
      () => new Response(null, { status: 500 }),
      part,
    )
    expect((await soon(fetchHead(URL, 7, 90, fetch, never))).bytes).toEqual(FILE.slice(7, 90))
    expect(ranges).toHaveLength(3)
  })

  it('is left alone for longer each time', async () => {
    const at: number[] = []
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { fetch } = server(() => {
      at.push(performance.now())
      return new Response(null, { status: 500 })
    })
    await soon(fetchHead(URL, 0, 9, fetch, never).catch(() => {}))
    const [first, second, third] = at as [number, number, number]
    expect(second - first).toBeGreaterThan(100)
    expect(third - second).toBeGreaterThan(second - first)
    expect(third - first).toBeLessThan(10_000)
  })

  it('is not asked again by who has left', async () => {
    for (const during of [true, false]) {
      const aborter = new AbortController()
      const reason = new Error('gone')
      const { fetch, ranges } = server(() => {
        if (during) aborter.abort(reason)
        return Promise.reject(new Error('no route'))
      })
      const left = fetchHead(URL, 0, 9, fetch, aborter.signal).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(1)
      aborter.abort(reason)
      expect(await left).toBe(reason)
      await vi.runAllTimersAsync()
      expect(ranges).toHaveLength(1)
    }
  })
})
