import type { RequestListener } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { createV1 } from '../../src/index.js'
import { type ScenarioEngine, scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'
import { until } from './speak.js'

describe('express(v1) on node:http2', () => {
  let engine: ScenarioEngine
  let server: Http2Server
  let session: ClientHttp2Session

  beforeAll(async () => {
    engine = scenarioEngine(scenario)
    const listener = express(createV1({ engine, keys: 'none', bodyLimit: 1024 }))
    server = createServer(listener as RequestListener as never)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    session = connect(`http://localhost:${(server.address() as AddressInfo).port}`)
  })
  afterAll(() => {
    session?.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })

  async function post(body: object): Promise<{ stream: ClientHttp2Stream; status: number }> {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      'content-type': 'application/json',
    })
    stream.end(JSON.stringify({ messages: [{ role: 'user', content: 'x' }], ...body }))
    const status = await new Promise<number>((resolve, reject) => {
      stream.once('response', (headers) => resolve(headers[':status']!))
      stream.once('error', reject)
    })
    return { stream, status }
  }
  async function textOf(stream: ClientHttp2Stream): Promise<string> {
    let text = ''
    for await (const piece of stream.setEncoding('utf8')) text += piece
    return text
  }

  test('answers, streams and refuses, all over one connection', async () => {
    // Each is read once it is there: Node drops what of a stream is left when the other side has closed it.
    const read = async (body: object) => {
      const { stream, status } = await post(body)
      return { status, text: await textOf(stream) }
    }
    const answers = await Promise.all([
      read({ model: 'test/hello' }),
      read({ model: 'test/hello', stream: true }),
      read({ model: 'test/hello', padding: 'x'.repeat(2048) }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 413])
    const texts = answers.map(({ text }) => text)
    expect(JSON.parse(texts[0]!).choices[0].message.content).toBe('Hello, wörld 🌍')
    expect(texts[1]).toMatch(/\[DONE\]\n\n$/)
    expect(JSON.parse(texts[2]!)).toHaveProperty('error.code', 'request_too_large')
  })

  test('a stream that is reset stops the engine', async () => {
    const { stream } = await post({ model: 'test/endless', stream: true })
    await new Promise((resolve) => stream.once('data', resolve))
    stream.close()
    const { stepsAfterAbort } = await until(
      async () => engine.probe('test/endless'),
      ({ active }) => active === 0,
    )
    expect(stepsAfterAbort).toBeLessThanOrEqual(1)
  })
})
