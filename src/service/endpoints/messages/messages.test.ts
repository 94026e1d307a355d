import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type ChatCall, type Part, textOf } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { type Script, scripted } from '../../../engines/scripted.js'
import { atOnce } from '../../../platform/turns.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import { type Answer, finish, jsonOf, KEY, MODEL, posting, recorded, serviceOf, text } from '../../v1.test-helper.js'
import { readMessagesTurns } from './conversation.js'
import { messages } from './index.js'
import type { MessageEvent } from './reply.js'

const look = {
  name: 'look',
  description: 'Looks.',
  input_schema: { type: 'object', properties: { at: { type: 'string' } } },
}
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

function service(script: Script = 'Hello there, you.', options = {}) {
  const { calls, script: recording } = recorded(script)
  const { ask } = serviceOf(recording, { endpoints: [messages()], ...options })
  const post = (body: object, path = '/messages', headers: Record<string, string> = {}) =>
    ask(
      path,
      posting(
        { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...body },
        { 'anthropic-version': '2023-06-01', ...headers },
      ),
    )
  const create = async (body: object = {}) => {
    const answer = await post(body)
    expect(answer.status, answer.text).toBe(200)
    return jsonOf(answer)
  }
  return { ask, post, create, calls }
}

function eventsOf(body: string): MessageEvent[] {
  const frames = body.split('\n\n')
  expect(frames.pop()).toBe('')
  return frames.map((frame) => {
    const [, name, data] = /^event: (\S+)\ndata: ([^\n]*)$/.exec(frame)!
    const event = JSON.parse(data!) as MessageEvent
    expect(event.type).toBe(name)
    return event
  })
}

const call = (index: number, args: string, name = 'look'): Part => ({
  ...{ type: 'tool-call-delta', choice: 0, index, id: `call_${index}`, name },
  arguments: args,
})
const thought = (content: string): Part => ({ type: 'reasoning-delta', choice: 0, text: content })
const usage = {
  type: 'usage' as const,
  usage: { promptTokens: 20, completionTokens: 9, cachedTokens: 8, reasoningTokens: 4 },
}

