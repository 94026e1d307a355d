import { nano } from 'local-v1-nano'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import type { DecideCall } from '../src/contract/engine.js'
import { scripted } from '../src/engines/scripted.js'
import { webgpu } from '../src/engines/webgpu/index.js'
import { createV1 } from '../src/index.js'
import { decide } from './extract.js'

const QUESTIONS = {
  spam: { type: 'predicate', instructions: 'It is spam.' },
  team: {
    type: 'choice',
    instructions: 'Who helps?',
    choices: ['billing', { value: 'tech', description: 'what is broken' }],
  },
  mood: { type: 'score', instructions: 'How is the mood?', levels: ['bad', { label: 'fair' }, 'good'] },
} as const

function setUp(decides: (call: DecideCall) => readonly number[] | undefined = () => undefined) {
  const calls: DecideCall[] = []
  const engine = scripted({
    models: { 'test/writes': 'Hi', 'test/decides': 'Hi' },
    capabilities: { decisions: true },
    decide: (question) => decides(calls.at(-1)!) ?? question.options.map((_, i) => 2 ** i),
  })
  const [writes, deciding] = engine.models
  const v1 = createV1({
    engine: {
      ...engine,
      models: [{ ...writes!, capabilities: { decisions: false } }, deciding!],
      decide: async (call) => {
        calls.push(call)
        return await engine.decide!(call)
      },
    },
    keys: 'none',
    log: () => {},
  })
  return { v1, calls }
}

describe('decide', () => {
  test('gives each answer under its name, with its type, from the first model that decides', async () => {
    const { v1, calls } = setUp()
    const answers = await decide(QUESTIONS, 'Help!', { from: v1 })
    expectTypeOf(answers.spam.probability).toEqualTypeOf<number>()
    expectTypeOf(answers.team.choice).toEqualTypeOf<'billing' | 'tech'>()
    expectTypeOf(answers.team.probabilities).toEqualTypeOf<Readonly<Record<'billing' | 'tech', number>>>()
    expectTypeOf(answers.mood.probabilities).toEqualTypeOf<Readonly<Record<'bad' | 'fair' | 'good', number>>>()
    expect(answers).toEqual({
      spam: { type: 'predicate', probability: 1 / 3 },
      team: {
        type: 'choice',
        choice: 'tech',
        confidence: expect.closeTo(1 / 3, 12),
        probabilities: { billing: 1 / 3, tech: 2 / 3 },
      },
      mood: {
        type: 'score',
        score: expect.closeTo(10 / 7, 12),
        confidence: expect.closeTo(1 / 7, 12),
        probabilities: { bad: 1 / 7, fair: 2 / 7, good: 4 / 7 },
      },
    })
    expect(calls).toMatchObject([{ model: 'test/decides', state: 'Help!', order: 'given' }])
    expect(calls[0]!.thinkingBudget).toBeUndefined()
    expect(calls[0]!.questions[1]!.options).toEqual([
      { text: 'billing' },
      { text: 'tech', description: 'what is broken' },
    ])
  })

  test('knows the types of questions that stand in the call', async () => {
    const { v1 } = setUp()
    const { kind } = await decide(
      { kind: { type: 'choice', instructions: 'Which?', choices: ['a', 'b'] } },
      { text: 'b' },
      { from: v1 },
    )
    expectTypeOf(kind.choice).toEqualTypeOf<'a' | 'b'>()
    expect(kind.choice).toBe('b')
    // @ts-expect-error: a choice names its choices
    const wrong = decide({ kind: { type: 'choice', instructions: 'Which?' } }, 'x', { from: v1 })
    await expect(wrong).rejects.toMatchObject({ status: 400, param: 'questions.kind.choices' })
  })

  test('takes objects and messages as a state, and passes on order and effort', async () => {
    const { v1, calls } = setUp()
    const { spam } = QUESTIONS
    await decide({ spam }, { subject: 'Win!' }, { from: v1, order: 'average', effort: 'low' })
    await decide({ spam }, [{ role: 'user', content: 'Win!' }], { from: v1, effort: 'none' })
    expect(calls).toMatchObject([
      { state: [{ role: 'user', content: '{"subject": "Win!"}' }], order: 'average', thinkingBudget: 512 },
      { state: [{ role: 'user', content: 'Win!' }], order: 'given' },
    ])
    expect(calls[1]!.thinkingBudget).toBeUndefined()
  })

  test('says which question was refused, and what /v1 refuses', async () => {
    const engine = scripted({
      models: { 'test/decides': '' },
      capabilities: { decisions: true },
      decide: ({ type, options }) => (type === 'choice' ? undefined : options.map(() => 1)),
    })
    const from = createV1({ engine, keys: 'none', log: () => {} })
    await expect(decide(QUESTIONS, 'x', { from })).rejects.toMatchObject({ code: 'refused', param: 'team' })
    await expect(decide({}, 'x', { from })).rejects.toMatchObject({ status: 400, param: 'questions' })
    const { v1 } = setUp()
    const other = decide(QUESTIONS, 'x', { from: v1, model: 'test/writes' })
    await expect(other).rejects.toMatchObject({ status: 400, code: 'unsupported_model' })
    await expect(decide(QUESTIONS, 'x', { from: v1, signal: AbortSignal.abort() })).rejects.toThrow()
  })

  test('says what a service left unanswered', async () => {
    const answers = [{ type: 'predicate', probability: 1 }]
    const from = { baseURL: 'http://else/v1', fetch: async () => Response.json({ answers, data: [{ id: 'some' }] }) }
    await expect(decide(QUESTIONS, 'x', { from })).rejects.toMatchObject({ code: 'invalid_output', param: 'team' })
  })
})

describe('decide by the embedded model', () => {
  const v1 = createV1({ engine: webgpu({ models: [nano], device: 'cpu', log: () => {} }), keys: 'none', log: () => {} })
  afterAll(() => v1.close())

  test('gives whole distributions, whatever the order, and the same twice', async () => {
    const answers = await decide(QUESTIONS, 'I was charged twice.', { from: v1, order: 'average' })
    for (const { probabilities } of [answers.team, answers.mood]) {
      const sum = Object.values(probabilities).reduce((total, one) => total + one, 0)
      expect(sum).toBeCloseTo(1, 12)
    }
    expect(answers.team.probabilities[answers.team.choice]).toBeGreaterThanOrEqual(0.5)
    expect(answers.team.optionMass).toBeGreaterThan(0)
    const turned = { team: { ...QUESTIONS.team, choices: QUESTIONS.team.choices.toReversed() } } as const
    const { team } = await decide(turned, 'I was charged twice.', { from: v1, order: 'average' })
    expect(team.probabilities.billing).toBeCloseTo(answers.team.probabilities.billing, 6)
    expect(await decide(QUESTIONS, 'I was charged twice.', { from: v1, order: 'average' })).toEqual(answers)
  })
})
