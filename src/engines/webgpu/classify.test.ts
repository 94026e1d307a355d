import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLS, MARKS, minilm, SEP } from '../../../test/oracles/encoders/bert.js'
import { bertClasses, bertScores, modernClasses } from '../../../test/oracles/encoders/cross.js'
import type { EncoderCase } from '../../../test/oracles/encoders/encoder-case.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { wordsTokenizer, writeEncoder } from '../../../test/oracles/files/repository.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type UsageEvent, type V1 } from '../../index.js'
import { webgpu } from './index.js'
import { expectNear } from './made.test-helper.js'

/** The service over the whole engine: models with made-up weights in folders, each by what it is for. */
const CASES = {
  'test/feelings': bertClasses,
  'test/tags': modernClasses,
  'test/cross': bertScores,
  'test/vectors': minilm,
}
type Model = keyof typeof CASES
const folder = ownFolder()
let v1: V1
const counted: UsageEvent[] = []

beforeAll(async () => {
  const models = []
  for (const [id, of] of Object.entries(CASES)) {
    const from = join(folder, id.replace('/', '-'))
    await writeEncoder(of, from, wordsTokenizer(of, MARKS))
    models.push({ id, from })
  }
  models.push({ id: 'local-v1/nano', from: new URL('../../../models/nano', import.meta.url).pathname })
  const engine = webgpu({ models, device: 'cpu', threads: 1, log: () => {} })
  v1 = createV1({ engine, keys: ['secret'], onUsage: (event) => counted.push(event) })
})
afterAll(() => v1.close())

async function ask(model: string, path: string, body: object, base = '/v1') {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ model, ...body }) }
  const response = await v1.fetch(new Request(`http://device${base}/${path}`, init))
  return { status: response.status, ignored: response.headers.get('x-ignored-fields'), json: await response.json() }
}

const texts = [[300, 301, 302], [310], Array.from({ length: 40 }, (_, i) => 320 + i)]
const word = (tokens: readonly number[]) => tokens.map((token) => `w${token}`).join(' ')
const input = texts.map(word)
const whole = (tokens: readonly number[]) => ({ tokens: [CLS, ...tokens, SEP] })
const tokens = texts.reduce((sum, { length }) => sum + length + 2, 0)
const logits = (of: EncoderCase) => texts.map((text) => [...of.reference(encoderWeights(of), whole(text))])
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
const shares = (row: readonly number[]) => {
  const powers = row.map(Math.exp)
  return powers.map((power) => power / powers.reduce((a, b) => a + b))
}
const near = (actual: readonly number[], truth: readonly number[]) => expectNear(actual, truth, 1e-5)

interface ReplyBody {
  readonly data: readonly { label: string | null; probs: number[]; num_classes: number; data: number[] | string }[]
}

describe('POST /classify', () => {
  test.each<[Model, (row: readonly number[]) => number[], readonly string[]]>([
    ['test/feelings', shares, ['joy', 'anger', 'fear']],
    ['test/tags', (row) => row.map(sigmoid), ['LABEL_0', 'LABEL_1', 'LABEL_2', 'LABEL_3', 'LABEL_4']],
    ['test/cross', (row) => row.map(sigmoid), ['LABEL_0']],
  ])('%s returns the classes of the definition, and the likeliest of them', async (model, act, labels) => {
    const { status, json, ignored } = await ask(model, 'classify', { input, user: 'me', priority: 1 })
    expect([status, ignored]).toEqual([200, 'priority'])
    expect(json).toMatchObject({
      ...{ id: expect.stringMatching(/^classify-/), object: 'list', created: expect.any(Number), model },
      usage: { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0 },
    })
    const { data } = json as ReplyBody
    logits(CASES[model]).forEach((row, i) => {
      const truth = act(row)
      near(data[i]!.probs, truth)
      expect(data[i]).toMatchObject({
        index: i,
        num_classes: labels.length,
        label: labels[truth.indexOf(Math.max(...truth))],
      })
    })
  })

  test('reads tokens as they are, and is there beside the base path, as vLLM has it', async () => {
    const [truth] = logits(bertClasses)
    for (const given of [whole(texts[0]!).tokens, [whole(texts[0]!).tokens]]) {
      const { json } = await ask('test/feelings', 'classify', { input: given, use_activation: true }, '')
      near((json as ReplyBody).data[0]!.probs, shares(truth!))
    }
  })

  test('is counted', async () => {
    for (const path of ['classify', 'pooling']) {
      await ask('test/feelings', path, { input })
      expect(counted.at(-1)).toMatchObject({ model: 'test/feelings', promptTokens: tokens })
    }
  })
})

