import { describe, expect, it } from 'vitest'
import type { ChatCall, ExtractCall, Part } from '../../../contract/engine.js'
import { scripted } from '../../../engines/scripted.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import { errorOf, finish, jsonOf, MODEL, posting, serviceOf, text } from '../../v1.test-helper.js'

const STATE = 'Invoice INV-2041 of 4 March 2026, total due $1,250.00 within 30 days. Call at 15:30. Contacts: Ana, Bo.'

interface Schema {
  readonly properties: Readonly<Record<string, { enum?: unknown[]; items?: { enum: unknown[] } }>>
}

/** What a model writes for each field, and how sure it is of that. */
type Written = Readonly<Record<string, unknown>>

const fieldOf = ({ grammar }: ChatCall) =>
  Object.keys((grammar!.source as { schema: { properties: object } }).schema.properties)[0]!
const mayBeNull = (call: ChatCall) => call.grammar!.accepts(JSON.stringify({ [fieldOf(call)]: null }))

function extracting(written: Written, evidence: (call: ChatCall, field: string) => Part[] = () => []) {
  const calls: ChatCall[] = []
  const counted: UsageEvent[] = []
  const engine = scripted({
    models: {
      [MODEL]: (call) => {
        calls.push(call)
        const field = fieldOf(call)
        const value = written[field] === null && !mayBeNull(call) ? written[`${field}?`] : written[field]
        return [
          text(JSON.stringify({ [field]: value })),
          ...(call.evidence ? evidence(call, field) : []),
          finish(),
          { type: 'usage', usage: { promptTokens: 50, completionTokens: 3, cachedTokens: 0 } },
        ]
      },
    },
    capabilities: { evidence: true },
  })
  const { ask, v1 } = serviceOf(engine, { onUsage: (event) => counted.push(event) })
  const post = (body: object, path = '/extractions') => ask(path, posting({ state: STATE, ...body }))
  return { post, ask, v1, calls, counted }
}

const place = (words: string) => [STATE.indexOf(words), STATE.indexOf(words) + words.length]

