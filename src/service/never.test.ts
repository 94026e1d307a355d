/** Nothing that a service is made of is waited for without an end, whatever of it never settles. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Engine } from '../contract/engine.js'
import { memoryUsage } from '../usage/table.js'
import type { EndpointEntry } from './answer/service.js'
import type { LogEvent } from './door/log.js'
import { messages } from './endpoints/messages/index.js'
import { ollama } from './endpoints/ollama/index.js'
import { memoryResponses } from './endpoints/responses/store/shelved.js'
import type { ConversationStore, KeptResponse, ResponseStore } from './endpoints/responses/store/store.js'
import { ENDPOINTS } from './endpoints.js'
import { LEAVE_MS } from './stream/abort.js'
import { createV1, type V1, type V1Options } from './v1.js'
import { finish, KEY, MODEL, oneTurn, posting, ROWS, text } from './v1.test-helper.js'

const LIMIT_MS = 600_000

const OWNER = { caller: 'me' }
const ITEM = { type: 'message', id: 'msg_1', role: 'user', status: 'completed', content: [] } as const
const KEPT = { ...OWNER, input: [ITEM], response: { id: 'resp_1', status: 'completed', output: [] } }

/** One of each, as somebody kept it before. */
async function stored() {
  const store = memoryResponses() as ResponseStore & { readonly conversations: ConversationStore }
  const response = { ...KEPT.response, created_at: Date.now() / 1000, previous_response_id: null }
  await store.put({ ...KEPT, response } as unknown as KeptResponse)
  const conversation = { id: 'conv_1', object: 'conversation', created_at: 0, metadata: {} } as const
  await store.conversations.put({ ...OWNER, conversation, items: [ITEM as never], changedAt: Date.now() / 1000 })
  return store
}

type Parts = { engine: object; usage: object; responses: object; conversations: object; options: object }

/** What each part of a service may be asked for; `beside` an answer, which is given all the same. */
const PARTS: Readonly<Record<keyof Parts, readonly string[]>> = {
  engine: [
    ...['ready', 'generate', 'survey', 'learn', 'constrain', 'check', 'load', 'unload', 'remove'],
    ...['embed', 'rank', 'classify', 'decide', 'extract', 'point', 'tokenize', 'detokenize', 'tokenizerInfo'],
  ],
  usage: ['record', 'rows'],
  responses: ['put', 'get', 'items', 'delete'],
  conversations: ['put', 'get', 'delete'],
  options: ['keys'],
}
const parts = (Object.keys(PARTS) as (keyof Parts)[]).flatMap((whose) =>
  PARTS[whose].map((name) => [whose, name] as const),
)
const isBeside = (whose: string, name: string) => name === 'record' || (name === 'put' && whose === 'responses')

const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
const able = { embeddings: true, rerank: true, classify: true, decisions: true, extractions: true, infill: true }

function engineOf(): Engine {
  return {
    version: 2,
    models: [{ id: MODEL, ownedBy: 'me', capabilities: able }],
    ready: Promise.resolve(),
    async *generate() {
      yield text('{"a":1}')
      yield finish()
    },
    survey: async () => {},
    learn: async () => {},
    constrain: async () => ({ notEnforced: [], faultOf: () => undefined }),
    load: async () => {},
    unload: async () => {},
    remove: async () => {},
    embed: async ({ inputs }) => ({ vectors: inputs.map(() => [1]), promptTokens: 1 }),
    rank: async ({ documents }) => ({ scores: documents.map(() => 0.5), promptTokens: 1 }),
    classify: async ({ inputs }) => ({ probabilities: inputs.map(() => [0.5, 0.5]), promptTokens: 1 }),
    decide: async ({ questions }) => ({
      answers: questions.map(({ options }) => ({ probabilities: options.map(() => 1 / options.length) })),
      usage,
    }),
    extract: async ({ fields }) => ({ answers: fields.map(() => ({ value: null })), truncated: false, usage }),
    point: async () => undefined,
    tokenize: async () => ({ tokens: [1], texts: ['H'] }),
    detokenize: async () => 'H',
    tokenizerInfo: async () => ({}),
  }
}

/** A service of which one part never settles. */
async function service(whose: keyof Parts, name: string) {
  let reached = false
  const never = () => {
    reached = true
    return new Promise<never>(() => {})
  }
  const engine = engineOf() as Engine & Record<string, unknown>
  const responses = await stored()
  const made: Parts = {
    engine,
    usage: memoryUsage(),
    responses,
    conversations: responses.conversations,
    options: {},
  }
  if (name === 'ready') Object.defineProperty(engine, name, { get: never })
  else if (name === 'generate') engine.generate = () => ({ [Symbol.asyncIterator]: () => ({ next: never }) })
  else if (name === 'point') Object.assign(engine, { point: never, models: [{ id: MODEL, ownedBy: 'me' }] })
  else if (name === 'check') engine.constrain = async () => ({ notEnforced: [], faultOf: never })
  else Object.assign(made[whose], { [name]: never })
  const events: LogEvent[] = []
  const v1 = createV1({
    engine,
    keys: [{ key: KEY, id: OWNER.caller, admin: true }],
    manageModels: true,
    metrics: true,
    timeoutMs: LIMIT_MS,
    loadWaitMs: 2 * LIMIT_MS,
    endpoints: [messages(), ollama()],
    usage: made.usage as V1Options['usage'] & {},
    responses,
    log: (event) => events.push(event),
    ...made.options,
  })
  // The service itself looks whether the engine is there.
  reached = false
  return { v1, events, reached: () => reached }
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: object
}

