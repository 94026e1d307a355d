import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minilm } from '../../../test/oracles/encoders/bert.js'
import { CROSS_ENCODERS } from '../../../test/oracles/encoders/cross.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Engine } from '../../contract/engine.js'
import { createV1, type V1 } from '../../index.js'
import { writeMadeUp } from '../../models/files/formats/gguf/made-up.test-helper.js'
import { webgpu } from '../webgpu/index.js'
import { llamaCpp } from './index.js'
import type { LlamaCppModule, LlamaCppOptions } from './options.js'
import { hasPeer, lack, loadPeer } from './peer.test-helper.js'

const CONTEXT = 1024
/** Nats: our core and llama.cpp multiply the same numbers in other orders, and keep keys and values in f16. */
const NEAR = 0.02

const folder = ownFolder()
let path: string
beforeAll(async () => {
  path = join(folder, 'made-up.gguf')
  const metadata = (out: { u32(name: string, value: number): void }) => out.u32('llama.context_length', CONTEXT)
  await writeMadeUp(path, { types: { '*': 'F32' }, vocabulary: 'bpe', metadata })
})

const quiet = { device: 'cpu', threads: 1, log: () => {} } as const
const serving = (engine: Engine): V1 => createV1({ engine, keys: 'none', log: () => {} })
const over = (options: Partial<LlamaCppOptions> = {}) =>
  serving(llamaCpp({ models: [path], loader: loadPeer, ...quiet, ...options }))

