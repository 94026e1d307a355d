/** A model that brings a head along that guesses, asked as an application asks: over the service, with a real client. */
import OpenAI from 'openai'
import { afterAll, expect, test } from 'vitest'
import { openCpuDevice } from '../../device/cpu/index.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { createV1, type V1 } from '../../index.js'
import { goodHead } from '../../models/draft-head.test-helper.js'
import type { WeightSource } from '../../models/files/source.js'
import { WebGpuEngine } from './engine.js'
import type { WebGpuOptions } from './options.js'

const open: V1[] = []
afterAll(async () => {
  for (const v1 of open) await v1.close()
})

function engineOf(drafts: WebGpuOptions['drafts'], weights = goodHead()) {
  const text = smallTokenizer()
  return new WebGpuEngine(
    { models: [{ id: 'test/head', contextLength: 512 }], log: () => {}, ...(drafts && { drafts }) },
    {
      openDevice: () => openCpuDevice({ threads: 1 }),
      async openRepository(_, __, ___, check) {
        await check(weights, text)
        return { weights, text }
      },
    },
  )
}

function setUp(drafts: WebGpuOptions['drafts']) {
  const v1 = createV1({ engine: engineOf(drafts), keys: ['secret'] })
  open.push(v1)
  const fetch: typeof globalThis.fetch = (input, init) => v1.fetch(new Request(input, init))
  return new OpenAI({ apiKey: 'secret', baseURL: 'http://device/v1', maxRetries: 0, fetch })
}

async function answersOf(client: OpenAI) {
  const messages = [{ role: 'user' as const, content: 'Once upon a time' }]
  const answers: unknown[] = []
  for (const more of [{ temperature: 0 }, { temperature: 1, seed: 7 }]) {
    const { choices, usage } = await client.chat.completions.create({
      ...{ model: 'test/head', messages, max_tokens: 40, ...more },
    })
    answers.push([choices[0]!.message.content, choices[0]!.finish_reason, usage!.completion_tokens])
  }
  const { metadata } = (await client.models.retrieve('test/head')) as unknown as { metadata: Record<string, unknown> }
  return { answers, metadata }
}

test('it is loaded by itself, said of the model, left where nothing is to be guessed, and changes no answer', async () => {
  const without = await answersOf(setUp('never'))
  for (const drafts of [undefined, 'always'] as const) {
    const { answers, metadata } = await answersOf(setUp(drafts))
    expect(answers).toEqual(without.answers)
    expect(metadata.draft_head).toBe(true)
    expect(Number(metadata.weights_bytes)).toBeGreaterThan(Number(without.metadata.weights_bytes))
  }
  expect(without.metadata).not.toHaveProperty('draft_head')
})

test('one that has more to it than is read is left out, and loading says why', async () => {
  const whole = goodHead()
  const several = { ...whole, chatConfig: { ...whole.chatConfig, mtp_num_hidden_layers: 2 } }
  const own = { ...whole, names: [...whole.names, 'mtp.embed_tokens.weight'] }
  const none = { ...several, names: whole.names.filter((name) => !name.startsWith('mtp.')) }
  const saidOf = async (drafts: WebGpuOptions['drafts'], weights: WeightSource) => {
    const engine = engineOf(drafts, weights)
    const texts: string[] = []
    await engine.load('test/head', ({ message = '' }) => texts.push(message), new AbortController().signal)
    const { draft_head } = engine.models[0]!.metadata!
    await engine.close()
    return [draft_head, ...texts.filter((message) => message.includes('head'))]
  }
  expect(await saidOf('gaining', several)).toEqual([undefined, expect.stringContaining('not used: it has 2 layers')])
  expect(await saidOf('gaining', own)).toEqual([
    undefined,
    expect.stringContaining('not used: it has tables of its own'),
  ])
  for (const [drafts, weights, used] of [
    ['gaining', whole, true],
    ['gaining', none, undefined],
    // Nobody wants it.
    ['never', several, undefined],
  ] as const) {
    expect(await saidOf(drafts, weights)).toEqual([used])
  }
})
