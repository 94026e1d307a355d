import { describe, expect, it } from 'vitest'
import { ENDPOINTS } from './endpoints.js'
import { errorOf, MODEL, serviceOf } from './v1.test-helper.js'

/** The path of an endpoint as a client would write it. */
const written = (path: string) => path.replace('{model}', MODEL).replace(/\{\w+\}/g, 'some-id')

/** Of all paths: the methods that the table has for it. */
function methodsAt(path: string, endpoints = ENDPOINTS): string[] {
  return endpoints.filter((each) => each.path === path).map(({ method }) => method)
}

const paths = [...new Set(ENDPOINTS.map(({ path }) => path))]
const free = ENDPOINTS.filter(({ admin, option }) => !admin && option === undefined)
/** With all options that bring endpoints. */
const EVERYTHING = { manageModels: true, metrics: true }

describe('every endpoint of the table', () => {
  it('stands there once', () => {
    const names = ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it.each(paths)('is named by Allow, and by nothing else: %s', async (path) => {
    const { ask } = serviceOf('Hi', EVERYTHING)
    const methods = methodsAt(path)
    const expected = new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])
    const options = await ask(written(path), { method: 'OPTIONS', headers: { authorization: '' } })
    expect([options.status, new Set(options.headers.get('allow')!.split(', '))]).toEqual([204, expected])
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'PATCH'].filter((each) => !methods.includes(each))) {
      const answer = await ask(written(path), { method })
      expect(errorOf(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' })
      expect(new Set(answer.headers.get('allow')!.split(', '))).toEqual(expected)
    }
  })

  it.each(ENDPOINTS.filter(({ open }) => !open))('asks for a key: $method $path', async ({ method, path }) => {
    const { ask } = serviceOf('Hi', EVERYTHING)
    for (const authorization of ['', 'Bearer wrong']) {
      const answer = await ask(written(path), { method, headers: { authorization } })
      expect(errorOf(answer)).toMatchObject({ status: 401, type: 'authentication_error' })
    }
  })

  it.each(ENDPOINTS.filter(({ method }) => method === 'POST').filter(({ admin, bare }) => !admin && !bare))(
    'reads its body within the limits: $path',
    async ({ path }) => {
      const { ask } = serviceOf('Hi', { bodyLimit: 100 })
      const post = (body: string, type = 'application/json') =>
        ask(written(path), { method: 'POST', body, headers: { 'content-type': type } })
      expect(errorOf(await post('{}', 'text/plain'))).toMatchObject({ status: 415, param: null })
      expect(errorOf(await post('{'))).toMatchObject({ status: 400, code: 'invalid_json' })
      expect(errorOf(await post('[]'))).toMatchObject({ status: 400, code: 'invalid_type' })
      // A conversation may begin with nothing.
      if (path === '/conversations') expect((await post('{}')).status).toBe(200)
      else expect(errorOf(await post('{}'))).toMatchObject({ status: 400, code: 'missing_required_parameter' })
      expect(errorOf(await post(' '.repeat(101)))).toMatchObject({ status: 413 })
    },
  )

  it('asks for a key, but where it only tells whether the service is there', async () => {
    const { ask } = serviceOf('Hi', EVERYTHING)
    const open: string[] = []
    for (const { method, path } of ENDPOINTS) {
      const { status } = await ask(written(path), { method, headers: { authorization: '' } })
      if (status !== 401) open.push(`${method} ${path}`)
    }
    expect(open).toEqual(['GET /health', 'GET /ping', 'GET /version'])
  })

  it('wants a body where it makes something, and none where it stops a response', async () => {
    const { ask } = serviceOf('Hi', EVERYTHING)
    expect(errorOf(await ask('/responses/some-id/cancel', { method: 'POST' }))).toMatchObject({ status: 404 })
    const bare = ENDPOINTS.filter((each) => each.bare).map(({ method, path }) => `${method} ${path}`)
    expect(bare).toEqual(['POST /responses/{id}/cancel'])
  })

  it('is named by a 404, those of admins only where they are', async () => {
    for (const [options, there] of [
      [{}, free],
      [EVERYTHING, ENDPOINTS],
    ] as const) {
      const { message } = errorOf(await serviceOf('Hi', options).ask('/nowhere'))
      expect(message).toContain(`there are: ${there.map(({ method, path }) => `${method} ${path}`).join(', ')}.`)
    }
  })

  it('is for admins where it says so', async () => {
    const { ask } = serviceOf('Hi', { ...EVERYTHING, keys: ['one', { key: 'boss', admin: true }] })
    for (const { method, path, admin } of ENDPOINTS) {
      const { status, text } = await ask(written(path), { method, headers: { authorization: 'Bearer one' } })
      expect([path, status === 403 && JSON.parse(text).error.code === 'admin_only']).toEqual([path, admin === true])
    }
    const admins = ENDPOINTS.filter(({ admin }) => admin).map(({ method, path }) => `${method} ${path}`)
    expect(admins).toEqual(['DELETE /models/{model}', 'POST /models/{model}/load', 'POST /models/{model}/unload'])
  })
})
