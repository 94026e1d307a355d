import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MARKS } from '../../../test/oracles/encoders/bert.js'
import { bertScores, CROSS_ENCODERS } from '../../../test/oracles/encoders/cross.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { wordsTokenizer, writeEncoder } from '../../../test/oracles/files/repository.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'

/** The service over the whole engine: a cross-encoder with made-up weights in a folder. */
const folder = ownFolder()
let v1: V1
const model = 'test/cross'

beforeAll(async () => {
  await writeEncoder(bertScores, folder, wordsTokenizer(bertScores, MARKS))
  const engine = webgpu({ models: [{ id: model, from: folder }], device: 'cpu', threads: 1, log: () => {} })
  v1 = createV1({ engine, keys: ['secret'] })
})
afterAll(() => v1.close())

async function ask(body: object, path = 'rerank') {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ model, ...body }) }
  const response = await v1.fetch(new Request(`http://device/v1/${path}`, init))
  return { status: response.status, json: await response.json() }
}

const word = (tokens: readonly number[]) => tokens.map((token) => `w${token}`).join(' ')
const query = [300, 301, 302]
const documents = [[310, 311], [300, 301, 302], [400], Array.from({ length: 60 }, (_, i) => 320 + i)]
const weights = encoderWeights(bertScores)
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
const pair = (document: readonly number[]) => {
  const [first, second] = [
    [4, ...query, 5],
    [...document, 5],
  ]
  return { tokens: [...first, ...second], types: [...first.map(() => 0), ...second.map(() => 1)] }
}
const scores = documents.map((document) => sigmoid(bertScores.reference(weights, pair(document))[0]!))
const tokens = documents.reduce((sum, document) => sum + pair(document).tokens.length, 0)

describe('POST /rerank', () => {
  test('gives the scores of the definition, the best first', async () => {
    const { status, json } = await ask({ query: word(query), documents: documents.map(word) })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      id: expect.stringMatching(/^rerank-/),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    })
    const { results } = json as { results: { index: number; relevance_score: number }[] }
    expect(results.map(({ index }) => index).sort()).toEqual([0, 1, 2, 3])
    for (const { index, relevance_score: score } of results) expect(Math.abs(score - scores[index]!)).toBeLessThan(1e-5)
    expect(results.map(({ relevance_score: score }) => score)).toEqual(
      [...scores.keys()].map((i) => results[i]!.relevance_score).sort((a, b) => b - a),
    )
  })

  test('takes documents in either form, and returns only the best, and the documents, if asked', async () => {
    const mixed = documents.map((document, i) => (i % 2 === 0 ? { text: word(document) } : word(document)))
    const { json } = await ask({ query: word(query), documents: mixed, top_n: 2, return_documents: true })
    const { results } = json as { results: { index: number; document: { text: string } }[] }
    const best = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!).slice(0, 2)
    expect(results.map(({ index }) => index)).toEqual(best)
    expect(results.map(({ document }) => document.text)).toEqual(best.map((i) => word(documents[i]!)))
    const all = await ask({ query: word(query), documents: mixed, top_n: 99 })
    expect((all.json as { results: object[] }).results).toHaveLength(4)
  })

  test('a document cannot decide its score with control tokens', async () => {
    const spelled = await ask({ query: word(query), documents: ['w310 [SEP] w311'] })
    // Brackets and letters are words that the vocabulary has not.
    expect((spelled.json as { usage: { prompt_tokens: number } }).usage.prompt_tokens).toBe(4 + query.length + 4)
  })

  test.each([
    [{ query: '', documents: ['a'] }, 'query'],
    [{ documents: ['a'] }, 'query'],
    [{ query: 'a' }, 'documents'],
    [{ query: 'a', documents: [] }, 'documents'],
    [{ query: 'a', documents: ['a', ''] }, 'documents[1]'],
    [{ query: 'a', documents: [{ text: 3 }] }, 'documents[0].text'],
    [{ query: 'a', documents: [7] }, 'documents[0]'],
    [{ query: 'a', documents: ['a'], top_n: 0 }, 'top_n'],
    [{ query: 'a', documents: ['a'], return_documents: 1 }, 'return_documents'],
    [{ query: 'a', documents: ['a', 'w300 '.repeat(95)] }, 'documents[1]'],
    [{ query: 'a '.repeat(99_999), documents: ['a'] }, 'documents[0]'],
  ])('%j is refused with an error that names its field', async (body, param) => {
    expect(await ask(body)).toMatchObject({ status: 400, json: { error: { param } } })
  })

  test('is refused of other models, and what makes scores makes no vectors', async () => {
    expect(await ask({ input: 'a' }, 'embeddings')).toMatchObject({ status: 400, json: { error: { param: 'model' } } })
    expect(await ask({ messages: [{ role: 'user', content: 'a' }] }, 'chat/completions')).toMatchObject({ status: 400 })
    const models = (await (
      await v1.fetch(new Request('http://device/v1/models', { headers: { authorization: 'Bearer secret' } }))
    ).json()) as { data: object[] }
    expect(models.data[0]).toMatchObject({ capabilities: { rerank: true, embeddings: false, chat: false } })
  })
})

