import { expect, test } from 'vitest'
import type { V1 } from '../../src/index.js'
import { SSE_SIGN } from '../../src/service/stream/sse.js'
import { HostPort } from './host-port.js'
import type { FromHost } from './messages.js'

test('an answer has begun, and cannot be moved any more, with its first word: signs of life are none', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const v1 = {
    match: () => true,
    fetch: async () => new Response(readable, { headers: { 'content-type': 'text/event-stream' } }),
  } as unknown as V1
  const { port1, port2 } = new MessageChannel()
  const said: FromHost[] = []
  let hear = () => {}
  port2.onmessage = ({ data }) => {
    said.push(data)
    hear()
  }
  const next = () => new Promise<void>((resolve) => (hear = resolve))
  new HostPort(port1, 'test', [v1])
  const asked = { url: 'http://localhost/v1/chat/completions', method: 'POST', headers: [], body: undefined }
  port2.postMessage({ type: 'request', id: 1, ...asked })
  const writer = writable.getWriter()
  const utf8 = new TextEncoder()
  for (let i = 0; i < 2; i++) await writer.write(utf8.encode(SSE_SIGN.text))
  // It has read them, and said nothing.
  const pong = next()
  port2.postMessage({ type: 'ping' })
  await pong
  expect(said).toEqual([{ type: 'pong' }])
  const head = next()
  await writer.write(utf8.encode('data: 1\n\n'))
  await head
  expect(said[1]).toMatchObject({ type: 'head', id: 1, status: 200, first: utf8.encode('data: 1\n\n'), done: false })
  // Later ones are passed on, as the rest of the stream is.
  const piece = next()
  port2.postMessage({ type: 'pull', id: 1 })
  await writer.write(utf8.encode(SSE_SIGN.text))
  await piece
  expect(said[2]).toMatchObject({ type: 'piece', bytes: utf8.encode(SSE_SIGN.text) })
  port1.close()
})
