import { describe, expect, test } from 'vitest'
import type { ChatCall, ChatMessage, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { type Script, scripted } from '../../../engines/scripted.js'
import { type Answer, finish, jsonOf, MODEL, posting, serviceOf, text } from '../../v1.test-helper.js'
import { ollama } from './index.js'

const NAME = `${MODEL}:latest`
const USER = [{ role: 'user', content: 'Hi' }]
const weather = {
  type: 'function',
  // As clients of MCP servers name their tools.
  function: { name: 'home.weather', description: 'Looks.', parameters: { type: 'object', properties: { city: {} } } },
}
const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] }
const usage: Part = { type: 'usage', usage: { promptTokens: 12, completionTokens: 9, cachedTokens: 4 } }
const thought = (content: string): Part => ({ type: 'reasoning-delta', choice: 0, text: content })
const call = (index: number, args: string, name = 'home.weather'): Part => ({
  ...{ type: 'tool-call-delta', choice: 0, index, id: `call_${index}`, name },
  arguments: args,
})

function service(script: Script = 'Hello there, you.', options = {}, able = {}) {
  const calls: ChatCall[] = []
  const recording: Script = (request: ChatCall) => {
    calls.push(request)
    return typeof script === 'function' ? script(request) : script
  }
  const engine = scripted({ models: { [MODEL]: recording }, capabilities: { sampling: true, ...able } })
  const { ask } = serviceOf(engine, { endpoints: [ollama()], ...options })
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    ask(path, posting({ model: NAME, ...body }, headers))
  const good = async (path: string, body: object) => {
    const answer = await post(path, { stream: false, ...body })
    expect(answer.status, answer.text).toBe(200)
    return jsonOf(answer)
  }
  const chat = (body: object = {}) => good('/api/chat', { messages: USER, ...body })
  const generate = (body: object = {}) => good('/api/generate', { prompt: 'Hi', ...body })
  return { ask, post, chat, generate, good, calls }
}

// biome-ignore lint/suspicious/noExplicitAny: lines are looked into as a client does.
function linesOf({ headers, text: body }: Answer): any[] {
  expect(headers.get('content-type')).toBe('application/x-ndjson')
  const lines = body.split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line) => JSON.parse(line))
}

const errorOf = (answer: Answer): [status: number, message: string] => {
  const { error, ...rest } = jsonOf(answer)
  expect([typeof error, rest]).toEqual(['string', {}])
  return [answer.status, error]
}

