import { describe, expect, it } from 'vitest'
import type { ConnectionInfo } from './origin.js'
import { errorOf, KEY, serviceOf } from './v1.test-helper.js'

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

  it('is off', async () => {
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

  it('lets them read answers, and errors too', async () => {
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

  it.each(['', 'app.example', `${APP}/`, `${APP}/page`, 'https://App.example', 'https://'])(
    'refuses what would never match: %j',
    (origin) => {
      expect(listed(origin)).toThrow(`cors: '${origin}' is not an origin`)
    },
  )
})

describe('DNS rebinding', () => {
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
})
