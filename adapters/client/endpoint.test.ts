import { describe, expect, test, vi } from 'vitest'
import { V1Error } from '../../src/contract/errors.js'
import { decide, extract } from '../extract.js'
import { events } from './endpoint.js'

function bodyOf(pieces: readonly string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...pieces]
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(piece))
    },
  })
}

test.each([
  'data: {"a":1}\n\ndata: [DONE]\n\n',
  'data:{"a":1}\r\n\r\ndata:[DONE]\r\n\r\n',
  ': one\ndata:\t{"a":1}\n\ndata:[DONE]\n',
  'event: one\rdata: {"a":\rdata: 1}\r\rdata: [DONE]\r\r',
])('events are read however a server writes them: %j', async (text) => {
  for (const pieces of [[text], [...text]]) {
    const read: unknown[] = []
    for await (const event of events(new Response(bodyOf(pieces)))) read.push(event)
    expect(read).toEqual([{ a: 1 }])
  }
})

test.each(['data: {"a":1}\n\ndata: {"b":', 'data: {"a":1}\n\ndata: {"b"\n', 'data: {"a":1}'])(
  'an answer that was cut within an event was cut off: %j',
  async (text) => {
    const read: unknown[] = []
    const reading = (async () => {
      for await (const event of events(new Response(bodyOf([text])))) read.push(event)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'cut_off' })
    expect(read).toEqual([{ a: 1 }])
  },
)

test('an event that comes in many pieces is looked through once, not for each of them', async () => {
  const event = JSON.stringify('a'.repeat(100_000))
  const body = bodyOf(`data: ${event}\n\ndata: [DONE]\n\n`.match(/.{1,100}/gs)!)
  const splits = vi.spyOn(String.prototype, 'split')
  try {
    const found: unknown[] = []
    for await (const data of events(new Response(body))) found.push(data)
    const looked = splits.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0)
    expect(found).toEqual([JSON.parse(event)])
    expect(looked).toBeLessThan(5 * event.length)
  } finally {
    splits.mockRestore()
  }
})

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } } as const
const baseURL = 'http://localhost:1/v1'
const QUESTIONS = { a: { type: 'predicate', instructions: 'Is it?' } } as const
const CALLS = [
  ['extract', (from: object) => extract(SCHEMA, 'A text.', { from: from as never })],
  ['decide', (from: object) => decide(QUESTIONS, 'A text.', { from: from as never })],
  ['extract of a named model', (from: object) => extract(SCHEMA, 'A text.', { from: from as never, model: 'm' })],
] as const

describe.each(CALLS)('%s', (_, ask) => {
  const faultOf = async (from: object) => {
    const fault: unknown = await ask(from).catch((error: unknown) => error)
    expect(V1Error.is(fault)).toBe(true)
    return fault as V1Error
  }

  test('says of an address where nobody listens which it is, why and what to do', async () => {
    const { code, status, message, cause } = await faultOf({ baseURL })
    expect({ code, status }).toEqual({ code: 'v1_unreachable', status: 503 })
    expect(message).toMatch(/^http:\/\/localhost:1\/v1 cannot be reached \(.+\): check the address/)
    expect(message).not.toContain('fetch failed')
    expect(cause).toBeInstanceOf(TypeError)
  })

  test.each([undefined, null, 8080])('says of an address that is %j that it is none', async (wrong) => {
    expect(await faultOf({ baseURL: wrong })).toMatchObject({ status: 400, param: 'from.baseURL' })
  })

  test.each([
    ['a page', 200, '<!doctype html><title>App</title>'],
    ['a page that is missing', 404, '<h1>Not Found</h1>'],
    ['JSON of something else', 404, '{"detail":"Not Found"}'],
    ['no object', 200, '"hello"'],
    ['nothing', 200, ''],
  ])('says of an address where %s stands that it is no /v1', async (_, status, body) => {
    const { code, message } = await faultOf({ baseURL, fetch: async () => new Response(body, { status }) })
    expect(code).toBe('v1_unreachable')
    expect(message).toBe(
      `What answers at ${baseURL} (status ${status}) is not a /v1: check the base URL, which ends in '/v1' as a rule.`,
    )
  })

  test('says of an object that has nothing of what was asked that it has not', async () => {
    expect((await faultOf({ baseURL, fetch: async () => Response.json({ ok: true }) })).status).toBe(502)
  })

  test('hands on what the service says', async () => {
    const refused = new V1Error(429, 'Later.', { code: 'queue_full' })
    const fetch = async () => new Response(JSON.stringify(refused), { status: 429 })
    expect(await faultOf({ baseURL, fetch })).toMatchObject({ status: 429, code: 'queue_full', message: 'Later.' })
  })
})

test('a call that its caller stopped ends with the reason', async () => {
  const from = { baseURL, fetch: (url: string, init?: RequestInit) => fetch(url, init) }
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(extract(SCHEMA, 'A text.', { from, signal })).rejects.toThrow('enough')
})

test('an answer that keeps to no schema is no document', async () => {
  const answer = { choices: [{ message: { content: 'Sure! Here it is.' } }] }
  const asked = extract(SCHEMA, 'A text.', { from: { baseURL, fetch: async () => Response.json(answer) }, model: 'm' })
  await expect(asked).rejects.toMatchObject({ status: 502, code: 'invalid_output' })
})

test('a refused schema is told without the advice to ask for less, which extract cannot', async () => {
  const message =
    "In context=('properties', 'a'), \"format 'x'\" is not supported. Leave it out, or set 'strict' to false: what cannot be enforced is then left to the model."
  const fetch = async () => new Response(JSON.stringify(new V1Error(400, message)), { status: 400 })
  await expect(extract(SCHEMA, 'A text.', { from: { baseURL, fetch }, model: 'm' })).rejects.toThrow(
    /is not supported\. Leave it out\.$/,
  )
})