describe('a chat', () => {
  test('is answered with every field that clients read', async () => {
    const { chat } = service([text('Hello'), text(' you.'), finish(), usage])
    const { created_at, total_duration, load_duration, prompt_eval_duration, eval_duration, ...rest } = await chat()
    expect(rest).toEqual({
      model: NAME,
      message: { role: 'assistant', content: 'Hello you.' },
      ...{ done: true, done_reason: 'stop', prompt_eval_count: 12, eval_count: 9 },
    })
    expect(new Date(created_at).toISOString()).toBe(created_at)
    const parts = [load_duration, prompt_eval_duration, eval_duration]
    expect([total_duration, ...parts].every((each) => Number.isInteger(each) && each >= 0)).toBe(true)
    expect(Math.abs(total_duration - parts.reduce((sum, each) => sum + each, 0))).toBeLessThanOrEqual(3)
  })

  test('comes in lines by default, the last of which says how it ended', async () => {
    const { post } = service([thought('Hm.'), text('Hello'), text(' you.'), finish('length'), usage])
    const lines = linesOf(await post('/api/chat', { messages: USER }))
    expect(lines.map(({ message, done }) => [message, done])).toEqual([
      [{ role: 'assistant', content: '', thinking: 'Hm.' }, false],
      [{ role: 'assistant', content: 'Hello' }, false],
      [{ role: 'assistant', content: ' you.' }, false],
      [{ role: 'assistant', content: '' }, true],
    ])
    expect(lines.at(-1)).toMatchObject({ model: NAME, done_reason: 'length', prompt_eval_count: 12, eval_count: 9 })
  })

  test('calls tools, each of which is one line', async () => {
    const script = [text('So.'), call(0, '{"city":'), call(0, '"Bern"}'), call(1, '{}'), finish('tool_calls'), usage]
    const { chat, post, calls } = service(script)
    const toolCalls = [
      { id: 'call_0', function: { index: 0, name: 'home.weather', arguments: { city: 'Bern' } } },
      { id: 'call_1', function: { index: 1, name: 'home.weather', arguments: {} } },
    ]
    const whole = await chat({ tools: [weather] })
    expect(whole).toMatchObject({ message: { content: 'So.', tool_calls: toolCalls }, done_reason: 'stop' })
    expect(calls[0]).toMatchObject({ toolChoice: 'auto', tools: [{ name: 'home.weather' }] })
    const lines = linesOf(await post('/api/chat', { messages: USER, tools: [weather] }))
    expect(lines.map(({ message }) => message.tool_calls ?? message.content)).toEqual([
      'So.',
      [toolCalls[0]],
      [toolCalls[1]],
      '',
    ])
  })

  test('tells no call that was cut off, which a client would run without what it lacks', async () => {
    const script = [call(0, '{}'), call(1, '{"city":"Be'), finish('length'), usage]
    const { chat, post } = service(script)
    const told = { id: 'call_0', function: { index: 0, name: 'home.weather', arguments: {} } }
    const whole = await chat({ tools: [weather] })
    expect(whole).toMatchObject({ message: { tool_calls: [told] }, done_reason: 'length' })
    expect(whole.message.tool_calls).toHaveLength(1)
    const lines = linesOf(await post('/api/chat', { messages: USER, tools: [weather] }))
    expect(lines.map(({ message }) => message.tool_calls)).toEqual([[told], undefined])
  })

  test.each([
    ['the next', [call(1, '{"city":"Be')]],
    ['a text', [text('So.')]],
  ])('tells a call without arguments that was over before %s was cut off', async (_, rest) => {
    const { chat, post } = service([call(0, ''), ...rest, finish('length'), usage])
    const told = { id: 'call_0', function: { index: 0, name: 'home.weather', arguments: {} } }
    expect((await chat({ tools: [weather] })).message.tool_calls).toEqual([told])
    const lines = linesOf(await post('/api/chat', { messages: USER, tools: [weather] }))
    expect(lines.flatMap(({ message }) => message.tool_calls ?? [])).toEqual([told])
  })

  test('tells no call that was cut off before its arguments', async () => {
    const { chat } = service([call(0, '{}'), call(1, ''), finish('length'), usage])
    expect((await chat({ tools: [weather] })).message.tool_calls).toMatchObject([{ id: 'call_0' }])
  })

  test('tells arguments as they were written, however many digits their numbers have', async () => {
    const exact = '{"id": 9007199254740993,\n"ids":[12345678901234567890, 0.12345678901234567890123],"s":"\u2028"}'
    const { post } = service([call(0, exact), finish('tool_calls'), usage])
    const body = { messages: USER, tools: [weather] }
    const said = `"arguments":${exact.replace('\n', ' ')}`
    expect((await post('/api/chat', { ...body, stream: false })).text).toContain(said)
    const lines = await post('/api/chat', body)
    expect(lines.text.replace('\\u2028', '\u2028')).toContain(said)
    expect(linesOf(lines)).toHaveLength(2)
  })

  test('continues from the results of calls that have no ids', async () => {
    const { chat, calls } = service()
    const called = (name: string, args: object) => ({ function: { name, arguments: args } })
    const request = {
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...USER,
        {
          ...{ role: 'assistant', content: '', thinking: 'Look.' },
          tool_calls: [called('a', { x: 1 }), called('b', {}), called('a', {})],
        },
        { role: 'tool', tool_name: 'b', content: 'of b' },
        { role: 'tool', content: 'of the first' },
      ],
    }
    await chat(request)
    await chat({ messages: [...request.messages, ...USER] })
    // Some templates tell ids, and what was said before must stay what it was.
    expect(calls[1]!.messages.slice(0, -1)).toEqual(calls[0]!.messages)
    const [system, user, assistant, ...results] = calls[0]!.messages
    expect([system, user]).toEqual([{ role: 'system', content: 'Be brief.' }, USER[0]])
    const made = (assistant as ChatMessage & { role: 'assistant' }).toolCalls!
    expect(assistant).toMatchObject({ reasoning: 'Look.' })
    expect(made.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['a', '{"x":1}'],
      ['b', '{}'],
      ['a', '{}'],
    ])
    expect(results).toEqual([
      { role: 'tool', toolCallId: made[1]!.id, content: 'of b' },
      { role: 'tool', toolCallId: made[0]!.id, content: 'of the first' },
      { role: 'tool', toolCallId: made[2]!.id, content: 'No result was given.' },
    ])
  })

  test('takes a result whose call is gone for what it says', async () => {
    const { chat, calls } = service()
    await chat({ messages: [{ role: 'tool', tool_name: 'weather', content: 'sunny' }, ...USER] })
    expect(calls[0]!.messages[0]).toEqual({ role: 'user', content: 'Result of the tool weather: sunny' })
  })

  test('keeps to a format, a schema or any JSON', async () => {
    const { chat, calls } = service('{"age":22}')
    expect((await chat({ format: schema })).message.content).toBe('{"age":22}')
    expect(calls[0]!.output).toMatchObject({ type: 'json_schema', strict: true, schema })
    await chat({ format: 'json' })
    expect(calls[1]!.output).toEqual({ type: 'json_object' })
    await chat({ format: '' })
    expect(calls[2]!.output).toEqual({ type: 'text' })
  })

  test.each([
    [{ response_format: { type: 'json_object' } }, 'response_format', "'format'"],
    [{ output_config: { effort: 'low' } }, 'output_config', "'format'"],
    [{ stop: ['a'] }, 'stop', "'options.stop'"],
    [{ stop_sequences: ['a'] }, 'stop_sequences', "'options.stop'"],
    [{ max_tokens: 5 }, 'max_tokens', "'options.num_predict'"],
    [{ max_completion_tokens: 5 }, 'max_completion_tokens', "'options.num_predict'"],
    [{ num_predict: 5 }, 'num_predict', "'options.num_predict'"],
    [{ n: 2 }, 'n', 'once more'],
    [{ quote: true }, 'quote', 'x-quote'],
    [{ tool_choice: 'required' }, 'tool_choice', 'freely'],
    [{ functions: [{ name: 'a' }] }, 'functions', "'tools'"],
    [{ instructions: 'Be brief.' }, 'instructions', "'system'"],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id', 'all of them'],
    [{ images: ['aGk='] }, 'images', 'message'],
  ])('refuses a field of another interface that its caller relies on: %j', async (body, field, instead) => {
    const { post, calls } = service()
    const { status, text } = await post('/api/chat', { messages: USER, ...body })
    expect([status, JSON.parse(text).error]).toEqual([400, expect.stringContaining(`'${field}'`)])
    expect(JSON.parse(text).error).toContain(instead)
    expect(calls).toEqual([])
  })

  test.each([{ tools: [weather] }, { messages: USER }, { max_tokens: 5 }, { stop: 'a' }])(
    'refuses it of a question, too: %j',
    async (body) => {
      const { status, text } = await service().post('/api/generate', { prompt: 'Hi', ...body })
      expect([status, JSON.parse(text).error]).toEqual([400, expect.stringContaining(`'${Object.keys(body)[0]}'`)])
    },
  )

  test.each([{ stop: [] }, { max_tokens: null, num_predict: -1, n: 1 }, { tool_choice: 'auto' }, { tools: [] }])(
    'takes what asks for nothing: %j',
    async (body) => {
      const { post } = service()
      expect((await post('/api/chat', { messages: USER, ...body })).status).toBe(200)
      expect((await post('/api/generate', { prompt: 'Hi', ...body })).status).toBe(200)
    },
  )

  test('passes on its options, and names those that do not exist here', async () => {
    const { post, calls } = service()
    const options = {
      ...{ temperature: 0.8, top_k: 20, top_p: 0.9, min_p: 0.1, typical_p: 0.7, repeat_penalty: 1.2, seed: 42 },
      ...{ presence_penalty: 1.5, frequency_penalty: 1, num_predict: 100, stop: ['\n', 'user:'] },
    }
    const { headers } = await post('/api/chat', {
      messages: USER,
      keep_alive: '5m',
      options: { ...options, num_ctx: 1024, mirostat: 1 },
    })
    expect(headers.get('x-ignored-fields')).toBe('options.num_ctx, options.mirostat')
    expect(calls[0]).toMatchObject({
      ...{ maxTokens: 100, stop: ['\n', 'user:'] },
      sampling: {
        ...{ temperature: 0.8, topK: 20, topP: 0.9, minP: 0.1, typicalP: 0.7, repetitionPenalty: 1.2, seed: 42 },
        ...{ presencePenalty: 1.5, frequencyPenalty: 1 },
      },
    })
    // As Ollama's samplers read what lies beyond a limit.
    const beyond = { temperature: 2.5, top_p: 1.5, min_p: -1, top_k: -2, typical_p: 2, repeat_penalty: 0, seed: -1 }
    await post('/api/chat', { messages: USER, options: beyond })
    await post('/api/chat', { messages: USER, options: { temperature: -1, repeat_penalty: -0.5 } })
    expect(calls.splice(1).map(({ sampling }) => sampling)).toMatchObject([
      { temperature: 2.5, topP: 1, minP: 0, topK: 0, typicalP: 1, repetitionPenalty: 1, seed: undefined },
      { temperature: 0, repetitionPenalty: 1 },
    ])
    for (const num_predict of [-1, -2, 0]) await post('/api/chat', { messages: USER, options: { num_predict } })
    expect(calls.slice(1).map(({ maxTokens }) => maxTokens)).toEqual([undefined, undefined, undefined])
  })

  test.each([
    [true, { enable_thinking: true }],
    [false, { enable_thinking: false }],
    ['high', { reasoning_effort: 'high', enable_thinking: true }],
    [undefined, undefined],
  ])('thinks as it is told: %j', async (think, templateOptions) => {
    const { chat, calls } = service([thought('Hm.'), text('Four.'), finish()])
    expect((await chat({ think })).message).toEqual({ role: 'assistant', content: 'Four.', thinking: 'Hm.' })
    expect(calls[0]!.templateOptions).toEqual(templateOptions)
  })

  test('is answered by a model that does not think, and names what it was not told', async () => {
    const { post } = service('Four.', {}, { thinking: false })
    const answer = await post('/api/chat', { messages: USER, think: true, stream: false })
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'think'])
  })

  test('has a line of its own for each step, whatever a client takes for the end of one', async () => {
    const answerText = 'one\u2028two\u2029three\u0085four\nfive'
    const { post } = service([text(answerText), finish()])
    const answer = await post('/api/chat', { messages: USER })
    expect(answer.text).not.toMatch(/[\u0085\u2028\u2029]/)
    const contents = linesOf(answer).map(({ message }) => message.content)
    expect(contents.join('')).toBe(answerText)
  })

  test('tells log probabilities', async () => {
    const logprobs = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top: [] }]
    const { chat, post, calls } = service([{ ...text('Hi'), logprobs } as Part, finish()])
    const expected = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] }]
    expect((await chat({ logprobs: true, top_logprobs: 2 })).logprobs).toEqual(expected)
    expect(calls[0]!.topLogprobs).toBe(2)
    expect(linesOf(await post('/api/chat', { messages: USER, logprobs: true }))[0].logprobs).toEqual(expected)
  })

  test('that is too long loses its oldest turns, unless it must not', async () => {
    const script: Script = ({ messages }) =>
      messages.length > 1 ? [new V1Error(400, 'Too long.', { code: 'context_length_exceeded' })] : 'Hi.'
    const { chat, post, calls } = service(script)
    const messages = [...USER, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: 'Well?' }]
    await chat({ messages })
    expect(calls.at(-1)!.messages).toEqual([{ role: 'user', content: 'Well?' }])
    expect(errorOf(await post('/api/chat', { messages, truncate: false }))).toEqual([400, 'Too long.'])
  })

  test('shows images to a model that sees, and is refused by name to others', async () => {
    const messages = [...USER, { role: 'user', content: 'What?', images: ['/9j/AA==', 'iVBORw=='] }]
    const { chat, calls } = service('A heart.', {}, { images: true })
    await chat({ messages })
    expect(calls[0]!.messages[1]!.content).toEqual([
      { type: 'text', text: 'What?' },
      { type: 'image', url: 'data:image/jpeg;base64,/9j/AA==' },
      { type: 'image', url: 'data:image/png;base64,iVBORw==' },
    ])
    const [status, message] = errorOf(await service().post('/api/chat', { messages }))
    expect([status, message]).toEqual([400, expect.stringContaining("'messages[1].images[0]'")])
  })

  test('tells a model of images that a tool showed, and names those that nobody else can show', async () => {
    const { post, calls } = service()
    const images = ['iVBORw==']
    const called = { role: 'assistant', content: '', tool_calls: [{ function: { name: 'look' } }], images }
    const messages = [...USER, called, { role: 'tool', content: 'A map:', images }]
    const { headers } = await post('/api/chat', { messages })
    expect(headers.get('x-ignored-fields')).toBe('messages[1].images')
    expect(calls[0]!.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringMatching(/^A map:\n.*image/),
    })
  })

  test('without messages only has its model there', async () => {
    const { chat, calls } = service()
    const { created_at: _, ...rest } = await chat({ messages: [] })
    expect(rest).toEqual({
      model: NAME,
      message: { role: 'assistant', content: '' },
      ...{ done: true, done_reason: 'load' },
    })
    expect(calls).toEqual([])
  })

  test.each([
    [{ messages: 5 }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'assistant', tool_calls: [{}] }] }, 'messages[0].tool_calls[0].function'],
    [{ messages: USER, tools: [{ type: 'robot' }] }, 'tools[0].type'],
    [{ messages: USER, format: { type: 'text' } }, 'format'],
    [{ messages: USER, format: 'xml' }, 'format'],
    [{ messages: USER, options: { temperature: 'hot' } }, 'options.temperature'],
    [{ messages: USER, options: { repeat_penalty: 101 } }, 'options.repeat_penalty'],
    [{ messages: USER, options: { presence_penalty: 3 } }, 'options.presence_penalty'],
    [{ messages: USER, options: { num_predict: 1.5 } }, 'options.num_predict'],
    [{ messages: USER, options: { stop: [''] } }, 'options.stop[0]'],
    [{ messages: USER, options: 5 }, 'options'],
    [{ messages: USER, think: 5 }, 'think'],
    [{ messages: USER, stream: 'yes' }, 'stream'],
    [{ messages: USER, top_logprobs: 50 }, 'top_logprobs'],
    [{ model: 5, messages: USER }, 'model'],
  ])('refuses %j by %s', async (body, field) => {
    const { post, calls } = service()
    expect(errorOf(await post('/api/chat', body))).toEqual([400, expect.stringContaining(`'${field}'`)])
    expect(calls).toEqual([])
  })

  test('names an option as it was written, where the model does not take it', async () => {
    const { post } = service('x', {}, { sampling: false, seed: false })
    for (const name of ['top_k', 'repeat_penalty', 'seed']) {
      const [status, message] = errorOf(await post('/api/chat', { messages: USER, options: { [name]: 2 } }))
      expect([status, message]).toEqual([400, expect.stringContaining(`'options.${name}'`)])
    }
  })

  test('that breaks off ends with an error in a line', async () => {
    const { post } = service([text('Hello'), new V1Error(503, 'The device was lost.')])
    const lines = linesOf(await post('/api/chat', { messages: USER }))
    expect(lines.at(-1)).toEqual({ error: 'The device was lost.' })
  })
})

