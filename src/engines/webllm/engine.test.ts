import { expect, test } from 'vitest'
import type { ChatCall, DecideCall, LoadProgress } from '../../contract/engine.js'
import { ChatText } from '../../generate/chat-text.js'
import { DecidePrompt } from '../../generate/decide/prompt.js'
import { call, collect } from '../../generate/testing/call.test-helper.js'
import { compile } from '../../grammar/structured.js'
import { atOnce } from '../../platform/turns.js'
import { WebLlmEngine } from './engine.js'
import type { ModelRecord } from './library.js'
import type { WebLlmOptions } from './options.js'
import { plain } from './plain-model.test-helper.js'
import {
  type Behaviour,
  chatConfig,
  files,
  logitsAfter,
  record,
  standInLibrary,
  TOKENS,
  WINDOW,
} from './stand-in.test-helper.js'

const EVERYTHING = { features: new Set(['shader-f16']), maxStorageBufferBindingSize: 2 ** 30 }

interface SetUp {
  readonly options?: WebLlmOptions
  readonly behaviour?: Behaviour
  readonly records?: ModelRecord[]
  readonly gpu?: () => typeof EVERYTHING | undefined
}

function setUp({ options = {}, behaviour = {}, records = [record('one'), record('two')], gpu }: SetUp = {}) {
  const { library, seen } = standInLibrary(records, behaviour)
  const engine = new WebLlmEngine(
    { log: () => {}, ...options },
    {
      loadLibrary: async () => library,
      probeGpu: async () => (gpu ?? (() => EVERYTHING))(),
      readText: async () => ({ ...files, chatConfig }),
    },
  )
  return { engine, seen }
}

const ask = (engine: WebLlmEngine, part: Partial<ChatCall> = {}) =>
  collect(engine.generate(call({ model: 'test/one', maxTokens: 30, ...part })), part.n)

const schema = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 10 },
    status: { enum: ['open', 'closed'] },
    tags: { type: 'array', items: { type: 'integer', minimum: 5, multipleOf: 5 }, maxItems: 3 },
  },
  required: ['title', 'status', 'tags'],
  additionalProperties: false,
}
const strict = { grammar: compile(schema), output: { type: 'json_schema', name: 'x', strict: true, schema } as const }
const sampling = (part: Partial<ChatCall['sampling']> = {}) => ({ ...call().sampling, ...part })

test.each<[string, Partial<ChatCall>]>([
  ['greedy', { sampling: sampling({ temperature: 0 }) }],
  ['seeded', { sampling: sampling({ seed: 77 }) }],
  ['a nucleus', { sampling: sampling({ topP: 0.4, temperature: 1.4 }) }],
  ['penalties', { sampling: sampling({ presencePenalty: 1.5, frequencyPenalty: 1 }) }],
  ['a bias', { sampling: sampling({ logitBias: new Map([[40, 8]]) }) }],
  ['log probabilities', { topLogprobs: 3 }],
  ['several choices', { n: 3 }],
  ['a long prompt', { messages: [{ role: 'user', content: 'The sea and the old man. '.repeat(12) }] }],
  ['strict JSON', { ...strict, maxTokens: 90 }],
])('the answer is that of the plainest model: %s', async (_, part) => {
  const { engine } = setUp()
  const [answer, expected] = [await ask(engine, part), await plain(part)]
  expect(answer.texts).toEqual(expected.texts)
  expect(answer.reasons).toEqual(expected.reasons)
  expect(answer.logprobs).toEqual(expected.logprobs)
  expect(answer.usage).toEqual(expected.usage)
  await engine.close()
})

test('calls that come together are answered one after the other, as if each were alone', async () => {
  const { engine } = setUp()
  const seeds = [1, 2, 3, 4, 5]
  const together = await Promise.all(seeds.map((seed) => ask(engine, { sampling: sampling({ seed }) })))
  for (const [i, seed] of seeds.entries()) {
    expect(together[i]!.texts).toEqual((await plain({ sampling: sampling({ seed }) })).texts)
  }
  await engine.close()
})

test('documents satisfy their schema at every budget that admits one', async () => {
  const { engine } = setUp()
  for (let seed = 0; seed < 12; seed++) {
    const answer = await ask(engine, { ...strict, maxTokens: 24 + 6 * seed, sampling: sampling({ seed }) })
    expect(strict.grammar.accepts(answer.texts[0]!)).toBe(true)
    expect(answer.reasons).toEqual(['stop'])
  }
  await engine.close()
})

test('a document is written without reading its prompt again', async () => {
  const { engine, seen } = setUp()
  const { usage, forced } = await ask(engine, { ...strict, maxTokens: 90 })
  expect(forced).toBeGreaterThan(0)
  expect(seen.resets).toBe(0)
  expect(seen.forwards.reduce((sum, tokens) => sum + tokens)).toBeLessThan(usage.promptTokens + usage.completionTokens)
  await engine.close()
})

