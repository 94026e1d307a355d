import { describe, expect, it } from 'vitest'
import type { DecideQuestion } from '../../../contract/engine.js'
import { V1Error } from '../../../contract/errors.js'
import { scripted } from '../../../engines/scripted.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import { errorOf, jsonOf, MODEL, posting, serviceOf } from '../../v1.test-helper.js'

interface Received {
  readonly questions: DecideQuestion[]
  readonly states: unknown[]
  readonly counted: UsageEvent[]
}

function deciding(capabilities: object = { decisions: true }) {
  const received: Received = { questions: [], states: [], counted: [] }
  const engine = scripted({
    models: { [MODEL]: 'Hi', 'test/other': 'Hi' },
    capabilities,
    decide(question, state) {
      received.questions.push(question)
      received.states.push(state)
      if (question.instructions === 'Refuse.') return undefined
      return question.options.map((_, i) => 2 ** i)
    },
  })
  const { ask, v1 } = serviceOf(engine, { onUsage: (event) => received.counted.push(event) })
  const post = (path: string) => (body: object) => ask(path, posting(body))
  return { received, v1, ask, decisions: post('/decisions'), systemOne: post('/systemone') }
}

const question = { type: 'predicate', instructions: 'It rains.' }
const texts = ({ options }: DecideQuestion) => options.map(({ text }) => text)

