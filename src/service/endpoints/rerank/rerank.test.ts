import { describe, expect, it } from 'vitest'
import { errorOf, jsonOf, MODEL, posting } from '../../v1.test-helper.js'
import { readingTexts } from '../texts.test-helper.js'

const documents = ['four', { text: 'the longest' }, 'same', 'a']

describe('a ranking', () => {
  it('has the best document first, equals in their order, and counts what was read', async () => {
    const { ask, ranked, counted } = readingTexts()
    const page = jsonOf(await ask('/rerank', posting({ query: 'why', documents })))
    expect(page.results).toEqual([
      { index: 1, relevance_score: 0.11 },
      { index: 0, relevance_score: 0.04 },
      { index: 2, relevance_score: 0.04 },
      { index: 3, relevance_score: 0.01 },
    ])
    expect(page).toMatchObject({
      ...{ id: expect.stringMatching(/^rerank-/), object: 'list', model: MODEL },
      ...{ usage: { prompt_tokens: 23, total_tokens: 23 }, meta: { tokens: { input_tokens: 23 } } },
    })
    expect(ranked).toMatchObject([{ query: 'why', documents: ['four', 'the longest', 'same', 'a'] }])
    expect(counted).toMatchObject([{ outcome: 'ok', promptTokens: 23, completionTokens: 0 }])
  })

  it('has the best alone, with their texts, where that is asked for', async () => {
    const { ask } = readingTexts()
    const body = { query: 'why', documents, top_n: 2, return_documents: true }
    const { results } = jsonOf(await ask('/rerank', posting(body)))
    expect(results).toMatchObject([{ document: { text: 'the longest' } }, { document: { text: 'four' } }])
    const more = jsonOf(await ask('/rerank', posting({ ...body, top_n: 9 })))
    expect(more.results).toHaveLength(documents.length)
  })

  it.each<[string, object]>([
    ['query', { documents }],
    ['query', { query: '', documents }],
    ['documents', { query: 'why' }],
    ['documents', { query: 'why', documents: [] }],
    ['documents[1]', { query: 'why', documents: ['a', 5] }],
    ['documents[0].text', { query: 'why', documents: [{ text: '' }] }],
    ['documents[0].text', { query: 'why', documents: [{ title: 'a' }] }],
    ['top_n', { query: 'why', documents, top_n: 0 }],
    ['return_documents', { query: 'why', documents, return_documents: 'yes' }],
  ])('is refused with an error that names %s: %j', async (param, body) => {
    const { ask, ranked } = readingTexts()
    expect(errorOf(await ask('/rerank', posting(body)))).toMatchObject({ status: 400, param })
    expect(ranked).toEqual([])
  })

  it('is refused if the model has none, and fails if the engine leaves a document out', async () => {
    const none = readingTexts({ embeddings: true })
    expect(errorOf(await none.ask('/rerank', posting({ query: 'why', documents })))).toMatchObject({
      ...{ status: 400, param: 'model', code: 'unsupported_model' },
    })
    const short = readingTexts(undefined, { rank: async () => ({ scores: [1], promptTokens: 1 }) })
    expect(errorOf(await short.ask('/rerank', posting({ query: 'why', documents }))).status).toBe(500)
  })

  it('names fields that it does not know', async () => {
    const answer = await readingTexts().ask('/rerank', posting({ query: 'why', documents, max_chunks: 3, user: 'me' }))
    expect(answer.headers.get('x-ignored-fields')).toBe('max_chunks')
  })
})
