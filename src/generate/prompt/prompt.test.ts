import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatCall, ChatMessage } from '../../contract/engine.js'
import { compile } from '../../grammar/index.js'
import { ChatText } from '../chat-text.js'
import { describeSchema } from '../schema-prompt.js'
import { call, smallText } from '../testing/call.test-helper.js'
import { publishedText } from '../testing/published.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'
import { BEGINNINGS } from './guard.js'

const qwen = publishedText('qwen2_5')
const llama = publishedText('llama3_2')
/** What Qwen's template says where the caller says nothing. */
const DEFAULT = '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n'

/** Control tokens by name, everything else as text. */
const show = (text: ChatText, ids: readonly number[]) => {
  let shown = ''
  let bytes: number[] = []
  const flush = () => {
    shown += new TextDecoder().decode(Uint8Array.from(bytes))
    bytes = []
  }
  for (const id of ids) {
    if (!text.tokenizer.special.has(id)) bytes.push(...text.tokenizer.bytes(id))
    else {
      flush()
      shown += text.tokenizer.name(id)
    }
  }
  flush()
  return shown
}
const prompt = (text: ChatText, messages: ChatMessage[], part: Partial<ChatCall> = {}) =>
  show(text, text.prompt(call({ messages, ...part })))
const user = (content: string): ChatMessage => ({ role: 'user', content })
const weather = { name: 'get_weather', description: 'Weather', parameters: { type: 'object' }, strict: true }

test('the template of the repository, with and without a system message', () => {
  expect(prompt(qwen, [user('Hi')])).toBe(`${DEFAULT}<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n`)
  expect(prompt(qwen, [{ role: 'system', content: 'Be brief.' }, user('Hi')])).toBe(
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  )
  expect(prompt(llama, [user('Hi')])).toMatch(
    /^<\|begin_of_text\|><\|start_header_id\|>system.*Hi<\|eot_id\|><\|start_header_id\|>assistant<\|end_header_id\|>\n\n$/s,
  )
})

test('results stand in the order of their calls, in which templates without ids tell them apart', () => {
  const called = (...ids: string[]): ChatMessage => ({
    role: 'assistant',
    content: '',
    toolCalls: ids.map((id) => ({ id, name: 'get_weather', arguments: `{"city":"${id}"}` })),
  })
  const result = (id: string, content = `of ${id}`): ChatMessage => ({ role: 'tool', toolCallId: id, content })
  const order = (...messages: ChatMessage[]) =>
    [...prompt(qwen, [user('x'), ...messages]).matchAll(/of \w+|more|late/g)].map(([found]) => found)
  expect(order(called('a', 'b', 'c'), result('c'), result('a'), result('b'))).toEqual(['of a', 'of b', 'of c'])
  // Of one id twice each has its place, and what is of no call of the turn comes behind.
  expect(order(called('a', 'a', 'b'), result('b'), result('a'), result('a', 'more'))).toEqual(['of a', 'more', 'of b'])
  const first = [called('d'), result('d'), called('a', 'b')]
  expect(order(...first, result('d', 'late'), result('b'), result('a'))).toEqual(['of d', 'of a', 'of b', 'late'])
})

test('a template that goes through calls which nobody made is given none', () => {
  const files = smallTokenizer()
  const chat_template = `{%- for message in messages %}{{ message.content }}{%- for call in message.tool_calls %}{{ call.id }}{%- endfor %}{%- endfor %}`
  const chat = new ChatText({
    tokenizer: files.tokenizer,
    tokenizerConfig: { ...files.tokenizerConfig, chat_template },
  })
  expect(prompt(chat, [{ role: 'system', content: 'Be brief. ' }, user('Hi')])).toBe('Be brief. Hi')
})

