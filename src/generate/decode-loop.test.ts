import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { countTurns } from '../../test/support/count-turns.js'
import type { ChatCall, Part, TokenLogprob } from '../contract/engine.js'
import { compile } from '../grammar/structured.js'
import { ChatText } from './chat-text.js'
import { call, collect, nextTurn, setUp, smallText } from './testing/call.test-helper.js'
import type { RandomModelOptions } from './testing/random-model.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'

/** By turns, not by a clock: a busy machine is slow. */
async function untilStep(model: { readonly steps: readonly unknown[] }, at: number): Promise<void> {
  while (model.steps.length <= at) await nextTurn()
}

const asks = (text: string) => [{ role: 'user' as const, content: text }]

/** Steps take no time here, so that a rest that any piece of work may call for on a busy machine has hundreds of them. */
function standingClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('one answer', () => {
  test('ends at max_tokens with every token counted', async () => {
    const { decoder, model } = setUp({ bias: () => new Map([...smallText.ends].map((id) => [id, -100])) })
    const answer = await collect(decoder.generate(call({ maxTokens: 20 })))
    expect(answer.reasons).toEqual(['length'])
    expect(answer.usage.completionTokens).toBe(20)
    expect(answer.usage.promptTokens).toBe(smallText.prompt(call()).length)
    expect(model.steps).toHaveLength(20)
  })

  test('ends at an end token, which is not text', async () => {
    const end = [...smallText.ends][0]!
    const { decoder } = setUp({ bias: (tokens) => new Map(tokens.length > 30 ? [[end, 100]] : []) })
    const answer = await collect(decoder.generate(call()))
    expect(answer.reasons).toEqual(['stop'])
    expect(answer.texts[0]).not.toContain('<|')
  })

  test('the same seed gives the same text, another seed another', async () => {
    const { decoder } = setUp()
    const text = async (seed: number) => {
      const sampling = { ...call().sampling, seed }
      return (await collect(decoder.generate(call({ maxTokens: 24, sampling })))).texts[0]
    }
    expect(await text(5)).toBe(await text(5))
    expect(await text(5)).not.toBe(await text(6))
  })

  test('log probabilities spell the text', async () => {
    const { decoder } = setUp()
    const answer = await collect(decoder.generate(call({ maxTokens: 40, topLogprobs: 3 })))
    const bytes = answer.logprobs[0]!.flatMap((entry) => [...(entry.bytes ?? [])])
    expect(new TextDecoder().decode(Uint8Array.from(bytes)).startsWith(answer.texts[0]!)).toBe(true)
    for (const entry of answer.logprobs[0]!) {
      expect(entry.logprob).toBeLessThanOrEqual(0)
      expect(entry.top).toHaveLength(3)
    }
  })

  test('are shown by their numbers if the request asks for it', async () => {
    const request = call({ maxTokens: 12, topLogprobs: 2, returnTokens: true })
    const [plain, numbered] = await Promise.all(
      [false, true].map(async (tokensAsIds) => collect(setUp().decoder.generate({ ...request, tokensAsIds }))),
    )
    const entries = (answer: typeof numbered) => answer!.logprobs[0]!.flatMap(({ top, ...own }) => [own, ...top])
    expect(
      entries(numbered)
        .map(({ token }) => token)
        .every((token) => /^token_id:\d+$/.test(token)),
    ).toBe(true)
    const bytesOf = (id: string) => [...smallText.tokenizer.bytes(Number(id.slice('token_id:'.length)))]
    for (const { token, bytes } of entries(numbered))
      if (bytesOf(token).length > 0) expect(bytesOf(token)).toEqual(bytes)
    const nameless = (answer: typeof numbered) => entries(answer).map(({ token: _, ...rest }) => rest)
    expect(nameless(numbered)).toEqual(nameless(plain))
  })

  test('a prompt that leaves no room is refused with both numbers', async () => {
    const { decoder } = setUp({ contextLength: 50 })
    const long = collect(decoder.generate(call({ messages: asks('word '.repeat(100)) })))
    await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' })
    await expect(long).rejects.toThrow(/maximum context length is 50 tokens.*resulted in \d+ tokens/)
  })

  test.each([
    ['its bytes tell at once', 1_000_000, 0],
    ['counting tells', 60_000, 30],
  ])('a prompt far beyond the context is refused as soon as %s', async (_, words, slices) => {
    const text = new ChatText(smallTokenizer())
    const work = text.promptInSlices(call({ messages: asks('word '.repeat(words)) }), 50)
    let pauses = 0
    const toItsEnd = () => {
      while (!work.next().done) pauses++
    }
    expect(toItsEnd).toThrow(/maximum context length is 50 tokens.*resulted in more than \d+ tokens/)
    // The whole would have taken a pause for every 2,000 characters of it.
    expect(pauses).toBeLessThanOrEqual(slices)
  })

  test('a long prompt is tokenized in turns of the event loop, and dropped as soon as its client leaves', async () => {
    // On a clock that stands still, each slice is followed by one turn.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { decoder, model } = setUp({ contextLength: 100_000, pages: 8192 })
    const [first, second] = [new AbortController(), new AbortController()]
    const ask = (text: string, { signal }: AbortController) =>
      collect(decoder.generate(call({ messages: asks(text.repeat(8000)), maxTokens: 1, signal })))
    const answers = Promise.allSettled([ask('one two three ', first), ask('four five six ', second)])
    // Turns of the loop in which nothing was fed yet: the prompts are still being read.
    let turns = 0
    for (; model.steps.length === 0 && turns < 1000; turns++) {
      if (turns === 20) first.abort(new Error('gone'))
      await nextTurn()
    }
    // 112,000 characters in slices of 2,048, and some turns of the other one.
    expect(turns).toBeGreaterThan(50)
    expect(turns).toBeLessThan(150)
    expect(await answers).toMatchObject([{ status: 'rejected', reason: { message: 'gone' } }, { status: 'fulfilled' }])
    expect(model.openSequences).toBeLessThanOrEqual(1)
  })
})

