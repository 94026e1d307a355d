import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import type { Answer, Init, OpenAnswer, Reach } from './reach.js'
import type { Probe } from './scenario.js'
import { KEY } from './services.js'

export const BASE = '/v1'

export const authorized = { authorization: `Bearer ${KEY}` }

/** A chat request with a valid key. */
export function chat(model: string, body: Record<string, unknown> = {}, headers: Record<string, string> = {}): Init {
  return {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello?' }], ...body }),
  }
}

export const CHAT = `${BASE}/chat/completions`

export async function probe(reach: Reach, model: string, base = BASE): Promise<Probe> {
  return JSON.parse((await reach.fetch(`/probe?base=${base}&model=${model}`)).text) as Probe
}

/** Asks until it holds; the test's own time limit ends it otherwise. */
export async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean, everyMs = 10): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (holds(answer)) return answer
    await pause(everyMs)
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The payloads of an event stream; fails on anything that is not `data: ...` and an empty line. */
export function events(text: string): string[] {
  const frames = text.split('\n\n')
  expect(frames.pop(), 'the stream ends with an empty line').toBe('')
  return frames.map((frame) => {
    expect(frame).toMatch(/^data: [^\n]*$/)
    return frame.slice('data: '.length)
  })
}

export interface Chunk {
  id: string
  choices: { index: number; delta: Delta; finish_reason: string | null }[]
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null
}

interface Delta {
  role?: string
  content?: string | null
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[]
}

/** The chunks of a whole stream that ended as it should. */
export function chunks(answer: Answer): Chunk[] {
  expect(answer.status, answer.text).toBe(200)
  const payloads = events(answer.text)
  expect(payloads.pop()).toBe('[DONE]')
  return payloads.map((payload) => valid('CreateChatCompletionStreamResponse', JSON.parse(payload)) as Chunk)
}

export const textOf = (all: readonly Chunk[]): string =>
  all.map((chunk) => chunk.choices.map((choice) => choice.delta.content ?? '').join('')).join('')

/** Reads until `text` has come. */
export async function readUntil(answer: OpenAnswer, text: string): Promise<string> {
  let seen = ''
  while (!seen.includes(text)) {
    const piece = await answer.read()
    if (piece === undefined) throw new Error(`the stream ended without ${text}: ${seen}`)
    seen += piece
  }
  return seen
}

export interface ExpectedError {
  status: number
  type: string
  code?: string | null
  param?: string | null
}

/** An error as the official clients read it: all four fields, and the headers of every answer. */
export function expectError(answer: Answer, expected: ExpectedError): string {
  expect(answer.status, answer.text).toBe(expected.status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  const { error } = valid('ErrorResponse', JSON.parse(answer.text)) as { error: Record<string, string | null> }
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  expect(error.type).toBe(expected.type)
  if ('code' in expected) expect(error.code).toBe(expected.code)
  if ('param' in expected) expect(error.param).toBe(expected.param)
  expect(error.message).toMatch(/\w/)
  expectCommonHeaders(answer)
  return error.message!
}

export function expectCommonHeaders({ headers }: Pick<Answer, 'headers'>): void {
  expect(headers.get('x-request-id')).toMatch(/\S/)
  expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/)
}

const validators = new Map<string, ValidateFunction>()

/** Checks against OpenAI's own description of the wire, where it lies beside the checkout. */
export function valid(name: string, value: unknown): unknown {
  const schema = wireSchema()
  if (!schema) return value
  let validate = validators.get(name)
  if (!validate) {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addFormat('unixtime', { type: 'number', validate: Number.isSafeInteger })
    validate = ajv.compile({ ...schema, $ref: `#/$defs/${name}` })
    validators.set(name, validate)
  }
  expect(validate(value), `${name}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(value)}`).toBe(true)
  return value
}

let schema: Record<string, unknown> | null | undefined

export function wireSchema(): Record<string, unknown> | null {
  if (schema === undefined) {
    try {
      const text = readFileSync(new URL('../../../shared/openai/wire.schema.json', import.meta.url), 'utf8')
      schema = JSON.parse(text, (_, value) => withoutNullable(value)) as Record<string, unknown>
    } catch {
      schema = null
    }
  }
  return schema ?? null
}

/** OpenAPI's `nullable`, which says nothing to JSON Schema. */
function withoutNullable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('nullable' in value)) return value
  const { nullable, ...rest } = value
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest
}
