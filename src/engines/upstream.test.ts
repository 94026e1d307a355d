import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { express } from '../../adapters/express.js'
import type { ChatCall, Engine, Part } from '../contract/engine.js'
import { V1Error } from '../contract/errors.js'
import {
  chatRequest,
  chunksOf,
  errorOf,
  finish,
  jsonOf,
  posting,
  recorded,
  serviceOf,
  text,
  until,
} from '../service/v1.test-helper.js'
import { type Script, scripted } from './scripted.js'
import { PartReader } from './upstream/parts.js'
import { fallback, upstream } from './upstream.js'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listen(listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** Our own service in front of another of our services, over a real socket. */
async function chained(script: Script | Engine, options: Parameters<typeof serviceOf>[1] = {}) {
  const behind = serviceOf(script, { keys: ['upstream-key'], ...options })
  const baseURL = await listen(express(behind.v1))
  const engine = upstream({ baseURL, apiKey: 'upstream-key', models: { 'cluster/hello': 'test/hello' } })
  const { chat, v1 } = serviceOf(engine)
  return { v1, chat: (body: object = {}) => chat({ model: 'cluster/hello', ...body }) }
}

const usage: Part = {
  type: 'usage',
  usage: { promptTokens: 7, completionTokens: 4, cachedTokens: 3 },
  fingerprint: 'fp_x',
}

describe('upstream', () => {
  it('passes on text, reasons, usage and fingerprint under its own name', async () => {
    const { chat } = await chained([text('Hello'), text(' ö 🌍'), finish('length'), usage])
    const completion = jsonOf(await chat())
    expect(completion).toMatchObject({
      model: 'cluster/hello',
      system_fingerprint: 'fp_x',
      choices: [{ message: { content: 'Hello ö 🌍' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 7, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } },
    })
    const chunks = chunksOf(await chat({ stream: true }))
    expect(chunks.map(({ choices }) => choices[0].delta.content).join('')).toBe('Hello ö 🌍')
  })

  it('passes on which stop ended an answer', async () => {
    const { chat } = await chained([text('Hello'), { ...finish(), stop: 'END' } as Part])
    for (const stream of [false, true]) {
      const answer = await chat({ stop: ['END'], stream })
      const [choice] = stream ? chunksOf(answer).at(-1)!.choices : jsonOf(answer).choices
      expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: 'END' })
    }
  })

  it('passes on thoughts and images', async () => {
    const { calls, script } = recorded([{ type: 'reasoning-delta', choice: 0, text: 'Hm.' }, text('A cat.'), finish()])
    const behind = scripted({ models: { 'test/hello': script }, capabilities: { images: true } })
    const baseURL = await listen(express(serviceOf(behind, { keys: ['k'] }).v1))
    const models = { 'cluster/hello': 'test/hello' }
    const engine = upstream({ baseURL, apiKey: 'k', models, capabilities: { images: true } })
    const parts = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:,x', detail: 'high' } },
    ]
    const messages = [{ role: 'user', content: parts }]
    const { choices } = jsonOf(await serviceOf(engine).chat({ model: 'cluster/hello', messages }))
    expect(choices[0].message).toMatchObject({ content: 'A cat.', reasoning: 'Hm.' })
    expect(calls[0]!.messages).toMatchObject([
      {
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', url: 'data:,x', detail: 'high' },
        ],
      },
    ])
  })

  it('passes on everything that was asked', async () => {
    const seen: unknown[] = []
    const { chat } = await chained((call) => {
      // Who asks is each service's own.
      const { signal, id, caller, grammar, toolGrammar, describeSchema, ...rest } = call
      seen.push(rest)
      return 'Hi'
    })
    const tools = [
      { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: false } },
    ]
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
    const body = {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'b', name: 'me' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', content: 'c', tool_call_id: 'call_1' },
      ],
      n: 2,
      max_tokens: 5,
      stop: ['x'],
      temperature: 0.5,
      top_p: 0.25,
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: -1,
      logit_bias: { 5: 10 },
      logprobs: true,
      top_logprobs: 2,
      tools,
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      chat_template_kwargs: { enable_thinking: false },
    }
    expect((await chat(body)).status).toBe(200)
    const direct = serviceOf((request) => {
      const { signal, id, caller, grammar, toolGrammar, describeSchema, ...rest } = request
      seen.push(rest)
      return 'Hi'
    })
    await direct.chat(body)
    expect(seen[0]).toEqual(seen[1])
  })

  it('passes on what only servers of open models take, where it is said that this one does', async () => {
    const capabilities = { sampling: true, tokens: true }
    const { calls, script } = recorded([
      { type: 'prompt', tokens: [1, 2] },
      text('Hi'),
      { type: 'finish', choice: 0, reason: 'stop', tokens: [3, 4] },
    ])
    const behind = serviceOf(scripted({ models: { 'test/hello': script }, capabilities }), { keys: ['k'] })
    const baseURL = await listen(express(behind.v1))
    const engine = upstream({ baseURL, apiKey: 'k', models: ['test/hello'], capabilities })
    const body = { top_k: 5, min_p: 0.5, repetition_penalty: 1.5, min_tokens: 2, stop_token_ids: [7], ignore_eos: true }
    const answer = jsonOf(await serviceOf(engine).chat({ ...body, return_token_ids: true }))
    expect(answer).toMatchObject({ prompt_token_ids: [1, 2], choices: [{ token_ids: [3, 4] }] })
    expect(calls).toMatchObject([
      {
        sampling: { topK: 5, minP: 0.5, repetitionPenalty: 1.5 },
        minTokens: 2,
        stopTokens: [7],
        ignoreEnds: true,
        returnTokens: true,
      },
    ])
    const { chat } = serviceOf(upstream({ baseURL, apiKey: 'k', models: ['test/hello'] }))
    expect(errorOf(await chat({ top_k: 5 }))).toMatchObject({ status: 400, param: 'top_k' })
  })

  it('passes on tool calls, log probabilities and several choices', async () => {
    const logprob = { token: 'a', bytes: [97], logprob: -1, top: [{ token: 'b', bytes: null, logprob: -2 }] }
    const { chat } = await chained([
      { type: 'text-delta', choice: 1, text: 'a', logprobs: [logprob] },
      finish('stop', 1),
      { type: 'tool-call-delta', choice: 0, index: 0, id: 'call_1', name: 'f', arguments: '{}' },
      finish('tool_calls'),
      usage,
    ])
    const { choices } = jsonOf(
      await chat({ n: 2, logprobs: true, tools: [{ type: 'function', function: { name: 'f' } }] }),
    )
    expect(choices[0].message.tool_calls).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } },
    ])
    expect(choices[1].logprobs.content[0].top_logprobs).toEqual([{ token: 'b', bytes: null, logprob: -2 }])
  })

  it.each<[string, readonly object[], readonly [string | undefined, string, string][]]>([
    [
      'whole, without an index, as Gemini sends them',
      [
        { id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'b', function: { name: 'g', arguments: '{"x":2}' } },
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"x":2}'],
      ],
    ],
    [
      'whole, each with the index 0',
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
        { index: 0, id: 'b', function: { name: 'f', arguments: '{}' } },
      ],
      [
        ['a', 'f', '{}'],
        ['b', 'f', '{}'],
      ],
    ],
    [
      'whole, without an index and with empty ids',
      [
        { id: '', function: { name: 'f', arguments: '{}' } },
        { id: '', function: { name: 'g', arguments: '{}' } },
      ],
      [
        [undefined, 'f', '{}'],
        [undefined, 'g', '{}'],
      ],
    ],
    [
      'in pieces of which only the first says whose they are',
      [
        { id: 'a', function: { name: 'f', arguments: '{"x"' } },
        { function: { arguments: ':1}' } },
        { id: 'b', function: { name: 'g' } },
        { id: null, function: { name: null, arguments: '{' } },
        { id: '', function: { name: '', arguments: '}' } },
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{}'],
      ],
    ],
    [
      'in pieces that each say all of it, counted from 1',
      [
        { index: 1, id: 'a', function: { name: 'f', arguments: '{' } },
        { index: 2, id: 'b', function: { name: 'g', arguments: '{' } },
        { index: 1, id: 'a', function: { name: 'f', arguments: '}' } },
        { index: 2, id: 'b', function: { name: 'g', arguments: '}' } },
      ],
      [
        ['a', 'f', '{}'],
        ['b', 'g', '{}'],
      ],
    ],
    [
      'in pieces that have an id each, but one name',
      [
        { index: 0, id: 'a', function: { name: 'f', arguments: '{' } },
        { index: 0, id: 'a2', function: { arguments: '}' } },
      ],
      [['a', 'f', '{}']],
    ],
    [
      'with their name after their id',
      [
        { index: 0, id: 'a', function: { arguments: '' } },
        { index: 0, function: { name: 'f', arguments: '{' } },
        { index: 0, function: { arguments: '}' } },
      ],
      [['a', 'f', '{}']],
    ],
    [
      'with their names after other calls, or as objects',
      [
        { index: 0, id: 'a' },
        { index: 1, id: 'b', function: { name: 'g', arguments: { x: 1 } } },
        { index: 0, function: { name: 'f', arguments: '{' } },
        { index: 0, function: { arguments: '}' } },
      ],
      [
        ['b', 'g', '{"x":1}'],
        ['a', 'f', '{}'],
      ],
    ],
  ])('tells tool calls apart that come %s', async (_, pieces, expected) => {
    const chunks = pieces.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] }))
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
    const events = [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    const baseURL = await listen((_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${events.join('')}data: [DONE]\n\n`)
    })
    const service = serviceOf(upstream({ baseURL, models: ['test/hello'] }))
    const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }))
    const { choices } = jsonOf(await service.chat({ tools }))
    const calls = choices[0].message.tool_calls.map((call: { id: string; function: object }) => [
      call.id,
      ...Object.values(call.function),
    ])
    expect(calls).toEqual(expected.map(([id, ...rest]) => [id ?? expect.stringMatching(/./), ...rest]))
    const streamed: [string, string, string][] = []
    for (const event of (await service.chat({ tools, stream: true })).text.split('\n\n')) {
      if (!event.startsWith('data: {')) continue
      for (const { index, id, function: called } of JSON.parse(event.slice(6)).choices[0]?.delta.tool_calls ?? []) {
        streamed[index] ??= [id, called.name, '']
        streamed[index][2] += called.arguments
      }
    }
    expect(streamed).toEqual(expected.map(([id, ...rest]) => [id ?? expect.stringMatching(/./), ...rest]))
  })

  it('gives an error for a tool call that is never named', async () => {
    const piece = { index: 0, id: 'a', function: { arguments: '{}' } }
    const choices = [{ index: 0, delta: { tool_calls: [piece] }, finish_reason: 'tool_calls' }]
    const baseURL = await listen((_, outgoing) => {
      outgoing
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify({ choices })}\n\ndata: [DONE]\n\n`)
    })
    const service = serviceOf(upstream({ baseURL, models: ['test/hello'] }))
    const answer = await service.chat({ tools: [{ type: 'function', function: { name: 'f' } }] })
    expect(errorOf(answer)).toMatchObject({ code: 'upstream_error', message: expect.stringMatching(/without a name/) })
  })

  it('passes on completions with their log probabilities, and with those of the prompt if the server is said to send them', async () => {
    const capabilities = { tokens: true, promptLogprobs: true }
    const script = (call: ChatCall): Part[] => {
      const logprobs = ['<s>', 'Go', ' on', '.'].map((token, i) => {
        const top = i === 0 ? [] : [{ token: 'x', bytes: null, logprob: -0.5 }]
        return { token, bytes: null, logprob: i === 0 ? null : -i, top }
      })
      return [
        {
          type: 'prompt',
          tokens: [0, 1, 2],
          text: '<s>Go on',
          ...(call.promptLogprobs && { logprobs: logprobs.slice(0, 3) }),
        },
        ...(call.maxTokens === 0
          ? []
          : [{ type: 'text-delta' as const, choice: 0, text: '.', logprobs: [{ ...logprobs[3]!, logprob: -3 }] }]),
        finish('length') as Part,
        { type: 'usage', usage: { promptTokens: 3, completionTokens: 1, cachedTokens: 0 } },
      ]
    }
    const behind = serviceOf(scripted({ models: { 'test/hello': script }, capabilities }), { keys: ['k'] })
    const baseURL = await listen(express(behind.v1))
    const before = serviceOf(upstream({ baseURL, apiKey: 'k', models: ['test/hello'], capabilities }))
    const choicesOf = async ({ ask }: { ask: typeof before.ask }, body: object, key = {}) => {
      const headers = { 'content-type': 'application/json', ...key }
      const answer = await ask('/completions', {
        method: 'POST',
        body: JSON.stringify({ model: 'test/hello', prompt: 'Go on', logprobs: 1, ...body }),
        headers,
      })
      return jsonOf(answer).choices
    }
    for (const body of [{}, { echo: true }, { echo: true, max_tokens: 0 }, { echo: true, prompt: [0, 1, 2] }]) {
      const choices = await choicesOf(before, body)
      expect(choices).toEqual(await choicesOf(behind, body, { authorization: 'Bearer k' }))
      expect(choices[0].logprobs.tokens.length).toBeGreaterThan(0)
    }
  })

  it('counts what is no count as nothing, whichever form it comes in', async () => {
    const usage = { prompt_tokens: 2, completion_tokens: -1, prompt_tokens_details: { cached_tokens: 0.5 } }
    const scored = { text: 'Go on', logprobs: { tokens: ['Go', ' on'], token_logprobs: [null, -1] } }
    const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }], usage }
    const baseURL = await listen(({ url }, outgoing) => {
      outgoing.end(
        url?.includes('/chat/') ? `data: ${JSON.stringify(chunk)}\n\n` : JSON.stringify({ choices: [scored], usage }),
      )
    })
    const capabilities = { tokens: true, promptLogprobs: true }
    const { chat, ask } = serviceOf(upstream({ baseURL, models: ['test/hello'], capabilities }))
    expect(jsonOf(await chat()).usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 1 })
    const body = { model: 'test/hello', prompt: 'Go on', echo: true, logprobs: 1, max_tokens: 0 }
    const answer = jsonOf(await ask('/completions', posting(body)))
    expect(answer.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 0 })
  })

  it('asks for the strict schema and does not believe the answer', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } }
    const formats: unknown[] = []
    const answering = async (content: string) => {
      const baseURL = await listen(async (incoming, outgoing) => {
        let body = ''
        for await (const piece of incoming) body += piece
        formats.push(JSON.parse(body).response_format)
        const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }
        outgoing
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`data: ${JSON.stringify(chunk)}\r\n\r\ndata: [DONE]\r\n\r\n`)
      })
      return serviceOf(upstream({ baseURL, models: ['test/hello'] })).chat({ response_format })
    }
    expect((await answering('{ "a": 1 }')).status).toBe(200)
    expect(errorOf(await answering('{"a":"1"}'))).toMatchObject({ status: 500, code: 'invalid_output' })
    expect(formats[0]).toEqual(response_format)
  })

  it.each([
    [new V1Error(400, 'Too long.', { param: 'messages', code: 'context_length_exceeded' }), 400],
    [new V1Error(429, 'Slow down.', { retryAfter: 7 }), 429],
    [new V1Error(503, 'Loading.', { retryAfter: 2 }), 503],
  ])('passes on refusals: %s', async (error, status) => {
    const { chat } = await chained([error])
    const answer = await chat()
    expect(errorOf(answer)).toMatchObject({ status, message: error.message, param: error.param, code: error.code })
    if (error.retryAfter) expect(answer.headers.get('retry-after-ms')).toBe(String(error.retryAfter * 1000))
  })

  it('passes on errors in mid-stream', async () => {
    const { chat } = await chained([text('so far'), new V1Error(503, 'Lost.')])
    const answer = await chat({ stream: true })
    expect(answer.text).toContain('so far')
    expect(answer.text).toMatch(/data: \{"error":\{"message":"Lost\."/)
  })

  it('does not blame the client for our key', async () => {
    const { chat } = await chained('Hi', { keys: ['another'] })
    expect(errorOf(await chat())).toMatchObject({ status: 500, code: 'upstream_key' })
  })

  it('is 503 when nobody answers, and an error when it hangs up or talks nonsense', async () => {
    const down = upstream({ baseURL: 'http://127.0.0.1:1/v1', models: ['test/hello'] })
    expect(errorOf(await serviceOf(down).chat())).toMatchObject({ status: 503, code: 'upstream_down' })
    for (const nonsense of ['data: {"choices":[{"delta":{"content":"a"}}]}\n\n', 'data: no JSON\n\n', '<html>']) {
      const baseURL = await listen((_, outgoing) => outgoing.end(nonsense))
      const { chat } = serviceOf(upstream({ baseURL, models: ['test/hello'] }))
      expect(errorOf(await chat())).toMatchObject({ status: 500 })
    }
  })

  it('hangs up when it is left', async () => {
    let closed = 0
    const baseURL = await listen((_, outgoing) => {
      outgoing.writeHead(200)
      outgoing.write('data: {"choices":[{"index":0,"delta":{"content":"tick"}}]}\n\n')
      outgoing.on('close', () => closed++)
    })
    const { v1 } = serviceOf(upstream({ baseURL, models: ['test/hello'] }))
    const reader = (await v1.fetch(chatRequest({ stream: true }))).body!.getReader()
    await reader.read()
    await reader.cancel()
    await until(() => closed === 1)
  })
})

