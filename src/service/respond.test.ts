import { afterEach, describe, expect, it, vi } from 'vitest'
import { V1Error } from '../contract/errors.js'
import { wholeTexts } from '../platform/turns.js'
import type { Dialect, EndpointEntry, Exchange, Method, Route, RouteResponse, Service } from './answer/service.js'
import { jsonResponse } from './answer/service.js'
import type { Caller } from './door/auth.js'
import { type Door, Router, respond } from './respond.js'
import { Deadlines } from './stream/abort.js'

const PAGE = 'https://page.test'
const OK: RouteResponse = { status: 200, body: '"é"', headers: { 'content-type': 'application/json' } }
const USAGE = { promptTokens: 1, completionTokens: 2, cachedTokens: 0 }

interface Setup {
  readonly route?: Route
  readonly methods?: readonly Method[]
  readonly endpoint?: Partial<EndpointEntry>
  readonly dialect?: Dialect
  readonly caller?: Partial<Caller>
  readonly door?: Partial<Door>
  readonly service?: Partial<Service>
}

/** A door to one path, `/thing/{id}` under `/v1`, and all that is seen of who goes through it. */
function setUp({ route = () => OK, methods = ['GET', 'POST'], endpoint, dialect, ...part }: Setup = {}) {
  const seen = {
    exchanges: [] as Exchange[],
    paths: [] as string[],
    log: [] as Record<string, unknown>[],
    metrics: [] as object[],
    keys: 0,
  }
  const service = {
    admission: { closed: false },
    log: (event: object) => seen.log.push(event as Record<string, unknown>),
    metrics: { ended: (event: object) => seen.metrics.push(event) },
    deadlines: new Deadlines(undefined, () => undefined),
    ...part.service,
  } as unknown as Service
  const noted: Route = (given, exchange) => {
    expect(given).toBe(service)
    seen.exchanges.push(exchange)
    return route(given, exchange)
  }
  const endpoints = new Map(
    methods.map((method) => [method, { method, path: '/thing/{id}', route: noted, ...endpoint } as EndpointEntry]),
  )
  const door = {
    base: '/v1',
    router: {
      summary: 'GET /thing/{id}',
      find(path: string) {
        seen.paths.push(path)
        const [, id] = /^\/thing\/(\w+)$/.exec(path) ?? []
        if (id === undefined) return undefined
        return { allow: 'GET, HEAD, POST, OPTIONS', endpoints, named: { id }, ...(dialect && { dialect }) }
      },
    },
    authenticate: async () => {
      seen.keys++
      return { id: 'me', ...part.caller }
    },
    entrance: { enter: () => undefined },
    lineOf: () => 'line',
    projects: { of: (_: Request, { id }: Caller) => `project of ${id}` },
    origins: { cors: [], hosts: 'any' },
    ...part.door,
  } as unknown as Door
  const send = async (url = '/v1/thing/one?a=b', init: RequestInit = {}, change?: (request: Request) => void) => {
    const request = new Request(new URL(url, 'http://here.test'), init)
    change?.(request)
    const response = await respond(service, door, request, undefined)
    return { response, status: response.status, headers: response.headers, text: await response.text(), request }
  }
  const error = async (...given: Parameters<typeof send>) => {
    const { status, headers, text } = await send(...given)
    return { status, headers, ...JSON.parse(text).error }
  }
  return { seen, send, error }
}

afterEach(() => void vi.restoreAllMocks())

