import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Engine, Part } from '../../contract/engine.js'
import { breathe } from '../../platform/turns.js'
import type { UsageEvent } from '../../usage/ledger.js'
import { messages } from '../endpoints/messages/index.js'
import { ollama } from '../endpoints/ollama/index.js'
import { jsonOf, MODEL, posting, serviceOf } from '../v1.test-helper.js'

// Engines as somebody writes them without types: whatever they do, a client is told what is right, or of an error.

type Anything = Record<string, unknown>
const text = (content: unknown) => ({ type: 'text-delta', choice: 0, text: content })
const finish = (reason: unknown = 'stop') => ({ type: 'finish', choice: 0, reason })
const usage = (counts: unknown = { promptTokens: 3, completionTokens: 2, cachedTokens: 0 }) => ({
  type: 'usage',
  usage: counts,
})
const call = (index: unknown, args: unknown, more: Anything = { id: `call_${index}`, name: 'look' }) => ({
  ...{ type: 'tool-call-delta', choice: 0, index, arguments: args },
  ...more,
})
async function* each(parts: readonly unknown[]) {
  yield* parts
}
const byHand = (next: () => unknown) => ({ [Symbol.asyncIterator]: () => ({ next }) })

const USER = [{ role: 'user', content: 'Hi' }]
const LOOK = { name: 'look', parameters: { type: 'object' } }
const CHATS = {
  '/chat/completions': { messages: USER, tools: [{ type: 'function', function: LOOK }] },
  '/responses': { input: 'Hi', tools: [{ type: 'function', ...LOOK }] },
  '/messages': { messages: USER, max_tokens: 50, tools: [{ name: 'look', input_schema: LOOK.parameters }] },
  '/api/chat': { messages: USER, tools: [{ type: 'function', function: LOOK }] },
}
const ALL = {
  ...CHATS,
  '/completions': { prompt: 'Hi' },
  '/api/generate': { prompt: 'Hi' },
}

function service(generate: () => unknown, more: Partial<Engine> = {}, options = {}) {
  const events: UsageEvent[] = []
  const models = [{ id: MODEL, ownedBy: 'me', capabilities: { decisions: true, embeddings: true, rerank: true } }]
  const engine = { version: 2, models, generate, ...more } as unknown as Engine
  const endpoints = [messages(), ollama()]
  const { ask } = serviceOf(engine, { endpoints, onUsage: (event) => events.push(event), timeoutMs: 5000, ...options })
  return { ask, events }
}