describe('POST decisions', () => {
  it('answers every kind of question, in their order', async () => {
    const { decisions, received } = deciding()
    const answer = await decisions({
      input: 'Clouds.',
      prompt_cache_key: 'k',
      prompt_cache_options: { mode: 'implicit', ttl: '30m' },
      safety_identifier: 's',
      questions: [
        { ...question, name: 'rain' },
        {
          type: 'choice',
          instructions: 'Which?',
          choices: [{ value: 'a', description: 'the first' }, { value: true }, { value: 'true' }],
        },
        {
          type: 'score',
          instructions: 'How much?',
          levels: [{ label: 'little' }, { label: 'much', description: 'a lot' }],
        },
        { type: 'predicate', instructions: 'Refuse.', name: null },
      ],
    })
    expect(answer.headers.get('x-ignored-fields')).toBeNull()
    const { usage, ...body } = jsonOf(answer)
    expect(body).toEqual({
      model: MODEL,
      answers: [
        { type: 'predicate', name: 'rain', probability: 1 / 3 },
        {
          type: 'choice',
          name: null,
          choice: 'true',
          confidence: expect.closeTo((4 / 7 - 1 / 3) / (2 / 3), 12),
          probabilities: [
            { value: 'a', probability: 1 / 7 },
            { value: true, probability: 2 / 7 },
            { value: 'true', probability: 4 / 7 },
          ],
        },
        {
          type: 'score',
          name: null,
          score: 2 / 3,
          confidence: expect.closeTo((2 / 3 - 1 / 2) / (1 / 2), 12),
          probabilities: [
            { label: 'little', value: 0, probability: 1 / 3 },
            { label: 'much', value: 1, probability: 2 / 3 },
          ],
        },
        { type: 'refusal', name: null },
      ],
    })
    expect(usage).toEqual({
      input_tokens: received.counted[0]!.promptTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input_tokens,
    })
    // A boolean is told apart from a string of the same letters.
    expect(received.questions.map(texts)).toEqual([
      ['Yes', 'No'],
      ['"a"', 'true', '"true"'],
      ['little', 'much'],
      ['Yes', 'No'],
    ])
    expect(received.questions[1]!.options[0]!.description).toBe('the first')
    expect(received.counted).toMatchObject([{ outcome: 'ok', model: MODEL }])
  })

  it('reads a conversation: messages, calls and their results', async () => {
    const { decisions, received } = deciding()
    const json = { type: 'input_json', data: { a: [1] } }
    const answer = await decisions({
      input: [
        { role: 'developer', content: 'Be kind.' },
        {
          role: 'system',
          content: [{ type: 'input_text', text: 'Be brief.', prompt_cache_breakpoint: { mode: 'explicit' } }],
        },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }, json] },
        {
          role: 'assistant',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'Hi' },
            { type: 'refusal', refusal: 'No.' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"a":1}', namespace: null },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'rain' }] },
        { type: 'custom_tool_call', call_id: 'c2', name: 'shell', input: 'ls' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'a b' },
        { type: 'function_call', call_id: 'c3', name: 'rm', arguments: '{}' },
      ],
      questions: [
        {
          ...question,
          instructions: [
            { type: 'input_text', text: 'Is it' },
            { type: 'input_json', data: [{ b: 2 }] },
          ],
        },
      ],
    })
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null])
    const calls = (id: string, name: string, args: string) => ({
      role: 'assistant',
      content: '',
      toolCalls: [{ id, name, arguments: args }],
    })
    expect(received.states).toEqual([
      [
        { role: 'system', content: 'Be kind.' },
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello\n{"a": [1]}' },
        { role: 'assistant', content: 'Hi\nNo.' },
        calls('c1', 'weather', '{"a":1}'),
        { role: 'tool', content: 'rain', toolCallId: 'c1' },
        calls('c2', 'shell', 'ls'),
        { role: 'tool', content: 'a b', toolCallId: 'c2' },
        calls('c3', 'rm', '{}'),
      ],
    ])
    expect(received.questions[0]!.instructions).toBe('Is it\n[{"b": 2}]')
  })

  const choice = (...values: unknown[]) => ({
    type: 'choice',
    instructions: 'Which?',
    choices: values.map((value) => ({ value })),
  })
  const levels = (...labels: unknown[]) => ({
    type: 'score',
    instructions: 'x',
    levels: labels.map((label) => ({ label })),
  })
  const requestOf = (...questions: object[]) => ({ input: 'x', questions })
  const withInput = (...input: object[]) => ({ input, questions: [question] })
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' }
  const output = { type: 'function_call_output', call_id: 'c1', output: 'x' }

  it.each<[string, object]>([
    ['input', { questions: [question] }],
    ['input', { input: 7, questions: [question] }],
    ['input', withInput()],
    ['questions[0].type', requestOf({ instructions: 'x' })],
    ['questions[1].choices', requestOf(question, { type: 'choice', instructions: 'x' })],
    ['questions[0].choices', requestOf(choice())],
    ['questions[0].choices', requestOf(choice(...Array.from({ length: 256 }, (_, i) => `n${i}`)))],
    ['questions[0].choices[1].value', requestOf(choice(true, true))],
    ['questions[0].choices[0].value', requestOf(choice('\ud800', 'b'))],
    ['questions[0].levels[1].label', requestOf(levels('a', ''))],
    ['questions[0].levels[1].label', requestOf(levels('a', true))],
    ['questions[0].instructions[0].type', requestOf({ ...question, instructions: [image] })],
    ['input[0].content[0].type', withInput({ role: 'user', content: [image] })],
    ['input[0].content[0].type', withInput({ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] })],
    ['input[0].content[0].type', withInput({ role: 'developer', content: [image] })],
    ['input[0].content[0].data', withInput({ role: 'user', content: [{ type: 'input_json', data: 'x' }] })],
    ['input[0].role', withInput({ role: 'tool', content: 'x' })],
    ['input[0].call_id', withInput(output)],
    ['input[1].call_id', withInput({ type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '' }, output)],
    ['reasoning.effort', { ...requestOf(question), reasoning: { effort: 'much' } }],
    ['model', { ...requestOf(question), model: 7 }],
  ])('is refused with an error that names the field, before a model runs: %s %j', async (param, body) => {
    const { decisions, received } = deciding()
    expect(errorOf(await decisions(body))).toMatchObject({ status: 400, type: 'invalid_request_error', param })
    expect(received.questions).toEqual([])
  })

  it('takes as many questions and choices as there may be', async () => {
    const { decisions } = deciding()
    const all = Array.from({ length: 400 }, (_, i) =>
      choice(...Array.from({ length: i === 7 ? 255 : 2 }, (_, k) => `n${k}`)),
    )
    expect(jsonOf(await decisions(requestOf(...all))).answers).toHaveLength(400)
  })

  it('is asked of models that decide alone', async () => {
    for (const { decisions } of [deciding({}), deciding({ decisions: false })]) {
      const error = errorOf(await decisions(requestOf(question)))
      expect(error).toMatchObject({ status: 400, param: 'model', code: 'unsupported_model' })
    }
  })

  it('asks for thoughts only where the model has some', async () => {
    const thinking = { ...requestOf(question), reasoning: { effort: 'low' } }
    const answerOf = async (capabilities: object) => {
      const { status, headers } = await deciding(capabilities).decisions(thinking)
      return [status, headers.get('x-ignored-fields')]
    }
    expect(await answerOf({ decisions: true, thinking: false })).toEqual([200, 'reasoning.effort'])
    expect(await answerOf({ decisions: true })).toEqual([200, null])
    const none = { ...requestOf(question), reasoning: { effort: 'none' } }
    expect((await deciding({ decisions: true, thinking: false }).decisions(none)).status).toBe(200)
  })
})

