import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { countTurns } from '../../../test/support/count-turns.js'
import type { ChatCall, Engine, Part } from '../../contract/engine.js'
import { call, collect, setUp } from '../../generate/testing/call.test-helper.js'
import { Builder } from '../../grammar/rules/builder.js'
import { atOnce, isSmall } from '../../platform/index.js'
import { type MessageTarget, type Port, portOf, RemoteEngine, serveEngine } from './index.js'
import { type EngineReply, unspelled, type WireCall, wireCall } from './protocol.js'

/** An engine over a real port, and the messages that came from it. */
function over(generate: Engine['generate'], more: Partial<Engine> = {}) {
  const { port1, port2 } = new MessageChannel()
  const messages: (readonly EngineReply[])[] = []
  const inside = portOf(port2 as unknown as MessageTarget)
  const counted: Port = {
    ...inside,
    post(message) {
      inside.post(message)
      messages.push(message as readonly EngineReply[])
    },
  }
  serveEngine({ models: [{ id: 'test/small', ownedBy: 'test' }], generate, ...more }, counted)
  const far = portOf(port1 as unknown as MessageTarget)
  const engine = new RemoteEngine({
    start: () => ({ port: far, gone: new Promise(() => {}), end: () => port1.close() }),
  })
  onTestFinished(() => engine.close())
  return { engine, messages }
}

const requestOf = (content: string, part: Partial<ChatCall> = {}) =>
  call({ messages: [{ role: 'user', content }], maxTokens: 24, ...part })

test('what the answers of a step have come to goes out as one message', async () => {
  // On a busy machine some would wait until others have had as much time as what has begun.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { decoder } = setUp()
  const { engine, messages } = over((chat) => decoder.generate(chat))
  const texts = ['a', 'b', 'c', 'd', 'e', 'f']
  const there = await Promise.all(texts.map((text) => collect(engine.generate(requestOf(text)))))
  const here = await Promise.all(texts.map((text) => collect(setUp().decoder.generate(requestOf(text)))))
  expect(there.map((answer) => answer.texts)).toEqual(here.map((answer) => answer.texts))
  const partMessages = messages.filter(([first]) => first?.type === 'part')
  const parts = partMessages.flat().length
  expect(parts).toBeGreaterThan(texts.length * 12)
  // Six answers speak in each step: one message, or two where somebody else had the turn in between.
  expect(partMessages.length).toBeLessThan(parts / 2)
  // An answer has no part after its end.
  const ended = new Set<number>()
  for (const each of messages.flat()) {
    if (each.type === 'done') ended.add(each.id)
    if (each.type === 'part') expect(ended).not.toContain(each.id)
  }
})

test('a part that cannot be cloned fails its own answer alone', async () => {
  const words = ['one', 'two', 'three']
  const { engine } = over(async function* (chat): AsyncGenerator<Part> {
    const broken = chat.messages[0]!.content === 'broken'
    for (const [i, text] of words.entries()) {
      await Promise.resolve()
      yield { type: 'text-delta', choice: 0, text, ...(broken && i === 1 && { extra: () => {} }) } as Part
    }
    chat.signal.throwIfAborted()
    yield { type: 'finish', choice: 0, reason: 'stop' }
  })
  const read = async (content: string) => {
    const seen: string[] = []
    for await (const part of engine.generate(requestOf(content))) if (part.type === 'text-delta') seen.push(part.text)
    return seen
  }
  const [broken, whole] = await Promise.allSettled([read('broken'), read('whole')])
  expect(broken.status).toBe('rejected')
  expect(String((broken as PromiseRejectedResult).reason)).toMatch(/could not be cloned/)
  expect(whole).toEqual({ status: 'fulfilled', value: words })
})

