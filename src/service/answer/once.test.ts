import { describe, expect, it } from 'vitest'
import type { Engine, TokenizeCall } from '../../contract/engine.js'
import { scripted } from '../../engines/scripted.js'
import { joined } from '../../platform/bytes.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { ollama } from '../endpoints/ollama/index.js'
import { errorOf, jsonOf, KEY, MODEL, serviceOf, until, valid } from '../v1.test-helper.js'

const json = (body: object) => ({
  method: 'POST',
  body: JSON.stringify({ model: MODEL, ...body }),
  headers: { 'content-type': 'application/json' },
})

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
    const page = valid('CreateEmbeddingResponse', jsonOf(await ask('/embeddings', json({ input }))))
    expect(page.data.map(({ embedding }: { embedding: number[] }) => embedding)).toEqual(vectors)
    expect(page).toMatchObject({ object: 'list', model: MODEL, data: vectors.map((_, index) => ({ index })) })
    const packed = jsonOf(await ask('/embeddings', json({ input, encoding_format: 'base64' })))
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
    const { headers, ...init } = json({ input })
    const authorization = `Bearer ${KEY}`
    const request = new Request(`http://device.test/v1${path}`, { ...init, headers: { ...headers, authorization } })
    const { body } = await v1.fetch(request)
    const pieces: Uint8Array[] = []
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece)
    for (const { length } of pieces) expect(length).toBeLessThan(200_000)
    const told = JSON.parse(new TextDecoder().decode(joined(pieces)))
    const vectors = told.embeddings ?? told.data.map(({ embedding }: { embedding: number[] }) => embedding)
    // Short, and still the same in 32 bits.
    const kept = (vector: readonly number[]) => Array.from(new Float32Array(vector))
    expect(vectors.map(kept)).toEqual(input.map((one) => kept(embed(one))))
  })

  it('may be shorter where the model offers that', async () => {
    const { ask } = embedding()
    expect(jsonOf(await ask('/embeddings', json({ input: 'a', dimensions: 2 }))).data[0].embedding).toHaveLength(2)
    expect(errorOf(await ask('/embeddings', json({ input: 'a', dimensions: 9 })))).toMatchObject({
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
    expect(errorOf(await embedding().ask('/embeddings', json(body)))).toMatchObject({ status: 400, param })
  })

  it('are refused if the model makes none', async () => {
    for (const { ask } of [serviceOf(), embedding({ embeddings: false })]) {
      expect(errorOf(await ask('/embeddings', json({ input: 'a' })))).toMatchObject({
        status: 400,
        param: 'model',
        code: 'unsupported_model',
      })
    }
  })
})

describe('tokens', () => {
  it('of a text and of a conversation, and back', async () => {
    const { ask } = serviceOf()
    const made = jsonOf(await ask('/tokenize', json({ prompt: 'hé', return_token_strs: true })))
    expect(made).toMatchObject({ count: 3, tokens: [104, 195, 169], max_model_len: null })
    expect(made.token_strs).toHaveLength(3)
    expect(jsonOf(await ask('/detokenize', json({ tokens: made.tokens })))).toEqual({ prompt: 'hé' })
    const talk = jsonOf(await ask('/tokenize', json({ messages: [{ role: 'user', content: 'hé' }] })))
    expect(talk).toMatchObject({ count: 3, token_strs: null })
  })

  it('of a text without special tokens, and unknown fields are named', async () => {
    const calls: TokenizeCall[] = []
    const { ask } = serviceOf({
      models: [{ id: MODEL, ownedBy: 'me' }],
      async *generate() {},
      async tokenize(call) {
        calls.push(call)
        return { tokens: [], texts: [] }
      },
    })
    for (const surrounded of [false, true, undefined]) {
      const answer = await ask('/tokenize', json({ prompt: 'x', add_special_tokens: surrounded, frobnicate: 1 }))
      expect([answer.status, answer.headers.get('x-ignored-fields')]).toEqual([200, 'frobnicate'])
    }
    expect(calls.map((call) => 'bare' in call && call.bare)).toEqual([true, false, false])
    const messages = [{ role: 'user', content: 'x' }]
    for (const field of [
      { add_special_tokens: true },
      { add_generation_prompt: false },
      { continue_final_message: true },
    ]) {
      expect(errorOf(await ask('/tokenize', json({ messages, ...field })))).toMatchObject({
        ...{ status: 400, param: Object.keys(field)[0], code: 'unsupported_parameter' },
      })
    }
    const usual = { add_special_tokens: false, add_generation_prompt: true, continue_final_message: false }
    expect((await ask('/tokenize', json({ messages, ...usual }))).status).toBe(200)
  })

  it('are described by tokenizer_info, for the model that is named or the only one', async () => {
    const info = { tokenizer_class: 'ByteTokenizer' }
    const one = serviceOf()
    for (const query of ['', `?model=${MODEL}`]) expect(jsonOf(await one.ask(`/tokenizer_info${query}`))).toEqual(info)
    expect(errorOf(await one.ask('/tokenizer_info?model=no/such'))).toMatchObject({ status: 404, param: 'model' })
    const two = serviceOf(scripted({ models: { [MODEL]: '', 'test/other': '' } }))
    expect(jsonOf(await two.ask('/tokenizer_info?model=test/other'))).toEqual(info)
    expect(errorOf(await two.ask('/tokenizer_info'))).toMatchObject({ status: 400, param: 'model' })
  })

  it('are refused where the engine knows none', async () => {
    const { ask } = serviceOf({ models: [{ id: MODEL, ownedBy: 'me' }], async *generate() {} })
    for (const [path, body] of [
      ['/tokenize', { prompt: 'x' }],
      ['/detokenize', { tokens: [1] }],
    ] as const) {
      expect(errorOf(await ask(path, json(body)))).toMatchObject({
        status: 400,
        param: 'model',
        code: 'unsupported_model',
      })
    }
  })
})

