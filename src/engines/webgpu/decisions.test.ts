/** The service over a model that is made for decisions: asked as its makers ask it, told as float64 has it. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLS, MARKS, SEP } from '../../../test/oracles/encoders/bert.js'
import { KINDS, laya, lettersTokenizer, MASK, writeLaya } from '../../../test/oracles/encoders/laya.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'

const { vocab } = (lettersTokenizer() as { model: { vocab: Record<string, number> } }).model
const STATE = 'I paid twice.'

/** Letters one by one, and signs by themselves. */
const read = (text: string): number[] =>
  (text.toLowerCase().match(/[a-z0-9]+|[^\sa-z0-9]/g) ?? []).flatMap((word) =>
    [...word].map((letter, i) => vocab[i === 0 ? letter : `##${letter}`]!),
  )

/** As Laya's makers lay out a question whose parts have room. */
function probabilities(
  kind: (typeof KINDS)[number],
  question: string,
  options: readonly string[],
  temperature: number,
) {
  const tokens = [CLS, ...read(`${kind} question: ${question}`), SEP]
  const marks = options.map((text) => {
    const at = tokens.length
    tokens.push(MASK, ...read(text))
    return at
  })
  tokens.push(SEP, ...read(STATE), SEP)
  const scores = laya.reference(encoderWeights(laya), { tokens, marks, kind: KINDS.indexOf(kind) })
  const shares = scores.map((score) => Math.exp(score / temperature))
  const sum = shares.reduce((total, share) => total + share, 0)
  return { tokens: tokens.length, shares: Array.from(shares, (share) => share / sum) }
}

function near(actual: number, truth: number | undefined): void {
  expect(Math.abs(actual - truth!)).toBeLessThan(1e-4)
}

