import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateObject, generateText, RetryError, stepCountIs, streamText, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scenario } from '../contract/scripts.js'
import { until } from '../contract/speak.js'
import { KEY, type Service, startService } from './service.js'

const script = {
  ...scenario,
  'test/tools-then-text': { ...scenario['test/hello'], first: [scenario['test/tools']!] },
  'test/loading-once': { ...scenario['test/hello'], first: [scenario['test/loading']!] },
}

describe('the AI SDK through openai-compatible', () => {
  let service: Service
  let provider: ReturnType<typeof createOpenAICompatible>
  beforeAll(async () => {
    service = await startService(script)
    provider = createOpenAICompatible({
      name: 'local-v1',
      baseURL: service.baseURL,
      apiKey: KEY,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })
  })
  afterAll(() => service?.close())

  test('generateText', async () => {
    const { text, usage, finishReason } = await generateText({ model: provider('test/hello'), prompt: 'Hello?' })
    expect(text).toBe('Hello, wörld 🌍')
    expect(finishReason).toBe('stop')
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 3, totalTokens: 15 })
    expect(usage.inputTokenDetails.cacheReadTokens).toBe(8)
  })

  test('streamText', async () => {
    const result = streamText({ model: provider('test/hello'), prompt: 'Hello?' })
    const pieces: string[] = []
    for await (const piece of result.textStream) pieces.push(piece)
    expect(pieces.join('')).toBe('Hello, wörld 🌍')
    expect(pieces.length).toBeGreaterThan(1)
    expect(await result.usage).toMatchObject({ inputTokens: 12, outputTokens: 3 })
  })

  test('generateObject sends the schema and gets its object', async () => {
    const schema = z.object({ city: z.string(), tags: z.array(z.string()) })
    const { object } = await generateObject({ model: provider('test/json'), schema, prompt: 'A city.' })
    expect(object).toEqual({ city: 'Bern', tags: ['a'] })
    expect(service.probe('test/json').lastCall!.output).toMatchObject({ type: 'json_schema', strict: true })
  })

  test('tools, and the answer after them', async () => {
    const requests: unknown[] = []
    const { text, steps } = await generateText({
      model: provider('test/tools-then-text'),
      prompt: 'How is the weather?',
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async (input) => {
            requests.push(input)
            return 'sunny'
          },
        }),
      },
      stopWhen: stepCountIs(2),
    })
    expect(requests).toEqual([{ city: 'Bern' }])
    expect(steps).toHaveLength(2)
    expect(text).toBe('Hello, wörld 🌍')
  })

  test('an abort stops the engine', async () => {
    const controller = new AbortController()
    const { textStream } = streamText({
      model: provider('test/endless'),
      prompt: 'Hello?',
      abortSignal: controller.signal,
    })
    for await (const piece of textStream) if (piece) controller.abort()
    await until(
      async () => service.probe('test/endless'),
      ({ active, aborted }) => active === 0 && aborted === 1,
    )
  })

  test('retries what may be retried, and names what may not', async () => {
    const { text } = await generateText({ model: provider('test/loading-once'), prompt: 'Hello?' })
    expect(text).toBe('Hello, wörld 🌍')
    const failing = generateText({ model: provider('test/nothing'), prompt: 'Hello?' })
    const error = await failing.catch((thrown: unknown) => thrown)
    expect(RetryError.isInstance(error)).toBe(false)
    expect(APICallError.isInstance(error) && error.statusCode).toBe(404)
    expect((error as Error).message).toContain('test/nothing')
  })
})
