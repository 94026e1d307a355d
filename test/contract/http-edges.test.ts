import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { hono } from '../../adapters/hono.js'
import { createV1, type V1 } from '../../src/index.js'
import { type RawConnection, rawConnection } from '../support/raw-http.js'
import { type ScenarioEngine, scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'
import { pause, until } from './speak.js'

/** What only a socket can say. Through each of the bridges between Node and Fetch. */
const bridges: [name: string, listener: (v1: V1) => RequestListener][] = [
  ['express(v1)', (v1) => express(v1)],
  ['hono(v1) over @hono/node-server', (v1) => getRequestListener(new Hono().use(hono(v1)).fetch)],
]

describe.each(bridges)('HTTP at its edges: %s', (name, listener) => {
  let server: Server
  let engine: ScenarioEngine
  const connections: RawConnection[] = []

  beforeAll(async () => {
    engine = scenarioEngine(scenario)
    server = createServer(listener(createV1({ engine, keys: 'none', bodyLimit: 1024 })))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    for (const { socket } of connections) socket.destroy()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })

  async function open(): Promise<RawConnection> {
    const connection = await rawConnection((server.address() as AddressInfo).port)
    connections.push(connection)
    return connection
  }
  const get = ['GET /v1/models HTTP/1.1', 'host: localhost', '', '']
  const head = (length: number | string, ...more: string[]) =>
    ['POST /v1/chat/completions HTTP/1.1', 'host: localhost', 'content-type: application/json', ...more].concat(
      typeof length === 'number' ? `content-length: ${length}` : length,
      '',
      '',
    )
  const body = (model: string, stream = false) =>
    JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] })
  const post = (text: string) => [...head(text.length).slice(0, -1), text]
  const idle = (model: string) =>
    until(
      async () => engine.probe(model),
      ({ active }) => active === 0,
    )

  test('expect: 100-continue', async () => {
    const connection = await open()
    const text = body('test/hello')
    connection.write(...head(text.length, 'expect: 100-continue'))
    expect((await connection.answer()).status).toBe(100)
    connection.write(text)
    expect((await connection.answer()).status).toBe(200)
  })

  test('requests one after the other without waiting: answers in their order', async () => {
    const connection = await open()
    connection.write(...post(body('test/hello')))
    const missing = ['GET /v1/models/test/none HTTP/1.1', 'host: localhost', '', '']
    connection.socket.write(get.join('\r\n') + missing.join('\r\n') + get.join('\r\n'))
    expect((await connection.answer()).body).toContain('Hello, wörld')
    expect((await connection.answer()).status).toBe(200)
    expect((await connection.answer()).status).toBe(404)
    expect((await connection.answer()).status).toBe(200)
  })

  test('HEAD, and the connection stays in step', async () => {
    const connection = await open()
    connection.write('HEAD /v1/models HTTP/1.1', 'host: localhost', '', '')
    expect((await connection.answer('HEAD')).status).toBe(200)
    connection.write(...get)
    expect(JSON.parse((await connection.answer()).body)).toHaveProperty('object', 'list')
  })

  test('a body in chunks, with an extension and a trailer', async () => {
    const connection = await open()
    const text = body('test/hello')
    const half = text.length >> 1
    const size = (part: string) => part.length.toString(16)
    connection.write(
      ...head('transfer-encoding: chunked').slice(0, -1),
      `${size(text.slice(0, half))};name=value`,
      text.slice(0, half),
      size(text.slice(half)),
      text.slice(half),
      '0',
      'x-trailer: yes',
      '',
      '',
    )
    expect((await connection.answer()).status).toBe(200)
    connection.write(...get)
    expect((await connection.answer()).status).toBe(200)
  })

  test('an answer that comes before the end of the upload arrives, and the upload does not go on for ever', async () => {
    const connection = await open()
    connection.write(...head(2 ** 40))
    const piece = Buffer.alloc(64 * 1024, ' ')
    const pump = () => {
      while (!connection.socket.destroyed && connection.socket.write(piece));
    }
    connection.socket.on('drain', pump)
    pump()
    expect((await connection.answer()).status).toBe(413)
    await connection.closed
    expect((await (await followUp()).answer()).status).toBe(200)
  })

  test('a refused upload that ends soon keeps its connection', async () => {
    const connection = await open()
    connection.write(...head(4096))
    connection.write('x'.repeat(2048))
    await pause(20)
    connection.write('x'.repeat(2048))
    expect((await connection.answer()).status).toBe(413)
    // Longer than anyone waits for the rest of an upload.
    await pause(1200)
    connection.write(...get)
    expect((await connection.answer()).status).toBe(200)
  })

  test('refused uploads one after the other leave nothing on their connection', async () => {
    const accepted = once(server, 'connection')
    const connection = await open()
    const [socket] = (await accepted) as [Socket]
    const listeners = async () => {
      connection.write(...head(4096))
      expect((await connection.answer()).status).toBe(413)
      connection.write('x'.repeat(4096))
      connection.write(...get)
      expect((await connection.answer()).status).toBe(200)
      return socket.listenerCount('close')
    }
    const first = await listeners()
    // Node warns of more than ten.
    for (let i = 0; i < 10; i++) expect(await listeners()).toBe(first)
  })

  test('nor does an upload of unknown length that is refused half-way leave its connection stuck', async () => {
    const connection = await open()
    connection.write(...head('transfer-encoding: chunked'))
    const chunk = `400\r\n${'x'.repeat(1024)}\r\n`
    for (let i = 0; i < 64; i++) connection.write(chunk)
    expect((await connection.answer()).status).toBe(413)
    for (let i = 0; i < 64; i++) connection.write(chunk)
    connection.write('0\r\n\r\n')
    connection.write(...get)
    const next = connection.answer().then(
      ({ status }) => status,
      () => 'closed',
    )
    // The other bridge hangs up in Node 20.
    expect(name === 'express(v1)' ? [200] : [200, 'closed']).toContain(await next)
  })

  test('an upload that is given up reaches no engine and harms no other request', async () => {
    const before = engine.probe('test/hello').started
    const connection = await open()
    connection.write(...head(500))
    connection.write('{"model":')
    await pause(20)
    connection.socket.destroy()
    expect((await (await followUp()).answer()).status).toBe(200)
    expect(engine.probe('test/hello').started).toBe(before)
  })

  test('a stream that is reset stops the engine', async () => {
    const connection = await open()
    connection.write(...post(body('test/endless', true)))
    await until(
      async () => connection.rest(),
      (text) => text.includes('tick'),
    )
    connection.socket.resetAndDestroy()
    const { stepsAfterAbort } = await idle('test/endless')
    expect(stepsAfterAbort).toBeLessThanOrEqual(1)
  })

  test('a client that closes its half of the connection in a stream does not leave the engine running', async () => {
    const connection = await open()
    connection.write(...post(body('test/endless', true)))
    await until(
      async () => connection.rest(),
      (text) => text.includes('tick'),
    )
    connection.socket.end()
    await idle('test/endless')
  })

  test('two streams on one pipelined connection: the second is made when its turn comes', async () => {
    const connection = await open()
    const text = body('test/hello', true)
    connection.socket.write(post(text).join('\r\n') + post(text).join('\r\n'))
    for (let i = 0; i < 2; i++) {
      const answer = await connection.answer()
      expect(answer.body).toMatch(/\[DONE\]\n\n$/)
    }
  })

  test('HTTP/1.0 without a host', async () => {
    const connection = await open()
    connection.write('GET /v1/models HTTP/1.0', '', '')
    const { status, body: text } = await connection.answer()
    expect([200, 400, 403]).toContain(status)
    if (status !== 200 && name.startsWith('express')) expect(JSON.parse(text)).toHaveProperty('error.message')
  })

  test.each([
    ['an absolute target', 'GET http://localhost/v1/models HTTP/1.1', 200],
    ['a path with dots', 'GET /v1/x/../models HTTP/1.1', 200],
    ['two slashes', 'GET //v1/models HTTP/1.1', 404],
    ['a bad escape', 'GET /v1/models/%zz HTTP/1.1', 404],
  ])('%s', async (_, line, status) => {
    const connection = await open()
    connection.write(line, 'host: localhost', '', '')
    expect((await connection.answer()).status).toBe(status)
  })

  test('a head that is too large or no HTTP at all is refused, and the server goes on', async () => {
    for (const [text, status] of [
      [`GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-big: ${'x'.repeat(32 * 1024)}\r\n\r\n`, 431],
      ['NONSENSE\r\n\r\n', 400],
      ['POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n', 400],
    ] as const) {
      const connection = await open()
      connection.socket.write(text)
      expect((await connection.answer()).status).toBe(status)
    }
    expect((await (await followUp()).answer()).status).toBe(200)
  })

  async function followUp(): Promise<RawConnection> {
    const connection = await open()
    connection.write(...get)
    return connection
  }
})
