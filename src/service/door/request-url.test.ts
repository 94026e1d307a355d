import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { chatRequest, errorOf, KEY, serviceOf } from '../v1.test-helper.js'
import { pathOf, requestUrlOf } from './origin.js'

/** Hosts that a client may write and `URL` does not take. */
const NO_HOSTS = ['127.0.0.1:99999', 'a^b', '1.2.3.4.5', '256.0.0.1', '[:::]', '[', 'a b', '%']

/** A request as a server of somebody else may hand it on: with whatever the client wrote. */
const sent = (url: string, headers: Record<string, string> = {}) =>
  Object.defineProperty(new Request('http://x', { headers: { authorization: `Bearer ${KEY}`, ...headers } }), 'url', {
    value: url,
  })

describe('a host that is none', () => {
  it.each(NO_HOSTS)('is refused before anything else is looked at: %j', async (host) => {
    const { v1 } = serviceOf()
    const response = await v1.fetch(sent(`http://${host}/v1/models`, { authorization: '' }))
    const answer = { status: response.status, headers: response.headers, text: await response.text() }
    expect(errorOf(answer)).toMatchObject({ status: 400, type: 'invalid_request_error', code: 'invalid_host' })
  })

  it.each(NO_HOSTS)('does not hide the path, which may be the application\u2019s: %j', (host) => {
    const { match } = serviceOf().v1
    for (const path of ['/v1', '/v1/models', '/v1?x', '/x/../v1/models'])
      expect(match({ url: `http://${host}${path}` })).toBe(true)
    for (const path of ['', '/', '/app', '/v1x', '//v1/models', '/v1/../x'])
      expect(match({ url: `http://${host}${path}` })).toBe(false)
  })
})

describe('the URL of a request', () => {
  const parts = ({
    protocol,
    host,
    hostname,
    port,
    pathname,
    search,
  }: Pick<URL, 'protocol' | 'host' | 'hostname' | 'port' | 'pathname' | 'search'>) => ({
    protocol,
    host,
    hostname,
    port,
    pathname,
    search,
  })

  it('is what URL makes of it, whichever came before', () => {
    const origins = [
      'http://a',
      'http://a:80',
      'http://a:8080',
      'https://a',
      'http://A',
      'http://a.b',
      'http://[::1]:1',
      'app://a',
    ]
    const paths = [
      '',
      '/',
      '/v1',
      '/v1/models',
      '/v1/../x',
      '/v1//models',
      '/v1/%2e',
      '/v1?x',
      '/v1#x',
      '/v1\\x',
      '/v1/ä',
      '/v1/a b',
      ':81/v1',
      '@b/v1',
      '.b/v1',
      '/v1\n/x',
    ]
    const written = fc.tuple(fc.constantFrom(...origins), fc.constantFrom(...paths)).map((both) => both.join(''))
    fc.assert(
      fc.property(fc.array(written, { minLength: 2, maxLength: 6 }), (texts) => {
        for (const text of texts) {
          let url: URL | undefined
          try {
            url = new URL(text)
          } catch {}
          const found = requestUrlOf(text)
          expect(found && parts(found)).toEqual(url && parts(url))
        }
      }),
    )
  })
})

describe('what stands before the path', () => {
  afterEach(() => void vi.unstubAllGlobals())

  /** The URLs that are taken apart for these requests, which come one after the other. */
  function takenApart(...texts: string[]) {
    const taken: string[] = []
    const Real = URL
    vi.stubGlobal(
      'URL',
      class extends Real {
        constructor(text: string) {
          super(text)
          taken.push(text)
        }
      },
    )
    const paths = texts.map((text) => requestUrlOf(text)?.pathname)
    expect(paths).toEqual(texts.map((text) => new Real(text).pathname))
    return taken
  }

  it('is taken apart once for all requests that come to it', () => {
    const [first, ...others] = ['/v1/models', '/v1/chat/completions', '/v1/a-b_9', '/x'].map(
      (path) => `http://one${path}`,
    )
    expect(takenApart(first!, ...others, first!)).toEqual([first])
  })

  it('is taken apart anew where another host comes, or the path is not as it is written', () => {
    const texts = [
      ...['http://two/v1/models', 'http://two/v1?x', 'http://two/v1/../x', 'http://two/', 'http://two/v1/a b'],
      ...['http://two:81/v1', 'http://three/v1', 'http://TWO/v1', 'http://two/v1'],
    ]
    expect(takenApart(...texts)).toEqual(texts)
  })

  it('is not kept of an address that is written otherwise', () => {
    const texts = ['http://FOUR/v1', 'http://FOUR/v1', 'http://four:80/v1', 'http://four/v1', 'http:/four/v1']
    expect(takenApart(...texts, 'http://four/v2')).toEqual(texts)
  })
})

describe('a path', () => {
  it.each(['http:/host/v1', 'http:\\\\host\\v1\\models', ' http://host/v1', 'http://ho\tst/v1', 'app://host/a/../v1'])(
    'is what URL takes it for, however the rest is written: %j',
    (text) => expect(pathOf(text)).toBe(new URL(text).pathname),
  )

  it.each(['/v1/models', '/v1?next=http://[/', '', 'v1', 'see http://[/v1'])(
    'is in no address of its own: %j',
    (text) => {
      expect(pathOf(text)).toBeUndefined()
    },
  )
})

describe('whatever a client writes', () => {
  const url = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.tuple(fc.string(), fc.string({ unit: 'binary' })).map(([host, path]) => `http://${host}/v1/${path}`),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
  )
  const latin1 = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) })
  const names = [
    'origin',
    'authorization',
    'openai-project',
    'content-type',
    'content-length',
    'content-encoding',
    'access-control-request-method',
    'access-control-request-headers',
  ]
  const headers = fc.dictionary(fc.constantFrom(...names), latin1)
  const method = fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'constructor', '__proto__')

  it('match and fetch answer it', async () => {
    const { v1 } = serviceOf('Hi', { cors: ['*'], manageModels: true })
    await fc.assert(
      fc.asyncProperty(url, headers, method, fc.boolean(), async (url, headers, method, local) => {
        expect(typeof v1.match({ url })).toBe('boolean')
        const init = method === 'POST' ? { method, body: '{}' } : { method }
        const request = Object.defineProperty(new Request('http://x', { ...init, headers }), 'url', { value: url })
        const response = await v1.fetch(request, local ? { localAddress: '127.0.0.1' } : undefined)
        expect(response.status).toBeLessThan(500)
        expect(response.headers.get('x-request-id')).toMatch(/^req_/)
      }),
      { numRuns: 2000 },
    )
  })

  it('an error that no answer can carry is answered all the same', async () => {
    for (const [status, headers] of [
      [1000, {}],
      [204, {}],
      [400, { 'x-a': 'line\nbreak' }],
      [400, { 'no name': 'x' }],
    ] as const) {
      const { V1Error } = await import('../../contract/errors.js')
      const { v1 } = serviceOf('Hi', {
        keys: () => {
          throw new V1Error(status, 'Odd.', { headers })
        },
      })
      const response = await v1.fetch(chatRequest())
      expect(response.status).toBe(500)
      expect(await response.json()).toHaveProperty('error.type', 'server_error')
    }
  })
})
