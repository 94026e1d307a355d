import { expect, test } from 'vitest'
import type { Reach } from './reach.js'
import { authorized, BASE, CHAT, chat, expectCommonHeaders, expectError, probe, valid } from './speak.js'

interface Completion {
  id: string
  created: number
  model: string
  choices: {
    index: number
    finish_reason: string
    message: { role: string; content: string | null; tool_calls?: unknown[] }
  }[]
  usage: unknown
}

export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['city', 'tags'],
  additionalProperties: false,
}

export const strict = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } },
})

export const weatherTool = {
  type: 'function',
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}

export function chatContract(reach: () => Reach, whole: boolean): void {
  async function complete(model: string, body: Record<string, unknown> = {}, base = BASE): Promise<Completion> {
    const answer = await reach().fetch(`${base}/chat/completions`, chat(model, body))
    expect(answer.status, answer.text).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expectCommonHeaders(answer)
    return valid('CreateChatCompletionResponse', JSON.parse(answer.text)) as Completion
  }

  test('a whole answer says how many bytes it has, a stream does not', async () => {
    for (const [path, init] of [
      [CHAT, chat('test/hello')],
      [CHAT, chat('test/nothing')],
      [`${BASE}/models`, { headers: authorized }],
    ] as const) {
      const { headers, text } = await reach().fetch(path, init)
      expect(headers.get('content-length')).toBe(String(new TextEncoder().encode(text).length))
    }
    const streamed = await reach().fetch(CHAT, chat('test/hello', { stream: true }))
    expect(streamed.headers.get('content-length')).toBeNull()
  })

  test('a body near the limit comes through whole, in one piece or in many', async () => {
    const text = 'ä€🌍 '.repeat(80_000)
    const messages = [{ role: 'user', content: text }]
    expect((await complete('test/echo', { messages })).choices[0]!.message.content === text).toBe(true)
    if (!reach().raw) return
    const { body, ...init } = chat('test/echo', { messages })
    const pieces = (body as string).match(/[\s\S]{1,5000}/gu)!
    const answer = await reach().fetch(CHAT, { ...init, body: pieces })
    expect((JSON.parse(answer.text) as Completion).choices[0]!.message.content === text).toBe(true)
  })

  test('many at once, and each gets its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        complete('test/echo', { messages: [{ role: 'user', content: `no. ${i}` }] }),
      ),
    )
    expect(answers.map(({ choices }) => choices[0]!.message.content)).toEqual(answers.map((_, i) => `no. ${i}`))
  })

  if (!whole) return

  test('a completion', async () => {
    const before = Math.floor(Date.now() / 1000)
    const completion = await complete('test/hello')
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'test/hello',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello, wörld 🌍' } }],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 3,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 8 },
      },
    })
    expect(completion.id).toMatch(/^chatcmpl-\S+$/)
    expect(completion.created).toBeGreaterThanOrEqual(before)
    expect(completion.created).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
    expect((await complete('test/hello')).id).not.toBe(completion.id)
  })

  test('what is asked reaches the engine', async () => {
    await complete('test/brief', {
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'text', text: ' there' },
          ],
        },
      ],
      max_completion_tokens: 7,
      temperature: 0.25,
      top_p: 0.5,
      seed: 42,
      stop: ['END'],
    })
    const { lastCall } = await probe(reach(), 'test/brief')
    expect(lastCall).toMatchObject({
      model: 'test/brief',
      maxTokens: 7,
      stop: ['END'],
      sampling: { temperature: 0.25, topP: 0.5, seed: 42 },
    })
    expect(lastCall!.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(lastCall!.messages[0]!.content).toBe('Be brief.')
    expect(lastCall!.messages[1]!.content).toMatch(/^Hi\s+there$/)
  })

  test('strict JSON is the document, as a string', async () => {
    const { choices } = await complete('test/json', strict(citySchema))
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ city: 'Bern', tags: ['a'] })
  })

  test('an answer that breaks the schema is never passed on', async () => {
    const answer = await reach().fetch(CHAT, chat('test/broken-json', strict(citySchema)))
    expectError(answer, { status: 500, type: 'server_error' })
  })

  test('a schema that cannot be enforced is refused before the engine is asked', async () => {
    const before = (await probe(reach(), 'test/json')).started
    const answer = await reach().fetch(CHAT, chat('test/json', strict({ type: 'nonsense' })))
    const message = expectError(answer, { status: 400, type: 'invalid_request_error', param: 'response_format' })
    expect(message).toContain("response_format 'city'")
    expect((await probe(reach(), 'test/json')).started).toBe(before)
  })

  test('a tool call', async () => {
    const { choices } = await complete('test/tools', { tools: [weatherTool], tool_choice: 'required' })
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [{ id: 'call_one', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
      },
    })
  })

  test('a project is counted, and must have the right form', async () => {
    for (const name of ['openai-project', 'compat-project']) {
      const good = await reach().fetch(CHAT, chat('test/hello', {}, { [name]: 'team/counted' }))
      expect(good.status, good.text).toBe(200)
      const bad = await reach().fetch(CHAT, chat('test/hello', {}, { [name]: 'no-slash' }))
      expectError(bad, { status: 400, type: 'invalid_request_error' })
    }
    const usage = await reach().fetch(
      `${BASE}/organization/usage/completions?start_time=0&group_by=project_id&group_by=model`,
      { headers: authorized },
    )
    expect(usage.status, usage.text).toBe(200)
    const page = valid('UsageResponse', JSON.parse(usage.text)) as {
      data: { results: { project_id: string; model: string; num_model_requests: number }[] }[]
    }
    const mine = page.data.flatMap(({ results }) => results).filter((row) => row.project_id === 'team/counted')
    expect(mine).toMatchObject([{ model: 'test/hello', num_model_requests: 2 }])
  })

  test('fields it does not know are named, not refused', async () => {
    const answer = await reach().fetch(CHAT, chat('test/hello', { frobnicate: 1, user: 'me', store: false }))
    expect(answer.status).toBe(200)
    expect([...answer.headers].filter(([, value]) => value.includes('frobnicate'))).toHaveLength(1)
  })
}
