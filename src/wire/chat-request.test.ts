import { describe, expect, it } from 'vitest'
import { V1Error } from '../errors.js'
import { readChatRequest } from './chat-request.js'

const user = { role: 'user', content: 'Hello?' }
const minimal = { model: 'test/hello', messages: [user] }
const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }
const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const asked = { role: 'assistant', content: null, tool_calls: [call] }
const schema = { type: 'object', properties: {}, additionalProperties: false }

const read = (body: object) => readChatRequest({ ...minimal, ...body })

/** The field that a request is refused for. */
function refusedFor(json: unknown): string | null {
  try {
    readChatRequest(json)
  } catch (error) {
    if (!V1Error.is(error)) throw error
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' })
    expect(error.code).toMatch(/^[a-z_]+$/)
    if (error.param !== null) expect(error.message).toContain(error.param.split('.').pop())
    return error.param
  }
  throw new Error('It was not refused.')
}

describe('a chat request', () => {
  it('has defaults for all but model and messages', () => {
    expect(readChatRequest(minimal)).toEqual({
      model: 'test/hello',
      messages: [user],
      stream: false,
      includeUsage: false,
      n: 1,
      maxTokens: undefined,
      stop: [],
      sampling: {
        temperature: 1,
        topP: 1,
        presencePenalty: 0,
        frequencyPenalty: 0,
        logitBias: undefined,
        seed: undefined,
      },
      topLogprobs: undefined,
      output: { type: 'text' },
      tools: [],
      toolChoice: 'none',
      parallelToolCalls: true,
      templateOptions: undefined,
      ignored: [],
    })
  })

  it('takes null for absent, as clients send it', () => {
    const names = [
      'stream',
      'stream_options',
      'n',
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'stop',
    ]
    names.push('seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'tools')
    names.push(
      'response_format',
      'tool_choice',
      'parallel_tool_calls',
      'user',
      'metadata',
      'store',
      'functions',
      'audio',
    )
    expect(read(Object.fromEntries(names.map((name) => [name, null])))).toEqual(readChatRequest(minimal))
  })

  it('hands on every setting', () => {
    const body = {
      n: 128,
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
      max_completion_tokens: 5,
      temperature: 2,
      top_p: 0,
      presence_penalty: -2,
      frequency_penalty: 2,
      logit_bias: { 0: -100, 50256: 100 },
      seed: -1,
      logprobs: true,
      top_logprobs: 20,
      stop: ['a', 'b', 'c', 'd'],
    }
    expect(read(body)).toMatchObject({
      n: 128,
      stream: true,
      includeUsage: true,
      maxTokens: 5,
      topLogprobs: 20,
      stop: ['a', 'b', 'c', 'd'],
      sampling: { temperature: 2, topP: 0, presencePenalty: -2, frequencyPenalty: 2, seed: -1 },
    })
    expect([...read(body).sampling.logitBias!]).toEqual([
      [0, -100],
      [50256, 100],
    ])
    expect(read({ logprobs: true }).topLogprobs).toBe(0)
    expect(read({ max_tokens: 3, stop: 'x' })).toMatchObject({ maxTokens: 3, stop: ['x'] })
  })

  it.each<[string | null, unknown]>([
    [null, null],
    [null, []],
    [null, 'text'],
    ['model', { messages: [user] }],
    ['model', { ...minimal, model: 5 }],
    ['messages', { model: 'a/b' }],
    ['messages', { model: 'a/b', messages: {} }],
    ['messages', { model: 'a/b', messages: [] }],
    ['messages[0]', { model: 'a/b', messages: ['hi'] }],
  ])('is refused for %s', (param, json) => {
    expect(refusedFor(json)).toBe(param)
  })

  it.each<[string, object]>([
    ['temperature', { temperature: 2.1 }],
    ['temperature', { temperature: -0.1 }],
    ['temperature', { temperature: '1' }],
    ['top_p', { top_p: 1.01 }],
    ['presence_penalty', { presence_penalty: 2.5 }],
    ['frequency_penalty', { frequency_penalty: -2.5 }],
    ['seed', { seed: 1.5 }],
    ['n', { n: 0 }],
    ['n', { n: 129 }],
    ['n', { n: 1.5 }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_completion_tokens', { max_completion_tokens: -1 }],
    ['max_tokens', { max_tokens: 1, max_completion_tokens: 1 }],
    ['stream', { stream: 'true' }],
    ['stream_options', { stream_options: { include_usage: true } }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 1 } }],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['stop', { stop: [] }],
    ['stop', { stop: '' }],
    ['stop[1]', { stop: ['a', 5] }],
    ['stop', { stop: {} }],
    ['logit_bias', { logit_bias: { hello: 1 } }],
    ['logit_bias.5', { logit_bias: { 5: 101 } }],
    ['logit_bias', { logit_bias: [] }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['logprobs', { logprobs: 2 }],
    ['reasoning_effort', { reasoning_effort: 'huge' }],
    ['functions', { functions: [] }],
    ['function_call', { function_call: 'auto' }],
    ['audio', { audio: { voice: 'alloy', format: 'wav' } }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['web_search_options', { web_search_options: {} }],
    ['store', { store: true }],
    ['verbosity', { verbosity: 'low' }],
    ['metadata', { metadata: [] }],
    ['metadata.a', { metadata: { a: 1 } }],
    ['service_tier', { service_tier: 'gold' }],
    ['user', { user: 5 }],
  ])('is refused for %s: %j', (param, body) => {
    expect(refusedFor({ ...minimal, ...body })).toBe(param)
  })

  it('takes harmless hints', () => {
    const hints = { user: 'me', metadata: { a: 'b' }, store: false, service_tier: 'auto', modalities: ['text'] }
    expect(read({ ...hints, prediction: { type: 'content', content: 'x' }, verbosity: 'medium' }).ignored).toEqual([])
  })

  it('names what it does not know, wherever it stands', () => {
    const body = {
      top_k: 5,
      messages: [{ ...user, mood: 'good' }],
      tools: [{ ...tool, cached: true }],
      response_format: { type: 'text', x: 1 },
    }
    expect(read(body).ignored).toEqual(['top_k', 'messages[0].mood', 'response_format.x', 'tools[0].cached'])
  })

  it('hands on what chat templates are told', () => {
    expect(read({ reasoning_effort: 'none' }).templateOptions).toMatchObject({ enable_thinking: false })
    expect(read({ reasoning_effort: 'high' }).templateOptions).toMatchObject({ enable_thinking: true })
    const given = { reasoning_effort: 'high', chat_template_kwargs: { enable_thinking: false } }
    expect(read(given).templateOptions).toMatchObject({ enable_thinking: false, reasoning_effort: 'high' })
  })
})

describe('messages', () => {
  const messages = (...list: unknown[]) => read({ messages: list }).messages
  const refused = (...list: unknown[]) => refusedFor({ ...minimal, messages: list })

  it('have five roles; the developer is the system', () => {
    const answered = { role: 'tool', tool_call_id: 'call_1', content: '12 °C' }
    const list = [{ role: 'system', content: 'a' }, { role: 'developer', content: 'b' }, user, asked, answered]
    expect(messages(...list)).toEqual([
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b' },
      user,
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{}' }] },
      { role: 'tool', content: '12 °C', toolCallId: 'call_1' },
    ])
  })

  it('may come in parts, which are kept apart', () => {
    const parts = [
      { type: 'text', text: 'Summarise:' },
      { type: 'text', text: 'Once' },
    ]
    expect(messages({ role: 'user', content: parts })[0]!.content).toBe('Summarise:\nOnce')
    const refusal = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }
    expect(messages(user, refusal)[1]!.content).toBe('No.')
    expect(messages(user, { role: 'assistant', content: null, refusal: 'No.' })[1]!.content).toBe('No.')
  })

  it.each<[string, unknown]>([
    ['messages[0].role', { content: 'x' }],
    ['messages[0].role', { role: 'function', content: 'x', name: 'f' }],
    ['messages[0].content', { role: 'user' }],
    ['messages[0].content', { role: 'user', content: null }],
    ['messages[0].content', { role: 'user', content: [] }],
    ['messages[0].content', { role: 'user', content: 'half \ud800' }],
    ['messages[0].content', { role: 'assistant', content: null }],
    ['messages[0].content[0]', { role: 'user', content: ['x'] }],
    ['messages[0].content[0].type', { role: 'user', content: [{ text: 'x' }] }],
    ['messages[0].content[0].type', { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    ['messages[0].content[0].type', { role: 'user', content: [{ type: 'input_audio' }] }],
    ['messages[0].content[0].type', { role: 'user', content: [{ type: 'file' }] }],
    ['messages[0].content[0].type', { role: 'system', content: [{ type: 'refusal', refusal: 'x' }] }],
    ['messages[0].content[1].text', { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'text' }] }],
    ['messages[0].name', { role: 'user', content: 'x', name: 'two words' }],
    ['messages[0].audio', { role: 'assistant', content: 'x', audio: { id: 'a' } }],
    ['messages[0].function_call', { role: 'assistant', function_call: { name: 'f', arguments: '' } }],
    ['messages[0].tool_calls', { role: 'assistant', tool_calls: [] }],
    ['messages[0].tool_calls[0].type', { role: 'assistant', tool_calls: [{ ...call, type: 'custom' }] }],
    ['messages[0].tool_calls[0].id', { role: 'assistant', tool_calls: [{ ...call, id: undefined }] }],
    ['messages[0].tool_calls[0].function.name', { role: 'assistant', tool_calls: [{ ...call, function: {} }] }],
    ['messages[0].tool_call_id', { role: 'tool', content: 'x' }],
  ])('are refused for %s', (param, message) => {
    expect(refused(message)).toBe(param)
  })

  it('of tools answer the calls before them, and every call is answered', () => {
    const answer = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
    expect(refused(answer('call_1'))).toBe('messages[0].role')
    expect(refused(user, asked, answer('call_2'))).toBe('messages[2].tool_call_id')
    expect(refused(user, asked)).toBe('messages[1].tool_calls')
    expect(refused(user, asked, user)).toBe('messages[1].tool_calls')
    const two = { ...asked, tool_calls: [call, { ...call, id: 'call_2' }] }
    expect(refused(user, two, answer('call_2'))).toBe('messages[1].tool_calls')
    expect(messages(user, two, answer('call_2'), answer('call_1'), user)).toHaveLength(5)
  })
})

describe('tools', () => {
  const tools = [tool, { type: 'function', function: { name: 'clock', strict: true, parameters: schema } }]
  const refused = (body: object) => refusedFor({ ...minimal, ...body })

  it('are called freely unless the request chooses', () => {
    expect(read({ tools })).toMatchObject({
      toolChoice: 'auto',
      parallelToolCalls: true,
      tools: [{ strict: false }, { strict: true }],
    })
    expect(read({ tools, tool_choice: 'required', parallel_tool_calls: false })).toMatchObject({
      toolChoice: 'required',
      parallelToolCalls: false,
    })
    expect(read({ tools, tool_choice: { type: 'function', function: { name: 'clock' } } }).toolChoice).toEqual({
      name: 'clock',
    })
    expect(read({ tool_choice: 'none' }).toolChoice).toBe('none')
  })

  it('may be narrowed down', () => {
    const only = {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'clock' } }] },
    }
    expect(read({ tools, tool_choice: only })).toMatchObject({ toolChoice: 'required', tools: [{ name: 'clock' }] })
  })

  it('without parameters take none', () => {
    const [bare] = read({ tools: [{ type: 'function', function: { name: 'now' } }] }).tools
    expect(bare!.parameters).toEqual({ type: 'object', properties: {} })
  })

  it.each<[string, object]>([
    ['tools', { tools: [] }],
    ['tools', { tools: Array.from({ length: 129 }, () => tool) }],
    ['tools[0]', { tools: ['weather'] }],
    ['tools[0].type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'two words' } }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'x'.repeat(65) } }] }],
    ['tools[0].function.parameters', { tools: [{ type: 'function', function: { name: 'a', parameters: 'x' } }] }],
    ['tools[0].function.strict', { tools: [{ type: 'function', function: { name: 'a', strict: 'yes' } }] }],
    ['tools[1].function.name', { tools: [tool, tool] }],
    ['tool_choice', { tool_choice: 'auto' }],
    ['tool_choice', { tools, tool_choice: 'sometimes' }],
    ['tool_choice', { tools, tool_choice: 5 }],
    ['tool_choice.type', { tools, tool_choice: { type: 'custom' } }],
    ['tool_choice.function.name', { tools, tool_choice: { type: 'function', function: { name: 'other' } } }],
    [
      'tool_choice.allowed_tools.mode',
      { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x', tools: [tool] } } },
    ],
    ['parallel_tool_calls', { parallel_tool_calls: true }],
    ['parallel_tool_calls', { tools, parallel_tool_calls: 1 }],
  ])('are refused for %s', (param, body) => {
    expect(refused(body)).toBe(param)
  })
})

