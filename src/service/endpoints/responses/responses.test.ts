import { describe, expect, test } from 'vitest'
import type { ChatCall, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { type Script, scripted } from '../../../engines/scripted.js'
import {
  type Answer,
  errorOf,
  finish,
  jsonOf,
  KEY,
  MODEL,
  pause,
  posting,
  serviceOf,
  text,
  until,
} from '../../v1.test-helper.js'
import { memoryResponses } from './store/shelved.js'
import { judges, judgesAreHere, requestFields } from './wire/judges.test-helper.js'
import type { ResponseEvent } from './wire/progress.js'

const judge = judgesAreHere ? judges() : undefined
const FIELDS = judgesAreHere ? requestFields() : []
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } }

function service(script: Script = 'Hello there, you.', options = {}) {
  const calls: ChatCall[] = []
  const recording: Script = (call: ChatCall) => {
    calls.push(call)
    return typeof script === 'function' ? script(call) : script
  }
  const { v1, ask } = serviceOf(recording, options)
  const post = (body: object, path = '/responses', headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify({ model: MODEL, ...body }),
      headers: { 'content-type': 'application/json', ...headers },
    })
  const create = async (body: object) => {
    const answer = await post({ input: 'Hi', ...body })
    expect(answer.status, answer.text).toBe(200)
    const response = jsonOf(answer)
    expect(judge?.response(response) ?? []).toEqual([])
    return response
  }
  return { v1, ask, post, create, calls }
}

function eventsOf(body: string): ResponseEvent[] {
  const frames = body.split('\n\n')
  expect(frames.splice(-2)).toEqual(['data: [DONE]', ''])
  return frames.map((frame) => {
    const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(frame)!
    const event = JSON.parse(data!) as ResponseEvent
    expect(event.type).toBe(name)
    expect(judge?.event(event) ?? [], data).toEqual([])
    return event
  })
}