describe('a call that a template would lose is written as its family writes it', () => {
  const messages: ChatMessage[] = [
    user('Where?'),
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 'get', arguments: '{"city":"Bern","days":3}' }],
    },
  ]
  const turns = (call: string) =>
    `{#- tools [func_name1( -#}{% for m in messages %}{{ m.role + ':' }}{% if m.tool_calls %}${call}{% else %}{{ m.content }}{% endif %}{% endfor %}`
  const each = (value: string, between = ',') =>
    turns(
      `[{{ m.tool_calls[0].function.name }}({% for k, v in m.tool_calls[0].function.arguments.items() %}{{ k }}=${value}{% if not loop.last %}${between}{% endif %}{% endfor %})]`,
    )
  test.each([
    ['without quotes', each('{{ v }}')],
    ['with quotes around numbers', each('"{{ v }}"')],
    ['without commas', each('{{ v | tojson }}', '')],
    ['with a filter that nobody has', each('{{ "%s" | format(v) }}')],
    ['without its name', turns('[({{ m.tool_calls[0].function.arguments | tojson }})]')],
  ])('%s', (_, chatTemplate) => {
    const text = new ChatText({ ...smallTokenizer(), chatTemplate })
    expect(prompt(text, messages, { tools: [weather] })).toBe('user:Where?assistant:[get(city="Bern", days=3)]')
  })

  test.each([
    ['in JSON', each('{{ v | tojson }}', ';').replace(';', ', '), '[get(city="Bern", days=3)]'],
    ['in another kind of quotes', each(`{{ "'" + v + "'" if v is string else v }}`), "[get(city='Bern',days=3)]"],
  ])('and one that the template keeps is written by the template: %s', (_, chatTemplate, written) => {
    const text = new ChatText({ ...smallTokenizer(), chatTemplate })
    expect(prompt(text, messages, { tools: [weather] })).toBe(`user:Where?assistant:${written}`)
  })
})

describe('numbers of earlier calls that a double does not hold', () => {
  const id = '123456789012345678901'
  const json = `{"id":${id},"less":-${id},"some":[${id}2,7,0.1234567890123456789],"text":"${id}"}`
  const turns = (words: string, call: string) =>
    `{#- tools ${words} -#}{% for m in messages %}{% if m.tool_calls %}${call}{% else %}{{ m.content }};{% endif %}{% endfor %}`
  const small = (chatTemplate: string) => new ChatText({ ...smallTokenizer(), chatTemplate })
  const asTold = `{"id": ${id}, "less": -${id}, "some": [${id}2, 7, 0.12345678901234568], "text": "${id}"}`

  test.each<[string, ChatText, string]>([
    ["Qwen's template", qwen, `"arguments": ${asTold}`],
    ["Llama's template", llama, `"parameters": ${asTold}`],
    [
      'who writes calls as Python has them',
      small(turns('[func_name1(', '')),
      `[get(id=${id}, less=-${id}, some=[${id}2,7,0.12345678901234568], text="${id}")]`,
    ],
    [
      'who writes calls in tags',
      small(turns('<tool_call><function=<parameter=', '')),
      `<parameter=id>\n${id}\n</parameter>\n<parameter=less>\n-${id}\n</parameter>\n<parameter=some>\n[${id}2,7,0.12345678901234568]\n`,
    ],
    [
      'who writes calls with a token for quotes',
      small(turns('<|tool_call> <|"|> <tool_call|>', '')),
      `get{id:${id},less:-${id},some:[${id}2,7,0.12345678901234568],text:<|"|>${id}<|"|>}`,
    ],
    ['whoever is told of tools in words', small('{% for m in messages %}{{ m.content }};{% endfor %}'), json],
  ])('are written in full by %s', (_, chat, written) => {
    // What could stand for such a number is what it is where a caller says it.
    const said = BEGINNINGS.slice(0, 3).map((digits) => `${digits}000000`)
    const called: ChatMessage = {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 'get', arguments: json }],
    }
    const text = prompt(chat, [user(said.join()), called, user(`And ${id}?`)], { tools: [weather] })
    expect(text).toContain(written)
    expect(text).toContain(said.join())
    expect(text).toContain(`And ${id}?`)
  })

  test('are what they are in what is no JSON, which takes no longer for its quotes', () => {
    const broken = `{"id":${id},"${'\\"'.repeat(2 ** 19)}`
    const toolCalls = [{ id: 'c', name: 'get', arguments: broken }]
    const text = prompt(small('{% for m in messages %}{{ m.content }}{% endfor %}'), [
      user('x'),
      { role: 'assistant', content: '', toolCalls },
    ])
    expect(text).toContain(broken.slice(0, 100))
  })
})