test('of hundreds that end at once, few go on in each turn of the event loop', async () => {
  const { engine } = over(async function* (): AsyncGenerator<Part> {
    yield { type: 'finish', choice: 0, reason: 'stop' }
  })
  const turns = countTurns()
  const perTurn = new Map<number, number>()
  const answered = Array.from({ length: 300 }, async (_, i) => {
    for await (const part of engine.generate(requestOf(`${i}`))) expect(part.type).toBe('finish')
    perTurn.set(turns.now, (perTurn.get(turns.now) ?? 0) + 1)
  })
  await Promise.all(answered)
  turns.over = true
  expect([...perTurn.values()].reduce((sum, count) => sum + count, 0)).toBe(300)
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(32)
})

test('a list that was told before waits for no look around while something is under way', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let looked = 0
  const never = new Promise<void>(() => {})
  const survey = () => (looked++ === 0 ? Promise.resolve() : never)
  const { engine } = over(
    async function* ({ signal }): AsyncGenerator<Part> {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    { survey },
  )
  await engine.survey()
  const leaving = new AbortController()
  const answer = collect(engine.generate(requestOf('a', { signal: leaving.signal }))).catch(() => 'left')
  const turns = async () => {
    for (let turn = 0; turn < 9; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  await turns()
  for (let i = 0; i < 3; i++) {
    vi.advanceTimersByTime(1500)
    let listed = false
    void engine.survey().then(() => {
      listed = true
    })
    await turns()
    expect(listed).toBe(true)
  }
  // Asked again only once it was done.
  expect(looked).toBe(2)
  leaving.abort()
  expect(await answer).toBe('left')
})

test('grammars go from thread to thread as text: nothing is taken apart on the way', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`p${i}`, { type: 'string', maxLength: i }]),
  )
  const schema = { type: 'object', properties, additionalProperties: false }
  const given: unknown[] = []
  const { engine, messages } = over(async function* ({ grammar, toolGrammar }): AsyncGenerator<Part> {
    given.push(grammar?.source, toolGrammar?.source)
    yield { type: 'finish', choice: 0, reason: 'stop' }
  })
  const tool = { name: 'f', parameters: schema, strict: true }
  const { signal } = new AbortController()
  const asks = { output: { type: 'json_schema', name: 'x', strict: true, schema }, tools: [tool] } as const
  const places = { format: 'response_format', tools: ['tools[0]'] }
  const { grammar, toolGrammar } = await engine.constrain({
    ...{ ...asks, toolChoice: 'auto', places, layout: 'compact', id: 'a', model: 'test/small', caller: 'c', signal },
  })
  await collect(engine.generate(requestOf('a', { grammar: grammar!, toolGrammar: toolGrammar! })))
  expect(given).toEqual([grammar!.source, toolGrammar!.source])
  expect(grammar!.source).toMatchObject({ schema })
  const [reply] = messages.flat().filter(({ type }) => type === 'value') as { value: Record<string, unknown> }[]
  expect([typeof reply!.value.grammar, typeof reply!.value.toolGrammar]).toEqual(['string', 'string'])
})

test('a grammar that is too large to be kept is compiled once for its request', async () => {
  const given: unknown[] = []
  const { engine } = over(async function* ({ grammar }): AsyncGenerator<Part> {
    given.push(grammar)
    yield { type: 'finish', choice: 0, reason: 'stop' }
  })
  const compiling = vi.spyOn(Builder.prototype, 'rule')
  onTestFinished(() => compiling.mockRestore())
  const rules = Array.from({ length: 11_000 }, (_, i) => `r${i} ::= "${i}" [a-z]`).join('\n')
  const source = { gbnf: `root ::= ${Array.from({ length: 11_000 }, (_, i) => `r${i}`).join(' | ')}\n${rules}` }
  const { signal } = new AbortController()
  const whose = { id: 'chatcmpl-1', model: 'test/small', caller: 'c', signal }
  const places = { format: 'grammar', tools: [] }
  const asks = {
    output: { type: 'grammar', source },
    tools: [],
    toolChoice: 'none',
    places,
    layout: 'compact',
  } as const
  const { grammar, faultOf } = await engine.constrain({ ...asks, ...whose })
  await collect(engine.generate(requestOf('a', { id: whose.id, grammar: grammar! })))
  expect(await faultOf({ text: '7a', toolCalls: [], cut: false })).toBeUndefined()
  expect(await faultOf({ text: '7', toolCalls: [], cut: false })).toBeTypeOf('string')
  expect([given.length, compiling.mock.calls.length]).toEqual([1, 1])
})