describe('a message', () => {
  test('is answered with every field that clients read', async () => {
    const { create } = service([text('Hello'), finish(), usage])
    expect(await create({ system: 'Be brief.' })).toEqual({
      id: expect.stringMatching(/^msg_\w+$/),
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 12,
        cache_read_input_tokens: 8,
        cache_creation_input_tokens: 0,
        cache_creation: null,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 4 },
        server_tool_use: null,
        service_tier: 'standard',
        inference_geo: null,
        speed: null,
      },
    })
  })

  test('turns the blocks of a conversation into messages', async () => {
    const { create, calls } = service()
    await create({
      system: [
        { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'things up.' },
      ],
      tools: [look],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where?' },
            { type: 'document', title: 'Map 1', context: 'Of 1900.', source: { type: 'text', data: 'A map.' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'abc' },
            { type: 'redacted_thinking', data: 'xyz' },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 't1', name: 'look', input: { at: 'a' } },
            { type: 'tool_use', id: 't2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: 'There.' }] },
            { type: 'tool_result', tool_use_id: 't1', content: 'Nothing there.', is_error: true },
            { type: 'text', text: 'And?' },
          ],
        },
        { role: 'system', content: 'Answer now.' },
      ],
    })
    expect(calls[0]!.messages).toEqual([
      { role: 'system', content: 'Look\nthings up.' },
      { role: 'user', content: 'Where?\nMap 1\nOf 1900.\nA map.' },
      {
        role: 'assistant',
        content: 'Let me look.',
        reasoning: 'Hm.',
        toolCalls: [
          { id: 't1', name: 'look', arguments: '{"at":"a"}' },
          { id: 't2', name: 'look', arguments: '{}' },
        ],
      },
      { role: 'tool', toolCallId: 't2', content: 'There.' },
      { role: 'tool', toolCallId: 't1', content: 'Error: Nothing there.' },
      { role: 'user', content: 'And?' },
      { role: 'system', content: 'Answer now.' },
    ])
  })

  test('hands on what it says of sampling, stops and length', async () => {
    const { create, calls } = service()
    await create({ temperature: 0.5, top_p: 0.9, top_k: 0, stop_sequences: ['END'], metadata: { user_id: 'me' } })
    expect(calls[0]).toMatchObject({ maxTokens: 100, stop: ['END'], sampling: { temperature: 0.5, topP: 0.9 } })
  })

  test('whose limit is no token only has its prompt read, as Anthropic warms its cache', async () => {
    const counted: UsageEvent[] = []
    const onUsage = (event: UsageEvent) => counted.push(event)
    const { create, post, calls } = service([call(0, '{'), finish('length'), usage], { onUsage })
    const warmed = await create({ max_tokens: 0, tools: [look] })
    expect(calls[0]).toMatchObject({ maxTokens: 1, tools: [{ name: 'look' }] })
    expect(warmed).toMatchObject({ content: [], stop_reason: 'max_tokens' })
    expect(warmed.usage).toMatchObject({ input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 0 })
    const events = eventsOf((await post({ max_tokens: 0, stream: true })).text)
    expect(assembled(events)).toEqual({ ...warmed, id: expect.any(String) })
    // What an engine writes to read it is counted as it is told, also where it tells nothing of it.
    await service([text('x'), finish('length')], { onUsage }).create({ max_tokens: 0 })
    expect(counted.map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens])).toEqual([
      ...[
        [20, 0],
        [20, 0],
        [0, 0],
      ],
    ])
  })

  test.each([
    [finish('length'), 'max_tokens', null],
    [finish('tool_calls'), 'tool_use', null],
    [{ ...finish(), stop: 'END' }, 'stop_sequence', 'END'],
  ])('says why it ended: %j', async (end, reason, sequence) => {
    const { create } = service([text('x'), ...(reason === 'tool_use' ? [call(0, '{}')] : []), end as Part])
    expect(await create({ tools: [look] })).toMatchObject({ stop_reason: reason, stop_sequence: sequence })
  })

  test('calls tools, whose arguments come as objects', async () => {
    const { create } = service([text('So.'), call(0, '{"at":'), call(0, '"x"}'), call(1, '{}'), finish('tool_calls')])
    const { content } = await create({ tools: [look] })
    expect(content).toEqual([
      { type: 'text', text: 'So.' },
      { type: 'tool_use', id: 'call_0', name: 'look', input: { at: 'x' }, caller: { type: 'direct' } },
      { type: 'tool_use', id: 'call_1', name: 'look', input: {}, caller: { type: 'direct' } },
    ])
  })

  test('tells arguments whole as its stream does, however many digits their numbers have', async () => {
    const exact =
      '{"id": 9007199254740993,\n"ids":[12345678901234567890, 0.12345678901234567890123, 1.0, 1e400],"s":"\u2028\\n"}'
    const { create, post } = service([call(0, exact.slice(0, 20)), call(0, exact.slice(20)), finish('tool_calls')])
    expect(await create({ tools: [look] })).toMatchObject({ stop_reason: 'tool_use' })
    const whole = await post({ tools: [look] })
    expect(whole.text).toContain(`"input":${exact.replace('\n', ' ')}`)
    expect(whole.headers.get('content-length')).toBe(String(new TextEncoder().encode(whole.text).length))
    const events = eventsOf((await post({ tools: [look], stream: true })).text)
    expect(events.map(({ delta }) => (delta as { partial_json?: string })?.partial_json ?? '').join('')).toBe(exact)
  })

  test.each([
    [{ type: 'auto' }, 'auto', true],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
    [{ type: 'any' }, 'required', true],
    [{ type: 'tool', name: 'look' }, { name: 'look' }, true],
    [{ type: 'none' }, 'none', true],
  ])('understands the choice %j', async (tool_choice, toolChoice, parallelToolCalls) => {
    const { create, calls } = service([finish()])
    await create({ tools: [look], tool_choice })
    expect(calls[0]).toMatchObject({ toolChoice, parallelToolCalls })
  })

  test('satisfies a schema, or names the field of one that cannot be enforced', async () => {
    const { create, post, calls } = service('{"city":"Bonn"}')
    const format = { type: 'json_schema', schema }
    for (const fields of [{ output_config: { format } }, { output_format: format }]) {
      expect((await create(fields)).content[0].text).toBe('{"city":"Bonn"}')
      expect(calls.at(-1)!.output).toMatchObject({ type: 'json_schema', strict: true, schema })
    }
    const broken = await post({ output_config: { format: { ...format, schema: { type: 'text' } } } })
    expect(errorOf(broken).message).toContain('output_config.format.schema')
    const tool = await post({
      tools: [{ ...look, strict: true, input_schema: { type: 'object', minProperties: 'x' } }],
    })
    expect(errorOf(tool).message).toContain('tools[0].input_schema')
  })

  test('skips what nobody runs here, beside tools or alone, and says so', async () => {
    const { post } = service()
    const both = await post({ tools: [{ type: 'web_search_20250305', name: 'web_search' }, look] })
    expect([both.status, both.headers.get('x-skipped-tools')]).toEqual([200, 'web_search_20250305'])
    const alone = await post({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })
    expect([alone.status, alone.headers.get('x-skipped-tools')]).toEqual([200, 'web_search_20250305'])
    const wanted = await post({
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'any' },
    })
    expect(errorOf(wanted)).toMatchObject({ status: 400, message: expect.stringContaining('tool_choice.type') })
  })

  test.each([
    [
      ...(['bash_20250124', 'bash'] as const),
      [{ command: 'ls' }, { restart: true }],
      [{}, { command: 5 }, { command: 'ls', restart: true }],
    ],
    [
      ...(['text_editor_20250728', 'str_replace_based_edit_tool'] as const),
      [
        { command: 'view', path: '/a' },
        { command: 'view', path: '/a', view_range: [1, -1] },
        { command: 'create', path: '/a', file_text: 'x' },
        { command: 'str_replace', path: '/a', old_str: 'x', new_str: '' },
        { command: 'insert', path: '/a', insert_line: 0, insert_text: 'x' },
      ],
      [{ command: 'view' }, { command: 'create', path: '/a' }, { command: 'undo_edit', path: '/a' }],
    ],
    [
      ...(['memory_20250818', 'memory'] as const),
      [
        { command: 'view', path: '/memories' },
        { command: 'insert', path: '/memories/a', insert_line: 0, insert_text: 'x' },
        { command: 'delete', path: '/memories/a' },
        { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' },
      ],
      [{ command: 'rename', path: '/memories/a', new_path: '/memories/b' }, { command: 'delete' }],
    ],
    [
      ...(['text_editor_20250124', 'str_replace_editor'] as const),
      [
        { command: 'undo_edit', path: '/a' },
        { command: 'insert', path: '/a', insert_line: 0, new_str: 'x' },
      ],
      [{ command: 'insert', path: '/a', insert_line: 0, insert_text: 'x' }],
    ],
  ])('%s is a tool of the client’s, called %s', async (type, name, good, bad) => {
    const [first] = good
    const { create, calls } = service([call(0, JSON.stringify(first), name), finish('tool_calls')])
    const request = { tools: [{ type, name }], tool_choice: { type: 'tool', name } }
    const { content } = await create(request)
    expect(content).toMatchObject([{ type: 'tool_use', name, input: first }])
    const takes = (args: object) => calls[0]!.toolGrammar!.accepts(JSON.stringify({ name, arguments: args }))
    expect([good.map(takes), bad.map(takes)]).toEqual([good.map(() => true), bad.map(() => false)])
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: content[0].id, content: 'a' }] },
    ]
    await create({ ...request, messages })
    expect(calls[1]!.messages.slice(1)).toMatchObject([
      { toolCalls: [{ name, arguments: JSON.stringify(first) }] },
      { role: 'tool', content: 'a' },
    ])
  })

  test('continues from what a tool showed and a server did, and names what cannot be read', async () => {
    const { post, calls } = service()
    const source = { type: 'base64', media_type: 'image/png', data: 'AA==' }
    const content = [
      { type: 'image', source },
      { type: 'text', text: 'A map.' },
      { type: 'document', title: 'P', source: { type: 'text', media_type: 'text/plain', data: 'A page.' } },
      { type: 'search_result', source: 'x' },
      { type: 'tool_reference', tool_name: 'look' },
    ]
    const { status, headers } = await post({
      messages: [
        { role: 'user', content: 'Where?' },
        {
          role: 'assistant',
          content: [
            { type: 'mcp_tool_listing', mcp_server_name: 'x', tools: [] },
            { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
            { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
            { type: 'tool_use', id: 't1', name: 'look', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content }] },
      ],
      tools: [look],
    })
    const hosted = [0, 1, 2].map((i) => `messages[1].content[${i}]`).join(', ')
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, hosted])
    expect(calls[0]!.messages.at(-1)).toEqual({
      ...{ role: 'tool', toolCallId: 't1' },
      content:
        '[Something of the type image, which cannot be read here.]\nA map.\nP\nA page.\n[Something of the type search_result, which cannot be read here.]\nThe tool look can be called.',
    })
  })

  test('reads search results and summaries, and takes calls and results in several messages', async () => {
    const { post, calls } = service()
    const found = { type: 'search_result', source: 'x.md', title: 'X', content: [{ type: 'text', text: 'A page.' }] }
    const document = { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'A part.' }] } }
    const call = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
    const result = (tool_use_id: string, content: unknown) => ({ type: 'tool_result', tool_use_id, content })
    const { status, headers } = await post({
      messages: [
        { role: 'user', content: [found, document, { type: 'container_upload', file_id: 'f' }] },
        { role: 'assistant', content: [{ type: 'compaction', content: 'All is well.' }, call('t1')] },
        { role: 'assistant', content: [{ type: 'text', text: 'So.' }, call('t2')] },
        { role: 'user', content: [result('t2', [found])] },
        { role: 'user', content: [result('t1', null), { type: 'text', text: 'And?' }] },
      ],
      tools: [look],
    })
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, 'messages[0].content[2]'])
    expect(calls[0]!.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'X\nx.md\nA page.\nA part.'],
      ['assistant', 'All is well.\nSo.'],
      ['tool', 'X\nx.md\nA page.'],
      ['tool', ''],
      ['user', 'And?'],
    ])
  })

  test('fields that nobody reads are named, those that cannot be honoured refused', async () => {
    const { post } = service()
    const ignored = await post({ context_management: { edits: [] }, mcp_servers: [] })
    expect([ignored.status, ignored.headers.get('x-ignored-fields')]).toEqual([200, 'context_management'])
    for (const [field, instead] of [
      [{ response_format: { type: 'json_object' } }, 'output_config.format'],
      [{ stop: ['a'] }, 'stop_sequences'],
      [{ quote: true }, 'x-quote'],
      [{ prompt: 'a' }, "'messages'"],
      [{ text: { format: { type: 'json_object' } } }, 'output_config.format'],
      [{ guided_json: { type: 'object' } }, 'output_config.format'],
      [{ structured_outputs: { regex: 'a' } }, 'output_config.format'],
      [{ instructions: 'Be brief.' }, 'system'],
      [{ functions: [{ name: 'f' }] }, 'tools'],
      [{ n: 2 }, 'one answer'],
      [{ logprobs: true }, 'chat/completions'],
      [{ max_completion_tokens: 5 }, 'max_tokens'],
      [{ n_predict: 5 }, 'max_tokens'],
      [{ num_predict: 5 }, 'max_tokens'],
      [{ previous_response_id: 'resp_1' }, 'send all of them'],
    ] as const)
      expect(errorOf(await post(field)).message).toContain(instead)
    expect(errorOf(await post({ mcp_servers: [{ type: 'url', url: 'https://x.example' }] })).message).toContain(
      'mcp_servers',
    )
    // The word at which the client's own loop over tools goes on without a thread.
    const threaded = await post({ thread: { type: 'create' } })
    expect(jsonOf(threaded).error.details).toEqual({ error_code: 'thread_unsupported_request' })
  })

  test('a user may say nothing', async () => {
    const { create, calls } = service()
    await create({
      messages: [{ role: 'assistant', content: 'Hi!' }, user({ type: 'container_upload', file_id: 'f' })],
    })
    await create({ messages: [user()] })
    const nothing = { role: 'user', content: '' }
    expect(calls.map(({ messages }) => messages)).toEqual([[{ role: 'assistant', content: 'Hi!' }, nothing], [nothing]])
  })

  const used = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] }
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'x' }
  const twice = { ...used, content: [...used.content, { ...used.content[0], id: 't2' }] }
  const user = (...content: object[]) => ({ role: 'user', content })
  test.each([
    [{ thinking: { type: 'deep' } }, 'thinking.type'],
    [{ output_config: { effort: 'huge' } }, 'output_config.effort'],
    [{ thinking: { type: 'enabled' } }, null],
    [{ tools: [{ ...look, allowed_callers: ['direct', 'code_execution_20250825'] }] }, null],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }, null],
  ])('never refuses a hint: of %j it names %s', async (body, field) => {
    const answer = await service().post(body)
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, field])
  })

  test.each([
    [{ messages: [] }, 'messages'],
    [{ max_tokens: null }, 'max_tokens'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ max_tokens: 0, output_config: { format: { type: 'json_schema', schema } } }, 'max_tokens'],
    [{ max_tokens: 0, tools: [look], tool_choice: { type: 'any' } }, 'max_tokens'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ messages: [user({ type: 'song' })] }, 'messages[0].content[0].type'],
    [
      { messages: [user({ type: 'image', source: { type: 'url', url: 'https://x.example' } })] },
      'messages[0].content[0].type',
    ],
    [{ messages: [user({ type: 'document', source: { type: 'base64' } })] }, 'messages[0].content[0].source.type'],
    [{ messages: [user(result)] }, 'messages[0].content[0].tool_use_id'],
    [{ messages: [used] }, 'messages[0].content[0]'],
    [{ messages: [used, { role: 'user', content: 'So?' }] }, 'messages[0].content[0]'],
    [{ messages: [twice, user(result), { role: 'assistant', content: 'So.' }] }, 'messages[0].content[1]'],
    [{ messages: [used, user({ ...result, content: [{ type: 5 }] })] }, 'messages[1].content[0].content[0].type'],
    [
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: 'The answer is' },
        ],
      },
      'messages[1].role',
    ],
    [{ tools: [look, look] }, 'tools[1].name'],
    [{ tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
    [{ tools: [{ ...look, allowed_callers: ['code_execution_20250825'] }] }, 'tools[0].allowed_callers'],
    [{ tools: [{ type: 'bash_20250124', allowed_callers: ['programmatic'] }] }, 'tools[0].allowed_callers'],
    [{ tools: [{ ...look, allowed_callers: ['direct', 'codes'] }] }, 'tools[0].allowed_callers[1]'],
    [{ tools: [{ ...look, allowed_callers: 'direct' }] }, 'tools[0].allowed_callers'],
    [{ tool_choice: { type: 'any' } }, 'tool_choice.type'],
    [{ tools: [look], tool_choice: { type: 'tool', name: 'see' } }, 'tool_choice.name'],
    [{ stop_sequences: [''] }, 'stop_sequences[0]'],
    [{ container: 'c' }, 'container'],
    [{ thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    [{ temperature: 3 }, 'temperature'],
    [{ thinking: 'deeply' }, 'thinking'],
  ])('refuses %j by %s', async (body, field) => {
    const { post, calls } = service()
    expect(errorOf(await post(body))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining(`'${field}'`),
    })
    expect(calls).toEqual([])
  })
})

