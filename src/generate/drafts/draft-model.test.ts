/** A small model that guesses what the large one says changes how many passes it takes, and nothing of what is said. */
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'
import type { ChatCall } from '../../contract/engine.js'
import { compile } from '../../grammar/structured.js'
import { DecodeLoop } from '../decode-loop.js'
import { call, collect, smallText } from '../testing/call.test-helper.js'
import { RandomModel, type RandomModelOptions } from '../testing/random-model.test-helper.js'
import { DraftModel } from './draft-model.js'
import type { DraftMode } from './mode.js'

const { sampling } = call()
const grammar = compile({
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 20 },
    count: { type: 'integer' },
    kind: { enum: ['first', 'second'] },
  },
  required: ['name', 'count', 'kind'],
  additionalProperties: false,
})
const tool = {
  name: 'look_up',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  grammar: compile({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
}

const KINDS: Readonly<Record<string, Partial<ChatCall>>> = {
  'plain text': {},
  'a schema': { output: { type: 'json_schema', name: 'x', strict: true, schema: {} }, grammar },
  'a tool': { tools: [tool as never], toolChoice: 'required' },
  'a tool, perhaps': { tools: [tool as never] },
  'three choices': { n: 3 },
  'three documents': { n: 3, output: { type: 'json_schema', name: 'x', strict: true, schema: {} }, grammar },
  'stop strings': { stop: ['STOP', 'z'] },
  'log probabilities': { topLogprobs: 2 },
  penalties: { sampling: { ...sampling, frequencyPenalty: 0.4 } },
  'the least length': { minTokens: 12 },
  'a bias': { sampling: { ...sampling, logitBias: new Map([[40, 3]]) } },
}

const requestOf = (kind: string, seed: number, more: Partial<ChatCall> = {}): ChatCall => {
  const part = { ...KINDS[kind]!, ...more }
  return call({ maxTokens: 32, ...part, sampling: { ...sampling, ...part.sampling, seed } })
}

interface Small extends Partial<RandomModelOptions> {
  /** It says something else than the large one. */
  readonly other?: boolean
}

/** Logits hang on so many tokens that two models agree only where they are the same. */
const model = (options: Partial<RandomModelOptions> = {}, other = false) =>
  new RandomModel({
    vocabSize: smallText.tokenizer.size,
    maxSamples: 8,
    ...(other && { bias: (tokens) => new Map([[(tokens.length * 7) % 200, 60]]) }),
    ...options,
  })

async function answers(
  calls: readonly ChatCall[],
  {
    small,
    drafts = 'always',
    large = {},
  }: { small?: Small; drafts?: DraftMode; large?: Partial<RandomModelOptions> } = {},
) {
  const [target, draft] = [model(large), small && model(small, small.other)]
  const decoder = new DecodeLoop(target, smallText, { drafts, ...(draft && { draftModel: new DraftModel(draft) }) })
  const replies = await Promise.all(calls.map((one) => collect(decoder.generate(one), one.n)))
  const { guesses } = decoder
  await decoder.close()
  expect([target.openSequences, draft?.openSequences ?? 0, draft?.closed ?? true]).toEqual([0, 0, true])
  expect(draft?.freePages ?? 512).toBe(small?.pages ?? 512)
  const outputs = replies.map(({ texts, reasons, calls, logprobs, usage: { completionTokens } }) => {
    return { texts, reasons, calls: calls.map((each) => each.map(({ id, ...one }) => one)), logprobs, completionTokens }
  })
  return { outputs, passes: target.steps.length, small: draft?.steps.length ?? 0, guesses: guesses?.model }
}

describe('an answer is the same, token for token', () => {
  test.each(Object.keys(KINDS))('%s', async (kind) => {
    for (const [temperature, small] of [
      [0, { other: true }],
      [1, { ahead: true }],
    ] as const) {
      const calls = [requestOf(kind, 3, { sampling: { ...sampling, ...KINDS[kind]!.sampling, temperature } })]
      const { outputs, passes } = await answers(calls, { drafts: 'never' })
      const same = await answers(calls, { small: {} })
      expect(same.outputs).toEqual(outputs)
      expect((await answers(calls, { small })).outputs).toEqual(outputs)
      // Those that hang on what was said are not guessed.
      if (kind === 'penalties') expect(same.small).toBe(0)
      else expect(same.passes).toBeLessThan(passes)
      expect(same.guesses?.wrong).toBe(0)
    }
  })

  it('in company, where memory is short, and in batches of few', async () => {
    const calls = Object.keys(KINDS).map((kind, seed) => requestOf(kind, seed))
    const { outputs } = await answers(calls, { drafts: 'never' })
    for (const [large, small, drafts] of [
      [{}, {}, 'gaining'],
      [{ pages: 24 }, { pages: 12 }, 'always'],
      [{ maxBatch: 2 }, { other: true }, 'always'],
      [{ maxBatch: 2 }, { maxChunk: 4 }, 'always'],
      [{}, { contextLength: 40 }, 'gaining'],
    ] as const) {
      expect((await answers(calls, { drafts, large, small })).outputs).toEqual(outputs)
    }
  })
})

describe('the small model', () => {
  const long = requestOf('plain text', 5, { maxTokens: 400, ignoreEnds: true })

  it('saves passes for as long as it is right: eight tokens in each where it is the large one', async () => {
    const { passes } = await answers([long], { drafts: 'never' })
    const { passes: drafted, guesses } = await answers([long], { small: {} })
    expect(guesses).toEqual({ right: expect.any(Number), wrong: 0 })
    expect(guesses!.right).toBeGreaterThan(0)
    expect(passes).toBeGreaterThan(7 * drafted)
  })

  it('reads a long prompt a chunk at a time, once for all choices', async () => {
    const messages = [{ role: 'user' as const, content: 'word '.repeat(200) }]
    const calls = [requestOf('three choices', 1, { messages })]
    const { small, guesses } = await answers(calls, { small: {} })
    expect(guesses!.right).toBeGreaterThan(0)
    expect(small).toBeGreaterThan(0)
  })

  it('finds the beginning of a conversation that it has read', async () => {
    const fed: number[] = []
    const draft = model({ before: (batch) => void fed.push(...batch.map(({ tokens }) => tokens.length)) })
    const decoder = new DecodeLoop(model(), smallText, { drafts: 'always', draftModel: new DraftModel(draft) })
    const messages = [{ role: 'user' as const, content: 'word '.repeat(40) }]
    await collect(decoder.generate(requestOf('plain text', 1, { messages })))
    const first = Math.max(...fed.splice(0))
    await collect(decoder.generate(requestOf('plain text', 2, { messages })))
    expect(Math.max(...fed)).toBeLessThan(first / 2)
    await decoder.close()
  })

  it('is left where it gains nothing', async () => {
    // A pass of either takes a millisecond on a clock of their own, however busy the machine is.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const slow = () => void vi.advanceTimersByTime(1)
    const calls = [requestOf('plain text', 5, { maxTokens: 700, ignoreEnds: true })]
    const { small, passes } = await answers(calls, {
      drafts: 'gaining',
      large: { before: slow },
      small: { before: slow, other: true },
    })
    expect(passes).toBe(700)
    expect(small).toBeLessThan(passes / 2)
  })

  it('is left for good where it fails, and nobody hears of it', async () => {
    const { outputs } = await answers([long], { drafts: 'never' })
    let steps = 0
    const before = () => {
      if (++steps === 5) throw new Error('lost')
    }
    const failed = await answers([long], { small: { before } })
    expect(failed.outputs).toEqual(outputs)
    expect(steps).toBe(5)
  })

  it('guesses nothing for a call that is left that the large one then reads', async () => {
    const abort = new AbortController()
    const target = model()
    let passes = 0
    const before = async () => {
      if (target.steps.length < 10 || passes > 0) return
      passes = target.steps.length
      abort.abort(new Error('gone'))
      await new Promise((resolve) => setTimeout(resolve))
    }
    const options = { drafts: 'always', draftModel: new DraftModel(model({ before })) } as const
    const decoder = new DecodeLoop(target, smallText, options)
    await expect(collect(decoder.generate({ ...long, signal: abort.signal }))).rejects.toThrow('gone')
    await decoder.close()
    expect(passes).toBeGreaterThan(0)
    expect(target.steps.length).toBe(passes)
  })

  it('gives back what it holds of a call that is left', async () => {
    const abort = new AbortController()
    const draft = model()
    const decoder = new DecodeLoop(model(), smallText, { drafts: 'always', draftModel: new DraftModel(draft) })
    const left = collect(decoder.generate({ ...long, signal: abort.signal }))
    await new Promise((resolve) => setTimeout(resolve, 5))
    abort.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    await decoder.close()
    expect([draft.openSequences, draft.freePages]).toEqual([0, 512])
  })
})
