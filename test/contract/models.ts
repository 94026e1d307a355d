import { expect, test } from 'vitest'
import type { Reach } from './reach.js'
import { scenario } from './scripts.js'
import { KEY, OTHER_KEY } from './services.js'
import { authorized, BASE, chat, expectCommonHeaders, expectError, valid } from './speak.js'

export function modelsContract(reach: () => Reach, whole: boolean): void {
  const get = (path: string, headers: Record<string, string> = authorized) => reach().fetch(path, { headers })
  const model = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'contract', root: id })

  test.each(['test/hello', 'test%2Fhello', 'test%2fhello', '%74est/hello'])('one model as %s', async (path) => {
    const answer = await get(`${BASE}/models/${path}`)
    expect(answer.status).toBe(200)
    expect(valid('Model', JSON.parse(answer.text))).toMatchObject(model('test/hello'))
  })

  test('HEAD answers as GET, without the body', async () => {
    const answer = await reach().fetch(`${BASE}/models`, { method: 'HEAD', headers: authorized })
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('')
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  })

  test.each([
    ['models', 'GET, HEAD, OPTIONS'],
    ['models/test/hello', 'GET, HEAD, OPTIONS'],
    ['chat/completions', 'OPTIONS, POST'],
  ])('%s says which methods it knows', async (path, methods) => {
    const allowed = (value: string | null) => value?.split(/, */).sort().join(', ')
    const options = await reach().fetch(`${BASE}/${path}`, { method: 'OPTIONS' })
    expect([200, 204]).toContain(options.status)
    expect(allowed(options.headers.get('allow'))).toBe(methods)
    const wrong = await reach().fetch(`${BASE}/${path}`, { method: 'DELETE', headers: authorized })
    expectError(wrong, { status: 405, type: 'invalid_request_error' })
    expect(allowed(wrong.headers.get('allow'))).toBe(methods)
  })

  test('what is not under the base path is left to the application', async () => {
    for (const path of ['/v1x', '/v1x/models', '/v2/models', '/app/v1/models']) {
      const answer = await get(path)
      expect([answer.status, answer.text], path).toEqual([404, 'the application'])
    }
  })

  test.each(['/deep/er/v1', '/open/v1'])('under %s everything works as it does under /v1', async (base) => {
    expect((await get(`${base}/models/test/hello`)).status).toBe(200)
    const answer = await reach().fetch(`${base}/chat/completions`, chat('test/hello'))
    expect(JSON.parse(answer.text).choices[0].message.content).toBe('Hello, wörld 🌍')
    expectError(await get(`${base}/embedding`), { status: 404, type: 'not_found_error' })
  })

  if (!whole) return

  test('the list holds every model with its constant fields', async () => {
    const answer = await get(`${BASE}/models`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expectCommonHeaders(answer)
    const list = valid('ListModelsResponse', JSON.parse(answer.text)) as { object: string; data: unknown[] }
    expect(list.object).toBe('list')
    expect(list.data).toEqual(Object.keys(scenario).map((id) => expect.objectContaining(model(id))))
  })

  test.each(['test/nothing', 'nothing', 'test/hello/more', '%', 'test%2'])('a model that is not: %s', async (path) => {
    expectError(await get(`${BASE}/models/${path}`), {
      status: 404,
      type: 'not_found_error',
    })
  })

  test('an unknown model is refused with the code that clients look for', async () => {
    const expected = { status: 404, type: 'not_found_error', code: 'model_not_found' }
    expectError(await get(`${BASE}/models/test/nothing`), expected)
    expectError(await reach().fetch(`${BASE}/chat/completions`, chat('test/nothing')), expected)
  })

  test('what is under it and unknown is a 404 in the form of every error', async () => {
    for (const path of [BASE, `${BASE}/`, `${BASE}/embedding`, `${BASE}/chat`, `${BASE}/chat/completions/x`]) {
      expectError(await get(path), { status: 404, type: 'not_found_error' })
    }
  })

  test.each([
    ['no key', {}],
    ['a wrong key', { authorization: `Bearer ${KEY}x` }],
    ['a key cut short', { authorization: `Bearer ${KEY.slice(0, -1)}` }],
    ['an empty key', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['the bare key', { authorization: KEY }],
  ])('%s is refused', async (_, headers) => {
    for (const path of [`${BASE}/models`, `${BASE}/models/test/hello`]) {
      const answer = await get(path, headers as Record<string, string>)
      expectError(answer, { status: 401, type: 'authentication_error' })
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer\b/)
    }
    const init = { ...chat('test/hello'), headers: { 'content-type': 'application/json', ...headers } }
    const refused = await reach().fetch(`${BASE}/chat/completions`, init)
    expectError(refused, { status: 401, type: 'authentication_error' })
  })

  test('each key of the list is good, and none is needed where none is asked for', async () => {
    for (const key of [KEY, OTHER_KEY]) {
      expect((await get(`${BASE}/models`, { authorization: `Bearer ${key}` })).status).toBe(200)
    }
    expect((await get('/open/v1/models', {})).status).toBe(200)
  })
}
