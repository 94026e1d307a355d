import { describe, expect, test } from 'vitest'
import type { ChatCall, Part } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import type { Script } from '../../../engines/scripted.js'
import { errorOf, finish, jsonOf, text } from '../../v1.test-helper.js'
import { call, look, service } from './responses.test-helper.js'

describe('a response', () => {
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
})
