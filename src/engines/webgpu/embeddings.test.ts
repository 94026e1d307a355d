import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MARKS, minilm } from '../../../test/oracles/encoders/bert.js'
import { distance, type Input, inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { wordsTokenizer, writeEncoder } from '../../../test/oracles/files/repository.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { createV1, type V1 } from '../../index.js'
import { webgpu } from './index.js'
import { tinyRepository, writeRepository } from './tiny-repository.test-helper.js'

/** The service over the whole engine: an encoder with made-up weights in a folder, spoken to by the official client. */
const folder = ownFolder()
let v1: V1

const model = 'test/minilm'
const chat = 'test/chat'
const file = 'test/gguf'

beforeAll(async () => {
  await writeEncoder(minilm, join(folder, 'encoder'), wordsTokenizer(minilm, MARKS))
  await writeGguf(join(folder, 'encoder.gguf'), minilm, encoderWeights(minilm))
  await writeRepository(tinyRepository(), join(folder, 'chat'))
  const models = [
    { id: model, from: join(folder, 'encoder') },
    { id: chat, from: join(folder, 'chat') },
    { id: file, from: join(folder, 'encoder.gguf') },
  ]
  v1 = createV1({ engine: webgpu({ models, device: 'cpu', threads: 1, log: () => {} }), keys: ['secret'] })
})
afterAll(() => v1.close())

const client = new OpenAI({
  apiKey: 'secret',
  baseURL: 'http://device/v1',
  maxRetries: 0,
  fetch: (input, init) => v1.fetch(new Request(input, init)),
})

const inputs = inputsOf(minilm)
/** Without its marks, which the tokenizer puts there. */
const textOf = ({ tokens }: Input) =>
  tokens
    .slice(1, -1)
    .map((token) => `w${token}`)
    .join(' ')
const texts = inputs.map(textOf)
const truth = inputs.map((input) => minilm.reference(encoderWeights(minilm), input))
const tokens = inputs.reduce((sum, input) => sum + input.tokens.length, 0)
const near = (vectors: readonly ArrayLike<number>[]) => {
  expect(vectors).toHaveLength(truth.length)
  truth.forEach((vector, i) => {
    const { cosine, worst } = distance(vector, vectors[i]!)
    expect(cosine).toBeGreaterThan(0.9999)
    expect(worst).toBeLessThan(3e-6)
  })
}

describe('embeddings', () => {
  test('of one text and of many, as numbers and in base64, are those of the definition', async () => {
    const floats = await client.embeddings.create({ model, input: texts, encoding_format: 'float' })
    near(floats.data.map(({ embedding }) => embedding))
    expect(floats.data.map(({ index }) => index)).toEqual(texts.map((_, i) => i))
    expect(floats.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
    // The client asks for base64 unless it is told otherwise.
    near((await client.embeddings.create({ model, input: texts })).data.map(({ embedding }) => embedding))
    const alone = await client.embeddings.create({ model, input: texts[2]!, encoding_format: 'float' })
    expect(alone.data[0]!.embedding).toEqual(floats.data[2]!.embedding)
    const length = Math.hypot(...alone.data[0]!.embedding)
    expect(Math.abs(length - 1)).toBeLessThan(1e-6)
  })

  test('of a GGUF file are those of the definition, with its own vocabulary and pooling', async () => {
    const reply = await client.embeddings.create({ model: file, input: texts, encoding_format: 'float' })
    near(reply.data.map(({ embedding }) => embedding))
    expect(reply.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
  })

  test('of tokens, which are taken as they are', async () => {
    const input = inputs.map((one) => [...one.tokens])
    near((await client.embeddings.create({ model, input })).data.map(({ embedding }) => embedding))
  })

  test('with fewer dimensions are the first numbers, with length one', async () => {
    const whole = await client.embeddings.create({ model, input: texts[3]!, encoding_format: 'float' })
    const short = await client.embeddings.create({ model, input: texts[3]!, encoding_format: 'float', dimensions: 32 })
    expect(short.data[0]!.embedding).toHaveLength(32)
    expect(distance(whole.data[0]!.embedding.slice(0, 32), short.data[0]!.embedding).worst).toBeLessThan(1e-6)
    const many = client.embeddings.create({ model, input: texts[3]!, dimensions: 193 })
    await expect(many).rejects.toMatchObject({ status: 400, param: 'dimensions' })
  })

  test('a text that is too long is refused with an error that names its place', async () => {
    const long = Array.from({ length: 91 }, () => 'w300').join(' ')
    // 92, as sentence-transformers' file says, its marks among them.
    const most = client.embeddings.create({ model, input: ['w300', long.slice(5)] })
    expect((await most).usage.prompt_tokens).toBe(3 + 92)
    const error = { status: 400, code: 'context_length_exceeded' }
    await expect(client.embeddings.create({ model, input: ['w300', long] })).rejects.toMatchObject({
      ...error,
      param: 'input[1]',
    })
    await expect(client.embeddings.create({ model, input: long })).rejects.toMatchObject({ ...error, param: 'input' })
    await expect(client.embeddings.create({ model, input: `${long} `.repeat(2000) })).rejects.toMatchObject({
      ...error,
      message: /more than \d+ tokens/,
    })
    await expect(client.embeddings.create({ model, input: [new Array(93).fill(7)] })).rejects.toMatchObject(error)
    const unknown = client.embeddings.create({ model, input: [[7], [640]] })
    await expect(unknown).rejects.toMatchObject({ status: 400, param: 'input[1]' })
  })

  test('are counted as usage', async () => {
    const before = await usage()
    await client.embeddings.create({ model, input: texts })
    expect(await usage()).toBe(before + tokens)
  })

  async function usage(): Promise<number> {
    const now = Math.floor(Date.now() / 1000)
    const url = `http://device/v1/organization/usage/completions?start_time=${now - 3600}&bucket_width=1d&models=${model}`
    const response = await v1.fetch(new Request(url, { headers: { authorization: 'Bearer secret' } }))
    const { data } = (await response.json()) as { data: { results: { input_tokens: number }[] }[] }
    return data.flatMap(({ results }) => results).reduce((sum, { input_tokens: count }) => sum + count, 0)
  }
})

describe('what a model can', () => {
  test('is listed before it is loaded', async () => {
    const list = await client.models.list()
    const of = (id: string) => list.data.find((each) => each.id === id) as unknown as { capabilities: object }
    expect(of(model).capabilities).toMatchObject({ embeddings: true, chat: false, rerank: false })
    expect(of(chat).capabilities).toMatchObject({ embeddings: false, chat: true })
  })

  test('of which nothing is known is listed without capabilities', async () => {
    const nowhere = { id: 'test/far', from: 'http://127.0.0.1:9/far/model.gguf' }
    const engine = webgpu({ models: [nowhere], device: 'cpu', cache: false, log: () => {} })
    const far = createV1({ engine, keys: 'none' })
    const list = await (await far.fetch(new Request('http://127.0.0.1/v1/models'))).json()
    expect(list).toMatchObject({ data: [{ id: 'test/far', metadata: { loaded: false } }], models: [] })
    expect(list.data[0]).not.toHaveProperty('capabilities')
    await far.close()
  })

  test('a chat with an encoder is a 400, and so are the embeddings of a chat model', async () => {
    const completion = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] })
    await expect(completion).rejects.toMatchObject({ status: 400, param: 'model' })
    const response = client.responses.create({ model, input: 'Hi' })
    await expect(response).rejects.toMatchObject({ status: 400, param: 'model' })
    await expect(client.embeddings.create({ model: chat, input: 'Hi' })).rejects.toMatchObject({
      status: 400,
      param: 'model',
    })
    // Neither was loaded for it.
    const list = await client.models.list()
    const of = (id: string) => list.data.find((each) => each.id === id) as unknown as { metadata: { loaded: boolean } }
    expect(of(chat).metadata.loaded).toBe(false)
  })

  test('its text is cut into tokens and put together again', async () => {
    const post = async (path: string, body: object) => {
      const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
      return (
        await v1.fetch(new Request(`http://device/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
      ).json()
    }
    const cut = (await post('tokenize', { model, prompt: 'w300 W301', return_token_strs: true })) as {
      tokens: number[]
    }
    expect(cut).toMatchObject({ tokens: [4, 300, 301, 5], token_strs: ['[CLS]', 'w300', 'w301', '[SEP]'] })
    expect(await post('detokenize', { model, tokens: [300, 301] })).toEqual({ prompt: 'w300 w301' })
    expect(await post('tokenize', { model, messages: [{ role: 'user', content: 'x' }] })).toMatchObject({
      error: { param: 'messages' },
    })
  })
})

describe('many at once', () => {
  test('answers do not depend on the batch, and a client that leaves delays nobody', async () => {
    const long = Array.from({ length: 400 }, (_, i) => texts[i % texts.length]!)
    const leaver = new AbortController()
    const left = client.embeddings.create({ model, input: long }, { signal: leaver.signal })
    const refused = expect(left).rejects.toMatchObject({ status: 499 })
    const others = Promise.all(texts.map((input) => client.embeddings.create({ model, input })))
    setTimeout(() => leaver.abort(), 20)
    await refused
    near((await others).map(({ data }) => data[0]!.embedding))
  })
})
