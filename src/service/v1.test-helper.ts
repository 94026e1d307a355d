import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { ChatCall, DecideCall, Engine, Part } from '../contract/engine.js'
import { type Script, scripted } from '../engines/scripted.js'
import { createV1, type V1, type V1Options } from './v1.js'

export const KEY = 'sk-test'
export const MODEL = 'test/hello'
const ORIGIN = 'http://device.test'

export const text = (content: string, choice = 0): Part => ({ type: 'text-delta', choice, text: content })
export const finish = (reason: 'stop' | 'length' | 'tool_calls' = 'stop', choice = 0): Part => ({
  type: 'finish',
  choice,
  reason,
})

/** Everything that asks a model for something: what holds for one of them must hold for each. */
interface Asking {
  readonly body: object
  /** It may be asked for as a stream. */
  readonly streams?: true
}

const USER = [{ role: 'user', content: 'Hello?' }]
const EXTRACTION = { state: 'Hello?', fields: { greeting: { type: 'text' } } }
export const ROWS: Readonly<Record<string, Asking>> = {
  '/chat/completions': { body: { messages: USER }, streams: true },
  '/responses': { body: { input: 'Hello?' }, streams: true },
  '/responses/compact': { body: { input: 'Hello?' } },
  '/responses/input_tokens': { body: { input: 'Hello?' } },
  '/completions': { body: { prompt: 'Hello?' }, streams: true },
  '/infill': { body: { input_prefix: 'Hello?', input_suffix: '' }, streams: true },
  '/embeddings': { body: { input: 'Hello?' } },
  '/rerank': { body: { query: 'Hello?', documents: ['a', 'b'] } },
  '/v2/rerank': { body: { query: 'Hello?', documents: ['a', 'b'] } },
  '/score': { body: { text_1: 'Hello?', text_2: ['a', 'b'] } },
  '/classify': { body: { input: 'Hello?' } },
  '/pooling': { body: { input: 'Hello?', task: 'classify' } },
  '/decisions': { body: { input: 'Hello?', questions: [{ type: 'predicate', instructions: 'Is it so?' }] } },
  '/api/alpha/decisions': { body: { state: 'Hello?', questions: { so: { type: 'noul', instructions: 'Is it so?' } } } },
  '/systemone': { body: { state: 'Hello?', questions: { so: { type: 'noul', instructions: 'Is it so?' } } } },
  '/extractions': { body: EXTRACTION },
  '/extraction': { body: EXTRACTION },
  '/api/alpha/extractions': { body: EXTRACTION },
  '/tokenize': { body: { prompt: 'Hello?' } },
  '/detokenize': { body: { tokens: [1, 2] } },
  '/messages': { body: { messages: USER, max_tokens: 9 }, streams: true },
  '/messages/count_tokens': { body: { messages: USER } },
  '/api/chat': { body: { messages: USER, stream: false }, streams: true },
  '/api/generate': { body: { prompt: 'Hello?', stream: false }, streams: true },
  '/api/embed': { body: { input: 'Hello?' } },
  '/api/embeddings': { body: { prompt: 'Hello?' } },
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A service over scripts, and short ways to ask it. */
export function serviceOf(script: Script | Engine = 'Hello there, you.', options: Partial<V1Options> = {}) {
  const engine = isEngine(script) ? script : scripted({ models: { [MODEL]: script } })
  const v1 = createV1({ engine, keys: [KEY], log: () => {}, ...options })
  return { v1, ...asking(v1) }
}

/** A script that keeps what it is asked. */
export function recorded(script: Script = 'Hi') {
  const calls: ChatCall[] = []
  const recording = (call: ChatCall) => {
    calls.push(call)
    return typeof script === 'function' ? script(call) : script
  }
  return { calls, script: recording }
}

/** The same engine, which keeps what it is asked to decide. */
export function heard(engine: Engine) {
  const calls: DecideCall[] = []
  const decide = (call: DecideCall) => {
    calls.push(call)
    return engine.decide!(call)
  }
  return { calls, engine: { ...engine, decide } }
}

const isEngine = (value: Script | Engine): value is Engine =>
  typeof value === 'object' && 'generate' in (value as object)

export function asking(v1: V1) {
  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = new Headers({ authorization: `Bearer ${KEY}` })
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
    const response = await v1.fetch(new Request(`${ORIGIN}/v1${path}`, { ...init, headers }))
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const chat = (body: object = {}, init: RequestInit = {}) => ask('/chat/completions', chatInit(body, init))
  return { ask, chat }
}

export function chatInit(body: object = {}, init: RequestInit = {}): RequestInit {
  const json = { model: MODEL, messages: [{ role: 'user', content: 'Hello?' }], ...body }
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
  return { method: 'POST', body: JSON.stringify(json), ...init, headers }
}

/** A body of JSON that asks the model. */
export const posting = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ model: MODEL, ...body }),
  headers: { 'content-type': 'application/json', ...headers },
})

export function chatRequest(body: object = {}, init: RequestInit = {}): Request {
  const { headers, ...rest } = chatInit(body, init)
  const all = new Headers(headers)
  all.set('authorization', `Bearer ${KEY}`)
  return new Request(`${ORIGIN}/v1/chat/completions`, { ...rest, headers: all })
}

/** The error of an answer, after its form and headers have been checked. */
export function errorOf({ status, headers, text: body }: Answer): {
  status: number
  message: string
  type: string
  param: string | null
  code: string | null
} {
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/)
  const { error } = JSON.parse(body)
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  expect(error.message).toMatch(/\w/)
  valid('ErrorResponse', { error })
  return { status, ...error }
}

/** The payloads of a stream. */
export function eventsOf(body: string): string[] {
  const frames = body.split('\n\n')
  expect(frames.pop()).toBe('')
  return frames.map((frame) => {
    expect(frame).toMatch(/^data: .*$/)
    return frame.slice(6)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
export const jsonOf = (answer: Answer): any => JSON.parse(answer.text)

/** The chunks of a stream that ended as it should, each checked against the wire schema. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function chunksOf(answer: Answer): any[] {
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  return events.map((event) => valid('CreateChatCompletionStreamResponse', JSON.parse(event)))
}

type Schema = Record<string, unknown>

/** OpenAI's own description of the wire, where it lies beside the checkout. */
export const wireSchema: Schema | undefined = (() => {
  try {
    const text = readFileSync(new URL('../../../shared/openai/wire.schema.json', import.meta.url), 'utf8')
    return JSON.parse(text, nullable) as Schema
  } catch {
    return undefined
  }
})()

/** OpenAPI's `nullable` in the words of JSON Schema. */
function nullable(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('nullable' in value)) return value
  const { nullable: orNull, ...rest } = value
  return orNull === true ? { anyOf: [rest, { type: 'null' }] } : value
}

const validators = new Map<string, ValidateFunction>()

export function valid<T>(name: string, value: T): T {
  if (!wireSchema) return value
  let validate = validators.get(name)
  if (!validate) {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    validate = ajv.compile({ ...wireSchema, $ref: `#/$defs/${name}` })
    validators.set(name, validate)
  }
  expect(validate(value), `${name}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(value)}`).toBe(true)
  return value
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const oneTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Turns of the event loop until it holds, whatever becomes of timers. */
export async function turnsUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await oneTurn()
}

/** Asks until it holds; the test's own time limit ends it otherwise. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2)
}
