import { describe, expect, it } from 'vitest'
import type { Decided, Decision } from '../../../contract/engine.js'
import { confidenceOf, scoreConfidenceOf, wireDecisions, wireSystemOne } from './reply.js'
import { readDecisions } from './request.js'
import { readSystemOne } from './systemone.js'

const SO = { type: 'predicate', instructions: 'It rains.' }
const choice = (...values: unknown[]) => ({
  ...{ type: 'choice', instructions: 'Which?' },
  choices: values.map((value) => ({ value })),
})
const levels = (...labels: unknown[]) => ({
  ...{ type: 'score', instructions: 'How?' },
  levels: labels.map((label) => ({ label })),
})
const decisions = (...questions: unknown[]) => ({ model: 'a/b', input: 'Clouds.', questions })
const systemOne = (questions: unknown, part: object = {}) => ({ model: 'a/b', state: 'Clouds.', questions, ...part })
const NOUL = { type: 'noul', instructions: 'It rains.' }
const many = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, value]))

/** What is refused by the name of a field, with its code and in words. */
type Refused = [param: string, body: unknown, code: string, message: RegExp]

describe('a request for decisions', () => {
  it('is read with what is said of each question', () => {
    const request = readDecisions({
      ...decisions(
        { ...SO, name: 'rain' },
        {
          ...choice('a', 'b'),
          choices: [
            { value: 'a', description: 'first' },
            { value: 'b', description: '' },
          ],
        },
        { ...levels('low', 'high'), levels: [{ label: 'low', description: 'little' }, { label: 'high' }] },
      ),
      ...{ prompt_cache_key: 'k', prompt_cache_options: {}, safety_identifier: 's', user: 'u' },
    })
    expect(request).toMatchObject({ model: 'a/b', state: 'Clouds.', stateField: 'input', order: 'given' })
    expect([request.ignored, request.images, request.questionField(2)]).toEqual([[], [], 'questions[2]'])
    expect(request.questions).toEqual([
      {
        ...{ type: 'predicate', name: 'rain', instructions: 'It rains.', values: [] },
        options: [{ text: 'Yes' }, { text: 'No' }],
      },
      {
        ...{ type: 'choice', name: null, instructions: 'Which?', values: ['a', 'b'] },
        options: [{ text: 'a', description: 'first' }, { text: 'b' }],
      },
      {
        ...{ type: 'score', name: null, instructions: 'How?', values: ['low', 'high'] },
        options: [{ text: 'low', description: 'little' }, { text: 'high' }],
      },
    ])
  })

  it('tells a boolean from a string of the same letters, and writes it plainly where it need not', () => {
    const options = (...values: unknown[]) =>
      readDecisions(decisions(choice(...values))).questions[0]!.options.map(({ text }) => text)
    expect(options(true, 'x')).toEqual(['true', 'x'])
    expect(options('true', 'x')).toEqual(['true', 'x'])
    expect(options(true, 'true', 'x')).toEqual(['true', '"true"', '"x"'])
    expect(options(false, 'false')).toEqual(['false', '"false"'])
  })

  it('names what it does not know, wherever that stands', () => {
    const odd = {
      ...decisions(
        { ...SO, odd: 1 },
        {
          ...choice('a', 'b'),
          choices: [
            { value: 'a', odd: 1 },
            { value: 'b', label: 'x' },
          ],
        },
        { ...levels('a', 'b'), levels: [{ label: 'a', value: 1 }, { label: 'b' }] },
      ),
      temperature: 1,
    }
    expect(readDecisions(odd).ignored).toEqual([
      ...['temperature', 'questions[0].odd', 'questions[1].choices[0].odd', 'questions[1].choices[1].label'],
      'questions[2].levels[0].value',
    ])
  })

  it.each([...['images', 'assets', 'messages', 'state', 'instructions', 'previous_response_id', 'conversation']])(
    'refuses %s, a field of another interface',
    (name) => {
      const asked = { ...decisions(SO), [name]: 'x' }
      expect(() => readDecisions(asked)).toThrow(expect.objectContaining({ status: 400, param: name }))
      expect(readDecisions({ ...decisions(SO), [name]: null }).ignored).toEqual([])
    },
  )

  it('says how it is to be thought about and told', () => {
    const of = (part: object) => {
      const { order, calibrated, thinkingBudget, ignored } = readDecisions({ ...decisions(SO), ...part })
      expect(ignored).toEqual([])
      return { order, calibrated, thinkingBudget }
    }
    expect(of({})).toEqual({ order: 'given' })
    expect(of({ order: 'average', calibrated: false, reasoning: { effort: 'low' } })).toEqual({
      ...{ order: 'average', calibrated: false, thinkingBudget: 512 },
    })
    const budgets = ['none', 'minimal', 'medium', 'high', 'xhigh', 'max'].map((effort) => of({ reasoning: { effort } }))
    expect(budgets.map(({ thinkingBudget = 0 }) => thinkingBudget)).toEqual([0, 0, 2048, 8192, 8192, 8192])
    expect(of({ reasoning: {} }).thinkingBudget).toBeUndefined()
  })

  it('may ask as many questions as may be, of as many options', () => {
    const most = Array.from({ length: 255 }, (_, i) => `${i}`)
    const request = readDecisions(decisions(...Array(398).fill(SO), choice(...most), levels(...most)))
    expect(request.questions).toHaveLength(400)
    expect(request.questions.at(-2)!.options).toHaveLength(255)
  })

  const withInput = (...input: unknown[]) => ({ ...decisions(SO), input })
  const user = (...content: unknown[]) => ({ role: 'user', content })
  const TEXT = { type: 'input_text', text: 'See:' }
  const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,AA==' }
  const seen = { type: 'image', url: IMAGE.image_url }
  const CALL = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
  const output = (part: object) => ({ type: 'function_call_output', call_id: 'c1', output: 'rain', ...part })

  it('takes images, as clear as they are to be seen, and says where each stands', () => {
    const details = ['low', 'high', 'auto', 'original']
    const images = details.map((detail) => ({ ...IMAGE, detail }))
    const questions = [{ ...SO, instructions: [TEXT, IMAGE] }]
    const request = readDecisions({ ...withInput(user(TEXT, ...images, IMAGE)), questions })
    expect(request.state).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'See:' }, ...details.map((detail) => ({ ...seen, detail })), seen],
      },
    ])
    expect(request.questions[0]!.instructions).toEqual([{ type: 'text', text: 'See:' }, seen])
    expect(request.ignored).toEqual([])
    expect(request.images).toEqual([
      ...[1, 2, 3, 4, 5].map((i) => `input[0].content[${i}].type`),
      'questions[0].instructions[1].type',
    ])
  })

  it('takes items as they were once answered, and names what it does not know of them', () => {
    const once = { id: 'i1', status: 'completed' }
    const message = { type: 'message', ...user(TEXT), phase: 'commentary' }
    const call = { ...CALL, namespace: 'n' }
    const items = [message, call, output({})].map((item) => ({ ...item, ...once }))
    expect(readDecisions(withInput(...items)).ignored).toEqual([])
    const odd = [...items.map((item) => ({ ...item, odd: 1 })), user({ ...TEXT, odd: 1 })]
    expect(readDecisions(withInput(...odd)).ignored).toEqual([
      ...['input[0].odd', 'input[1].odd', 'input[2].odd', 'input[3].content[0].odd'],
    ])
  })

  it.each<Refused>([
    ['input', { ...decisions(SO), input: 7 }, 'invalid_type', /a string or an array of items/],
    ...['reasoning', 'my_function_call', 'function_calls'].map((type): Refused => {
      const all = "'message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'."
      return ['input[0].type', withInput({ ...CALL, type }), 'invalid_value', RegExp(`'${type}'.*: ${all}$`)]
    }),
    ['input[0].call_id', withInput({ ...CALL, call_id: '' }), 'empty_string', /an empty name/],
    ['input[0].call_id', withInput({ ...CALL, call_id: 'x'.repeat(65) }), 'string_above_max_length', /64/],
    ['input[0].name', withInput({ ...CALL, name: '' }), 'empty_string', /an empty name/],
    ['input[0].name', withInput({ ...CALL, name: 'x'.repeat(129) }), 'string_above_max_length', /128/],
    [
      'input[1].call_id',
      withInput(CALL, output({ call_id: 'c2' })),
      'invalid_value',
      /'input\[1\]\.call_id': no function_call before it has the call_id c2\.$/,
    ],
    [
      'input[2].output[1].type',
      withInput(user(IMAGE, IMAGE), CALL, output({ output: [TEXT, IMAGE] })),
      'unsupported_value',
      /'input_image'\. Images are not supported/,
    ],
    ['input[0].content', withInput({ role: 'user', content: 7 }), 'invalid_type', /a string or an array of parts/],
    ['input[0].content[1]', withInput(user(TEXT, 'See:')), 'invalid_type', /an object/],
    [
      'input[0].content[0].detail',
      withInput(user({ ...IMAGE, detail: 'clear' })),
      '',
      /'low', 'high', 'auto', 'original'/,
    ],
    ...['x', [], [{ a: 1 }, 'x']].map((data): Refused => {
      const part = { type: 'input_json', data }
      return ['input[0].content[0].data', withInput(user(part)), 'invalid_type', /an object or a list of objects/]
    }),
    ['input', { model: 'a/b', questions: [SO] }, 'missing_required_parameter', /input/],
    ['model', { input: 'x', questions: [SO] }, 'missing_required_parameter', /model/],
    ['questions', { model: 'a/b', input: 'x' }, 'missing_required_parameter', /questions/],
    ['questions', decisions(), 'empty_array', /questions/],
    ['questions', decisions(...Array(401).fill(SO)), 'array_above_max_length', /400/],
    ['questions[0]', decisions('Is it?'), 'invalid_type', /object/],
    ['questions[0].type', decisions({ ...SO, type: 'noul' }), 'invalid_value', /predicate.*choice.*score/],
    ['questions[0].instructions', decisions({ type: 'predicate' }), 'missing_required_parameter', /instructions/],
    ['questions[0].choices', decisions({ ...SO, type: 'choice' }), 'missing_required_parameter', /choices/],
    ['questions[0].levels', decisions({ ...SO, type: 'score' }), 'missing_required_parameter', /levels/],
    [
      'questions[0].choices',
      decisions(choice('a')),
      'array_below_min_length',
      /length 2, but got an array with length 1/,
    ],
    ['questions[0].levels', decisions(levels('a')), '', /2/],
    ['questions[0].choices[0]', decisions({ ...choice(), choices: ['a', 'b'] }), 'invalid_type', /object/],
    ['questions[0].choices[1].value', decisions(choice('a', 7)), 'invalid_type', /a string or a boolean/],
    ['questions[0].choices[1].value', decisions(choice('a', '')), 'empty_string', /an empty name/],
    ['questions[0].levels[0].label', decisions(levels(true, 'a')), 'invalid_type', /string/],
    ['questions[0].name', decisions({ ...SO, name: 'x'.repeat(257) }), '', /256/],
    ['questions[0].name', decisions({ ...SO, name: '' }), 'empty_string', /an empty name/],
    [
      'questions[0].choices[2].value',
      decisions(choice('a', 'b', 'a')),
      'duplicate_value',
      /same as 'questions\[0\]\.choices\[0\]\.value'\. Each option must be unique\.$/,
    ],
    ['questions[0].levels[1].label', decisions(levels('a', 'a')), 'duplicate_value', /levels\[0\]\.label/],
    ['prompt_cache_key', { ...decisions(SO), prompt_cache_key: 1 }, 'invalid_type', /string/],
    ['prompt_cache_options', { ...decisions(SO), prompt_cache_options: 1 }, 'invalid_type', /object/],
    ['safety_identifier', { ...decisions(SO), safety_identifier: 1 }, 'invalid_type', /string/],
    ['order', { ...decisions(SO), order: 'any' }, 'invalid_value', /given.*average/],
    ['reasoning', { ...decisions(SO), reasoning: 'low' }, 'invalid_type', /object/],
    ['calibrated', { ...decisions(SO), calibrated: 1 }, 'invalid_type', /boolean/],
  ])('is refused by %s', (param, body, code, message) => {
    const refused = { status: 400, param, ...(code && { code }), message: expect.stringMatching(message) }
    expect(() => readDecisions(body)).toThrow(expect.objectContaining(refused))
  })
})

