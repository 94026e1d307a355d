import OpenAI, { NotFoundError } from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scenario } from '../contract/scripts.js'
import { KEY, type Service, startService } from './service.js'

const City = z.object({ city: z.string(), tags: z.array(z.string()) })
const document = JSON.stringify({ city: 'Bonn', tags: ['Rhine'] })

const script = {
  ...scenario,
  'test/city': {
    parts: [
      { type: 'text-delta' as const, choice: 0, text: document },
      { type: 'finish' as const, choice: 0, reason: 'stop' as const },
    ],
  },
}

describe('the official client, by responses', () => {
  let service: Service
  let client: OpenAI
  beforeAll(async () => {
    service = await startService(script)
    client = new OpenAI({ baseURL: service.baseURL, apiKey: KEY })
  })
  afterAll(() => service?.close())

  test('creates, and reads the text', async () => {
    const response = await client.responses.create({ model: 'test/hello', input: 'Hello?' })
    expect(response.output_text).toBe('Hello, wörld 🌍')
    expect(response.usage).toMatchObject({ input_tokens: 12, input_tokens_details: { cached_tokens: 8 } })
  })

  test('streams, and puts the events together itself', async () => {
    const stream = client.responses.stream({ model: 'test/hello', input: 'Hello?' })
    let text = ''
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
    expect(text).toBe('Hello, wörld 🌍')
    expect((await stream.finalResponse()).output_text).toBe(text)
  })

  test('parses what zod describes', async () => {
    const format = zodTextFormat(City, 'city')
    const response = await client.responses.parse({ model: 'test/city', input: 'Where?', text: { format } })
    expect(response.output_parsed).toEqual({ city: 'Bonn', tags: ['Rhine'] })
  })

  test('is given functions to call', async () => {
    const { output } = await client.responses.create({
      model: 'test/tools',
      input: 'Weather?',
      tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false }],
    })
    expect(output.find(({ type }) => type === 'function_call')).toMatchObject({ name: 'weather' })
  })

  test('goes on from a response that was kept, and deletes it', async () => {
    const first = await client.responses.create({ model: 'test/hello', input: 'Hello?', store: true })
    const second = await client.responses.create({ model: 'test/hello', input: 'And?', previous_response_id: first.id })
    expect(second.previous_response_id).toBe(first.id)
    expect((await client.responses.retrieve(first.id)).output_text).toBe(first.output_text)
    const items: unknown[] = []
    for await (const item of client.responses.inputItems.list(first.id)) items.push(item)
    expect(items).toHaveLength(1)
    await client.responses.delete(first.id)
    await expect(client.responses.retrieve(first.id)).rejects.toThrow(NotFoundError)
  })

  test('begins a conversation with nothing, in every way', async () => {
    const made = [
      await client.conversations.create(),
      await client.conversations.create(null),
      await client.post<{ id: string }>('/conversations'),
    ]
    for (const { id } of made) expect((await client.conversations.retrieve(id)).id).toBe(id)
  })

  test('keeps a conversation, and continues it', async () => {
    const { id } = await client.conversations.create({
      items: [{ type: 'message', role: 'user', content: 'I am Ann.' }],
      metadata: { topic: 'tea' },
    })
    expect((await client.conversations.retrieve(id)).metadata).toEqual({ topic: 'tea' })
    const { metadata } = await client.conversations.update(id, { metadata: { topic: 'rice' } })
    expect(metadata).toEqual({ topic: 'rice' })
    for (const input of ['Hello?', 'And?']) {
      const response = await client.responses.create({ model: 'test/hello', input, conversation: id })
      expect(response.conversation).toEqual({ id })
    }
    const roles: string[] = []
    for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 })) {
      if (item.type === 'message') roles.push(item.role)
    }
    expect(roles).toEqual(['user', 'user', 'assistant', 'user', 'assistant'])
    const added = await client.conversations.items.create(id, { items: [{ role: 'user', content: 'Bye.' }] })
    const place = { conversation_id: id }
    expect(await client.conversations.items.retrieve(added.first_id, place)).toEqual(added.data[0])
    expect((await client.conversations.items.delete(added.first_id, place)).id).toBe(id)
    await expect(client.conversations.items.retrieve(added.first_id, place)).rejects.toThrow(NotFoundError)
    expect(await client.conversations.delete(id)).toEqual({ id, object: 'conversation.deleted', deleted: true })
    await expect(client.conversations.retrieve(id)).rejects.toThrow(NotFoundError)
  })

  test('asks in the background, and looks again', async () => {
    let response = await client.responses.create({ model: 'test/hello', input: 'Hello?', background: true })
    expect(response.status).toBe('queued')
    while (response.status !== 'completed') response = await client.responses.retrieve(response.id)
    expect(response.output_text).toBe('Hello, wörld 🌍')
  })

  test('throws what went wrong in mid-stream', async () => {
    const stream = await client.responses.create({ model: 'test/error-late', input: 'Hello?', stream: true })
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow('The device was lost.')
  })
})
