import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { scripted } from '../../engines/scripted.js'
import { exactJson } from '../../platform/json.js'
import { atOnce } from '../../platform/turns.js'
import { messages } from '../endpoints/messages/index.js'
import { ollama } from '../endpoints/ollama/index.js'
import { errorOf, MODEL, recorded, serviceOf } from '../v1.test-helper.js'
import { checkLongNumbers } from './long-numbers.js'

const LONG = ['9007199254740993', '12345678901234567890', '-0.12345678901234567890123', '1e400', '1152921504606846976']
const SHORT = [
  '9007199254740991',
  '9007199254740992',
  '0.1',
  '0.30000000000000004',
  '1e21',
  '100000000000000000000',
  '-0.0',
  '1.50',
  '5e-324',
]

function service() {
  const { calls, script } = recorded()
  const decide = () => [1, 1]
  const engine = scripted({ models: { [MODEL]: script }, capabilities: { decisions: true }, decide })
  const { ask } = serviceOf(engine, { endpoints: [messages(), ollama()] })
  const post = (path: string, body: string) =>
    ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"model":"${MODEL}",${body}}` })
  return { post, calls }
}

const CHAT = '"messages":[{"role":"user","content":"Hi"}]'
const schema = (value: string) => `{"type":"object","properties":{"id":${value}}}`

test.each([
  [
    '/chat/completions',
    'tools[0].function.parameters.properties.id.const',
    (n: string) =>
      `${CHAT},"tools":[{"type":"function","function":{"name":"f","parameters":${schema(`{"const":${n}}`)}}}]`,
  ],
  [
    '/chat/completions',
    'response_format.json_schema.schema.properties.id.enum[1]',
    (n: string) =>
      `${CHAT},"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":${schema(`{"enum":[1,${n}]}`)}}}`,
  ],
  [
    '/responses',
    'text.format.schema.properties.id.const.a[0]',
    (n: string) =>
      `"input":"Hi","text":{"format":{"type":"json_schema","name":"f","schema":${schema(`{"const":{"a":[${n}]}}`)}}}`,
  ],
  [
    '/messages',
    'tools[0].input_schema.properties.id.enum[0]',
    (n: string) => `${CHAT},"max_tokens":9,"tools":[{"name":"f","input_schema":${schema(`{"enum":[${n}]}`)}}]`,
  ],
  [
    '/responses',
    'input[0].tools[0].parameters.properties.id.const',
    (n: string) =>
      `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f","parameters":${schema(`{"const":${n}}`)}}]},{"role":"user","content":"Hi"}]`,
  ],
] as const)('a choice of %s that would not come out as it was sent is refused: %s', async (path, place, bodyOf) => {
  const { post } = service()
  for (const number of LONG) {
    const answer = await post(path, bodyOf(number))
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(place)])
    if (path === '/chat/completions') expect(errorOf(answer)).toMatchObject({ param: place, code: 'invalid_value' })
  }
  for (const number of SHORT) expect((await post(path, bodyOf(number))).text).not.toContain('digits')
})

test('what says how much is taken, and so is a text of digits', async () => {
  const { post } = service()
  const bounds = schema('{"type":"integer","maximum":9223372036854775807,"description":"const 12345678901234567890"}')
  const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":${bounds}}}]`
  expect((await post('/chat/completions', `${CHAT},${tools},"temperature":0.1000000000000000055`)).status).toBe(200)
})