describe('when an answer ends', () => {
  const end = [...smallText.ends][0]!
  const eager = () => setUp({ bias: () => new Map([[end, 100]]) })

  test('not before min_tokens, whatever the model wants', async () => {
    const { decoder } = eager()
    for (const minTokens of [1, 5, 17]) {
      const answer = await collect(decoder.generate(call({ minTokens, maxTokens: 40, returnTokens: true })))
      expect([answer.usage.completionTokens, answer.reasons]).toEqual([minTokens, ['stop']])
    }
  })

  test('nor at a stop string that ends before min_tokens', async () => {
    const { decoder } = setUp({ bias: () => new Map([[end, -100]]) })
    const plain = call({ maxTokens: 60, returnTokens: true })
    const whole = await collect(decoder.generate(plain))
    const text = whole.texts[0]!
    const stop = text.slice(2, 5)
    const minTokens = 12
    const { tokenizer } = smallText
    const bytes = tokensOf(whole)
      .slice(0, minTokens)
      .reduce((sum, token) => sum + tokenizer.bytes(token).length, 0)
    const head = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes))
    const next = text.indexOf(stop, head.length - stop.length + 1)
    const answer = await collect(decoder.generate({ ...plain, minTokens, stop: [stop] }))
    expect(answer.texts[0]).toBe(next < 0 ? text : text.slice(0, next))
    expect(answer.texts[0]!.length).toBeGreaterThan(text.indexOf(stop))
  })

  test('at a token that the request names, which is reported and is not part of the text', async () => {
    const { decoder } = setUp({ bias: () => new Map([[end, -100]]) })
    const plain = call({ maxTokens: 30, returnTokens: true })
    const whole = await collect(decoder.generate(plain))
    const stopTokens = [tokensOf(whole)[9]!]
    const at = tokensOf(whole).indexOf(stopTokens[0]!)
    const answer = await collect(decoder.generate({ ...plain, stopTokens }))
    expect(tokensOf(answer)).toEqual(tokensOf(whole).slice(0, at + 1))
    expect([answer.usage.completionTokens, answer.reasons]).toEqual([at, ['stop']])
    await expect(collect(decoder.generate(call({ stopTokens: [5, 1e6] })))).rejects.toMatchObject({
      status: 400,
      param: 'stop_token_ids[1]',
    })
  })

  test('not at the end token if that is ignored', async () => {
    const { decoder } = eager()
    const answer = await collect(decoder.generate(call({ ignoreEnds: true, maxTokens: 9, returnTokens: true })))
    expect(tokensOf(answer)).toEqual(new Array(9).fill(end))
    expect([answer.texts[0], answer.reasons]).toEqual(['', ['length']])
    const both = call({ ignoreEnds: true, stopTokens: [end], maxTokens: 9 })
    expect((await collect(decoder.generate(both))).reasons).toEqual(['stop'])
  })

  test('the prompt’s tokens come first, and what they spell is what was rendered', async () => {
    const { decoder } = setUp()
    const { parts } = await collect(decoder.generate(call({ maxTokens: 3, returnTokens: true })))
    const rendered = '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n'
    expect(parts[0]).toEqual({ type: 'prompt', tokens: smallText.prompt(call()), text: rendered })
    const untold = await collect(decoder.generate(call({ maxTokens: 3 })))
    expect(untold.parts.some((part) => part.type === 'prompt' || (part.type === 'finish' && part.tokens))).toBe(false)
  })
})

