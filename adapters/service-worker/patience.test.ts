import { describe, expect, test } from 'vitest'
import { asksForStream, type Patience, patiently } from './patience.js'

const bytes = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer
const events = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

/** An answer that comes when the test says so, to a client that is told of it after a few milliseconds. */
function late(reads: Patience['reads']) {
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
    const patience: Patience = { reads: 'events', leave: () => expect.fail('nobody left') }
    expect(await patiently(Promise.resolve(response), patience)).toBe(response)
  })

  test('who reads events is given comments, then the stream', async () => {
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

  test('who reads a document is given spaces before it', async () => {
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

test('asksForStream reads the body, whatever it is', () => {
  expect(asksForStream(bytes('{"stream": true}'))).toBe(true)
  for (const text of ['{"stream": false}', '{"stream": "true"}', '{}', 'null', '[1', '']) {
    expect(asksForStream(bytes(text))).toBe(false)
  }
  expect(asksForStream(undefined)).toBe(false)
})