describe('POST systemone', () => {
  it('tells what an engine says of a question by the name that it was given', async () => {
    const decide = () => {
      throw new V1Error(400, "Invalid 'questions[1]': too long.", { param: 'questions[1]', code: 'unsupported_value' })
    }
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { decisions: true }, decide })
    const { ask } = serviceOf(engine)
    const post = async (path: string, body: object) => errorOf(await ask(path, posting(body)))
    const [rain, sun] = [
      { type: 'noul', instructions: 'It rains.' },
      { type: 'noul', instructions: 'The sun shines.' },
    ]
    expect(await post('/systemone', { state: 'Clouds.', questions: { rain, sun } })).toMatchObject({
      param: 'questions.sun',
      message: "Invalid 'questions.sun': too long.",
    })
    expect(await post('/decisions', { input: 'Clouds.', questions: [question, question] })).toMatchObject({
      param: 'questions[1]',
    })
  })

  it('answers every kind of question, by name', async () => {
    const { systemOne, received } = deciding()
    const answer = await systemOne({
      state: { document: 'Clouds.' },
      keep_alive: '5m',
      questions: {
        rain: { type: 'noul', instructions: { ask: 'Does it rain?' }, criteria: { true: 'wet', false: null } },
        which: { type: 'choice', criteria: { a: 'the first', b: null, c: { x: [1] } } },
        one: { type: 'choice', instructions: null, criteria: { only: null } },
        much: { type: 'score', instructions: ['How much?'], criteria: ['little', { more: 1 }, null, ['x']] },
        not: { type: 'noul', instructions: 'Refuse.' },
      },
    })
    expect(answer.headers.get('x-ignored-fields')).toBeNull()
    const body = jsonOf(answer)
    expect(body).toEqual({
      model: MODEL,
      answers: {
        rain: { type: 'noul', noul: 1 / 3 },
        which: {
          type: 'choice',
          choice: 'c',
          probabilities: { a: 1 / 7, b: 2 / 7, c: 4 / 7 },
          confidence: expect.closeTo((4 / 7 - 1 / 3) / (2 / 3), 12),
        },
        one: { type: 'choice', choice: 'only', probabilities: { only: 1 }, confidence: 1 },
        much: {
          type: 'score',
          score: expect.closeTo(34 / 15, 12),
          legend: { 0: 'little', 1: { more: 1 }, 2: null, 3: ['x'] },
          probabilities: { 0: 1 / 15, 1: 2 / 15, 2: 4 / 15, 3: 8 / 15 },
          // Its mean distance from the likeliest, against 1 of four levels that are all alike.
          confidence: expect.closeTo(1 - (3 * 1 + 2 * 2 + 4) / 15, 12),
        },
        not: { type: 'refusal' },
      },
      usage: { input_tokens: expect.any(Number), output_tokens: 0 },
    })
    expect(received.states[0]).toBe('{"document": "Clouds."}')
    expect(received.questions.map(({ instructions }) => instructions)).toEqual([
      '{"ask": "Does it rain?"}',
      'which',
      'one',
      '["How much?"]',
      'Refuse.',
    ])
    expect(received.questions[0]!.options).toEqual([{ text: 'Yes', description: 'wet' }, { text: 'No' }])
    expect(received.questions[3]!.options).toEqual([
      { text: '0', description: 'little' },
      { text: '1', description: '{"more": 1}' },
      { text: '2' },
      { text: '3', description: '["x"]' },
    ])
  })

  it.each([
    [null, ''],
    ['', ''],
    ['x', 'x'],
    [['a', 1], '["a", 1]'],
    [{}, '{}'],
    [{ a: { b: [true, null] }, 'c"': 'd' }, '{"a": {"b": [true, null]}, "c\\"": "d"}'],
  ])('takes any state: %j', async (state, text) => {
    const { systemOne, received } = deciding()
    expect((await systemOne({ state, questions: { so: { type: 'noul' } } })).status).toBe(200)
    expect(received.states).toEqual([text])
  })

  const requestOf = (questions: unknown) => ({ state: 'x', questions })

  it.each<[string, object]>([
    ['state', { questions: { so: { type: 'noul' } } }],
    ['questions', { state: 'x' }],
    ['questions.so.criteria', requestOf({ so: { type: 'choice', criteria: { '': null, a: null } } })],
    ['images[0]', { ...requestOf({ so: { type: 'noul' } }), images: ['AA=='] }],
    [
      'assets.scan',
      { ...requestOf({ so: { type: 'noul' } }), assets: { scan: { type: 'image', data_base64: 'AA==' } } },
    ],
  ])('is refused by the name of the field: %s %#', async (param, body) => {
    const { systemOne, received } = deciding()
    expect(errorOf(await systemOne(body))).toMatchObject({ status: 400, type: 'invalid_request_error', param })
    expect(received.questions).toEqual([])
  })
})

