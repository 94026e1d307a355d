/** The service over models that keep a state beside keys and values, or in their place: spoken to by the official client. */
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lfm2 } from '../../../test/oracles/families/lfm2.js'
import { qwen35 } from '../../../test/oracles/families/qwen3-5.js'
import { writeEncoder } from '../../../test/oracles/files/repository.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'

const model = 'test/states'
const schema = {
  type: 'object',
  properties: { title: { type: 'string', maxLength: 12 }, year: { type: 'integer', minimum: 1900, maximum: 2030 } },
  required: ['title', 'year'],
  additionalProperties: false,
}
const response_format = { type: 'json_schema' as const, json_schema: { name: 'book', strict: true, schema } }
const PROMPTS = [
  'Once upon a time',
  'The answer is 42',
  'weather in Paris?',
  'User: the lazy dog',
  'Sea',
  'STOP the END',
]
const user = (content: string) => ({ role: 'user' as const, content })

describe.each([lfm2, qwen35])('$name over /v1', (of) => {
  const folder = ownFolder()
  const open: V1[] = []
  const service = (size: object = {}) => {
    const models = [{ id: model, from: folder, contextLength: 512, ...size }]
    const v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }), keys: ['secret'] })
    open.push(v1)
    const fetch: typeof globalThis.fetch = (input, init) => v1.fetch(new Request(input, init))
    return new OpenAI({ apiKey: 'secret', baseURL: 'http://device/v1', maxRetries: 0, fetch })
  }
  let client: OpenAI

  beforeAll(async () => {
    const { tokenizer, tokenizerConfig } = smallTokenizer()
    await writeEncoder(of, folder, tokenizer, tokenizerConfig)
    client = service()
  })
  afterAll(async () => {
    for (const v1 of open) await v1.close()
  })

  const answer = async (openai: OpenAI, messages: OpenAI.ChatCompletionMessageParam[], more: object = {}) => {
    const { choices, usage } = await openai.chat.completions.create({
      model,
      messages,
      seed: 5,
      max_tokens: 16,
      ...more,
    })
    return { text: choices[0]!.message.content!, usage: usage! }
  }

  test('says how much memory each kind of layer takes', async () => {
    await answer(client, [user('A book')], { max_tokens: 1 })
    const { metadata } = (await client.models.retrieve(model)) as unknown as { metadata: Record<string, number> }
    const [weights, cache, states] = ['weights', 'cache', 'states'].map((part) => metadata[`${part}_bytes`]!)
    // In f32 as they are stored.
    const stored = of.tensors.reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b), 0)
    expect(weights! / stored).toBeGreaterThan(0.9)
    // Some layers keep keys and values, others a state.
    expect(Math.min(cache!, states!)).toBeGreaterThan(0)
    expect(metadata.memory_bytes!).toBeGreaterThan(weights! + cache! + states!)
    expect(metadata).not.toHaveProperty('windows_bytes')
  })

  test('strict JSON is in its schema, whatever the seed and the budget', async () => {
    for (const seed of [1, 2, 3]) {
      for (const max_tokens of [16, 24, 100]) {
        const { text } = await answer(client, [user('A book')], { response_format, seed, max_tokens })
        const { title, year, ...rest } = JSON.parse(text) as { title: string; year: number }
        expect(rest).toEqual({})
        expect([...title].length).toBeLessThanOrEqual(12)
        expect(year).toBeGreaterThanOrEqual(1900)
        expect(year).toBeLessThanOrEqual(2030)
      }
    }
  })

  test('callers at the same time get what each would get alone', async () => {
    const alone: string[] = []
    for (const prompt of PROMPTS) alone.push((await answer(service(), [user(prompt)])).text)
    const fresh = service()
    const together = await Promise.all(PROMPTS.map((prompt) => answer(fresh, [user(prompt)])))
    expect(together.map(({ text }) => text)).toEqual(alone)
    expect(new Set(alone).size).toBeGreaterThan(PROMPTS.length / 2)
  })

  test('callers that cannot all be kept give way to each other, and get what each would get alone', async () => {
    const cacheTokens = 192
    const small = { contextLength: 128, cacheTokens }
    const long = { max_tokens: 48 }
    const alone: string[] = []
    const one = service(small)
    for (const prompt of PROMPTS) alone.push((await answer(one, [user(prompt)], long)).text)
    const fresh = service(small)
    const together = await Promise.all(PROMPTS.map((prompt) => answer(fresh, [user(prompt)], long)))
    expect(together.map(({ text }) => text)).toEqual(alone)
    const all = together.reduce((sum, { usage }) => sum + usage.total_tokens, 0)
    expect(all).toBeGreaterThan(1.5 * cacheTokens)
  })

  test('a conversation goes on from its state, and says what it would have said from the beginning', async () => {
    const first = await answer(client, [user('Once upon a time there was a quick brown fox')])
    const again = await answer(client, [user('Once upon a time there was a quick brown fox')])
    expect(again.text).toBe(first.text)
    expect(again.usage.prompt_tokens_details!.cached_tokens).toBe(again.usage.prompt_tokens - 1)
    const longer = [
      user('Once upon a time there was a quick brown fox'),
      { role: 'assistant' as const, content: first.text },
      user('and then?'),
    ]
    const next = await answer(client, longer)
    const fresh = await answer(service(), longer)
    expect(fresh.usage.prompt_tokens_details!.cached_tokens).toBe(0)
    // What was read of the first turn is not read again.
    expect(next.usage.prompt_tokens_details!.cached_tokens).toBeGreaterThanOrEqual(first.usage.prompt_tokens - 16)
    expect(next.text).toBe(fresh.text)
  })
})