function request(endpoint: string, body: object, signal?: AbortSignal): Request {
  return new Request(`http://device/v1/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/made-up', ...body }),
    ...(signal && { signal }),
  })
}

/** Of all endpoints, as far as these tests look. */
interface ReplyBody {
  readonly choices: readonly {
    readonly message: { readonly content: string; readonly evidence?: unknown }
    readonly evidence?: unknown
    readonly finish_reason: string
    readonly logprobs: {
      readonly content: readonly { readonly top_logprobs: readonly { readonly logprob: number }[] }[]
      readonly token_logprobs: readonly number[]
    }
  }[]
  readonly answers: readonly {
    readonly probability: number
    readonly probabilities?: readonly { readonly probability: number }[]
  }[]
  readonly usage: {
    readonly prompt_tokens: number
    readonly input_tokens: number
    readonly total_tokens: number
    readonly prompt_tokens_details: { readonly cached_tokens: number }
  }
  readonly error: { readonly code: string; readonly message: string }
  readonly data: readonly {
    readonly id: string
    readonly metadata: Readonly<Record<string, unknown>>
    readonly embedding: readonly number[]
  }[]
}

async function listed(v1: V1): Promise<ReplyBody['data']> {
  return ((await (await v1.fetch(new Request('http://device/v1/models'))).json()) as ReplyBody).data
}

async function ask(v1: V1, endpoint: string, body: object): Promise<{ status: number; json: ReplyBody }> {
  const response = await v1.fetch(request(endpoint, body))
  return { status: response.status, json: (await response.json()) as ReplyBody }
}

const messages = [{ role: 'user', content: 'kalomi resu tane' }]
const schema = {
  type: 'object',
  properties: {
    word: { type: 'string', maxLength: 8 },
    kind: { enum: ['lo', 'mire', 'mi'] },
    count: { type: 'integer' },
  },
  required: ['word', 'kind', 'count'],
  additionalProperties: false,
}
const strict = { response_format: { type: 'json_schema', json_schema: { name: 'it', strict: true, schema } } }

describe.skipIf(!hasPeer)(`llama.cpp under our decoding${lack}`, () => {
  let v1: V1
  let own: V1
  beforeAll(() => {
    v1 = over()
    own = serving(webgpu({ models: [path], worker: false, ...quiet }))
  })
  afterAll(async () => {
    await v1.close()
    await own.close()
  })

  /** Of both: every number of one is near that of the other, and they count the same. */
  async function both(endpoint: string, body: object, numbers: (json: ReplyBody) => readonly number[]): Promise<void> {
    const [theirs, ours] = [await ask(v1, endpoint, body), await ask(own, endpoint, body)]
    expect(theirs.status, JSON.stringify(theirs.json)).toBe(200)
    const [a, b] = [numbers(theirs.json), numbers(ours.json)]
    expect(a.length).toBeGreaterThan(0)
    expect(a.length).toBe(b.length)
    for (const [i, value] of a.entries()) expect(Math.abs(value - b[i]!)).toBeLessThan(NEAR)
    const counts = ({ usage: { prompt_tokens, input_tokens, total_tokens } }: ReplyBody) => [
      ...[prompt_tokens, input_tokens, total_tokens],
    ]
    expect(counts(theirs.json)).toEqual(counts(ours.json))
  }

  it('tells the log probabilities that our own core tells', async () => {
    const body = { messages, max_tokens: 1, temperature: 0, logprobs: true, top_logprobs: 5 }
    await both('chat/completions', body, ({ choices: [choice] }) =>
      choice!.logprobs.content.flatMap(({ top_logprobs }) => top_logprobs.map(({ logprob }) => logprob)),
    )
  })

  it('tells those of a prompt', async () => {
    const body = { prompt: 'kalomi resu tane po vi da go', max_tokens: 0, echo: true, logprobs: 0 }
    await both('completions', body, ({ choices: [choice] }) => choice!.logprobs.token_logprobs.slice(1))
  })

  it('decides with the probabilities that our own core decides with', async () => {
    const questions = [
      { type: 'predicate', instructions: 'It is po.' },
      // Several tokens each, and one that others begin with.
      {
        type: 'choice',
        instructions: 'Which?',
        choices: ['ka', 'kalo', 'something else'].map((value) => ({ value })),
      },
    ]
    await both('decisions', { input: 'kalomi resu tane', questions }, ({ answers }) =>
      answers.flatMap(({ probability, probabilities }) =>
        probabilities ? probabilities.map((each) => each.probability) : [probability],
      ),
    )
  })

  it('answers in strict JSON, with evidence, by chance and in company, as it does alone', async () => {
    const one = (seed: number) =>
      ask(v1, 'chat/completions', { messages, ...strict, seed, max_tokens: 80, evidence: true })
    const alone = []
    for (const seed of [1, 2, 3, 4, 5, 6]) alone.push((await one(seed)).json.choices[0]!.message.content)
    const together = await Promise.all([1, 2, 3, 4, 5, 6].map(one))
    expect(together.map(({ json }) => json.choices[0]!.finish_reason)).toEqual(new Array(6).fill('stop'))
    for (const { json } of together) {
      const it = JSON.parse(json.choices[0]!.message.content)
      expect(Object.keys(it)).toEqual(['word', 'kind', 'count'])
      expect(schema.properties.kind.enum).toContain(it.kind)
      expect(json.choices[0]!.message.evidence ?? json.choices[0]!.evidence).toBeDefined()
    }
    expect(new Set(alone).size).toBeGreaterThan(1)
  })

  it('goes on from what it has read: of the last turn, and of the other choices', async () => {
    const first = await ask(v1, 'chat/completions', {
      messages: [{ role: 'user', content: 'vida gohu jabe' }],
      max_tokens: 4,
      temperature: 0,
      n: 3,
    })
    expect(new Set(first.json.choices.map(({ message }) => message.content)).size).toBe(1)
    const again = await ask(v1, 'chat/completions', {
      messages: [{ role: 'user', content: 'vida gohu jabe' }],
      max_tokens: 4,
      temperature: 0,
    })
    expect(again.json.choices[0]!.message.content).toBe(first.json.choices[0]!.message.content)
    expect(again.json.usage.prompt_tokens_details.cached_tokens).toBe(again.json.usage.prompt_tokens - 1)
  })

  it('says what it runs on', async () => {
    const data = await listed(v1)
    expect(data[0]!.metadata).toMatchObject({ engine: 'llama.cpp', device: 'cpu', loaded: true })
    expect(data[0]!.metadata.device_name).toMatch(/^llama\.cpp /)
    expect(data[0]!.metadata.memory_bytes).toBeGreaterThan(1e6)
    const info = 'http://device/v1/tokenizer_info?model=local/made-up'
    const [theirs, ours] = await Promise.all(
      [v1, own].map(async ({ fetch }) => (await fetch(new Request(info))).json()),
    )
    expect(theirs).toEqual(ours)
    expect(Object.keys(theirs as object)).not.toContain('error')
  })

  it('ends within a step when its caller leaves, while others go on', async () => {
    const aborter = new AbortController()
    const left = await v1.fetch(
      request('chat/completions', { messages, stream: true, max_tokens: 900, min_tokens: 900 }, aborter.signal),
    )
    const reader = left.body!.getReader()
    await reader.read()
    const other = ask(v1, 'chat/completions', { messages, max_tokens: 5, temperature: 0 })
    aborter.abort()
    await reader.cancel().catch(() => {})
    expect((await other).status).toBe(200)
  })

  it('gives everything back: a model that was unloaded is loaded again, a closed engine answers no more', async () => {
    const mine = over()
    await mine.load('local/made-up')
    await mine.fetch(new Request('http://device/v1/models'))
    const before = (await ask(mine, 'chat/completions', { messages, max_tokens: 4, temperature: 0 })).json
    await mine.close()
    const closed = await ask(mine, 'chat/completions', { messages, max_tokens: 4 })
    expect(closed.status).toBe(503)
    const next = over({ maxBatch: 1 })
    const after = (await ask(next, 'chat/completions', { messages, max_tokens: 4, temperature: 0, n: 2 })).json
    expect(after.choices[1]!.message.content).toBe(before.choices[0]!.message.content)
    await next.close()
  })

  it('refuses by its name what llama.cpp does not know, and what is no model', async () => {
    const strange = join(folder, 'strange.gguf')
    await writeMadeUp(strange, {
      types: { '*': 'F32' },
      metadata: (out) => out.text('general.architecture', 'nonsense'),
    })
    await writeFile(join(folder, 'text.gguf'), 'This is no model, but long enough to have a head.'.repeat(20))
    const cases: readonly [string, RegExp][] = [
      [strange, /unknown model architecture: 'nonsense'/],
      [join(folder, 'text.gguf'), /GGUF/],
      [join(folder, 'nowhere.gguf'), /missing/],
      [folder, /GGUF/],
    ]
    for (const [from, message] of cases) {
      const v1 = serving(llamaCpp({ models: [{ id: 'local/made-up', from }], loader: loadPeer, ...quiet }))
      const { status, json } = await ask(v1, 'chat/completions', { messages })
      expect(status).toBe(500)
      expect(json.error.code).toBe('model_files')
      expect(json.error.message).toMatch(message)
      await v1.close()
    }
  })
})

describe.skipIf(!hasPeer)(`vectors by llama.cpp${lack}`, () => {
  it('are those of our own core, and its models do nothing else', async () => {
    const file = join(folder, 'minilm.gguf')
    await writeGguf(file, minilm, encoderWeights(minilm))
    const theirs = over({ models: [file] })
    const ours = serving(webgpu({ models: [file], worker: false, ...quiet }))
    const input = ['the fox', 'a quick brown fox jumps', 'x']
    const body = { model: 'local/minilm', input }
    const [a, b] = [await ask(theirs, 'embeddings', body), await ask(ours, 'embeddings', body)]
    expect(a.status, JSON.stringify(a.json)).toBe(200)
    expect(a.json.usage.prompt_tokens).toBe(b.json.usage.prompt_tokens)
    for (const [i, { embedding }] of a.json.data.entries()) {
      expect(embedding.length).toBe(b.json.data[i]!.embedding.length)
      const cosine = embedding.reduce((sum, value, k) => sum + value * b.json.data[i]!.embedding[k]!, 0)
      expect(cosine).toBeGreaterThan(0.999)
    }
    expect((await ask(theirs, 'chat/completions', { model: 'local/minilm', messages })).status).toBe(400)
    expect((await ask(theirs, 'embeddings', { ...body, input: 'fox '.repeat(5000) })).status).toBe(400)
    await theirs.close()
    await ours.close()
  })

  it('are refused of a model that makes none, before its weights are read', async () => {
    const v1 = over({ loader: () => Promise.reject(new Error('It was loaded.')) })
    const { status, json } = await ask(v1, 'embeddings', { input: 'x' })
    expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'unsupported_model' })
    await v1.close()
  })

  it('are all that is asked for: a model that makes scores is refused by name', async () => {
    const file = join(folder, 'judge.gguf')
    const [judge] = CROSS_ENCODERS
    await writeGguf(file, judge!, encoderWeights(judge!))
    const v1 = over({ models: [file] })
    const { status, json } = await ask(v1, 'chat/completions', { model: 'local/judge', messages })
    expect({ status, code: json.error.code }).toEqual({ status: 400, code: 'unsupported_model' })
    expect(json.error.message).toContain('local-v1/core')
    await v1.close()
  })
})

describe('without node-llama-cpp', () => {
  const absent = () =>
    Promise.reject<LlamaCppModule>(
      Object.assign(new Error("Cannot find package 'node-llama-cpp'"), { code: 'ERR_MODULE_NOT_FOUND' }),
    )

  it('says what to install, and asks again the next time', async () => {
    let attempts = 0
    const v1 = over({
      loader: () => {
        attempts++
        return absent()
      },
    })
    for (const nth of [1, 2]) {
      const { status, json } = await ask(v1, 'chat/completions', { messages })
      expect(status).toBe(503)
      expect(json.error).toMatchObject({ code: 'engine_missing' })
      expect(json.error.message).toContain('npm install node-llama-cpp')
      expect(attempts).toBe(nth)
    }
    await v1.close()
  })

  it('lists its models all the same, and none that were not offered', async () => {
    const v1 = over({ loader: absent })
    const data = await listed(v1)
    expect(data.map(({ id }) => id)).toEqual(['local/made-up'])
    const response = await v1.fetch(request('chat/completions', { model: 'no/model', messages }))
    expect(response.status).toBe(404)
    await v1.close()
  })

  it('refuses what is no list of models', () => {
    expect(() => llamaCpp({} as never)).toThrow(/'models' must be a list/)
    expect(() => llamaCpp({ models: ['what?'] })).toThrow(/is no model/)
    expect(() => llamaCpp({ models: [{ id: 'mine', from: path }] })).toThrow(/<namespace>/)
    expect(() => llamaCpp({ models: [path], drafts: 'some' as never })).toThrow(/'drafts' can be .*"some"/)
    expect(() => llamaCpp({ models: [path], device: 'cuda' as never })).toThrow(/'device' can be .*"cuda"/)
    expect(() => llamaCpp({ models: [path], maxBatch: 0 })).toThrow(/'maxBatch' must be/)
  })
})