describe('a prompt whose tokens are scored', () => {
  const size = smallText.tokenizer.size
  const prompt = Array.from({ length: 75 }, (_, i) => (i * 37 + 11) % size)
  const scored = (part: Partial<ChatCall> = {}) =>
    call({ messages: [], prompt, promptLogprobs: true, topLogprobs: 2, maxTokens: 3, ...part })
  const toldBy = ({ parts }: { parts: readonly Part[] }) => (parts[0] as Part & { type: 'prompt' }).logprobs!

  /** Each in an answer of its own, of which the next token is made certain. */
  async function oneByOne() {
    const { decoder } = setUp()
    const logprobs = []
    for (let at = 1; at < prompt.length; at++) {
      const sampling = { temperature: 0, logitBias: new Map([[prompt[at]!, 1000]]) }
      const request = call({
        messages: [],
        prompt: prompt.slice(0, at),
        topLogprobs: 2,
        maxTokens: 1,
        ignoreEnds: true,
      })
      logprobs.push((await collect(decoder.generate({ ...request, sampling }))).logprobs[0]![0])
    }
    return logprobs
  }
  let expected: (TokenLogprob | undefined)[]
  beforeAll(async () => {
    expected = await oneByOne()
  })

  test.each<[string, Partial<RandomModelOptions>]>([
    ['one at a time', {}],
    ['several at a time', { maxSamples: 8 }],
    ['one sequence at a time', { maxBatch: 1 }],
    ['chunks that are smaller than that', { maxSamples: 8, maxChunk: 3 }],
    ['steps that run ahead', { maxSamples: 8, ahead: true }],
  ])('reports for each what an answer would report: %s', async (_, options) => {
    const { decoder, model } = setUp(options)
    const answer = await collect(decoder.generate(scored()))
    const [first, ...others] = toldBy(answer)
    expect(first).toMatchObject({ logprob: null, top: [] })
    // Special tokens are none that an answer tells.
    others.forEach((entry, i) => {
      const known = expected[i]
      if (known) expect(entry).toEqual(known)
      else expect(smallText.tokenizer.special.has(prompt[i + 1]!)).toBe(true)
    })
    expect(expected.filter(Boolean).length).toBeGreaterThan(60)
    const plain = await collect(setUp().decoder.generate(scored({ promptLogprobs: false })))
    expect(answer.texts).toEqual(plain.texts)
    expect(answer.logprobs).toEqual(plain.logprobs)
    // Again from a cache that holds all of it: what was fed before is not what was scored.
    expect(toldBy(await collect(decoder.generate(scored())))).toEqual(toldBy(answer))
    expect(model.openSequences).toBeLessThan(3)
  })

  test('several beside each other, with little memory, and beside one that writes', async () => {
    const alone = toldBy(await collect(setUp().decoder.generate(scored())))
    const { decoder, model } = setUp({ maxSamples: 8, pages: 14 })
    const calls = [
      scored(),
      scored({ n: 2 }),
      call({ maxTokens: 60 }),
      scored({ maxTokens: 40 }),
      scored({ maxTokens: 0 }),
    ]
    const answers = await Promise.all(calls.map((each) => collect(decoder.generate(each), each.n)))
    for (const at of [0, 1, 3, 4]) expect(toldBy(answers[at]!)).toEqual(alone)
    expect(answers[4]).toMatchObject({ texts: [''], reasons: ['length'], usage: { completionTokens: 0 } })
    expect(answers[1]!.parts.filter(({ type }) => type === 'prompt')).toHaveLength(1)
    await decoder.close()
    expect([model.openSequences, model.freePages]).toEqual([0, 14])
  })

  test('and nothing else: no token is said, nor is the last one fed', async () => {
    const { decoder, model } = setUp({ maxSamples: 8, contextLength: prompt.length })
    const answer = await collect(decoder.generate(scored({ maxTokens: 0, n: 3 })), 3)
    expect(answer.parts.map(({ type }) => type)).toEqual(['prompt', 'usage', 'finish', 'finish', 'finish', 'usage'])
    expect(answer.reasons).toEqual(['length', 'length', 'length'])
    expect(model.steps.flat().reduce((sum, { tokens }) => sum + tokens, 0)).toBe(prompt.length - 1)
    const one = await collect(decoder.generate(scored({ prompt: [5], maxTokens: 0 })))
    expect(toldBy(one)).toMatchObject([{ logprob: null }])
    const none = await collect(decoder.generate(call({ messages: [], prompt, maxTokens: 0 })))
    expect(none.parts.map(({ type }) => type)).toEqual(['usage', 'finish', 'usage'])
    expect(model.steps.flat().reduce((sum, { tokens }) => sum + tokens, 0)).toBe(prompt.length - 1)
    await expect(collect(decoder.generate(scored()))).rejects.toMatchObject({ code: 'context_length_exceeded' })
  })

  test('is left at any step, and no sequence with it', async () => {
    for (let step = 0; step < 6; step++) {
      const leaving = new AbortController()
      let steps = 0
      const { decoder, model } = setUp({ maxSamples: 8, before: () => void (steps++ === step && leaving.abort()) })
      await expect(collect(decoder.generate(scored({ signal: leaving.signal })))).rejects.toThrow()
      const answer = await collect(decoder.generate(scored({ maxTokens: 0 })))
      expect(toldBy(answer)).toHaveLength(prompt.length)
      await decoder.close()
      expect(model.openSequences).toBe(0)
    }
  })
})