const ERROR = /"error"\s*:\s*[{"]/
const counts = ({ promptTokens, cachedTokens, completionTokens }: UsageEvent) => [
  promptTokens,
  cachedTokens,
  completionTokens,
]

const FAULTS: Readonly<Record<string, () => unknown>> = {
  'throws in the middle': async function* () {
    yield text('Hi')
    throw undefined
  },
  'throws at once': () => {
    throw new Error('secret')
  },
  'gives nothing that can be read': () => undefined,
  'ends without an end': () => each([text('Hi')]),
  'ends twice': () => each([text('Hi'), finish(), finish()]),
  'ends for a reason that there is not': () => each([text('Hi'), finish('content_filter')]),
  'ends in its own way': () => byHand(async () => undefined),
  'gives nothing as a part': () => each([text('Hi'), undefined, finish()]),
  'gives nothing behind its end': () => each([text('Hi'), finish(), undefined]),
  'gives parts of no kind': () => each([{ type: 'foo', choice: 0 }, text('Hi'), finish()]),
  'says no text': () => each([text(undefined), finish()]),
  'says whose it is by no number': () => each([{ ...text('Hi'), choice: '0' }, finish()]),
  'says log probabilities of nothing': () => each([{ ...text('Hi'), logprobs: [{ logprob: -1 }] }, finish()]),
  'says a stop that is none': () => each([text('Hi'), { ...finish(), stop: 5 }]),
  'says tokens that are none': () => each([text('Hi'), { ...finish(), tokens: ['a'] }]),
  'says no tokens of its prompt': () => each([{ type: 'prompt' }, text('Hi'), finish()]),
  'says tokens of its prompt that are none': () => each([{ type: 'prompt', tokens: [0.5] }, text('Hi'), finish()]),
  'says its prompt as no text': () => each([{ type: 'prompt', tokens: [1], text: 5 }, text('Hi'), finish()]),
  'says the prompt of no choice': () => each([{ type: 'prompt', tokens: [1], choice: 7 }, text('Hi'), finish()]),
  'is sure without a number': () =>
    each([text('Hi'), { type: 'evidence', choice: 0, evidence: { pointer: '', confidence: Number.NaN } }, finish()]),
  'says a number': () => each([text(5), finish()]),
  'counts less than nothing': () =>
    each([text('Hi'), finish(), usage({ promptTokens: -3, completionTokens: 1, cachedTokens: 0 })]),
  'counts what is no number': () =>
    each([text('Hi'), finish(), usage({ promptTokens: 3, completionTokens: Number.NaN, cachedTokens: 0 })]),
  'counts more than there is': () =>
    each([text('Hi'), finish(), usage({ promptTokens: 1e300, completionTokens: 1, cachedTokens: 0 })]),
  'counts half': () => each([text('Hi'), finish(), usage({ promptTokens: 3, completionTokens: 1 })]),
  'counts nothing where it counts': () => each([text('Hi'), finish(), usage(null)]),
  'never stops': async function* () {
    for (;;) yield text('')
  },
}

const FAULTS_OF_CALLS: Readonly<Record<string, () => unknown>> = {
  'calls nobody': () => each([call(0, '{}', { id: 'a' }), finish('tool_calls')]),
  'calls a number': () => each([call(0, '{}', { id: 'a', name: 5 }), finish('tool_calls')]),
  'calls by a number': () => each([call(0, '{}', { id: 5, name: 'look' }), finish('tool_calls')]),
  'says no arguments': () => each([call(0, undefined), finish('tool_calls')]),
  ...Object.fromEntries(
    [1, -1, 1e9, 0.5, Number.NaN].map((index) => [
      `counts its calls from ${index}`,
      () => each([call(index, '{}'), finish('tool_calls')]),
    ]),
  ),
}

describe.each([...Object.entries(FAULTS), ...Object.entries(FAULTS_OF_CALLS)])(
  'an engine that %s',
  (name, generate) => {
    const paths = Object.entries(name in FAULTS ? ALL : CHATS)
    const endless = name === 'never stops'
    test.each(paths)('is an error at %s, whole and streamed', async (path, body) => {
      const { ask, events } = service(generate, {}, endless ? { timeoutMs: 50 } : {})
      const whole = await ask(path, posting({ ...body, stream: false }))
      expect([whole.status, whole.text]).toEqual([endless ? 504 : 500, expect.stringMatching(ERROR)])
      expect(whole.text).not.toContain('secret')
      const { status, text: stream } = await ask(path, posting({ ...body, stream: true }))
      if (status === 200) expect(stream.trimEnd().split('\n').slice(-6).join('\n')).toMatch(ERROR)
      else expect([status, stream]).toEqual([whole.status, expect.stringMatching(ERROR)])
      expect(stream).not.toMatch(/undefined|secret/)
      expect(events.map(({ outcome }) => outcome)).toEqual(['error', 'error'])
      for (const count of events.flatMap(counts)) expect(count).toSatisfy((n) => Number.isSafeInteger(n) && n >= 0)
    })
  },
)

describe('an engine that says all and does not return', () => {
  afterEach(() => void vi.useRealTimers())
  const day = { state: 'On 3 May.', fields: { day: { type: 'text' } } }
  const paths = Object.entries({ ...ALL, '/extractions': day })

  test.each(paths)('has its answer told and counted, and its place given to the next: %s', async (path, body) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const said = path === '/extractions' ? '{"day":"3 May"}' : 'Hi'
    const generate = async function* () {
      yield* [text(said), finish(), usage()]
      await new Promise(() => {})
    }
    const { ask, events } = service(generate, {}, { maxInFlight: 1, timeoutMs: 60_000 })
    const ways = path === '/extractions' ? [{}, {}] : [{ stream: false }, { stream: true }]
    const asked = ways.map((way) => ask(path, posting({ ...body, ...way })))
    let isOver = false
    const answers = Promise.all(asked).finally(() => {
      isOver = true
    })
    while (!isOver) await vi.advanceTimersByTimeAsync(100)
    for (const { status, text: whole } of await answers) {
      expect([status, whole]).toEqual([200, expect.stringContaining(path === '/extractions' ? '3 May' : 'Hi')])
      expect(whole).not.toMatch(ERROR)
    }
    expect(events.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
    expect(events.map(counts)).toEqual(ways.map(() => [3, 0, 2]))
  })
})

/** What a client reads of the usage, whichever interface it reads. */
function told(answer: Anything): [number, number] {
  const { usage: said = answer } = answer as { usage?: Anything }
  const of = (...names: string[]) => said[names.find((name) => name in said)!] as number
  return [
    of('prompt_tokens', 'input_tokens', 'prompt_eval_count'),
    of('completion_tokens', 'output_tokens', 'eval_count'),
  ]
}

describe('an engine that counts', () => {
  test.each(Object.entries(ALL))(
    'nothing is counted by its pieces, for its client as for the books: %s',
    async (path, body) => {
      const { ask, events } = service(() => each([text('Hi'), text(''), text(' you'), finish()]))
      expect(told(jsonOf(await ask(path, posting({ ...body, stream: false }))))).toEqual([0, 2])
      expect(events.map(counts)).toEqual([[0, 0, 2]])
    },
  )

  test.each(Object.entries(ALL))('no token of an answer without a word is believed: %s', async (path, body) => {
    const none = usage({ promptTokens: 3, completionTokens: 0, cachedTokens: 0 })
    const { ask, events } = service(() => each([text(''), text(''), finish(), none]))
    expect(told(jsonOf(await ask(path, posting({ ...body, stream: false }))))).toEqual([3, 0])
    expect(events.map(counts)).toEqual([[3, 0, 0]])
  })

  test('more from the cache than it counts as the prompt', async () => {
    const counted = usage({ promptTokens: 3, completionTokens: 1, cachedTokens: 8 })
    const { ask } = service(() => each([text('Hi'), finish(), counted]))
    const { usage: said } = jsonOf(await ask('/messages', posting({ ...CHATS['/messages'] })))
    expect(said).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 8 })
  })
})

