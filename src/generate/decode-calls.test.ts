/** What a call gets of its model: its parts in order, its usage, its end, and who hears of what goes wrong. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ChatCall } from '../contract/engine.js'
import { compile } from '../grammar/structured.js'
import { Pulse, showPulse } from '../platform/index.js'
import { ChatText } from './chat-text.js'
import { DECODES, DecodeLoop } from './decode-loop.js'
import { Scheduler } from './run/scheduler.js'
import { call, collect, nextTurn, setUp, smallText } from './testing/call.test-helper.js'
import { RandomModel } from './testing/random-model.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'

const { tokenizer } = smallText
/** What is said, token for token, from where the prompt ends. */
const says = (text: string, part: Partial<ChatCall> = {}, chat = smallText) => {
  const tokens = [...chat.tokenizer.encodeMarker(text), [...chat.ends][0]!]
  const from = chat.prompt(call(part)).length
  return { tokens, next: (all: readonly number[]) => tokens[all.length - from] ?? tokens.at(-1) }
}
const endless = { next: () => tokenizer.encodePlain('a', 1)[0] }
const signal = new AbortController().signal
const decision = (part = {}) =>
  ({ id: 'd', model: 'a/b', signal, document: 'x', questions: [], order: 'given', ...part }) as never

describe('a model', () => {
  it('says what it can, and how its text is', () => {
    const { decoder } = setUp()
    const can = { chat: true, logprobs: true, seed: true, tools: true, grammar: true, sampling: true, tokens: true }
    const more = { promptLogprobs: true, decisions: true, evidence: true, quotes: true, thinking: true, infill: false }
    expect(decoder.capabilities).toMatchObject({ ...can, ...more, images: false, audio: false, embeddings: false })
    expect(decoder.metadata).toEqual({ tool_format: smallText.toolFormat.name, thinks: true })
    const chatty = '{{ messages[0].content }}'
    const plain = new ChatText({ ...smallTokenizer(), chatTemplate: chatty })
    const { metadata, capabilities } = setUp({}, plain).decoder
    expect([plain.thoughtMarks, metadata.thinks, capabilities.thinking]).toEqual([undefined, false, false])
    expect(decoder.tokenizerInfo).toBe(smallText.info)
    const files = smallTokenizer()
    const last = files.tokenizer.added_tokens.at(-1)!
    const marks = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'].map((content, i) => {
      return { ...last, content, id: last.id + 1 + i }
    })
    const added_tokens = [...files.tokenizer.added_tokens, ...marks]
    const coder = new ChatText({ ...files, tokenizer: { ...files.tokenizer, added_tokens } })
    expect(setUp({}, coder).decoder.capabilities.infill).toBe(true)
    // Whoever asks one that is not there yet is not turned away for it.
    expect(DECODES.infill).toBe(true)
  })

  it('guesses by a head of its own where it has one, and that is not forbidden', () => {
    const model = new RandomModel({ vocabSize: tokenizer.size, maxSamples: 4 })
    const guess = async function* () {}
    const loop = (options = {}) => new DecodeLoop(Object.assign(model, { guess }) as never, smallText, options)
    expect(loop().metadata.draft_head).toBe(true)
    expect(loop().guesses).toBeDefined()
    const never = loop({ drafts: 'never' })
    expect([never.metadata.draft_head, never.guesses]).toEqual([undefined, undefined])
    expect(loop({ draftModel: { lengths: [1] } }).metadata.draft_head).toBeUndefined()
  })

  it('that draws no tokens answers no chat', async () => {
    const model = new RandomModel({ vocabSize: tokenizer.size })
    const decoder = new DecodeLoop(Object.assign(model, { rowLength: 4 }), smallText)
    expect(decoder.capabilities.chat).toBeFalsy()
    await expect(collect(decoder.generate(call({ model: 'a/b' })))).rejects.toMatchObject({
      ...{ status: 400, param: 'model', code: 'unsupported_model' },
      message: "The model 'a/b' cannot generate text.",
    })
  })

  it('has room for what its context and its cache hold, whichever is less', async () => {
    const long = call({ messages: [{ role: 'user', content: 'word '.repeat(90) }] })
    for (const options of [{ contextLength: 48 }, { pages: 3 }]) {
      await expect(collect(setUp(options).decoder.generate(long))).rejects.toThrow('context length is 48 tokens')
    }
  })
})