/** All tokens of the first choice. */
function tokensOf({ parts }: { parts: readonly Part[] }): readonly number[] {
  return parts.flatMap((part) => (part.type === 'finish' && part.choice === 0 ? (part.tokens ?? []) : []))
}

describe('a gap', () => {
  const files = smallTokenizer()
  const fim = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']
  const last = files.tokenizer.added_tokens.at(-1)!
  const added = [
    ...files.tokenizer.added_tokens,
    ...fim.map((content, i) => ({ ...last, content, id: last.id + 1 + i })),
  ]
  const text = new ChatText({ ...files, tokenizer: { ...files.tokenizer, added_tokens: added } })

  test('is filled by models that were trained for it, with their own tokens', async () => {
    const request = call({ messages: [], prompt: 'The quick', suffix: ' the dog', maxTokens: 3, returnTokens: true })
    const { decoder } = setUp({}, text)
    expect(decoder.capabilities.infill).toBe(true)
    const { parts } = await collect(decoder.generate(request))
    expect(parts[0]).toMatchObject({
      tokens: text.tokenizer.encodeMarker('<|fim_prefix|>The quick<|fim_suffix|> the dog<|fim_middle|>'),
    })
    expect(setUp().decoder.capabilities.infill).toBe(false)
  })
})

describe('a repetition penalty', () => {
  test('makes less likely what prompt and answer contain, however long ago', async () => {
    const prompt = [7, 8, 9]
    const { decoder } = setUp({ bias: () => new Map([7, 8, 9, 20, 21, 22].map((token) => [token, 120 - 3 * token])) })
    const generated = async (repetitionPenalty?: number) => {
      const sampling = { ...call().sampling, temperature: 0, ...(repetitionPenalty && { repetitionPenalty }) }
      return tokensOf(
        await collect(decoder.generate(call({ messages: [], prompt, maxTokens: 3, sampling, returnTokens: true }))),
      )
    }
    expect(await generated()).toEqual([7, 7, 7])
    expect(await generated(3)).toEqual([20, 21, 22])
  })
})

