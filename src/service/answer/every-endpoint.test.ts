import { afterEach, describe, expect, it, test, vi } from 'vitest'
import type { ChatCall, Engine } from '../../contract/engine.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { messages } from '../endpoints/messages/index.js'
import { ollama } from '../endpoints/ollama/index.js'
import { ENDPOINTS } from '../endpoints.js'
import { createV1, type V1Options } from '../v1.js'
import { asking, finish, KEY, oneTurn, posting, ROWS, text, turnsUntil } from '../v1.test-helper.js'

const every = Object.keys(ROWS)
const streaming = every.filter((path) => ROWS[path]!.streams)

/** An engine that can all there is, and ends what it does when the test says so. Models are names of requests. */
function service(options: Partial<V1Options> = {}) {
  const begun: string[] = []
  const callers = new Set<string | undefined>()
  const ends: (() => void)[] = []
  const hold = ({ model, signal, caller }: Pick<ChatCall, 'model' | 'signal' | 'caller'>) => {
    begun.push(model)
    callers.add(caller)
    return new Promise<void>((resolve) => {
      ends.push(resolve)
      signal.addEventListener('abort', () => resolve())
    }).then(() => signal.throwIfAborted())
  }
  const capabilities = {
    embeddings: true,
    rerank: true,
    classify: true,
    decisions: true,
    extractions: true,
    infill: true,
  } as never
  const engine: Engine = {
    models: ['first', 'this', 'last'].map((id) => ({ id, ownedBy: 'me', capabilities })),
    async *generate(call) {
      yield text('{}')
      await hold(call)
      yield finish()
    },
    async embed(call) {
      await hold(call)
      return { vectors: call.inputs.map(() => new Float32Array(2)), promptTokens: 1 }
    },
    async rank(call) {
      await hold(call)
      return { scores: call.documents.map(() => 0.5), promptTokens: 1 }
    },
    async classify(call) {
      await hold(call)
      return { probabilities: call.inputs.map(() => [0.5, 0.5]), promptTokens: 1 }
    },
    async decide(call) {
      await hold(call)
      const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
      return { answers: call.questions.map(({ options }) => ({ probabilities: options.map(() => 0.5) })), usage }
    },
    async extract(call) {
      await hold(call)
      const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
      return { answers: call.fields.map(() => ({ value: null })), truncated: false, usage }
    },
    async tokenize(call) {
      await hold(call)
      return { tokens: [1], texts: ['H'] }
    },
    async detokenize(call) {
      await hold(call)
      return 'H'
    },
  }
  const v1 = createV1({ engine, keys: [KEY], log: () => {}, endpoints: [messages(), ollama()], ...options })
  const { ask } = asking(v1)
  const init = (path: string, model: string, more: object = {}) => posting({ ...ROWS[path]!.body, model, ...more })
  return {
    v1,
    begun,
    callers,
    ends,
    ask: (path: string, model: string, more: object = {}, signal?: AbortSignal, headers: object = {}) => {
      const request = init(path, model, more)
      return ask(path, { ...request, headers: { ...request.headers, ...headers }, ...(signal && { signal }) })
    },
    /** Its answer, of which nothing is read. */
    unread: (path: string, model: string, more: object) => {
      const { headers, ...rest } = init(path, model, more)
      const all = { ...headers, authorization: `Bearer ${KEY}` }
      return v1.fetch(new Request(`http://device.test/v1${path}`, { ...rest, headers: all }))
    },
  }
}

test('the table has every endpoint that asks a model', () => {
  const all = [...ENDPOINTS, ...messages().endpoints, ...ollama().endpoints] as typeof ENDPOINTS
  // Conversations are kept and given out without one; of others, things are told or files fetched.
  const withoutModel = /^\/(conversations|api\/(show|pull|create|copy|push)$)/
  const endpoints = all.filter(
    ({ method, path, bare, admin }) => method === 'POST' && !bare && !admin && !withoutModel.test(path),
  )
  expect(endpoints.map(({ path }) => path).sort()).toEqual([...every].sort())
})

