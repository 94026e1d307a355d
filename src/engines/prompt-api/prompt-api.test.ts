import { describe, expect, test } from 'vitest'
import { createV1 } from '../../v1.js'
import { scripted } from '../scripted.js'
import { fallback } from '../upstream.js'
import { promptApi } from './index.js'
import type { Availability, LanguageModelApi, PromptOptions, SessionOptions } from './language-model.js'

/** The browser's model as its specification has it: says what it is told to, in pieces, and notes what it was asked. */
function standIn(answers: readonly (string | Error)[], availability: Availability = 'available') {
  const seen = {
    sessions: [] as SessionOptions[],
    prompts: [] as [string, PromptOptions | undefined][],
    open: 0,
    cut: 0,
  }
  let at = 0
  const api: LanguageModelApi = {
    availability: async () =>
      seen.sessions.length > 0 && availability === 'downloadable' ? 'available' : availability,
    async create(options = {}) {
      seen.sessions.push(options)
      seen.open++
      const monitor = new EventTarget()
      options.monitor?.(monitor)
      monitor.dispatchEvent(Object.assign(new Event('downloadprogress'), { loaded: 0.5, total: 1 }))
      return {
        contextWindow: 6144,
        contextUsage: 3,
        measureContextUsage: async (text) => text.length,
        promptStreaming(text, prompting) {
          seen.prompts.push([text, prompting])
          const answer = answers[Math.min(at++, answers.length - 1)]
          const pieces = typeof answer === 'string' ? (answer.match(/.{1,3}/gs) ?? []) : []
          return new ReadableStream({
            pull(controller) {
              if (answer instanceof Error) return controller.error(answer)
              const piece = pieces.shift()
              if (piece === undefined) controller.close()
              else controller.enqueue(piece)
            },
            cancel: () => void seen.cut++,
          })
        },
        destroy: () => void seen.open--,
      }
    },
  }
  return { api, seen }
}

const ID = 'browser/built-in'
const schema = {
  type: 'object',
  properties: { stars: { type: 'integer', minimum: 1, maximum: 5 } },
  required: ['stars'],
  additionalProperties: false,
}
const strict = { type: 'json_schema', json_schema: { name: 'review', strict: true, schema } }

function asking(engine: ReturnType<typeof promptApi>) {
  const v1 = createV1({ engine, keys: 'none', log: () => {} })
  return async (body: object) => {
    const response = await v1.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: ID, messages: [{ role: 'user', content: 'Hi' }], ...body }),
      }),
    )
    const text = await response.text()
    return { status: response.status, text, json: () => JSON.parse(text) }
  }
}