describe('POST /pooling', () => {
  test('returns vectors if the model makes some, as /embeddings does', async () => {
    const vectors = await ask('test/vectors', 'embeddings', { input })
    const expected = (vectors.json as { data: { embedding: number[] }[] }).data.map(({ embedding }) => embedding)
    for (const more of [{}, { task: 'embed', truncate_prompt_tokens: -1, endianness: 'little' }]) {
      const { json } = await ask(
        'test/vectors',
        'pooling',
        { input, ...more },
        Object.keys(more).length > 0 ? '' : '/v1',
      )
      expect(json).toMatchObject({
        ...{ id: expect.stringMatching(/^pool-/), object: 'list', model: 'test/vectors' },
        data: expected.map((data, index) => ({ index, object: 'pooling', data })),
        usage: { prompt_tokens: tokens, completion_tokens: 0 },
      })
    }
    const { json } = await ask('test/vectors', 'pooling', { input, encoding_format: 'base64', embed_dtype: 'float32' })
    const bytes = Uint8Array.from(atob((json as ReplyBody).data[1]!.data as string), (letter) => letter.charCodeAt(0))
    expect([...new Float32Array(bytes.buffer)]).toEqual(expected[1])
    const short = await ask('test/vectors', 'pooling', { input, dimensions: 8 })
    expect((short.json as ReplyBody).data[0]!.data).toHaveLength(8)
  })

  test('returns classes if the model has some', async () => {
    for (const more of [{}, { task: 'classify' }]) {
      const { json } = await ask('test/feelings', 'pooling', { input, ...more })
      for (const [i, row] of logits(bertClasses).entries())
        near((json as ReplyBody).data[i]!.data as number[], shares(row))
    }
  })
})

describe('what is refused', () => {
  test.each([
    [{}, 'input'],
    [{ input: [] }, 'input'],
    [{ input: ['a', ''] }, 'input[1]'],
    [{ input: [[5, 700]] }, 'input'],
    [{ input: 'w300 '.repeat(95) }, 'input'],
    [{ messages: [{ role: 'user', content: 'a' }] }, 'messages'],
    [{ input: 'a', use_activation: false }, 'use_activation'],
    [{ input: 'a', softmax: false }, 'softmax'],
    [{ input: 'a', add_special_tokens: false }, 'add_special_tokens'],
    [{ input: 'a', truncate_prompt_tokens: 5 }, 'truncate_prompt_tokens'],
  ])('%j, with an error that names its field', async (body, param) => {
    for (const path of ['classify', 'pooling'])
      expect(await ask('test/feelings', path, body)).toMatchObject({ status: 400, json: { error: { param } } })
  })

  test.each([
    [{ task: 'token_embed' }, 'task'],
    [{ encoding_format: 'bytes' }, 'encoding_format'],
    [{ embed_dtype: 'float16' }, 'embed_dtype'],
    [{ endianness: 'big' }, 'endianness'],
    [{ dimensions: 8 }, 'dimensions'],
    [{ task: 'embed' }, 'model'],
  ])('%j in a pooling request', async (body, param) => {
    const reply = await ask('test/feelings', 'pooling', { input: 'a', ...body })
    expect(reply).toMatchObject({ status: 400, json: { error: { param } } })
  })

  test('models that do something else, and other work of models that classify', async () => {
    for (const [model, path] of [
      ['test/vectors', 'classify'],
      ['local-v1/nano', 'classify'],
      ['local-v1/nano', 'pooling'],
      ['test/feelings', 'embeddings'],
    ] as const) {
      const reply = await ask(model, path, { input: 'a' })
      expect(reply, model).toMatchObject({
        status: 400,
        json: { error: { param: 'model', code: 'unsupported_model' } },
      })
    }
    const ranked = await ask('test/feelings', 'rerank', { query: 'a', documents: ['a'] })
    expect(ranked).toMatchObject({ status: 400, json: { error: { param: 'model' } } })
    const headers = { authorization: 'Bearer secret' }
    const response = await v1.fetch(new Request('http://device/v1/models', { headers }))
    const { data } = (await response.json()) as { data: { id: string; capabilities: object }[] }
    const can = (id: string) => data.find((each) => each.id === id)!.capabilities
    expect(can('test/feelings')).toMatchObject({ classify: true, rerank: false, embeddings: false, chat: false })
    expect(can('test/cross')).toMatchObject({ classify: true, rerank: true })
    expect(can('test/vectors')).toMatchObject({ classify: false, embeddings: true })
  })
})
