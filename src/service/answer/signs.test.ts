import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Engine } from '../../contract/engine.js'
import { V1Error } from '../../contract/errors.js'
import { messages } from '../endpoints/messages/index.js'
import { ollama } from '../endpoints/ollama/index.js'
import { SSE_SIGN } from '../stream/sse.js'
import { finish, KEY, MODEL, oneTurn, posting, serviceOf, text, turnsUntil } from '../v1.test-helper.js'

const USER = [{ role: 'user', content: 'Hello?' }]
const EVENTS: Readonly<Record<string, object>> = {
  '/chat/completions': { messages: USER },
  '/completions': { prompt: 'Hello?' },
  '/infill': { input_prefix: 'Hello?', input_suffix: '' },
  '/responses': { input: 'Hello?' },
  '/messages': { messages: USER, max_tokens: 9 },
}

// What computes and what is sent goes on by itself; only what waits for a time waits for the test.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A request to an engine that reads its prompt until it is told what comes of it; `behind` another one, until `free`. */
function asked(path: string, body: object, behind = false) {
  let free: () => void = () => {}
  const taken = new Promise<void>((resolve) => (free = resolve))
  let read: () => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const held = new Promise<void>((resolve, reject) => {
    read = resolve
    fail = reject
  })
  const seen: { reading?: true; response?: Response; text: string; ended?: unknown } = { text: '' }
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'me', capabilities: { infill: true } as never }],
    async *generate() {
      const isBefore = behind && !seen.reading
      seen.reading = true
      await (isBefore ? taken : held)
      yield text('Hi')
      yield finish()
    },
  }
  const { v1, chat } = serviceOf(engine, { endpoints: [messages(), ollama()], maxInFlight: behind ? 1 : 8 })
  if (behind) void chat({ messages: USER })
  const headers = { ...(posting({}).headers as object), authorization: `Bearer ${KEY}` }
  const request = new Request(`http://device.test/v1${path}`, { ...posting(body), headers })
  const done = v1
    .fetch(request)
    .then(async (response) => {
      seen.response = response
      const decoder = new TextDecoder()
      for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>)
        seen.text += decoder.decode(bytes)
    })
    .then(
      () => (seen.ended = 'well'),
      (error) => (seen.ended = error),
    )
  const ends = async () => {
    while (seen.ended === undefined) {
      await oneTurn()
      await vi.advanceTimersByTimeAsync(10)
    }
    await done
  }
  /** Nothing comes for so long, while the prompt is read. */
  const silence = async (ms: number) => {
    await turnsUntil(() => seen.reading !== undefined)
    for (let i = 0; i < 10; i++) await oneTurn()
    await vi.advanceTimersByTimeAsync(ms)
  }
  const signs = () => seen.text.split(SSE_SIGN.text).length - 1
  const close = () => void v1.close(AbortSignal.abort())
  return { seen, close, free, read, fail, ends, silence, signs }
}

/** What is the same in each answer. */
const alike = (events: string) =>
  events
    .replace(/(?:resp|msg|chatcmpl|cmpl|rs)[-_][0-9a-f]+/g, 'ID')
    .replace(/("\w+_at"|"created"|"\w+_(?:ms|per_\w+)"):[\d.]+/g, '$1:0')

