import { describe, expect, test } from 'vitest'
import type { ChatCall, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import type { Script } from '../../../engines/scripted.js'
import { AT_ONCE } from '../../../platform/json.js'
import { errorOf, finish, jsonOf, KEY, MODEL, posting, recorded, serviceOf, text, until } from '../../v1.test-helper.js'
import { call, eventsOf, FIELDS, look, schema, service, settled } from './responses.test-helper.js'
import { memoryResponses } from './store/shelved.js'
import { judgesAreHere } from './wire/judges.test-helper.js'
import type { MessageItem, OutputText, ResponseResource } from './wire/resource.js'

describe('a response', () => {
  test('answers a text, with its instructions', async () => {
    const { create, calls } = service()
    const response = await create({ instructions: 'Be brief.', temperature: 0, metadata: { a: 'b' } })
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: MODEL,
      store: false,
      instructions: 'Be brief.',
      metadata: { a: 'b' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello there, you.' }] }],
      usage: { output_tokens: 3 },
    })
    expect(calls[0]!.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ])
    expect(calls[0]!.sampling.temperature).toBe(0)
  })

  test('of many tokens is told in pieces where events have all that each might have been', async () => {
    const logprob = { token: 'word ', logprob: -1, bytes: [...Buffer.from('word ')] }
    const part = { ...text('word '), logprobs: [{ ...logprob, top: Array.from({ length: 9 }, () => logprob) }] } as Part
    const script = [...Array.from({ length: 2000 }, () => part), finish()]
    const { v1 } = serviceOf(script)
    const include = ['message.output_text.logprobs']
    const body = { input: 'Hi', stream: true, store: true, include, top_logprobs: 9 }
    const pieces = async (path: string, init: RequestInit) => {
      const headers = new Headers({ authorization: `Bearer ${KEY}` })
      for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
      const response = await v1.fetch(new Request(`http://device.test/v1${path}`, { ...init, headers }))
      const found: string[] = []
      const decoder = new TextDecoder()
      for await (const piece of response.body!) found.push(decoder.decode(piece, { stream: true }))
      return found
    }
    const told = await pieces('/responses', posting(body))
    const events = eventsOf(told.join(''))
    const { id, output } = events.at(-1)!.response as ResponseResource
    const [content] = (output[0] as MessageItem).content as [OutputText]
    expect(content.logprobs.length).toBe(2000)
    const ends = ['output_text.done', 'content_part.done', 'output_item.done', 'completed'].map(
      (end) => `response.${end}`,
    )
    expect(events.slice(-4).map(({ type }) => type)).toEqual(ends)
    const [done, content_, item] = events.slice(-4)
    expect([done!.logprobs, content_!.part, item!.item]).toEqual([content.logprobs, content, output[0]])
    const long = JSON.stringify(content).length
    expect(long).toBeGreaterThan(10 * AT_ONCE)
    const again = await pieces(`/responses/${id}?stream=true`, {})
    expect(eventsOf(again.join('')).at(-1)).toEqual({ ...events.at(-1), sequence_number: 1 })
    for (const piece of [...told, ...again]) expect(piece.length).toBeLessThan(3 * AT_ONCE)
  })

  test('tells the model a result right behind its call, whatever was said before it came', async () => {
    const { create, post, calls } = service()
    const called = (call_id: string) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })
    const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: call_id })
    const again = { role: 'user', content: 'Where?' }
    // So does the AI SDK, which repeats the question and earlier results of a conversation.
    const second = [output('a'), called('c'), output('a'), output('c')]
    await create({
      input: [again, called('a'), called('b'), again, { role: 'user', content: 'Hm.' }, output('b'), ...second],
    })
    const another = { ...output('a'), output: 'Something else.' }
    const refused = await post({ input: [called('a'), output('a'), another] })
    expect(errorOf(refused)).toMatchObject({ status: 400, param: 'input[2]' })
    expect(calls[0]!.messages.map(({ role, content }) => [role, content])).toEqual([
      ...[
        ['user', 'Where?'],
        ['assistant', ''],
        ['tool', 'b'],
        ['tool', 'a'],
        ['user', 'Hm.'],
      ],
      ...[
        ['assistant', ''],
        ['tool', 'c'],
      ],
    ])
  })

  test('turns the items of a conversation into messages', async () => {
    const { create, calls } = service()
    await create({
      input: [
        { role: 'developer', content: 'Look things up.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Where?' }] },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{"at":"b"}' },
        { type: 'function_call_output', call_id: 'c1', output: 'Here.' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'There.' }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Both.', annotations: [] }],
        },
        { role: 'user', content: 'Thanks' },
      ],
    })
    expect(calls[0]!.messages).toEqual([
      { role: 'system', content: 'Look things up.' },
      { role: 'user', content: 'Where?' },
      {
        role: 'assistant',
        reasoning: 'Hm.',
        content: '',
        toolCalls: [
          { id: 'c1', name: 'look', arguments: '{}' },
          { id: 'c2', name: 'look', arguments: '{"at":"b"}' },
        ],
      },
      { role: 'tool', content: 'Here.', toolCallId: 'c1' },
      { role: 'tool', content: 'There.', toolCallId: 'c2' },
      { role: 'assistant', content: 'Both.' },
      { role: 'user', content: 'Thanks' },
    ])
  })

  test('satisfies a schema, or names the field of one that cannot be enforced', async () => {
    const { create, post, calls } = service('{"city":"Bonn"}')
    const format = { type: 'json_schema', name: 'place', strict: true, schema }
    const { output } = await create({ text: { format } })
    expect(output[0].content[0].text).toBe('{"city":"Bonn"}')
    expect(calls[0]!.grammar!.accepts('{"city":"Bonn"}')).toBe(true)
    const broken = await post({ input: 'Hi', text: { format: { ...format, schema: { type: 'text' } } } })
    expect(errorOf(broken)).toMatchObject({ status: 400, param: 'text.format.schema' })
    const tool = await post({ input: 'Hi', tools: [{ ...look, strict: true, parameters: { minLength: 'x' } }] })
    expect(errorOf(tool)).toMatchObject({ status: 400, param: 'tools[0].parameters' })
  })

  test('continues from what other services did, and names what cannot be read', async () => {
    const { post, calls } = service()
    const { status, headers } = await post({
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
        { type: 'compaction', encrypted_content: 'gAAAA' },
        { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'text' } } },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        {
          ...{ type: 'function_call_output', call_id: 'c' },
          output: [
            { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
            { type: 'input_text', text: 'A map.' },
          ],
        },
      ],
      tools: [look],
    })
    expect(status).toBe(200)
    expect(headers.get('x-ignored-fields')).toBe(
      'input[1].encrypted_content, input[2], input[3].encrypted_content, input[4]',
    )
    expect(calls[0]!.messages).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'system', content: expect.stringContaining('summed up by another service') },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'look', arguments: '{}' }] },
      { role: 'tool', content: '[Images cannot be read here.]\nA map.', toolCallId: 'c' },
    ])
  })

  test('that was cut off says so', async () => {
    const { create } = service('One two three', {})
    const response = await create({ max_output_tokens: 16 })
    expect(response.status).toBe('completed')
    const cut = await service([text('One'), finish('length')]).create({ max_output_tokens: 16 })
    expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  })

  test.each([
    ['by its tokens', finish('length')],
    ['by a fault', new V1Error(503, 'The device was lost.')],
  ])('that was cut off in a call %s can be gone on from, without the call', async (_, end) => {
    const { post, create, ask, calls } = service(({ messages }) =>
      messages.at(-1)!.content !== 'Hi' ? 'Fine.' : [text('So.'), call(0, '{"at'), end],
    )
    const { id } = await create({ tools: [look], background: true })
    const { output } = await settled(ask, id)
    expect(output).toMatchObject([{ type: 'message' }, { type: 'function_call', status: 'incomplete' }])
    await create({ input: 'On', previous_response_id: id })
    await create({ input: [{ role: 'user', content: 'Hi' }, ...output, { role: 'user', content: 'On' }] })
    for (const { messages } of calls.slice(-2)) {
      expect(messages.map(({ role, content }) => [role, content])).toEqual([
        ['user', 'Hi'],
        ['assistant', 'So.'],
        ['user', 'On'],
      ])
      expect(messages[1]).not.toHaveProperty('toolCalls')
    }
    const result = { type: 'function_call_output', call_id: 'call_0', output: 'x' }
    await create({ input: [result], previous_response_id: id })
    expect(calls.at(-1)!.messages.slice(1)).toMatchObject([{ toolCalls: [{ id: 'call_0' }] }, { role: 'tool' }])
    // In a conversation, too, which would be at its end.
    const conversation = jsonOf(await post({}, '/conversations')).id
    await post({ input: 'Hi', tools: [look], conversation })
    expect((await post({ input: 'On', conversation })).status).toBe(200)
  })

  test.each([
    [{ input: 5 }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input[0].content[0].type'],
    [{ input: [{ type: 'robot_call' }] }, 'input[0].type'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0]'],
    [{ input: [{ type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' }] }, 'input[0]'],
    [{ input: 'Hi', conversation: 5 }, 'conversation'],
    [{ input: 'Hi', conversation: {} }, 'conversation.id'],
    [{ input: 'Hi', conversation: 'conv_1', previous_response_id: 'resp_1' }, 'conversation'],
    [{ input: 'Hi', return_token_ids: true }, 'return_token_ids'],
    [{ input: 'Hi', guided_regex: '(' }, 'guided_regex'],
    [{ input: 'Hi', guided_regex: 'a', text: { format: { type: 'json_object' } } }, 'guided_regex'],
    [{ input: 'Hi', prompt: { id: 'x' } }, 'prompt'],
    [{ messages: [{ role: 'user', content: 'Hi' }] }, 'messages'],
    [{ input: 'Hi', response_format: { type: 'json_object' } }, 'response_format'],
    [{ input: 'Hi', max_tokens: 20 }, 'max_tokens'],
    [{ input: 'Hi', max_completion_tokens: 20 }, 'max_completion_tokens'],
    [{ input: 'Hi', functions: [] }, 'functions'],
    [{ input: 'Hi', function_call: 'auto' }, 'function_call'],
    [{ input: 'Hi', n: 2 }, 'n'],
    [{ input: 'Hi', logprobs: true }, 'logprobs'],
    [{ input: 'Hi', audio: { voice: 'alloy' } }, 'audio'],
    [{ input: 'Hi', system: 'Be brief.' }, 'system'],
    [{ input: 'Hi', n_predict: 5 }, 'n_predict'],
    [{ input: 'Hi', num_predict: 5 }, 'num_predict'],
    [{ input: 'Hi', stop_sequences: ['a'] }, 'stop_sequences'],
    [{ input: 'Hi', output_format: { type: 'json_schema', schema: {} } }, 'output_format'],
    [{ input: 'Hi', output_config: { format: { type: 'json_schema', schema: {} } } }, 'output_config'],
    [{ input: 'Hi', enable_thinking: 'no' }, 'enable_thinking'],
    [{ input: 'Hi', reasoning: { enabled: 1 } }, 'reasoning.enabled'],
    [{ input: 'Hi', max_output_tokens: 3 }, 'max_output_tokens'],
    [{ input: 'Hi', include: ['everything'] }, 'include[0]'],
    [{ input: 'Hi', tool_choice: 'required' }, 'tool_choice'],
    [{ input: 'Hi', background: true, store: false }, 'background'],
    [{ input: 'Hi', previous_response_id: 'resp_0' }, 'previous_response_id'],
    [{ input: [{ type: 'item_reference', id: 'msg_0' }] }, 'input[0].id'],
    [{ input: 'Hi', quote: true }, 'quote'],
    [{ input: 'Hi', tools: [{ ...look, allowed_callers: ['programmatic'] }] }, 'tools[0].allowed_callers'],
    [{ input: 'Hi', tools: [{ type: 'apply_patch', allowed_callers: [] }] }, 'tools[0].allowed_callers'],
    [{ input: 'Hi', tools: [{ type: 'custom', name: 'a', allowed_callers: ['x'] }] }, 'tools[0].allowed_callers[0]'],
    [{ input: 'Hi', tools: [look], tool_choice: { type: 'shell' } }, 'tool_choice.type'],
    [{ input: [{ type: 'shell_call', call_id: 'c', action: {} }] }, 'input[0].action.commands'],
    [{ input: [{ type: 'shell_call', call_id: 'c', action: { commands: [5] } }] }, 'input[0].action.commands[0]'],
    [{ input: [{ type: 'local_shell_call', call_id: 'c' }] }, 'input[0].action'],
    [{ input: [{ type: 'apply_patch_call', call_id: 'c', operation: { type: 'move' } }] }, 'input[0].operation.type'],
    [{ input: [{ type: 'shell_call_output', call_id: 'c', output: 'x' }] }, 'input[0].output'],
    [{ input: [{ type: 'apply_patch_call_output', call_id: 'c', status: 'x' }] }, 'input[0].status'],
    [{ input: [{ type: 'local_shell_call_output', output: 'x' }] }, 'input[0].id'],
    [{ input: [{ type: 'configuration_update', text: { format: { type: 'json_schema' } } }] }, 'input[0].text.format'],
  ])('refuses %j with an error that names %s', async (body, param) => {
    expect(errorOf(await service().post(body))).toMatchObject({ status: 400, param })
  })

  test.each([
    [{ text: { verbosity: 'low' } }, 'text.verbosity'],
    [{ reasoning: { effort: 'huge' } }, 'reasoning.effort'],
    [{ reasoning: { summary: 'poem' } }, 'reasoning.summary'],
    [{ service_tier: 'gold' }, 'service_tier'],
  ])('never refuses a hint: %j is ignored and named', async (body, field) => {
    const answer = await service().post({ input: 'Hi', ...body })
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, field])
  })

  test('takes one answer, and what is off, for nothing asked', async () => {
    const { status, headers } = await service().post({
      input: 'Hi',
      n: 1,
      logprobs: false,
      reasoning: { enabled: null },
    })
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, null])
  })

  test.each([
    [{ enable_thinking: false }, { enable_thinking: false }],
    [{ thinking: { type: 'disabled' } }, { enable_thinking: false }],
    [{ reasoning: { enabled: false } }, { enable_thinking: false }],
    [{ reasoning: { effort: 'none', enabled: null } }, { enable_thinking: false, reasoning_effort: 'none' }],
  ])('says in the words of other servers whether to think: %j', async (words, options) => {
    const { post, calls } = service()
    const { headers } = await post({ input: 'Hi', ...words })
    expect(calls.at(-1)!.templateOptions).toEqual(options)
    expect(headers.get('x-ignored-fields')).toBeNull()
  })

  test('keeps to the form that fields of local servers ask for', async () => {
    const { create, calls } = service('1')
    for (const field of [{ structured_outputs: { regex: '[0-9]' } }, { guided_choice: ['1', '2'] }]) {
      expect((await create({ ...field, return_token_ids: false })).output[0].content[0].text).toBe('1')
      expect(calls.at(-1)!.grammar!.accepts('1')).toBe(true)
      expect(calls.at(-1)!.grammar!.accepts('x')).toBe(false)
    }
    expect(errorOf(await service('x').post({ input: 'Hi', guided_regex: '[0-9]' }))).toMatchObject({ status: 500 })
  })

  test('that is too long is refused, or shortened if the request asks for it', async () => {
    const short: Script = ({ messages }: ChatCall) =>
      messages.length > 4
        ? [new V1Error(400, 'Too long.', { param: 'messages', code: 'context_length_exceeded' })]
        : [text(messages.map(({ content }) => content).join()), finish()]
    const input = Array.from({ length: 9 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `${i}` }))
    expect(errorOf(await service(short).post({ input }))).toMatchObject({ code: 'context_length_exceeded' })
    const { create } = service(short)
    const { output } = await create({ input, instructions: 'S', truncation: 'auto' })
    expect(output[0].content[0].text).toMatch(/^S,(\d,)*8$/)
  })
})