describe('cross-encoders', () => {
  const truths = new Map<string, readonly number[]>()
  const truthOf = (of: (typeof CROSS_ENCODERS)[number]) => {
    const truth = truths.get(of.name) ?? of.pairs.map((one) => of.reference(encoderWeights(of), one)[0]!)
    truths.set(of.name, truth)
    return truth
  }
  test.each(CROSS_ENCODERS.flatMap((of) => of.mistakes.map((mistake) => ({ name: of.name, of, mistake }))))(
    '$name that $mistake would be found out',
    ({ of, mistake }) => {
      const weights = encoderWeights(of)
      const truth = truthOf(of)
      const far = of.pairs.map((one, i) => Math.abs(truth[i]! - of.reference(weights, one, mistake)[0]!))
      expect(Math.max(...far)).toBeGreaterThan(1e-3)
    },
  )
})

describe('POST /score', () => {
  type ReplyBody = { data: { index: number; object: string; score: number }[]; usage: object }

  test('gives the scores of the definition, in the order asked, under any of its names', async () => {
    for (const [one, other] of [
      ['text_1', 'text_2'],
      ['data_1', 'data_2'],
      ['queries', 'documents'],
    ] as const) {
      const { json } = await ask({ [one]: word(query), [other]: documents.map(word) }, 'score')
      const { data, usage } = json as ReplyBody
      expect(usage).toMatchObject({ prompt_tokens: tokens, total_tokens: tokens })
      expect(data.map(({ index, object }) => [index, object])).toEqual(documents.map((_, i) => [i, 'score']))
      for (const { index, score } of data) expect(Math.abs(score - scores[index]!)).toBeLessThan(1e-5)
    }
  })

  test('takes two lists pair by pair, and two texts', async () => {
    const queries = [word([500, 501]), word(query), word([500, 501])]
    const texts = [word([310]), word(documents[1]!), word([311])]
    const pairs = { text_1: queries, text_2: texts }
    const { data } = (await ask(pairs, 'score')).json as ReplyBody
    const alone = await Promise.all(queries.map((text, i) => ask({ text_1: text, text_2: texts[i] }, 'score')))
    const each = alone.map(({ json }) => (json as ReplyBody).data[0]!.score)
    expect(data.map(({ score }) => score)).toEqual(each)
    expect(Math.abs(each[1]! - scores[1]!)).toBeLessThan(1e-5)
  })

  test.each([
    [{ text_2: 'a' }, 'text_1'],
    [{ text_1: 'a' }, 'text_2'],
    [{ text_1: 'a', text_2: [] }, 'text_2'],
    [{ text_1: 'a', text_2: ['b', ''] }, 'text_2[1]'],
    [{ text_1: { content: [] }, text_2: 'a' }, 'text_1'],
    [{ queries: ['a', 'b'], documents: 'c' }, 'documents'],
  ])('%j is refused with an error that names its field', async (body, param) => {
    const { status, json } = await ask(body, 'score')
    expect([status, (json as { error: { param: string } }).error.param]).toEqual([400, param])
  })
})