describe('stop strings', () => {
  test('never show, however the text is divided into tokens', async () => {
    const { decoder } = setUp()
    const whole = (await collect(decoder.generate(call({ maxTokens: 60 })))).texts[0]!
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: whole.length - 4 }), fc.integer({ min: 1, max: 4 }), async (at, length) => {
        const stop = whole.slice(at, at + length)
        const answer = await collect(decoder.generate(call({ maxTokens: 60, stop: [stop] })))
        expect(answer.texts[0]).toBe(whole.slice(0, whole.indexOf(stop)))
        expect(answer.reasons).toEqual(['stop'])
        expect(answer.parts.find(({ type }) => type === 'finish')).toMatchObject({ stop })
      }),
      { numRuns: 60 },
    )
  })
})

describe('side by side', () => {
  beforeEach(standingClock)

  test.each([false, true])('answers are those of single calls (steps ahead: %s)', async (ahead) => {
    const calls = Array.from({ length: 12 }, (_, i) =>
      call({
        messages: asks(`${'long '.repeat((i % 4) * 30)}question ${i}`),
        maxTokens: 10 + i * 3,
        sampling: { ...call().sampling, seed: i, frequencyPenalty: i % 3 === 0 ? 0.5 : 0 },
      }),
    )
    const alone: string[] = []
    for (const one of calls) alone.push((await collect(setUp({ ahead }).decoder.generate(one))).texts[0]!)
    const { decoder, model } = setUp({ ahead })
    const together = await Promise.all(calls.map((one) => collect(decoder.generate(one))))
    expect(together.map((answer) => answer.texts[0])).toEqual(alone)
    expect(Math.max(...model.steps.map((step) => step.length))).toBeGreaterThan(3)
  })

  test('a long prompt comes in chunks while others go on writing', async () => {
    const { decoder, model } = setUp({ maxChunk: 32 })
    const writer = collect(decoder.generate(call({ maxTokens: 60 })))
    await nextTurn()
    await nextTurn()
    await collect(decoder.generate(call({ messages: asks('word '.repeat(200)), maxTokens: 2 })))
    await writer
    const mixed = model.steps.filter((step) => step.length === 2 && step.some((row) => !row.sampled))
    expect(mixed.length).toBeGreaterThan(5)
    for (const step of mixed) expect(step.some((row) => row.sampled && row.tokens === 1)).toBe(true)
  })

  test('a short prompt is read before longer ones, and the oldest of them is read on meanwhile', async () => {
    const bias = () => new Map([...smallText.ends].map((id) => [id, -100]))
    const { decoder, model } = setUp({ bias, maxChunk: 32 })
    const writer = collect(decoder.generate(call({ maxTokens: 120 })))
    await untilStep(model, 5)
    const long = (i: number) => call({ messages: asks(`${i} ${'word '.repeat(200)}`), maxTokens: 2 })
    const longs = [0, 1, 2].map((i) => collect(decoder.generate(long(i))))
    await untilStep(model, 10)
    const before = model.steps.length
    const { usage } = await collect(decoder.generate(call({ messages: asks('now'), maxTokens: 1 })))
    const meanwhile = model.steps.slice(before)
    // Of the eight tokens that a step reads beside who writes, two are the oldest's; a few steps were under way.
    expect(meanwhile.length).toBeLessThan(usage.promptTokens / 6 + 6)
    for (const step of meanwhile) expect(step.filter(({ sampled }) => !sampled).length).toBeGreaterThan(0)
    for (const each of longs) expect((await each).usage.completionTokens).toBe(2)
    await writer
  })

  test('while others have many answers, a caller’s only prompt is read in full chunks and waits for few tokens of theirs', async () => {
    const bias = () => new Map([...smallText.ends].map((id) => [id, -100]))
    const { decoder, model } = setUp({ bias, maxChunk: 32 })
    const theirs = (content: string, maxTokens: number) =>
      collect(decoder.generate(call({ caller: 'a', messages: asks(content), maxTokens })))
    const crowd = [0, 1].map((i) => theirs(`${i}`, 300))
    await untilStep(model, 5)
    const longs = [2, 3].map((i) => theirs(`${i} ${'word '.repeat(400)}`, 2))
    await untilStep(model, 10)
    const before = model.steps.length
    const mine = call({ caller: 'b', messages: asks('mine '.repeat(30)), maxTokens: 20 })
    const { usage } = await collect(decoder.generate(mine))
    const meanwhile = model.steps.slice(before)
    // A few steps were under way, or on their way.
    expect(meanwhile.length).toBeLessThan(usage.promptTokens / (32 - 2) + 20 + 6)
    // Two tokens of all that the crowd is to have read, then those of who writes: two of it, and one answer alone.
    const writing = meanwhile.slice(-12)
    for (const step of writing) {
      const tokens = step.map((row) => row.tokens).sort((a, b) => a - b)
      expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(2 + 3)
    }
    for (const each of [...crowd, ...longs]) await each
  })

  test('choices share their prompt', async () => {
    const { decoder, model } = setUp()
    const answer = await collect(decoder.generate(call({ n: 4, messages: asks('word '.repeat(80)), maxTokens: 5 })), 4)
    const fed = model.steps.flat().reduce((sum, row) => sum + row.tokens, 0)
    expect(fed).toBeLessThan(answer.usage.promptTokens + 4 * 6)
    expect(new Set(answer.texts).size).toBe(4)
    expect(answer.usage.completionTokens).toBe(20)
    const single = await collect(decoder.generate(call({ messages: asks('word '.repeat(80)), maxTokens: 5 })))
    expect(single.texts[0]).toBe(answer.texts[0])
  })

  test('with one sequence at a time, calls and choices take turns', async () => {
    const { decoder, model } = setUp({ maxBatch: 1 })
    const [first, second] = await Promise.all([
      collect(decoder.generate(call({ n: 3, maxTokens: 8 })), 3),
      collect(decoder.generate(call({ messages: asks('another'), maxTokens: 8 }))),
    ])
    const batched = setUp()
    expect(first.texts).toEqual((await collect(batched.decoder.generate(call({ n: 3, maxTokens: 8 })), 3)).texts)
    expect(second.reasons).toEqual(['length'])
    expect(model.openSequences).toBeLessThanOrEqual(1)
  })
})