describe('a text', () => {
  test('is generated from a prompt, its system and its images', async () => {
    const { generate, post, calls } = service([thought('Hm.'), text('Blue.'), finish(), usage], {}, { images: true })
    const whole = await generate({ system: 'Be brief.', images: ['iVBORw=='] })
    expect(whole).toMatchObject({ response: 'Blue.', thinking: 'Hm.', done: true, done_reason: 'stop', eval_count: 9 })
    expect(calls[0]!.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image', url: 'data:image/png;base64,iVBORw==' },
        ],
      },
    ])
    const lines = linesOf(await post('/api/generate', { prompt: 'Hi' }))
    expect(lines.map(({ response, thinking, done }) => [response, thinking, done])).toEqual([
      ['', 'Hm.', false],
      ['Blue.', undefined, false],
      ['', undefined, true],
    ])
  })

  test('goes on from what is raw, and fills gaps', async () => {
    const { generate, calls } = service('x', {}, { infill: true })
    await generate({ prompt: '[INST] why? [/INST]', raw: true })
    expect(calls[0]).toMatchObject({ messages: [], prompt: '[INST] why? [/INST]' })
    await generate({ prompt: 'def gcd(a, b):', suffix: '    return result' })
    expect(calls[1]).toMatchObject({ messages: [], prompt: 'def gcd(a, b):', suffix: '    return result' })
  })

  test('without a prompt only has its model there', async () => {
    const { generate, calls } = service()
    expect(await generate({ prompt: '', images: [] })).toMatchObject({ response: '', done: true, done_reason: 'load' })
    expect(calls).toEqual([])
  })

  test.each([
    [{ template: '{{ .Prompt }}' }, 'template'],
    [{ context: [1, 2, 3] }, 'context'],
    [{ raw: true, system: 'x' }, 'system'],
    [{ raw: true, images: ['x'] }, 'images'],
    [{ suffix: 'x' }, 'suffix'],
    [{ images: ['x'] }, 'images[0]'],
    [{ prompt: 5 }, 'prompt'],
    [{ format: 5 }, 'format'],
  ])('is refused where %j says what nobody does, by %s', async (body, field) => {
    const { post, calls } = service()
    const [status, message] = errorOf(await post('/api/generate', { prompt: 'Hi', ...body }))
    expect([status, message]).toEqual([400, expect.stringContaining(`'${field}'`)])
    expect(calls).toEqual([])
  })
})