const call = (index: number, args: string, name = 'look', id = `call_${index}`): Part => ({
  type: 'tool-call-delta',
  choice: 0,
  index,
  id,
  name,
  arguments: args,
})

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

  test('calls functions, each as an item of its own', async () => {
    const { create } = service([call(0, '{"at":'), call(0, '"x"}'), call(1, '{}'), finish('tool_calls')])
    const { output, status } = await create({ tools: [look], tool_choice: 'required' })
    expect(status).toBe('completed')
    expect(output).toMatchObject([
      { type: 'function_call', call_id: 'call_0', name: 'look', arguments: '{"at":"x"}', status: 'completed' },
      { type: 'function_call', call_id: 'call_1', arguments: '{}' },
    ])
  })

  test('calls tools that take a text, which matches their grammar', async () => {
    const patch = {
      type: 'custom',
      name: 'patch',
      description: 'Patches.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "a" "\\n"+' },
    }
    const patchCall = (text: string) => {
      const delta = { ...(call(0, text) as Part & { type: 'tool-call-delta' }), name: 'patch' }
      return delta
    }
    const script = [patchCall('{"inp'), patchCall('ut":"a\\'), patchCall('n\\n'), patchCall('"}'), finish('tool_calls')]
    const { create, post, calls } = service(script)
    const request = { input: 'Hi', tools: [patch, look], tool_choice: { type: 'custom', name: 'patch' } }
    const { output, tools, tool_choice } = await create(request)
    const item = { type: 'custom_tool_call', call_id: 'call_0', name: 'patch', input: 'a\n\n', status: 'completed' }
    expect(output).toMatchObject([item])
    expect([tools[0], tool_choice]).toEqual([patch, { type: 'custom', name: 'patch' }])
    const [{ toolGrammar }] = calls as [ChatCall]
    expect(toolGrammar!.accepts('{"name":"patch","arguments":{"input":"a\\n"}}')).toBe(true)
    expect(toolGrammar!.accepts('{"name":"patch","arguments":{"input":"a"}}')).toBe(false)
    const stream = (await post({ ...request, stream: true })).text
    const deltas = [...stream.matchAll(/^data: (.*custom_tool_call_input.delta.*)$/gm)].map(([, json]) =>
      JSON.parse(json!),
    )
    expect(deltas.map(({ delta }) => delta).join('')).toBe('a\n\n')
    // What no engine of ours held to its grammar is not sent.
    expect(errorOf(await service([patchCall('{"input":"b"}'), finish('tool_calls')]).post(request))).toMatchObject({
      status: 500,
      code: 'invalid_output',
    })
    const next = await create({
      ...request,
      input: ['Hi', output[0], { type: 'custom_tool_call_output', call_id: 'call_0', output: 'Done.' }].map((item) =>
        typeof item === 'string' ? { role: 'user', content: item } : item,
      ),
    })
    expect(next.status).toBe('completed')
    expect(calls.at(-1)!.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'call_0', name: 'patch', arguments: '{"input":"a\\n\\n"}' }],
      },
      { role: 'tool', content: 'Done.', toolCallId: 'call_0' },
    ])
    const bad = { ...patch, format: { ...patch.format, definition: 'start: "a' } }
    expect(errorOf(await post({ ...request, tools: [bad] }))).toMatchObject({ status: 400, param: 'tools[0].format' })
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

  describe('that calls a tool which the client runs', () => {
    const named = (name: string, args: object) => ({ ...call(0, JSON.stringify(args)), name }) as Part
    const rows = [
      {
        type: 'shell',
        args: { commands: ['ls', 'pwd'], timeout_ms: 9 },
        item: {
          action: { commands: ['ls', 'pwd'], timeout_ms: 9, max_output_length: null },
          environment: null,
        },
        output: {
          output: [
            { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
            { stdout: '', stderr: 'no', outcome: { type: 'timeout' } },
          ],
        },
        content: 'a\n(exit code: 0)\n\nno\n(timed out)',
      },
      {
        type: 'local_shell',
        args: { command: ['ls', '-l'], working_directory: '/tmp' },
        item: { action: { type: 'exec', command: ['ls', '-l'], env: {}, working_directory: '/tmp' } },
        output: { output: 'a' },
        content: 'a',
        again: { command: ['ls', '-l'], env: {}, working_directory: '/tmp' },
      },
      {
        type: 'apply_patch',
        args: { operation: { type: 'create_file', path: 'a.txt', diff: '+a\n' } },
        item: { operation: { type: 'create_file', path: 'a.txt', diff: '+a\n' } },
        output: { status: 'failed', output: 'It is there.' },
        content: 'Failed. It is there.',
      },
    ] as const

    test.each(rows)('$type: its call has its own form, and so has its output', async (row) => {
      const { type, args, item, output, content } = row
      const script = [text('So.'), named(type, args), finish('tool_calls')]
      const { create, post, calls } = service(script)
      const request = { input: 'Hi', tools: [{ type }, look], tool_choice: { type } }
      const made = await create(request)
      const called = { type: `${type}_call`, call_id: 'call_0', ...item, status: 'completed' }
      expect(made.output.at(-1)).toEqual({ id: expect.any(String), ...called })
      const choice = type === 'local_shell' ? { type: 'function', name: type } : { type }
      expect([made.tools[0], made.tool_choice]).toEqual([{ type }, choice])
      const { toolGrammar, tools, toolChoice } = calls[0]!
      expect([tools[0]!.name, toolChoice]).toEqual([type, { name: type }])
      expect(toolGrammar!.accepts(JSON.stringify({ name: type, arguments: args }))).toBe(true)
      expect(toolGrammar!.accepts(JSON.stringify({ name: type, arguments: {} }))).toBe(false)
      const stream = (await post({ ...request, stream: true })).text
      const items = [...stream.matchAll(/^data: (.*response.output_item.(?:added|done).*)$/gm)].map(([, json]) =>
        JSON.parse(json!),
      )
      expect(items.slice(-2).map(({ item }) => item)).toMatchObject([{ ...called, status: 'in_progress' }, called])
      const result = { type: `${type}_call_output`, call_id: 'call_0', ...output }
      await create({ ...request, input: [{ role: 'user', content: 'Hi' }, ...made.output, result] })
      const again = 'again' in row ? row.again : args
      expect(calls.at(-1)!.messages.slice(1)).toEqual([
        {
          ...{ role: 'assistant', content: 'So.' },
          toolCalls: [{ id: 'call_0', name: type, arguments: JSON.stringify(again) }],
        },
        { role: 'tool', content, toolCallId: 'call_0' },
      ])
    })

    test('does not send a call that was cut off', async () => {
      const cut = [{ ...call(0, '{"commands":["rm'), name: 'shell' } as Part, finish('length')]
      const { post } = service(cut)
      const request = { input: 'Hi', tools: [{ type: 'shell' }] }
      expect(errorOf(await post(request))).toMatchObject({ status: 500, code: 'invalid_output' })
      const { text: stream } = await post({ ...request, stream: true })
      expect(stream).toContain('response.failed')
      expect(stream).not.toContain('shell_call')
    })

    test('goes on from what is kept', async () => {
      const { create, calls } = service([named('shell', rows[0].args), finish('tool_calls')])
      const request = { tools: [{ type: 'shell' }], store: true }
      const { id } = await create({ ...request, input: 'Hi' })
      const result = { type: 'shell_call_output', call_id: 'call_0', ...rows[0].output }
      await create({ ...request, previous_response_id: id, input: [result] })
      expect(calls.at(-1)!.messages.at(-1)).toMatchObject({ role: 'tool', content: rows[0].content })
    })

    test('does not offer a shell in a container, which only a server could run', async () => {
      const tools = [{ type: 'shell', environment: { type: 'container_auto' } }, look]
      const { headers } = await service().post({ input: 'Hi', tools })
      expect(headers.get('x-skipped-tools')).toBe('shell')
    })
  })

  test('calls tools of a namespace by both of their names', async () => {
    const crm = { type: 'namespace', name: 'crm', description: 'Customers.', tools: [look] }
    const request = { input: 'Hi', tools: [look, crm, { ...crm, name: 'mcp__shop__' }] }
    const made = [{ ...call(0, '{}'), name: 'crm__look' } as Part, finish('tool_calls')]
    const { post, create, calls } = service(made)
    const { output } = await create(request)
    expect(calls[0]!.tools.map(({ name }) => name)).toEqual(['look', 'crm__look', 'mcp__shop__look'])
    expect(calls[0]!.tools[1]!.description).toContain('Customers.')
    expect(output[0]).toMatchObject({ type: 'function_call', name: 'look', namespace: 'crm', arguments: '{}' })
    const { text: stream } = await post({ ...request, stream: true })
    expect(stream).toContain('"namespace":"crm","name":"look"')
    const result = { type: 'function_call_output', call_id: 'call_0', output: 'Seen.' }
    await create({ ...request, input: [{ role: 'user', content: 'Hi' }, output[0]!, result] })
    expect(calls.at(-1)!.messages[1]).toMatchObject({ toolCalls: [{ name: 'crm__look' }] })
    const chosen = { type: 'function', name: 'look', namespace: 'crm' }
    await create({ ...request, tool_choice: chosen })
    expect(calls.at(-1)!.toolChoice).toEqual({ name: 'crm__look' })
    expect(errorOf(await post({ ...request, tool_choice: { ...chosen, namespace: 'no' } }))).toMatchObject({
      param: 'tool_choice.name',
    })
  })

  describe('tools whose results may come later', () => {
    const wait = { ...look, name: 'wait', async: true }
    const asked = { role: 'user', content: 'Hi' }
    const called = (id: string, more: object = { async: true }) =>
      ({ type: 'function_call', call_id: id, name: 'wait', arguments: '{}', ...more }) as const
    const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: `Of ${id}.` })
    const pending = (toolCallId: string) => ({ role: 'tool', content: '[The result is not there yet.]', toolCallId })
    const given = (id: string) => ({ role: 'tool', content: `Of ${id}.`, toolCallId: id })

    test('are said to be such, in calls as in the list', async () => {
      const note = { type: 'custom', name: 'note', async: true }
      const made = (name: string) => [{ ...call(0, '{"input":"x"}'), name } as Part, finish('tool_calls')]
      for (const [name, isLater] of [
        ['wait', true],
        ['note', true],
        ['crm__wait', true],
        ['look', false],
      ] as const) {
        const crm = { type: 'namespace', name: 'crm', tools: [wait] }
        const { post } = service(made(name))
        const answer = await post({ input: 'Hi', tools: [look, wait, note, crm] })
        expect(answer.headers.get('x-ignored-fields')).toBe(null)
        const { output, tools } = jsonOf(answer) as unknown as {
          output: { async?: true }[]
          tools: { name: string; async?: true }[]
        }
        expect(output[0]!.async, name).toBe(isLater || undefined)
        expect(tools.filter((tool) => tool.async).map((tool) => tool.name)).toEqual(['wait', 'note', 'crm__wait'])
      }
      expect(errorOf(await service().post({ input: 'Hi', tools: [{ ...wait, async: 1 }] })).param).toBe(
        'tools[0].async',
      )
    })

    test('leave the conversation free to go on, and the model is told which are not there', async () => {
      const { create, calls } = service()
      const read = async (...input: object[]) => {
        await create({ input: [asked, ...input], tools: [look, wait] })
        return calls
          .at(-1)!
          .messages.slice(1)
          .filter(({ role }) => role !== 'assistant')
      }
      expect(await read(called('a'))).toEqual([pending('a')])
      expect(await read(called('a'), asked)).toEqual([pending('a'), asked])
      expect(await read(called('a'), result('a'), asked)).toEqual([given('a'), asked])
      expect(await read(called('a'), asked, result('a'), asked)).toEqual([pending('a'), asked, given('a'), asked])
      const both = [called('a'), called('b', {}), result('b')]
      expect(await read(...both, { role: 'assistant', content: 'So.' }, asked, result('a'))).toEqual([
        ...[given('b'), pending('a')],
        ...[asked, given('a')],
      ])
      // Told once.
      expect(await read(called('a'), asked, asked)).toEqual([pending('a'), asked, asked])
    })

    test('are there for a response that goes on from theirs', async () => {
      const { create, calls } = service([{ ...call(0, '{}'), name: 'wait' } as Part, finish('tool_calls')])
      const first = await create({ input: 'Hi', tools: [wait], store: true })
      const second = await create({ input: 'On', previous_response_id: first.id, store: true })
      expect(calls.at(-1)!.messages.slice(2)).toEqual([pending('call_0'), { role: 'user', content: 'On' }])
      await create({ input: [result('call_0')], previous_response_id: second.id })
      expect(calls.at(-1)!.messages.at(-1)).toEqual(given('call_0'))
    })

    test('are told in words, where the call is left out of too long a conversation', async () => {
      const most = 5
      const short: Script = ({ messages }: ChatCall) =>
        messages.length > most
          ? [new V1Error(400, 'Too long.', { code: 'context_length_exceeded' })]
          : messages.length > 1
            ? [text('So.'), finish()]
            : [{ ...call(0, '{}'), name: 'wait' } as Part, finish('tool_calls')]
      const { create, calls } = service(short)
      const shared = { tools: [wait], truncation: 'auto', store: true }
      let previous = await create({ ...shared, input: 'Hi' })
      for (const input of ['1', '2']) previous = await create({ ...shared, input, previous_response_id: previous.id })
      const late = { ...shared, input: [result('call_0')], previous_response_id: previous.id }
      await create(late)
      const spoken = [
        { role: 'user', content: '1' },
        { role: 'assistant', content: 'So.' },
        { role: 'user', content: '2' },
        { role: 'assistant', content: 'So.' },
      ]
      const inWords = { role: 'user', content: `Result of wait: ${given('call_0').content}` }
      expect(calls.at(-1)!.messages).toEqual([...spoken, inWords])
    })

    test('have each at most one result, and others have one at once', async () => {
      const { post } = service()
      const param = async (...input: object[]) => errorOf(await post({ input: [asked, ...input] })).param
      expect(await param(called('a'), result('a'), result('a'))).toBe('input[3]')
      expect(await param(called('a'), called('b', { async: false }), result('a'))).toBe('input[2]')
      expect(await param(called('a', {}))).toBe('input[1]')
    })
  })

  test('tells a search before the first call of a tool that is to be found, as agents wait for it', async () => {
    const deferred = { ...look, defer_loading: true }
    const space = { type: 'namespace', name: 'crm', description: 'Customers', tools: [{ ...deferred, name: 'find' }] }
    const script: Script = ({ messages }) =>
      messages.length > 1
        ? [text('So.'), finish()]
        : [call(0, '{}'), { ...call(1, '{}'), name: 'crm__find' } as Part, call(2, '{"at":"x"}'), finish('tool_calls')]
    const { create, post, calls } = service(script)
    const tools = [{ type: 'tool_search' }, deferred, space]
    const response = await create({ input: 'Hi', tools, store: true })
    const about = { call_id: null, execution: 'server', status: 'completed' }
    expect(response.output).toMatchObject([
      { type: 'tool_search_call', ...about, arguments: { paths: ['look'] } },
      { type: 'tool_search_output', ...about, tools: [{ type: 'function', name: 'look', defer_loading: true }] },
      { type: 'function_call', name: 'look' },
      { type: 'tool_search_call', ...about, arguments: { paths: ['crm'] } },
      { type: 'tool_search_output', ...about, tools: [{ type: 'namespace', name: 'crm', tools: [{ name: 'find' }] }] },
      { type: 'function_call', name: 'find', namespace: 'crm' },
      { type: 'function_call', name: 'look' },
    ])
    const results = response.output.flatMap(({ call_id }: { call_id: string | null }) =>
      call_id === null ? [] : [{ type: 'function_call_output', call_id, output: 'There.' }],
    )
    for (const body of [
      { input: results, previous_response_id: response.id },
      { input: [{ role: 'user', content: 'Hi' }, ...response.output, ...results] },
    ]) {
      await create({ ...body, tools, store: true })
      expect(calls.at(-1)!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool'])
    }
    // Who searches for nothing is told of none, and that nobody searches.
    const plain = await post({ input: 'Hi', tools: [{ type: 'tool_search' }, look, { ...look, name: 'crm__find' }] })
    expect(jsonOf(plain).output.map(({ type }: { type: string }) => type)).toEqual(Array(3).fill('function_call'))
    expect(plain.headers.get('x-skipped-tools')).toBe('tool_search')
  })

  test('knows tools that an item of the input adds, and says where one of them is wrong', async () => {
    const find = { ...look, name: 'find' }
    const added = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools })
    const { post, calls } = service()
    const input = [added(find, { type: 'web_search' }), { role: 'user', content: 'Hi' }, added(look, find)]
    const { status, headers } = await post({ input, tools: [look], tool_choice: { type: 'function', name: 'find' } })
    expect([status, headers.get('x-ignored-fields'), headers.get('x-skipped-tools')]).toEqual([200, null, 'web_search'])
    expect(calls[0]!.tools.map(({ name }) => name)).toEqual(['look', 'find'])
    expect(calls[0]!.messages).toEqual([{ role: 'user', content: 'Hi' }])
    const wrong = { ...find, strict: true, parameters: { type: 'object', not: { $ref: '#/nowhere' } } }
    const crm = { type: 'namespace', name: 'crm', tools: [wrong] }
    const place = async (body: object) => errorOf(await post({ input: 'Hi', ...body })).param
    expect(await place({ input: [added(look, wrong)] })).toBe('input[0].tools[1].parameters')
    expect(await place({ tools: [look, crm] })).toBe('tools[1].tools[0].parameters')
    expect(await place({ input: [{ type: 'additional_tools' }] })).toBe('input[0].tools')
  })

  test('tools that an item added are there for every response that continues from it', async () => {
    const find = { ...look, name: 'find', parameters: { type: 'object', properties: { x: { type: 'string' } } } }
    const patch = { type: 'custom', name: 'patch', description: 'Changes files.' }
    const added = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools })
    const { ask, create, post, calls } = service()
    const named = () => calls.at(-1)!.tools.map(({ name }) => name)
    const first = await create({
      input: [{ role: 'user', content: 'Hi' }, added(find, { type: 'web_search' })],
      store: true,
    })
    const second = await create({ input: 'On', previous_response_id: first.id, store: true })
    expect(named()).toEqual(['find'])
    const listed = jsonOf(await ask(`/responses/${second.id}/input_items?order=asc`)).data
    expect(listed[1]).toEqual({ ...added(find, { type: 'web_search' }), id: expect.stringMatching(/^at_/) })
    // What comes later is said again, in other words; a request's own word stands over all.
    const again = { ...find, description: 'Finds it.' }
    const request = { previous_response_id: second.id, input: [added(again, patch), { role: 'user', content: 'On' }] }
    const choice = { type: 'function', name: 'find' }
    const { headers } = await post({ ...request, tools: [look], tool_choice: choice, store: true })
    expect(headers.get('x-skipped-tools')).toBe('web_search')
    expect(named()).toEqual(['look', 'find', 'patch'])
    expect(calls.at(-1)).toMatchObject({ toolChoice: { name: 'find' }, tools: [{}, { description: 'Finds it.' }, {}] })
    await create({ input: 'On', previous_response_id: second.id, tools: [{ ...find, description: 'Mine.' }] })
    expect(calls.at(-1)!.tools).toMatchObject([{ name: 'find', description: 'Mine.' }])
    const wrong = { type: 'function', name: 'patch' }
    expect(errorOf(await post({ input: 'On', previous_response_id: second.id, tool_choice: wrong }))).toMatchObject({
      ...{ status: 400, param: 'tool_choice.name' },
    })
    expect(calls.at(-1)!.tools).toMatchObject([{ description: 'Mine.' }])
  })

  test('continues from calls as other services wrote them', async () => {
    const { post, calls } = service()
    const call_id = `call_${'x'.repeat(200)}`
    const called = { type: 'function_call', call_id, name: 'files.read', arguments: { at: 'x' } }
    const output = [
      { type: 'text', text: 'Here.' },
      { type: 'encrypted_content', encrypted_content: 'x' },
    ]
    const { status, headers } = await post({
      input: [
        { type: 'context_compaction', encrypted_content: 'gAAA' },
        { role: 'user', content: [{ type: 'text', text: 'Read it.' }] },
        { type: 'ghost_snapshot', ghost_commit: {} },
        called,
        { type: 'function_call_output', call_id, output },
        { ...called, call_id: 'c' },
        { type: 'function_call_output', call_id: 'c', output: null },
      ],
    })
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, 'input[0].encrypted_content, input[2]'])
    expect(calls[0]!.messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', expect.stringContaining('summed up by another service')],
      ['user', 'Read it.'],
      ['assistant', ''],
      ['tool', 'Here.\n[Something of the type encrypted_content, which cannot be read here.]'],
      ['assistant', ''],
      ['tool', ''],
    ])
    expect(calls[0]!.messages[2]).toMatchObject({
      toolCalls: [{ id: call_id, name: 'files.read', arguments: '{"at":"x"}' }],
    })
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

  test('skips tools that nothing here can run, alone or with functions, and says so', async () => {
    const { post, create, calls } = service()
    const both = await post({ input: 'Hi', tools: [{ type: 'web_search' }, look] })
    expect([both.status, both.headers.get('x-skipped-tools')]).toEqual([200, 'web_search'])
    const alone = await post({ input: 'Hi', tools: [{ type: 'web_search' }] })
    expect([alone.status, alone.headers.get('x-skipped-tools')]).toEqual([200, 'web_search'])
    const wanted = await post({ input: 'Hi', tools: [{ type: 'web_search' }], tool_choice: 'required' })
    expect(errorOf(wanted)).toMatchObject({ status: 400, param: 'tool_choice' })
    // As the AI SDK writes `allowedTools`.
    const tools = [{ type: 'web_search' }, look]
    const allowing = (...tools: object[]) => ({ type: 'allowed_tools', mode: 'auto', tools })
    const { tool_choice } = await create({ tools, tool_choice: allowing({ type: 'web_search' }, look) })
    expect(tool_choice).toEqual(allowing({ type: 'function', name: 'look' }))
    await create({ tools, tool_choice: allowing({ type: 'web_search' }) })
    expect(calls.slice(-2).map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'none'])
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
    [{ input: 'Hi', max_output_tokens: 3 }, 'max_output_tokens'],
    [{ input: 'Hi', include: ['everything'] }, 'include[0]'],
    [{ input: 'Hi', tool_choice: 'required' }, 'tool_choice'],
    [{ input: 'Hi', background: true, store: false }, 'background'],
    [{ input: 'Hi', previous_response_id: 'resp_0' }, 'previous_response_id'],
    [{ input: [{ type: 'item_reference', id: 'msg_0' }] }, 'input[0].id'],
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
    const { post } = service([text('Hello'), new V1Error(503, 'The device was lost.')])
    const events = eventsOf((await post({ input: 'Hi', stream: true })).text)
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', message: 'The device was lost.' },
      { type: 'response.failed', response: { status: 'failed' } },
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

async function settled(ask: (path: string) => Promise<Answer>, id: string) {
  for (;;) {
    const now = jsonOf(await ask(`/responses/${id}`))
    expect(judge?.response(now) ?? []).toEqual([])
    if (now.status !== 'queued' && now.status !== 'in_progress') return now
    await pause(5)
  }
}

describe('in the background', () => {
  const slow = [text('One'), { type: 'wait', ms: 60_000 } as const, text(' two'), finish()]

  test('it is made while no client waits', async () => {
    const { create, ask } = service([{ type: 'wait', ms: 5 }, text('Done.'), finish()])
    const { id, status } = await create({ background: true })
    expect(status).toBe('queued')
    expect(await settled(ask, id)).toMatchObject({
      background: true,
      store: true,
      output: [{ content: [{ text: 'Done.' }] }],
    })
  })

  test('it is cancelled once, and stored as cancelled', async () => {
    const { create, ask } = service(slow)
    const { id } = await create({ background: true })
    const cancel = () => ask(`/responses/${id}/cancel`, { method: 'POST' })
    expect(jsonOf(await cancel())).toMatchObject({ id, status: 'cancelled' })
    expect(jsonOf(await cancel())).toMatchObject({ id, status: 'cancelled' })
    expect(jsonOf(await ask(`/responses/${id}`))).toMatchObject({ status: 'cancelled' })
  })

  test('nothing goes on from it before it is over, and the error says so', async () => {
    const { create, post, ask } = service(slow)
    const { id } = await create({ background: true })
    for (const background of [false, true]) {
      const early = errorOf(await post({ input: 'On', previous_response_id: id, background }))
      expect(early).toMatchObject({ status: 400, code: 'response_in_progress', param: 'previous_response_id' })
    }
    await ask(`/responses/${id}`, { method: 'DELETE' })
  })

  test('its input is listed while it waits, while it is made, and once it was cancelled', async () => {
    const { create, ask } = service((call) => (call.messages.length > 1 ? slow : 'Fine.'), { maxInFlight: 1 })
    const first = await create({ store: true })
    const goesOn = { input: 'On', background: true, previous_response_id: first.id }
    const [made, waiting] = [await create(goesOn), await create(goesOn)]
    for (const { id } of [waiting, made]) {
      const texts = async () =>
        jsonOf(await ask(`/responses/${id}/input_items?order=asc`)).data.map(
          ({ content }: { content: { text: string }[] }) => content[0]!.text,
        )
      const all = ['Hi', 'Fine.', 'On']
      expect(await texts()).toEqual(all)
      await ask(`/responses/${id}/cancel`, { method: 'POST' })
      expect(await texts()).toEqual(all)
    }
  })

  test('nothing else can be cancelled', async () => {
    const { create, ask } = service()
    const { id } = await create({ store: true })
    expect(errorOf(await ask(`/responses/${id}/cancel`, { method: 'POST' }))).toMatchObject({ status: 400 })
  })

  test('its events can be followed, and continued where a client stopped', async () => {
    const { create, ask } = service([{ type: 'wait', ms: 20 }, text('One'), text(' two'), finish()])
    const { id } = await create({ background: true })
    const all = eventsOf((await ask(`/responses/${id}?stream=true`)).text)
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, i) => i))
    expect(all.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.queued'])
    expect(all.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    // Whoever comes back once it is over finds them as they were.
    expect(eventsOf((await ask(`/responses/${id}?stream=true`)).text)).toEqual(all)
    expect(eventsOf((await ask(`/responses/${id}?stream=true&starting_after=4`)).text)).toEqual(all.slice(5))
    const cancelled = await ask(`/responses/${id}/cancel`, { method: 'POST' })
    expect(jsonOf(cancelled)).toMatchObject({ status: 'completed' })
    await ask(`/responses/${id}`, { method: 'DELETE' })
    expect((await ask(`/responses/${id}?stream=true`)).status).toBe(404)
  })

  test('of events that are held no more, the beginning and the end are told', async () => {
    const many = Array.from({ length: 20_000 }, () => text('a'))
    const { create, ask } = service(({ messages }) => (messages[0]!.content === 'Hi' ? [...many, finish()] : 'Fine.'))
    const short = await create({ background: true, input: 'First' })
    await settled(ask, short.id)
    for (let i = 0; i < 16; i++) await settled(ask, (await create({ background: true, input: 'Later' })).id)
    const bodies = [{ background: true }, { store: true, input: 'You?' }]
    for (const { id } of [short, ...(await Promise.all(bodies.map(create)))]) {
      const response = await settled(ask, id)
      const follow = async (query = '') => eventsOf((await ask(`/responses/${id}?stream=true${query}`)).text)
      const begun = { id, status: 'in_progress', output: [], completed_at: null }
      expect(await follow()).toMatchObject([
        { type: 'response.created', sequence_number: 0, response: begun },
        { type: 'response.completed', sequence_number: 1, response },
      ])
      expect(await follow('&starting_after=7')).toMatchObject([{ type: 'response.completed', sequence_number: 8 }])
    }
  })

  test('it fails while no client listens, and says why when it is retrieved', async () => {
    const { create, ask } = service([new V1Error(503, 'No device.')])
    const { id } = await create({ background: true })
    expect(await settled(ask, id)).toMatchObject({ status: 'failed', error: { message: 'No device.' } })
  })

  test('what the queue refuses is refused to whoever asked, and what gives way in it says so', async () => {
    const { create, post, ask } = service(slow, { maxInFlight: 1, maxQueue: 2, keys: [KEY, 'another'] })
    const mine = [
      await create({ background: true }),
      await create({ background: true }),
      await create({ background: true }),
    ]
    const refused = await post({ input: 'Hi', background: true })
    expect(errorOf(refused)).toMatchObject({ status: 429, code: 'queue_full' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const theirs = await post({ input: 'Hi', background: true }, '/responses', { authorization: 'Bearer another' })
    expect(jsonOf(theirs)).toMatchObject({ status: 'queued' })
    expect(await settled(ask, mine[2].id)).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } })
    for (const { id } of mine) await ask(`/responses/${id}`, { method: 'DELETE' })
  })

  test('what the model cannot do is refused to whoever asked', async () => {
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { tools: false } })
    const { ask } = serviceOf(engine)
    const asked = await ask('/responses', posting({ input: 'Hi', tools: [look], background: true }))
    expect(errorOf(asked)).toMatchObject({ status: 400, param: 'tools' })
  })

  test.each([
    [{ text: { format: { type: 'json_schema', name: 'a', strict: true, schema: { not: {} } } } }, 'text.format.schema'],
    [{ tools: [{ ...look, strict: true, parameters: { not: {} } }] }, 'tools[0].parameters'],
    [{ input: [{ type: 'item_reference', id: 'msg_0' }] }, 'input[0].id'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0]'],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice'],
    [{ previous_response_id: 'resp_0' }, 'previous_response_id'],
  ])('what says %j is refused to whoever asked, with or without others before it', async (body, param) => {
    const { post, ask, create } = service(slow, { maxInFlight: 1 })
    for (const others of [false, true]) {
      const running = others && (await create({ background: true }))
      const refused = await post({ input: 'Hi', background: true, ...body })
      expect(errorOf(refused)).toMatchObject({ status: 400, param })
      if (running) await ask(`/responses/${running.id}`, { method: 'DELETE' })
    }
  })

  test('one that waits reads what its conversation has become until then', async () => {
    const script: Script = [{ type: 'wait', ms: 20 }, text('Done.'), finish()]
    const { post, ask, create, calls } = service(script, { maxInFlight: 1 })
    const conversation = jsonOf(await post({}, '/conversations')).id
    const first = await create({ background: true, conversation })
    const second = await create({ background: true, conversation, input: 'And?' })
    for (const { id } of [first, second]) await settled(ask, id)
    expect(calls.at(-1)!.messages).toHaveLength(3)
  })

  test('nothing is begun for a model that there is not', async () => {
    expect(errorOf(await service().post({ model: 'no/model', input: 'Hi', background: true }))).toMatchObject({
      status: 404,
    })
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
    const calls: ChatCall[] = []
    const { ask } = serviceOf((call: ChatCall) => {
      calls.push(call)
      return [text(' Ada likes the sea. '), finish()]
    })
    const { id, object, output, usage } = jsonOf(await post(ask, '/responses/compact', { model: MODEL, input }))
    expect([object, id.startsWith('resp_'), usage.total_tokens]).toEqual(['response.compaction', true, 0])
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
