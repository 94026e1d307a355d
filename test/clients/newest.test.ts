/**
 * The newest clients, which ask for Node 22: what is used of them here runs on Node 20 as well. Their calls in full are made
 * by `npm run check:clients`.
 */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText, tool } from 'ai-7'
import OpenAI6 from 'openai'
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
  'test/evidence': {
    capabilities: { evidence: true },
    parts: [
      { type: 'text-delta' as const, choice: 0, text: '{"a":1' },
      { type: 'evidence' as const, choice: 0, evidence: { pointer: '/a', confidence: 0.5 } },
      { type: 'text-delta' as const, choice: 0, text: ',"b":2}' },
      { type: 'evidence' as const, choice: 0, evidence: { pointer: '/b', confidence: 0.75 } },
      { type: 'finish' as const, choice: 0, reason: 'stop' as const },
    ],
  },
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

test.each([
  ['6', OpenAI6],
  ['7', OpenAI],
] as const)('the helpers for streams of openai %s return all evidence with the answer', async (_, Client) => {
  const client = new Client({ baseURL: service.baseURL, apiKey: KEY }) as OpenAI
  const asked = { model: 'test/evidence', evidence: true }
  const all = { '/a': { confidence: 0.5 }, '/b': { confidence: 0.75 } }
  const completion = await client.chat.completions
    .stream({ ...asked, messages: [{ role: 'user', content: 'Say.' }], response_format: { type: 'json_object' } })
    .finalChatCompletion()
  expect(completion.choices).toMatchObject([{ message: { content: '{"a":1,"b":2}' }, evidence: all }])
  const stream = client.responses.stream({ ...asked, input: 'Say.', text: { format: { type: 'json_object' } } })
  const told: unknown[] = []
  stream.on('response.output_text.delta', (event) => {
    if ('evidence' in event) told.push(event.evidence)
  })
  const { output } = await stream.finalResponse()
  expect(output).toMatchObject([{ content: [{ text: '{"a":1,"b":2}', evidence: all }] }])
  expect(told).toEqual([{ '/a': all['/a'] }, { '/b': all['/b'] }])
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