describe('the cache', () => {
  test('the next turn of a conversation starts from the last', async () => {
    const { decoder, model } = setUp()
    const messages = asks('Tell me something '.repeat(10))
    const first = await collect(decoder.generate(call({ messages, maxTokens: 12 })))
    expect(first.usage.cachedTokens).toBe(0)
    const again = await collect(decoder.generate(call({ messages, maxTokens: 12 })))
    expect(again.usage.cachedTokens).toBe(first.usage.promptTokens - 1)
    // Told before the answer, too.
    expect(again.parts[0]).toMatchObject({ type: 'usage', usage: { ...again.usage, completionTokens: 0 } })
    expect(again.texts).toEqual(first.texts)
    const before = model.steps.length
    const longer = [...messages, { role: 'assistant' as const, content: 'yes' }, ...asks('and?')]
    const next = await collect(decoder.generate(call({ messages: longer, maxTokens: 1 })))
    const fed = model.steps
      .slice(before)
      .flat()
      .reduce((sum, row) => sum + row.tokens, 0)
    expect(fed).toBe(next.usage.promptTokens - next.usage.cachedTokens)
    expect(next.usage.cachedTokens).toBeGreaterThan(first.usage.promptTokens - 10)
  })

  test('gives way when pages are short, and answers stay the same', async () => {
    const endless = { bias: () => new Map([...smallText.ends].map((id) => [id, -100])) }
    const calls = Array.from({ length: 10 }, (_, i) =>
      call({ messages: asks(`text ${i}`), maxTokens: 150, sampling: { ...call().sampling, seed: i } }),
    )
    const roomy = setUp(endless)
    const expected = await Promise.all(calls.map((one) => collect(roomy.decoder.generate(one))))
    const { decoder, model } = setUp({ ...endless, pages: 24 })
    const tight = await Promise.all(calls.map((one) => collect(decoder.generate(one))))
    expect(tight.map((answer) => answer.texts)).toEqual(expected.map((answer) => answer.texts))
    const fed = (of: typeof model) => of.steps.flat().reduce((sum, row) => sum + row.tokens, 0)
    expect(fed(model)).toBeGreaterThan(fed(roomy.model))
  })
})

