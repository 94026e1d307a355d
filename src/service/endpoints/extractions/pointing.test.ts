import { describe, expect, it } from 'vitest'
import type { ChatCall, Engine, PointCall, PointedAnswer } from '../../../contract/engine.js'
import { scripted } from '../../../engines/scripted.js'
import { fallback } from '../../../engines/upstream.js'
import { finish, jsonOf, MODEL, serviceOf, text } from '../../v1.test-helper.js'
import { pointedFields } from './pointing.js'

const STATE = 'Invoice INV-2041 of 4 March 2026, total due $1,250.00 within 30 days. Contacts: Ana, Bo.'

const at = (words: string, probability: number, nothing = 0): PointedAnswer => {
  const start = STATE.indexOf(words)
  return { start, end: start + words.length, probability, nothing }
}

/** Where an engine points for each name; undefined: it does not point. */
function pointing(
  pointed: Readonly<Record<string, PointedAnswer>> | undefined,
  written: object = {},
  around = (engine: Engine) => engine,
) {
  const calls: PointCall[] = []
  const chats: ChatCall[] = []
  const engine = {
    ...scripted({
      models: {
        [MODEL]: (call) => {
          chats.push(call)
          const [field] = Object.keys((call.grammar!.source as { schema: { properties: object } }).schema.properties)
          const document = { [field!]: (written as Record<string, unknown>)[field!] }
          const usage = { promptTokens: 50, completionTokens: 3, cachedTokens: 0 }
          return [text(JSON.stringify(document)), finish(), { type: 'usage', usage }]
        },
      },
    }),
    async point(call: PointCall) {
      calls.push(call)
      if (!pointed) return undefined
      return {
        answers: call.questions.map(({ name }) => pointed[name]),
        usage: { promptTokens: 40, completionTokens: 0, cachedTokens: 0 },
      }
    },
  }
  const { ask } = serviceOf(around(engine))
  const post = async (fields: object) => {
    const body = JSON.stringify({ model: MODEL, state: STATE, fields })
    return jsonOf(await ask('/extractions', { method: 'POST', body, headers: { 'content-type': 'application/json' } }))
  }
  return { post, calls, chats }
}

const span = (words: string) => [at(words, 1).start, at(words, 1).end]