describe('a stream', () => {
  test('sends every step, and ends with the response', async () => {
    const { post } = service([text('Hello'), text(' you'), call(0, '{}'), finish('tool_calls')])
    const { text: body, headers } = await post({ input: 'Hi', stream: true, tools: [look] })
    expect(headers.get('content-type')).toMatch('text/event-stream')
    const events = eventsOf(body)
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
  })

  test('that fails in the middle ends with an error and a failed response', async () => {
    const ofPrompt = { promptTokens: 3, completionTokens: 0, cachedTokens: 2 }
    const script = [
      { type: 'usage' as const, usage: ofPrompt },
      text('Hello'),
      new V1Error(503, 'The device was lost.'),
    ]
    const { post } = service(script)
    const events = eventsOf((await post({ input: 'Hi', stream: true })).text)
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', message: 'The device was lost.' },
      {
        type: 'response.failed',
        response: { status: 'failed', usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 } },
      },
    ])
  })
})

describe('what is kept', () => {
  test('nothing is stored, unless the request or the service says so', async () => {
    const { create, ask } = service()
    for (const [body, there] of [
      [{}, 404],
      [{ store: false }, 404],
      [{ store: true }, 200],
    ] as const) {
      const { id } = await create(body)
      expect((await ask(`/responses/${id}`)).status).toBe(there)
    }
    const always = service('Hi', { responses: memoryResponses() })
    for (const [body, there] of [
      [{}, 200],
      [{ store: false }, 404],
    ] as const) {
      const { id } = await always.create(body)
      expect((await always.ask(`/responses/${id}`)).status).toBe(there)
    }
  })

  test('what is not there is refused with what may be the reason, and what to do', async () => {
    const bare = service()
    const keeping = service('Hi', { responses: memoryResponses() })
    for (const [{ ask, post }, why] of [
      [bare, "only if 'store' is true"],
      [keeping, "made with 'store: false', by another service or with another key"],
    ] as const) {
      for (const [answer, more] of [
        [await ask('/responses/resp_0'), "set 'store' to true|set it"],
        [await post({ input: 'Hi', previous_response_id: 'resp_0' }), "send what was said before as 'input'"],
        [await post({ input: [{ type: 'item_reference', id: 'msg_0' }] }), 'send the item itself'],
      ] as const) {
        expect(errorOf(answer).message).toContain(why)
        expect(errorOf(answer).message).toMatch(new RegExp(more))
      }
    }
    const first = await keeping.create({})
    const second = await keeping.create({ previous_response_id: first.id })
    await keeping.ask(`/responses/${first.id}`, { method: 'DELETE' })
    const third = errorOf(await keeping.post({ input: 'On', previous_response_id: second.id }))
    expect(third.message).toContain(`'${first.id}', on which '${second.id}' goes on, not found`)
  })

  test('can be continued, retrieved, listed and deleted only by its caller', async () => {
    const { create, ask, post, calls } = service('Fine.', { keys: ['sk-test', 'sk-other'] })
    const first = await create({ store: true, instructions: 'Once.' })
    const second = await create({ store: true, input: 'And you?', previous_response_id: first.id })
    expect(calls[1]!.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Hi'],
      ['assistant', 'Fine.'],
      ['user', 'And you?'],
    ])
    expect(jsonOf(await ask(`/responses/${second.id}`))).toEqual(second)
    const list = jsonOf(await ask(`/responses/${second.id}/input_items?order=asc&limit=2`))
    expect(list).toMatchObject({ object: 'list', has_more: true, data: [{ role: 'user' }, { role: 'assistant' }] })
    const rest = jsonOf(await ask(`/responses/${second.id}/input_items?order=asc&after=${list.last_id}`))
    expect(rest).toMatchObject({ has_more: false, data: [{ content: [{ text: 'And you?' }] }] })
    const reference = { type: 'item_reference', id: first.output[0].id }
    await create({ input: [reference, { role: 'user', content: 'Sure?' }] })
    expect(calls[2]!.messages[0]).toEqual({ role: 'assistant', content: 'Fine.' })
    // With nothing new, as with `null`.
    await create({ input: [], previous_response_id: first.id, instructions: 'In other words.' })
    expect(calls[3]!.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant'])

    const other = { authorization: 'Bearer sk-other' }
    expect((await ask(`/responses/${first.id}`, { headers: other })).status).toBe(404)
    expect((await post({ input: 'Hi', previous_response_id: first.id }, '/responses', other)).status).toBe(400)
    expect((await ask(`/responses/${first.id}`, { method: 'DELETE', headers: other })).status).toBe(404)
    expect(jsonOf(await ask(`/responses/${first.id}`, { method: 'DELETE' }))).toMatchObject({ deleted: true })
    expect((await ask(`/responses/${first.id}`)).status).toBe(404)
  })
})

