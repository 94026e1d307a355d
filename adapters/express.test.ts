import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import expressApp, { type Express, type RequestHandler } from 'express'
import { afterAll, expect, test, vi } from 'vitest'
import { createV1, type V1 } from '../src/index.js'
import { BEGIN_PER_TURN } from '../src/platform/turns.js'
import { scenarioEngine } from '../test/contract/scenario.js'
import { scenario } from '../test/contract/scripts.js'
import { countTurns } from '../test/support/count-turns.js'
import { type Listening, listen } from '../test/support/serve.js'
import { express } from './express.js'

const open: Listening[] = []
afterAll(() => Promise.all(open.map(({ close }) => close())))

async function serve(set: (app: Express) => void): Promise<string> {
  const app = expressApp()
  set(app)
  app.use((_, response) => void response.status(404).send('the application'))
  const listening = await listen(app)
  open.push(listening)
  return listening.origin
}

const service = (basePath?: string) => createV1({ engine: scenarioEngine(scenario), keys: 'none', basePath })

const body = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'ä "quoted" 🌍' }] })

async function ask(url: string, init: RequestInit = {}): Promise<string> {
  const headers = { 'content-type': 'application/json', ...init.headers }
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', body, ...init, headers })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text).choices[0].message.content
}

test.each<[string, RequestHandler]>([
  ['json', expressApp.json()],
  ['text', expressApp.text({ type: '*/*' })],
  ['raw', expressApp.raw({ type: '*/*' })],
  ['one that does not look at it', expressApp.urlencoded()],
])('after a body parser: %s', async (_, parser) => {
  const url = await serve((app) => app.use(parser, express(service())))
  expect(await ask(`${url}/v1`)).toBe('ä "quoted" 🌍')
})

test('after a body parser that unpacked it', async () => {
  const url = await serve((app) => app.use(expressApp.json(), express(service())))
  const packed = gzipSync(body)
  expect(await ask(`${url}/v1`, { body: packed, headers: { 'content-encoding': 'gzip' } })).toBe('ä "quoted" 🌍')
})

test('after a body parser that unpacked it and kept its bytes', async () => {
  const verify = (request: object, _: unknown, rawBody: Buffer) => void Object.assign(request, { rawBody })
  const url = await serve((app) => app.use(expressApp.json({ verify }), express(service())))
  expect(await ask(`${url}/v1`)).toBe('ä "quoted" 🌍')
  expect(await ask(`${url}/v1`, { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } })).toBe(
    'ä "quoted" 🌍',
  )
})

test('a client that leaves is noticed after a body parser too', async () => {
  const engine = scenarioEngine(scenario)
  const url = await serve((app) => app.use(expressApp.json(), express(createV1({ engine, keys: 'none' }))))
  const thinking = JSON.stringify({ model: 'test/thinking', messages: [{ role: 'user', content: 'x' }] })
  const leaving = new AbortController()
  const response = ask(`${url}/v1`, { body: thinking, signal: leaving.signal })
  await expect.poll(() => engine.probe('test/thinking').active).toBe(1)
  leaving.abort()
  await expect(response).rejects.toThrow()
  await expect.poll(() => engine.probe('test/thinking')).toMatchObject({ started: 1, active: 0, aborted: 1 })
})

test.each([
  ['the rest of the path', '/v1'],
  ['all of the path', '/openai/v1'],
])('mounted under a path, basePath names %s', async (_, basePath) => {
  const url = await serve((app) => app.use('/openai', express(service(basePath))))
  expect(await ask(`${url}/openai/v1`)).toBe('ä "quoted" 🌍')
  expect(await (await fetch(`${url}/openai/v2/models`)).text()).toBe('the application')
})

test('in a router, and the request is handed on as it was', async () => {
  const router = expressApp.Router()
  router.use(express(service('/v1')))
  router.use((request, response) => void response.send(`${request.originalUrl} ${request.url}`))
  const url = await serve((app) => app.use('/a', expressApp.Router().use('/b', router)))
  expect(await ask(`${url}/a/b/v1`)).toBe('ä "quoted" 🌍')
  expect(await (await fetch(`${url}/a/b/other?x=1`)).text()).toBe('/a/b/other?x=1 /other?x=1')
})