describe('an answer', () => {
  it('is counted with its thoughts, and says what was cached', async () => {
    const { tokens, next } = says('<think>\nso\n</think>\n\nYes.')
    const { decoder, model } = setUp({ next })
    const reply = await collect(decoder.generate(call({ returnTokens: true })))
    expect([reply.texts, reply.reasons]).toEqual([['Yes.'], ['stop']])
    expect(reply.usage).toEqual({
      ...{ promptTokens: smallText.prompt(call()).length, completionTokens: tokens.length - 1, cachedTokens: 0 },
      reasoningTokens: tokenizer.encodeMarker('\nso\n').length,
    })
    expect(reply.parts.at(-1)).toMatchObject({ type: 'usage', fingerprint: model.fingerprint })
    const again = await collect(decoder.generate(call({ n: 2 })), 2)
    expect(again.usage.cachedTokens).toBe(reply.usage.promptTokens - 1)
    expect(again.usage.completionTokens).toBe(2 * reply.usage.completionTokens)
    const plain = setUp({ next: says('Yes.').next })
    const { usage, parts } = await collect(plain.decoder.generate(call()))
    expect('reasoningTokens' in usage).toBe(false)
    expect(parts.some(({ type }) => type === 'prompt')).toBe(false)
  })

  it('tells how long its prompt is before all that it writes, behind the prompt itself, and once', async () => {
    const { decoder } = setUp(endless)
    const told = async (part: Partial<ChatCall>) => {
      const { parts } = await collect(decoder.generate(call({ n: 2, maxTokens: 2, ...part })), 2)
      return parts.map((part) => (part.type === 'usage' ? part.usage : part.type))
    }
    const promptTokens = smallText.prompt(call()).length
    const written = ['text-delta', 'text-delta', 'text-delta', 'text-delta', 'finish', 'finish']
    const first = await told({})
    expect(first.splice(0, 1)).toEqual([{ promptTokens, completionTokens: 0, cachedTokens: 0 }])
    expect(first.splice(-1)).toEqual([{ promptTokens, completionTokens: 4, cachedTokens: 0 }])
    expect(first.toSorted()).toEqual(written.toSorted())
    // Of what was cached it is told then, too.
    const cached = { promptTokens, completionTokens: 0, cachedTokens: promptTokens - 1 }
    expect((await told({ returnTokens: true })).slice(0, 2)).toEqual(['prompt', cached])
  })

  it('begins within the thought that its template opens, but behind no prompt that stands as it is', async () => {
    const chatTemplate = "{% for message in messages %}{{ message.content + '\\n' }}{% endfor %}{{ '<think>\\n' }}"
    const chat = new ChatText({ ...smallTokenizer(), chatTemplate })
    const answerOf = async (part: Partial<ChatCall>) => {
      const { next } = says('so\n</think>\n\nYes.', part, chat)
      const { texts, usage } = await collect(setUp({ next }, chat).decoder.generate(call(part)))
      return [texts[0], 'reasoningTokens' in usage]
    }
    expect(await answerOf({})).toEqual(['Yes.', true])
    const prompt = 'Hi<think>\n'
    expect(await answerOf({ messages: [], prompt })).toEqual(['so\n</think>\n\nYes.', false])
    // Nor does it need room to end one.
    const grammar = compile({ const: 12 })
    const request = call({ messages: [], prompt, grammar, maxTokens: chat.tokenizer.encodePlain('12', 1).length })
    expect((await collect(setUp({}, chat).decoder.generate(request))).texts).toEqual(['12'])
  })

  it('tells its prompt where that is asked for, once, and how likely its tokens are', async () => {
    const prompt = tokenizer.encodeMarker('Hello é')
    const promptParts = async (part: Partial<ChatCall>) => {
      const request = call({ messages: [], prompt, n: 2, maxTokens: 2, ...part })
      const { parts, texts } = await collect(setUp(endless).decoder.generate(request), 2)
      expect(texts).toEqual(part.maxTokens === 0 ? ['', ''] : ['aa', 'aa'])
      return parts.filter(({ type }) => type === 'prompt')
    }
    const plain = { type: 'prompt', tokens: prompt, text: 'Hello é' }
    expect(await promptParts({ returnTokens: true })).toEqual([plain])
    const first = { token: 'H', logprob: null }
    const logprobs = prompt.map((_, i) => (i === 0 ? first : { logprob: expect.any(Number) }))
    expect(await promptParts({ promptLogprobs: true })).toMatchObject([{ ...plain, logprobs }])
    const one = await promptParts({ promptLogprobs: true, prompt: prompt.slice(0, 1), maxTokens: 0 })
    expect(one).toMatchObject([{ tokens: prompt.slice(0, 1), text: 'H', logprobs: [first] }])
  })

  it('tells what its values rest on where that is asked for', async () => {
    const messages = [{ role: 'user' as const, content: 'The colour is red.' }]
    const output = { type: 'json_schema', name: 'x', strict: true, schema: {} } as const
    const schema = {
      type: 'object',
      properties: { c: { enum: ['red'] } },
      required: ['c'],
      additionalProperties: false,
    }
    const request = call({ messages, output, grammar: compile(schema), maxTokens: 30 })
    const kinds = async (more: Partial<ChatCall>) =>
      (await collect(setUp().decoder.generate({ ...request, ...more }))).parts.map(({ type }) => type)
    expect(await kinds({ evidence: true })).toContain('evidence')
    expect(await kinds({})).not.toContain('evidence')
  })

  it('weighs its values by what else the model might have said, and lets who comes meanwhile go before', async () => {
    const schema = {
      type: 'object',
      properties: { c: { type: 'string', pattern: '^[a-e]{6}$' } },
      required: ['c'],
      additionalProperties: false,
    }
    const output = { type: 'json_schema', name: 'x', strict: true, schema } as const
    const sampling = { ...call().sampling, seed: 4 }
    /** Whose sequences came, in their order. */
    const came = new Map<unknown, string>()
    let late: Promise<unknown> | undefined
    // Each asks what would come next in a sequence of its own.
    const before = async ([input]: readonly { readonly sequence: unknown; readonly tokens: readonly number[] }[]) => {
      const { sequence, tokens } = input!
      if (came.has(sequence)) return
      came.set(sequence, came.size === 0 ? 'own' : tokens[0] === 0 ? 'late' : 'other')
      if (came.size < 2 || late) return
      const added = others[0]!.mock.calls.length
      late = collect(decoder.generate(call({ messages: [], prompt: [0], maxTokens: 1 })))
      // On a busy machine its prompt waits for a turn.
      while (others[0]!.mock.calls.length === added) await nextTurn()
    }
    const { decoder } = setUp({ maxBatch: 1, before })
    const pokes = vi.spyOn(Scheduler.prototype, 'poke')
    const others = (['add', 'cancel'] as const).map((name) => vi.spyOn(Scheduler.prototype, name))
    const request = call({ sampling, output, grammar: compile(schema), evidence: true })
    const { parts } = await collect(decoder.generate(request))
    await late
    // It has also set the model going again, which may have stood still, once it knew.
    expect(pokes.mock.calls.length).toBe(1 + others.reduce((sum, { mock }) => sum + mock.calls.length, 0))
    vi.restoreAllMocks()
    expect(parts.find(({ type }) => type === 'evidence')).toMatchObject({ evidence: { pointer: '/c' } })
    expect([...came.values()].slice(0, 4)).toEqual(['own', 'other', 'late', 'other'])
  })

  it.each([1, 2])('waits for who reads none of %i, and goes on', async (n) => {
    const { decoder, model } = setUp(endless)
    const parts = decoder.generate(call({ n, maxTokens: 200 }))
    await parts.next()
    for (let i = 0; i < 150; i++) await nextTurn()
    // A part of each choice a step.
    expect(Math.abs(model.steps.length - 64)).toBeLessThan(6)
    expect((await collect(parts, n)).reasons).toEqual(new Array(n).fill('length'))
  })

  it('guesses from what stands in the messages or the prompt, under a grammar alone', async () => {
    const text = 'violet-orange-indigo-magenta'
    const grammar = compile({ type: 'string', maxLength: 60 })
    const output = { type: 'json_schema', name: 'x', strict: true, schema: {} } as const
    const copies = async (part: Partial<ChatCall>) => {
      const settings = { maxTokens: 60, sampling: { temperature: 0 }, ...part }
      const { next } = says(JSON.stringify(text), settings)
      const model = new RandomModel({ vocabSize: tokenizer.size, maxSamples: 8, next })
      const decoder = new DecodeLoop(model, smallText, { drafts: 'always' })
      await collect(decoder.generate(call(settings)))
      return Object.values(decoder.guesses!).reduce((sum, { right, wrong }) => sum + right + wrong, 0)
    }
    const messages = [{ role: 'user' as const, content: `Say ${text}.` }]
    expect(await copies({ grammar, output, messages })).toBeGreaterThan(0)
    expect(await copies({ grammar, output, messages: [], prompt: `Say ${text}.` })).toBeGreaterThan(0)
    expect(await copies({ messages })).toBe(0)
  })

  it('guesses what its tools are called with, too', async () => {
    const answerText = 'violet-orange-indigo-magenta'
    const schema = { type: 'object', properties: { s: { type: 'string' } }, required: ['s'] }
    const properties = { name: { const: 'go' }, arguments: { ...schema, additionalProperties: false } }
    const toolGrammar = compile({
      ...{ type: 'object', required: ['name', 'arguments'], additionalProperties: false },
      properties,
    })
    const request = call({
      ...{ tools: [{ name: 'go', parameters: schema, strict: true }], toolGrammar, toolChoice: 'required' as const },
      ...{ maxTokens: 100, messages: [{ role: 'user' as const, content: `Say ${answerText}.` }] },
    })
    const from = smallText.prompt(request).length
    const text = `<tool_call>\n${JSON.stringify({ name: 'go', arguments: { s: answerText } })}\n</tool_call>`
    const next = (all: readonly number[]) =>
      tokenizer.encodeMarker(text.slice(tokenizer.decode(all.slice(from)).length))[0] ?? [...smallText.ends][0]
    const model = new RandomModel({ vocabSize: tokenizer.size, maxSamples: 8, next })
    const decoder = new DecodeLoop(model, smallText, { drafts: 'always' })
    const { calls } = await collect(decoder.generate(request))
    expect(calls[0]).toMatchObject([{ name: 'go', arguments: JSON.stringify({ s: answerText }) }])
    expect(Object.values(decoder.guesses!).reduce((sum, { right }) => sum + right, 0)).toBeGreaterThan(0)
  })

  it('of a caller who has none begins at once, whatever others have', async () => {
    const { decoder } = setUp({ ...endless, maxBatch: 2 })
    const ended: string[] = []
    const generate = (caller: string, maxTokens: number) =>
      collect(decoder.generate(call({ caller, maxTokens }))).then(() => void ended.push(caller))
    await Promise.all([generate('a', 30), generate('a', 30), generate('b', 3)])
    expect(ended).toEqual(['b', 'a', 'a'])
  })
})