describe('an engine that points', () => {
  it('answers all fields with one reading, and writes nothing', async () => {
    const { post, calls, chats } = pointing({
      number: at('INV-2041', 0.9),
      total: at('1,250.00', 0.6, 0.25),
      due: at('30 days', 0.5),
    })
    const { answers, usage } = await post({
      number: { type: 'text', instructions: ' The invoice number ' },
      total: { type: 'number', unit: 'USD' },
      due: { type: 'duration', unit: 'days' },
    })
    expect(answers).toEqual({
      number: {
        type: 'text',
        value: 'INV-2041',
        guess: 'INV-2041',
        confidence: 0.9,
        p_null: 0,
        span: span('INV-2041'),
      },
      total: { type: 'number', value: 1250, guess: 1250, confidence: 0.6, p_null: 0.25, span: span('1,250.00') },
      due: { type: 'duration', value: 30, guess: 30, confidence: 0.5, p_null: 0, span: span('30 days') },
    })
    const parts = pointing({ total: at('250', 0.6), on: at('4 March', 0.9), due: at('30', 0.9) })
    const fields = { total: { type: 'number' }, on: { type: 'date' }, due: { type: 'duration', unit: 'days' } }
    const whole = (await parts.post(fields)).answers
    expect(whole.total).toMatchObject({ value: 1250, span: span('1,250.00') })
    expect(whole.on).toMatchObject({ value: '2026-03-04', span: span('4 March 2026') })
    expect(whole.due).toMatchObject({ value: 30, span: span('30 days') })
    expect(usage).toMatchObject({ input_tokens: 40, output_tokens: 0, total_tokens: 40 })
    expect(chats).toEqual([])
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      text: STATE,
      questions: [
        { name: 'number', instructions: 'The invoice number', isNumber: false },
        { name: 'total', instructions: 'a number (USD)', isNumber: true },
        { name: 'due', instructions: 'a length of time', isNumber: false },
      ],
    })
  })

  it('says null from the threshold on, with what it would be', async () => {
    const { post } = pointing({ who: at('Ana', 0.54, 0.4) })
    const guess = { guess: 'Ana', p_null: 0.4 }
    expect((await post({ who: { type: 'text', null_threshold: 0.4 } })).answers.who).toEqual({
      ...{ type: 'text', value: null },
      ...guess,
    })
    expect((await post({ who: { type: 'text', null_threshold: 0.41 } })).answers.who).toEqual({
      ...{ type: 'text', value: 'Ana', confidence: 0.54, span: span('Ana') },
      ...guess,
    })
  })

  it('has written what it is not sure of, what says no such value, and lists', async () => {
    const { post, calls, chats } = pointing(
      { number: at('2041', 1), day: at('Ana', 1) },
      { who: 'Bo', day: '4 March 2026', contacts: ['Ana', 'Bo'] },
    )
    const { answers, usage } = await post({
      who: { type: 'text' },
      number: { type: 'text' },
      contacts: { type: 'list', items: 'text' },
      day: { type: 'date' },
    })
    expect(Object.entries(answers).map(([name, answer]) => [name, (answer as { value: unknown }).value])).toEqual([
      ['who', 'Bo'],
      ['number', '2041'],
      ['contacts', ['Ana', 'Bo']],
      ['day', '2026-03-04'],
    ])
    expect(calls[0]!.questions.map(({ name }) => name)).toEqual(['who', 'number', 'day'])
    // What is written is described alone, in one prompt, which alone is counted.
    expect(
      chats.map(({ output }) =>
        Object.keys((output as unknown as { schema: { properties: object } }).schema.properties),
      ),
    ).toEqual(new Array(3).fill(['who', 'contacts', 'day']))
    expect(usage).toMatchObject({ input_tokens: 50, output_tokens: 9 })
  })

  it('is not asked for lists alone, and writes all where it does not point in this text', async () => {
    const written = { contacts: ['Ana', 'Bo'], number: 'INV-2041' }
    const lists = pointing({}, written)
    await lists.post({ contacts: { type: 'list', items: 'text' } })
    expect(lists.calls).toEqual([])

    const none = pointing(undefined, written)
    const { answers } = await none.post({ contacts: { type: 'list', items: 'text' }, number: { type: 'text' } })
    expect(answers.number.value).toBe('INV-2041')
    expect(none.chats).toHaveLength(2)
  })

  it.each([
    [
      'behind another, which has no such model',
      (engine: Engine) => fallback(scripted({ models: { 'test/other': '' } }), engine),
    ],
    ['before another', (engine: Engine) => fallback(engine, scripted({ models: { 'test/other': '' } }))],
  ])('is asked %s', async (_, around) => {
    const { post, chats } = pointing({ who: at('Ana', 1) }, {}, around)
    expect((await post({ who: { type: 'text' } })).answers.who.value).toBe('Ana')
    expect(chats).toEqual([])
  })
})

it('what was pointed at says by which model, where that is known; nothing is by an engine that does not', async () => {
  const usage = { promptTokens: 40, completionTokens: 0, cachedTokens: 0 }
  const { signal } = new AbortController()
  const fields = [{ name: 'who', type: 'text', nullThreshold: 0.5 }]
  const by = (more?: object) => {
    const point = more && (async () => ({ answers: [at('Ana', 1)], usage, ...more }))
    const call = { id: 'ext-1', model: MODEL, signal, state: STATE, fields, language: 'en' }
    return pointedFields({ engine: { point } } as never, call as never)
  }
  expect(await by({ fingerprint: 'fp' })).toMatchObject({ answers: [{ value: 'Ana' }], usage, fingerprint: 'fp' })
  expect(await by({})).toStrictEqual({ answers: [expect.objectContaining({ value: 'Ana' })], usage })
  expect(await by()).toBeUndefined()
})