describe('GET models', () => {
  it('says which models can decide, to both kinds of clients', async () => {
    const list = jsonOf(await deciding().ask('/models'))
    expect(list.data).toMatchObject([{ id: MODEL, capabilities: { decisions: true } }, { id: 'test/other' }])
    expect(list.models.map(({ name }: { name: string }) => name)).toEqual([MODEL, 'test/other'])
    for (const model of list.models) {
      expect(Object.values(model).every((value) => typeof value === 'string')).toBe(true)
      expect(Object.keys(model)).toEqual(['name', 'description', 'release_date'])
    }
    expect(jsonOf(await serviceOf().ask('/models')).models).toEqual([])
  })
})

describe('what a fitted temperature changes', () => {
  /** Which requests are told by it: with nothing said, asked for, and not wanted. */
  async function calibratedOf(capabilities: object, calibrated?: boolean) {
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { decisions: true, ...capabilities } })
    const received: boolean[] = []
    const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
    const decide: typeof engine.decide = async (call) => {
      received.push(call.calibrated)
      return { answers: [{ probabilities: [0.5, 0.5] }], usage, ...(call.calibrated && { temperature: 2 }) }
    }
    const { ask } = serviceOf({ ...engine, decide }, calibrated === undefined ? {} : { calibrated })
    for (const fields of [{}, { calibrated: true }, { calibrated: false }]) {
      const body = JSON.stringify({ model: MODEL, input: 'x', questions: [question], ...fields })
      const answer = await ask('/decisions', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      // Answers say which.
      expect(jsonOf(answer).calibration).toEqual(received.at(-1) ? { temperature: 2 } : undefined)
    }
    return received
  }

  it('is what the request says, else what the service says of models that have one', async () => {
    expect(await calibratedOf({ calibrated: true })).toEqual([false, true, false])
    expect(await calibratedOf({ calibrated: true }, true)).toEqual([true, true, false])
    expect(await calibratedOf({}, true)).toEqual([false, true, false])
  })
})
