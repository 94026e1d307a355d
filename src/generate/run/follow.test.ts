/** Passes that begin before it is known how their tokens are drawn change nothing but when they begin. */
import { describe, expect, it, test } from 'vitest'
import type { ChatCall } from '../../contract/engine.js'
import { compile } from '../../grammar/structured.js'
import { call, collect, setUp, smallText } from '../testing/call.test-helper.js'
import type { RandomModelOptions } from '../testing/random-model.test-helper.js'
import { Ahead } from './ahead.js'

const json = { type: 'json_schema', name: 'x', strict: true, schema: {} } as const
const schema = (properties: Readonly<Record<string, object>>) =>
  compile({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })
const LONG = schema({ text: { type: 'string', maxLength: 40 } })
const FORCED = schema({ first_name: { type: 'boolean' }, last_name: { type: 'null' }, count: { enum: [1, 20, 300] } })
const MIXED = schema({
  a: { type: 'string', maxLength: 12 },
  b: { type: 'integer' },
  c: { type: 'array', items: { type: 'boolean' }, maxItems: 4 },
})
const sampling = call().sampling

const KINDS: Readonly<Record<string, Partial<ChatCall>>> = {
  'a long string': { output: json, grammar: LONG },
  'much that is forced': { output: json, grammar: FORCED },
  'some of both': { output: json, grammar: MIXED },
  'several answers of a grammar': { output: json, grammar: MIXED, n: 3 },
  penalties: { sampling: { ...sampling, frequencyPenalty: 0.5, presencePenalty: 0.2 } },
  repetitions: { sampling: { ...sampling, repetitionPenalty: 1.3 } },
  'stretches that are not repeated': { sampling: { ...sampling, dryMultiplier: 0.8 } },
  'the least length': { minTokens: 20 },
  'texts that end it': { stop: ['e', 'a b'], sampling: { ...sampling, frequencyPenalty: 0.1 } },
  'a limit': { maxTokens: 12, output: json, grammar: LONG },
  'log probabilities': { output: json, grammar: MIXED, topLogprobs: 2 },
  'plain text': {},
}

const requestOf = (kind: string, seed: number): ChatCall =>
  call({ maxTokens: 60, ...KINDS[kind]!, sampling: { ...sampling, ...KINDS[kind]!.sampling, seed } })

async function answers(calls: readonly ChatCall[], options: Partial<RandomModelOptions>) {
  const { decoder, model } = setUp(options)
  const replies = await Promise.all(calls.map((one) => collect(decoder.generate(one), one.n)))
  await decoder.close()
  expect(model.openSequences).toBe(0)
  const parts = replies.map((each) => each.parts.filter(({ type }) => type !== 'usage'))
  return { model, parts, texts: replies.map((each) => each.texts) }
}

describe('an answer is the same, token for token', () => {
  test.each(Object.keys(KINDS))('%s', async (kind) => {
    for (let seed = 0; seed < 4; seed++) {
      const one = [requestOf(kind, seed)]
      const { parts } = await answers(one, {})
      expect((await answers(one, { follows: true })).parts).toEqual(parts)
      expect((await answers(one, { follows: true, ahead: true })).parts).toEqual(parts)
    }
  })

  it('beside others, where memory is short, and for as long as the context reaches', async () => {
    const calls = Object.keys(KINDS).map((kind, seed) => requestOf(kind, seed))
    const { texts } = await answers(calls, {})
    for (const options of [{}, { pages: 24 }, { maxBatch: 2 }]) {
      const found = await answers(calls, { follows: true, ahead: true, ...options })
      expect(found.texts).toEqual(texts)
    }
    const prompt = smallText.prompt(call()).length
    const short = [requestOf('penalties', 1)]
    const limits = { contextLength: prompt + 12 }
    expect((await answers(short, { follows: true, ...limits })).parts).toEqual((await answers(short, limits)).parts)
  })
})

describe('a pass', () => {
  it('begins before its mask is made wherever a token is drawn after another', async () => {
    const { model } = await answers([requestOf('a long string', 1)], { follows: true })
    expect(model.begun.used).toBeGreaterThan(5)
    // All but where the string begins and ends.
    expect(model.begun.all - model.begun.used).toBeLessThanOrEqual(3)
  })

  it('is begun once for nothing where an answer ends, and what it held is given back', async () => {
    const { model } = await answers([requestOf('penalties', 2)], { follows: true })
    expect(model.begun.all - model.begun.used).toBeLessThanOrEqual(1)
    expect(model.freePages).toBe(512)
  })
})

describe('where what is begun is of no use', () => {
  it('no more is begun for a while, then a few again', () => {
    const ahead = new Ahead()
    let begun = 0
    for (let step = 0; step < 1000; step++) {
      if (!ahead.pays()) continue
      begun++
      ahead.came(false)
    }
    expect(begun).toBeGreaterThan(20)
    expect(begun).toBeLessThan(200)
  })

  it('it goes on where most is', () => {
    const ahead = new Ahead()
    for (let step = 0; step < 1000; step++) {
      expect(ahead.pays()).toBe(true)
      ahead.came(step % 4 !== 0)
    }
  })
})

it('plain text runs ahead for as long as nobody else asks', async () => {
  const runs: number[] = []
  const { decoder, model } = setUp(
    { ahead: true, bias: () => new Map([...smallText.ends].map((id) => [id, -100])) },
    undefined,
    128,
  )
  const run = model.run!
  Object.assign(model, {
    run: (batch: never, steps: number) => {
      runs.push(steps)
      return run(batch, steps)
    },
  })
  await collect(decoder.generate(call({ maxTokens: 100 })))
  expect(runs.length).toBeLessThanOrEqual(2)
  await decoder.close()
})
