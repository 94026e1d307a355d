import { describe, expect, it } from 'vitest'
import { errorOf, jsonOf, MODEL, posting } from '../../v1.test-helper.js'
import { readingTexts } from '../texts.test-helper.js'

describe('classes', () => {
  it('are told of each text in its order, the likeliest by its name', async () => {
    const { ask, classified, counted } = readingTexts()
    const page = jsonOf(await ask('/classify', posting({ input: ['abcd', 'a'] })))
    expect(page.data).toEqual([
      { index: 0, label: 'long', probs: [0.25, 0.75], num_classes: 2 },
      { index: 1, label: 'short', probs: [0.875, 0.125], num_classes: 2 },
    ])
    expect(page).toMatchObject({ id: expect.stringMatching(/^classify-/), object: 'list', model: MODEL })
    expect(page.usage).toMatchObject({ prompt_tokens: 5, total_tokens: 5 })
    expect(classified).toMatchObject([{ inputs: ['abcd', 'a'] }])
    expect(counted).toMatchObject([{ outcome: 'ok', promptTokens: 5 }])
  })

  it('have no names if the engine knows none', async () => {
    const nameless = readingTexts(undefined, {
      classify: async () => ({ probabilities: [[0.5, 0.5]], promptTokens: 1 }),
    })
    // The first of equals.
    expect(jsonOf(await nameless.ask('/classify', posting({ input: [7, 8] }))).data).toEqual([
      { index: 0, label: null, probs: [0.5, 0.5], num_classes: 2 },
    ])
  })

  it.each<[string, object]>([
    ['input', {}],
    ['input', { input: '' }],
    ['messages', { messages: [{ role: 'user', content: 'a' }] }],
    ['data', { data: { image: 'a' } }],
    ['softmax', { input: 'a', softmax: false }],
    ['add_special_tokens', { input: 'a', add_special_tokens: false }],
    ['truncate_prompt_tokens', { input: 'a', truncate_prompt_tokens: 5 }],
  ])('are refused with an error that names %s: %j', async (param, body) => {
    const { ask, classified } = readingTexts()
    expect(errorOf(await ask('/classify', posting(body)))).toMatchObject({ status: 400, param })
    expect(classified).toEqual([])
  })

  it('are told where fields ask for what is done anyway', async () => {
    const body = { input: 'a', use_activation: true, add_special_tokens: true, truncate_prompt_tokens: -1, user: 'me' }
    const answer = await readingTexts().ask('/classify', posting(body))
    expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, null])
  })

  it('are refused if the model has none, and fail if the engine leaves a text out', async () => {
    const body = posting({ input: ['a', 'b'] })
    expect(errorOf(await readingTexts({ rerank: true }).ask('/classify', body)).code).toBe('unsupported_model')
    const short = readingTexts(undefined, { classify: async () => ({ probabilities: [[1]], promptTokens: 1 }) })
    expect(errorOf(await short.ask('/classify', body)).status).toBe(500)
  })
})
