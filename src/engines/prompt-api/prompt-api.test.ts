import { describe, expect, test } from 'vitest'
import { createV1 } from '../../service/v1.js'
import { scripted } from '../scripted.js'
import { fallback } from '../upstream.js'
import { promptApi } from './index.js'
import { standIn } from './stand-in.test-helper.js'

const ID = 'browser/built-in'
const schema = {
  type: 'object',
  properties: { stars: { type: 'integer', minimum: 1, maximum: 5 } },
  required: ['stars'],
  additionalProperties: false,
}
const USER = { role: 'user', content: 'Hi' }
const IMAGE = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }
const CALLS = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'a', arguments: '{}' } }],
}
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: '1' }
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
    expect(usage).toMatchObject({ prompt_tokens: 'Be kind.HiYes?Greet me.'.length })
    expect(seen.sessions[0]).toMatchObject({
      initialPrompts: [messages[0], messages[1], messages[2]],
      expectedInputs: [{ type: 'text', languages: ['en'] }],
      expectedOutputs: [{ type: 'text', languages: ['en'] }],
    })
    expect(seen.prompts[0]?.[0]).toBe('Greet me.')
    const { text } = await ask({ stream: true })
    expect(text.match(/"content":"Hel"/g)).toHaveLength(1)
    expect(text.trimEnd()).toMatch(/\[DONE\]$/)
    expect(seen.open).toBe(0)
  })

  test('says by name that it cannot decide, and asks the browser nothing', async () => {
    const { api, seen } = standIn(['Yes'])
    const v1 = createV1({ engine: promptApi({ languageModel: api }), keys: 'none', log: () => {} })
    const send = async (path: string, body?: object) => {
      const headers = { 'content-type': 'application/json' }
      const init = body && { method: 'POST', headers, body: JSON.stringify({ model: ID, ...body }) }
      const response = await v1.fetch(new Request(`http://localhost/v1${path}`, init))
      return { status: response.status, body: await response.json() }
    }
    const question = { type: 'predicate', instructions: 'It rains.' }
    for (const answer of [
      await send('/decisions', { input: 'x', questions: [question] }),
      await send('/systemone', { state: 'x', questions: { rain: { type: 'noul' } } }),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { error: { param: 'model', code: 'unsupported_model' } } })
      expect(answer.body.error.message).toContain(`'${ID}' cannot decide, because it returns no log probabilities`)
    }
    const { body } = await send('/models')
    expect(body.data[0].capabilities).toMatchObject({ decisions: false })
    expect(body.models).toEqual([])
    expect(seen.sessions).toEqual([])
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
    // What the browser puts before the model of the schema is counted too.
    expect(answer.json().usage.prompt_tokens).toBe('Hi'.length + JSON.stringify(schema).length)
    expect(seen.open).toBe(0)
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
    [{ tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'object' } } }] }, 'tools'],
    [{ chat_template_kwargs: { persona: 'pirate' } }, 'chat_template_kwargs'],
    [{ presence_penalty: 1 }, 'presence_penalty'],
    [{ top_k: 5 }, 'top_k'],
    [{ min_p: 0.1 }, 'min_p'],
    [{ repetition_penalty: 1.1 }, 'repetition_penalty'],
    [{ min_tokens: 5 }, 'min_tokens'],
    [{ ignore_eos: true }, 'ignore_eos'],
    [{ stop_token_ids: [1] }, 'stop_token_ids'],
    [{ return_token_ids: true }, 'return_token_ids'],
    [{ guided_regex: 'a+' }, 'guided_regex'],
    [{ response_format: strict, stop: ['x'] }, 'stop'],
    [{ messages: [IMAGE] }, 'messages[0].content[0].type'],
    [{ messages: [USER, { role: 'system', content: 'Late.' }, USER] }, 'messages[1].role'],
    [{ messages: [USER, CALLS, RESULT, USER] }, 'messages[1].tool_calls'],
    [{ response_format: strict, max_tokens: 5 }, 'max_tokens'],
    [{ messages: [{ role: 'assistant', content: 'a' }] }, 'messages[0].role'],
  ])('refuses by name what it cannot do: %j', async (body, param) => {
    const { api, seen } = standIn(['x'])
    const { status, json } = await asking(promptApi({ languageModel: api }))(body)
    expect([status, json().error.param]).toEqual([400, param])
    expect(seen.sessions).toEqual([])
  })

  test('takes a temperature where the browser does', async () => {
    const { api, seen } = standIn(['x'], { extension: true })
    const ask = asking(promptApi({ languageModel: api, samplingMode: 'predictable' }))
    expect((await ask({ temperature: 0 })).status).toBe(200)
    expect(seen.sessions[0]).toMatchObject({ temperature: 0, topK: 3 })
  })

  test('varies answers as the page wants, and is none where the browser knows no modes', async () => {
    const { api, seen } = standIn(['x'])
    const ask = asking(promptApi({ languageModel: api, samplingMode: 'most-predictable' }))
    expect((await ask({})).status).toBe(200)
    expect(seen.sessions[0]).toMatchObject({ samplingMode: 'most-predictable' })
    const old = standIn(['x'], { knowsModes: false })
    const refused = await asking(promptApi({ languageModel: old.api, samplingMode: 'creative' }))({})
    expect([refused.status, refused.json().error.code]).toEqual([503, 'no_device'])
    expect(refused.text).toContain('samplingMode')
    expect([seen.open, old.seen.open]).toEqual([0, 0])
  })

  test('begins each try where the messages end', async () => {
    // Tries that followed each other would fill the context by the second.
    const contextWindow = 'Hi'.length + JSON.stringify(schema).length + 20
    const { api, seen } = standIn(['none', new DOMException('gave up', 'SyntaxError'), '{"stars":4}'], {
      contextWindow,
    })
    const answer = await asking(promptApi({ languageModel: api }))({ response_format: strict })
    expect(answer.json().choices[0].message.content).toBe('{"stars":4}')
    expect([seen.prompts.length, seen.open]).toEqual([3, 0])
    const never = standIn([new DOMException('gave up', 'SyntaxError')])
    const { status, json } = await asking(promptApi({ languageModel: never.api }))({ response_format: strict })
    expect([status, json().error.code, never.seen.open]).toEqual([500, 'invalid_output', 0])
  })

  test.each(['messages before the last', 'the last message'])(
    'says that %s are longer than the context',
    async (which) => {
      const { api, seen } = standIn(['x'], { contextWindow: 10 })
      const long = { role: 'user', content: 'much too long' }
      const messages = which === 'the last message' ? [long] : [long, { role: 'assistant', content: 'a' }, USER]
      const { status, json } = await asking(promptApi({ languageModel: api }))({ messages })
      expect([status, json().error.code, json().error.param]).toEqual([400, 'context_length_exceeded', 'messages'])
      expect(seen.open).toBe(0)
    },
  )

  test.each([
    ['QuotaExceededError', 400, 'context_length_exceeded'],
    ['NotSupportedError', 400, 'unsupported_value'],
    ['NotReadableError', 400, 'content_filter'],
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
    for (const first of [
      promptApi(),
      promptApi({ languageModel: standIn(['x'], { availability: 'unavailable' }).api }),
    ]) {
      const alone = await asking(first)({})
      expect([alone.status, alone.json().error.code]).toEqual([503, 'no_device'])
      const { choices } = (await asking(fallback(first, other))({})).json()
      expect(choices[0].message.content).toBe('From the other.')
    }
  })

  test('tells how far the browser is with its download', async () => {
    const { api, seen } = standIn(['x'], { availability: 'downloadable' })
    const reported: string[] = []
    const engine = promptApi({ languageModel: api })
    await engine.load?.(
      ID,
      ({ phase, bytesLoaded }) => reported.push(`${phase} ${bytesLoaded}`),
      new AbortController().signal,
    )
    expect(reported).toEqual(['download 0.5', 'ready 1'])
    expect(engine.models[0]).toMatchObject({ contextLength: 6144, metadata: { loaded: true } })
    expect(seen.open).toBe(0)
  })
})
