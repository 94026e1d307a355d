import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import fc from 'fast-check'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { hono } from '../../adapters/hono.js'
import { createV1, type UsageEvent, type V1 } from '../../src/index.js'
import { rawConnection } from '../support/raw-http.js'
import { type ScenarioEngine, scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'
import { pause, until } from './speak.js'

const bridges: [name: string, listener: (v1: V1) => RequestListener][] = [
  ['express(v1)', (v1) => express(v1)],
  ['hono(v1) over @hono/node-server', (v1) => getRequestListener(new Hono().use(hono(v1)).fetch)],
]

/** How one client treats the service. */
const client = fc.record({
  model: fc.constantFrom(
    'test/hello',
    'test/brief',
    'test/endless',
    'test/endless-deaf',
    'test/flood',
    'test/crash-late',
  ),
  stream: fc.boolean(),
  /** The part of the request that is sent before it leaves; 1 is all of it. */
  sent: fc.constantFrom(0.3, 0.9, 1, 1, 1, 1),
  reads: fc.boolean(),
  staysMs: fc.integer({ min: 0, max: 60 }),
  leaves: fc.constantFrom('close', 'reset', 'half'),
})
type Client = typeof client extends fc.Arbitrary<infer T> ? T : never

describe.each(bridges)('a crowd of clients that come and go as they like: %s', (_, listener) => {
  let engine: ScenarioEngine
  let server: Server
  let counted: UsageEvent[]

  beforeAll(async () => {
    counted = []
    engine = scenarioEngine(scenario)
    const v1 = createV1({
      engine,
      keys: 'none',
      maxInFlight: 3,
      maxQueue: 4,
      log: () => {},
      onUsage: (event) => counted.push(event),
    })
    server = createServer(listener(v1))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })

  async function visit({ model, stream, sent, reads, staysMs, leaves }: Client): Promise<void> {
    const { socket } = await rawConnection((server.address() as AddressInfo).port)
    if (!reads) socket.pause()
    const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] })
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    const request = `${head}content-length: ${body.length}\r\n\r\n${body}`
    socket.write(request.slice(0, request.length * sent))
    await pause(staysMs)
    if (leaves === 'reset') socket.resetAndDestroy()
    else if (leaves === 'close') socket.destroy()
    else {
      socket.end()
      // Half closed, it still takes what comes; a socket that nobody reads would stay for ever.
      socket.resume()
    }
  }

  test('no slot is lost, no engine runs on, and every call is counted once', async () => {
    const models = Object.keys(scenario)
    const sum = (what: 'started' | 'active') => models.reduce((total, model) => total + engine.probe(model)[what], 0)
    await fc.assert(
      fc.asyncProperty(fc.array(client, { minLength: 1, maxLength: 16 }), async (clients) => {
        await Promise.all(clients.map(visit))
        await until(
          async () => sum('active'),
          (active) => active === 0,
        )
        const { port } = server.address() as AddressInfo
        const ask = () =>
          fetch(`http://localhost:${port}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'test/brief', messages: [{ role: 'user', content: 'x' }] }),
          })
        // All places become free, those too that somebody who has left is just found to have: as many at once as may run
        // and wait.
        const all = async () => {
          const answers = await Promise.all(Array.from({ length: 7 }, ask))
          await Promise.all(answers.map((answer) => answer.text()))
          return answers.map(({ status }) => status)
        }
        const statuses = await until(all, (found) => found.every((status) => status === 200))
        expect(statuses).toEqual(Array(7).fill(200))
        expect(new Set(counted.map(({ requestId }) => requestId)).size).toBe(counted.length)
        expect(counted.length).toBeGreaterThanOrEqual(sum('started'))
      }),
      { numRuns: 25, endOnFailure: true },
    )
  })
})
