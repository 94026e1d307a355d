import { describe, expect, it } from 'vitest'
import type { Engine, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { scripted } from '../../../engines/scripted.js'
import {
  chunksOf,
  errorOf,
  eventsOf,
  finish,
  jsonOf,
  MODEL,
  recorded,
  serviceOf,
  text,
  valid,
} from '../../v1.test-helper.js'

const usage: Part = {
  type: 'usage',
  usage: { promptTokens: 7, completionTokens: 4, cachedTokens: 3 },
  fingerprint: 'fp_x',
}
const logprob = (token: string) => ({
  token,
  bytes: [...new TextEncoder().encode(token)],
  logprob: -0.5,
  top: [{ token, bytes: null, logprob: Number.NEGATIVE_INFINITY }],
})

describe('a completion', () => {
  it('has the official form', async () => {
    const { chat } = serviceOf([text('Hello'), text(' there'), finish(), usage])
    const completion = valid('CreateChatCompletionResponse', jsonOf(await chat()))
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: MODEL,
      system_fingerprint: 'fp_x',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there', refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 4,
        total_tokens: 11,
        prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    })
    expect(Math.abs(completion.created - Date.now() / 1000)).toBeLessThan(60)
  })

  it('has n choices, each its own, whatever the order of their parts', async () => {
    const { chat } = serviceOf([text('b', 1), text('a'), finish('length', 1), text('a'), finish(), usage])
    const { choices } = valid('CreateChatCompletionResponse', jsonOf(await chat({ n: 2 })))
    expect(choices.map((choice: { message: { content: string } }) => choice.message.content)).toEqual(['aa', 'b'])
    expect(choices.map((choice: { finish_reason: string }) => choice.finish_reason)).toEqual(['stop', 'length'])
  })

  it('has log probabilities when they are asked for', async () => {
    const part: Part = { type: 'text-delta', choice: 0, text: 'ö', logprobs: [logprob('ö')] }
    const { chat } = serviceOf([part, finish(), usage])
    const { logprobs } = valid('CreateChatCompletionResponse', jsonOf(await chat({ logprobs: true }))).choices[0]
    expect(logprobs).toEqual({
      content: [
        {
          token: 'ö',
          logprob: -0.5,
          bytes: [195, 182],
          top_logprobs: [{ token: 'ö', logprob: -9999, bytes: null }],
        },
      ],
      refusal: null,
    })
  })

  it('has the same text as its stream', async () => {
    const parts = [text('one'), text('', 0), text(' two'), finish('length'), usage]
    const { chat } = serviceOf(parts)
    const whole = jsonOf(await chat())
    const chunks = chunksOf(await chat({ stream: true, stream_options: { include_usage: true } }))
    const answerText = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(answerText).toBe(whole.choices[0].message.content)
    expect(chunks.at(-2).choices[0].finish_reason).toBe(whole.choices[0].finish_reason)
    expect(chunks.at(-1).usage).toEqual(whole.usage)
  })
})