describe('vectors', () => {
  const embedding = (long = false) => {
    const inputs: (string | readonly number[])[] = []
    const engine = scripted({
      models: { [MODEL]: 'x' },
      capabilities: { embeddings: true },
      embed: (input, dimensions = 2) => {
        inputs.push(input)
        if (long && input.length > 20) throw new V1Error(400, 'Too long.', { code: 'context_length_exceeded' })
        return new Float32Array(dimensions).fill(input.length)
      },
    })
    const models = engine.models.map((model) => ({ ...model, contextLength: 20 }))
    const { ask } = serviceOf({ ...engine, models }, { endpoints: [ollama()] })
    const post = (path: string, body: object) =>
      ask(path, { method: 'POST', body: JSON.stringify({ model: NAME, ...body }) })
    return { post, inputs }
  }

  test('are made of a text or of texts', async () => {
    const { post } = embedding()
    const one = jsonOf(await post('/api/embed', { input: 'abc' }))
    expect(one).toMatchObject({ model: NAME, embeddings: [[3, 3]], prompt_eval_count: 3 })
    const two = jsonOf(await post('/api/embed', { input: ['abc', 'ab'], dimensions: 1 }))
    expect(two.embeddings).toEqual([[3], [2]])
    expect(jsonOf(await post('/api/embed', { input: [] })).embeddings).toEqual([])
    expect(jsonOf(await post('/api/embeddings', { prompt: 'abcd' }))).toEqual({ embedding: [4, 4] })
    expect(jsonOf(await post('/api/embeddings', {}))).toEqual({ embedding: [] })
  })

  test('of what is too long are those of its beginning, unless it must not be cut', async () => {
    const { post, inputs } = embedding(true)
    const input = 'abcdefghijklmnopqrstuvwxyz'
    expect((await post('/api/embed', { input })).status).toBe(200)
    expect(input.startsWith(inputs.at(-1) as string)).toBe(true)
    expect(inputs.at(-1)!.length).toBeGreaterThan(8)
    expect(errorOf(await post('/api/embed', { input, truncate: false }))).toEqual([400, 'Too long.'])
  })

  test.each([
    ['/api/embed', {}, 'input'],
    ['/api/embed', { input: [5] }, 'input[0]'],
    ['/api/embed', { input: ['a', ''] }, 'input[1]'],
    ['/api/embed', { input: 'a', dimensions: 0 }, 'dimensions'],
    ['/api/embeddings', { prompt: 5 }, 'prompt'],
  ])('%s with %j is refused by %s', async (path, body, field) => {
    expect(errorOf(await embedding().post(path, body))).toEqual([400, expect.stringContaining(`'${field}'`)])
  })

  test('are not made by a model that writes', async () => {
    expect(errorOf(await service().post('/api/embed', { input: 'a' }))).toEqual([
      400,
      expect.stringContaining('cannot make embeddings'),
    ])
  })
})

