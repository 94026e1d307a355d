/** Decisions of a decoder over the whole service: what it computes with, and how long a state may be. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'
import { tinyRepository, writeRepository } from './tiny-repository.test-helper.js'

describe('decisions of a decoder', () => {
  const folder = ownFolder()
  const open: V1[] = []
  const service = (threads: number) => {
    const models = [{ id: 'test/tiny', from: folder }]
    const v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads, log: () => {} }), keys: 'none' })
    open.push(v1)
    return async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body: JSON.stringify({ model: 'test/tiny', ...body }) }
      const response = await v1.fetch(new Request(`http://localhost/v1${path}`, sent))
      return { status: response.status, body: await response.json() }
    }
  }
  beforeAll(async () => {
    await writeRepository(tinyRepository(), folder)
  })
  afterAll(() => Promise.all(open.map((v1) => v1.close())))

  const choice = (...values: string[]) => ({
    type: 'choice',
    instructions: 'Which?',
    choices: values.map((value) => ({ value })),
  })
  const questions = [
    { type: 'predicate', instructions: 'It rains.' },
    choice('sun', 'sunset', 'the old man and the sea'),
    { type: 'score', instructions: 'How much?', levels: ['low', 'middle', 'high'].map((label) => ({ label })) },
    choice(...Array.from({ length: 40 }, (_, i) => `n${i}`)),
  ]
  const input = 'The sea was grey. '.repeat(6)

  it('are the same bits on any number of threads, in any company, from the cache and not', async () => {
    const [one, three] = [service(1), service(3)]
    const { status, body } = await one('/decisions', { input, questions })
    expect(status).toBe(200)
    expect((await one('/decisions', { input, questions })).body.answers).toEqual(body.answers)
    expect((await three('/decisions', { input, questions })).body.answers).toEqual(body.answers)
    const talk = three('/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20, seed: 1 })
    const turned = await three('/decisions', { input, questions: [...questions].reverse() })
    expect(turned.body.answers.reverse()).toEqual(body.answers)
    expect((await talk).status).toBe(200)
    for (const [i, question] of questions.entries()) {
      const alone = await three('/decisions', { input, questions: [question] })
      expect(alone.body.answers).toEqual([body.answers[i]])
    }
  })

  it('are refused by the name of the state, or of what else is too long, where the context has no room', async () => {
    const ask = service(1)
    const long = 'word '.repeat(600)
    const question = questions.slice(0, 1)
    expect(await ask('/decisions', { input: long, questions: question })).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', param: 'input', code: 'context_length_exceeded' } },
    })
    expect(await ask('/systemone', { state: long, questions: { rain: { type: 'noul' } } })).toMatchObject({
      status: 400,
      body: { error: { param: 'state', code: 'context_length_exceeded', message: expect.stringContaining("'state'") } },
    })
  })
})
