import { describe, expect, it } from 'vitest'
import { errorOf, jsonOf, MODEL, posting } from '../../v1.test-helper.js'
import { readingTexts } from '../texts.test-helper.js'

describe('scores', () => {
  it.each([
    ['queries', 'documents'],
    ['data_1', 'data_2'],
    ['text_1', 'text_2'],
  ])('of one text beside others, in their order (%s, %s)', async (query, documents) => {
    const { ask, ranked, counted } = readingTexts()
    const page = jsonOf(await ask('/score', posting({ [query]: 'why', [documents]: ['four', 'a', 'and so'] })))
    expect(page.data).toEqual([
      { index: 0, object: 'score', score: 0.04 },
      { index: 1, object: 'score', score: 0.01 },
      { index: 2, object: 'score', score: 0.06 },
    ])
    expect(page).toMatchObject({ object: 'list', model: MODEL, usage: { prompt_tokens: 14, total_tokens: 14 } })
    expect(ranked).toMatchObject([{ query: 'why', documents: ['four', 'a', 'and so'] }])
    expect(counted).toMatchObject([{ outcome: 'ok', promptTokens: 14 }])
  })

  it('of pairs: a query that comes again is read once with all of its documents', async () => {
    const { ask, ranked } = readingTexts()
    const pairs = { queries: ['why', 'how', 'why'], documents: ['four', 'a', 'and so'] }
    const { data, usage } = jsonOf(await ask('/score', posting(pairs)))
    expect(data.map(({ score }: { score: number }) => score)).toEqual([0.04, 0.01, 0.06])
    expect(ranked).toMatchObject([
      { query: 'why', documents: ['four', 'and so'] },
      { query: 'how', documents: ['a'] },
    ])
    expect(usage.prompt_tokens).toBe(3 + 4 + 6 + (3 + 1))
  })

  it.each<[string, object]>([
    ['text_1', { text_2: 'a' }],
    ['text_2', { text_1: 'a' }],
    ['documents', { queries: ['a', 'b'], documents: ['c'] }],
    ['queries[1]', { queries: ['a', ''], documents: ['c', 'd'] }],
    ['documents', { queries: 'a', documents: { text: 'c' } }],
    ['documents', { queries: 'a', documents: [] }],
  ])('are refused with an error that names %s: %j', async (param, body) => {
    const { ask, ranked } = readingTexts()
    expect(errorOf(await ask('/score', posting(body)))).toMatchObject({ status: 400, param })
    expect(ranked).toEqual([])
  })

  it('are refused if the model has none, and fail if the engine leaves a pair out', async () => {
    const body = posting({ queries: 'why', documents: ['a', 'b'] })
    expect(errorOf(await readingTexts({ classify: true }).ask('/score', body)).code).toBe('unsupported_model')
    const short = readingTexts(undefined, { rank: async () => ({ scores: [], promptTokens: 1 }) })
    expect(errorOf(await short.ask('/score', body)).status).toBe(500)
  })
})