describe('models', () => {
  test('are listed under names with a tag, and found with and without one', async () => {
    const { ask, chat } = service()
    const { models } = jsonOf(await ask('/api/tags'))
    expect(models).toEqual([
      {
        ...{ name: NAME, model: NAME, modified_at: expect.any(String), size: 0 },
        ...{
          digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          details: expect.objectContaining({ family: 'local-v1' }),
        },
      },
    ])
    for (const name of [NAME, MODEL, 'hello', 'hello:latest']) expect((await chat({ model: name })).model).toBe(name)
  })

  test('are found under the names that they have in Ollama', async () => {
    const { ask } = serviceOf(scripted({ models: { 'ollama/qwen3-0.6b': 'Hi' } }), { endpoints: [ollama()] })
    const body = JSON.stringify({ model: 'qwen3:0.6b', messages: USER, stream: false })
    expect(jsonOf(await ask('/api/chat', { method: 'POST', body })).message.content).toBe('Hi')
  })

  test('are shown with what they can', async () => {
    const { good } = service('x', {}, { images: true, infill: true, thinking: true })
    expect(await good('/api/show', {})).toMatchObject({
      capabilities: ['completion', 'tools', 'thinking', 'vision', 'insert'],
      model_info: { 'general.architecture': 'local-v1' },
    })
    const plain = service('x', {}, { tools: false, thinking: false })
    expect((await plain.good('/api/show', {})).capabilities).toEqual(['completion'])
  })

  test('that are in memory are told apart', async () => {
    const engine = scripted({ models: { [MODEL]: 'x', 'test/other': 'x' } })
    const [first, second] = engine.models
    const loaded = { ...first!, contextLength: 4096, metadata: { loaded: true, memory_bytes: 7, device: 'cpu' } }
    const { ask } = serviceOf({ ...engine, models: [loaded, second!] }, { endpoints: [ollama()] })
    const { models } = jsonOf(await ask('/api/ps'))
    expect(models).toMatchObject([{ name: NAME, size: 7, size_vram: 0, context_length: 4096 }])
  })

  const loadable = () => {
    const steps: string[] = []
    const engine = scripted({ models: { [MODEL]: 'x' } })
    return {
      steps,
      engine: {
        ...engine,
        load: async (model: string, report: (progress: never) => void) => {
          const counts = { bytesTotal: 10, bytesLoaded: 4, filesLoaded: 0, filesTotal: 1 }
          report({ ...counts, model, phase: 'download' } as never)
          steps.push(`load ${model}`)
        },
        unload: async (model: string) => void steps.push(`unload ${model}`),
        remove: async (model: string) => void steps.push(`remove ${model}`),
      },
    }
  }

  test('are pulled, and how far is told', async () => {
    const { engine, steps } = loadable()
    const { ask } = serviceOf(engine, { endpoints: [ollama()] })
    const pull = (body: object) => ask('/api/pull', { method: 'POST', body: JSON.stringify(body) })
    const lines = linesOf(await pull({ model: MODEL }))
    expect(lines[0]).toEqual({ status: 'pulling manifest' })
    expect(lines.at(-1)).toEqual({ status: 'success' })
    expect(lines.slice(1, -1)).toContainEqual({
      ...{ status: expect.stringContaining('pulling '), digest: expect.any(String), total: 10, completed: 4 },
    })
    // As older clients name it.
    expect(jsonOf(await pull({ name: NAME, stream: false }))).toEqual({ status: 'success' })
    expect(steps).toEqual([`load ${MODEL}`, `load ${MODEL}`])
    expect(errorOf(await pull({ model: 'llama3.2' }))).toEqual([404, expect.stringContaining('llama3.2')])
  })

  test('can be unloaded and removed only by admins, if the service allows it', async () => {
    const answers = async (manageModels: boolean, admin: boolean) => {
      const { engine, steps } = loadable()
      const keys = [{ key: 'sk-test', admin }]
      const { ask } = serviceOf(engine, { endpoints: [ollama()], manageModels, keys })
      const body = JSON.stringify({ model: NAME, messages: [], keep_alive: 0 })
      const replies = [
        await ask('/api/chat', { method: 'POST', body }),
        await ask('/api/generate', { method: 'POST', body }),
        await ask('/api/delete', { method: 'DELETE', body }),
      ]
      return { steps, replies }
    }
    for (const [manages, admin] of [
      [false, true],
      [true, false],
    ] as const) {
      const { steps, replies } = await answers(manages, admin)
      expect(replies.map((answer) => errorOf(answer)[0])).toEqual([403, 403, 403])
      expect(steps).toEqual([])
    }
    const { steps, replies } = await answers(true, true)
    expect(replies.map(jsonOf)).toMatchObject([
      { done: true, done_reason: 'unload', message: { content: '' } },
      { done: true, done_reason: 'unload', response: '' },
      { status: 'success' },
    ])
    expect(steps).toEqual([`unload ${MODEL}`, `unload ${MODEL}`, `remove ${MODEL}`])
  })

  test.each(['create', 'copy', 'push'])('are not made here: %s', async (what) => {
    expect(errorOf(await service().post(`/api/${what}`, {}))).toEqual([404, expect.stringContaining(`/api/${what}`)])
  })
})