test('a service that closes waits for what runs in the background, and frees it', async () => {
  const { create, v1 } = service([{ type: 'wait', ms: 10 }, text('Done.'), finish()])
  await create({ background: true })
  let closed = false
  void v1.close().then(() => {
    closed = true
  })
  await until(() => closed)
})

describe('a conversation that grows', () => {
  const input = [
    { role: 'user', content: 'I am Ada.' },
    { role: 'assistant', content: 'Hello Ada.' },
    { role: 'user', content: 'And I like the sea.' },
  ]
  const post = (ask: ReturnType<typeof serviceOf>['ask'], path: string, body: object) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })

  test('is counted as the model would read it', async () => {
    const { ask } = serviceOf('Hi')
    const counted = jsonOf(
      await post(ask, '/responses/input_tokens', { model: MODEL, input, instructions: 'Be kind.' }),
    )
    // The tokens of a script are bytes.
    const read = ['Be kind.', ...input.map(({ content }) => content)].join('\n')
    expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: read.length })
  })

  test('is summarised, and continued from the summary', async () => {
    const { calls, script } = recorded([text(' Ada likes the sea. '), finish()])
    const { ask } = serviceOf(script)
    const { id, object, output, usage } = jsonOf(await post(ask, '/responses/compact', { model: MODEL, input }))
    expect([object, id.startsWith('resp_'), usage.total_tokens]).toEqual(['response.compaction', true, 1])
    expect(output.map(({ type }: { type: string }) => type)).toEqual(['message', 'message', 'compaction'])
    expect(calls[0]!.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('Sum up') })
    const next = [...output, { role: 'user', content: 'Who am I?' }]
    await post(ask, '/responses', { model: MODEL, input: next })
    expect(calls[1]!.messages).toEqual([
      { role: 'user', content: 'I am Ada.' },
      { role: 'user', content: 'And I like the sea.' },
      { role: 'system', content: 'Ada likes the sea.' },
      { role: 'user', content: 'Who am I?' },
    ])
  })
})

