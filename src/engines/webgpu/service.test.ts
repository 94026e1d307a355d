import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'
import { tinyRepository, writeRepository } from './tiny-repository.test-helper.js'

/** The service over the whole engine, a model with random weights in a folder, spoken to by the official client. */
const folder = ownFolder()
let v1: V1

beforeAll(async () => {
  await writeRepository(tinyRepository(), folder)
  const models = [
    { id: 'test/tiny', from: folder },
    { id: 'test/thinker', from: await writeThinker() },
  ]
  v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }), keys: ['secret'] })
})
afterAll(() => v1.close())

/** Its template begins a thought whatever it is told. */
async function writeThinker(): Promise<string> {
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  const chat_template = `{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{{- '<|im_start|>assistant\\n<think>\\n' }}{#- </think> #}`
  const text = { tokenizer, tokenizerConfig: { ...tokenizerConfig, chat_template } }
  await writeRepository(tinyRepository(2, 512, text), join(folder, 'thinker'))
  return join(folder, 'thinker')
}

const client = new OpenAI({
  apiKey: 'secret',
  baseURL: 'http://device/v1',
  maxRetries: 0,
  fetch: (input, init) => v1.fetch(new Request(input, init)),
})
const model = 'test/tiny'
const messages = [{ role: 'user' as const, content: 'Hello' }]
const schema = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 20 },
    tags: { type: 'array', items: { type: 'string', maxLength: 6 } },
  },
  required: ['title', 'tags'],
  additionalProperties: false,
}
const response_format = { type: 'json_schema' as const, json_schema: { name: 'book', strict: true, schema } }

test('models name their device', async () => {
  const list = await client.models.list()
  expect(list.data.map(({ id }) => id)).toEqual([model, 'test/thinker'])
})

test('a completion, whole and streamed, is the same for the same seed', async () => {
  const body = { model, messages, max_tokens: 20, seed: 7 }
  const whole = await client.chat.completions.create(body)
  expect(whole.usage!.completion_tokens).toBeGreaterThan(0)
  expect(whole.system_fingerprint).toMatch(/^fp_/)
  let text = ''
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? ''
  }
  expect(text).toBe(whole.choices[0]!.message.content)
})

describe('strict JSON', () => {
  test.each([1, 2, 3, 4, 5])('seed %i', async (seed) => {
    for (const max_tokens of [12, 20, 200]) {
      const answer = await client.chat.completions.create({ model, messages, response_format, seed, max_tokens })
      const document = JSON.parse(answer.choices[0]!.message.content!)
      expect(Object.keys(document)).toEqual(['title', 'tags'])
      expect(answer.choices[0]!.finish_reason).toBe('stop')
    }
  })

  test('through parse and a stream', async () => {
    const stream = client.chat.completions.stream({ model, messages, response_format, max_tokens: 60, n: 2 })
    const { choices } = await stream.finalChatCompletion()
    expect(choices).toHaveLength(2)
    for (const { message } of choices) expect(() => JSON.parse(message.content!)).not.toThrow()
  })

  test('a budget below the shortest document is a 400', async () => {
    const short = client.chat.completions.create({ model, messages, response_format, max_tokens: 2 })
    await expect(short).rejects.toMatchObject({ status: 400, param: 'max_tokens' })
  })
})

test('tool calls keep to their parameters', async () => {
  const parameters = {
    type: 'object',
    properties: { city: { enum: ['Paris', 'Lyon'] } },
    required: ['city'],
    additionalProperties: false,
  }
  const tools = [{ type: 'function' as const, function: { name: 'get_weather', strict: true, parameters } }]
  const answer = await client.chat.completions.create({
    model,
    messages,
    tools,
    tool_choice: 'required',
    max_tokens: 200,
  })
  const { message, finish_reason } = answer.choices[0]!
  expect(finish_reason).toBe('tool_calls')
  for (const call of message.tool_calls!) {
    if (call.type !== 'function') throw new Error('no function')
    expect(call.function.name).toBe('get_weather')
    expect(['Paris', 'Lyon']).toContain(JSON.parse(call.function.arguments).city)
  }
})

test('too long a prompt is refused with both numbers', async () => {
  const long = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'word '.repeat(2000) }] })
  await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
})

test('a second turn reports what it found in the cache', async () => {
  const turn = { role: 'user' as const, content: 'Once upon a time there was a quick brown fox' }
  const body = { model, messages: [turn], max_tokens: 4, seed: 3 }
  await client.chat.completions.create(body)
  const again = await client.chat.completions.create(body)
  expect(again.usage!.prompt_tokens_details!.cached_tokens).toBe(again.usage!.prompt_tokens - 1)
})

test('leaving a stream stops the engine, and it goes on serving', async () => {
  const controller = new AbortController()
  const stream = await client.chat.completions.create({ model, messages, stream: true }, { signal: controller.signal })
  for await (const _ of stream) break
  controller.abort()
  const answers = await Promise.all(
    [1, 2, 3].map((seed) => client.chat.completions.create({ model, messages, seed, max_tokens: 8 })),
  )
  expect(answers).toHaveLength(3)
})

describe('what is counted is what the model reads', () => {
  const weather = {
    type: 'function' as const,
    name: 'weather',
    description: 'Tells it.',
    parameters: schema,
    strict: true,
  }
  const format = { type: 'json_schema' as const, name: 'book', strict: true, schema }
  const asked = {
    'a text': { instructions: 'Be kind.' },
    'a schema': { text: { format } },
    'a schema, after thinking': { text: { format }, reasoning: { effort: 'low' as const } },
    'any JSON': { text: { format: { type: 'json_object' as const } } },
    tools: { tools: [weather] },
    'tools, none of which may be called': { tools: [weather], tool_choice: 'none' as const },
    'a tool that must be called': { tools: [weather], tool_choice: 'required' as const },
    'one of two tools, by name': {
      tools: [weather, { ...weather, name: 'book' }],
      tool_choice: { type: 'function' as const, name: 'book' },
    },
  }
  const asChat = (tool_choice?: unknown) => ({
    tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    ...(tool_choice !== undefined && { tool_choice }),
  })
  test.each([{}, { response_format }, asChat(), asChat('none'), asChat('required')])('as tokens: %j', async (more) => {
    for (const whose of [model, 'test/thinker']) {
      const body = { model: whose, messages, ...more }
      const { tokens } = await client.post<{ tokens: number[] }>('/tokenize', { body })
      const asked = { ...body, max_tokens: 100, return_token_ids: true }
      const chat = await client.post<{ prompt_token_ids: number[] }>('/chat/completions', { body: asked })
      expect(tokens).toEqual(chat.prompt_token_ids)
    }
  })
  describe.each([model, 'test/thinker'])('by %s', (whose) => {
    test.each(Object.entries(asked))('%s', async (_, more) => {
      const body = { model: whose, input: 'Hello', ...more }
      const { input_tokens } = await client.responses.inputTokens.count(body)
      const { usage } = await client.responses.create({ ...body, max_output_tokens: 100 })
      expect(input_tokens).toBe(usage!.input_tokens)
    })
  })
})