describe('abort', () => {
  test('at any time leaks nothing and disturbs nobody', async () => {
    const { decoder, model } = setUp({ pages: 64, maxChunk: 16 })
    const pages = model.freePages
    const bystander = call({ maxTokens: 200, sampling: { ...call().sampling, seed: 9 } })
    const expected = (await collect(setUp().decoder.generate(bystander))).texts
    const steady = collect(decoder.generate(bystander))
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 3 }),
        fc.boolean(),
        async (turns, n, leave) => {
          const controller = new AbortController()
          const running = (async () => {
            let taken = 0
            for await (const _ of decoder.generate(
              call({ n, signal: controller.signal, messages: asks('a b '.repeat(turns * 4)) }),
            )) {
              if (leave && ++taken > turns) break
            }
          })().catch((error) => error)
          for (let i = 0; i < turns; i++) await nextTurn()
          controller.abort()
          await running
        },
      ),
      { numRuns: 60 },
    )
    expect((await steady).texts).toEqual(expected)
    await decoder.close()
    expect(model.openSequences).toBe(0)
    expect(model.freePages).toBe(pages)
  })
})

describe('readers and failures', () => {
  test('a slow reader pauses its own answer only', async () => {
    const { decoder, model } = setUp()
    const slow = decoder.generate(call({ maxTokens: 1000 }))
    await slow.next()
    const quick = await collect(decoder.generate(call({ maxTokens: 600, messages: asks('quick') })))
    expect(quick.usage.completionTokens).toBeGreaterThan(0)
    for (let i = 0; i < 300; i++) await nextTurn()
    const before = model.steps.length
    for (let i = 0; i < 20; i++) await nextTurn()
    expect(model.steps.length).toBe(before)
    const rest = await collect(slow)
    expect(rest.reasons[0]).not.toBe('')
  })

  test('a short answer that has begun does not give way to long ones', async () => {
    standingClock()
    const bias = () => new Map([...smallText.ends].map((id) => [id, -100]))
    const long = Array.from({ length: 3 }, (_, i) =>
      call({ messages: asks(`text ${i}`), maxTokens: 150, sampling: { ...call().sampling, seed: i } }),
    )
    const mine = call({ messages: asks('mine'), maxTokens: 9 })
    const roomy = setUp({ bias }).decoder
    const expected = (await collect(roomy.generate(mine))).texts
    const whole = await Promise.all(long.map((one) => collect(roomy.generate(one))))
    for (const at of [60, 70, 80, 90, 98]) {
      const { decoder, model } = setUp({ bias, pages: 24 })
      const answers = Promise.all(long.map((one) => collect(decoder.generate(one))))
      await untilStep(model, at)
      const before = model.steps.length
      expect((await collect(decoder.generate(mine))).texts).toEqual(expected)
      // A few to read its prompt, and some that were under way.
      expect(model.steps.length - before).toBeLessThan(9 + 8)
      expect((await answers).map(({ texts }) => texts)).toEqual(whole.map(({ texts }) => texts))
    }
  })

  describe('long answers that fill the cache', () => {
    beforeEach(standingClock)

    const bias = () => new Map([...smallText.ends].map((id) => [id, -100]))
    const long = Array.from({ length: 7 }, (_, i) =>
      call({
        messages: asks(`text ${i} ${'so '.repeat(30)}`),
        maxTokens: 300 + i,
        sampling: { ...call().sampling, seed: i },
      }),
    )
    const brief = (i: number) => call({ messages: asks(`${i} ${'so '.repeat(45)}`), maxTokens: 9 })
    const full = () => setUp({ bias, pages: 96 })
    let whole: string[][]
    let short: string[][]
    beforeAll(async () => {
      const roomy = setUp({ bias, pages: 1024 }).decoder
      const texts = (calls: ChatCall[]) =>
        Promise.all(calls.map(async (one) => (await collect(roomy.generate(one))).texts))
      whole = await texts(long)
      short = await texts([0, 1, 2, 3].map(brief))
    })

    test.each([150, 230, 290, 330, 360])('let a short one in at once, at step %i', async (at) => {
      const { decoder, model } = full()
      const answers = Promise.all(long.map((one) => collect(decoder.generate(one))))
      await untilStep(model, at)
      for (const i of [0, 1, 2, 3]) {
        const before = model.steps.length
        const { texts, usage } = await collect(decoder.generate(brief(i)))
        expect(texts).toEqual(short[i])
        // 16 tokens of a prompt in a step, one of an answer, a few under way, and a long answer that is read again first.
        expect(model.steps.length - before).toBeLessThan(usage.promptTokens / 16 + 9 + 8 + 320 / 16)
      }
      expect((await answers).map(({ texts }) => texts)).toEqual(whole)
    })

    test('end, however many short ones keep coming', async () => {
      const { decoder, model } = full()
      let ended = false
      const answers = Promise.all(long.map((one) => collect(decoder.generate(one)))).finally(() => {
        ended = true
      })
      await untilStep(model, 200)
      let came = 0
      const stream = Array.from({ length: 10 }, async () => {
        while (!ended && came++ < 1500) await collect(decoder.generate(brief(came)))
      })
      expect((await answers).map(({ texts }) => texts)).toEqual(whole)
      expect(came).toBeLessThan(1000)
      await Promise.all(stream)
      await decoder.close()
      expect(model.openSequences).toBe(0)
    })

    test('are not read again in vain', async () => {
      const { decoder, model } = full()
      const answers = await Promise.all(long.map((one) => collect(decoder.generate(one))))
      const tokens = answers.reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0)
      const fed = model.steps.flat().reduce((sum, row) => sum + row.tokens, 0)
      // Little more than half of them fit side by side: the others are read once more.
      expect(fed).toBeLessThan(2 * tokens)
    })
  })

  test('a step that fails fails all that ran, cleanly', async () => {
    let steps = 0
    const { decoder, model } = setUp({
      before: () => {
        if (++steps > 5) throw new Error('device lost')
      },
    })
    const answers = await Promise.allSettled(
      [1, 2, 3].map((i) => collect(decoder.generate(call({ messages: asks(`${i}`) })))),
    )
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { status: 503, code: 'engine_failed' } })
    }
    expect(decoder.failure).toBeDefined()
    expect(model.openSequences).toBe(0)
    await expect(collect(decoder.generate(call()))).rejects.toThrow('device lost')
  })
})