test('a list of a hundred thousand goes over in pieces, each once the one before it is there', async () => {
  const tokens = Array.from({ length: 100_000 }, (_, i) => i)
  const logprobs = tokens.map((i) => ({ token: `${i}`, bytes: [i & 255], logprob: -i, top: [] }))
  const { engine, messages } = over(
    async function* () {
      yield { type: 'prompt', tokens, text: 'x', logprobs }
      yield { type: 'finish', choice: 0, reason: 'stop', tokens: tokens.slice(1) }
    },
    { tokenize: async () => ({ tokens, texts: tokens.map(String) }) },
  )
  const whose = { model: 'test/small', signal: new AbortController().signal }
  expect(await engine.tokenize({ ...whose, prompt: 'x' })).toEqual({ tokens, texts: tokens.map(String) })
  const parts: Part[] = []
  for await (const part of engine.generate(requestOf('x'))) parts.push(part)
  expect(parts).toEqual([
    { type: 'prompt', tokens, text: 'x', logprobs },
    { type: 'finish', choice: 0, reason: 'stop', tokens: tokens.slice(1) },
  ])
  const pieces = messages.flat().filter((reply) => reply.type === 'piece')
  expect(pieces.length).toBeGreaterThan(50)
  for (const { items } of pieces) expect(isSmall(items, 2 ** 17)).toBe(true)
  for (const batch of messages) expect(batch.some(({ type }) => type === 'piece') && batch.length > 1).toBe(false)
})

test('whoever leaves in the middle of a list hears no more of it', async () => {
  const tokens = Array.from({ length: 1_000_000 }, (_, i) => i)
  const { engine, messages } = over(async function* () {}, { tokenize: async () => ({ tokens, texts: [] }) })
  const aborter = new AbortController()
  const tokenized = engine.tokenize({ model: 'test/small', signal: aborter.signal, prompt: 'x' })
  await vi.waitFor(() => expect(messages.flat().some(({ type }) => type === 'piece')).toBe(true))
  aborter.abort(new Error('left'))
  await expect(tokenized).rejects.toThrow('left')
  await vi.waitFor(() => expect(messages.flat().some(({ type }) => type === 'failed')).toBe(true))
  expect(messages.flat().filter(({ type }) => type === 'piece').length).toBeLessThan(200)
})

test('many messages go over as text, and are what they were', () => {
  const messages = Array.from({ length: 20_000 }, (_, i) => ({ role: 'user' as const, content: `\ud800 ${i}` }))
  const schema = { properties: Object.fromEntries(messages.map((_, i) => [i, { maximum: i }])) }
  const output = { type: 'json_schema', name: 'x', strict: true, schema } as const
  const sent = { messages, output, n: 1, tokens: [1, 2], sampling: { logitBias: new Map([[1, 2]]) } }
  const work = wireCall({ ...sent, model: 'a/b', id: 'c' })
  let pauses = 0
  let { done, value: wire } = work.next()
  for (; !done; { done, value: wire } = work.next()) pauses++
  expect(pauses).toBeGreaterThan(10)
  const { spelled, rest } = wire as WireCall
  expect(Object.keys(spelled)).toEqual(['messages', 'output'])
  expect(rest).toMatchObject({ n: 1, tokens: [1, 2], sampling: { logitBias: new Map([[1, 2]]) } })
  for (const [name, { pieces }] of Object.entries(spelled)) {
    if (name === 'messages') for (const piece of pieces) expect(piece.length).toBeLessThan(100_000)
    expect(atOnce(unspelled(spelled[name]!))).toEqual(sent[name as 'messages' | 'output'])
  }
  // JSON has no word for it.
  const endless = { ...output, schema: { ...schema, maximum: Number.POSITIVE_INFINITY } }
  expect(Object.keys((atOnce(wireCall({ model: 'a/b', ...{ output: endless } })) as WireCall).spelled)).toEqual([])
})