describe('who leaves', () => {
  it('before anything is done hears why, and nothing is begun', async () => {
    const gone = AbortSignal.abort(new Error('gone'))
    const { decoder, model } = setUp()
    await expect(collect(decoder.generate(call({ signal: gone })))).rejects.toThrow('gone')
    await expect(decoder.decide(decision({ signal: gone }))).rejects.toThrow('gone')
    expect(model.steps).toEqual([])
  })

  it('in the midst of what has come gets no more of it, and frees its place', async () => {
    for (const leave of ['abort', 'return'] as const) {
      const { decoder, model } = setUp(endless)
      const leaving = new AbortController()
      const ended = vi.spyOn(leaving.signal, 'removeEventListener')
      const parts = decoder.generate(call({ signal: leaving.signal, maxTokens: 500 }))
      await parts.next()
      for (let i = 0; i < 20; i++) await nextTurn()
      await parts.next()
      if (leave === 'abort') {
        leaving.abort(new Error('gone'))
        await expect(parts.next()).rejects.toThrow('gone')
      } else await parts.return(undefined)
      expect(ended).toHaveBeenCalledWith('abort', expect.any(Function))
      expect([decoder.idle, model.openSequences]).toEqual([true, 0])
    }
  })

  it('while nothing comes hears of it at once', async () => {
    const leaving = new AbortController()
    let go = () => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const before = vi.fn(() => held)
    const { decoder } = setUp({ ...endless, before })
    const first = decoder.generate(call({ signal: leaving.signal })).next()
    await expect.poll(() => before.mock.calls.length).toBe(1)
    leaving.abort(new Error('gone'))
    setImmediate(go)
    await expect(first).rejects.toThrow('gone')
  })
})

