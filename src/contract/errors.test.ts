import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { logFaults } from '../service/door/log.js'
import { MODEL, serviceOf } from '../service/v1.test-helper.js'
import { printable, V1Error } from './errors.js'

/** What a terminal or a log takes for more than text: C0, DEL, C1, line ends, changes of direction. */
const ODD = '\u0000\u0007\u001b[2J\r\n\t\u007f\u0085\u009b31m\u2028\u2029\u202e\u2066'
const HOLDS_ODD = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

describe('what clients write', () => {
  it('is printed on one line, and tells all of it', () => {
    expect(printable(ODD)).not.toMatch(HOLDS_ODD)
    expect(printable('\u001b[2J\n')).toBe('\\u001b[2J\\u000a')
    expect(printable('Zürich, 東京 👩‍👩‍👧 C:\\u001b')).toBe('Zürich, 東京 👩‍👩‍👧 C:\\u001b')
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !HOLDS_ODD.test(printable(text))))
  })

  it.each<[string, (ask: ReturnType<typeof serviceOf>) => Promise<unknown>]>([
    ['a model', ({ chat }) => chat({ model: ODD })],
    ['a type of content', ({ chat }) => chat({ messages: [{ role: 'user', content: [{ type: ODD }] }] })],
    ['a tool', ({ chat }) => chat({ tools: [{ type: ODD, function: { name: ODD } }], tool_choice: ODD })],
    [
      'a schema',
      ({ chat }) =>
        chat({
          response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: { type: ODD } } },
        }),
    ],
    [
      'an origin',
      ({ v1 }) =>
        v1.fetch(new Request('http://localhost/v1/models', { headers: { origin: 'http://\u009b31m\t\u0085' } }), {
          localAddress: '127.0.0.1',
        }),
    ],
    ['a query', ({ ask }) => ask(`/organization/usage/completions?start_time=0&group_by=${encodeURIComponent(ODD)}`)],
    ['an id', ({ ask }) => ask(`/models/${encodeURIComponent(ODD)}`)],
  ])('is not repeated raw in an error: %s', async (_, send) => {
    const messages: string[] = []
    const service = serviceOf('Hi', {
      log: (event) => void (V1Error.is(event.error) && messages.push(event.error.message)),
    })
    await send(service)
    expect(messages).toHaveLength(1)
    expect(messages[0]).not.toMatch(HOLDS_ODD)
  })

  it('does not reach the terminal by way of a fault either', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { chat } = serviceOf([new Error(`Odd: ${ODD}`, { cause: new Error(ODD) })], { log: logFaults })
    expect((await chat({ model: MODEL })).status).toBe(500)
    const lines = logged.mock.calls.flat().map(String).join(' ')
    logged.mockRestore()
    expect(lines).toContain('Odd: ')
    expect(lines.replace(/[\n\t]/g, '')).not.toMatch(HOLDS_ODD)
  })

  it('is left to the console as the error it is where there is nothing odd in it', () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('plain')
    logFaults({ type: 'fault', message: 'A fault.', error })
    expect(logged.mock.calls[0]).toEqual(['local-v1: A fault.', error])
    logged.mockRestore()
  })
})

it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'a name that every object has is unknown like any other: %s',
  async (name) => {
    const { chat, ask } = serviceOf()
    const part = await chat({ messages: [{ role: 'user', content: [{ type: name, text: 'x' }] }] })
    expect(JSON.parse(part.text).error).toMatchObject({ param: 'messages[0].content[0].type', code: 'invalid_value' })
    for (const field of ['bucket_width', 'group_by']) {
      const usage = await ask(`/organization/usage/completions?start_time=0&${field}=${name}`)
      expect([usage.status, JSON.parse(usage.text).error.param]).toEqual([400, field])
    }
    expect((await chat({ model: name })).status).toBe(404)
    expect((await chat({ [name]: 1 })).status).toBe(200)
  },
)