test('a whole answer is sent as text, with the headers that it has by then; a stream and what replaces it, as streams', async () => {
  const streamed = vi.spyOn(Response.prototype, 'body', 'get')
  const own = service()
  let wrap = (answer: Response): Response => answer
  const wrapped: V1 = { ...own, fetch: async (request, info) => wrap(await own.fetch(request, info)) }
  const url = await serve((app) => app.use(express(wrapped)))
  const post = (body: string) =>
    fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  wrap = (answer) => {
    answer.headers.set('x-added', 'ja')
    return answer
  }
  const whole = await post(body)
  const bytes = Buffer.from(await whole.arrayBuffer())
  expect(JSON.parse(bytes.toString()).choices[0].message.content).toBe('ä "quoted" 🌍')
  expect(whole.headers.get('content-length')).toBe(String(bytes.length))
  expect(whole.headers.get('x-added')).toBe('ja')
  expect((await fetch(`${url}/v1/models`, { method: 'HEAD' })).headers.get('content-type')).toMatch('application/json')
  expect(streamed.mock.results.filter(({ value }) => value !== null)).toEqual([])

  const stream = await post(JSON.stringify({ ...JSON.parse(body), stream: true }))
  expect(stream.headers.get('content-length')).toBeNull()
  expect(await stream.text()).toMatch(/data: \[DONE\]\s*$/)
  expect(streamed).toHaveBeenCalled()

  wrap = () => new Response('another', { status: 203 })
  const other = await post(body)
  expect([other.status, await other.text()]).toEqual([203, 'another'])
  streamed.mockRestore()
})

/** As `compression` and `express-session` do: whatever `end` is given is a chunk. */
const taking: RequestHandler = (_, response, next) => {
  const end = response.end.bind(response) as (chunk?: Buffer) => typeof response
  response.end = ((chunk?: string | Buffer) =>
    end(chunk === undefined ? chunk : Buffer.from(chunk))) as typeof response.end
  next()
}

/** `on-headers` before 1.1, which knows of no list of names and values in turns. */
const watching: RequestHandler = (_, response, next) => {
  const writeHead = response.writeHead.bind(response)
  response.writeHead = ((status: number, ...rest: unknown[]) => {
    const headers = rest.at(-1) ?? {}
    const pairs = Array.isArray(headers) ? headers.map(([name, value]) => [name, value]) : Object.entries(headers)
    for (const [name, value] of pairs) response.setHeader(name, value)
    return writeHead(status)
  }) as typeof response.writeHead
  next()
}

test('behind middleware that replaces what responses are written with', async () => {
  const url = await serve((app) => app.use(taking, watching, express(service())))
  expect(await ask(`${url}/v1`)).toBe('ä "quoted" 🌍')
  const head = await fetch(`${url}/v1/models`, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect((await fetch(`${url}/v1/models`, { method: 'OPTIONS' })).status).toBe(204)
  const stream = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...JSON.parse(body), stream: true }),
  })
  expect(stream.headers.get('content-type')).toMatch('text/event-stream')
  expect(await stream.text()).toMatch(/data: \[DONE\]\s*$/)
})

test('where other middleware has answered, the engine stops and nothing more is sent', async () => {
  const engine = scenarioEngine(scenario)
  const limited: RequestHandler = (_, response, next) => {
    void expect
      .poll(() => engine.probe('test/thinking').active)
      .toBe(1)
      .then(() => response.status(503).send('too long'))
    next()
  }
  const url = await serve((app) => app.use(limited, express(createV1({ engine, keys: 'none' }))))
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/thinking', messages: [{ role: 'user', content: 'x' }] }),
  })
  expect([response.status, await response.text()]).toEqual([503, 'too long'])
  await expect.poll(() => engine.probe('test/thinking')).toMatchObject({ started: 1, active: 0, aborted: 1 })
})

test('a fault in the service is still an answer in its form, and tells nothing', async () => {
  const failing: V1 = {
    ...service(),
    fetch: async () => {
      throw new Error('swordfish')
    },
  }
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const url = await serve((app) => app.use(express(failing)))
  const response = await fetch(`${url}/v1/models`)
  expect(response.status).toBe(500)
  const { error } = (await response.json()) as { error: Record<string, unknown> }
  expect(error).toMatchObject({ type: 'server_error', param: null, code: null })
  expect(error.message).not.toContain('swordfish')
  expect(String(logged.mock.calls[0])).toContain('swordfish')
  logged.mockRestore()
})

test('of a crowd that comes at once, and leaves at once, few are let in and taken back in a turn of the event loop', async () => {
  const CROWD = 300
  const turns = countTurns()
  const came: number[] = []
  const left: number[] = []
  const watched: V1 = {
    ...service(),
    fetch: async ({ signal }) => {
      came.push(turns.now)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      left.push(turns.now)
      return new Response(null, { status: 499 })
    },
  }
  const server = createServer(express(watched)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const sockets = Array.from({ length: CROWD }, () => connect(port, '127.0.0.1').on('error', () => {}))
    const accepted = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
    await expect.poll(accepted).toBe(CROWD)
    for (const socket of sockets) socket.write('GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await expect.poll(() => came.length).toBe(CROWD)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => left.length).toBe(CROWD)
  } finally {
    turns.over = true
    server.close()
    server.closeAllConnections()
  }
  const most = (turns: readonly number[]) =>
    Math.max(...turns.map((each) => turns.filter((other) => other === each).length))
  // A turn of ours may fall into two halves of the loop's.
  expect(most(came)).toBeLessThanOrEqual(2 * 4 * BEGIN_PER_TURN)
  expect(most(left)).toBeLessThanOrEqual(2 * 4 * BEGIN_PER_TURN)
})