const SCHEMA = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false }
const json_schema = { name: 'a', strict: true, schema: SCHEMA }
const REFERS = { type: 'item_reference', id: 'msg_0' }
const MORE: Readonly<Record<string, readonly object[]>> = {
  '/chat/completions': [{ response_format: { type: 'json_schema', json_schema } }],
  '/responses': [
    { previous_response_id: 'resp_1' },
    { conversation: 'conv_1' },
    { input: [REFERS] },
    { background: true },
    { background: true, stream: true },
    { conversation: 'conv_1', stream: true },
    { text: { format: { type: 'json_schema', ...json_schema } }, stream: true },
  ],
  '/conversations': [{ items: [REFERS] }, {}],
  '/conversations/{id}': [{ metadata: {} }],
  '/conversations/{id}/items': [{ items: [{ role: 'user', content: 'Hi' }] }],
  '/api/chat': [{ messages: [] }, { messages: [], keep_alive: 0 }],
  '/api/pull': [{ stream: false }, { stream: true }],
}

/** Every endpoint, in each way that asks for something else. */
const REQUESTS: readonly Asked[] = (
  [...ENDPOINTS, ...messages().endpoints, ...ollama().endpoints] as EndpointEntry[]
).flatMap(({ method, path: pattern, bare }) => {
  const id = pattern.startsWith('/conversations') ? 'conv_1' : 'resp_1'
  const named = pattern.replace('{model}', MODEL).replace('{id}', id).replace('{item}', ITEM.id)
  const path = pattern.startsWith('/organization') ? `${named}?start_time=0` : named
  if (method === 'GET' || bare || (method === 'DELETE' && !path.startsWith('/api'))) return [{ method, path }]
  const { body = {}, streams } = ROWS[pattern] ?? {}
  const bodies = [body, ...(streams ? [{ ...body, stream: true }] : [])]
  for (const more of MORE[pattern] ?? []) bodies.push({ ...body, ...more })
  return bodies.map((each) => ({ method, path, body: each }))
})

const ENDS = {
  'the time limit passes': { status: 504, end: () => {} },
  'its client leaves': { status: 499, end: (_: V1, client: AbortController) => client.abort() },
  'the service ends': { status: 503, end: (v1: V1) => void v1.close(AbortSignal.abort()) },
}

/** Lets everything go on that waits for no clock. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await vi.advanceTimersByTimeAsync(0)
    await oneTurn()
  }
}

/** A request to a service of its own, of which one part never settles, and what becomes of it. */
async function asking(whose: keyof Parts, name: string, asked: Asked) {
  const { method, path, body } = asked
  const { v1, events, reached } = await service(whose, name)
  const client = new AbortController()
  const init = body ? posting(body) : {}
  const headers = { ...init.headers, authorization: `Bearer ${KEY}` }
  const sent = new Request(`http://device.test/v1${path}`, { ...init, method, headers, signal: client.signal })
  const one = {
    ...{ name: `${method} ${path} ${body ? JSON.stringify(body) : ''}`, v1, client, waits: reached, closed: false },
    request: asked,
    answer: undefined as { readonly status: number; readonly text: string } | undefined,
    told: () => events.filter(({ type }) => type === 'request').length,
  }
  void v1.fetch(sent).then(async (response) => {
    const text = await response.text().catch(String)
    one.answer = { status: response.status, text }
  })
  return one
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Asks each request of a service of its own, ends it in this way, and gives back those that waited for it. */
async function ended(requests: readonly Asked[], whose: keyof Parts, name: string, way: keyof typeof ENDS) {
  const all = await Promise.all(requests.map((request) => asking(whose, name, request)))
  for (let i = 0; i < 100 && all.some(({ answer, waits }) => !answer && !waits()); i++) await turns(10)
  const waited = all.filter(({ answer, waits }) => !answer && waits())
  const { status, end } = ENDS[way]
  for (const { v1, client } of waited) end(v1, client)
  await vi.advanceTimersByTimeAsync(way === 'the time limit passes' ? LIMIT_MS : 0)
  for (const one of all) one.v1.close(AbortSignal.abort()).finally(() => Object.assign(one, { closed: true }))
  // What is stored beside an answer has a while of its own, each of the few things of one answer.
  for (let i = 0; i < 4; i++) {
    await turns(20)
    await vi.advanceTimersByTimeAsync(LEAVE_MS)
  }
  const hung = all.filter(({ answer, closed, told }) => !answer || !closed || told() !== 1)
  expect(hung.map((each) => [each.name, each.answer?.status, each.closed, each.told()])).toEqual([])
  // A stream may have begun before, and what is made in the background is told of later.
  const right = ({ answer }: (typeof all)[number]) =>
    answer!.status === status || (answer!.status === 200 && /error|"status":"queued"/i.test(answer!.text))
  const wrong = waited.filter((each) => !isBeside(whose, name) && !right(each))
  expect(wrong.map((each) => [each.name, each.answer])).toEqual([])
  return waited.map(({ request }) => request)
}

it.each(parts)('no request waits for ever for what never settles: %s, %s', async (...part) => {
  const waited = await ended(REQUESTS, ...part, 'the time limit passes')
  expect(waited).not.toEqual([])
  for (const way of ['its client leaves', 'the service ends'] as const)
    expect(await ended(waited, ...part, way)).not.toEqual([])
})