describe('what a model says beside its calls, where a template writes the calls alone', () => {
  const called = (id: string): ChatMessage[] => [
    { role: 'assistant', content: `I look, ${id}.`, toolCalls: [{ id, name: 'get', arguments: '{"city":"Bern"}' }] },
    { role: 'tool', content: 'Seen.', toolCallId: id },
  ]
  const messages: ChatMessage[] = [user('Where?'), ...called('1'), user('And?'), ...called('2')]
  const turns = (call: string, more = '') =>
    `{#- tools -#}{% for m in messages %}${more}{{ m.role + ':' }}{% if m.tool_calls %}${call}{% else %}{{ m.content }}{% endif %};{% endfor %}`
  const json =
    '{"name": "{{ m.tool_calls[0].function.name }}", "arguments": {{ m.tool_calls[0].function.arguments | tojson }}}'
  const rendered = (template: string, list: ChatMessage[] = messages) =>
    prompt(new ChatText({ ...smallTokenizer(), chatTemplate: template }), list, { tools: [weather] })

  const hermes = turns(`<tool_call>${json}</tool_call>`)
  test('comes before the calls, in the same turn', () => {
    const call = '\n<tool_call>{"name": "get", "arguments": {"city": "Bern"}}</tool_call>;tool:Seen.;'
    expect(rendered(hermes)).toBe(`user:Where?;assistant:I look, 1.${call}user:And?;assistant:I look, 2.${call}`)
  })

  test('is never read as control tokens, as elsewhere', () => {
    const [first, ...others] = called('<|im_end|>')
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate: hermes })
    const ids = chat.prompt(call({ messages: [user('x'), first!, ...others], tools: [weather] }))
    expect(ids).not.toContain(chat.tokenizer.idOf('<|im_end|>'))
    expect(show(chat, ids)).toContain('I look, <|im_end|>.\n<tool_call>')
  })

  test('is the plan, if the template has one', () => {
    const own = turns(`({{ m.tool_plan }})${json}`)
    expect(rendered(own)).toContain('assistant:(I look, 1.){"name": "get"')
  })

  test('has a turn of its own, if a turn with calls has no text', () => {
    const own = turns(json.replace('arguments"', 'parameters"'), '{#- "parameters" ipython -#}')
    expect(rendered(own)).toContain('assistant:I look, 1.;assistant:{"name": "get"')
  })

  test('stands before them, too, where turns must alternate', () => {
    const alternates = `{% if loop.previtem is defined and loop.previtem.role == m.role %}{{ raise_exception('alternate') }}{% endif %}`
    const own = turns(`<tool_call>${json}</tool_call>`, alternates)
    expect(rendered(own)).toContain('assistant:I look, 2.\n<tool_call>')
  })
})

test('FunctionGemma gets its tools in the words of its training, unless the caller sends a system message', () => {
  const chatTemplate = `{%- for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% for t in tools or [] %}<start_function_declaration>{{ t.function.name }}{% endfor %}{% endif %}{% endfor %}{#- <start_function_call><escape> -#}`
  const text = new ChatText({ ...smallTokenizer(), chatTemplate })
  const taught = 'You are a model that can do function calling with the following functions'
  expect(prompt(text, [user('x')], { tools: [weather] })).toBe(`${taught}<start_function_declaration>get_weather`)
  expect(prompt(text, [{ role: 'system', content: 'S' }, user('x')], { tools: [weather] })).toBe(
    'S<start_function_declaration>get_weather',
  )
  expect(prompt(text, [user('x')])).toBe('')
  expect(prompt(text, [user('x')], { tools: [weather], toolChoice: 'none' })).toBe('')
})

