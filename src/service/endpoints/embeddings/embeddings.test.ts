import { describe, expect, it } from 'vitest'
import { scripted } from '../../../engines/scripted.js'
import { joined } from '../../../platform/bytes.js'
import type { UsageEvent } from '../../../usage/ledger.js'
import { errorOf, jsonOf, KEY, MODEL, posting, serviceOf, valid } from '../../v1.test-helper.js'
import { ollama } from '../ollama/index.js'

function embedding(capabilities = { embeddings: true }) {
  const counted: UsageEvent[] = []
  const embed = (input: string | readonly number[], dimensions = 3) =>
    Array.from({ length: Math.min(dimensions, 3) }, (_, i) => input.length + i / 4)
  const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities, embed })
  return { counted, ...serviceOf(engine, { onUsage: (event) => counted.push(event) }) }
}

describe('embeddings', () => {
  it.each<[string, unknown, number[][]]>([
    ['a text', 'abc', [[3, 3.25, 3.5]]],
    [
      'texts',
      ['a', 'bc'],
      [
        [1, 1.25, 1.5],
        [2, 2.25, 2.5],
      ],
    ],
    ['tokens', [7, 8, 9, 10], [[4, 4.25, 4.5]]],
    [
      'tokens of several',
      [[7], [8, 9]],
      [
        [1, 1.25, 1.5],
        [2, 2.25, 2.5],
      ],
    ],
  ])('of %s, as numbers and in base64', async (_, input, vectors) => {
    const { ask, counted } = embedding()
    const page = valid('CreateEmbeddingResponse', jsonOf(await ask('/embeddings', posting({ input }))))
    expect(page.data.map(({ embedding }: { embedding: number[] }) => embedding)).toEqual(vectors)
    expect(page).toMatchObject({ object: 'list', model: MODEL, data: vectors.map((_, index) => ({ index })) })
    const packed = jsonOf(await ask('/embeddings', posting({ input, encoding_format: 'base64' })))
    const unpacked = packed.data.map(({ embedding }: { embedding: string }) => [
      ...new Float32Array(new Uint8Array(Buffer.from(embedding, 'base64')).buffer),
    ])
    expect(unpacked).toEqual(vectors)
    expect(page.usage.prompt_tokens).toBeGreaterThan(0)
    expect(counted).toMatchObject([{ outcome: 'ok', promptTokens: page.usage.prompt_tokens }, { outcome: 'ok' }])
  })

  it.each(['/embeddings', '/api/embed'])('of a thousand texts are told in pieces (%s)', async (path) => {
    const embed = (input: string | readonly number[]) => Array.from({ length: 500 }, (_, i) => i / (input.length + 3))
    const engine = scripted({ models: { [MODEL]: 'Hi' }, capabilities: { embeddings: true }, embed })
    const { v1 } = serviceOf(engine, { endpoints: [ollama()] })
    const input = Array.from({ length: 1000 }, (_, i) => 'x'.repeat(1 + (i % 50)))
    const { headers, ...init } = posting({ input })
    const authorization = `Bearer ${KEY}`
    const request = new Request(`http://device.test/v1${path}`, { ...init, headers: { ...headers, authorization } })
    const { body } = await v1.fetch(request)
    const pieces: Uint8Array[] = []
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece)
    for (const { length } of pieces) expect(length).toBeLessThan(200_000)
    const answer = JSON.parse(new TextDecoder().decode(joined(pieces)))
    const vectors = answer.embeddings ?? answer.data.map(({ embedding }: { embedding: number[] }) => embedding)
    // Short, and still the same in 32 bits.
    const kept = (vector: readonly number[]) => Array.from(new Float32Array(vector))
    expect(vectors.map(kept)).toEqual(input.map((one) => kept(embed(one))))
  })

  it('may be shorter where the model offers that', async () => {
    const { ask } = embedding()
    expect(jsonOf(await ask('/embeddings', posting({ input: 'a', dimensions: 2 }))).data[0].embedding).toHaveLength(2)
    expect(errorOf(await ask('/embeddings', posting({ input: 'a', dimensions: 9 })))).toMatchObject({
      status: 400,
      param: 'dimensions',
    })
  })

  it.each<[string, object]>([
    ['input', {}],
    ['input', { input: '' }],
    ['input', { input: [] }],
    ['input[1]', { input: ['a', 1] }],
    ['input[0][0]', { input: [[-1]] }],
    ['encoding_format', { input: 'a', encoding_format: 'hex' }],
    ['dimensions', { input: 'a', dimensions: 0 }],
  ])('are refused by the name of the field: %s %j', async (param, body) => {
    expect(errorOf(await embedding().ask('/embeddings', posting(body)))).toMatchObject({ status: 400, param })
  })

  it('are refused if the model makes none', async () => {
    for (const { ask } of [serviceOf(), embedding({ embeddings: false })]) {
      expect(errorOf(await ask('/embeddings', posting({ input: 'a' })))).toMatchObject({
        status: 400,
        param: 'model',
        code: 'unsupported_model',
      })
    }
  })
})
