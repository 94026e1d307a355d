import { expect, test } from 'vitest'
import { rawConnection } from '../support/raw-http.js'
import type { Reach } from './reach.js'
import { LIMITED_KEY, ORIGIN } from './services.js'
import { authorized, CHAT, chat, expectError, pause, probe, readUntil, until } from './speak.js'

const LIMIT = 2 ** 20

export function errorsContract(reach: () => Reach, whole: boolean): void {
  const post = (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
    reach().fetch(CHAT, { method: 'POST', headers: { ...authorized, ...headers }, body })

  test('a body over the limit is refused, and the next request is not', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(LIMIT) }]
    expectError(await reach().fetch(CHAT, chat('test/echo', { messages })), {
      status: 413,
      type: 'invalid_request_error',
    })
    expect((await reach().fetch(CHAT, chat('test/hello'))).status).toBe(200)
  })

  test('nor can the limit be passed by not saying how long the body is', async () => {
    if (!reach().raw) return
    const { body, ...init } = chat('test/echo', { messages: [{ role: 'user', content: 'x'.repeat(LIMIT) }] })
    const pieces = (body as string).match(/.{1,65536}/g)!
    const answer = await reach().fetch(CHAT, { ...init, body: pieces })
    expectError(answer, { status: 413, type: 'invalid_request_error' })
    expect((await reach().fetch(CHAT, chat('test/hello'))).status).toBe(200)
  })

  test('a page that gives its own name to our address is refused', async () => {
    const { port } = reach()
    if (port === undefined) return
    const connection = await rawConnection(port)
    const ask = async (...lines: string[]) => {
      connection.write('GET /open/v1/models HTTP/1.1', ...lines, '', '')
      const { status, body } = await connection.answer()
      return [status, JSON.parse(body).error?.code]
    }
    expect(await ask('host: evil.example')).toEqual([403, 'host_not_allowed'])
    expect(await ask(`host: evil.example:${port}`, 'origin: http://evil.example')).toEqual([403, 'host_not_allowed'])
    expect(await ask(`host: localhost:${port}`, 'origin: https://evil.example')).toEqual([403, 'origin_not_allowed'])
    expect(await ask('host: 127.evil.example')).toEqual([403, 'host_not_allowed'])
    expect(await ask(`host: 127.0.0.1.evil.example:${port}`)).toEqual([403, 'host_not_allowed'])
    expect(await ask(`host: localhost:${port}`)).toEqual([200, undefined])
    connection.socket.destroy()
  })

  test.each(['127.0.0.1:99999', 'xn--', '[:::]'])(
    'a host that is none is the client\u2019s mistake: %s',
    async (host) => {
      const { port } = reach()
      if (port === undefined) return
      for (const path of ['/open/v1/models', '/v1/models', '/app']) {
        const connection = await rawConnection(port)
        connection.write(`GET ${path} HTTP/1.1`, `host: ${host}`, 'connection: close', '', '')
        const { status } = await connection.answer()
        expect(status, path).toBeGreaterThanOrEqual(400)
        expect(status, path).toBeLessThan(500)
        connection.socket.destroy()
      }
    },
  )

  test('CORS is off, and where it is on it is for those on the list', async () => {
    if (!reach().raw) return
    const ask = (base: string, origin: string) =>
      reach().fetch(`${base}/chat/completions`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization, content-type, openai-project, x-stainless-lang',
        },
      })
    const granted = await ask('/cors/v1', ORIGIN)
    expect([200, 204]).toContain(granted.status)
    expect(granted.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(granted.headers.get('access-control-allow-methods')).toContain('POST')
    for (const name of ['authorization', 'content-type', 'openai-project', 'x-stainless-lang']) {
      expect(granted.headers.get('access-control-allow-headers')?.toLowerCase()).toContain(name)
    }
    expect(granted.headers.get('vary')?.toLowerCase()).toContain('origin')
    for (const [base, origin] of [
      ['/cors/v1', 'https://evil.example'],
      ['/v1', ORIGIN],
    ] as const) {
      expect((await ask(base, origin)).headers.get('access-control-allow-origin')).toBe(null)
    }
    const used = chat('test/hello', {}, { origin: ORIGIN })
    const answer = await reach().fetch('/cors/v1/chat/completions', used)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(answer.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('x-request-id')
  })

  if (!whole) return

  test.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['not an object', '[]'],
    ['null', 'null'],
    ['JSON without end', '['.repeat(5000)],
    ['JSON too deep', '['.repeat(5000) + ']'.repeat(5000)],
    ['half a surrogate', '{"model":"test/hello","messages":"\\ud800"}'],
  ])('a body that is %s', async (_, body) => {
    expectError(await post(body), { status: 400, type: 'invalid_request_error' })
  })

  test.each([
    ['model', { messages: [] }],
    ['messages', { model: 'test/hello' }],
    ['temperature', { model: 'test/hello', messages: [{ role: 'user', content: 'x' }], temperature: 9 }],
    ['stream', { model: 'test/hello', messages: [{ role: 'user', content: 'x' }], stream: 'yes' }],
    ['functions', { model: 'test/hello', messages: [{ role: 'user', content: 'x' }], functions: [{ name: 'f' }] }],
  ])('a bad %s is named', async (param, body) => {
    expectError(await post(JSON.stringify(body)), { status: 400, type: 'invalid_request_error', param })
  })

  test('a body without the content type of JSON is refused', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      expectError(await post('{}', { 'content-type': type }), { status: 415, type: 'invalid_request_error' })
    }
    const answer = await reach().fetch(CHAT, {
      ...chat('test/hello'),
      headers: { ...authorized, 'content-type': 'Application/JSON; Charset=UTF-8' },
    })
    expect(answer.status).toBe(200)
  })

  test('a model that is not ready yet says when to come back', async () => {
    const answer = await reach().fetch(CHAT, chat('test/loading'))
    expect(expectError(answer, { status: 503, type: 'service_unavailable' })).toBe('The model is being loaded.')
    expect(answer.headers.get('retry-after')).toBe('2')
    expect(answer.headers.get('retry-after-ms')).toBe('2000')
    expect(answer.headers.get('x-should-retry')).toBe('true')
  })

  test('a key may be for some projects only', async () => {
    const as = (project: Record<string, string>) =>
      reach().fetch(CHAT, chat('test/hello', {}, { authorization: `Bearer ${LIMITED_KEY}`, ...project }))
    expect((await as({ 'openai-project': 'team/contract' })).status).toBe(200)
    expectError(await as({ 'openai-project': 'team/other' }), { status: 403, type: 'permission_error' })
  })

  test('a full queue says so at once, and empties again', async () => {
    const path = '/tight/v1/chat/completions'
    const running = await reach().open(path, chat('test/endless', { stream: true }))
    await readUntil(running, 'tick')
    const tight = () => probe(reach(), 'test/endless', '/tight/v1')
    const { arrived = 0 } = await tight()
    const waiting = reach().fetch(path, chat('test/hello'))
    await until(tight, (now) => now.arrived! > arrived)
    await pause(100)
    const refused = await reach().fetch(path, chat('test/hello'))
    expectError(refused, { status: 429, type: 'rate_limit_error' })
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(refused.headers.get('retry-after-ms')).toMatch(/^\d+$/)
    expect(refused.headers.get('x-should-retry')).toBe('true')
    running.leave()
    expect((await waiting).status).toBe(200)
    expect((await tight()).active).toBe(0)
  })

  test('a fault of ours is a 500 that tells nothing', async () => {
    const answer = await reach().fetch(CHAT, chat('test/crash'))
    expectError(answer, { status: 500, type: 'server_error' })
    expect(answer.text).not.toContain('swordfish')
    expect(JSON.stringify([...answer.headers])).not.toContain('swordfish')
  })
}
