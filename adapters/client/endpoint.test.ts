import { expect, test, vi } from 'vitest'
import { events as pageEvents } from '../../apps/playground/page/sse.js'
import { events } from './endpoint.js'

test.each([
  'data: {"a":1}\n\ndata: [DONE]\n\n',
  'data:{"a":1}\r\n\r\ndata:[DONE]\r\n\r\n',
  ': one\ndata:\t{"a":1}\n\ndata:[DONE]\n',
])('events are read however a server writes them: %j', async (text) => {
  const read: unknown[] = []
  for await (const event of events(new Response(text))) read.push(event)
  expect(read).toEqual([{ a: 1 }])
})

test.each([
  ['clients', events<unknown>],
  ['the playground', pageEvents],
])('an event that comes in many pieces is looked through once, not for each of them: in %s', async (_, read) => {
  const event = JSON.stringify('a'.repeat(100_000))
  const pieces = `data: ${event}\n\ndata: [DONE]\n\n`.match(/.{1,100}/gs)!
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift()
      if (piece) controller.enqueue(new TextEncoder().encode(piece))
      else controller.close()
    },
  })
  const splits = vi.spyOn(String.prototype, 'split')
  try {
    let length = 0
    for await (const found of read(new Response(body))) length = Math.max(length, String(found).length)
    const looked = splits.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0)
    expect(length).toBeGreaterThanOrEqual(100_000)
    expect(looked).toBeLessThan(5 * event.length)
  } finally {
    splits.mockRestore()
  }
})
