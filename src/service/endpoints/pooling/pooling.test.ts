import { describe, expect, it } from 'vitest'
import { errorOf, jsonOf, MODEL, posting } from '../../v1.test-helper.js'
import { readingTexts } from '../texts.test-helper.js'

describe('pooling', () => {
  it('gives what the model is for: vectors, or else classes', async () => {
    const vectors = readingTexts()
    const page = jsonOf(await vectors.ask('/pooling', posting({ input: ['abcd', 'a'] })))
    expect(page.data).toEqual([
      { index: 0, object: 'pooling', data: [4, 4.5] },
      { index: 1, object: 'pooling', data: [1, 1.5] },
    ])
    expect(page).toMatchObject({ id: expect.stringMatching(/^pool-/), object: 'list', model: MODEL })
    expect(vectors.counted).toMatchObject([{ outcome: 'ok', promptTokens: 5 }])

    const classes = jsonOf(await readingTexts({ classify: true }).ask('/pooling', posting({ input: 'abcd' })))
    expect(classes.data).toEqual([{ index: 0, object: 'pooling', data: [0.25, 0.75] }])
    expect(classes.usage).toMatchObject({ prompt_tokens: 4 })
  })

  it('gives the task that is asked for, as long and in the form that is asked for', async () => {
    const { ask } = readingTexts()
    const classes = jsonOf(await ask('/pooling', posting({ input: 'a', task: 'classify' })))
    expect(classes.data[0].data).toEqual([0.875, 0.125])
    const long = { input: 'a', task: 'embed', dimensions: 3, encoding_format: 'base64', endianness: 'little' }
    const packed = Buffer.from(jsonOf(await ask('/pooling', posting(long))).data[0].data, 'base64')
    expect([...new Float32Array(new Uint8Array(packed).buffer)]).toEqual([1, 1.5, 2])
  })

  it.each<[string, object]>([
    ['task', { input: 'a', task: 'token_embed' }],
    ['dimensions', { input: 'a', task: 'classify', dimensions: 2 }],
    ['embed_dtype', { input: 'a', embed_dtype: 'float16' }],
    ['endianness', { input: 'a', endianness: 'big' }],
    ['messages', { messages: [] }],
  ])('is refused with an error that names %s: %j', async (param, body) => {
    expect(errorOf(await readingTexts().ask('/pooling', posting(body)))).toMatchObject({ status: 400, param })
  })

  it('is refused if the model has neither, or not what is asked for', async () => {
    const code = async (capabilities: object, body: object) =>
      errorOf(await readingTexts(capabilities).ask('/pooling', posting(body))).code
    expect(await code({ rerank: true }, { input: 'a' })).toBe('unsupported_model')
    expect(await code({ classify: true }, { input: 'a', task: 'embed' })).toBe('unsupported_model')
    expect(await code({ embeddings: true }, { input: 'a', task: 'classify' })).toBe('unsupported_model')
  })
})