// biome-ignore lint/suspicious/noExplicitAny: answers of four forms
type Found = any

/** Calls as each interface tells them: id, arguments. */
function callsIn(path: string, answer: Anything): [string, unknown][] {
  const any = answer as Found
  if (path === '/chat/completions')
    return any.choices[0].message.tool_calls.map((each: Found) => [each.id, JSON.parse(each.function.arguments)])
  if (path === '/responses')
    return any.output.flatMap((each: Found) =>
      each.type === 'function_call' ? [[each.call_id, JSON.parse(each.arguments)]] : [],
    )
  if (path === '/messages')
    return any.content.flatMap((each: Found) => (each.type === 'tool_use' ? [[each.id, each.input]] : []))
  return any.message.tool_calls.map((each: Found) => [each.id, each.function.arguments])
}

describe('an engine that writes its calls side by side', () => {
  const more = (index: number, args: string) => call(index, args, {})
  const parts = [
    text('So'),
    call(0, '{"at"'),
    call(1, ''),
    more(0, ':1'),
    more(1, '{"b":{}'),
    text('!'),
    more(0, '}'),
    more(1, '}'),
  ]
  const generate = () => each([...parts, finish('tool_calls'), usage()])

  test.each(Object.entries(CHATS))('is told one call after the other: %s', async (path, body) => {
    const { ask } = service(generate)
    const whole = jsonOf(await ask(path, posting({ ...body, stream: false })))
    expect(callsIn(path, whole)).toEqual([
      ['call_0', { at: 1 }],
      ['call_1', { b: {} }],
    ])
  })

  test('has its blocks one after the other in Anthropic’s stream, and its items in that of responses', async () => {
    const { ask } = service(generate)
    const read = async (path: keyof typeof CHATS) => {
      const { text: stream } = await ask(path, posting({ ...CHATS[path], stream: true }))
      return [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Anything)
    }
    const blocks = (await read('/messages')).flatMap(({ type, index, delta, content_block: block }) => {
      if (type === 'content_block_start') return [`${index} ${(block as Anything).type}`]
      if (type === 'content_block_stop') return [`${index} over`]
      return (delta as Anything)?.partial_json === undefined ? [] : [`${index} ${(delta as Anything).partial_json}`]
    })
    expect(blocks).toEqual([
      ...['0 text', '0 over', '1 tool_use', '1 {"at"', '1 :1', '1 }', '1 over'],
      ...['2 tool_use', '2 {"b":{}', '2 }', '2 over', '3 text', '3 over'],
    ])
    const items = (await read('/responses')).flatMap(({ type, output_index: at, item }) => {
      if (type === 'response.output_item.added') return [`${at} ${(item as Anything).type}`]
      return type === 'response.function_call_arguments.delta' || type === 'response.output_item.done'
        ? [`${at} ${type}`]
        : []
    })
    const DELTA = 'response.function_call_arguments.delta'
    const OVER = 'response.output_item.done'
    expect(items).toEqual([
      ...['0 message', `0 ${OVER}`, '1 function_call', `1 ${DELTA}`, `1 ${DELTA}`, `1 ${DELTA}`, `1 ${OVER}`],
      ...['2 function_call', `2 ${DELTA}`, `2 ${DELTA}`, `2 ${OVER}`, '3 message', `3 ${OVER}`],
    ])
  })

  test.each(Object.entries(CHATS))('or by one id, or by none, has each by its own: %s', async (path, body) => {
    for (const id of ['x', '']) {
      const { ask } = service(() =>
        each([call(0, '{}', { id, name: 'look' }), call(1, '{}', { id, name: 'look' }), finish('tool_calls')]),
      )
      const ids = callsIn(path, jsonOf(await ask(path, posting({ ...body, stream: false })))).map(([own]) => own)
      expect(new Set(ids).size).toBe(2)
      for (const own of ids) expect(own).toMatch(/^(x|call_\w+)$/)
    }
  })
})