test('an answer ends where the answer of a tool would begin', () => {
  const files = smallTokenizer()
  const last = files.tokenizer.added_tokens.at(-1)!
  const added = [
    ...files.tokenizer.added_tokens,
    { ...last, id: last.id + 1, content: '<start_function_response>', special: true },
  ]
  const text = new ChatText({ ...files, tokenizer: { ...files.tokenizer, added_tokens: added } })
  expect(text.ends).toContain(last.id + 1)
})

test('a template that goes through the parts of a message is given parts', () => {
  const chatTemplate = `{% for m in messages %}{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}`
  const text = new ChatText({ ...smallTokenizer(), chatTemplate })
  expect(prompt(text, [{ role: 'system', content: 'S' }, user('U')])).toBe('SU')
})

test('ids of calls have the form that Mistral’s templates accept, the same for a call and its result', () => {
  const files = smallTokenizer()
  // As the published ones do it.
  const chat_template = `{#- [TOOL_CALLS] tools -#}{%- for message in messages %}
{%- for call in message.tool_calls or [] %}{%- if call.id|length != 9 %}{{ raise_exception('Nine!') }}{%- endif %}{{ '[TOOL_CALLS][' + call.function|tojson + '(' + call.id + ')' }}{%- endfor %}
{%- if message.tool_call_id %}{{ '[' + message.tool_call_id + ']' }}{%- endif %}{%- endfor %}`
  const chat = new ChatText({
    tokenizer: files.tokenizer,
    tokenizerConfig: { ...files.tokenizerConfig, chat_template },
  })
  for (const [id, shown] of [
    ['call_Qwertz0123456789', '123456789'],
    ['call_1', '0000call1'],
  ] as const) {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'get_weather', arguments: '{}' }] },
      { role: 'tool', toolCallId: id, content: 'sunny' },
    ]
    const call = '[TOOL_CALLS][{"name": "get_weather", "arguments": {}}'
    expect(prompt(chat, messages, { tools: [weather] })).toBe(`${call}(${shown})[${shown}]`)
  }
})

describe('thinking', () => {
  test('is the caller’s to turn on and off, and off for documents unless it is asked for', () => {
    expect(prompt(smallText, [user('Hi')], { templateOptions: { enable_thinking: false } })).toMatch(
      /<think>\n\n<\/think>\n\n$/,
    )
    const grammar = {} as ChatCall['grammar']
    expect(prompt(smallText, [user('Hi')], { grammar })).toMatch(/<think>\n\n<\/think>\n\n$/)
    expect(prompt(smallText, [user('Hi')], { grammar, templateOptions: { enable_thinking: true } })).toMatch(
      /assistant\n$/,
    )
  })

  test('is closed where a template always opens it', () => {
    const small = smallTokenizer()
    const text = new ChatText({ ...small, chatTemplate: "{{ messages[0].content }}{{ '<think>\\n' }}" })
    expect(prompt(text, [user('Hi')])).toBe('Hi<think>\n')
    expect(prompt(text, [user('Hi')], { grammar: {} as ChatCall['grammar'] })).toBe('Hi<think>\n\n</think>\n\n')
  })
})

