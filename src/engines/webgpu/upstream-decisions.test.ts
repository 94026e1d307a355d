/** Decisions of a model that another service of ours runs, in every form in which it may be asked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type V1 } from '../../index.js'
import { type DecisionsForm, upstream } from '../upstream.js'
import { webgpu } from './index.js'
import { tinyRepository, writeRepository } from './tiny-repository.test-helper.js'

const MODEL = 'test/tiny'
const folder = ownFolder()
let behind: V1
beforeAll(async () => {
  await writeRepository(tinyRepository(), folder)
  const engine = webgpu({ models: [{ id: MODEL, from: folder }], device: 'cpu', log: () => {} })
  behind = createV1({ engine, keys: 'none', log: () => {} })
})
afterAll(() => behind.close())

/** What the other service said last. */
let text = ''
const over = (decisions: DecisionsForm) =>
  createV1({
    engine: upstream({
      ...{ baseURL: 'http://localhost/v1', models: [MODEL], decisions },
      async fetch(url, init) {
        const response = await behind.fetch(new Request(url, init))
        text = await response.clone().text()
        return response
      },
    }),
    keys: 'none',
    log: () => {},
  })

async function ask(v1: V1, path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify({ model: MODEL, ...body }) }
  const response = await v1.fetch(new Request(`http://localhost/v1${path}`, sent))
  return { status: response.status, body: await response.json() }
}

const choice = (...values: string[]) => ({
  type: 'choice',
  instructions: 'Which?',
  choices: values.map((value) => ({ value })),
})
const input = 'The sea was grey.'

test('are the same numbers by both endpoints', async () => {
  const named = {
    rain: { type: 'noul', instructions: 'It rains.', criteria: { true: 'wet' } },
    which: { type: 'choice', instructions: 'Which?', criteria: { sun: null, sunset: 'late' } },
    much: { type: 'score', instructions: 'How much?', criteria: ['low', 'middle', 'high'] },
  }
  const request = { state: input, questions: named }
  const direct = await ask(behind, '/systemone', request)
  expect(direct.status).toBe(200)
  for (const order of ['given', 'average']) {
    const wanted = await ask(behind, '/systemone', { ...request, order })
    const passed = await ask(over('systemone'), '/systemone', { ...request, order })
    expect(passed.body.answers).toEqual(wanted.body.answers)
  }
  const questions = [{ type: 'predicate', instructions: 'It rains.' }, choice('sun', 'sunset', 'the old man')]
  const { answers } = (await ask(behind, '/decisions', { input, questions })).body
  for (const form of ['openai', 'systemone'] as const) {
    expect((await ask(over(form), '/decisions', { input, questions })).body.answers).toEqual(answers)
  }
})

test('are the same numbers by chat where every option is one token', async () => {
  const chat = over('chat')
  /** Of what was said last: texts that are one token, and begin with different letters. */
  async function likely(): Promise<string[]> {
    const top: { token: string }[] = JSON.parse(text).choices[0].logprobs.content[0]?.top_logprobs ?? []
    const words: string[] = []
    for (const { token } of top) {
      if (!/^[\x21-\x7e]+$/.test(token) || words.some((word) => word[0] === token[0])) continue
      const { count } = (await ask(behind, '/tokenize', { prompt: token, add_special_tokens: false })).body
      if (count === 1) words.push(token)
    }
    return words
  }
  let read = 0
  let labels = ['Yes', 'No']
  // Weights are random: options can be read where they are among the tokens that are told, and the model is asked for such.
  for (let i = 0; read < 4; i++) {
    if (i === 100) throw new Error('No options were told.')
    const order = i % 2 === 0 ? 'given' : 'average'
    const request = { input: `${input} ${i >> 1}`, questions: [choice(...labels.slice(0, 2))], order }
    const passed = await ask(chat, '/decisions', request)
    const words = await likely()
    if (passed.status === 200) {
      const [one] = passed.body.answers
      const [other] = (await ask(behind, '/decisions', request)).body.answers
      for (const [k, { probability }] of other.probabilities.entries()) {
        expect(one.probabilities[k].probability).toBeCloseTo(probability, 5)
      }
      expect(one.option_mass).toBeCloseTo(other.option_mass, 5)
      read++
    } else expect(passed.body.error.message).toContain('most likely first tokens')
    if (words.length >= 2) labels = words
  }
})