test('what continues a prompt without a template matches a grammar, if there is one', async () => {
  const { decoder } = setUp()
  const grammar = compile({ type: 'boolean' })
  const request = call({ messages: [], prompt: 'Is it?', grammar, maxTokens: 9 })
  for (let seed = 0; seed < 9; seed++) {
    const { texts, reasons } = await collect(decoder.generate({ ...request, sampling: { seed } }))
    expect([texts[0], reasons]).toEqual([expect.stringMatching(/^(true|false)$/), ['stop']])
  }
})

test('tokens by the thousand are told as text, each and together, in many turns', async () => {
  const { decoder } = setUp()
  const signal = new AbortController().signal
  const turns = countTurns()
  const tokens = Array.from({ length: 20_000 }, (_, i) => i % 200)
  const prompt = await decoder.detokenize({ model: 'a/b', signal, tokens })
  expect(turns.now).toBeGreaterThan(tokens.length / 1000)
  const before = turns.now
  const { texts } = await decoder.tokenize({ model: 'a/b', signal, prompt: 'a b '.repeat(5000) })
  turns.over = true
  expect(turns.now - before).toBeGreaterThan(texts.length / 1000)
  expect(prompt.length).toBeGreaterThan(0)
})

test('a prompt as it stands is text with its control tokens, or tokens that the model has', async () => {
  const { decoder, text } = setUp()
  const signal = new AbortController().signal
  const { tokens } = await decoder.tokenize({ model: 'a/b', signal, prompt: 'Hello<|im_end|>' })
  expect(tokens.at(-1)).toBe(text.tokenizer.idOf('<|im_end|>'))
  expect(await decoder.detokenize({ model: 'a/b', signal, tokens })).toBe('Hello<|im_end|>')
  const replyTo = (prompt: string | readonly number[]) =>
    collect(decoder.generate(call({ messages: [], prompt, maxTokens: 5 })))
  expect((await replyTo(tokens)).texts).toEqual((await replyTo('Hello<|im_end|>')).texts)
  for (const wrong of [[tokens[0]!, 10 ** 8], []])
    await expect(replyTo(wrong)).rejects.toMatchObject({ status: 400, param: 'prompt' })
})
