import { gzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { expect, test } from 'vitest'
import { createV1 } from '../src/index.js'
import { scenarioEngine } from '../test/contract/scenario.js'
import { scenario } from '../test/contract/scripts.js'
import { hono } from './hono.js'

const service = (basePath?: string) => createV1({ engine: scenarioEngine(scenario), keys: 'none', basePath })

async function ask(app: Hono, url: string): Promise<string> {
  const response = await app.request(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'ä 🌍' }] }),
  })
  expect(response.status, await response.clone().text()).toBe(200)
  return ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content
}

test('after a handler that has read the body', async () => {
  const seen: unknown[] = []
  const app = new Hono()
  app.use(async ({ req }, next) => {
    seen.push(await req.json())
    await next()
  })
  app.use(hono(service()))
  expect(await ask(app, '/v1')).toBe('ä 🌍')
  expect(seen).toMatchObject([{ model: 'test/echo' }])
})

test('after a handler that has read the bytes of a compressed body', async () => {
  const app = new Hono()
  app.use(async ({ req }, next) => {
    await req.arrayBuffer()
    await next()
  })
  app.use(hono(service()))
  const response = await app.request('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'x' }] })),
  })
  expect(response.status).toBe(200)
})

test('who leaves after that is noticed all the same', async () => {
  const engine = scenarioEngine(scenario)
  const app = new Hono()
  app.use(async ({ req }, next) => {
    await req.json()
    await next()
  })
  app.use(hono(createV1({ engine, keys: 'none' })))
  const leaving = new AbortController()
  const response = app.request('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/thinking', messages: [{ role: 'user', content: 'x' }] }),
    signal: leaving.signal,
  })
  await expect.poll(() => engine.probe('test/thinking').active).toBe(1)
  leaving.abort()
  await expect.poll(() => engine.probe('test/thinking')).toMatchObject({ active: 0, aborted: 1 })
  expect((await response).status).toBe(499)
})

test.each([
  ['all of a path', () => new Hono().use('/openai/*', hono(service('/openai/v1')))],
  ['a part of an application', () => new Hono().route('/openai', new Hono().use(hono(service('/openai/v1'))))],
  ['mounted as fetch', () => new Hono().mount('/openai', service().fetch)],
])('under a base path: %s', async (_, app) => {
  expect(await ask(app() as Hono, '/openai/v1')).toBe('ä 🌍')
})

test('a stream passes middleware that compresses as it is: packed, it would be held back', async () => {
  const app = new Hono().use(compress()).use(hono(service()))
  const response = await app.request('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: JSON.stringify({ model: 'test/hello', messages: [{ role: 'user', content: 'x' }], stream: true }),
  })
  expect(response.headers.get('content-encoding')).toBe(null)
  expect(await response.text()).toMatch(/\[DONE\]\n\n$/)
})

test('what other middleware does with answers, it does with ours', async () => {
  const app = new Hono()
  app.use(async (context, next) => {
    await next()
    context.header('x-mine', 'yes')
  })
  app.use(hono(service()))
  app.get('/', ({ text }) => text('the application'))
  const response = await app.request('/v1/models')
  expect([response.status, response.headers.get('x-mine')]).toEqual([200, 'yes'])
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(await (await app.request('/')).text()).toBe('the application')
})