test('the next turn of a conversation feeds only what is new, or says that it read all again', async () => {
  const { engine, seen } = setUp()
  let reused = 0
  for (let seed = 0; seed < 8; seed++) {
    const first = await ask(engine, { maxTokens: 5, sampling: sampling({ seed }) })
    const messages = [
      ...call().messages,
      { role: 'assistant' as const, content: first.texts[0]! },
      { role: 'user' as const, content: 'the sea' },
    ]
    const [resets, forwards] = [seen.resets, seen.forwards.length]
    const next = await ask(engine, { messages, maxTokens: 1 })
    expect(next.texts).toEqual((await plain({ messages, maxTokens: 1 })).texts)
    const fed = seen.forwards.slice(forwards).reduce((sum, tokens) => sum + tokens)
    expect(fed).toBe(next.usage.promptTokens - next.usage.cachedTokens)
    expect(next.usage.cachedTokens > 0).toBe(seen.resets === resets)
    if (next.usage.cachedTokens > 0) reused++
  }
  // Not all: some answers read as other tokens than they were written in.
  expect(reused).toBeGreaterThan(0)
  await engine.close()
})

test('stop strings end an answer and do not show', async () => {
  const { engine } = setUp()
  const whole = (await ask(engine)).texts[0]!
  const stop = whole.slice(4, 7)
  const cut = await ask(engine, { stop: [stop] })
  expect(cut.texts[0]).toBe(whole.slice(0, whole.indexOf(stop)))
  expect(cut.reasons).toEqual(['stop'])
  await engine.close()
})

test('an abort stops within one step and leaves the engine usable', async () => {
  const { engine, seen } = setUp()
  const controller = new AbortController()
  const parts = engine.generate(call({ model: 'test/one', maxTokens: 200, signal: controller.signal }))
  await parts.next()
  const before = seen.forwards.length
  controller.abort(new Error('left'))
  await expect(collect(parts)).rejects.toThrow('left')
  expect(seen.forwards.length - before).toBeLessThanOrEqual(1)
  expect((await ask(engine)).texts).toEqual((await plain()).texts)
  await engine.close()
})

test('an abort does not wait for the rest of a long prompt', async () => {
  const controller = new AbortController()
  const { engine, seen } = setUp({ behaviour: { forward: () => controller.abort(new Error('left')) } })
  const messages = [{ role: 'user' as const, content: 'The sea and the old man. '.repeat(12) }]
  await expect(ask(engine, { messages, signal: controller.signal })).rejects.toThrow('left')
  expect(seen.forwards).toHaveLength(1)
  await engine.close()
})