describe('what callers write', () => {
  const spelled = ['<|im_end|>', '<|im_start|>system', '<|endoftext|>', '</think>', '<tool_call>']

  test('is read as text, never as control tokens', () => {
    const count = (ids: readonly number[]) => ids.filter((id) => qwen.tokenizer.special.has(id)).length
    const clean = count(qwen.prompt(call({ messages: [user('x')] })))
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...spelled), fc.string({ maxLength: 4 })), { maxLength: 6 }),
        (parts) => {
          const content = parts.join('').normalize('NFC')
          const ids = qwen.prompt(call({ messages: [user(content)] }))
          expect(count(ids)).toBe(clean)
          expect(show(qwen, ids)).toBe(
            `${DEFAULT}<|im_start|>user\n${new TextDecoder().decode(new TextEncoder().encode(content))}<|im_end|>\n<|im_start|>assistant\n`,
          )
        },
      ),
      { numRuns: 100 },
    )
  })

  test.each([
    ['a system message', { messages: [{ role: 'system' as const, content: 'a<|im_end|>b' }, user('x')] }],
    ['a tool result', { messages: [user('x'), { role: 'tool' as const, toolCallId: 'c', content: '<|im_end|>' }] }],
    ['a tool', { messages: [user('x')], tools: [{ ...weather, description: '<|im_end|>' }] }],
    [
      'a tool call',
      {
        messages: [
          user('x'),
          {
            role: 'assistant' as const,
            content: '',
            toolCalls: [{ id: 'c', name: 'f', arguments: '{"a":"<|im_end|>"}' }],
          },
        ],
      },
    ],
    ['template options', { messages: [user('x')], templateOptions: { note: '<|im_end|>' } }],
  ])('in %s too', (_, part) => {
    const text = JSON.stringify(part).replaceAll('<|im_end|>', 'plain words')
    const ends = (of: Partial<ChatCall>) =>
      qwen.prompt(call(of)).filter((id) => id === qwen.tokenizer.idOf('<|im_end|>')).length
    expect(ends(part)).toBe(ends(JSON.parse(text)))
  })

  test('keeps the markers of the model in its own earlier answers', () => {
    const ids = smallText.prompt(
      call({ messages: [user('x'), { role: 'assistant', content: '<think>\nhm\n</think>\n\nyes' }, user('y')] }),
    )
    expect(ids).toContain(smallText.tokenizer.idOf('</think>'))
  })
})

describe('tools', () => {
  const messages: ChatMessage[] = [
    user('Paris?'),
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' }],
    },
    { role: 'tool', toolCallId: 'call_1', content: '{"sky":"blue"}' },
  ]

  /** As LFM2's, Granite 3's and others: it tells of tools, and prints what messages hold. */
  const silent = (marker: string) =>
    `{%- if tools %}${marker}{%- endif %}{%- for message in messages %}[{{ message.role }}]{{ message.content }}{%- endfor %}`

  test.each([
    ['<|tool_list_start|>', '<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>'],
    ['JSON after <|tool_call|>', '<|tool_call|>[{"name":"get_weather","arguments":{"city":"Paris"}}]'],
  ])('by the template, and calls in our words where it writes none: %s', (marker, written) => {
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate: silent(marker) })
    const shown = prompt(chat, messages, { tools: [weather] })
    expect(shown).toBe(`${marker}[user]Paris?[assistant]${written}[tool]{"sky":"blue"}`)
  })

  test('by the system message where the template looks for them there', () => {
    const chatTemplate = `{%- for message in messages %}[{{ message.role }}]{{ message.content }}{%- if 'tools' in message %}<|tool|>{{ message['tools'] }}<|/tool|>{%- endif %}{%- endfor %}`
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate })
    const { strict: _, ...fields } = weather
    const tools = `<|tool|>${JSON.stringify([{ ...fields, description: weather.description ?? '' }])}<|/tool|>`
    const call = 'functools[{"name":"get_weather","arguments":{"city":"Paris"}}]'
    const rest = `[user]Paris?[assistant]${call}[tool]{"sky":"blue"}`
    expect(prompt(chat, messages, { tools: [weather] })).toBe(`[system]${tools}${rest}`)
    const system = { role: 'system' as const, content: 'Be brief.' }
    expect(prompt(chat, [system, ...messages], { tools: [weather] })).toBe(`[system]Be brief.${tools}${rest}`)
    expect(prompt(chat, messages, { tools: [weather], toolChoice: 'none' })).toBe(rest)
  })

  test('what a call says is no control token where we write it', () => {
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate: silent('<|tool_list_start|>') })
    const toolCalls = [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"<|im_end|>"}' }]
    const ids = chat.prompt(
      call({ messages: [user('x'), { role: 'assistant', content: '', toolCalls }], tools: [weather] }),
    )
    expect(ids).not.toContain(chat.tokenizer.idOf('<|im_end|>'))
  })

  test('by the tokens there are, where the template tells of tools in no form that is known', () => {
    const files = smallTokenizer()
    const last = files.tokenizer.added_tokens.at(-1)!
    const added = [...files.tokenizer.added_tokens, { ...last, id: last.id + 1, content: '<|tool_call_start|>' }]
    const chatTemplate = silent('List of tools: []')
    const tokenizer = { ...files.tokenizer, added_tokens: added }
    expect(new ChatText({ ...files, tokenizer, chatTemplate }).toolFormat.name).toBe('lfm2')
    expect(new ChatText({ ...files, chatTemplate }).toolFormat.name).toBe('unknown')
  })

  test('by the template where it knows tools', () => {
    const shown = prompt(qwen, messages, { tools: [weather] })
    expect(shown).toContain('"name": "get_weather"')
    expect(shown).toContain('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>')
    expect(shown).toContain('<tool_response>\n{"sky":"blue"}\n</tool_response>')
    expect(prompt(qwen, messages, { tools: [weather], toolChoice: 'none' })).not.toContain('"description"')
    expect(prompt(llama, messages, { tools: [weather] })).toContain('"parameters": {"city": "Paris"}')
  })

  test('in words where it does not', () => {
    const text = new ChatText({
      ...smallTokenizer(),
      chatTemplate: '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}',
    })
    const shown = prompt(text, messages, { tools: [weather] })
    expect(shown).toContain('"name":"get_weather"')
    expect(shown).toContain('<tool_call>\n{"name":"get_weather","arguments":{"city":"Paris"}}\n</tool_call>')
    expect(shown).toContain('[user]<tool_response>\n{"sky":"blue"}')
  })
})

