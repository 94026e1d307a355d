/** A draft model beside a model on the CPU device, asked as an application asks: over the service, with a real client. */
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { openCpuDevice } from '../../device/cpu/index.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { createV1, type V1 } from '../../index.js'
import { WebGpuEngine } from './engine.js'
import type { ModelOptions, WebGpuOptions } from './options.js'
import { tinyRepository } from './tiny-repository.test-helper.js'

const open: V1[] = []
afterAll(async () => {
  for (const v1 of open) await v1.close()
})

const schema = {
  type: 'object',
  properties: { title: { type: 'string', maxLength: 12 }, year: { type: 'integer', minimum: 1900, maximum: 2030 } },
  required: ['title', 'year'],
  additionalProperties: false,
}
const REQUESTS: Readonly<Record<string, object>> = {
  greedily: { temperature: 0 },
  'by chance': { temperature: 1, seed: 7 },
  'under a schema': {
    response_format: { type: 'json_schema', json_schema: { name: 'book', strict: true, schema } },
    seed: 3,
  },
  'with a tool': {
    tools: [{ type: 'function', function: { name: 'find', strict: true, parameters: schema } }],
    tool_choice: 'required',
    seed: 2,
  },
  'three times': { n: 3, seed: 5 },
}

const BYTES = new Map([
  ['test/large', 11],
  ['test/same', 11],
  ['test/other', 12],
])

/** An engine over repositories in memory: those of one seed are one model. */
function setUp(draft: string | undefined, options: Partial<WebGpuOptions> = {}) {
  const opened: string[] = []
  const began: string[] = []
  const model: ModelOptions = { id: 'test/large', contextLength: 512, ...(draft && { draft }) }
  const engine = new WebGpuEngine(
    { models: [model], log: () => {}, ...options },
    {
      openDevice: () => openCpuDevice({ threads: 1 }),
      async openRepository({ id }, _, __, check) {
        opened.push(id)
        const text = id === 'test/foreign' ? smallTokenizer(100) : smallTokenizer()
        const { source } = tinyRepository(BYTES.get(id) ?? 1, 512, text)
        await check(source, text)
        began.push(id)
        return { weights: source, text }
      },
    },
  )
  const v1 = createV1({ engine, keys: ['secret'] })
  open.push(v1)
  const fetch: typeof globalThis.fetch = (input, init) => v1.fetch(new Request(input, init))
  const client = new OpenAI({ apiKey: 'secret', baseURL: 'http://device/v1', maxRetries: 0, fetch })
  const ask = async (more: object, content = 'Once upon a time') => {
    const request = { model: 'test/large', messages: [{ role: 'user' as const, content }], max_tokens: 40, ...more }
    const { choices, usage } = (await client.chat.completions.create(request)) as OpenAI.ChatCompletion
    const answers = choices.map(({ message: { content, tool_calls }, finish_reason }) => {
      return { content, called: tool_calls?.map((call) => 'function' in call && call.function), finish_reason }
    })
    return { answers, tokens: usage!.completion_tokens }
  }
  const metadata = async () => {
    const { metadata } = (await client.models.retrieve('test/large')) as unknown as { metadata: Record<string, number> }
    return metadata
  }
  return { engine, v1, ask, opened, began, metadata }
}

describe('with a draft model', () => {
  const without = setUp(undefined)
  const same = setUp('test/same', { drafts: 'always' })
  const other = setUp('test/other', { drafts: 'always' })

  test.each(Object.keys(REQUESTS))('the same is said %s', async (how) => {
    const expected = await without.ask(REQUESTS[how]!)
    expect(await same.ask(REQUESTS[how]!)).toEqual(expected)
    expect(await other.ask(REQUESTS[how]!)).toEqual(expected)
  })

  test('the same is said in company', async () => {
    const all = ({ ask }: typeof same) =>
      Promise.all(Object.values(REQUESTS).map((more, i) => ask(more, `The answer is ${i}`)))
    expect(await all(same)).toEqual(await all(without))
  })

  test('its memory is told, counted, and given back with the model', async () => {
    const metadata = await same.metadata()
    expect(metadata.draft_bytes!).toBeGreaterThan(0)
    expect(metadata.memory_bytes!).toBeGreaterThan(metadata.draft_bytes! + metadata.weights_bytes!)
    expect(metadata.memory_bytes!).toBeGreaterThan((await without.metadata()).memory_bytes!)
    await same.engine.unload('test/large')
    expect(await same.metadata()).not.toHaveProperty('draft_bytes')
    await same.ask({ temperature: 0 })
    expect((await same.metadata()).draft_bytes).toBe(metadata.draft_bytes)
  })
})

test('one of another vocabulary is refused by name before anything is downloaded', async () => {
  const { ask, opened, began } = setUp('test/foreign')
  await expect(ask({})).rejects.toMatchObject({
    status: 500,
    code: 'draft_model_mismatch',
    message: expect.stringMatching(/'test\/foreign' cannot guess what 'test\/large' says: .*token \d+/),
  })
  expect([opened, began]).toEqual([['test/large', 'test/foreign'], []])
})

test('where nothing is ever guessed it is not opened', async () => {
  const { ask, opened } = setUp('test/same', { drafts: 'never' })
  await ask({ temperature: 0 })
  expect(opened).toEqual(['test/large'])
})

test('a name that is none is refused at once', () => {
  expect(() => setUp('no name at all')).toThrow(TypeError)
  expect(() => setUp(5 as never)).toThrow('The draft of test/large must be the name of a model')
})