test('what does not fit into the window is refused before WebLLM sees it', async () => {
  const { engine, seen } = setUp()
  const messages = [{ role: 'user' as const, content: 'é'.repeat(WINDOW) }]
  await expect(ask(engine, { messages })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
  expect(seen.forwards).toEqual([])
  // An answer may fill the window to the last token, and not overflow it.
  const bias = new Map([...Array(TOKENS).keys()].slice(TOKENS - 7).map((id) => [id, -100]))
  const full = await ask(engine, { maxTokens: undefined, sampling: sampling({ logitBias: bias }) })
  expect(full.reasons).toEqual(['length'])
  expect(full.usage.promptTokens + full.usage.completionTokens).toBe(WINDOW + 1)
  await engine.close()
})

test('load says how far it is, in phases', async () => {
  const { engine } = setUp()
  const reports: LoadProgress[] = []
  await engine.load('test/one', (progress) => reports.push(progress), new AbortController().signal)
  expect(reports.map(({ phase }) => phase)).toEqual(['download', 'upload', 'compile', 'ready'])
  expect(reports[0]).toMatchObject({
    model: 'test/one',
    bytesLoaded: 2 * 2 ** 20,
    bytesTotal: 4 * 2 ** 20,
    filesLoaded: 1,
    filesTotal: 2,
    secondsLeft: 1,
  })
  expect(engine.models[0]).toMatchObject({ contextLength: WINDOW, metadata: { loaded: true } })
  await engine.close()
})

test('a device lost in the middle is a 503, and the next request rebuilds', async () => {
  let passes = 0
  const { engine, seen } = setUp({ behaviour: { forward: (standIn) => void (++passes === 4 && standIn.lose()) } })
  await expect(ask(engine)).rejects.toMatchObject({ status: 503, code: 'device_lost' })
  expect((await ask(engine)).texts).toEqual((await plain()).texts)
  expect(seen.created).toHaveLength(2)
  await engine.close()
  expect(seen.live.size).toBe(0)
})

test('a device lost between requests is not noticed by the next one', async () => {
  const { engine, seen } = setUp()
  await ask(engine)
  for (const standIn of [...seen.live]) standIn.lose()
  const answers = await Promise.all([ask(engine), ask(engine)])
  for (const { texts } of answers) expect(texts).toEqual((await plain()).texts)
  expect(seen.created).toHaveLength(2)
  await engine.close()
})

test('logits that are no numbers are an error that says so, never a token', async () => {
  let spoiled = true
  const { engine } = setUp({ behaviour: { spoil: (logits) => void (spoiled && logits.fill(Number.NaN)) } })
  await expect(ask(engine)).rejects.toMatchObject({ status: 500, code: 'model_output_invalid' })
  spoiled = false
  expect((await ask(engine)).reasons).not.toEqual([''])
  await engine.close()
})

test('a load that fails is a 503 for its callers, and the next request tries again', async () => {
  let failing = true
  const fetch = () => {
    if (failing) throw new Error('no network')
  }
  const { engine } = setUp({ behaviour: { fetch } })
  await expect(ask(engine)).rejects.toMatchObject({ status: 503, code: 'model_load_failed' })
  failing = false
  expect((await ask(engine)).reasons).not.toEqual([''])
  await engine.close()
})

test('a load that everybody has left is broken off, frees what it took, and the next one succeeds', async () => {
  const controller = new AbortController()
  const { engine, seen } = setUp({ behaviour: { fetch: () => controller.abort(new Error('left')) } })
  await expect(engine.load('test/one', () => {}, controller.signal)).rejects.toThrow('left')
  expect((await ask(engine)).texts).toEqual((await plain()).texts)
  expect(seen.live.size).toBe(1)
  await engine.close()
})

test('unloading frees the model; within the budget the one idle longest goes', async () => {
  const { engine, seen } = setUp({ options: { memoryBudget: 150 * 2 ** 20 } })
  const one = await ask(engine)
  await ask(engine, { model: 'test/two' })
  expect(engine.models.map(({ metadata }) => metadata?.loaded)).toEqual([false, true])
  expect(seen.live.size).toBe(1)
  expect((await ask(engine)).texts).toEqual(one.texts)
  await engine.unload('test/one')
  expect(seen.live.size).toBe(0)
  await engine.close()
})

test('a closed engine refuses', async () => {
  const { engine } = setUp()
  await engine.close()
  await expect(ask(engine)).rejects.toMatchObject({ status: 503, code: 'engine_closed' })
})

const deciding: DecideCall = {
  id: 'dec-test',
  model: 'test/one',
  signal: new AbortController().signal,
  state: 'She was charged twice.',
  order: 'given',
  calibrated: false,
  questions: [
    { type: 'predicate', instructions: 'She is angry.', options: [{ text: 'Yes' }, { text: 'No' }] },
    // Several tokens each, and one that others begin with.
    {
      type: 'choice',
      instructions: 'Which?',
      options: ['bill', 'billing', 'something else'].map((text) => ({ text })),
    },
  ],
}

/** Each option alone, token by token, by the logits that the library has; its padding is no token. */
function optionsAlone(question: DecideCall['questions'][number]): { probabilities: number[]; mass: number } {
  const text = new ChatText(files)
  const { tokenizer, ends } = text
  const { stem } = atOnce(atOnce(DecidePrompt.of(deciding, text, '', WINDOW)).inOrders(question, 0, 'given'))[0]!
  const shares = (tokens: readonly number[]) => {
    const weights = [...logitsAfter(tokens).subarray(0, TOKENS)].map(Math.exp)
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return weights.map((weight) => weight / sum)
  }
  const texts = question.options.map(({ text }) => text)
  const beginning = texts.some((a) => texts.some((b) => a !== b && b.startsWith(a)))
  const scores = texts.map((option) => {
    const before = [...stem]
    let score = 1
    for (const token of tokenizer.encodeContinuation(option)) {
      score *= shares(before)[token]!
      before.push(token)
    }
    const last = shares(before)
    return beginning ? score * [...ends].reduce((sum, end) => sum + last[end]!, 0) : score
  })
  const mass = scores.reduce((sum, score) => sum + score, 0)
  return { mass, probabilities: scores.map((score) => score / mass) }
}

test('a decision is that of each option alone, by the logits of the library', async () => {
  const { engine } = setUp()
  const { answers, usage } = await engine.decide(deciding)
  for (const [i, question] of deciding.questions.entries()) {
    const { probabilities, mass } = optionsAlone(question)
    const answer = answers[i] as { probabilities: number[]; optionMass: number }
    for (const [k, share] of probabilities.entries())
      expect(Math.abs(answer.probabilities[k]! - share)).toBeLessThan(1e-6)
    expect(Math.abs(answer.optionMass / mass - 1)).toBeLessThan(1e-4)
  }
  expect(usage.completionTokens).toBe(0)
  // Alone, in the other order and again: the same bits.
  const turned = await engine.decide({ ...deciding, questions: [...deciding.questions].reverse() })
  expect(turned.answers).toEqual([...answers].reverse())
  for (const [i, question] of deciding.questions.entries()) {
    expect((await engine.decide({ ...deciding, questions: [question] })).answers[0]).toEqual(answers[i])
  }
  expect(engine.models.every(({ capabilities }) => capabilities?.decisions)).toBe(true)
  await engine.close()
})

test('a decision about more than the window holds is refused before anything is computed', async () => {
  const { engine, seen } = setUp()
  const long = engine.decide({ ...deciding, state: 'word '.repeat(WINDOW) })
  await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
  expect(seen.forwards).toEqual([])
  await engine.close()
})
