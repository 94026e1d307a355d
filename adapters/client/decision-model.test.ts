import { afterAll, describe, expect, it } from 'vitest'
import { scripted } from '../../src/engines/scripted.js'
import { createV1 } from '../../src/index.js'
import { heard } from '../../src/service/v1.test-helper.js'
import { localV1 } from '../ai-sdk.js'
import type { Deciding } from './decision-model.js'

const deciding = scripted({
  models: { 'test/decides': '' },
  capabilities: { decisions: true },
  decide: ({ instructions, options }) => (instructions === 'Refuse.' ? undefined : options.map((_, i) => 2 ** i)),
})
const { calls, engine } = heard(deciding)
const v1 = createV1({ engine, keys: 'none', log: () => {} })
afterAll(() => v1.close())
const model = localV1(v1).decisionModel('test/decides')
const TEXT = [{ type: 'text', text: 'Help!' }] as const
const SPAM = { spam: { type: 'boolean', instructions: 'Spam?' } } as const

describe('decisionModel', () => {
  it('answers every kind of question under its name, in full precision', async () => {
    const { answers, usage, warnings } = await model.doDecide({
      state: [...TEXT, { type: 'json', value: { a: [1] } }, { type: 'file', data: { type: 'text', text: 'A file.' } }],
      questions: {
        spam: { type: 'boolean', criteria: { true: 'it sells', false: null } },
        team: { type: 'choice', instructions: { ask: 'who' }, criteria: { a: 'the first', b: null } },
        mood: { type: 'score', instructions: 'How?', criteria: ['bad', null, { of: 'good' }] },
        no: { type: 'boolean', instructions: 'Refuse.' },
      },
    })
    expect(answers).toEqual({
      spam: { type: 'boolean', probability: 1 / 3 },
      team: { type: 'choice', choice: 'b', probabilities: { a: 1 / 3, b: 2 / 3 } },
      mood: {
        type: 'score',
        score: expect.closeTo(10 / 7, 12),
        probabilities: { 0: 1 / 7, 1: 2 / 7, 2: 4 / 7 },
      },
      no: { type: 'refusal' },
    })
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(warnings).toEqual([])
    expect(calls.at(-1)).toMatchObject({
      state: 'Help!\n{"a":[1]}\nA file.',
      questions: [{ instructions: 'spam' }, {}, {}, {}],
    })
  })

  it('passes on the effort, and says what says nothing', async () => {
    const thought = async (reasoning: string) => {
      await model.doDecide({ state: TEXT, questions: SPAM, reasoning })
      return calls.at(-1)!.thinkingBudget
    }
    expect([await thought('low'), await thought('none'), await thought('provider-default')]).toEqual([
      512,
      undefined,
      undefined,
    ])
    const { warnings } = await model.doDecide({ state: TEXT, questions: SPAM, maxOutputTokens: 5 })
    expect(warnings).toEqual([{ type: 'unsupported', feature: 'maxOutputTokens' }])
  })

  it('refuses what it cannot read, by name, and leaves where it is left', async () => {
    const refused = (call: Partial<Deciding>) =>
      expect(model.doDecide({ state: TEXT, questions: SPAM, ...call })).rejects
    await refused({ state: [...TEXT, { type: 'file', data: { type: 'data' } }] }).toMatchObject({ param: 'state[1]' })
    await refused({ questions: { where: { type: 'box' } } }).toMatchObject({ param: 'questions.where' })
    await refused({ questions: { how: { type: 'score', criteria: ['one'] } } }).toMatchObject({ status: 400 })
    await refused({ abortSignal: AbortSignal.abort() }).toThrow()
  })
})