test('a turn of a thousand messages is put together once, not for each of them', () => {
  const ids = Array.from({ length: 1000 }, (_, i) => `call_${i}`)
  const said = ids.map((id) => ({
    role: 'assistant',
    content: [
      { type: 'text', text: `I look at ${id}.` },
      { type: 'tool_use', id, name: 'look', input: {} },
    ],
  }))
  const results = { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id })) }
  const joins = vi.spyOn(Array.prototype, 'join')
  try {
    const { messages } = atOnce(readMessagesTurns({ messages: [...said, results] }, []))
    const written = joins.mock.results.reduce((sum, { value }) => sum + (value as string).length, 0)
    expect(messages).toHaveLength(1001)
    expect(messages[0]).toMatchObject({ content: ids.map((id) => `I look at ${id}.`).join('\n') })
    expect(written).toBeLessThan(3 * textOf(messages[0]!.content).length)
  } finally {
    joins.mockRestore()
  }
})

describe('thoughts', () => {
  const script = [thought('Let me '), thought('think.'), text('Four.'), finish()]

  test('are a block before the text, and come back as reasoning', async () => {
    const { create, calls } = service(script)
    const { content } = await create({ thinking: { type: 'enabled', budget_tokens: 2000 } })
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Let me think.' },
      { type: 'text', text: 'Four.' },
    ])
    expect(calls[0]).toMatchObject({ thinkingBudget: 2000, templateOptions: { enable_thinking: true } })
    await create({
      messages: [
        { role: 'assistant', content },
        { role: 'user', content: 'Sure?' },
      ],
    })
    expect(calls[1]!.messages[0]).toMatchObject({ reasoning: 'Let me think.', content: 'Four.' })
  })

  test('that are not shown come back all the same', async () => {
    const { create, calls } = service(script)
    const { content } = await create({ thinking: { type: 'adaptive', display: 'omitted' } })
    expect(content[0]).toMatchObject({ type: 'thinking', thinking: '' })
    await create({
      messages: [
        { role: 'assistant', content },
        { role: 'user', content: 'Sure?' },
      ],
    })
    expect(calls[1]!.messages[0]).toMatchObject({ reasoning: 'Let me think.' })
    const foreign = [
      { type: 'thinking', thinking: '', signature: 'EqQBCgIYAhIM' },
      { type: 'text', text: 'Four.' },
    ]
    await create({
      messages: [
        { role: 'assistant', content: foreign },
        { role: 'user', content: 'Sure?' },
      ],
    })
    expect(calls[2]!.messages[0]).toEqual({ role: 'assistant', content: 'Four.' })
  })

  test.each([
    [{ thinking: { type: 'disabled' } }, { enable_thinking: false }],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ output_config: { effort: 'high' } }, { reasoning_effort: 'high', enable_thinking: true }],
    [{}, undefined],
  ])('are asked for by %j', async (body, templateOptions) => {
    const { create, calls } = service()
    await create(body)
    expect(calls[0]!.templateOptions).toEqual(templateOptions)
  })
})

