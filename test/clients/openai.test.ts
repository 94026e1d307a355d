import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { LengthFinishReasonError } from 'openai/error'
import { zodResponseFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Part } from '../../src/contract/engine.js'
import { scenario } from '../contract/scripts.js'
import { until } from '../contract/speak.js'
import { KEY, type Service, startService } from './service.js'

const City = z.object({ city: z.string(), tags: z.array(z.string()) })
const messages = [{ role: 'user' as const, content: 'Hello?' }]

const cut: Part[] = [
  { type: 'text-delta', choice: 0, text: '{"city":"B","tags":[]}' },
  { type: 'finish', choice: 0, reason: 'length' },
]
const busy = { error: { status: 429, message: 'Too many at once.', retryAfter: 0.05 } }
const loading = { error: { status: 503, message: 'Loading.', retryAfter: 0.05 } }
const script = {
  ...scenario,
  'test/cut': { parts: cut },
  'test/busy-once': { ...scenario['test/hello'], first: [busy] },
  'test/loading-twice': { ...scenario['test/hello'], first: [loading, loading] },
  'test/always-busy': busy,
  'test/tools-then-text': { ...scenario['test/hello'], first: [scenario['test/tools']!] },
}

describe('the official client', () => {
  let service: Service
  let client: OpenAI
  beforeAll(async () => {
    service = await startService(script)
    client = new OpenAI({ baseURL: service.baseURL, apiKey: KEY, project: 'team/app' })
  })
  afterAll(() => service?.close())

  const create = (model: string) => client.chat.completions.create({ model, messages })

  test('lists models, and retrieves one', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(Object.keys(script))
    expect(await client.models.retrieve('test/hello')).toMatchObject({ id: 'test/hello', created: 0, object: 'model' })
  })

  test('creates, and sends its project as it is', async () => {
    const { data, response, request_id } = await create('test/hello').withResponse()
    expect(data.choices[0]!.message.content).toBe('Hello, wörld 🌍')
    expect(data.usage).toMatchObject({ prompt_tokens: 12, prompt_tokens_details: { cached_tokens: 8 } })
    expect(request_id).toMatch(/\S/)
    expect(response.headers.get('x-request-id')).toBe(request_id)
    expect(service.requests.at(-1)!.headers['openai-project']).toBe('team/app')
  })

  test('streams', async () => {
    let text = ''
    const stream = await client.chat.completions.create({
      model: 'test/hello',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    let usage: unknown
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      usage ??= chunk.usage
    }
    expect(text).toBe('Hello, wörld 🌍')
    expect(usage).toMatchObject({ completion_tokens: 3 })
  })

  test('parses with zod', async () => {
    const response_format = zodResponseFormat(City, 'city')
    const completion = await client.chat.completions.parse({ model: 'test/json', messages, response_format })
    expect(completion.choices[0]!.message.parsed).toEqual({ city: 'Bern', tags: ['a'] })
    const tooShort = client.chat.completions.parse({ model: 'test/cut', messages, response_format })
    await expect(tooShort).rejects.toBeInstanceOf(LengthFinishReasonError)
  })

  test('the stream helper: events, the parsed document, the usage', async () => {
    const response_format = zodResponseFormat(City, 'city')
    const runner = client.chat.completions.stream({
      model: 'test/json',
      messages,
      response_format,
      stream_options: { include_usage: true },
    })
    const deltas: string[] = []
    runner.on('content.delta', ({ delta }) => deltas.push(delta))
    const completion = await runner.finalChatCompletion()
    expect(completion.choices[0]!.message.parsed).toEqual({ city: 'Bern', tags: ['a'] })
    expect(deltas.join('')).toBe('{"city":"Bern","tags":["a"]}')
    expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 20, completion_tokens: 9 })
  })

  test('runs tools', async () => {
    const requests: unknown[] = []
    const runner = client.chat.completions.runTools({
      model: 'test/tools-then-text',
      messages,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Says how the weather is.',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            parse: JSON.parse,
            function: (args: unknown) => {
              requests.push(args)
              return 'sunny'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('Hello, wörld 🌍')
    expect(requests).toEqual([{ city: 'Bern' }])
    const { lastCall } = service.probe('test/tools-then-text')
    expect(lastCall!.messages.at(-1)).toMatchObject({ role: 'tool', content: 'sunny', toolCallId: 'call_one' })
  })

  test('leaving a stream stops the engine', async () => {
    const stream = await client.chat.completions.create({ model: 'test/endless', messages, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    const { aborted } = await until(
      async () => service.probe('test/endless'),
      ({ active }) => active === 0,
    )
    expect(aborted).toBe(1)
  })

  test('an abort signal stops the engine before the first word', async () => {
    const controller = new AbortController()
    const completion = client.chat.completions.create(
      { model: 'test/thinking', messages },
      { signal: controller.signal },
    )
    await until(
      async () => service.probe('test/thinking'),
      ({ active }) => active === 1,
    )
    controller.abort()
    await expect(completion).rejects.toBeInstanceOf(APIUserAbortError)
    await until(
      async () => service.probe('test/thinking'),
      ({ active }) => active === 0,
    )
  })

  test.each([
    ['test/busy-once', 2],
    ['test/loading-twice', 3],
  ])('tries again when it is told to: %s', async (model, tries) => {
    const completion = await create(model)
    expect(completion.choices[0]!.message.content).toBe('Hello, wörld 🌍')
    expect(service.probe(model).started).toBe(tries)
  })

  test('gives up after its own number of tries, with its own error', async () => {
    const error = await create('test/always-busy').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RateLimitError)
    expect((error as RateLimitError).message).toContain('Too many at once.')
    expect(service.probe('test/always-busy').started).toBe(3)
  })

  test('a fault of the server is told with an id to ask about it', async () => {
    const completion = client.chat.completions.create({ model: 'test/crash', messages }, { maxRetries: 0 })
    const error = await completion.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InternalServerError)
    expect((error as InternalServerError).requestID).toMatch(/\S/)
  })

  test('each refusal is the error class it should be', async () => {
    await expect(create('test/nothing')).rejects.toBeInstanceOf(NotFoundError)
    await expect(client.models.retrieve('test/nothing')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
    const wrongKey = new OpenAI({ baseURL: service.baseURL, apiKey: 'sk-wrong' })
    await expect(wrongKey.models.list()).rejects.toBeInstanceOf(AuthenticationError)
    const hot = client.chat.completions.create({ model: 'test/hello', messages, temperature: 3 })
    await expect(hot).rejects.toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' })
    const wrongProject = new OpenAI({ baseURL: service.baseURL, apiKey: KEY, project: 'proj_123' })
    await expect(wrongProject.models.list()).rejects.toBeInstanceOf(BadRequestError)
  })

  test('an error in mid-stream is thrown out of the loop', async () => {
    const stream = await client.chat.completions.create({ model: 'test/error-late', messages, stream: true })
    let text = ''
    const loop = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    })()
    await expect(loop).rejects.toThrow('The device was lost.')
    expect(text).toBe('so far')
  })
})
