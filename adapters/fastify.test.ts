import fastifyApp, { type FastifyInstance } from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { createV1 } from '../src/index.js'
import { scenarioEngine } from '../test/contract/scenario.js'
import { scenario } from '../test/contract/scripts.js'
import { fastify } from './fastify.js'

const open: FastifyInstance[] = []
afterAll(() => Promise.all(open.map((app) => app.close())))

async function serve(set: (app: FastifyInstance) => void): Promise<string> {
  const app = fastifyApp({ forceCloseConnections: true })
  open.push(app)
  set(app)
  return app.listen({ host: '127.0.0.1', port: 0 })
}

const service = (basePath?: string) => createV1({ engine: scenarioEngine(scenario), keys: 'none', basePath })
const text = 'ä "quoted" 🌍'

function ask(url: string, init: RequestInit = {}, more: object = {}): Promise<Response> {
  const body = JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: text }], ...more })
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/chat/completions`, { method: 'POST', body, headers, ...init })
}

test('answers whole and as a stream, before routes of the same path and bodies are looked at', async () => {
  const url = await serve((app) => {
    app.register(fastify(service()))
    app.post('/v1/chat/completions', () => 'a route')
  })
  const whole = (await (await ask(`${url}/v1`)).json()) as { choices: { message: { content: string } }[] }
  expect(whole.choices[0]!.message.content).toBe(text)
  const stream = await (await ask(`${url}/v1`, {}, { stream: true })).text()
  expect(stream.trimEnd().endsWith('data: [DONE]')).toBe(true)
  const refused = await ask(`${url}/v1`, { body: '{"model":' })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
})

test('what it has no path for is left to the application, also from within a part of it', async () => {
  const url = await serve((app) => {
    app.register(async (part) => {
      part.register(fastify(service()))
      part.get('/v2/models', () => 'a route')
    })
    app.setNotFoundHandler((_, reply) => reply.code(404).send('the application'))
  })
  expect(await (await fetch(`${url}/v2/models`)).text()).toBe('a route')
  expect(await (await fetch(`${url}/nowhere`)).text()).toBe('the application')
})

test('under a path, basePath names all of it', async () => {
  const url = await serve((app) => app.register(fastify(service('/openai/v1')), { prefix: '/openai' }))
  expect((await ask(`${url}/openai/v1`)).status).toBe(200)
})

test('a client that leaves is noticed', async () => {
  const engine = scenarioEngine(scenario)
  const url = await serve((app) => app.register(fastify(createV1({ engine, keys: 'none' }))))
  const leaving = new AbortController()
  const response = ask(`${url}/v1`, { signal: leaving.signal }, { model: 'test/thinking' })
  await expect.poll(() => engine.probe('test/thinking').active).toBe(1)
  leaving.abort()
  await expect(response).rejects.toThrow()
  await expect.poll(() => engine.probe('test/thinking')).toMatchObject({ started: 1, active: 0, aborted: 1 })
})

test('what hooks before it have put into the head is sent, beside its own', async () => {
  const url = await serve((app) => {
    app.addHook('onRequest', async (_, reply) => {
      reply.headers({ 'access-control-allow-origin': 'https://app.example', 'content-type': 'text/plain' })
      reply.header('set-cookie', ['a=1', 'b=2'])
    })
    app.register(fastify(service()))
  })
  for (const more of [{}, { stream: true }]) {
    const { headers } = await ask(`${url}/v1`, {}, more)
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(headers.get('content-type')).toMatch(/^(application\/json|text\/event-stream)/)
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  }
})

test('a hook before it that answers keeps requests off it', async () => {
  const engine = scenarioEngine(scenario)
  const url = await serve((app) => {
    app.addHook('onRequest', async (_, reply) => reply.code(429).send({ error: 'too many' }))
    app.register(fastify(createV1({ engine, keys: 'none' })))
  })
  expect([(await ask(`${url}/v1`)).status, engine.probe('test/echo').started]).toEqual([429, 0])
})