describe('a stream', () => {
  test('sends every step', async () => {
    const { post } = service([
      thought('Hm.'),
      text('Hello'),
      text(' you'),
      call(0, '{"at":'),
      call(0, '1}'),
      finish('tool_calls'),
      usage,
    ])
    const { text: body, headers } = await post({ stream: true, tools: [look] })
    expect(headers.get('content-type')).toMatch('text/event-stream')
    expect(eventsOf(body)).toMatchObject([
      { type: 'message_start', message: { content: [], stop_reason: null, usage: { output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: expect.any(String) } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' you' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'call_0', name: 'look', input: {} },
      },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"at":' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_stop', index: 2 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { input_tokens: 12, output_tokens: 9 } },
      { type: 'message_stop' },
    ])
  })

  test('begins with the length of the prompt, where the engine tells it, and counts it for who leaves', async () => {
    const ofPrompt: Part = { ...usage, usage: { ...usage.usage, completionTokens: 0, reasoningTokens: 0 } }
    const onUsage = vi.fn()
    const { post } = service([ofPrompt, text('Hello'), text(' you'), new V1Error(503, 'Lost.')], { onUsage })
    const [start, ...rest] = eventsOf((await post({ stream: true })).text)
    expect([start, rest[0]]).toMatchObject([
      { type: 'message_start', message: { usage: { input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 0 } } },
      { type: 'content_block_start' },
    ])
    expect(onUsage.mock.calls).toMatchObject([[{ promptTokens: 20, cachedTokens: 8, completionTokens: 2 }]])
  })

  test('that breaks off ends with an error in its own form', async () => {
    const { post } = service([text('Hello'), new V1Error(503, 'The device was lost.')])
    const answer = await post({ stream: true })
    expect(eventsOf(answer.text).at(-1)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'The device was lost.' },
      request_id: answer.headers.get('request-id'),
    })
  })

  const aPart = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 5 }).map((content) => text(content)),
    fc.string({ unit: 'grapheme', maxLength: 5 }).map((content) => thought(content)),
    fc.nat(1).map((index) => call(index, '')),
  )
  test('adds up to the message that is sent whole', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aPart, { maxLength: 8 }), fc.boolean(), async (parts, shown) => {
        // Calls come one after the other.
        const ordered = [...parts.filter(({ type }) => type !== 'tool-call-delta'), call(0, '{"at":'), call(0, '"x"}')]
        const { create, post } = service([...ordered, finish('tool_calls'), usage])
        const thinking = { type: 'adaptive', display: shown ? 'summarized' : 'omitted' }
        const whole = await create({ tools: [look], thinking })
        const events = eventsOf((await post({ stream: true, tools: [look], thinking })).text)
        expect({ ...assembled(events), id: '' }).toEqual({ ...whole, id: '' })
      }),
      { numRuns: 60 },
    )
  })
})