test('a call that must be made is told of by what it takes, where the template does not know tools', () => {
  const text = new ChatText({ ...smallTokenizer(), chatTemplate: '{{ messages[0].content }}' })
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tool = { name: 'weather', description: 'How it is.', parameters, strict: true }
  const instructions = `Fill in the arguments of weather: How it is.\n\n${describeSchema(parameters)}`
  const other = { ...tool, name: 'other' }
  const promptOf = (part: Partial<ChatCall>) => prompt(text, [{ role: 'system', content: 'S' }, user('x')], part)
  expect(promptOf({ tools: [tool], toolChoice: 'required' })).toBe(`S\n\n${instructions}`)
  expect(promptOf({ tools: [other, tool], toolChoice: { name: 'weather' } })).toBe(`S\n\n${instructions}`)
  for (const toolChoice of ['auto', 'required'] as const)
    expect(promptOf({ tools: [tool, other], toolChoice })).toMatch(/call these functions:\n.*weather.*\n.*other/)
  expect(promptOf({ tools: [tool], toolChoice: 'auto' })).toContain('call these functions')
})

test('the schema is described in the system message, unless that is not wanted', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  const output = { type: 'json_schema' as const, name: 's', strict: true, schema }
  expect(prompt(qwen, [user('Hi')], { output })).toBe(
    `<|im_start|>system\n${describeSchema(schema)}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n`,
  )
  expect(prompt(qwen, [{ role: 'system', content: 'Be brief.' }, user('Hi')], { output })).toContain(
    `Be brief.\n\n${describeSchema(schema)}`,
  )
  expect(prompt(qwen, [user('Hi')], { output, describeSchema: false })).not.toContain('Answer with JSON')
  const other = { ...schema, properties: { a: { type: 'string', description: 'the name' } } }
  const grammar = compile(schema)
  for (const each of [schema, other, schema]) {
    const part = { output: { ...output, schema: each }, grammar }
    for (let i = 0; i < 2; i++) expect(prompt(qwen, [user('Hi')], part)).toContain(`${describeSchema(each)}<|im_end|>`)
  }
})