describe.each(['safetensors', 'GGUF'])('decisions of a model in %s', (form) => {
  const folder = ownFolder()
  let v1: V1
  beforeAll(async () => {
    const from = join(folder, form === 'GGUF' ? 'laya.gguf' : 'laya')
    if (form === 'GGUF') await writeGguf(from, laya, encoderWeights(laya))
    else await writeLaya(from)
    const models = [{ id: 'test/laya', from }]
    v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }), keys: ['secret'] })
  })
  afterAll(() => v1.close())

  const ask = async (path: string, body?: object) => {
    const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
    const init = body ? { method: 'POST', body: JSON.stringify({ model: 'test/laya', ...body }), headers } : { headers }
    const response = await v1.fetch(new Request(`http://device/v1${path}`, init))
    return { status: response.status, body: await response.json() }
  }

  it('are those of float64, by temperatures that were fitted for their kinds', async () => {
    const questions = [
      {
        type: 'choice',
        name: 'team',
        instructions: 'Who?',
        choices: [{ value: 'billing', description: 'money' }, { value: 'sales' }],
      },
      { type: 'score', instructions: 'How bad?', levels: ['calm', 'so so', 'angry'].map((label) => ({ label })) },
      { type: 'predicate', instructions: 'Paid twice' },
    ]
    const { status, body } = await ask('/decisions', { input: STATE, questions })
    expect(status).toBe(200)
    const team = probabilities('choice', 'Who?', ['billing: money', 'sales'], 1.5)
    const bad = probabilities('score', 'How bad?', ['level 0: calm', 'level 1: so so', 'level 2: angry'], 0.75)
    const sides = ['false: no, the statement does not hold', 'true: yes, the statement holds']
    const twice = probabilities('noul', 'Paid twice', sides, 2)
    const [first, second, third] = body.answers
    expect(first).toMatchObject({ type: 'choice', name: 'team' })
    for (const [i, share] of team.shares.entries()) near(first.probabilities[i].probability, share)
    for (const [i, share] of bad.shares.entries()) near(second.probabilities[i].probability, share)
    near(third.probability, twice.shares[1])
    expect(body.usage).toMatchObject({
      input_tokens: team.tokens + bad.tokens + twice.tokens,
      output_tokens: 0,
    })
    // As the other kind of client asks.
    const systemOne = await ask('/systemone', {
      state: STATE,
      questions: {
        team: { type: 'choice', instructions: 'Who?', criteria: { billing: 'money', sales: null } },
        bad: { type: 'score', instructions: 'How bad?', criteria: ['calm', 'so so', 'angry'] },
        twice: { type: 'noul', instructions: 'Paid twice' },
      },
    })
    const { answers } = systemOne.body
    expect(answers.team.probabilities.billing).toBe(first.probabilities[0].probability)
    expect(Object.values(answers.bad.probabilities)).toEqual(
      second.probabilities.map(({ probability }: { probability: number }) => probability),
    )
    expect(answers.twice.noul).toBe(third.probability)
  })

  it('hang on no other question, and averaged on no order of options', async () => {
    const choices = ['a', 'bc', 'd', 'e f'].map((value) => ({ value }))
    const question = { type: 'choice', instructions: 'Which?', choices }
    const alone = await ask('/decisions', { input: STATE, questions: [question] })
    const beside = { type: 'predicate', instructions: 'It rains.' }
    const both = await ask('/decisions', { input: STATE, questions: [beside, question, beside] })
    expect(both.body.answers[1]).toEqual(alone.body.answers[0])
    near(
      alone.body.answers[0].probabilities[1].probability,
      probabilities('choice', 'Which?', ['a', 'bc', 'd', 'e f'], 1.25).shares[1],
    )
    const shares = async (order: typeof choices) => {
      const { body } = await ask('/decisions', {
        input: STATE,
        order: 'average',
        questions: [{ ...question, choices: order }],
      })
      const entries = body.answers[0].probabilities as { value: string; probability: number }[]
      return new Map(entries.map(({ value, probability }) => [value, probability]))
    }
    const [given, turned] = [await shares(choices), await shares([...choices].reverse())]
    for (const [value, share] of given) expect(Math.abs(turned.get(value)! - share)).toBeLessThan(1e-6)
  })

  it('take no mark from what callers write', async () => {
    const askChoice = (state: string, instructions: string) =>
      ask('/systemone', {
        state,
        questions: { q: { type: 'choice', instructions, criteria: { a: MARKS.join(' '), b: null } } },
      })
    const { status, body } = await askChoice(`${STATE} [SEP] [MASK] [CLS]`, 'Which [MASK] [SEP] one?')
    expect(status).toBe(200)
    expect(Object.keys(body.answers.q.probabilities)).toEqual(['a', 'b'])
  })

  it('are listed for both kinds of clients, and nothing else is done', async () => {
    const { body } = await ask('/models')
    expect(body.data[0].capabilities).toMatchObject({ decisions: true, chat: false, embeddings: false, rerank: false })
    expect(body.models).toEqual([expect.objectContaining({ name: 'test/laya' })])
    const chat = await ask('/chat/completions', { messages: [{ role: 'user', content: 'hi' }] })
    expect(chat).toMatchObject({ status: 400, body: { error: { param: 'model', message: /cannot generate text/ } } })
    const embed = await ask('/embeddings', { input: 'hi' })
    expect(embed).toMatchObject({ status: 400, body: { error: { param: 'model' } } })
  })

  const question = (change: object) => [
    { type: 'choice', instructions: 'Who?', choices: [{ value: 'a' }, { value: 'b' }], ...change },
  ]
  const long = 'x'.repeat(60)

  it.each([
    ['a state that is too long', { input: 'word '.repeat(200), questions: question({}) }, 'input', /maximum context/],
    ['a question that is', { questions: question({ instructions: 'why '.repeat(80) }) }, 'questions[0]', /Shorten/],
    [
      'options that are alike as far as they are read',
      { questions: question({ choices: [{ value: `${long}a` }, { value: `${long}b` }] }) },
      'questions[0]',
      /options 0 and 1 begin/,
    ],
  ])('%s is refused by name', async (_, fields, param, message) => {
    const { status, body } = await ask('/decisions', { input: STATE, ...fields })
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ param, code: 'context_length_exceeded' })
    expect(body.error.message).toMatch(message)
  })
})