describe('the same by name', () => {
  it('is read with what is said of each question', () => {
    const request = readSystemOne(
      systemOne(
        {
          rain: { ...NOUL, criteria: { true: 'wet', false: null } },
          dry: { ...NOUL, criteria: { false: 'dry' } },
          which: { type: 'choice', criteria: { a: 'first', b: null, c: [1, { d: 2 }] } },
          much: { type: 'score', instructions: { how: 'much' }, criteria: ['low', null, { more: 1 }] },
        },
        { keep_alive: '5m', stream: false },
      ),
    )
    expect(request).toMatchObject({ model: 'a/b', state: 'Clouds.', stateField: 'state', order: 'given' })
    expect([request.ignored, request.images]).toEqual([[], []])
    expect([0, 3].map((i) => request.questionField(i))).toEqual(['questions.rain', 'questions.much'])
    expect(request.questions).toEqual([
      {
        ...{ type: 'predicate', name: 'rain', instructions: 'It rains.', legend: [] },
        options: [{ text: 'Yes', description: 'wet' }, { text: 'No' }],
      },
      {
        ...{ type: 'predicate', name: 'dry', instructions: 'It rains.', legend: [] },
        options: [{ text: 'Yes' }, { text: 'No', description: 'dry' }],
      },
      {
        ...{ type: 'choice', name: 'which', instructions: 'which', legend: [] },
        options: [{ text: 'a', description: 'first' }, { text: 'b' }, { text: 'c', description: '[1, {"d": 2}]' }],
      },
      {
        ...{ type: 'score', name: 'much', instructions: '{"how": "much"}', legend: ['low', null, { more: 1 }] },
        options: [{ text: '0', description: 'low' }, { text: '1' }, { text: '2', description: '{"more": 1}' }],
      },
    ])
  })

  it('takes any state, and images beside it as a user shows them', () => {
    const state = (part: object) => readSystemOne(systemOne({ so: NOUL }, part)).state
    expect([state({ state: null }), state({ state: { a: 1 } }), state({ images: [] })]).toEqual([
      '',
      '{"a": 1}',
      'Clouds.',
    ])
    const shown = readSystemOne(systemOne({ so: NOUL }, { images: ['AA==', 'BB=='] }))
    expect([shown.images, shown.ignored]).toEqual([['images[0]', 'images[1]'], []])
    expect(shown.state).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Clouds.' },
          { type: 'image', url: 'data:image/*;base64,AA==' },
          { type: 'image', url: 'data:image/*;base64,BB==' },
        ],
      },
    ])
  })

  it('takes images as TypeSafe names them, and as whole addresses', () => {
    const url = 'data:image/png;base64,AA=='
    const assets = { '<image-1>': { type: 'image', format: 'png', data_base64: 'BB==' } }
    const shown = readSystemOne(systemOne({ so: NOUL }, { state: ['<image-1>'], images: [url], assets }))
    expect([shown.images, shown.ignored]).toEqual([['images[0]', 'assets.<image-1>'], []])
    const seen = [url, 'data:image/*;base64,BB=='].map((url) => ({ type: 'image', url }))
    expect(shown.state).toEqual([{ role: 'user', content: [{ type: 'text', text: '["<image-1>"]' }, ...seen] }])
  })

  it('names what it does not know, wherever that stands', () => {
    const odd = { so: { ...NOUL, odd: 1, criteria: { true: 'x', maybe: 'y' } } }
    expect(readSystemOne(systemOne(odd, { temperature: 1 })).ignored).toEqual([
      ...['temperature', 'questions.so.odd', 'questions.so.criteria.maybe'],
    ])
  })

  it('may ask as many questions as may be, of as many options', () => {
    const most = readSystemOne(
      systemOne({
        ...many(398, NOUL),
        all: { type: 'choice', criteria: many(255, null) },
        one: { type: 'score', criteria: Array(10).fill('a') },
      }),
    )
    expect(most.questions).toHaveLength(400)
    expect(most.questions.at(-2)!.options).toHaveLength(255)
    const single = readSystemOne(systemOne({ one: { type: 'choice', criteria: { only: null } } }))
    expect(single.questions[0]!.options).toEqual([{ text: 'only' }])
  })

  it.each<Refused>([
    ['state', { model: 'a/b', questions: { so: NOUL } }, '', /state/],
    ['state', systemOne({ so: NOUL }, { state: 7 }), '', /a string, an object, a list or null/],
    ['model', { state: 'x', questions: { so: NOUL } }, '', /model/],
    ['questions', systemOne([]), '', /object/],
    ['questions', systemOne({}), 'empty_object', /at least one is required/],
    ['questions', systemOne(many(401, NOUL)), 'too_many_questions', /401 are more than 400, the most/],
    ['questions.so', systemOne({ so: 'noul' }), '', /object/],
    ['questions', systemOne({ '': NOUL }), '', /questions/],
    ['questions.so.type', systemOne({ so: { type: 'predicate' } }), '', /noul.*choice.*score/],
    ['questions.so.instructions', systemOne({ so: { ...NOUL, instructions: 7 } }), '', /a string, an object/],
    ['questions.so.criteria', systemOne({ so: { ...NOUL, criteria: [] } }), '', /object/],
    ['questions.so.criteria.true', systemOne({ so: { ...NOUL, criteria: { true: 7 } } }), '', /a string/],
    ['questions.so.criteria', systemOne({ so: { type: 'choice' } }), '', /criteria/],
    [
      'questions.so.criteria',
      systemOne({ so: { type: 'choice', criteria: {} } }),
      'empty_object',
      /at least one option is required/,
    ],
    ['questions.so.criteria', systemOne({ so: { type: 'choice', criteria: { '': null } } }), '', /criteria/],
    [
      'questions.so.criteria',
      systemOne({ so: { type: 'choice', criteria: many(256, null) } }),
      'too_many_choices',
      /256 are more than 255, the most/,
    ],
    ['questions.so.criteria', systemOne({ so: { type: 'score', criteria: ['a'] } }), '', /2/],
    ['questions.so.criteria', systemOne({ so: { type: 'score', criteria: Array(11).fill('a') } }), '', /10/],
    ['questions.so.criteria[1]', systemOne({ so: { type: 'score', criteria: ['a', 7] } }), '', /a string/],
    ['images', systemOne({ so: NOUL }, { images: 'AA==' }), '', /array/],
    ['images[1]', systemOne({ so: NOUL }, { images: ['AA==', 7] }), '', /string/],
    ['assets.a', systemOne({ so: NOUL }, { assets: { a: 'AA==' } }), '', /object/],
    ['assets.a.type', systemOne({ so: NOUL }, { assets: { a: { type: 'audio', data_base64: 'AA==' } } }), '', /image/],
    ['assets.a.data_base64', systemOne({ so: NOUL }, { assets: { a: { type: 'image' } } }), '', /Missing/],
  ])('is refused by %s', (param, body, code, message) => {
    const refused = { status: 400, param, ...(code && { code }), message: expect.stringMatching(message) }
    expect(() => readSystemOne(body)).toThrow(expect.objectContaining(refused))
  })
})

