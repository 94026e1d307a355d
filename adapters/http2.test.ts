import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createV1, type LogEvent, type V1 } from '../src/index.js'
import { scenarioEngine } from '../test/contract/scenario.js'
import { scenario } from '../test/contract/scripts.js'
import { express } from './express.js'

const own = createV1({ engine: scenarioEngine(scenario), keys: 'none' })
let served: V1 = own
const server = createServer((incoming, outgoing) => express(served)(incoming as never, outgoing as never))
let session: ClientHttp2Session

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
afterAll(() => {
  session.destroy()
  server.close()
})

const post = () =>
  session.request({ ':method': 'POST', ':path': '/v1/chat/completions', 'content-type': 'application/json' })

test('an upload that was refused ends with its answer, and the connection goes on', async () => {
  const upload = post().on('error', () => {})
  upload.end(Buffer.alloc(2 ** 22, ' '))
  const [{ ':status': status }] = (await once(upload, 'response')) as [{ ':status': number }]
  expect(status).toBe(413)
  upload.resume()
  if (!upload.closed) await once(upload, 'close')

  const next = session.request({ ':path': '/v1/models' })
  const [head] = (await once(next, 'response')) as [{ ':status': number }]
  expect(head[':status']).toBe(200)
  next.destroy()
})

test.each(['before its first byte', 'in the middle', 'after what would be a whole body'])(
  'an upload that is reset %s is one that was left, and makes nothing',
  async (when) => {
    const logged: LogEvent[] = []
    served = createV1({ engine: scenarioEngine(scenario), keys: 'none', log: (event) => void logged.push(event) })
    const came = once(server, 'stream')
    const upload = session
      .request({ ':method': 'POST', ':path': '/v1/conversations', 'content-type': 'application/json' })
      .on('error', () => {})
    if (when !== 'before its first byte') upload.write(when === 'in the middle' ? '{"metadata":' : '{}')
    const [stream] = (await came) as [ServerHttp2Stream]
    await setImmediate()
    // `close` would say first that it has all come.
    upload.destroy()
    await once(stream, 'close')
    while (logged.length === 0) await setImmediate()
    expect(logged).toMatchObject([{ type: 'request', status: 499 }])
  },
)

test('a client that left before anybody asked is known to have left', async () => {
  let came: () => void
  let left: () => void
  const coming = new Promise<void>((resolve) => {
    came = resolve
  })
  const leaving = new Promise<void>((resolve) => {
    left = resolve
  })
  let asked: (aborted: boolean) => void
  const aborted = new Promise<boolean>((resolve) => {
    asked = resolve
  })
  served = {
    ...own,
    async fetch(request) {
      came()
      await leaving
      asked(request.signal.aborted)
      return new Response(null, { status: 499 })
    },
  }
  server.once('stream', (stream) => stream.once('close', () => left()))
  const request = post().on('error', () => {})
  request.end('{}')
  await coming
  request.close()
  expect(await aborted).toBe(true)
})