describe('an answer', () => {
  it('is what the route says, with what all answers say', async () => {
    const { send, seen } = setUp()
    const { status, headers, text, request } = await send()
    expect([status, text, headers.get('content-type')]).toEqual([200, '"é"', 'application/json'])
    // In bytes.
    expect(headers.get('content-length')).toBe('4')
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
    expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/)
    expect([headers.has('vary'), headers.has('access-control-allow-origin')]).toEqual([false, false])
    expect(seen.exchanges).toEqual([
      {
        ...{ request, requestId: headers.get('x-request-id'), path: '/v1/thing/one', query: '?a=b' },
        ...{ named: { id: 'one' }, caller: { id: 'me' }, project: 'project of me', end: expect.any(Function) },
      },
    ])
    expect([seen.paths, seen.keys]).toEqual([['/thing/one'], 1])
  })

  it('tells how long it took', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1000)
    const route = () => {
      now.mockReturnValue(1250.6)
      return OK
    }
    const { send, seen } = setUp({ route })
    expect((await send()).headers.get('openai-processing-ms')).toBe('251')
    expect(seen.log[0]!.durationMs).toBeCloseTo(250.6, 6)
    expect(seen.metrics[0]).toMatchObject({ seconds: expect.closeTo(0.2506, 6) })
  })

  it('may be a document, long or short, and a stream, which does not say how long it is', async () => {
    const short = await setUp({ route: () => ({ ...OK, body: jsonResponse([1]).body }) }).send()
    expect([short.text, short.headers.get('content-length')]).toEqual(['[1]', '3'])
    const many = Array.from({ length: 20_000 }, (_, i) => `item ${i}`)
    const long = await setUp({ route: () => ({ ...OK, body: jsonResponse(many).body }) }).send()
    expect([JSON.parse(long.text), long.headers.get('content-length')]).toEqual([many, null])
    const stream = new Response('of its own').body
    const streamed = await setUp({ route: () => ({ ...OK, body: stream }) }).send()
    expect([streamed.text, streamed.headers.get('content-length')]).toEqual(['of its own', null])
  })

  it('has its text beside it where it is whole, an error too, and not where nothing or a stream is sent', async () => {
    const textOf = async (route: Route, init?: RequestInit) => {
      const { response, text } = await setUp({ route }).send(undefined, init)
      return [wholeTexts.get(response), text]
    }
    expect(await textOf(() => OK)).toEqual(['"é"', '"é"'])
    const [kept, sent] = await textOf(() => {
      throw new V1Error(400, 'No.')
    })
    expect([kept, sent]).toEqual([expect.stringContaining('No.'), kept])
    expect(await textOf(() => OK, { method: 'HEAD' })).toEqual([undefined, ''])
    const stream = new Response('of its own').body
    expect(await textOf(() => ({ ...OK, body: stream }))).toEqual([undefined, 'of its own'])
  })

  it('to HEAD is that to GET, without its body', async () => {
    const { send, seen } = setUp()
    const { status, text, headers } = await send(undefined, { method: 'HEAD' })
    expect([status, text, headers.get('content-length')]).toEqual([200, '', '4'])
    expect(seen.log[0]).toMatchObject({ method: 'HEAD', status: 200 })
    expect((await setUp({ methods: ['POST'] }).send(undefined, { method: 'HEAD' })).status).toBe(405)
  })

  it('is not made for whoever left while it waited to begin: nothing is read, and nobody asked for a key', async () => {
    const leaving = new AbortController()
    const enter = async () => leaving.abort()
    const { send, seen } = setUp({ door: { entrance: { enter } } as unknown as Partial<Door> })
    expect((await send(undefined, { signal: leaving.signal })).status).toBe(499)
    expect([seen.keys, seen.paths, seen.exchanges]).toEqual([0, [], []])
    expect(seen.log).toMatchObject([{ status: 499 }])
  })

  it('waits for its turn, in the line of whoever asks', async () => {
    let pass = () => {}
    const turn = new Promise<void>((resolve) => {
      pass = resolve
    })
    const lines: string[] = []
    const enter = (line: string) => {
      lines.push(line)
      return turn
    }
    const lineOf = (request: Request) => request.headers.get('authorization')!
    const { send, seen } = setUp({ door: { entrance: { enter }, lineOf } as unknown as Partial<Door> })
    const answer = send(undefined, { headers: { authorization: 'Bearer mine' } })
    await new Promise((resolve) => setImmediate(resolve))
    expect([lines, seen.paths]).toEqual([['Bearer mine'], []])
    pass()
    expect((await answer).status).toBe(200)
  })

  it('is found under the base path, or where nothing else took the path', async () => {
    const { send, seen, error } = setUp()
    expect((await send('/thing/one')).status).toBe(200)
    expect((await send('/v1x/thing/one')).status).toBe(404)
    // What follows is asked for the advice alone.
    expect(seen.paths.slice(0, 2)).toEqual(['/thing/one', '/v1x/thing/one'])
    const unknown = await error('/v1/nothing', { method: 'POST' })
    expect(unknown).toMatchObject({ status: 404, code: 'unknown_url' })
    expect(unknown.message).toBe("Invalid URL (POST /v1/nothing). Under '/v1' there are: GET /thing/{id}.")
    for (const [path, base, advice] of [
      [
        '/v1/v1/thing/one',
        '/v1',
        "Your client writes '/v1' itself, as Anthropic's do: its base URL must be this server's address, without '/v1'.",
      ],
      ['/ai/v1/v1/thing/one', '/ai/v1', "its base URL must be this server's address followed by '/ai', without '/v1'."],
      ['/v1/thing/one', '/api/v1', "The base URL of your client must be this server's address followed by '/api/v1'."],
      ['/v1/thing/one', '', "The base URL of your client must be this server's address."],
      ['/v1/messages', '/v1', "Anthropic's interface is added by 'endpoints: [messages()]'."],
      ['/v1/v1/messages', '/v1', "Anthropic's interface is added by"],
      ['/api/chat', '/v1', "Ollama's interface is added by"],
    ] as const) {
      const { message } = await setUp({ door: { base } }).error(path, { method: 'POST' })
      expect(message).toBe(`Invalid URL (POST ${path}). ${message.slice(message.indexOf('). ') + 3)}`)
      expect(message).toContain(`${advice}`)
      expect(message).toContain(' there are: GET /thing/{id}.')
    }
    expect((await setUp({ door: { base: '' } }).error('/x')).message).toContain("Under '/' there are")
    const long = await error(`/${'x'.repeat(500)}`, { method: `M${'N'.repeat(100)}` })
    expect(long.message).toContain(`(M${'N'.repeat(19)} /${'x'.repeat(199)}).`)
  })
})