describe('confidence', () => {
  it('is how far the likeliest stands above chance', () => {
    expect(confidenceOf([1])).toBe(1)
    expect(confidenceOf([0.5, 0.5])).toBe(0)
    expect(confidenceOf([0, 1, 0])).toBe(1)
    expect(confidenceOf([0.25, 0.75])).toBe(0.5)
    expect(confidenceOf([0.5, 0.25, 0.25])).toBeCloseTo(0.25, 12)
  })

  it('of levels is how near the others lie to the likeliest, and never below 0', () => {
    expect(scoreConfidenceOf([1])).toBe(1)
    expect(scoreConfidenceOf([0, 1, 0])).toBe(1)
    // A mean distance of a half, against two thirds of three levels alike.
    expect(scoreConfidenceOf([0, 0.5, 0.5])).toBeCloseTo(1 - 0.5 / (2 / 3), 12)
    expect(scoreConfidenceOf([0.5, 0, 0.5])).toBe(0)
    expect(scoreConfidenceOf([0.25, 0.25, 0.25, 0.25])).toBe(0)
  })
})

describe('answers', () => {
  const decided = (answers: readonly Decision[], part: Partial<Decided> = {}): Decided => ({
    answers,
    usage: { promptTokens: 10, completionTokens: 4, cachedTokens: 3, reasoningTokens: 4 },
    ...part,
  })
  const REFUSED = { refused: true } as const

  it('to questions in a list stand in their order', () => {
    const request = readDecisions(
      decisions({ ...SO, name: 'rain' }, choice('a', true), levels('low', 'high', 'top'), SO),
    )
    const body = wireDecisions(
      request,
      decided([
        { probabilities: [0.75, 0.25], optionMass: 0.5 },
        { probabilities: [0.25, 0.75], optionMass: 0.125 },
        { probabilities: [0.5, 0.25, 0.25] },
        REFUSED,
      ]),
    )
    expect(body).toEqual({
      model: 'a/b',
      answers: [
        { type: 'predicate', name: 'rain', probability: 0.75, option_mass: 0.5 },
        {
          ...{ type: 'choice', name: null, choice: true, confidence: 0.5, option_mass: 0.125 },
          probabilities: [
            { value: 'a', probability: 0.25 },
            { value: true, probability: 0.75 },
          ],
        },
        {
          ...{ type: 'score', name: null, score: 0.75, confidence: scoreConfidenceOf([0.5, 0.25, 0.25]) },
          probabilities: [
            { label: 'low', value: 0, probability: 0.5 },
            { label: 'high', value: 1, probability: 0.25 },
            { label: 'top', value: 2, probability: 0.25 },
          ],
        },
        { type: 'refusal', name: null },
      ],
      usage: {
        ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 } },
        ...{ output_tokens: 4, output_tokens_details: { reasoning_tokens: 4 }, total_tokens: 14 },
      },
    })
    const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
    const one = readDecisions(decisions(SO))
    const fitted = wireDecisions(one, decided([{ probabilities: [1, 0] }], { usage, temperature: 2 }))
    expect(fitted).toMatchObject({
      usage: { output_tokens_details: { reasoning_tokens: 0 } },
      calibration: { temperature: 2 },
    })
  })

  it('by name stand under theirs', () => {
    const request = readSystemOne(
      systemOne({
        rain: NOUL,
        which: { type: 'choice', criteria: { a: null, b: null } },
        much: { type: 'score', criteria: ['low', { x: 1 }] },
        not: NOUL,
      }),
    )
    const answers = [
      { probabilities: [0.75, 0.25], optionMass: 0.5 },
      { probabilities: [0.5, 0.5], optionMass: 0.25 },
      { probabilities: [0.25, 0.75] },
      REFUSED,
    ]
    expect(wireSystemOne(request, decided(answers, { temperature: 3 }))).toEqual({
      model: 'a/b',
      answers: {
        rain: { type: 'noul', noul: 0.75, option_mass: 0.5 },
        // The first of those that are as likely.
        which: { type: 'choice', choice: 'a', probabilities: { a: 0.5, b: 0.5 }, confidence: 0, option_mass: 0.25 },
        much: {
          ...{ type: 'score', score: 0.75, legend: { 0: 'low', 1: { x: 1 } }, probabilities: { 0: 0.25, 1: 0.75 } },
          confidence: scoreConfidenceOf([0.25, 0.75]),
        },
        not: { type: 'refusal' },
      },
      usage: { input_tokens: 10, output_tokens: 4 },
      calibration: { temperature: 3 },
    })
    expect('calibration' in wireSystemOne(request, decided(answers))).toBe(false)
  })
})