describe('a stream', () => {
  it('begins with the role, once for each choice, and ends with the finish reason', async () => {
    const { chat } = serviceOf([text('a'), text('b', 1), finish('stop', 1), finish(), usage])
    const chunks = chunksOf(await chat({ n: 2, stream: true }))
    for (const index of [0, 1]) {
      const mine = chunks.map(({ choices }) => choices[0]).filter((choice) => choice.index === index)
      expect(mine.map(({ delta }) => delta.role)).toEqual(['assistant', undefined, undefined])
      expect(mine.map(({ finish_reason }) => finish_reason)).toEqual([null, null, 'stop'])
      expect(mine.at(-1).delta).toEqual({})
    }
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1)
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
  })

  it('has the usage last, in a chunk without choices', async () => {
    const { chat } = serviceOf([text('a'), finish(), usage])
    const chunks = chunksOf(await chat({ stream: true, stream_options: { include_usage: true } }))
    expect(chunks.map(({ usage: each }) => each?.total_tokens ?? null)).toEqual([null, null, null, 11])
    expect(chunks.at(-1).choices).toEqual([])
  })

  it('says how many tokens the grammar decided, but only if the request asks for it', async () => {
    const parts: Part[] = [
      { type: 'text-delta', choice: 0, text: '{"a":', forced: 3 },
      text('1'),
      { type: 'text-delta', choice: 0, text: '}', forced: 0 },
      finish(),
      usage,
    ]
    const { chat } = serviceOf(parts)
    const options = { include_usage: true, include_forced: true }
    const chunks = chunksOf(await chat({ stream: true, stream_options: options }))
    const withText = chunks.map(({ choices }) => choices[0]).filter((choice) => choice?.delta.content)
    expect(withText.map(({ delta, forced_tokens }) => [delta.content, forced_tokens])).toEqual([
      ['{"a":', 3],
      ['1', undefined],
      ['}', 0],
    ])
    expect(chunks.at(-1).usage.completion_tokens_details.forced_tokens).toBe(3)
    for (const body of [{ stream: true, stream_options: { include_usage: true } }, {}]) {
      expect((await chat(body)).text).not.toContain('forced')
    }
  })

  it('has the fingerprint in every chunk, from the first stream on, if the engine knows it', async () => {
    let fingerprint: string | undefined
    const loads: Engine = {
      get models() {
        return [{ id: MODEL, ownedBy: 'me', fingerprint }]
      },
      async load() {
        fingerprint = 'fp_x'
      },
      async *generate() {
        yield* [text('a'), finish(), usage]
      },
    }
    const chunks = chunksOf(await serviceOf(loads).chat({ stream: true, stream_options: { include_usage: true } }))
    expect(chunks.map(({ system_fingerprint }) => system_fingerprint)).toEqual(['fp_x', 'fp_x', 'fp_x', 'fp_x'])
  })

  it('is never gathered on its way', async () => {
    const { headers } = await serviceOf().chat({ stream: true })
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(headers.get('cache-control')).toContain('no-cache')
    expect(headers.get('x-accel-buffering')).toBe('no')
  })

  it('sends tool calls in pieces: the id and the name come first', async () => {
    const { chat } = serviceOf([
      { type: 'tool-call-delta', choice: 0, index: 0, name: 'f', arguments: '' },
      { type: 'tool-call-delta', choice: 0, index: 0, arguments: '{}' },
      { type: 'tool-call-delta', choice: 0, index: 1, id: 'call_b', name: 'f', arguments: '{}' },
      finish('tool_calls'),
      usage,
    ])
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const calls = chunksOf(await chat({ stream: true, tools })).flatMap(
      ({ choices }) => choices[0].delta.tool_calls ?? [],
    )
    expect(calls).toEqual([
      {
        index: 0,
        id: expect.stringMatching(/^call_\w{24}$/),
        type: 'function',
        function: { name: 'f', arguments: '' },
      },
      { index: 0, function: { arguments: '{}' } },
      { index: 1, id: 'call_b', type: 'function', function: { name: 'f', arguments: '{}' } },
    ])
    const { message, finish_reason } = valid('CreateChatCompletionResponse', jsonOf(await chat({ tools }))).choices[0]
    expect([finish_reason, message.content, message.tool_calls.length]).toEqual(['tool_calls', null, 2])
  })

  it('that fails half-way ends with an error event', async () => {
    const { chat } = serviceOf([text('so far'), new V1Error(503, 'The device was lost.', { code: 'device_lost' })])
    const answer = await chat({ stream: true })
    expect(answer.status).toBe(200)
    const last = JSON.parse(eventsOf(answer.text).at(-1)!)
    expect(valid('ErrorResponse', last).error).toMatchObject({ message: 'The device was lost.', code: 'device_lost' })
    expect(answer.text).toContain('so far')
    expect(answer.text).not.toContain('[DONE]')
  })

  it('that is refused before its first part is a normal error response', async () => {
    const { chat } = serviceOf([new V1Error(503, 'No device.', { retryAfter: 1.5 })])
    const answer = await chat({ stream: true })
    expect(errorOf(answer)).toMatchObject({ status: 503, type: 'service_unavailable', message: 'No device.' })
    const retry = ['retry-after', 'retry-after-ms', 'x-should-retry'].map((name) => answer.headers.get(name))
    expect(retry).toEqual(['2', '1500', 'true'])
  })
})

const unsayable = { ...text('x'), logprobs: [undefined] } as unknown as Part

