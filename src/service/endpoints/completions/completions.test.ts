import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChatCall, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { scripted } from '../../../engines/scripted.js'
import {
  errorOf,
  eventsOf,
  finish,
  jsonOf,
  KEY,
  MODEL,
  pause,
  posting,
  recorded,
  serviceOf,
  text,
} from '../../v1.test-helper.js'

function texts() {
  const logprobs = [{ token: ' on', bytes: null, logprob: -0.5, top: [{ token: ' on', bytes: null, logprob: -0.5 }] }]
  const { calls, script } = recorded(({ topLogprobs }) => {
    return [{ ...text(' on'), ...(topLogprobs !== undefined && { logprobs }) }, text('.'), finish('length')]
  })
  const { ask } = serviceOf(script)
  const post = (body: object) => ask('/completions', posting(body))
  return { post, calls }
}

describe('completions', () => {
  it.each([['Go'], [['Go']], [[1, 2]], [[[1, 2]]]])(
    'continue a text or tokens without a template: %j',
    async (prompt) => {
      const { post, calls } = texts()
      const answer = jsonOf(await post({ prompt }))
      expect(answer).toMatchObject({
        object: 'text_completion',
        choices: [{ index: 0, text: ' on.', finish_reason: 'length', logprobs: null }],
      })
      expect(answer.id).toMatch(/^cmpl-/)
      expect(calls).toMatchObject([
        { messages: [], maxTokens: 16, prompt: JSON.stringify(prompt).includes('Go') ? 'Go' : [1, 2] },
      ])
    },
  )

  it('take llama.cpp’s name for the limit where OpenAI’s is not there, as its server does', async () => {
    const { post, calls } = texts()
    for (const limit of [{ n_predict: 7 }, { n_predict: 7, max_tokens: 5 }, { n_predict: -1 }]) {
      const { status, headers } = await post({ prompt: 'Go', ...limit })
      expect([status, headers.get('x-ignored-fields')]).toEqual([200, null])
    }
    expect(calls.map(({ maxTokens }) => maxTokens)).toEqual([7, 5, undefined])
  })

  it.each([
    ['messages', { messages: [{ role: 'user', content: 'Hi' }] }, "send 'messages' to 'chat/completions'"],
    ['max_completion_tokens', { max_completion_tokens: 5 }, "it is 'max_tokens'"],
    ['max_output_tokens', { max_output_tokens: 5 }, "it is 'max_tokens'"],
    ['num_predict', { num_predict: 5 }, "it is 'max_tokens'"],
    ['stop_sequences', { stop_sequences: ['a'] }, "it is 'stop'"],
    ['top_logprobs', { top_logprobs: 2 }, "it is 'logprobs'"],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, 'calls no tools'],
    ['system', { system: 'Be brief.' }, "has only its 'prompt'"],
  ])('are refused with %s of another interface, and the name that it has here', async (param, field, why) => {
    const { post, calls } = texts()
    const error = errorOf(await post({ ...(param !== 'messages' && { prompt: 'Go' }), ...field }))
    expect(error).toMatchObject({ status: 400, param })
    expect(error.message).toContain(why)
    expect(calls).toEqual([])
  })

  it('are at most 1,024 in one request, whichever way they are asked for', async () => {
    const { post, calls } = texts()
    const refused = await post({ prompt: Array(256).fill('Go'), n: 128 })
    expect(refused.status).toBe(400)
    expect(errorOf(refused)).toMatchObject({ param: 'n', message: expect.stringContaining('32768 answers') })
    expect(calls).toEqual([])
    expect((await post({ prompt: Array(8).fill('Go'), n: 129 })).status).toBe(400)
  })

  it('are made sixteen at a time, however they are spread over prompts', async () => {
    let running = 0
    let most = 0
    const { ask } = serviceOf(async function* ({ n }: ChatCall) {
      running += n
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 1))
      for (let choice = 0; choice < n; choice++) yield* [text('.', choice), finish('stop', choice)]
      running -= n
    })
    const answer = await ask('/completions', posting({ prompt: Array(32).fill('Go'), n: 8 }))
    expect(jsonOf(answer).choices).toHaveLength(256)
    expect(most).toBe(16)
  })

  it('are streamed, with an echo and with the usage where it is asked for', async () => {
    const { post } = texts()
    const events = eventsOf(
      (await post({ prompt: 'Go', echo: true, stream: true, stream_options: { include_usage: true } })).text,
    )
    expect(events.pop()).toBe('[DONE]')
    const chunks = events.map((event) => JSON.parse(event))
    expect(chunks.flatMap(({ choices }) => choices.map((choice: { text: string }) => choice.text)).join('')).toBe(
      'Go on.',
    )
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 2 } })
    expect(chunks.at(-2).choices[0].finish_reason).toBe('length')
  })

  it('keep to the requested form, in OpenAI’s fields or those of local servers', async () => {
    const { ask } = serviceOf(({ grammar }: ChatCall) => (grammar!.accepts('{}') ? '{}' : '1'))
    const post = (body: object) => ask('/completions', posting({ prompt: 'Go', ...body }))
    const answerTo = async (body: object) => jsonOf(await post(body)).choices[0].text
    expect(await answerTo({ response_format: { type: 'json_object' } })).toBe('{}')
    expect(await answerTo({ structured_outputs: { json: { type: 'object' } } })).toBe('{}')
    expect(await answerTo({ guided_regex: '[0-9]' })).toBe('1')
    expect(errorOf(await post({ guided_regex: 'x' }))).toMatchObject({ status: 500, code: 'invalid_output' })
  })

  it('tell log probabilities in the older form', async () => {
    const { choices } = jsonOf(await texts().post({ prompt: 'Go', logprobs: 1 }))
    expect(choices[0].logprobs).toEqual({
      tokens: [' on'],
      token_logprobs: [-0.5],
      top_logprobs: [{ ' on': -0.5 }],
      text_offset: [0],
    })
  })

  it('tell the likeliest by their texts, the token itself among them, in the letters that have come', async () => {
    const half = (bytes: number[], logprob: number) => ({ token: '\ufffd', bytes, logprob, top: [] })
    const top = [half([0xc3], -0.1), half([0xe2], -2)]
    const script = (): Part[] => [
      { type: 'text-delta', choice: 0, text: 'é', logprobs: [{ ...half([0xc3], -0.1), top }, half([0xa9], -0.2)] },
      {
        type: 'text-delta',
        choice: 0,
        text: '!',
        logprobs: [{ token: '!', bytes: [33], logprob: -3, top: [{ token: '?', bytes: [63], logprob: -1 }] }],
      },
      { type: 'finish', choice: 0, reason: 'stop' },
    ]
    const { ask } = serviceOf(script)
    const body = JSON.stringify({ model: MODEL, prompt: 'Caf', logprobs: 2 })
    const answer = await ask('/completions', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(jsonOf(answer).choices[0].logprobs).toEqual({
      tokens: ['\ufffd', '\ufffd', '!'],
      token_logprobs: [-0.1, -0.2, -3],
      top_logprobs: [{ '\ufffd': -0.1 }, { '\ufffd': -0.2 }, { '?': -1, '!': -3 }],
      text_offset: [0, 0, 1],
    })
  })

  it('tell where a token begins in a stream as in a whole answer, also where a part of one waits for a stop', async () => {
    const token = (text: string) => ({ token: text, bytes: [...new TextEncoder().encode(text)], logprob: -1, top: [] })
    const script = (): Part[] => [
      { type: 'text-delta', choice: 0, text: 'é', logprobs: [token('éx')] },
      { type: 'text-delta', choice: 0, text: 'xb', logprobs: [token('b')] },
      { type: 'text-delta', choice: 0, text: 'c', logprobs: [token('c')] },
      finish(),
    ]
    const { ask } = serviceOf(script)
    const body = { prompt: 'Caf', logprobs: 0, stop: 'xy' }
    const whole = jsonOf(await ask('/completions', posting(body))).choices[0].logprobs
    expect(whole.text_offset).toEqual([0, 2, 3])
    const events = eventsOf((await ask('/completions', posting({ ...body, stream: true }))).text).slice(0, -1)
    expect(events.flatMap((event) => JSON.parse(event).choices[0].logprobs?.text_offset ?? [])).toEqual(
      whole.text_offset,
    )
  })

  describe('that echo tell how likely the prompt was', () => {
    const logprobOf = (token: string, logprob: number | null) => ({
      token,
      bytes: [...new TextEncoder().encode(token)],
      logprob,
      top: logprob === null ? [] : [{ token: 'x', bytes: [120], logprob: -0.1 }],
    })
    const calls: ChatCall[] = []
    /** Its marks of a beginning are tokens: a text does not show them. */
    const script = (call: ChatCall): Part[] => {
      calls.push(call)
      const texts = call.prompt === 'Go on' ? ['<s>', 'Go', ' on'] : ['Go', ' on']
      const logprobs = texts.map((token, i) => logprobOf(token, i === 0 ? null : -i))
      const choices = Array.from({ length: call.n }, (_, i): Part[] => [
        ...(call.maxTokens === 0
          ? []
          : [
              { type: 'text-delta' as const, choice: i, text: '.', logprobs: [{ ...logprobOf('.', -3), logprob: -3 }] },
            ]),
        { type: 'finish', choice: i, reason: 'length' },
      ])
      return [
        {
          type: 'prompt',
          tokens: texts.map((_, i) => i),
          text: texts.join(''),
          ...(call.promptLogprobs && { logprobs }),
        },
        ...choices.flat(),
      ]
    }
    const { ask } = serviceOf(
      scripted({ models: { [MODEL]: script }, capabilities: { tokens: true, promptLogprobs: true } }),
    )
    const post = (body: object) => ask('/completions', posting({ prompt: 'Go on', echo: true, logprobs: 1, ...body }))
    const whole = {
      tokens: ['<s>', 'Go', ' on', '.'],
      token_logprobs: [null, -1, -2, -3],
      top_logprobs: [null, { x: -0.1, Go: -1 }, { x: -0.1, ' on': -2 }, { x: -0.1, '.': -3 }],
      text_offset: [0, 0, 2, 5],
    }

    it('whole', async () => {
      const { choices } = jsonOf(await post({ n: 2 }))
      expect(choices).toEqual(
        [0, 1].map((index) => ({ index, text: 'Go on.', logprobs: whole, finish_reason: 'length' })),
      )
      expect(calls.at(-1)).toMatchObject({ promptLogprobs: true, topLogprobs: 1, maxTokens: 16 })
    })

    it('streamed', async () => {
      const events = eventsOf((await post({ stream: true, n: 2 })).text).slice(0, -1)
      for (const index of [0, 1]) {
        const chunks = events.map((event) => JSON.parse(event).choices[0]).filter((choice) => choice.index === index)
        expect(chunks.map(({ text }) => text).join('')).toBe('Go on.')
        for (const [key, value] of Object.entries(whole)) {
          expect(chunks.flatMap(({ logprobs }) => logprobs?.[key] ?? [])).toEqual(value)
        }
      }
    })

    it('as harnesses ask: several prompts of tokens, and nothing generated', async () => {
      const { choices, usage } = jsonOf(
        await post({
          prompt: [
            [1, 2],
            [3, 4],
          ],
          max_tokens: 0,
          logprobs: 0,
        }),
      )
      const logprobs = {
        tokens: ['Go', ' on'],
        token_logprobs: [null, -1],
        top_logprobs: [null, { x: -0.1, ' on': -1 }],
        text_offset: [0, 2],
      }
      expect(choices).toEqual([0, 1].map((index) => ({ index, text: 'Go on', logprobs, finish_reason: 'length' })))
      expect(usage.completion_tokens).toBe(0)
      expect(calls.at(-1)).toMatchObject({ maxTokens: 0, promptLogprobs: true, topLogprobs: 0 })
      expect(jsonOf(await post({ logprobs: undefined })).choices[0].logprobs).toBeNull()
      expect(calls.at(-1)!.promptLogprobs).toBeUndefined()
    })
  })

  it('answer several prompts, each with its own choices', async () => {
    const { calls, script } = recorded((call) => {
      const usage = { promptTokens: 2, completionTokens: 1, cachedTokens: 0 }
      const choices = Array.from({ length: call.n }, (_, i) => [text(` ${call.prompt}${i}`, i), finish('stop', i)])
      return [...choices.flat(), { type: 'usage', usage }]
    })
    const { ask } = serviceOf(scripted({ models: { [MODEL]: script }, capabilities: { tokens: true } }))
    const post = async (body: object) => ask('/completions', posting({ prompt: ['a', 'b', [7, 8]], n: 2, ...body }))
    const whole = jsonOf(await post({ echo: true }))
    expect(whole.choices.map(({ index, text }: { index: number; text: string }) => [index, text])).toEqual([
      [0, 'a a0'],
      [1, 'a a1'],
      [2, 'b b0'],
      [3, 'b b1'],
      [4, ' 7,80'],
      [5, ' 7,81'],
    ])
    expect(whole.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 3 })
    expect(calls.map(({ prompt, n }) => [prompt, n])).toEqual([
      ['a', 2],
      ['b', 2],
      [[7, 8], 2],
    ])
    const events = eventsOf((await post({ stream: true })).text).slice(0, -1)
    const texts: string[] = []
    for (const [choice] of events.map((event) => JSON.parse(event).choices)) {
      texts[choice.index] = (texts[choice.index] ?? '') + choice.text
    }
    expect(texts).toEqual([' a0', ' a1', ' b0', ' b1', ' 7,80', ' 7,81'])
  })

  it('of which one fails are an error, and the others are stopped', async () => {
    const ended: unknown[] = []
    const script = async function* (call: ChatCall) {
      try {
        if (call.prompt === 'bad') throw new V1Error(400, 'No.', { param: 'prompt' })
        for (;;) {
          yield { type: 'wait', ms: 1 } as const
          yield text('x')
        }
      } finally {
        ended.push(call.prompt)
      }
    }
    const { ask } = serviceOf(script)
    const body = JSON.stringify({ model: MODEL, prompt: ['a', 'bad', 'b'] })
    const answer = await ask('/completions', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(errorOf(answer)).toMatchObject({ status: 400, param: 'prompt' })
    expect(ended.sort()).toEqual(['a', 'b', 'bad'])
  })

  it('of which one fails while their reader pauses end with the error, and nothing else does', async () => {
    const { v1 } = serviceOf(({ prompt }: ChatCall) => [text('a'), { type: 'wait', ms: 5 }, new Error(String(prompt))])
    const body = JSON.stringify({ model: MODEL, prompt: ['one', 'two'], stream: true })
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const asked = new Request('http://device.test/v1/completions', { method: 'POST', body, headers })
    const reader = (await v1.fetch(asked)).body!.getReader()
    await reader.read()
    // A rejection that nobody has heard of by now ends a process of Node.
    const unheard: unknown[] = []
    const hear = (reason: unknown) => unheard.push(reason)
    process.on('unhandledRejection', hear)
    onTestFinished(() => void process.off('unhandledRejection', hear))
    await pause(30)
    let rest = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      rest += new TextDecoder().decode(piece.value)
    expect(rest).toContain('"code":')
    expect(unheard).toEqual([])
  })

  it('return tokens under vLLM’s names, and echo the text of tokens', async () => {
    const script = (call: ChatCall): Part[] => [
      { type: 'prompt', tokens: [7, 8], text: 'Go' },
      text(' on'),
      { type: 'finish', choice: 0, reason: 'stop', tokens: call.returnTokens ? [9] : [] },
    ]
    const { ask } = serviceOf(scripted({ models: { [MODEL]: script }, capabilities: { tokens: true, infill: true } }))
    const post = (body: object) => ask('/completions', posting({ prompt: [7, 8], echo: true, ...body }))
    expect(jsonOf(await post({})).choices).toEqual([{ index: 0, text: 'Go on', logprobs: null, finish_reason: 'stop' }])
    const ids = { prompt_token_ids: [7, 8], token_ids: [9] }
    expect(jsonOf(await post({ return_token_ids: true })).choices).toMatchObject([ids])
    const events = eventsOf((await post({ return_token_ids: true, stream: true })).text).slice(0, -1)
    const chunks = events.map((event) => JSON.parse(event).choices[0])
    expect(chunks[0]).toMatchObject({ text: 'Go', prompt_token_ids: [7, 8] })
    expect(chunks.at(-1)).toMatchObject({ token_ids: [9], finish_reason: 'stop' })
    expect((await post({ prompt: 'a', echo: false, suffix: 'b' })).status).toBe(200)
  })

  it('show tokens by their numbers only with log probabilities', async () => {
    const requests: (boolean | undefined)[] = []
    const script = (call: ChatCall): Part[] => {
      requests.push(call.tokensAsIds)
      return [text('Hi'), finish()]
    }
    const { ask } = serviceOf(scripted({ models: { [MODEL]: script }, capabilities: { tokens: true } }))
    const headers = { 'content-type': 'application/json' }
    const messages = [{ role: 'user', content: 'x' }]
    for (const [path, body] of [
      ['/completions', { prompt: 'x', logprobs: 1 }],
      ['/chat/completions', { messages, logprobs: true }],
      ['/completions', { prompt: 'x' }],
      ['/chat/completions', { messages, logprobs: false }],
    ] as const) {
      const { status } = await ask(path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: MODEL, return_tokens_as_token_ids: true, ...body }),
      })
      expect(status).toBe(200)
    }
    expect(requests).toEqual([true, true, undefined, undefined])
  })

  it.each<[string, object]>([
    ['prompt', {}],
    ['prompt', { prompt: '' }],
    ['prompt[1]', { prompt: ['a', ''] }],
    ['prompt', { prompt: [] }],
    ['prompt[0]', { prompt: [[]] }],
    ['prompt', { prompt: new Array(257).fill('a') }],
    ['prompt[1]', { prompt: [1, 'b'] }],
    ['best_of', { prompt: 'a', best_of: 2 }],
    ['suffix', { prompt: 'a', suffix: 'b' }],
    ['suffix', { prompt: [1], suffix: 'b' }],
    ['echo', { prompt: 'a', echo: true, logprobs: 1 }],
    ['echo', { prompt: 'a', echo: true, logprobs: 1, suffix: 'b' }],
    ['max_tokens', { prompt: 'a', max_tokens: 0 }],
    ['guided_regex', { prompt: 'a', guided_regex: '(' }],
    ['guided_regex', { prompt: 'a', guided_regex: 'a', response_format: { type: 'json_object' } }],
    ['max_tokens', { prompt: 'a', echo: true, max_tokens: 0 }],
    ['max_tokens', { prompt: 'a', max_tokens: -2 }],
    ['return_token_ids', { prompt: 'a', return_token_ids: true }],
    ['output_format', { prompt: 'a', output_format: { type: 'json_schema', schema: {} } }],
    ['tool_choice', { prompt: 'a', tool_choice: 'required' }],
    ['conversation', { prompt: 'a', conversation: 'conv_1' }],
    ['quote', { prompt: 'a', quote: true }],
    ['echo', { prompt: [1], echo: true }],
    ['logprobs', { prompt: 'a', logprobs: 21 }],
  ])('refuse with an error that names the field: %s %j', async (param, body) => {
    const { post, calls } = texts()
    expect(errorOf(await post(body))).toMatchObject({ status: 400, param })
    expect(calls).toEqual([])
  })
})