/** What the official client does with the events. */
function assembled(events: readonly MessageEvent[]) {
  // biome-ignore lint/suspicious/noExplicitAny: events are looked into as a client does.
  const [start, ...rest] = events as any[]
  const message = structuredClone(start.message)
  const json: string[] = []
  for (const event of rest) {
    if (event.type === 'content_block_start') message.content.push(structuredClone(event.content_block))
    const block = message.content[event.index]
    if (event.type === 'content_block_delta') {
      expect(event.index).toBe(message.content.length - 1)
      const { type, ...delta } = event.delta
      if (type === 'text_delta') block.text += delta.text
      else if (type === 'thinking_delta') block.thinking += delta.thinking
      else if (type === 'signature_delta') block.signature = delta.signature
      else json[event.index] = (json[event.index] ?? '') + delta.partial_json
    }
    if (event.type === 'content_block_stop' && block.type === 'tool_use') block.input = JSON.parse(json[event.index]!)
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta)
      Object.assign(message.usage, event.usage)
    }
  }
  return message
}

describe('around it', () => {
  test('tokens are counted', async () => {
    const { post } = service()
    const counted = await post({ max_tokens: undefined, system: 'Be kind.' }, '/messages/count_tokens')
    // The tokens of a script are bytes.
    expect(jsonOf(counted)).toEqual({ input_tokens: 'Be kind.\nHi'.length })
    const answered = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
      { role: 'assistant', content: 'So.' },
    ]
    const sofar = await post({ messages: answered, tools: [look] }, '/messages/count_tokens')
    expect(jsonOf(sofar)).toEqual({ input_tokens: 'Hi\nSo.'.length })
  })

  test('of an image that the model does not take none are counted', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' }
    const body = { messages: [{ role: 'user', content: [{ type: 'image', source }] }] }
    const [asked, counted] = [await service().post(body), await service().post(body, '/messages/count_tokens')]
    expect(counted.status).toBe(400)
    expect(jsonOf(counted).error).toEqual(jsonOf(asked).error)
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { images: true } })
    expect((await service(undefined, { engine }).post(body, '/messages/count_tokens')).status).toBe(200)
  })

  test('tokens are counted by an engine that hears of all that writes into the prompt', async () => {
    const engine = scripted({ models: { [MODEL]: 'Hi' } })
    const tokenize = vi.spyOn(engine, 'tokenize')
    const { post } = service(undefined, { engine })
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const more = { tools: [look], tool_choice: { type: 'any' }, output_config: { format } }
    await post(more, '/messages/count_tokens')
    expect(tokenize).toHaveBeenCalledWith(
      expect.objectContaining({
        ...{ toolChoice: 'required', describeSchema: true, tools: [expect.objectContaining({ name: 'look' })] },
        output: expect.objectContaining({ schema: format.schema }),
      }),
    )
  })

  test('errors have Anthropic’s form, with the id that its clients look for', async () => {
    const { ask, post } = service()
    const unknown = await post({ model: 'no/such' })
    expect(jsonOf(unknown)).toEqual({
      type: 'error',
      error: { type: 'not_found_error', message: expect.any(String), details: { error_code: 'model_not_found' } },
      request_id: unknown.headers.get('request-id'),
    })
    expect(unknown.headers.get('request-id')).toMatch(/^req_/)
    expect(errorOf(await ask('/messages'))).toMatchObject({ status: 405, type: 'invalid_request_error' })
    const keyless = await post({}, '/messages', { authorization: 'Bearer wrong' })
    expect(errorOf(keyless)).toMatchObject({ status: 401, type: 'authentication_error' })
    const late = await post({ padding: 'x'.repeat(2 ** 20) })
    expect(errorOf(late)).toMatchObject({ status: 413, type: 'request_too_large' })
  })

  test('a key may be sent as x-api-key, if no other is sent', async () => {
    const { v1 } = serviceOf('Hi', { endpoints: [messages()] })
    const body = JSON.stringify({ model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
    const statusOf = async (headers: Record<string, string>) => {
      const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }
      return (await v1.fetch(new Request('http://device.test/v1/messages', init))).status
    }
    expect(await statusOf({ 'x-api-key': KEY })).toBe(200)
    expect(await statusOf({ 'x-api-key': 'wrong' })).toBe(401)
    expect(await statusOf({ 'x-api-key': KEY, authorization: 'Bearer wrong' })).toBe(401)
    expect(await statusOf({})).toBe(401)
  })

  test('is there only where it was asked for', async () => {
    const { ask } = serviceOf('Hi')
    const answer = await ask('/messages', { method: 'POST', body: '{}' })
    expect(answer.status).toBe(404)
    expect(answer.text).not.toContain('POST /messages')
  })

  test('images go to a model that takes them', async () => {
    const calls: ChatCall[] = []
    const script: Script = (call: ChatCall) => {
      calls.push(call)
      return 'A heart.'
    }
    const engine = scripted({ models: { [MODEL]: script }, capabilities: { images: true } })
    const { ask } = serviceOf(engine, { endpoints: [messages()] })
    const source = { type: 'base64', media_type: 'image/png', data: 'AA==' }
    const content = [
      { type: 'text', text: 'What?' },
      { type: 'image', source },
    ]
    const body = JSON.stringify({ model: MODEL, max_tokens: 9, messages: [{ role: 'user', content }] })
    expect(
      (await ask('/messages', { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status,
    ).toBe(200)
    expect(calls[0]!.messages[0]!.content).toEqual([
      { type: 'text', text: 'What?' },
      { type: 'image', url: 'data:image/png;base64,AA==' },
    ])
  })
})

function errorOf(answer: Answer): { status: number; type: string; message: string } {
  const { type, error, request_id } = JSON.parse(answer.text) as {
    type: string
    error: { type: string; message: string }
    request_id: string
  }
  expect([type, request_id]).toEqual(['error', answer.headers.get('request-id')])
  return { status: answer.status, ...error }
}