test('it says how many requests run and wait', async () => {
  const { v1, ask, ends } = service({ maxInFlight: 1 })
  const load = () =>
    asking(v1)
      .ask('/load')
      .then((answer) => JSON.parse(answer.text))
  const all = [ask('/chat/completions', 'first'), ask('/score', 'this')]
  await turnsUntil(() => ends.length === 1)
  // The second may still be on its way.
  await expect.poll(load).toEqual({ server_load: 2 })
  ends[0]!()
  await turnsUntil(() => ends.length === 2)
  ends[1]!()
  await Promise.all(all)
  expect(await load()).toEqual({ server_load: 0 })
})

describe.each(every)('POST %s', (path) => {
  it('is accepted into the queue before any work for it, and refused at once if the queue is full', async () => {
    const { ask, begun, ends } = service({ maxInFlight: 1, maxQueue: 1 })
    const first = ask('/chat/completions', 'first')
    await turnsUntil(() => ends.length === 1)
    const waits = ask(path, 'this')
    await oneTurn()
    const refused = await ask(path, 'last')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    expect(begun).toEqual(['first'])
    ends[0]!()
    expect((await first).status).toBe(200)
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await waits).status).toBe(200)
    expect(begun).toEqual(['first', 'this'])
  })

  it('does nothing for a client that has left the queue', async () => {
    const { ask, begun, ends } = service({ maxInFlight: 1 })
    const first = ask('/chat/completions', 'first')
    await turnsUntil(() => ends.length === 1)
    const client = new AbortController()
    const left = ask(path, 'this', {}, client.signal)
    await oneTurn()
    client.abort()
    expect((await left).status).toBe(499)
    const last = ask(path, 'last')
    ends[0]!()
    await first
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await last).status).toBe(200)
    expect(begun).toEqual(['first', 'last'])
  })

  it('tells the engine of a client that leaves, and frees its place', async () => {
    const { ask, begun, ends } = service({ maxInFlight: 1 })
    const client = new AbortController()
    const left = ask(path, 'this', {}, client.signal)
    await turnsUntil(() => ends.length === 1)
    client.abort()
    expect((await left).status).toBe(499)
    const last = ask(path, 'last')
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await last).status).toBe(200)
    expect(begun).toEqual(['this', 'last'])
  })

  it('tells the engine whose it is', async () => {
    const { ask, callers, ends } = service({ keys: [KEY, 'another'] })
    for (const [i, authorization] of [{}, { authorization: 'Bearer another' }].entries()) {
      const response = ask(path, 'this', {}, undefined, authorization)
      await turnsUntil(() => ends.length === i + 1)
      ends[i]!()
      expect((await response).status).toBe(200)
    }
    expect([callers.size, callers.has(undefined)]).toEqual([2, false])
  })

  it('takes no body over the limit', async () => {
    const { ask, begun } = service({ bodyLimit: 1000 })
    expect((await ask(path, 'this', { user: 'x'.repeat(1000) })).status).toBe(413)
    expect(begun).toEqual([])
  })

  it('takes so long and no longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { ask, ends } = service({ maxInFlight: 1 })
    const late = ask(path, 'this')
    await turnsUntil(() => ends.length === 1)
    await vi.advanceTimersByTimeAsync(600_000)
    expect((await late).status).toBe(504)
    const last = ask(path, 'last')
    await turnsUntil(() => ends.length === 2)
    ends[1]!()
    expect((await last).status).toBe(200)
  })
  afterEach(() => void vi.useRealTimers())
})

describe.each(streaming)('a stream of %s', (path) => {
  afterEach(() => void vi.useRealTimers())

  it('that nobody reads is stopped after half a minute, and its place is free', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const counted: UsageEvent[] = []
    const { unread, ask, begun, ends } = service({ maxInFlight: 1, onUsage: (event) => counted.push(event) })
    const { body } = await unread(path, 'this', { stream: true })
    const last = ask(path, 'last')
    await vi.advanceTimersByTimeAsync(29_999)
    expect(counted).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    await turnsUntil(() => begun.includes('last'))
    expect(counted).toMatchObject([{ outcome: 'aborted', model: 'this' }])
    await expect(body!.getReader().read()).rejects.toMatchObject({ code: 'stalled' })
    ends.at(-1)!()
    expect((await last).status).toBe(200)
  })
})
