/**
 * The newest clients, which ask for Node 22: what is used of them here runs on Node 20 as well. Their calls in full are made
 * by `npm run check:clients`.
 */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool } from 'ai-7'
import OpenAI from 'openai-7'
import { zodTextFormat } from 'openai-7/helpers/zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryResponses } from '../../src/service/endpoints/responses/store/shelved.js'
import { scenario } from '../contract/scripts.js'
import { KEY, type Service, startService } from './service.js'

const SAID = 'Hello, wörld 🌍'
const script = {
  ...scenario,
  'test/tools-then-text': { ...scenario['test/hello']!, first: [scenario['test/tools']!] },
  'test/tools-then-stream': { ...scenario['test/hello']!, first: [scenario['test/tools']!] },
}

let service: Service
beforeAll(async () => {
  service = await startService(script, { responses: memoryResponses() })
})
afterAll(() => service?.close())

describe('openai 7', () => {
  const client = () => new OpenAI({ baseURL: service.baseURL, apiKey: KEY })
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

  test('chats, whole and streamed, and goes on behind a call', async () => {
    const ask = { model: 'test/hello', messages: [{ role: 'user' as const, content: 'Hello?' }] }
    expect((await client().chat.completions.create(ask)).choices[0]!.message.content).toBe(SAID)
    const called = await client()
      .chat.completions.stream({
        ...{ model: 'test/tools', messages: ask.messages },
        tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      })
      .finalMessage()
    const results = called.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }))
    const { choices } = await client().chat.completions.create({
      ...ask,
      messages: [...ask.messages, called, ...results],
    })
    expect(choices[0]!.message.content).toBe(SAID)
  })

  test('creates responses, goes on from them, and reads documents', async () => {
    const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }]
    const first = await client().responses.create({ model: 'test/tools', input: 'Weather?', tools })
    const input = first.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }]
        : [],
    )
    const stream = client().responses.stream({ model: 'test/hello', previous_response_id: first.id, input, tools })
    expect((await stream.finalResponse()).output_text).toBe(SAID)
    const format = zodTextFormat(z.object({ city: z.string(), tags: z.array(z.string()) }), 'city')
    const reply = await client().responses.parse({ model: 'test/json', input: 'A city.', text: { format } })
    expect(reply.output_parsed).toEqual({ city: 'Bern', tags: ['a'] })
  })
})

describe('the AI SDK 7 by its default provider', () => {
  const requestOf = (model: string) => ({
    model: createOpenAI({ baseURL: service.baseURL, apiKey: KEY })(model),
    prompt: 'How is the weather?',
    tools: { weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async () => 'sunny' }) },
    stopWhen: isStepCount(2),
  })

  test('answers behind a tool, whole and streamed, and goes on with what it was told', async () => {
    const { text, steps, response } = await generateText(requestOf('test/tools-then-text'))
    expect([text, steps.length]).toEqual([SAID, 2])
    const streamed = streamText(requestOf('test/tools-then-stream'))
    expect(await streamed.text).toBe(SAID)
    const { prompt, ...rest } = requestOf('test/hello')
    const messages = [
      { role: 'user' as const, content: prompt },
      ...response.messages,
      { role: 'user' as const, content: 'And now?' },
    ]
    expect((await generateText({ ...rest, messages })).text).toBe(SAID)
  })
})