describe('a model that is gone', () => {
  it('fails what runs, and everything after it, with the reason', async () => {
    const lost = new Error('device lost')
    const { decoder } = setUp(endless)
    const running = collect(decoder.generate(call()))
    for (let i = 0; i < 5; i++) await nextTurn()
    const coming = collect(decoder.generate(call()))
    decoder.abandon(lost)
    const all = [running, coming, collect(decoder.generate(call())), decoder.decide(decision())]
    await Promise.all(all.map((one) => expect(one).rejects.toBe(lost)))
    expect(decoder.failure).toBe(lost)
  })

  it('says that it was unloaded, and frees itself and what guesses for it', async () => {
    const closed: string[] = []
    const small = { lengths: [1], clear() {}, drop() {}, close: async () => void closed.push('small') }
    const model = new RandomModel({ vocabSize: tokenizer.size, maxSamples: 4, ...endless })
    const decoder = new DecodeLoop(model, smallText, { draftModel: small as never, drafts: 'never' })
    const running = collect(decoder.generate(call()))
    const rejected = expect(running).rejects.toMatchObject({
      ...{ status: 503, code: 'model_unloaded', message: 'The model was unloaded.', retryAfter: 1 },
    })
    for (let i = 0; i < 5; i++) await nextTurn()
    await decoder.close()
    await rejected
    expect([closed, model.closed, model.openSequences]).toEqual([['small'], true, 0])
    const alone = setUp()
    await alone.decoder.close()
    expect(alone.model.closed).toBe(true)
  })
})

