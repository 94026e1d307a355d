import { build } from 'esbuild'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createV1 } from '../src/index.js'
import { scenarioEngine } from '../test/contract/scenario.js'
import { scenario } from '../test/contract/scripts.js'
import { next, withLocalV1 } from './next.js'

afterEach(() => vi.unstubAllEnvs())

/** As Next makes it: the server's own name in the URL, the client's in the header. */
const requestTo = (path: string, init: RequestInit = {}, host = 'localhost:3000') =>
  new Request(`http://localhost:3000/api/v1${path}`, { ...init, headers: { ...init.headers, host } })

const chat = (content: string): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content }] }),
})

let path = 0
/** A base path for each test: services outlive the modules that make them. */
function routes(options: { hosts?: string[] } = {}) {
  const created = vi.fn((basePath: string) =>
    createV1({ engine: scenarioEngine(scenario), keys: 'none', basePath, ...options }),
  )
  // Requests are all for /api/v1; what differs is the key of the service.
  const basePath = `/api/v1${'/'.repeat(path++)}`
  return { handlers: next(basePath, created), created, basePath }
}

describe('route handlers for Next', () => {
  test('answer, and begin with the first request', async () => {
    const { handlers, created } = routes()
    expect(created).not.toHaveBeenCalled()
    const answer = await (await handlers.POST(requestTo('/chat/completions', chat('ä 🌍')))).json()
    expect(answer).toMatchObject({ choices: [{ message: { content: 'ä 🌍' } }] })
    expect(await (await handlers.GET(requestTo('/models'))).json()).toMatchObject({ object: 'list' })
    expect(created).toHaveBeenCalledTimes(1)
  })

  test('keep the service when development loads the route anew, until what creates it is another', async () => {
    const closed = vi.fn()
    const create = (source: string) => {
      const made = vi.fn((basePath: string) => {
        const v1 = createV1({ engine: scenarioEngine(scenario), keys: 'none', basePath })
        closed.mockImplementation(() => v1.close())
        return { ...v1, close: closed }
      })
      return Object.defineProperty(made, 'toString', { value: () => source })
    }
    const [first, same, other] = [create('a'), create('a'), create('b')] as const
    const basePath = `/api/v1${'/'.repeat(path++)}`
    for (const made of [first, same]) await next(basePath, made).GET(requestTo('/models'))
    expect([first.mock.calls.length, same.mock.calls.length, closed.mock.calls.length]).toEqual([1, 0, 0])
    await next(basePath, other).GET(requestTo('/models'))
    expect([other.mock.calls.length, closed.mock.calls.length]).toEqual([1, 1])
  })

  test('keep off pages that rebind their name to this machine, in development', async () => {
    vi.stubEnv('NODE_ENV', 'development')
    const { handlers } = routes()
    expect((await handlers.GET(requestTo('/models'))).status).toBe(200)
    const refused = await handlers.GET(requestTo('/models', {}, 'rebound.example'))
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'host_not_allowed' } }])
    expect((await handlers.POST(requestTo('/models', {}, '127.0.0.1:99999'))).status).toBe(400)
    const foreign = await handlers.GET(requestTo('/models', { headers: { origin: 'https://evil.example' } }))
    expect(await foreign.json()).toMatchObject({ error: { code: 'origin_not_allowed' } })
  })

  test('look at the host that the client wrote where hosts are listed', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    const { handlers } = routes({ hosts: ['app.example'] })
    expect((await handlers.GET(requestTo('/models', {}, 'app.example'))).status).toBe(200)
    expect((await handlers.GET(requestTo('/models'))).status).toBe(403)
    expect((await handlers.POST(requestTo('/chat/completions', chat('body'), 'app.example'))).status).toBe(200)
  })

  /** Next calls a handler so; what it is told of the path is decoded. */
  type Called = (request: Request, context: { params: Promise<object> }) => Promise<Response>

  test('answer below their own path what a rewrite has led to them', async () => {
    const { handlers } = routes()
    const rewritten = (handler: unknown, address: string, segments: string[], init?: RequestInit) =>
      (handler as Called)(new Request(`http://localhost:3000${address}`, init), {
        params: Promise.resolve({ tenant: 'one', path: segments }),
      })
    const chatted = await rewritten(handlers.POST, '/v1/chat/completions', ['chat', 'completions'], chat('by proxy.ts'))
    expect(await chatted.json()).toMatchObject({ choices: [{ message: { content: 'by proxy.ts' } }] })
    const model = await rewritten(handlers.GET, '/docs/v1/models/test%2Fecho', ['models', 'test/echo'])
    expect(await model.json()).toMatchObject({ id: 'test/echo' })
    const usage = await rewritten(handlers.GET, '/v1/organization/usage/completions?start_time=x', [
      'organization',
      'usage',
      'completions',
    ])
    expect(await usage.json()).toMatchObject({ error: { param: 'start_time' } })
  })

  test('say what to do where the route has the edge runtime', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { handlers, created } = routes()
    const refused = await handlers.POST(requestTo('/chat/completions', chat('hello')))
    vi.unstubAllGlobals()
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({
      error: { code: 'no_device', message: expect.stringContaining("remove runtime = 'edge'") },
    })
    expect(created).not.toHaveBeenCalled()
  })

  test('say what is missing', () => {
    // @ts-expect-error: JavaScript is told too
    expect(() => next(createV1({ engine: scenarioEngine(scenario), keys: 'none' }))).toThrow('a function')
  })
})

describe('withLocalV1', () => {
  test('adds to a configuration and changes nothing in it', async () => {
    const own = { source: '/a', headers: [{ key: 'x-own', value: '1' }] }
    const config = {
      reactStrictMode: true,
      serverExternalPackages: ['sharp', 'webgpu'],
      headers: (): (typeof own)[] | Promise<(typeof own)[]> => [own],
    }
    const made = withLocalV1(config)
    expect(made).toMatchObject({ reactStrictMode: true })
    expect(made.serverExternalPackages).toEqual(['sharp', 'webgpu', 'local-v1-nano', '@mlc-ai/web-llm'])
    expect(await made.headers?.()).toEqual([
      own,
      {
        source: '/:path*',
        headers: [
          { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
          { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
        ],
      },
    ])
    expect(withLocalV1(config, { isolate: false }).headers).toBe(config.headers)
  })

  test('has all copied that the worker imports, and the files of nano', async () => {
    const { metafile } = await build({
      entryPoints: ['src/engines/webgpu/worker/webgpu-worker.ts'],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      packages: 'external',
      external: ['node:*'],
    })
    const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
    const packages = imported.map((path) => path.split('/', path.startsWith('@') ? 2 : 1).join('/'))
    const { '/**': found } = withLocalV1({ outputFileTracingIncludes: { '/**': ['own'], '/a': ['a'] } })
      .outputFileTracingIncludes!
    const [own, read = ''] = found!
    expect(own).toBe('own')
    const [, names = ''] = /^\.\/node_modules\/\{(.*)\}\/\*\*\/\*$/.exec(read)!
    expect(names.split(',').sort()).toEqual([...new Set([...packages, 'local-v1', 'local-v1-nano'])].sort())
  })
})