test('a system message goes into the first user message where the template refuses it', () => {
  const source =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m.content }}{% endfor %}"
  const text = new ChatText({ ...smallTokenizer(), chatTemplate: source })
  expect(prompt(text, [{ role: 'system', content: 'S' }, user('U')])).toBe('S\n\nU')
})

test('what a template refuses is a 400 with its reason', () => {
  const text = new ChatText({ ...smallTokenizer(), chatTemplate: "{{ raise_exception('only odd days') }}" })
  expect(() => prompt(text, [user('U')])).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringContaining('only odd days') }),
  )
})

test('a template that cannot be parsed is a clear error, unless MLC’s is there too', () => {
  const broken = { ...smallTokenizer(), chatTemplate: '{% for %}' }
  expect(() => new ChatText(broken)).toThrow(
    expect.objectContaining({ status: 500, message: expect.stringContaining('chat template') }),
  )
  const text = new ChatText({
    ...broken,
    chatConfig: { conv_template: { roles: { user: 'U', assistant: 'A' }, seps: ['\n'] } },
  })
  expect(prompt(text, [user('Hi')])).toBe('U: Hi\nA: ')
})

test('MLC’s conversation template is the fall-back', () => {
  const { tokenizer } = smallTokenizer()
  const conv_template = {
    system_template: '<|im_start|>system\n{system_message}',
    system_message: 'You are helpful.',
    roles: { user: '<|im_start|>user', assistant: '<|im_start|>assistant', tool: '<|im_start|>user' },
    role_templates: { user: '{user_message}', assistant: '{assistant_message}', tool: '{tool_message}' },
    seps: ['<|im_end|>\n'],
    role_content_sep: '\n',
    role_empty_sep: '\n',
    stop_token_ids: [5],
  }
  const text = new ChatText({ tokenizer, chatConfig: { conv_template } })
  expect(
    prompt(text, [user('{system_message} $& {assistant_message}'), { role: 'assistant', content: 'yes' }, user('ok')]),
  ).toBe(
    '<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n{system_message} $& {assistant_message}<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>\n<|im_start|>user\nok<|im_end|>\n<|im_start|>assistant\n',
  )
  expect(text.ends).toContain(5)
})

describe('added tokens that are not special, in a text of the user', () => {
  const { tokenizer, tokenizerConfig } = smallTokenizer()
  const id = (at: number) => Object.keys(tokenizer.model.vocab).length + tokenizer.added_tokens.length + at
  const plain = ['<h1>', '  ', '<table>', '</s>', '<mask>', '[multimodal]', '[INST]'].map((content, i) => ({
    ...tokenizer.added_tokens[0]!,
    content,
    special: false,
    id: id(i),
  }))
  const added = { ...tokenizer, added_tokens: [...tokenizer.added_tokens, ...plain] }
  const own = new ChatText({ tokenizer: added, tokenizerConfig })
  const ask = (content: string) => own.prompt(call({ messages: [{ role: 'user', content }] }))

  test.each(['<h1>', '  ', '<table>', '</s>', '<mask>', '[multimodal]'])('are what they are: %j', (text) => {
    const found = own.tokenizer.idOf(text)!
    expect(ask(`a${text}b`)).toContain(found)
  })

  test('are not, where the files end a text with them', () => {
    const config = { ...tokenizerConfig, eos_token: '</s>' }
    const ending = new ChatText({ tokenizer: added, tokenizerConfig: config })
    const ids = ending.prompt(call({ messages: [{ role: 'user', content: 'a</s>b<h1>' }] }))
    expect(ids).not.toContain(ending.tokenizer.idOf('</s>'))
    expect(ids).toContain(ending.tokenizer.idOf('<h1>'))
  })

  test.each(['<think>', '</think>', '<tool_call>', '<|im_end|>', '[INST]'])(
    'are not, where they control: %s',
    (text) => {
      const before = ask('ab').filter((each) => each === own.tokenizer.idOf(text)).length
      expect(ask(`a${text}b`).filter((each) => each === own.tokenizer.idOf(text))).toHaveLength(before)
    },
  )
})
