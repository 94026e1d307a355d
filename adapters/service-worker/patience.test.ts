import { afterEach, describe, expect, test, vi } from 'vitest'
import { type HostPatience, patiently, wantsStream } from './patience.js'

const bytes = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer
const events = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

/** An answer that comes when the test says so, to a client that is told of it after a few milliseconds. */
function late(reads: HostPatience['reads']) {
  let answer: (response: Response) => void = () => {}
  let left = 0
  const response = new Promise<Response>((resolve) => {
    answer = resolve
  })
  const patience = { reads, leave: () => void left++, firstWordMs: 1, signMs: 2 }
  return { answer, left: () => left, response: patiently(response, patience) }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const { done, value } = await reader.read()
  return done ? undefined : new TextDecoder().decode(value)
}

describe('patiently', () => {
  test('an answer in time is passed on as it is', async () => {
    const response = Response.json({ error: {} }, { status: 429 })
    const patience: HostPatience = { reads: 'events', leave: () => expect.fail('nobody left') }
    expect(await patiently(Promise.resolve(response), patience)).toBe(response)
  })

  test('a client that reads events gets comments, then the stream', async () => {
    const { answer, response } = late('events')
    const { status, headers, body } = await response
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const reader = body!.getReader()
    for (let signs = 0; signs < 3; signs++) expect(await read(reader)).toMatch(/^: [^\n]+\n\n$/)
    answer(events('data: {"a":1}\n\ndata: [DONE]\n\n'))
    let text = ''
    for (let piece = await read(reader); piece !== undefined; piece = await read(reader)) text += piece
    expect(text.replace(/^(: [^\n]+\n\n)*/, '')).toBe('data: {"a":1}\n\ndata: [DONE]\n\n')
  })

  test('an error that comes late is a frame', async () => {
    const { answer, response } = late('events')
    const { body } = await response
    answer(Response.json({ error: { message: 'No.', code: 'no' } }, { status: 503 }))
    const frames = (await new Response(body).text()).split('\n\n').filter((frame) => frame.startsWith('data: '))
    expect(frames.map((frame) => JSON.parse(frame.slice(6)))).toEqual([{ error: { message: 'No.', code: 'no' } }])
  })

  test('a client that reads a document gets spaces before it', async () => {
    const { answer, response } = late('whole')
    const waiting = await response
    expect(waiting.headers.get('content-type')).toBe('application/json')
    answer(Response.json({ choices: [] }))
    expect(await waiting.json()).toEqual({ choices: [] })
  })

  test('an error that comes late is never taken for a document', async () => {
    const { answer, response } = late('whole')
    const waiting = await response
    answer(Response.json({ error: {} }, { status: 503 }))
    await expect(waiting.json()).rejects.toThrow('came late')
  })

  test('a client that leaves is told of, before the answer and after it', async () => {
    const before = late('events')
    await (await before.response).body!.cancel()
    expect(before.left()).toBe(1)

    const after = late('events')
    const reader = (await after.response).body!.getReader()
    let cancelled = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: {}\n\n')),
      cancel() {
        cancelled = true
      },
    })
    after.answer(new Response(body))
    while (!(await read(reader))?.startsWith('data')) {}
    await reader.cancel()
    expect([cancelled, after.left()]).toEqual([true, 0])
  })
})

/** Chromium's time for a service worker to respond. */
const BROWSERS_MS = 5 * 60_000

describe('by itself', () => {
  afterEach(() => void vi.useRealTimers())
  const start = (reads: HostPatience['reads']) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    let answer: (response: Response) => void = () => {}
    const response = new Promise<Response>((resolve) => {
      answer = resolve
    })
    return { answer, waiting: patiently(response, { reads, leave: () => {} }) }
  }

  test('waits for an honest status, for a document longer, and never as long as the browser does', async () => {
    for (const [reads, longest] of [
      ['events', BROWSERS_MS / 2],
      ['whole', BROWSERS_MS],
    ] as const) {
      const { waiting } = start(reads)
      let responded = false
      void waiting.then(() => {
        responded = true
      })
      // The service itself says after a minute that a model loads: with its own status.
      const honest = reads === 'events' ? 90_000 : BROWSERS_MS / 2
      await vi.advanceTimersByTimeAsync(honest)
      expect([reads, responded]).toEqual([reads, false])
      await vi.advanceTimersByTimeAsync(longest - honest - 1)
      expect([reads, responded]).toEqual([reads, true])
      vi.useRealTimers()
    }
  })

  test('shows life several times in each minute, and for no longer than it waits', async () => {
    const { answer, waiting } = start('events')
    await vi.advanceTimersByTimeAsync(BROWSERS_MS)
    const reader = (await waiting).body!.getReader()
    expect(await read(reader)).toMatch(/^: /)
    const signs = [read(reader), read(reader)]
    await vi.advanceTimersByTimeAsync(60_000)
    for (const sign of await Promise.all(signs)) expect(sign).toMatch(/^: /)
    answer(events('data: 1\n\n'))
    let last: string | undefined = ''
    while (!last?.startsWith('data')) last = await read(reader)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('leaves no clock behind where the answer is in time', async () => {
    const { answer, waiting } = start('whole')
    answer(new Response('x'))
    await waiting
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('what comes late', () => {
  test('is never kept by a cache in between, nor changed by one', async () => {
    const { headers } = await late('events').response
    expect(headers.get('cache-control')).toBe('no-cache, no-transform')
  })

  test('is a document with nothing but spaces before it', async () => {
    const { answer, response } = late('whole')
    const reader = (await response).body!.getReader()
    for (let signs = 0; signs < 3; signs++) expect(await read(reader)).toBe(' ')
    answer(new Response('{}'))
    let text = ''
    for (let piece = await read(reader); piece !== undefined; piece = await read(reader)) text += piece
    expect(text.trimStart()).toBe('{}')
  })

  test('is one frame, on however many lines an error is written', async () => {
    const { answer, response } = late('events')
    const { body } = await response
    answer(new Response('{\r\n\n  "error":\n{}\n}', { status: 500 }))
    const lines = (await new Response(body).text()).split('\n').filter((line) => line !== '' && !line.startsWith(':'))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!.replace(/^data: /, ''))).toEqual({ error: {} })
    // Nor do words run into one another.
    const words = late('events')
    const waiting = await words.response
    words.answer(new Response('Bad\nGateway', { status: 502 }))
    expect(await waiting.text()).toContain('data: Bad Gateway\n\n')
  })

  test('is read as fast as the client reads, and not at all once it has left', async () => {
    let pulls = 0
    const source = () =>
      new Response(
        new ReadableStream(
          {
            pull(controller) {
              pulls++
              controller.enqueue(new TextEncoder().encode('data: {}\n\n'))
            },
          },
          { highWaterMark: 0 },
        ),
      )
    const slow = late('events')
    const reader = (await slow.response).body!.getReader()
    slow.answer(source())
    while (!(await read(reader))?.startsWith('data')) {}
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(pulls).toBe(1)

    pulls = 0
    const gone = late('events')
    const leaving = (await gone.response).body!.getReader()
    await read(leaving)
    void leaving.read().catch(() => {})
    await leaving.cancel()
    gone.answer(source())
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect([pulls, gone.left()]).toEqual([0, 1])
  })
})

test('asksForStream reads the body, whatever it is', () => {
  expect(wantsStream(bytes('{"stream": true}'))).toBe(true)
  for (const text of ['{"stream": false}', '{"stream": "true"}', '{}', 'null', '[1', '']) {
    expect(wantsStream(bytes(text))).toBe(false)
  }
  expect(wantsStream(undefined)).toBe(false)
})
