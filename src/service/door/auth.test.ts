import { describe, expect, it, vi } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { errorOf, KEY, serviceOf } from '../v1.test-helper.js'
import { authenticator, type Caller, isKey, isSoleCaller, type Key, type Keys, lineOf } from './auth.js'

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

async function callerFor(keys: Keys, key: string): Promise<string> {
  const events: UsageEvent[] = []
  const { chat } = serviceOf('Hi', { keys, onUsage: (event) => events.push(event) })
  expect((await chat({}, bearer(key))).status).toBe(200)
  return events[0]!.caller
}

describe('a key', () => {
  it.each([
    ['', 'missing'],
    [KEY, 'bare'],
    [`Basic ${KEY}`, 'of another scheme'],
    ['Bearer', 'without a key'],
    ['Bearer ', 'empty'],
    [`Bearer ${KEY}x`, 'too long'],
    [`Bearer ${KEY.slice(1)}`, 'cut'],
    [`Bearer ${KEY.toUpperCase()}`, 'in capitals'],
    [`Bearer ${KEY} ${KEY}`, 'twice'],
    [`Bearer ${KEY}, Bearer ${KEY}`, 'in two headers'],
  ])('%j is refused', async (authorization) => {
    const { ask, chat } = serviceOf()
    for (const answer of [
      await ask('/models', { headers: { authorization } }),
      await chat({}, { headers: { authorization } }),
    ]) {
      expect(errorOf(answer)).toMatchObject({ status: 401, type: 'authentication_error', param: null })
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm=/)
      expect(answer.text).not.toContain(KEY)
    }
  })

  it('of a list is accepted, each of them', async () => {
    const { ask } = serviceOf('Hi', { keys: ['first', { key: 'second', id: 'two' }] })
    for (const key of ['first', 'second']) expect((await ask('/models', bearer(key))).status).toBe(200)
    expect((await ask('/models', { headers: { authorization: 'bearer  first' } })).status).toBe(200)
    expect((await ask('/models', bearer('third'))).status).toBe(401)
  })

  it('has a name: the one it was given, or one that does not tell the key and stays the same', async () => {
    expect(await callerFor([{ key: 'secret', id: 'me' }], 'secret')).toBe('me')
    const name = await callerFor(['other', 'secret'], 'secret')
    expect(name).toMatch(/^key_[0-9a-f]{12}$/)
    expect(await callerFor(['secret'], 'secret')).toBe(name)
    expect(await callerFor(['other'], 'other')).not.toBe(name)
  })

  it('may be checked by a function that answers now or later', async () => {
    const known = (key: string): Caller | null => (key === 'good' ? { id: 'function' } : null)
    for (const keys of [known, async (key: string) => known(key)]) {
      expect(await callerFor(keys, 'good')).toBe('function')
      expect((await serviceOf('Hi', { keys }).ask('/models', bearer('bad'))).status).toBe(401)
    }
  })

  it('whose function fails is not good, and the reason is not told', async () => {
    const keys = () => {
      throw new Error('no database')
    }
    const answer = await serviceOf('Hi', { keys }).ask('/models')
    expect(errorOf(answer)).toMatchObject({ status: 500 })
    expect(answer.text).not.toContain('database')
  })

  it('is not asked for where nobody needs one, or for paths that do not exist', async () => {
    const { ask } = serviceOf('Hi', { keys: 'none' })
    expect((await ask('/models', { headers: { authorization: '' } })).status).toBe(200)
    expect((await serviceOf().ask('/none', bearer('bad'))).status).toBe(404)
  })

  it.each(['two words', 'line\nbreak', 'tab\t', 'clé', 'ключ', ' ', '\u007f'])(
    'that no header can carry is refused at start: %j',
    (key) => {
      for (const keys of [[key], ['good', { key, id: 'me' }]]) {
        expect(() => serviceOf('Hi', { keys })).toThrow('no header can carry')
      }
    },
  )

  it('may be all that a header can carry', async () => {
    const key = String.fromCharCode(...Array.from({ length: 0x7e - 0x21 + 1 }, (_, i) => 0x21 + i))
    expect((await serviceOf('Hi', { keys: [key] }).ask('/models', bearer(key))).status).toBe(200)
  })
})

