import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorOf, KEY, serviceOf } from '../v1.test-helper.js'
import { basePathOf, type ConnectionInfo } from './origin.js'

const APP = 'https://app.example'

describe('CORS', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: {
      authorization: '',
      origin: APP,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-stainless-lang',
    },
  }

  it('is off by default', async () => {
    const { ask } = serviceOf()
    const { status, headers } = await ask('/chat/completions', preflight)
    expect(status).toBe(204)
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('lets origins on the list ask, without a key for the preflight', async () => {
    const { headers } = await serviceOf('Hi', { cors: [APP] }).ask('/chat/completions', preflight)
    expect(headers.get('access-control-allow-origin')).toBe(APP)
    expect(headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
    expect(headers.get('access-control-allow-headers')).toBe('authorization,x-stainless-lang')
    expect(headers.get('vary')).toContain('origin')
  })

  it('lets listed origins read answers, and errors too', async () => {
    const { ask, chat } = serviceOf('Hi', { cors: [APP] })
    const headers = { origin: APP }
    const refused = await ask('/models', { headers: { ...headers, authorization: '' } })
    expect(refused.status).toBe(401)
    for (const answer of [
      refused,
      await ask('/none', { headers }),
      await chat({}, { headers }),
      await chat({ stream: true }, { headers }),
    ]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
      expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id')
    }
  })

  it('lets any origin ask where the list says so', async () => {
    const { ask } = serviceOf('Hi', { cors: ['*'] })
    for (const origin of [APP, 'null']) {
      const { headers } = await ask('/models', { headers: { origin } })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
    }
  })

  it('tells caches by what answers differ, and is silent to who is no page', async () => {
    const { ask } = serviceOf('Hi', { cors: ['*'] })
    const plain = await ask('/models')
    expect(plain.headers.get('vary')).toBe('origin')
    expect(plain.headers.get('access-control-allow-origin')).toBe(null)
    expect((await ask('/models', { headers: { origin: APP } })).headers.get('vary')).toBe('origin')
    expect((await serviceOf().ask('/models', { headers: { origin: APP } })).headers.get('vary')).toBe(null)
  })

  it('has a preflight kept for two hours, and allows no headers that were not asked for', async () => {
    const { ask } = serviceOf('Hi', { cors: [APP] })
    expect((await ask('/models', preflight)).headers.get('access-control-max-age')).toBe('7200')
    const { 'access-control-request-headers': _, ...headers } = preflight.headers
    expect((await ask('/models', { ...preflight, headers })).headers.get('access-control-allow-headers')).toBe(null)
  })

  it('lets nobody else', async () => {
    const { ask } = serviceOf('Hi', { cors: [APP] })
    for (const origin of ['https://evil.example', 'http://app.example', `${APP}.evil.example`, 'null']) {
      const { headers } = await ask('/chat/completions', { ...preflight, headers: { ...preflight.headers, origin } })
      expect(headers.get('access-control-allow-origin')).toBe(null)
      expect(headers.get('access-control-allow-methods')).toBe(null)
      expect(headers.get('vary')).toBe('origin')
    }
  })
})

describe('the list of origins', () => {
  const listed =
    (...cors: string[]) =>
    () =>
      void serviceOf('Hi', { cors })

  it('takes what browsers send', () => {
    expect(
      listed('*', 'null', APP, 'http://localhost:3000', 'http://[::1]:3000', 'capacitor://localhost'),
    ).not.toThrow()
  })

  it.each(['', 'app.example', ` ${APP}`, `1${APP}`, `${APP}/`, `${APP}/page`, 'https://App.example', 'https://'])(
    'refuses what would never match: %j',
    (origin) => {
      expect(listed(origin)).toThrow(`cors: '${origin}' is not an origin`)
    },
  )

  it('is a list, as that of hosts is, which whoever gives one text is told', () => {
    expect(() => serviceOf('Hi', { cors: '*' as never })).toThrow('cors: give a list of origins')
    expect(() => serviceOf('Hi', { hosts: 'api.example' as never })).toThrow('hosts: give a list of host names')
  })
})

describe('DNS rebinding', () => {
  async function refusal(url: string, headers: Record<string, string> = {}) {
    const { v1 } = serviceOf('Hi')
    const request = new Request(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}`, ...headers } })
    const response = await v1.fetch(request, { localAddress: '127.0.0.1' })
    return errorOf({ status: response.status, headers: response.headers, text: await response.text() })
  }

  it('is refused in words that name what was wrong and where to allow it, and no more than so many of them', async () => {
    const long = `${'a.'.repeat(400)}example`
    expect(await refusal(`http://evil.example:81`)).toMatchObject({
      code: 'host_not_allowed',
      message: expect.stringMatching(/'evil\.example:81'.*'hosts'/),
    })
    const origin = 'https://evil.example'
    expect(await refusal('http://localhost', { origin })).toMatchObject({
      code: 'origin_not_allowed',
      message: expect.stringMatching(/'https:\/\/evil\.example'.*'cors'/),
    })
    for (const error of [
      await refusal(`http://${long}`),
      await refusal('http://localhost', { origin: `https://${long}` }),
    ]) {
      expect(error.message.length).toBeLessThan(450)
    }
  })

  async function status(url: string, info: ConnectionInfo | undefined, options: object = {}, origin?: string) {
    const { v1 } = serviceOf('Hi', options)
    const headers = { authorization: `Bearer ${KEY}`, ...(origin !== undefined && { origin }) }
    const response = await v1.fetch(new Request(`${url}/v1/models`, { headers }), info)
    const answer = { status: response.status, headers: response.headers, text: await response.text() }
    if (answer.status !== 200) expect(errorOf(answer)).toMatchObject({ status: 403, type: 'permission_error' })
    return answer.status
  }
  const loopback = { localAddress: '127.0.0.1' }

  it.each(['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1', 'http://app.localhost'])(
    'over loopback lets through its own names: %s',
    async (url) => {
      for (const info of [
        loopback,
        { localAddress: '::1' },
        { localAddress: '::ffff:127.0.0.1' },
        { remoteAddr: { hostname: '127.0.0.1' } },
      ]) {
        expect(await status(url, info)).toBe(200)
      }
    },
  )

  it('over loopback refuses other names', async () => {
    expect(await status('http://evil.example', loopback)).toBe(403)
    expect(await status('http://localhost.evil.example', loopback)).toBe(403)
    expect(await status('http://evil.example', { remoteAddr: { hostname: '::1' } })).toBe(403)
  })

  it.each([
    '127.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1evil.example',
    '127.0.0.x',
    'evil127.0.0.1.example',
    '[::7f00:1]',
    '[::ffff:7f00:0:1]',
    '[1::ffff:7f00:1]',
    'localhost.evil.example',
    'evil-localhost',
    'xlocalhost',
    '128.0.0.1',
    '0.0.0.0',
    '[::]',
    '[::2]',
    '[::ffff:128.0.0.1]',
    '[7f00::1]',
    '[fe80::1]',
  ])('over loopback refuses what only looks like one of its names: %s', async (host) => {
    expect(await status(`http://${host}:8080`, loopback)).toBe(403)
  })

  it.each([
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    'localhost.',
    'LOCALHOST',
    '[0::1]',
    '[::ffff:127.0.0.2]',
    '[::ffff:127.8.9.10]',
  ])('over loopback knows its own addresses however they are written: %s', async (host) => {
    expect(await status(`http://${host}:8080`, loopback)).toBe(200)
  })

  it('over loopback takes no name for an address, whatever it begins with', async () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('127', '127.0', '127.0.0', '127.0.0.1', 'localhost'),
        label,
        async (start, name) => {
          fc.pre(name !== 'localhost')
          expect(await status(`http://${start}.${name}`, loopback)).toBe(403)
        },
      ),
    )
  })

  it('over loopback takes no name for an address where a scheme knows no addresses', async () => {
    expect(await status('app://x127.0.0.1', loopback)).toBe(403)
    expect(await status('app://127.0.0.1', loopback)).toBe(200)
  })

  it.each<[string, ConnectionInfo]>([
    ['Node, of a socket that is closed or has no address', { localAddress: undefined }],
    ['Node, in another spelling', { localAddress: '0:0:0:0:0:0:0:1' }],
    ['Node, of another loopback address', { localAddress: '127.8.9.10' }],
    ['Deno, of a socket without addresses', { remoteAddr: {} }],
    ['Deno, of no socket', { remoteAddr: undefined } as never],
    ['Node, of an address that nobody can read', { localAddress: 'no address' }],
    ['Bun', { requestIP: () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 }) } as ConnectionInfo],
    ['Bun, of a client that has left', { requestIP: () => null }],
  ])('is prevented as over loopback if %s says that it is one', async (_, info) => {
    expect(await status('http://evil.example', info)).toBe(403)
    expect(await status('http://localhost', info)).toBe(200)
  })

  it.each<[string, ConnectionInfo]>([
    ['Node', { localAddress: '192.168.0.7' }],
    ['Node, of a link', { localAddress: 'fe80::1%eth0' }],
    ['Bun', { requestIP: () => ({ address: '10.0.0.2' }) }],
    ['nobody', {}],
    ['a host that has no words for it', null as never],
    ['a host that says no more than a word', 'here' as never],
  ])('is no matter where it came from elsewhere, says %s', async (_, info) => {
    expect(await status('http://any.example', info)).toBe(200)
  })

  it('refuses pages of other origins, unless they are on the CORS list', async () => {
    const url = 'http://localhost:8080'
    expect(await status(url, loopback, {}, 'http://localhost:8080')).toBe(200)
    for (const origin of ['https://evil.example', 'http://localhost:3000', 'null']) {
      expect(await status(url, loopback, {}, origin)).toBe(403)
    }
    expect(await status(url, loopback, { cors: [APP] }, APP)).toBe(200)
  })

  it('is no matter for other listeners, unless hosts are named', async () => {
    expect(await status('http://any.example', { localAddress: '10.0.0.1' })).toBe(200)
    expect(await status('http://any.example', undefined)).toBe(200)
    const hosts = ['api.example', 'other.example:8080']
    expect(await status('http://any.example', undefined, { hosts })).toBe(403)
    expect(await status('http://api.example:99', undefined, { hosts })).toBe(200)
    expect(await status('http://other.example:8080', loopback, { hosts })).toBe(200)
    expect(await status('http://any.example', loopback, { hosts: 'any' })).toBe(200)
  })

  it('takes hosts as they are written, and the port of the scheme with them', async () => {
    const hosts = ['API.example', '127.1', 'bücher.example', '[0::1]:8080', 'plain.example:80']
    for (const url of [
      'http://api.example',
      'http://127.0.0.1',
      'http://xn--bcher-kva.example',
      'http://[::1]:8080',
      'http://plain.example',
    ]) {
      expect(await status(url, loopback, { hosts })).toBe(200)
    }
    for (const url of ['http://[::1]:8081', 'https://plain.example'])
      expect(await status(url, loopback, { hosts })).toBe(403)
  })

  it('takes the port that a scheme has by itself for no other', async () => {
    const hosts = ['safe.example:443', '[::1]:9']
    expect(await status('https://safe.example', loopback, { hosts })).toBe(200)
    expect(await status('https://safe.example:444', loopback, { hosts })).toBe(403)
    expect(await status('http://safe.example', loopback, { hosts })).toBe(403)
    expect(await status('https://odd.example:80', loopback, { hosts: ['odd.example:80'] })).toBe(200)
    // The digits of an address are no port.
    expect(await status('http://[::1]:10', loopback, { hosts: ['[::1]'] })).toBe(200)
    expect(await status('http://[::1]:10', loopback, { hosts })).toBe(403)
  })

  it.each(['', 'https://api.example', 'api.example/v1', 'a b', 'me@api.example', '127.0.0.1:99999', 'a^b'])(
    'refuses a list with a host that would never match: %j',
    (host) => {
      expect(() => serviceOf('Hi', { hosts: [host] })).toThrow(`hosts: '${host}' is not a host`)
    },
  )
})

it.each([
  ['', ''],
  ['/', ''],
  ['v1', '/v1'],
  ['/v1/', '/v1'],
  ['/v1//', '/v1'],
  ['app:v1', '/app:v1'],
  ['/bücher/v1', '/b%C3%BCcher/v1'],
])('a base path is what requests under it begin with, however it is written: %j, %j', (written, path) => {
  expect(basePathOf(written)).toBe(path)
})
