import { expect, test } from 'vitest'
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