describe('a request without a good key', () => {
  const refusal = async (headers: Record<string, string>) => {
    const answer = await serviceOf().ask('/models', { headers: { authorization: '', ...headers } })
    return { ...errorOf(answer), challenge: answer.headers.get('www-authenticate') }
  }
  const without = async () => {
    const error = await Promise.resolve()
      .then(() => authenticator([KEY])(new Request('http://device.test/v1/models')))
      .catch((error: unknown) => error)
    return error as { message: string; code: string; headers: Record<string, string> }
  }

  it('learns how to send one, and that none came', async () => {
    expect(await without()).toMatchObject({
      status: 401,
      code: 'missing_api_key',
      message: expect.stringMatching(/^You didn't provide an API key\. .*'Authorization: Bearer YOUR_KEY'/),
      headers: { 'www-authenticate': 'Bearer realm="local-v1"' },
    })
  })

  it('learns how to send one, and that what came is no key', async () => {
    expect(await refusal({ authorization: `Basic ${KEY}` })).toMatchObject({
      code: 'invalid_api_key',
      message: expect.stringMatching(/'Authorization' header has no bearer key\. .*'Authorization: Bearer YOUR_KEY'/),
      challenge: 'Bearer realm="local-v1", error="invalid_token"',
    })
  })

  it('learns that the key is wrong', async () => {
    expect(await refusal({ authorization: 'Bearer sk-other' })).toMatchObject({
      code: 'invalid_api_key',
      message: 'Incorrect API key provided.',
      challenge: 'Bearer realm="local-v1", error="invalid_token"',
    })
  })
})

describe("Anthropic's header", () => {
  const authenticate = async (headers: Record<string, string>) =>
    authenticator(['first', 'second'])(new Request('http://device.test/v1/models', { headers }))

  it('carries a key as well', async () => {
    expect(await authenticate({ 'x-api-key': 'second' })).toEqual(
      await authenticate({ authorization: 'Bearer second' }),
    )
    await expect(authenticate({ 'x-api-key': 'third' })).rejects.toMatchObject({ code: 'invalid_api_key' })
    await expect(authenticate({ 'x-api-key': '' })).rejects.toMatchObject({ code: 'missing_api_key' })
  })

  it('does not take the place of a bearer key, good or not', async () => {
    const first = await authenticate({ authorization: 'Bearer first' })
    expect(await authenticate({ authorization: 'Bearer first', 'x-api-key': 'second' })).toEqual(first)
    await expect(authenticate({ authorization: 'Basic x', 'x-api-key': 'second' })).rejects.toMatchObject({
      status: 401,
    })
  })
})

describe('the list of keys', () => {
  it.each([
    ['none', []],
    ['a single key, bare', 'sk-bare' as never],
  ])('of %s says how to have one, or to let everyone in', (_, keys: Keys) => {
    expect(() => authenticator(keys)).toThrow(/^keys: give at least one key, or a function; 'none' lets everyone in/)
  })

  it.each([
    ['alone', ['']],
    ['beside a good one', ['good', { key: '', id: 'me' }]],
    ['of no text', ['good', { key: 7 } as unknown as Key]],
  ])('with an empty key is refused, %s', (_, keys: Keys) => {
    expect(() => authenticator(keys)).toThrow('keys: a key is empty.')
  })

  it.each([undefined, null])('with a variable that is not set is refused: %s', (key) => {
    expect(() => authenticator(['good', key as never])).toThrow('keys: a key is not set')
  })

  it('may be one for everyone, who then sees all usage', async () => {
    const everyone = authenticator('none')
    for (const headers of [new Headers(), new Headers({ authorization: 'Bearer sk-any' })]) {
      const caller = await everyone(new Request('http://device.test/v1/models', { headers }))
      expect(caller).toEqual({ id: 'anonymous', admin: true })
    }
  })
})

it.each([[7], [undefined], [null], [['sk']], [{ toString: () => 'sk' }]])('what is no text is no key: %j', (key) => {
  expect(isKey(key)).toBe(false)
})

it.each<[Keys, boolean]>([
  ['none', true],
  [['one'], true],
  [[{ key: 'one', id: 'me' }], true],
  [['one', 'two'], false],
  [() => null, false],
])('whoever may ask is one caller, or may be several: %j, %s', (keys, sole) => {
  expect(isSoleCaller(keys)).toBe(sole)
})

describe('thousands of keys', () => {
  const keys = Array.from({ length: 5000 }, (_, i) => ({ key: `sk-${i}`, id: `caller-${i}` }))
  const asking = (key: string, header = 'authorization') =>
    new Request('http://device.test/', { headers: { [header]: header === 'authorization' ? `Bearer ${key}` : key } })

  it('are told apart, whatever way they are sent', async () => {
    const authenticate = authenticator(keys)
    for (const { key, id } of keys) expect(await authenticate(asking(key))).toMatchObject({ id })
    expect(await authenticate(asking('sk-77', 'x-api-key'))).toMatchObject({ id: 'caller-77' })
    for (const key of ['sk-5000', 'sk-', 'SK-77', 'sk-077', '-']) {
      await expect(async () => authenticate(asking(key))).rejects.toMatchObject({ status: 401 })
    }
  })

  it('are told apart where they are looked for in one place, as are those that are none of them', async () => {
    // Of nothing random, whatever is of the same letters lies in the same place.
    const random = vi.spyOn(crypto, 'getRandomValues').mockImplementation((numbers) => numbers)
    const authenticate = authenticator(['ab', 'ba'].map((key) => ({ key, id: `caller-${key}` })))
    random.mockRestore()
    for (const key of ['ab', 'ba']) expect(await authenticate(asking(key))).toMatchObject({ id: `caller-${key}` })
    for (const key of ['ps', 'abcc', 'bacc']) {
      await expect(async () => authenticate(asking(key))).rejects.toMatchObject({ status: 401 })
    }
  })

  it('each have a line of their own, and whoever has none of them waits in one', () => {
    const line = lineOf(keys)
    expect(new Set(keys.map(({ key }) => line(asking(key)))).size).toBe(keys.length)
    expect(line(asking('sk-77', 'x-api-key'))).toBe(line(asking('sk-77')))
    const nobody = line(new Request('http://device.test/'))
    for (const key of ['sk-5000', 'x', 'sk-077']) expect(line(asking(key))).toBe(nobody)
    expect(keys.map(({ key }) => line(asking(key)))).not.toContain(nobody)
    expect(lineOf('none')(asking('sk-77'))).toBe(nobody)
    const known = lineOf(() => null)
    expect(known(asking('a'))).not.toBe(known(asking('b')))
  })
})

function service(options: Parameters<typeof serviceOf>[1] = {}) {
  const events: UsageEvent[] = []
  return { events, ...serviceOf('Hi', { onUsage: (event) => events.push(event), ...options }) }
}

describe('a project', () => {
  it.each(['openai-project', 'compat-project'])('is named by the header %s', async (name) => {
    const { chat, events } = service()
    expect((await chat({}, { headers: { [name]: 'my-team/app_1.2' } })).status).toBe(200)
    expect(events).toMatchObject([{ project: 'my-team/app_1.2' }])
  })

  it('may be left out', async () => {
    const { chat, events } = service()
    expect((await chat()).status).toBe(200)
    expect(events).toMatchObject([{ project: null }])
  })

  it.each(['team', '/', 'team/', '/app', 'a/b/c', 'a b/c', 'team/app, team/app', '../app', 'team/ä'])(
    'of the form %j is refused, on every path',
    async (project) => {
      const { ask, chat } = service()
      const headers = { 'compat-project': project }
      for (const answer of [await ask('/models', { headers }), await chat({}, { headers })]) {
        expect(errorOf(answer)).toMatchObject({ status: 400, param: 'compat-project', code: 'invalid_project' })
      }
    },
  )

  it('must be one', async () => {
    const { ask } = service()
    const both = (project: string) =>
      ask('/models', { headers: { 'openai-project': 'a/b', 'compat-project': project } })
    expect((await both('a/b')).status).toBe(200)
    expect(errorOf(await both('a/c'))).toMatchObject({
      status: 400,
      message: "The headers 'openai-project' and 'compat-project' name different projects.",
    })
  })

  it('may go by another header', async () => {
    const { chat, events } = service({ projectHeaders: ['X-Project'] })
    await chat({}, { headers: { 'x-project': 'a/b', 'openai-project': 'not looked at' } })
    expect(events).toMatchObject([{ project: 'a/b' }])
  })

  it('may be out of bounds for a key', async () => {
    const { ask } = service({ keys: [{ key: KEY, id: 'me', projects: ['a/b'] }] })
    expect((await ask('/models', { headers: { 'openai-project': 'a/b' } })).status).toBe(200)
    const refused = await ask('/models', { headers: { 'openai-project': 'a/c' } })
    expect(errorOf(refused)).toMatchObject({ status: 403, type: 'permission_error', code: 'project_not_allowed' })
  })

  it('may be a new one only a limited number of times for each caller', async () => {
    const keys = ['one', 'two', { key: 'three', id: 'three', projects: ['a/1', 'a/2', 'a/3', 'a/4'] }]
    const { ask } = service({ keys, maxProjects: 3 })
    const as = (key: string, project: string) =>
      ask('/models', { headers: { authorization: `Bearer ${key}`, 'openai-project': project } })
    for (const project of ['a/1', 'a/2', 'a/3', 'a/1']) expect((await as('one', project)).status).toBe(200)
    expect(errorOf(await as('one', 'a/4'))).toMatchObject({ status: 403, code: 'too_many_projects' })
    expect((await as('one', 'a/2')).status).toBe(200)
    expect((await as('two', 'a/4')).status).toBe(200)
    for (const project of ['a/1', 'a/2', 'a/3', 'a/4']) expect((await as('three', project)).status).toBe(200)
  })

  it('that is invented for a request that fails is not kept for ever', async () => {
    const failing = serviceOf([new V1Error(429, 'Too much.')], { maxProjects: 2 })
    for (let i = 0; i < 10; i++) await failing.chat({}, { headers: { 'openai-project': `a/${i}` } })
    const page = JSON.parse(
      (await failing.ask('/organization/usage/completions?start_time=0&group_by=project_id')).text,
    )
    expect(page.data.flatMap(({ results }: { results: unknown[] }) => results)).toHaveLength(2)
  })
})
