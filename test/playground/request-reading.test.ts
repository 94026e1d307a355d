import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { readingOf } from '../../apps/playground/page/request-reading.js'
import { streamEvent } from '../../apps/playground/page/stream-events.js'
import type { ChatCall } from '../../src/contract/engine.js'
import { type Script, type Step, scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'

const usage: Step = { type: 'usage', usage: { promptTokens: 3, completionTokens: 9, cachedTokens: 0 } }
const finish = (reason: 'stop' | 'tool_calls'): Step => ({ type: 'finish', choice: 0, reason })

/** Thinks, then calls what it was given, or says something. */
function speak({ tools }: ChatCall): Script {
  const thought: Step = { type: 'reasoning-delta', choice: 0, text: 'Let me see. ' }
  const more: Step = { type: 'reasoning-delta', choice: 0, text: 'Ah.' }
  const call = (id: string, index: number): Step => {
    return { type: 'tool-call-delta', choice: 0, index, id, name: 'get_weather', arguments: `{"city":"Oslo ${index}"}` }
  }
  const words = ['It ', 'is "five"', '.\n\n', '😀'].map((text): Step => ({ type: 'text-delta', choice: 0, text }))
  const parts = tools.length > 0 ? [call('a', 0), call('b', 1)] : words
  return [thought, more, ...parts, finish(tools.length > 0 ? 'tool_calls' : 'stop'), usage]
}

const engine = scripted({
  models: { 'test/model': speak },
  capabilities: { thinking: true, tools: true, embeddings: true },
  embed: (input) => [String(input).length, 1, 0],
})
const v1 = createV1({ engine, keys: 'none' })

/** The official client, and the text of its last answer. */
function listening() {
  let raw: Promise<string> = Promise.resolve('')
  const client = new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'none',
    fetch: async (url, init) => {
      const response = await v1.fetch(new Request(url, init))
      raw = response.clone().text()
      return response
    },
  })
  return { client, raw: () => raw }
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const messages = [{ role: 'user', content: 'Hi' }] as const
const tool = { name: 'get_weather', parameters }

describe('what an answer says', () => {
  test.each([true, false])('is what the official client makes of chat completions, stream: %s', async (stream) => {
    const { client, raw } = listening()
    const body = { model: 'test/model', messages: [...messages] }
    const read = async (tools?: OpenAI.ChatCompletionTool[]) => {
      const request = tools ? { ...body, tools } : body
      if (!stream) return (await client.chat.completions.create(request)).choices[0]!.message
      return (await client.chat.completions.stream(request).finalChatCompletion()).choices[0]!.message
    }
    const { content } = await read()
    expect(content).toContain('five')
    expect(readingOf(await raw())).toEqual({ text: content, thought: 'Let me see. Ah.', calls: [], facts: [] })
    const { tool_calls } = await read([{ type: 'function', function: tool }])
    const calls = tool_calls!.map((call) =>
      call.type === 'function' ? `${call.function.name}(${call.function.arguments})` : '',
    )
    expect(calls).toHaveLength(2)
    expect(readingOf(await raw()).calls).toEqual(calls)
  })

  test.each([true, false])('is what the official client makes of responses, stream: %s', async (stream) => {
    const { client, raw } = listening()
    const body = { model: 'test/model', input: 'Hi' }
    const read = async (tools: OpenAI.Responses.Tool[]) => {
      const request = { ...body, tools }
      return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request)
    }
    const { output_text } = await read([])
    expect(output_text).toContain('five')
    expect(readingOf(await raw())).toEqual({ text: output_text, thought: 'Let me see. Ah.', calls: [], facts: [] })
    const { output } = await read([{ type: 'function', strict: false, ...tool }])
    const calls = output.flatMap((item) => (item.type === 'function_call' ? `${item.name}(${item.arguments})` : []))
    expect(calls).toHaveLength(2)
    expect(readingOf(await raw()).calls).toEqual(calls)
  })

  test('counts and compares vectors, names scores, and takes anything for an answer', async () => {
    const { client, raw } = listening()
    await client.embeddings.create({ model: 'test/model', input: ['a', 'aa'], encoding_format: 'float' })
    // (1, 1, 0) and (2, 1, 0): 3 / sqrt(10)
    expect(readingOf(await raw()).facts).toEqual(['2 vectors of 3 numbers', 'similarity of the first two: 0.949'])
    const results = [{ index: 1, relevance_score: 0.5 }]
    expect(readingOf(JSON.stringify({ results })).facts).toEqual(['document 2: 0.500'])
    for (const odd of [
      '',
      'null',
      '[1]',
      '{"choices":3}',
      '{"choices":[null]}',
      'data: {',
      '{"data":[{"embedding":"AAAA"}]}',
    ])
      expect(readingOf(odd)).toEqual({ text: '', thought: '', calls: [], facts: [] })
  })
})

describe('the events of a stream', () => {
  const events = (text: string) => text.split('\n\n').flatMap((block) => streamEvent(block) ?? [])

  test('are told by their names, each with what it brings', async () => {
    const { client, raw } = listening()
    for await (const _ of await client.responses.create({ model: 'test/model', input: 'Hi', stream: true })) {
    }
    const lines = events(await raw()).map(({ name, gist }) => `${name} ${gist}`)
    expect(lines[0]).toBe('response.created { "status": "in_progress" }')
    expect(lines).toContain('response.output_text.delta "is \\"five\\""')
    expect(lines.at(-2)).toBe('response.completed { "status": "completed" }')
  })

  test('of chat completions are told by what they are, and the last one as it stands', async () => {
    const { client, raw } = listening()
    const request = {
      model: 'test/model',
      messages: [...messages],
      stream: true,
      stream_options: { include_usage: true },
    }
    for await (const _ of await client.chat.completions.create(request as OpenAI.ChatCompletionCreateParamsStreaming)) {
    }
    const received = events(await raw())
    expect(received.map(({ gist }) => gist)).toContain('{ "delta": { "content": "It " } }')
    expect(received.at(-2)!.gist).toMatch(/^\{ "usage": \{ "prompt_tokens": 3, /)
    expect(received.at(-1)).toEqual({ name: '[DONE]', gist: '', data: undefined })
    expect(new Set(received.slice(0, -1).map(({ name }) => name))).toEqual(new Set(['chat.completion.chunk']))
    expect(JSON.stringify(received[0]!.data)).toBe((await raw()).split('\n')[0]!.slice('data: '.length))
  })

  test('may fail, and rest', () => {
    expect(streamEvent(': still there')).toBeUndefined()
    expect(streamEvent('event: ping\r\ndata: {}')).toMatchObject({ name: 'ping', gist: '{}' })
    expect(streamEvent('data: {"error":{"message":"No room.","code":"cache_full"}}')).toMatchObject({
      name: 'error',
      gist: '{ "message": "No room.", "code": "cache_full" }',
    })
  })
})