/** A part, and then what an engine must not do. */
function partsThen(next: IteratorResult<Part> | (() => never)): AsyncIterable<Part> {
  let reads = 0
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        if (reads++ === 0) return Promise.resolve({ value: text('so far'), done: false })
        return typeof next === 'function' ? next() : Promise.resolve(next)
      },
    }),
  }
}

describe('tokens', () => {
  const script: Part[] = [
    { type: 'prompt', tokens: [1, 2] },
    text('Hi', 1),
    { type: 'finish', choice: 1, reason: 'stop', tokens: [5] },
    text('Ho'),
    { type: 'finish', choice: 0, reason: 'length', tokens: [3, 4] },
  ]
  const engine = () => scripted({ models: { [MODEL]: script }, capabilities: { tokens: true } })

  it('of prompt and answer are sent under vLLM’s names', async () => {
    const { prompt_token_ids, choices } = jsonOf(await serviceOf(engine()).chat({ return_token_ids: true, n: 2 }))
    expect(prompt_token_ids).toEqual([1, 2])
    expect(choices.map(({ token_ids }: { token_ids: number[] }) => token_ids)).toEqual([[3, 4], [5]])
  })

  it('are streamed: those of the prompt in the first chunk, those of each choice in its last', async () => {
    const body = { return_token_ids: true, n: 2, stream: true, stream_options: { include_usage: true } }
    const chunks = chunksOf(await serviceOf(engine()).chat(body))
    expect(chunks[0].prompt_token_ids).toEqual([1, 2])
    const withTokens = chunks.flatMap(({ choices }) => choices).filter(({ token_ids }) => token_ids)
    expect(withTokens.map(({ index, token_ids }) => [index, token_ids])).toEqual([
      [1, [5]],
      [0, [3, 4]],
    ])
  })
})

describe('an engine that breaks the contract is a 500:', () => {
  it.each<[string, Part[]]>([
    ['it stops before the end', [text('a')]],
    ['it says nothing', []],
    ['it speaks after the end', [finish(), text('a')]],
    ['it speaks for a choice that nobody asked for', [text('a', 1)]],
  ])('%s', async (_, parts) => {
    expect(errorOf(await serviceOf(parts).chat())).toMatchObject({ status: 500, type: 'server_error' })
  })

  it.each<[string, Engine['generate']]>([
    ['a part that no chunk can say', () => partsThen({ value: unsayable, done: false })],
    [
      'an iterator that throws where it should reject',
      () =>
        partsThen(() => {
          throw new Error('not like this')
        }),
    ],
  ])('%s, in mid-stream', async (_, generate) => {
    const { chat } = serviceOf({ models: [{ id: MODEL, ownedBy: 'me' }], generate })
    const answer = await chat({ stream: true })
    expect(answer.text).toContain('so far')
    const last = JSON.parse(eventsOf(answer.text).at(-1)!)
    expect(valid('ErrorResponse', last).error).toMatchObject({ type: 'server_error' })
  })
})

describe('what the engine is told', () => {
  it('is the request, read', async () => {
    const { calls, script } = recorded()
    const { chat } = serviceOf(script)
    const body = { stream: true, max_tokens: 9, stop: 'x', seed: 4, n: 2, logprobs: true, top_logprobs: 3 }
    await chat(body)
    expect(calls[0]).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      model: MODEL,
      messages: [{ role: 'user', content: 'Hello?' }],
      n: 2,
      maxTokens: 9,
      stop: ['x'],
      sampling: { temperature: undefined, seed: 4 },
      topLogprobs: 3,
      output: { type: 'text' },
      describeSchema: true,
    })
  })
})

describe('fields that nobody knows', () => {
  it('are named in a header, whatever they are called', async () => {
    const { chat } = serviceOf()
    expect((await chat({ mirostat: 1, top_a: 2 })).headers.get('x-ignored-fields')).toBe('mirostat, top_a')
    const first = await chat()
    const messages = [jsonOf(first).choices[0].message, { role: 'user', content: 'And you?' }]
    for (const answer of [first, await chat({ messages })]) expect(answer.headers.get('x-ignored-fields')).toBe(null)
    const odd = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`ä\r\nset-cookie: ${i}${'x'.repeat(500)}`, 1]))
    const answer = await chat(odd)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-fields')).toMatch(/, \.\.\.$/)
    expect(answer.headers.get('set-cookie')).toBe(null)
  })
})