describe('fallback', () => {
  const device = (script: Script) => scripted({ models: { 'test/hello': script, 'test/only': 'device' } })
  const cluster = () => scripted({ models: { 'test/hello': 'cluster', 'test/big': 'cluster' } })
  const outcomeOf = async (engine: Engine, model = 'test/hello') => {
    const answer = await serviceOf(engine).chat({ model })
    return answer.status === 200 ? jsonOf(answer).choices[0].message.content : answer.status
  }

  it('asks the first, and the second for what the first does not have', async () => {
    const engine = fallback(device('device'), cluster())
    expect(engine.models.map(({ id }) => id)).toEqual(['test/hello', 'test/only', 'test/big'])
    expect(await outcomeOf(engine)).toBe('device')
    expect(await outcomeOf(engine, 'test/big')).toBe('cluster')
  })

  it('does not say beforehand which of two will have answered', () => {
    const { models } = fallback(device('device'), cluster())
    expect(models.map(({ fingerprint }) => fingerprint)).toEqual([undefined, 'fp_scripted', 'fp_scripted'])
  })

  it('asks the second when the first has no device or no room, and only then', async () => {
    for (const status of [503, 429])
      expect(await outcomeOf(fallback(device([new V1Error(status, 'no')]), cluster()))).toBe('cluster')
    for (const status of [400, 500])
      expect(await outcomeOf(fallback(device([new V1Error(status, 'no')]), cluster()))).toBe(status)
    const late = fallback(device([text('a'), new V1Error(503, 'no')]), cluster())
    expect(await outcomeOf(late)).toBe(503)
  })

  it('asks the second when the first cannot be loaded', async () => {
    const first = { ...device('device'), load: () => Promise.reject(new V1Error(503, 'There is no WebGPU here.')) }
    first.generate = async function* () {
      yield* []
      throw new V1Error(503, 'There is no WebGPU here.')
    }
    expect(await outcomeOf(fallback(first, cluster()))).toBe('cluster')
    expect(await outcomeOf(fallback(first, cluster()), 'test/only')).toBe(503)
  })

  it('asks the second when the first is busy', async () => {
    const engine = fallback(device([text('device'), { type: 'wait', ms: 60_000 }]), cluster(), { maxInFlight: 1 })
    const { v1, chat } = serviceOf(engine)
    const running = await v1.fetch(chatRequest({ stream: true }))
    expect(jsonOf(await chat()).choices[0].message.content).toBe('cluster')
    await running.body!.cancel()
  })
})

it('tokens that come with each chunk are added to those before, which are not copied', () => {
  const reader = new PartReader()
  const chunks = Array.from({ length: 1000 }, (_, i) =>
    JSON.stringify({
      choices: [{ index: 0, delta: { content: 'a' }, token_ids: [i], ...(i === 999 && { finish_reason: 'stop' }) }],
    }),
  )
  let walked = 0
  const walk = Array.prototype[Symbol.iterator]
  // Not by a spy, which walks through arrays itself.
  Array.prototype[Symbol.iterator] = function () {
    walked += this.length
    return walk.call(this)
  }
  try {
    const parts: unknown[] = []
    for (const chunk of chunks) for (const part of reader.read(chunk)) parts.push(part)
    expect(walked).toBeLessThan(10 * chunks.length)
    expect(parts.at(-1)).toMatchObject({ type: 'finish', tokens: Array.from({ length: 1000 }, (_, i) => i) })
  } finally {
    Array.prototype[Symbol.iterator] = walk
  }
})