describe('POST extractions', () => {
  it('answers every type of field with what its span says', async () => {
    const { post, counted } = extracting({
      number: 'INV-2041',
      total: 1250,
      day: '4 March 2026',
      call: '15:30',
      moment: '4 March 2026',
      due: '30 days',
      contacts: ['Ana', 'Bo'],
    })
    const answer = await post({
      fields: {
        number: { type: 'text', instructions: 'The invoice number' },
        total: { type: 'number', unit: 'USD', decimals: 2 },
        day: { type: 'date' },
        call: { type: 'time' },
        moment: { type: 'datetime' },
        due: { type: 'duration', unit: 'days' },
        contacts: { type: 'list', items: 'text' },
      },
    })
    expect(answer.status).toBe(200)
    const { id, usage, ...body } = jsonOf(answer)
    expect(id).toMatch(/^ext-[0-9a-f]{32}$/)
    expect(body).toEqual({
      object: 'extraction',
      model: MODEL,
      truncated: false,
      answers: {
        number: { type: 'text', value: 'INV-2041', guess: 'INV-2041', span: place('INV-2041') },
        total: { type: 'number', value: 1250, guess: 1250, span: place('1,250.00') },
        day: { type: 'date', value: '2026-03-04', guess: '2026-03-04', span: place('4 March 2026') },
        call: { type: 'time', value: '15:30', guess: '15:30', span: place('15:30') },
        moment: { type: 'datetime', value: null, guess: '2026-03-04T00:00:00', span: place('4 March 2026') },
        due: { type: 'duration', value: 30, guess: 30, span: place('30 days') },
        contacts: {
          type: 'list',
          value: ['Ana', 'Bo'],
          spans: [place('Ana'), place('Bo')],
          items: [{ span: place('Ana') }, { span: place('Bo') }],
        },
      },
    })
    expect(usage).toEqual({
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 21,
      total_tokens: 71,
    })
    expect(counted).toMatchObject([{ outcome: 'ok', model: MODEL, promptTokens: 50, completionTokens: 21 }])
  })

  it('reads from a reference date, and by a locale', async () => {
    const { post } = extracting({ due: 'next Tuesday', day: '03/04/2026' })
    const state = 'Due next Tuesday, as of 03/04/2026.'
    const fields = { due: { type: 'date' }, day: { type: 'date' } }
    const dated = jsonOf(await post({ state, fields, reference_date: '2026-11-24' })).answers
    expect(dated.due.value).toBe('2026-12-01')
    expect(dated.day).toMatchObject({ value: null, guess: '2026-04-03' })
    const american = jsonOf(await post({ state, fields, locale: 'en-US' })).answers
    expect(american.due).toEqual({ type: 'date', value: null, span: [4, 16] })
    expect(american.day.value).toBe('2026-03-04')
  })

  it('is null with a guess if the text says nothing, by how likely that is', async () => {
    const { post, calls } = extracting({ po: null, 'po?': 'INV-2041', number: 'INV-2041' }, (call, field) => [
      {
        type: 'evidence',
        choice: 0,
        evidence: {
          pointer: `/${field}`,
          confidence: 0.75,
          ...(mayBeNull(call) && { pNull: field === 'po' ? 0.75 : 0.25 }),
          ...(field === 'number' && { source: { message: 1, part: 0, start: 8, end: 16 } }),
        },
      },
    ])
    const answers = async (fields: object, state = STATE) => jsonOf(await post({ fields, state })).answers
    expect(await answers({ po: { type: 'text' }, number: { type: 'text' } })).toEqual({
      po: { type: 'text', value: null, guess: 'INV-2041', p_null: 0.75 },
      number: { type: 'text', value: 'INV-2041', guess: 'INV-2041', confidence: 0.75, p_null: 0.25, span: [8, 16] },
    })
    expect(calls.filter((call) => !mayBeNull(call)).map(fieldOf)).toEqual(['po'])
    const strict = await answers({ number: { type: 'text', null_threshold: 0.2 } })
    expect(strict.number).toEqual({ type: 'text', value: null, guess: 'INV-2041', p_null: 0.25, span: [8, 16] })
    // The model is sure of a stretch that is no date; nobody is sure that there is none.
    expect((await answers({ number: { type: 'date' } }, 'Invoice INV-2041.')).number).toEqual({
      type: 'date',
      value: null,
      p_null: 0.25,
      span: [8, 16],
    })
  })

  it('is null where the text does not have what was written', async () => {
    const { post } = extracting({ name: 'Carla', contacts: ['Ana', 'Carla'], total: 'none of it' })
    const fields = {
      name: { type: 'text' },
      contacts: { type: 'list', items: 'text' },
      total: { type: 'number' },
    }
    expect(jsonOf(await post({ fields, state: 'Invoice. Contacts: Ana, Bo.' })).answers).toEqual({
      name: { type: 'text', value: null, guess: 'Carla' },
      contacts: { type: 'list', value: null },
      total: { type: 'number', value: null },
    })
  })

  it('holds what is read by rules to what can be read, and describes a number as one', async () => {
    const { post, calls } = extracting({ total: 30, day: '4 March 2026', counts: [30, 1250] })
    const fields = {
      total: { type: 'number' },
      day: { type: 'date' },
      counts: { type: 'list', items: 'number' },
    }
    expect((await post({ fields })).status).toBe(200)
    const [total, day, counts] = ['total', 'day', 'counts'].map((name) => {
      const { schema } = calls.find((call) => fieldOf(call) === name)!.grammar!.source as { schema: Schema }
      return schema.properties[name]!
    })
    const numbers = [2041, 4, 2026, 1250, 30]
    expect(total!.enum).toEqual([...numbers, null])
    expect(day!.enum).toEqual(['4 March 2026', null])
    expect(counts!.items!.enum).toEqual(numbers)
    const { schema } = calls[0]!.output as unknown as { schema: Schema }
    expect(schema.properties).toMatchObject({ total: { type: 'number' }, day: { type: 'string' } })
  })

  it.each([
    ['It weighs 5 kg.', 'g', 5, { value: 5000, guess: 5000, span: [10, 11] }],
    ['It costs €1,250.00.', 'USD', 1250, { value: null, guess: 1250, span: [10, 18] }],
    ['It is 5 kg and 5 m.', 'g', 5, { value: null, guess: 5000 }],
    ['It is 5 kg, I say 5 kg.', 'g', 5, { value: 5000, guess: 5000 }],
  ])('reads a number with what stands beside it: %s in %s', async (state, unit, total, answer) => {
    const { post } = extracting({ total })
    const { answers } = jsonOf(await post({ state, fields: { total: { type: 'number', unit } } }))
    expect(answers.total).toEqual({ type: 'number', ...answer })
  })

  it('has each place of the text once in a list, however often it was written', async () => {
    const state = 'Rows: 5, 7, 7. Contacts: Ana, Bo.'
    const { post } = extracting({ counts: [5, 7, 5, 7, 7, 5], contacts: ['Ana', 'Bo', 'Ana'] })
    const fields = { counts: { type: 'list', items: 'number' }, contacts: { type: 'list', items: 'text' } }
    const { counts, contacts } = jsonOf(await post({ state, fields })).answers
    expect([counts.value, counts.spans]).toEqual([
      [5, 7, 7],
      [[6, 7], null, null],
    ])
    expect([contacts.value, contacts.items.length]).toEqual([['Ana', 'Bo'], 2])
  })

  it('gives every field the same prompt, so that the text is read once', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `field ${i}`)
    const { post, calls } = extracting(Object.fromEntries(names.map((name) => [name, 'Ana'])))
    const fields = Object.fromEntries(names.map((name) => [name, { type: 'text' }]))
    const { answers } = jsonOf(await post({ fields }))
    expect(Object.keys(answers)).toEqual(names)
    expect(new Set(calls.map(({ messages, output }) => JSON.stringify([messages, output]))).size).toBe(1)
    expect(calls.map(fieldOf).sort()).toEqual([...names].sort())
  })

  it('is answered under all of its paths', async () => {
    for (const path of ['/extractions', '/extraction', '/api/alpha/extractions']) {
      const { post } = extracting({ number: 'INV-2041' })
      const answer = await post({ fields: { number: { type: 'text' } } }, path)
      expect([path, jsonOf(answer).answers.number.value]).toEqual([path, 'INV-2041'])
    }
  })

  it('lets an engine answer that does so itself', async () => {
    const calls: ExtractCall[] = []
    const engine = {
      ...scripted({ models: { [MODEL]: 'Hi' }, capabilities: { extractions: true } }),
      async extract(call: ExtractCall) {
        calls.push(call)
        return {
          answers: [{ value: 'x', confidence: 0.5, span: { start: 1, end: 2 } }, { refused: true as const }],
          truncated: true,
          usage: { promptTokens: 7, completionTokens: 0, cachedTokens: 0 },
        }
      },
    }
    const { ask } = serviceOf(engine)
    const body = { model: MODEL, state: 'axb', fields: { one: { type: 'text' }, two: { type: 'date' } } }
    const answer = await ask('/extractions', { method: 'POST', body: JSON.stringify(body), headers: JSON_TYPE })
    expect(jsonOf(answer)).toMatchObject({
      answers: { one: { type: 'text', value: 'x', confidence: 0.5, span: [1, 2] }, two: { type: 'refusal' } },
      truncated: true,
    })
    expect(calls[0]).toMatchObject({ state: 'axb', fields: [{ name: 'one' }, { name: 'two', type: 'date' }] })
  })
})