describe('a conversation that is summed up', () => {
  const called = (id: string, more: object = { async: true }) =>
    ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}', ...more }) as const
  const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: `Of ${id}.` })

  test('keeps calls whose results may come later, and takes these', async () => {
    const { post, create, calls } = service()
    const input = [
      { role: 'user', content: 'Look.' },
      ...[called('a'), called('b', {}), called('c')],
      ...[result('b'), result('c')],
      { role: 'assistant', content: 'So.' },
    ]
    const { output } = jsonOf(await post({ input, tools: [look] }, '/responses/compact'))
    expect(output.map(({ type, call_id: id }: Record<string, string>) => id ?? type)).toEqual([
      'message',
      'compaction',
      'a',
    ])
    await create({ input: [...output, { role: 'user', content: 'And?' }], tools: [look] })
    expect(calls.at(-1)!.messages.slice(2)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
      { role: 'tool', content: '[The result is not there yet.]', toolCallId: 'a' },
      { role: 'user', content: 'And?' },
    ])
    await create({ input: [...output, result('a')], tools: [look] })
    expect(calls.at(-1)!.messages.at(-1)).toEqual({ role: 'tool', content: 'Of a.', toolCallId: 'a' })
  })

  test('keeps what users said in the responses before it, too', async () => {
    const { post, create } = service()
    const first = await create({ input: 'I am Ada.', store: true })
    const more = { previous_response_id: first.id, input: [{ role: 'user', content: 'I like the sea.' }] }
    const { output } = jsonOf(await post(more, '/responses/compact'))
    const said = (item: { type: string; content?: [{ text: string }] }) => item.content?.[0].text ?? item.type
    expect(output.map(said)).toEqual(['I am Ada.', 'I like the sea.', 'compaction'])
  })
})

test.skipIf(!judgesAreHere)(
  'every field of the official description is read: a value of the wrong type is refused',
  async () => {
    expect(FIELDS.length).toBeGreaterThan(25)
    const { post, calls } = service()
    for (const field of FIELDS) {
      const answer = await post({ input: 'Hi', [field]: [[0]] })
      expect(answer.status, field).toBe(400)
      expect(errorOf(answer).param, field).toMatch(new RegExp(`^${field}(\\W|$)`))
    }
    expect(calls).toEqual([])
  },
)