describe('around it', () => {
  test('whether anybody is there is told without a key, at the root and under the base path', async () => {
    const { v1 } = serviceOf('Hi', { endpoints: [ollama()] })
    for (const [method, path] of [
      ['HEAD', '/'],
      ['GET', '/'],
      ['GET', '/v1'],
      ['GET', '/api/version'],
    ] as const) {
      expect((await v1.fetch(new Request(`http://device.test${path}`, { method }))).status).toBe(200)
    }
  })

  test('a key is asked for as everywhere', async () => {
    const { v1 } = serviceOf('Hi', { endpoints: [ollama()] })
    const answer = await v1.fetch(new Request('http://device.test/api/tags'))
    expect([answer.status, typeof (await answer.json()).error]).toEqual([401, 'string'])
  })

  test('a body need not say that it is JSON, unless a page of the web sends it', async () => {
    const { post } = service()
    const curl = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post('/api/chat', { messages: USER }, curl)).status).toBe(200)
    const pages: Record<string, string>[] = [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]
    for (const from of pages) {
      expect(errorOf(await post('/api/chat', { messages: USER }, { ...curl, ...from }))[0]).toBe(415)
    }
  })

  test('a model that is nobody and a body that is none are told in its form', async () => {
    const { ask, post } = service()
    expect(errorOf(await post('/api/chat', { model: 'no', messages: USER }))).toEqual([
      404,
      expect.stringMatching(/^The model 'no' does not exist.*'test\/hello'/),
    ])
    expect(errorOf(await ask('/api/chat', { method: 'POST', body: '{' }))[0]).toBe(400)
    expect(errorOf(await ask('/api/chat'))[0]).toBe(405)
    expect(errorOf(await ask('/api/show', { method: 'POST', body: '{}' }))).toEqual([
      400,
      expect.stringContaining("'model'"),
    ])
  })

  test('is there only where it was asked for', async () => {
    expect((await serviceOf('Hi').ask('/api/chat', { method: 'POST', body: '{}' })).status).toBe(404)
  })
})