describe('tokens', () => {
  it('are told by their texts, of a prompt or of messages', async () => {
    const { decoder } = setUp()
    const reply = await decoder.tokenize({ model: 'a/b', signal, messages: call().messages, tools: [] } as never)
    expect(reply.tokens).toEqual(smallText.prompt(call()))
    expect(reply.texts).toEqual(reply.tokens.map((token) => smallText.tokenizer.shown(token)))
    await expect(
      decoder.tokenize({ model: 'a/b', signal: AbortSignal.abort(new Error('gone')), prompt: 'a' }),
    ).rejects.toThrow('gone')
  })

  it('the token that begins a text is part of it, unless the request leaves it out', async () => {
    const files = smallTokenizer()
    const { content: mark, id } = files.tokenizer.added_tokens[0]!
    const single = [{ SpecialToken: { id: mark, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }]
    const special_tokens = { [mark]: { id: mark, ids: [id], tokens: [mark] } }
    const post_processor = { type: 'TemplateProcessing', single, pair: single, special_tokens }
    const { decoder } = setUp({}, new ChatText({ ...files, tokenizer: { ...files.tokenizer, post_processor } }))
    const signal = new AbortController().signal
    const textOf = async (prompt: string, bare?: boolean) =>
      (await decoder.tokenize({ model: 'a/b', signal, prompt, ...(bare && { bare }) })).texts.join('')
    expect([await textOf('Hi'), await textOf('Hi', true)]).toEqual([`${mark}Hi`, 'Hi'])
    expect([await textOf(`${mark}Hi`), await textOf(`${mark}Hi`, true)]).toEqual([`${mark}Hi`, `${mark}Hi`])
    const none = { model: 'a/b', signal, bare: true }
    // Where none begins a text, none is left out.
    for (const prompt of ['Hi', '']) {
      expect((await setUp().decoder.tokenize({ ...none, prompt })).texts.join('')).toBe(prompt)
    }
  })

  it('become text again, also where a letter takes several; and who names none is told', async () => {
    const { decoder } = setUp()
    const text = '\u{feff}é<|im_end|>\u{feff}€ ü'
    const tokens = tokenizer.encodeMarker(text)
    expect(await decoder.detokenize({ model: 'a/b', signal, tokens })).toBe(text)
    // A letter of which the end is missing.
    expect(await decoder.detokenize({ model: 'a/b', signal, tokens: tokenizer.encodePlain('€', 1).slice(0, 1) })).toBe(
      '\u{fffd}',
    )
    const unknown = (async () => decoder.detokenize({ model: 'a/b', signal, tokens: [1, tokenizer.size] }))()
    await expect(unknown).rejects.toMatchObject({
      ...{ status: 400, param: 'tokens', code: 'invalid_value' },
      message: `Invalid 'tokens': ${tokenizer.size} is not a token of this model.`,
    })
  })
})

it('a decision is thought about where the model thinks, as long as is asked for', async () => {
  const questions = [{ type: 'choice', instructions: 'Is it?', options: [{ text: 'yes' }, { text: 'no' }] }]
  const thought = tokenizer.encodeMarker(`<think>${'so it is '.repeat(30)}`)
  const cost = async (part: object, chat = smallText) => {
    let from: number | undefined
    const next = (all: readonly number[]) => {
      if (tokenizer.decode(all).includes('Is it?')) return undefined
      from ??= all.length
      return thought[all.length - from]
    }
    const request = decision({ state: 'A state.', questions, calibrated: false, ...part })
    const { answers, usage } = await setUp({ next }, chat).decoder.decide(request)
    expect(answers).toHaveLength(1)
    return usage.completionTokens
  }
  expect(await cost({})).toBe(0)
  const [few, more] = [await cost({ thinkingBudget: 5 }), await cost({ thinkingBudget: 15 })]
  expect([few > 0, more - few]).toEqual([true, 10])
  const chatTemplate = '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}'
  const mute = new ChatText({ ...smallTokenizer(), chatTemplate })
  expect([mute.thoughtMarks, await cost({ thinkingBudget: 5 }, mute)]).toEqual([undefined, 0])
})

it('a model that was made for decisions is asked as it was taught, at the temperatures of its makers', async () => {
  const questions = [{ type: 'choice', instructions: 'Is it?', options: [{ text: 'yes' }, { text: 'no' }] }]
  const template = `{{ state }}{{ '\\n# ' }}{{ instructions }}{% for o in options %} {{ o.label }}={{ o.key }}{% endfor %}`
  const made = (temperatures: Record<string, number>) =>
    new ChatText({ ...smallTokenizer(), made: { type: 'pplx-decider', template, temperatures } })
  const request = decision({ state: 'A state.', questions, calibrated: true })
  const { decoder } = setUp({}, made({ choice: 2 }))
  const { answers, usage } = await decoder.decide(request)
  expect(answers).toHaveLength(1)
  expect(usage.promptTokens).toBe(tokenizer.encodeMarker('A state.\n# Is it? A=yes B=no').length)
  await expect(setUp({}, made({})).decoder.decide(request)).rejects.toMatchObject({ code: 'not_calibrated' })
})

it('shows that it reads a prompt, and whose, while it does', async () => {
  const pulse = new Pulse()
  showPulse(pulse.memory)
  const chat = new ChatText(smallTokenizer())
  const { decoder } = setUp(endless, chat)
  /** What it is at whenever it asks so of its tokenizer. */
  const at = async (way: 'sections' | 'shown' | 'bytes', work: () => Promise<unknown>) => {
    const plain = chat.tokenizer[way].bind(chat.tokenizer) as (of: never) => never
    const seen: unknown[] = []
    const spy = vi.spyOn(chat.tokenizer, way).mockImplementation((of: unknown) => {
      seen.push(pulse.doing)
      return plain(of as never)
    })
    await work()
    spy.mockRestore()
    return seen[0]
  }
  const one = call({ id: 'a call', messages: [], prompt: 'Hello', maxTokens: 1, returnTokens: true })
  const tokenized = { model: 'a/b', signal, prompt: 'Hello' }
  const detokenized = { model: 'a/b', signal, tokens: [40, 41] }
  for (const way of ['sections', 'bytes'] as const) {
    expect(await at(way, () => collect(decoder.generate(one)))).toEqual({ stage: 'prompt', of: 'a call' })
  }
  for (const way of ['sections', 'shown'] as const) {
    expect(await at(way, () => decoder.tokenize(tokenized))).toEqual({ stage: 'prompt', of: 'a/b' })
  }
  expect(await at('bytes', () => decoder.detokenize(detokenized))).toEqual({ stage: 'prompt', of: 'a/b' })
})

it('what is to be calibrated is refused where no temperature was fitted, with the order that was asked for', async () => {
  const { decoder } = setUp()
  for (const [order, words] of [
    ['given', ''],
    ['average', " with the order 'average'"],
  ] as const) {
    await expect(decoder.decide(decision({ calibrated: true, order }))).rejects.toMatchObject({
      ...{ status: 400, param: 'calibrated', code: 'not_calibrated' },
      message: `No temperature was fitted for the model 'a/b'${words}: leave 'calibrated' out, or see local-v1 calibrate.`,
    })
  }
})

it('a long prompt is told with turns for others', async () => {
  // How long others rest is no matter here: on a busy machine any piece may take a while.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { decoder } = setUp({ contextLength: 60_000, pages: 10_000 })
  const prompt = Array.from({ length: 50_000 }, () => 40)
  let turns = 0
  let counting = true
  const count = () => {
    turns++
    if (counting) setImmediate(count)
  }
  const turnsFor = async (returnTokens: boolean) => {
    counting = true
    turns = 0
    count()
    await decoder.generate(call({ messages: [], prompt, maxTokens: 1, returnTokens })).next()
    counting = false
    return turns
  }
  await turnsFor(false)
  // A pause for some hundreds of its tokens.
  expect((await turnsFor(true)) - (await turnsFor(false))).toBeGreaterThan(50)
})