test.each<[string, () => Anything, number]>([
  ['has not found its models', () => ({ ready: Promise.reject(new Error('none')) }), 500],
  ['compiles nothing that can be used', () => ({ constrain: async () => ({}) }), 500],
  ['refuses to say what a model can', () => ({ learn: () => Promise.reject(null) }), 500],
  ['cannot load a model', () => ({ load: () => Promise.reject(undefined) }), 500],
  [
    'says nothing of how far a load is',
    () => ({ load: async (_: string, onProgress: (far: unknown) => void) => onProgress(undefined) }),
    200,
  ],
])('an engine that %s answers each who asks, and ends no process', async (_, more, status) => {
  const { ask } = service(() => each([text('Hi'), finish(), usage()]), more() as Partial<Engine>)
  // As long as a rejection is given until it counts as unhandled.
  await breathe()
  for (const [path, body] of Object.entries(CHATS)) {
    expect((await ask(path, posting({ ...body, stream: false }))).status).toBe(status)
  }
  await breathe()
})

describe('an engine whose one result is none', () => {
  const counted = { promptTokens: 3, completionTokens: 0, cachedTokens: 0 }
  const questions = [{ type: 'choice', instructions: '?', choices: [{ value: 'a' }, { value: 'b' }] }]
  const asked = { input: 'Hi', questions }
  const decided = (probabilities: unknown, said: unknown = counted) => ({
    decide: async () => ({ answers: [{ probabilities }], usage: said }),
  })
  test.each<[string, string, object, Anything]>([
    ['has a probability that is no number', '/decisions', asked, decided([Number.NaN, 1])],
    ['has one below 0', '/decisions', asked, decided([-1, 2])],
    ['has none of an option', '/decisions', asked, decided([1])],
    ['has no answer', '/decisions', asked, { decide: async () => ({ answers: [], usage: counted }) }],
    ['counts nothing', '/decisions', asked, decided([0.5, 0.5], { ...counted, promptTokens: -1 })],
    ['is none', '/decisions', asked, { decide: () => undefined }],
    [
      'is thrown',
      '/decisions',
      asked,
      {
        decide: () => {
          throw null
        },
      },
    ],
    [
      'has numbers that are none',
      '/embeddings',
      { input: 'Hi' },
      { embed: async () => ({ vectors: [[1, Number.NaN]], promptTokens: 1 }) },
    ],
    [
      'has too many vectors',
      '/embeddings',
      { input: 'Hi' },
      { embed: async () => ({ vectors: [[1], [2]], promptTokens: 1 }) },
    ],
    [
      'counts what is none',
      '/embeddings',
      { input: 'Hi' },
      { embed: async () => ({ vectors: [[1]], promptTokens: undefined }) },
    ],
    [
      'has no vector',
      '/api/embed',
      { input: ['Hi', 'Ho'] },
      { embed: async () => ({ vectors: [[1]], promptTokens: 1 }) },
    ],
    ['says no text of tokens', '/detokenize', { tokens: [1] }, { detokenize: async () => ({}) }],
    ['says no tokens of a text', '/tokenize', { prompt: 'a' }, { tokenize: async () => ({ tokens: 'a', texts: [] }) }],
    [
      'has no score',
      '/rerank',
      { query: 'Hi', documents: ['a'] },
      { rank: async () => ({ scores: [Number.NaN], promptTokens: 1 }) },
    ],
  ])('%s: %s', async (_, path, body, engine) => {
    const { ask, events } = service(() => each([]), engine as Partial<Engine>)
    const answer = await ask(path, posting(body))
    expect([answer.status, answer.text]).toEqual([500, expect.stringMatching(ERROR)])
    expect(events.map(counts)).toEqual(path.endsWith('tokenize') ? [] : [[0, 0, 0]])
  })

  test.each(['throws', 'never stops'])('extracts by generating, and %s', async (how) => {
    const generate = how === 'throws' ? () => each([text(undefined)]) : FAULTS['never stops']!
    const { ask } = service(generate, {}, { timeoutMs: how === 'throws' ? 5000 : 200 })
    const answer = await ask('/extractions', posting({ state: 'On 3 May.', fields: { day: { type: 'date' } } }))
    expect([answer.status, answer.text]).toEqual([how === 'throws' ? 500 : 504, expect.stringMatching(ERROR)])
  })
})

