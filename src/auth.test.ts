import { describe, expect, it } from 'vitest'
import type { Caller, Keys } from './auth.js'
import type { UsageEvent } from './usage/ledger.js'
import { errorOf, KEY, serviceOf } from './v1.test-helper.js'

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

  it('of a list is good, each of them', async () => {
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

  it('may be known by a function, that answers now or later', async () => {
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