const JSON_TYPE = { 'content-type': 'application/json' }

describe('what is wrong with a request', () => {
  const field = { type: 'text' }
  const bad: readonly (readonly [param: string, body: object])[] = [
    ['state', { state: '', fields: { a: field } }],
    ['state', { state: 7, fields: { a: field } }],
    ['fields', { fields: {} }],
    ['fields', { fields: [] }],
    ['fields', { fields: undefined }],
    ['fields', { fields: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, field])) }],
    ['fields', { fields: { '': field } }],
    ['fields.a', { fields: { a: 'text' } }],
    ['fields.a.type', { fields: { a: {} } }],
    ['fields.a.type', { fields: { a: { type: 'string' } } }],
    ['fields.a.type', { fields: { a: { type: 'estimate', min: 0, max: 120 } } }],
    ['fields.a.type', { fields: { a: { type: 'forecast' } } }],
    ['fields.a.instructions', { fields: { a: { type: 'text', instructions: 7 } } }],
    ['fields.a.null_threshold', { fields: { a: { type: 'text', null_threshold: 2 } } }],
    ['fields.a.units', { fields: { a: { type: 'number', units: 'g' } } }],
    ['fields.a.decimal', { fields: { a: { type: 'number', decimal: 1 } } }],
    ['lcoale', { fields: { a: { type: 'number' } }, lcoale: 'de' }],
    ['referenceDate', { fields: { a: { type: 'date' } }, referenceDate: '2026-01-02' }],
    ['fields.a.unit', { fields: { a: { type: 'number', unit: '' } } }],
    ['fields.a.integer', { fields: { a: { type: 'number', integer: 'yes' } } }],
    ['fields.a.decimals', { fields: { a: { type: 'number', decimals: 7 } } }],
    ['fields.a.unit', { fields: { a: { type: 'duration', unit: 'fortnights' } } }],
    ['fields.a.items', { fields: { a: { type: 'list' } } }],
    ['fields.a.items', { fields: { a: { type: 'list', items: 'time' } } }],
    ['reference_date', { fields: { a: field }, reference_date: '2026-02-30' }],
    ['reference_date', { fields: { a: field }, reference_date: 'tomorrow' }],
    ['reference_date', { fields: { a: field }, reference_date: '0000-01-01' }],
    ['locale', { fields: { a: field }, locale: 'not a locale' }],
    ['images', { fields: { a: field }, images: ['data:image/png;base64,AA=='] }],
    ['assets', { fields: { a: field }, assets: { scan: {} } }],
    ['stream', { fields: { a: field }, stream: true }],
    ['questions', { fields: { a: field }, questions: {} }],
    ['model', { fields: { a: field }, model: 'test/absent' }],
  ]
  for (const [param, body] of bad) {
    it(`is named: ${param}, ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const { post, calls } = extracting({})
      const answer = await post(body)
      expect([answer.status, errorOf(answer).param]).toEqual([param === 'model' ? 404 : 400, param])
      expect(calls).toEqual([])
    })
  }

  it('is the model, where it keeps to no schema', async () => {
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { grammar: false } })
    const { ask } = serviceOf(engine)
    const body = { model: MODEL, state: 'a', fields: { a: field } }
    const answer = await ask('/extractions', { method: 'POST', body: JSON.stringify(body), headers: JSON_TYPE })
    expect([answer.status, errorOf(answer).param]).toEqual([400, 'model'])
  })

  it('ignores what it does not know by name', async () => {
    const { post } = extracting({ a: 'Ana' })
    const answer = await post({ fields: { a: { type: 'text', unit: 'kg' } }, provider: {}, session_id: 's' })
    expect(answer.headers.get('x-ignored-fields')).toBe('provider, session_id, fields.a.unit')
  })
})