test.each(['enum', 'choices'])('a bound of a property is none of its choices, though it is called %s', async (name) => {
  const { post } = service()
  const bound = '{"type":"integer","maximum":9223372036854775807}'
  const parameters = `{"type":"object","properties":{"${name}":{"type":"array","items":${bound}}},"$defs":{"${name}":${bound}}}`
  const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`
  expect((await post('/chat/completions', `${CHAT},${tools}`)).status).toBe(200)
  const choice = parameters.replace('"maximum"', '"const"')
  const refused = await post('/chat/completions', `${CHAT},${tools.replace(parameters, choice)}`)
  expect(errorOf(refused).param).toBe(`tools[0].function.parameters.properties.${name}.items.const`)
})

test.each(['enum', 'choices'])('what is to be judged may call a number %s', async (name) => {
  const { post } = service()
  const state = `{"type":"state","${name}":[12345678901234567890]}`
  const questions = '{"q":{"type":"noul"}}'
  expect((await post('/systemone', `"state":${state},"questions":${questions}`)).status).toBe(200)
})

test('of two fields of one name the second stands, whatever the first had', async () => {
  const { post } = service()
  const twice = '"messages":[{"role":"user","content":"Hi","a":{"b":{"c":9007199254740993}},"a":null}]'
  expect((await post('/chat/completions', twice)).status).toBe(200)
  expect((await post('/chat/completions', `"messages":[1,{"a":[9007199254740993]}],${CHAT}`)).status).toBe(200)
})

test.each([
  '{"id":9007199254740993,"of":[{"n":12345678901234567890.10}],"n":0.5}',
  '{"a":"9007199254740993","b":1e400}',
])('arguments of earlier calls are told to the model as they were sent: %s', async (args) => {
  const { post, calls } = service()
  const turns = (call: string, result: string) =>
    `"messages":[{"role":"user","content":"Hi"},{"role":"assistant",${call}},${result}]`
  const used = turns(
    `"content":[{"type":"tool_use","id":"t","name":"f","input":${args}}]`,
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}',
  )
  expect((await post('/messages', `${used},"max_tokens":9`)).status).toBe(200)
  const called = turns(`"tool_calls":[{"function":{"name":"f","arguments":${args}}}]`, '{"role":"tool","content":"x"}')
  expect((await post('/api/chat', called)).status).toBe(200)
  const item = `{"type":"function_call","call_id":"t","name":"f","arguments":${args}}`
  const output = '{"type":"function_call_output","call_id":"t","output":"x"}'
  expect((await post('/responses', `"input":[{"role":"user","content":"Hi"},${item},${output}]`)).status).toBe(200)
  for (const { messages } of calls) expect(messages).toMatchObject([{}, { toolCalls: [{ arguments: args }] }, {}])
  expect(calls).toHaveLength(3)
})

it('finds each number where it stands, in any JSON', () => {
  const long = fc.constantFrom(...LONG)
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', '0', 'a"\\', '9007199254740993'))
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        long,
        fc.constantFrom(...SHORT.map((one) => JSON.stringify(JSON.parse(one)))),
        name.map((each) => JSON.stringify(each)),
      ),
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc
        .uniqueArray(fc.tuple(name, tie('value')), { selector: ([key]) => key, maxLength: 4 })
        // V8 puts such names first, whatever was sent.
        .map((fields) => fields.filter(([key]) => !/^\d+$/.test(key)))
        .map((fields) => `{${fields.map(([key, each]) => `${JSON.stringify(key)}:${each}`).join(',')}}`),
    ),
  }))
  fc.assert(
    fc.property(value, (json) => {
      const text = `{"messages":[${json}]}`
      const body = JSON.parse(text) as object
      atOnce(checkLongNumbers(text, body))
      expect(exactJson(body)).toBe(text)
    }),
  )
})

it.each([
  // Equal to the double, however it is written.
  ['1000000000000000000000', '1e+21'],
  ['0.0000000000000000010', '1e-18'],
  ['1000e300', '1e+303'],
  ['0.001e-300', '1e-303'],
  ['10010000000000000000', '10010000000000000000'],
  ['0e400', '0'],
  ['0.00000000000000000', '0'],
  // And not.
  ['0.12345678901234567890123', undefined],
  ['1000000000000000000001', undefined],
  ['1001e400', undefined],
  ['1e-400', undefined],
])('%s is told as what it is', (number, held) => {
  const text = `{ "messages" : [ ${number}, true, null ] }`
  const body = JSON.parse(text) as { messages: unknown }
  atOnce(checkLongNumbers(text, body))
  expect(exactJson(body.messages)).toBe(`[${held ?? number},true,null]`)
})

it.each(['5', LONG[0]!])('lets others work while it looks through a long text with %s', (number) => {
  const text = `{"messages":[${`"${'a'.repeat(1000)}",`.repeat(2000)}${number}]}`
  expect([...checkLongNumbers(text, JSON.parse(text))].length).toBeGreaterThanOrEqual(16)
})