describe.each(Object.keys(EVENTS))('a reader of the events of %s', (path) => {
  it('is given signs of life while its prompt is read, and then what it would have been given', async () => {
    const quick = asked(path, { ...EVENTS[path], stream: true })
    quick.read()
    await quick.ends()
    expect(quick.seen.text).not.toContain(SSE_SIGN.text)
    const slow = asked(path, { ...EVENTS[path], stream: true })
    await slow.silence(SSE_SIGN.ms - 1)
    expect(slow.seen.response).toBeUndefined()
    await slow.silence(1)
    // With its status: servers send no head without a body.
    await turnsUntil(() => slow.signs() === 1)
    expect(slow.seen.response!.status).toBe(200)
    await slow.silence(SSE_SIGN.ms)
    await turnsUntil(() => slow.signs() === 2)
    const signs = slow.seen.text
    expect(signs).toBe(SSE_SIGN.text.repeat(2))
    slow.read()
    await slow.ends()
    expect(slow.seen.text.startsWith(signs)).toBe(true)
    expect(alike(slow.seen.text.slice(signs.length))).toBe(alike(quick.seen.text))
  })

  it('hears of an error after them as in the middle of an answer, and before them by its status', async () => {
    const lost = new V1Error(503, 'The engine is gone.', { code: 'engine_lost' })
    const soon = asked(path, { ...EVENTS[path], stream: true })
    await soon.silence(SSE_SIGN.ms - 1)
    soon.fail(lost)
    await soon.ends()
    expect(soon.seen.response!.status).toBe(503)
    const late = asked(path, { ...EVENTS[path], stream: true })
    await late.silence(SSE_SIGN.ms)
    await turnsUntil(() => late.seen.response !== undefined)
    late.fail(lost)
    await late.ends()
    expect([late.seen.response!.status, late.seen.ended]).toEqual([200, 'well'])
    expect(late.seen.text).toContain('The engine is gone.')
  })

  it('is given them while it waits in line, too', async () => {
    const quick = asked(path, { ...EVENTS[path], stream: true })
    quick.read()
    await quick.ends()
    const waiting = asked(path, { ...EVENTS[path], stream: true }, true)
    await waiting.silence(SSE_SIGN.ms)
    await turnsUntil(() => waiting.signs() === 1)
    expect(waiting.seen.response!.status).toBe(200)
    await waiting.silence(SSE_SIGN.ms)
    await turnsUntil(() => waiting.signs() === 2)
    waiting.free()
    waiting.read()
    await waiting.ends()
    expect(alike(waiting.seen.text)).toBe(SSE_SIGN.text.repeat(2) + alike(quick.seen.text))
    const failing = asked(path, { ...EVENTS[path], stream: true }, true)
    await failing.silence(SSE_SIGN.ms)
    await turnsUntil(() => failing.signs() === 1)
    failing.close()
    await failing.ends()
    expect(failing.seen.text.slice(SSE_SIGN.text.length)).toContain('"closing"')
  })

  it('that wants the whole answer waits for its status', async () => {
    const whole = asked(path, EVENTS[path]!)
    await whole.silence(4 * SSE_SIGN.ms)
    expect(whole.seen.response).toBeUndefined()
    whole.read()
    await whole.ends()
    expect(whole.seen.response!.status).toBe(200)
    expect(() => JSON.parse(whole.seen.text)).not.toThrow()
  })
})

it('who waits in line is told at once what of a schema is not enforced', async () => {
  const schema = { type: 'object', properties: { x: { type: 'string', pattern: '(a)\\1' } }, required: ['x'] }
  const response_format = { type: 'json_schema', json_schema: { name: 'odd', schema } }
  const waiting = asked('/chat/completions', { messages: USER, response_format, stream: true }, true)
  await waiting.silence(SSE_SIGN.ms)
  await turnsUntil(() => waiting.signs() === 1)
  expect(waiting.seen.response!.headers.get('x-not-enforced')).toBe('#/properties/x/pattern')
})

it('lines of JSON have no sign that their readers skip', async () => {
  const lines = asked('/api/chat', { messages: USER, stream: true })
  await lines.silence(4 * SSE_SIGN.ms)
  expect(lines.seen.response).toBeUndefined()
  lines.read()
  await lines.ends()
  for (const line of lines.seen.text.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
})

it('whoever follows a response in the background is given them, too', async () => {
  const followed = asked('/responses', { input: 'Hello?', background: true, stream: true })
  for (const signs of [1, 2]) {
    await followed.silence(SSE_SIGN.ms)
    await turnsUntil(() => followed.signs() === signs)
  }
  expect(followed.seen.text).toMatch(/^event: response\.created\n/)
  followed.read()
  await followed.ends()
  expect(followed.seen.text).toContain('event: response.completed\n')
})