test.each(Object.entries(CHATS))(
  'an engine that cuts characters in two has them told whole: %s',
  async (path, body) => {
    const cut = (of: (said: string) => Anything) => [of('"\ud83d'), of('\ude00"')]
    const thought = (said: string) => ({ type: 'reasoning-delta', choice: 0, text: said })
    const calls = [
      call(0, '{"at":'),
      ...cut((said) => call(0, said, {})),
      call(0, '}', {}),
      finish('tool_calls'),
      usage(),
    ]
    const { ask } = service(() => each([...cut(thought), ...cut(text), ...calls]))
    for (const stream of [false, true]) {
      const { status, text: wire } = await ask(path, posting({ ...body, stream }))
      expect([status, wire.match(/\\u(d[89a-f]|fffd)|\ufffd/i)]).toEqual([200, null])
      expect(wire.match(/😀/g)!.length).toBeGreaterThanOrEqual(3)
    }
  },
)

test('parts that say nothing are left out of whatever is told', async () => {
  const parts: unknown[] = [
    text(''),
    text('Hi'),
    text(''),
    { type: 'reasoning-delta', choice: 0, text: '' },
    finish(),
    usage(),
  ]
  const { ask } = service(() => each(parts as Part[]))
  for (const [path, body] of Object.entries(ALL)) {
    const { status, text: whole } = await ask(path, posting({ ...body, stream: false }))
    expect([status, whole]).toEqual([200, expect.stringContaining('"Hi"')])
  }
})