describe("the browser's built-in model", () => {
  test('answers, whole and as a stream, and leaves no session behind', async () => {
    const { api, seen } = standIn(['Hello, wörld 🌍'])
    const ask = asking(promptApi({ languageModel: api, languages: ['en'] }))
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: 'Greet me.' },
    ]
    const { choices, usage } = (await ask({ messages })).json()
    expect(choices[0]).toMatchObject({ message: { content: 'Hello, wörld 🌍' }, finish_reason: 'stop' })
    expect(usage).toMatchObject({ prompt_tokens: 3 + 'Greet me.'.length })
    expect(seen.sessions[0]).toMatchObject({
      initialPrompts: [messages[0], messages[1], messages[2]],
      expectedOutputs: [{ type: 'text', languages: ['en'] }],
    })
    expect(seen.prompts[0]?.[0]).toBe('Greet me.')
    const { text } = await ask({ stream: true })
    expect(text.match(/"content":"Hel"/g)).toHaveLength(1)
    expect(text.trimEnd()).toMatch(/\[DONE\]$/)
    expect(seen.open).toBe(0)
  })

  test('stops where it is told to, and lets the browser stop too', async () => {
    const { api, seen } = standIn(['one two three four five'])
    const ask = asking(promptApi({ languageModel: api }))
    expect((await ask({ stop: ['ee f'] })).json().choices[0].message.content).toBe('one two thr')
    const cut = (await ask({ max_tokens: 7 })).json().choices[0]
    expect(cut).toMatchObject({ message: { content: 'one tw' }, finish_reason: 'length' })
    expect([seen.open, seen.cut]).toEqual([0, 2])
  })

  test('writes documents that the grammar has looked at, and asks again for one that is none', async () => {
    const { api, seen } = standIn(['{ "stars": 9 }', 'none', '{\n  "stars": 4\n}'])
    const ask = asking(promptApi({ languageModel: api }))
    const answer = await ask({ response_format: strict })
    expect(answer.json().choices[0].message.content).toBe('{"stars":4}')
    expect(seen.prompts.map(([, options]) => options?.responseConstraint)).toEqual([schema, schema, schema])
    const wrong = asking(promptApi({ languageModel: standIn(['{"stars":9}']).api }))
    expect([
      (await wrong({ response_format: strict })).status,
      (await wrong({ response_format: strict })).text,
    ]).toEqual([500, expect.stringContaining('invalid_output')])
    const text = (await wrong({ response_format: strict, stream: true })).text
    expect(text).not.toContain('stars')
  })

  test.each([
    [{ n: 2 }, 'n'],
    [{ seed: 1 }, 'seed'],
    [{ temperature: 0 }, 'temperature'],
    [{ top_p: 0.5 }, 'top_p'],
    [{ frequency_penalty: 1 }, 'frequency_penalty'],
    [{ logit_bias: { 1: 1 } }, 'logit_bias'],
    [{ logprobs: true }, 'logprobs'],
    [{ response_format: strict, max_tokens: 5 }, 'max_tokens'],
    [{ messages: [{ role: 'assistant', content: 'a' }] }, 'messages[0].role'],
  ])('refuses by name what it cannot do: %j', async (body, param) => {
    const { api, seen } = standIn(['x'])
    const { status, json } = await asking(promptApi({ languageModel: api }))(body)
    expect([status, json().error.param]).toEqual([400, param])
    expect(seen.sessions).toEqual([])
  })

  test('takes a temperature where the browser does', async () => {
    const { api, seen } = standIn(['x'])
    const warm = { ...api, params: async () => ({ defaultTopK: 3, maxTemperature: 2 }) }
    expect((await asking(promptApi({ languageModel: warm }))({ temperature: 0 })).status).toBe(200)
    expect(seen.sessions[0]).toMatchObject({ temperature: 0, topK: 3 })
  })

  test.each([
    ['QuotaExceededError', 400, 'context_length_exceeded'],
    ['NotSupportedError', 400, 'unsupported_value'],
    ['NotAllowedError', 503, 'device_unavailable'],
    ['UnknownError', 503, 'engine_failed'],
  ])('says what the browser says no with: %s', async (name, status, code) => {
    const { api, seen } = standIn([new DOMException('no', name)])
    const answer = await asking(promptApi({ languageModel: api }))({})
    expect([answer.status, answer.json().error.code]).toEqual([status, code])
    expect(seen.open).toBe(0)
  })

  test('makes room for another engine where there is none', async () => {
    const other = scripted({ models: { [ID]: 'From the other.' } })
    for (const first of [promptApi(), promptApi({ languageModel: standIn(['x'], 'unavailable').api })]) {
      const alone = await asking(first)({})
      expect([alone.status, alone.json().error.code]).toEqual([503, 'no_device'])
      const { choices } = (await asking(fallback(first, other))({})).json()
      expect(choices[0].message.content).toBe('From the other.')
    }
  })

  test('tells how far the browser is with its download', async () => {
    const { api, seen } = standIn(['x'], 'downloadable')
    const told: string[] = []
    const engine = promptApi({ languageModel: api })
    await engine.load?.(
      ID,
      ({ phase, bytesLoaded }) => told.push(`${phase} ${bytesLoaded}`),
      new AbortController().signal,
    )
    expect(told).toEqual(['download 0.5', 'ready 1'])
    expect(engine.models[0]).toMatchObject({ contextLength: 6144, metadata: { loaded: true } })
    expect(seen.open).toBe(0)
  })
})