describe('a model that is not loaded yet', () => {
  const capabilities = { embeddings: true }

  it('is loaded first, and takes nobody’s place meanwhile', async () => {
    const steps: string[] = []
    const gates = new Map<string, () => void>()
    const pass = (step: string) =>
      new Promise<void>((resolve) => {
        steps.push(step)
        gates.set(step, resolve)
      })
    const engine: Engine = {
      models: [MODEL, 'test/other'].map((id) => ({ id, ownedBy: 'me', capabilities })),
      async *generate() {},
      load: async (model) => (model === MODEL ? pass('load') : undefined),
      async embed({ model, inputs }) {
        if (model === MODEL) await pass('embed')
        return { vectors: inputs.map(() => [1]), promptTokens: 1 }
      },
    }
    const { ask } = serviceOf(engine, { maxInFlight: 1, maxQueue: 0 })
    const embed = (model: string) => ask('/embeddings', json({ model, input: 'x' }))
    const first = embed(MODEL)
    await until(() => steps.includes('load'))
    expect((await embed('test/other')).status).toBe(200)
    expect(steps).toEqual(['load'])
    gates.get('load')!()
    await until(() => steps.includes('embed'))
    // Now it has one itself.
    expect(errorOf(await embed('test/other'))).toMatchObject({ status: 429, code: 'queue_full' })
    gates.get('embed')!()
    expect((await first).status).toBe(200)
    expect((await embed('test/other')).status).toBe(200)
  })

  it('keeps no place back from a request whose model is there', async () => {
    const asked: unknown[] = []
    const engine: Engine = {
      models: [{ id: MODEL, ownedBy: 'me', capabilities }],
      async *generate() {},
      async embed({ inputs }) {
        asked.push(...inputs)
        return { vectors: inputs.map(() => [1]), promptTokens: 1 }
      },
    }
    const { ask } = serviceOf(engine, { maxInFlight: 1, maxQueue: 5 })
    const inputs = ['first', 'second', 'third']
    const answers = await Promise.all(inputs.map((input) => ask('/embeddings', json({ input }))))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(asked).toEqual(inputs)
  })

  it('may be loaded for nothing else, which counts no tokens', async () => {
    const loaded: string[] = []
    const counted: UsageEvent[] = []
    const engine: Engine = {
      ...scripted({ models: { [MODEL]: 'Hi' } }),
      load: async (model) => void loaded.push(model),
    }
    const { ask } = serviceOf(engine, { endpoints: [ollama()], onUsage: (event) => counted.push(event) })
    const answer = await ask('/api/generate', json({}))
    const notices = ['x-ignored-fields', 'x-not-enforced'].map((name) => answer.headers.get(name))
    expect([answer.status, ...notices]).toEqual([200, null, null])
    expect([loaded, counted]).toEqual([[MODEL], []])
  })
})

describe('health', () => {
  it('is answered without a key, under the base path and outside it', async () => {
    const { v1, ask } = serviceOf()
    expect(jsonOf(await ask('/health', { headers: { authorization: '' } }))).toEqual({ status: 'ok' })
    expect(jsonOf(await ask('/ping', { headers: { authorization: '' } }))).toEqual({ status: 'ok' })
    expect(jsonOf(await ask('/version', { headers: { authorization: '' } }))).toEqual({ version: expect.any(String) })
    const outside = new Request('http://x/health')
    expect((await v1.fetch(outside)).status).toBe(200)
    // An application keeps a path of its own.
    expect(v1.match(outside)).toBe(false)
  })

  it('is 503 once the service closes', async () => {
    const { v1, ask } = serviceOf()
    await v1.close()
    expect((await ask('/health')).status).toBe(503)
  })
})