describe('response_format', () => {
  const format = (json_schema: object) => ({
    type: 'json_schema',
    json_schema: { name: 'city', schema, ...json_schema },
  })
  const outputOf = (response_format: unknown) => read({ response_format }).output

  it('is text, an object, or a schema', () => {
    expect(outputOf({ type: 'text' })).toEqual({ type: 'text' })
    expect(outputOf({ type: 'json_object' })).toEqual({ type: 'json_object' })
    expect(outputOf(format({ strict: true }))).toEqual({ type: 'json_schema', name: 'city', strict: true, schema })
    expect(outputOf(format({ strict: null }))).toMatchObject({ strict: false })
    expect(outputOf({ type: 'json_object', schema })).toMatchObject({ type: 'json_schema', strict: false, schema })
  })

  it.each<[string, unknown]>([
    ['response_format', 'json'],
    ['response_format.type', {}],
    ['response_format.type', { type: 'xml' }],
    ['response_format.json_schema', { type: 'json_schema' }],
    ['response_format.json_schema.name', format({ name: undefined })],
    ['response_format.json_schema.name', format({ name: 'two words' })],
    ['response_format.json_schema.name', format({ name: 'x'.repeat(65) })],
    ['response_format.json_schema.schema', format({ schema: undefined })],
    ['response_format.json_schema.schema', format({ schema: 'x' })],
    ['response_format.json_schema.strict', format({ strict: 'yes' })],
    ['response_format.json_schema.description', format({ description: 5 })],
  ])('is refused for %s', (param, response_format) => {
    expect(refusedFor({ ...minimal, response_format })).toBe(param)
  })
})
