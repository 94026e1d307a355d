import { expect, test, vi } from 'vitest'
import { events } from './endpoint.js'

function bodyOf(pieces: readonly string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...pieces]
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })
}

test.each([
  'data: {"a":1}\n\ndata: [DONE]\n\n',
  'data:{"a":1}\r\n\r\ndata:[DONE]\r\n\r\n',
  ': one\ndata:\t{"a":1}\n\ndata:[DONE]\n',
  'event: one\rdata: {"a":\rdata: 1}\r\rdata: [DONE]\r\r',
])('events are read however a server writes them: %j', async (text) => {
  for (const pieces of [[text], [...text]]) {
    const read: unknown[] = []
    for await (const event of events(new Response(bodyOf(pieces)))) read.push(event)
    expect(read).toEqual([{ a: 1 }])
  }
})

test.each(['data: {"a":1}\n\ndata: {"b":', 'data: {"a":1}\n\ndata: {"b"\n', 'data: {"a":1}'])(
  'an answer that was cut within an event was cut off: %j',
  async (text) => {
    const read: unknown[] = []
    const reading = (async () => {
      for await (const event of events(new Response(bodyOf([text])))) read.push(event)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'cut_off' })
    expect(read).toEqual([{ a: 1 }])
  },
)

test('an event that comes in many pieces is looked through once, not for each of them', async () => {
  const event = JSON.stringify('a'.repeat(100_000))
  const body = bodyOf(`data: ${event}\n\ndata: [DONE]\n\n`.match(/.{1,100}/gs)!)
  const splits = vi.spyOn(String.prototype, 'split')
  try {
    const found: unknown[] = []
    for await (const data of events(new Response(body))) found.push(data)
    const looked = splits.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0)
    expect(found).toEqual([JSON.parse(event)])
    expect(looked).toBeLessThan(5 * event.length)
  } finally {
    splits.mockRestore()
  }
})
