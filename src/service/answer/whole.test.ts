/** What a whole answer costs beside the model: counted where time says nothing. */
import { afterEach, expect, it, vi } from 'vitest'
import { breathe } from '../../platform/turns.js'
import { chatRequest, finish, MODEL, serviceOf, text } from '../v1.test-helper.js'

afterEach(() => void vi.restoreAllMocks())

/** What the instances of a global class are made of that `work` makes. */
async function madeOf(name: 'AbortController' | 'Response' | 'URL', work: () => Promise<unknown>) {
  const whole = globalThis[name]
  const made: unknown[][] = []
  vi.stubGlobal(
    name,
    new Proxy(whole, {
      construct(target, given, asNew) {
        made.push(given)
        return Reflect.construct(target as new () => object, given, asNew)
      },
    }),
  )
  try {
    await work()
  } finally {
    vi.unstubAllGlobals()
  }
  return made
}

const answerText = 'word '.repeat(50)

it('makes one signal, no stream, and takes no address apart that it has just seen', async () => {
  const { v1 } = serviceOf(answerText)
  const ask = async () => (await v1.fetch(requests.shift()!)).status
  const requests = Array.from({ length: 5 }, () => chatRequest())
  expect(await ask()).toBe(200)
  expect(await madeOf('AbortController', ask)).toHaveLength(1)
  expect(await madeOf('URL', ask)).toHaveLength(0)
  const [[body] = [], ...more] = await madeOf('Response', ask)
  expect(body).toBeTypeOf('string')
  expect(more).toEqual([])
})

it('sets no clock where one runs already, and parses and writes JSON once', async () => {
  const { v1 } = serviceOf(answerText)
  const requests = Array.from({ length: 3 }, () => chatRequest())
  await v1.fetch(requests.shift()!)
  const clocks = vi.spyOn(globalThis, 'setTimeout')
  const parsed = vi.spyOn(JSON, 'parse')
  const written = vi.spyOn(JSON, 'stringify')
  const answer = await v1.fetch(requests.shift()!)
  expect(answer.status).toBe(200)
  expect(clocks).not.toHaveBeenCalled()
  expect(parsed).toHaveBeenCalledTimes(1)
  expect(written).toHaveBeenCalledTimes(1)
})

it('waits for two turns of the event loop, whoever else waits for them', async () => {
  const { v1 } = serviceOf(answerText)
  const requests = Array.from({ length: 2 }, () => chatRequest())
  await v1.fetch(requests.shift()!)
  await breathe()
  await breathe()
  const turns = vi.spyOn(globalThis, 'setImmediate')
  expect((await v1.fetch(requests.shift()!)).status).toBe(200)
  expect(turns.mock.calls.length).toBeLessThanOrEqual(2)
})

it('says how many bytes it has', async () => {
  const { v1 } = serviceOf([text('Grüße, 世界 \u{1f600} \ud800'), finish()])
  const response = await v1.fetch(chatRequest())
  const bytes = new Uint8Array(await response.arrayBuffer())
  expect(response.headers.get('content-length')).toBe(String(bytes.length))
})

it('leaves out of the call what only the answer is told by', async () => {
  const { v1, seen } = setUp()
  await v1.fetch(chatRequest({ user: 'me', stream_options: null, max_tokens: 3 }))
  const [call] = seen
  expect(call).toMatchObject({ model: MODEL, maxTokens: 3, n: 1, toolChoice: 'none' })
  for (const field of ['fields', 'stream', 'ignored', 'includeUsage', 'shortened', 'prompts'])
    expect(call).not.toHaveProperty(field)
})

function setUp() {
  const seen: object[] = []
  const service = serviceOf({
    models: [{ id: MODEL, ownedBy: 'me' }],
    async *generate(call) {
      seen.push(call)
      yield text('Hi')
      yield finish()
    },
  })
  return { ...service, seen }
}
