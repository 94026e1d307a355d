import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import expressApp from 'express'
import fc from 'fast-check'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { hono } from '../../adapters/hono.js'
import { createV1, type V1 } from '../../src/index.js'
import { type RawAnswer, rawConnection } from '../support/raw-http.js'
import { scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'

const bridges: [name: string, listener: (v1: V1) => RequestListener][] = [
  [
    'Express',
    (v1) => {
      const app = expressApp()
      app.use(express(v1))
      app.use('/mounted', express(v1))
      app.get('/own', (_, response) => void response.send('the application'))
      return app
    },
  ],
  [
    'node:http',
    (v1) => (incoming, outgoing) =>
      express(v1)(incoming, outgoing, () => {
        outgoing.statusCode = incoming.url === '/own' ? 200 : 404
        outgoing.end(incoming.url === '/own' ? 'the application' : 'not here')
      }),
  ],
  [
    'hono over @hono/node-server',
    (v1) => {
      const app = new Hono().use(hono(v1))
      app.get('/own', ({ text }) => text('the application'))
      return getRequestListener(app.fetch)
    },
  ],
]

describe.each(bridges)('what a client writes at the head of a request: %s', (name, listener) => {
  let server: Server

  beforeAll(async () => {
    const v1 = createV1({ engine: scenarioEngine(scenario), keys: 'none', log: () => {} })
    server = createServer(listener(v1))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })

  /** The answer; undefined where the connection was closed without one. */
  async function ask(head: string): Promise<RawAnswer | undefined> {
    const connection = await rawConnection((server.address() as AddressInfo).port)
    connection.socket.end(Buffer.from(`${head}\r\nconnection: close\r\n\r\n`, 'latin1'))
    const answer = await connection.answer(head.startsWith('HEAD ') ? 'HEAD' : 'GET').catch(() => undefined)
    connection.socket.destroy()
    return answer
  }

  test.each(['127.evil.example', 'evil.example', '127.0.0.1.evil.example', '0.0.0.0', '[::2]', '_'])(
    'a name that is not of this machine is refused: %s',
    async (host) => {
      const answer = await ask(`GET /v1/models HTTP/1.1\r\nhost: ${host}`)
      expect([answer?.status, JSON.parse(answer!.body).error.code]).toEqual([403, 'host_not_allowed'])
    },
  )

  const noHosts = ['127.0.0.1:99999', '256.0.0.1', '[:::]']

  test.each(noHosts)('a host that is none is refused on our paths: %s', async (host) => {
    for (const path of ['/v1/models', '/v1/x/../models', '/v1/models?a=<b>', '/x/../v1/models']) {
      const answer = await ask(`GET ${path} HTTP/1.1\r\nhost: ${host}`)
      expect(answer?.status, path).toBe(400)
      if (!name.startsWith('hono')) expect(JSON.parse(answer!.body)).toHaveProperty('error.code', 'invalid_host')
    }
  })

  // That bridge refuses such a request for the application, too.
  test.skipIf(name.startsWith('hono'))('it does not break the application’s other routes', async () => {
    for (const host of noHosts) {
      const answer = await ask(`GET /own HTTP/1.1\r\nhost: ${host}`)
      expect([answer?.status, answer?.body]).toEqual([200, 'the application'])
    }
  })

  test('everything is answered, and nothing that is written there makes the service fail', async () => {
    const byte = fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code))
    const text = fc.string({ unit: byte, maxLength: 40 })
    const host = fc.oneof(fc.constantFrom(...noHosts, 'localhost', '127.0.0.1:1', '', '[', '%zz'), text)
    const path = fc
      .tuple(
        fc.constantFrom(
          '/v1/models',
          '/v1/chat/completions',
          '/v1/',
          '/own',
          '/mounted/v1/models/',
          '//',
          '*',
          'http://',
        ),
        fc.string({ unit: byte.filter((char) => char !== ' '), maxLength: 20 }),
      )
      .map((parts) => parts.join(''))
    const headers = fc.array(
      fc.tuple(
        fc.constantFrom(
          'origin',
          'authorization',
          'openai-project',
          'content-type',
          'x-forwarded-host',
          'forwarded',
          'host',
        ),
        text,
      ),
      { maxLength: 4 },
    )
    const method = fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'DELETE', 'POST', 'PROPFIND')
    await fc.assert(
      fc.asyncProperty(method, path, host, headers, async (method, path, host, headers) => {
        const lines = headers.map(([field, value]) => `${field}: ${value}`)
        const answer = await ask([`${method} ${path} HTTP/1.1`, `host: ${host}`, ...lines].join('\r\n'))
        expect(answer?.status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    )
    expect((await ask('GET /own HTTP/1.1\r\nhost: localhost'))?.status).toBe(200)
  })
})