describe('a page of another origin', () => {
  const cors = { door: { origins: { cors: [PAGE], hosts: 'any' } } as Partial<Door> }

  it('is told whether it may read, where any may', async () => {
    const { headers } = await setUp(cors).send(undefined, { headers: { origin: PAGE } })
    expect([headers.get('vary'), headers.get('access-control-allow-origin')]).toEqual(['origin', PAGE])
    const other = await setUp(cors).send(undefined, { headers: { origin: 'https://other.test' } })
    expect(other.headers.has('access-control-allow-origin')).toBe(false)
    const failed = await setUp({
      ...cors,
      route: () => {
        throw new V1Error(400, 'No.')
      },
    }).send(undefined, { headers: { origin: PAGE } })
    expect([failed.status, failed.headers.get('access-control-allow-origin')]).toEqual([400, PAGE])
  })

  it('is told before it asks what it may, without a key', async () => {
    const wanted = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-a' }
    const { send, seen } = setUp(cors)
    const options = (headers: HeadersInit) => send(undefined, { method: 'OPTIONS', headers })
    const granted = await options({ origin: PAGE, ...wanted })
    expect([granted.status, granted.text, granted.headers.get('allow')]).toEqual([204, '', 'GET, HEAD, POST, OPTIONS'])
    expect(granted.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, OPTIONS')
    expect(granted.headers.get('access-control-allow-headers')).toBe('x-a')
    for (const headers of [{ origin: 'https://other.test', ...wanted }, { origin: PAGE }, wanted]) {
      const refused = await options(headers)
      expect([refused.status, refused.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS'])
      expect(refused.headers.has('access-control-allow-methods')).toBe(false)
    }
    expect([seen.keys, seen.exchanges]).toEqual([0, []])
  })

  it('is refused where the door is for others', async () => {
    const hosts = { door: { origins: { cors: [], hosts: ['else.test'] } } as Partial<Door> }
    expect(await setUp(hosts).error()).toMatchObject({ status: 403, code: 'host_not_allowed' })
  })
})

describe('a request that is refused', () => {
  it('has no host', async () => {
    const { error, seen } = setUp()
    const url = (request: Request) =>
      void Object.defineProperty(request, 'url', { value: 'http://127.0.0.1:99999/v1/thing/one' })
    const refused = await error(undefined, {}, url)
    expect(refused).toMatchObject({ status: 400, code: 'invalid_host' })
    expect(refused.message).toMatch(/'Host' header .* not a host name/)
    expect([seen.log[0]!.path, seen.paths]).toEqual(['/v1/thing/one', []])
    const none = (request: Request) => void Object.defineProperty(request, 'url', { value: 'no address' })
    expect(await error(undefined, {}, none)).toMatchObject({ status: 400, code: 'invalid_host' })
    expect(seen.log[1]!.path).toBe('')
  })

  it('has a method that is not there, or wants a socket', async () => {
    const { error, seen } = setUp()
    const wrong = await error(undefined, { method: 'DELETE' })
    expect(wrong).toMatchObject({ status: 405, code: 'method_not_allowed' })
    expect(wrong.message).toBe('Not allowed to DELETE on /v1/thing/one. Allowed: GET, HEAD, POST, OPTIONS.')
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    const name = 'x'.repeat(400)
    const long = await error(`/v1/thing/${name}`, { method: `M${'N'.repeat(100)}` })
    expect(long.message).toContain(`to M${'N'.repeat(19)} on /v1/thing/${'x'.repeat(190)}. Allowed`)
    const none = setUp({ methods: ['POST'] })
    const socket = await none.error(`/v1/thing/${name}`, { headers: { upgrade: 'WebSocket' } })
    expect(socket).toMatchObject({ status: 405, code: 'websocket_not_supported' })
    expect(socket.message).toBe(
      `There are no WebSockets on /v1/thing/${'x'.repeat(190)}: send a POST with 'stream' set to true.`,
    )
    expect(socket.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
    expect(await none.error(undefined, { headers: { upgrade: 'h2c' } })).toMatchObject({ code: 'method_not_allowed' })
    expect([seen.keys, none.seen.keys]).toEqual([0, 0])
  })

  it('comes when the service closes', async () => {
    const { error, seen } = setUp({ service: { admission: { closed: true } } as unknown as Partial<Service> })
    const refused = await error()
    expect(refused).toMatchObject({ status: 503, code: 'closing' })
    expect(refused.message).toMatch(/closing/)
    expect([refused.headers.get('retry-after'), seen.keys]).toEqual(['5', 0])
  })

  it('has no right to it', async () => {
    const denied = new V1Error(401, 'No key.', { code: 'invalid_api_key' })
    const { error, seen } = setUp({ door: { authenticate: () => Promise.reject(denied) } as unknown as Partial<Door> })
    expect(await error()).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect([seen.exchanges, seen.log[0]]).toMatchObject([[], { status: 401, error: denied }])
    expect(seen.log[0]!.caller).toBeUndefined()
    const admin = { endpoint: { admin: true } } as const
    const other = await setUp(admin).error()
    expect(other).toMatchObject({ status: 403, code: 'admin_only' })
    expect(other.message).toMatch(/Only an admin/)
    expect((await setUp({ ...admin, caller: { admin: true } }).send()).status).toBe(200)
    expect((await setUp({ caller: { admin: true } }).send()).status).toBe(200)
  })

  it('needs no key for what is open to all, and has no project there', async () => {
    const { send, seen } = setUp({ endpoint: { open: true } })
    expect((await send()).status).toBe(200)
    expect(seen.keys).toBe(0)
    expect(seen.exchanges[0]).toMatchObject({ caller: { id: 'anonymous' }, project: null })
    expect(seen.log[0]).toMatchObject({ caller: 'anonymous', project: null })
  })
})

describe('an error', () => {
  const throwing = (error: unknown, part: Setup = {}) =>
    setUp({
      ...part,
      route: () => {
        throw error
      },
    })

  it('of ours is told as it is, any other as none of the client’s', async () => {
    const refusal = new V1Error(429, 'Later.', { code: 'queue_full', retryAfter: 1.5, headers: { 'x-a': 'b' } })
    const reply = await throwing(refusal).error()
    expect(reply).toMatchObject({ status: 429, message: 'Later.', code: 'queue_full' })
    expect(['retry-after-ms', 'x-a', 'content-type'].map((name) => reply.headers.get(name))).toEqual([
      ...['1500', 'b', 'application/json'],
    ])
    const cause = new Error('secret')
    const { error, seen } = throwing(cause)
    const hidden = await error()
    expect(hidden).toMatchObject({ status: 500, type: 'server_error' })
    expect(JSON.stringify(hidden)).not.toContain('secret')
    expect(seen.log).toMatchObject([{ status: 500, error: cause }])
  })

  it('is told in the words of the endpoint, whose clients find the id where they look for it', async () => {
    const dialect: Dialect = {
      error: ({ message }, id) => ({ odd: { message, id } }),
      requestIdHeader: 'x-odd-id',
    }
    const { text, headers } = await throwing(new V1Error(400, 'No.'), { dialect }).send()
    const id = headers.get('x-odd-id')
    expect([JSON.parse(text), id]).toEqual([{ odd: { message: 'No.', id } }, headers.get('x-request-id')])
    expect((await setUp({ dialect }).send()).headers.get('x-odd-id')).toMatch(/^req_/)
    expect((await setUp().send()).headers.has('x-odd-id')).toBe(false)
  })

  it('that comes of a client that has left is none of ours; what was refused before stays what it is', async () => {
    const leaving = new AbortController()
    const leave = (error: unknown) => () => {
      leaving.abort()
      throw error
    }
    const gone = setUp({ route: leave(new Error('aborted')) })
    expect((await gone.send(undefined, { signal: leaving.signal })).status).toBe(499)
    expect(gone.seen.log).toMatchObject([{ status: 499 }])
    const refused = setUp({ route: leave(new V1Error(400, 'No.')) })
    expect((await refused.send(undefined, { signal: leaving.signal })).status).toBe(400)
  })

  it.each([
    [1000, {}],
    [204, {}],
    [400, { 'x-a': 'line\nbreak' }],
  ])('that no answer can carry is answered all the same: %i %j', async (status, headers) => {
    const reply = await throwing(new V1Error(status, 'Odd.', { headers })).error()
    expect(reply).toMatchObject({ status: 500, type: 'server_error' })
    expect(reply.headers.get('content-type')).toBe('application/json')
  })
})

describe('the line in the log', () => {
  it('says who asked what, and is written once', async () => {
    const { send, seen } = setUp()
    const { headers } = await send()
    expect(seen.log).toEqual([
      {
        ...{ type: 'request', requestId: headers.get('x-request-id'), method: 'GET', path: '/v1/thing/one' },
        ...{ status: 200, durationMs: expect.any(Number), caller: 'me', project: 'project of me' },
      },
    ])
    expect(seen.metrics).toEqual([
      { endpoint: '/thing/{id}', status: 200, seconds: expect.any(Number), usage: undefined },
    ])
  })

  it('of a route that ends it by itself is what that says', async () => {
    const { send, seen } = setUp({
      route: (_, { end }) => {
        end(200, { model: 'a/b', usage: USAGE })
        return OK
      },
    })
    await send()
    expect(seen.log).toMatchObject([{ status: 200, model: 'a/b', usage: USAGE }])
    expect(seen.metrics).toMatchObject([{ usage: USAGE }])
  })

  it('of a stream is written when that says so', async () => {
    const { send, seen } = setUp({ route: () => ({ ...OK, streams: true }) })
    await send()
    expect([seen.log, seen.metrics]).toEqual([[], []])
    seen.exchanges[0]!.end(200)
    seen.exchanges[0]!.end(500)
    expect(seen.log).toMatchObject([{ status: 200 }])
  })

  it('counts what is in no table as none', async () => {
    const { send, seen } = setUp()
    await send('/v1/nothing')
    await send(undefined, { method: 'DELETE' })
    expect(seen.metrics).toMatchObject([
      { endpoint: 'none', status: 404 },
      { endpoint: 'none', status: 405 },
    ])
  })

  it('that cannot be written harms no answer, and neither does nobody who counts', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('full')
    const log = () => {
      throw error
    }
    const { send } = setUp({ service: { log, metrics: undefined } as unknown as Partial<Service> })
    expect((await send()).status).toBe(200)
    expect(printed.mock.calls).toEqual([['local-v1: log threw an error.', error]])
  })
})

describe('the endpoints', () => {
  const at = (name: string, more: Partial<EndpointEntry> = {}): EndpointEntry => {
    const [method, path] = name.split(' ') as [Method, string]
    return { method, path, route: () => OK, ...more }
  }
  const dialect = {} as Dialect
  const router = new Router([
    at('GET '),
    at('GET /{one}/{two}'),
    at('POST /things'),
    at('GET /things', { dialect }),
    at('DELETE /things/{id}'),
    at('GET /things/{id}/parts/{part}'),
    at('GET /models/{model}'),
    at('POST /models/{model}/load'),
  ])
  const found = (path: string) => {
    const place = router.find(path)
    return place && [[...place.endpoints.values()].map((each) => each.path)[0], place.named]
  }

  it('are told as people write them', () => {
    expect(router.summary).toMatch(/^GET \/, GET \/\{one\}\/\{two\}, POST \/things, GET \/things, DELETE /)
  })

  it('at one path are those of each method, and speak as one of them does', () => {
    const place = router.find('/things')!
    expect([...place.endpoints.keys()]).toEqual(['POST', 'GET'])
    for (const [method, endpoint] of place.endpoints) expect(endpoint).toMatchObject({ method, path: '/things' })
    expect(place).toMatchObject({ allow: 'GET, HEAD, POST, OPTIONS', named: {} })
    expect(place.dialect).toBe(dialect)
    expect(router.find('/things/x')).toMatchObject({ allow: 'DELETE, OPTIONS', dialect: undefined })
    expect(router.find('/models/x')).toMatchObject({ allow: 'GET, HEAD, OPTIONS' })
  })

  it.each<[string, string, Record<string, string>]>([
    ['', '', {}],
    ['/', '', {}],
    ['/things/', '/things', {}],
    ['/things/x', '/things/{id}', { id: 'x' }],
    ['/things/x/', '/things/{id}', { id: 'x' }],
    ['/things/%20%C3%A4', '/things/{id}', { id: ' ä' }],
    ['/things/%', '/things/{id}', { id: '%' }],
    ['/things/x/parts/y', '/things/{id}/parts/{part}', { id: 'x', part: 'y' }],
    ['/models/a', '/models/{model}', { model: 'a' }],
    ['/models/a/b', '/models/{model}', { model: 'a/b' }],
    ['/models/a%2Fb%0A', '/models/{model}', { model: 'a/b\n' }],
    ['/models/a/b/load', '/models/{model}/load', { model: 'a/b' }],
    ['/models/a%2fb/load', '/models/{model}/load', { model: 'a/b' }],
    ['/models/a/load', '/models/{model}', { model: 'a/load' }],
    ['/models/a/b/c/load', '/models/{model}', { model: 'a/b/c/load' }],
    ['/other/x', '/{one}/{two}', { one: 'other', two: 'x' }],
  ])('%j is found, and what it names, at the path that says most: %s', (path, pattern, named) => {
    expect(found(path)).toEqual([pattern, named])
  })

  it.each(['//', '/things//', '/other', '/other/x/y', 'things'])('%j is none of them', (path) => {
    expect(router.find(path)).toBeUndefined()
  })
})
