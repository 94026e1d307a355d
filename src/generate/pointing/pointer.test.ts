/** What is settled, decided and found by a model that points, which is made up: it points where a test says. */
import { describe, expect, it } from 'vitest'
import { closed } from '../../../test/support/closed.js'
import type { ChatCall, DecideQuestion, Part, PointingModel } from '../../contract/index.js'
import { NOTHINGS, POINTERS } from '../../contract/index.js'
import { compile } from '../../grammar/index.js'
import { Pulse, showPulse } from '../../platform/index.js'
import { ChatText } from '../chat-text.js'
import { call } from '../testing/call.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'
import { decidedByBoth } from './decided-by-both.js'
import type { LaidText } from './layout.js'
import { type NarrowedCall, Pointer } from './pointer.js'

/** Each token is a byte. */
const bytewise = (marks: readonly string[]) => {
  const files = smallTokenizer(0)
  const last = files.tokenizer.added_tokens.at(-1)!
  const more = marks.map((content, i) => ({ ...last, content, id: last.id + 1 + i }))
  const added_tokens = [...files.tokenizer.added_tokens, ...more]
  return new ChatText({ ...files, tokenizer: { ...files.tokenizer, added_tokens } })
}
const MARKS = ['<|user|>', '<|assistant|>', '<|end|>']
const chat = bytewise(MARKS)
const VOCABULARY = chat.tokenizer.size
/** A number for each question of one reading, so that none points at what another does. */
const HEAD = 16
const CERTAIN = 60

/** What answers the questions in which something stands. */
interface Find {
  readonly text?: string
  /** In bytes, where it is not a text. */
  readonly at?: readonly [from: number, to: number]
  /** How likely the stretch begins there. @default it does */
  readonly sure?: number
  readonly options?: readonly number[]
  /** How likely nothing answers. @default something does */
  readonly nothing?: number
}

const spelled = (tokens: readonly number[]) => new TextDecoder().decode(Uint8Array.from(tokens))
const bytesOf = (text: string) => new TextEncoder().encode(text).length
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const odds = (probability: number) =>
  probability === 1 ? CERTAIN : probability === 0 ? -CERTAIN : Math.log(probability / (1 - probability))

/** One that points, and what it was asked in each reading. */
function pointing(
  finds: Readonly<Record<string, Find>>,
  { text = chat, mostQuestions = 4, contextLength = 2000 } = {},
) {
  const read: string[][] = []
  const seen: string[] = []
  const around: string[][] = []
  const numbersOf = (laid: LaidText) => {
    const { tokens, marks, options, from, to } = laid
    const numbers = new Float32Array(tokens.length * POINTERS.length * HEAD + marks.length * (NOTHINGS + VOCABULARY))
    const behind = tokens.length * POINTERS.length * HEAD
    const set = (row: number, pointer: (typeof POINTERS)[number], along: number, value: number) => {
      numbers[(row * POINTERS.length + POINTERS.indexOf(pointer)) * HEAD + along] = value * HEAD ** 0.25
    }
    seen.push(spelled(tokens.slice(from, to)))
    const ends = options.flat().map(({ end }) => end)
    around.push([from - 1, to, ...ends].map((at) => text.tokenizer.shown(tokens[at]!)))
    read.push(
      marks.map((mark, i) => {
        const start = i === 0 ? to + 1 : (options[i - 1]!.at(-1)?.end ?? marks[i - 1]!) + 1
        const question = spelled(tokens.slice(start, mark + 1))
        const [, find] = Object.entries(finds).find(([name]) => question.includes(name)) ?? []
        if (!find) return question
        const { text = '', sure = 1, options: likely, nothing = 0 } = find
        for (const pointer of ['start_q', 'end_q', 'option_q'] as const) set(mark, pointer, i, 1)
        let scores: number[] = []
        if (likely) {
          scores = likely.map((probability) => Math.log(probability))
          options[i]!.forEach(({ end }, at) => void set(end, 'option_k', i, scores[at]!))
        } else {
          const first = bytesOf(seen.at(-1)!.slice(0, seen.at(-1)!.indexOf(text)))
          const [start, end] = find.at ?? [first, first + bytesOf(text)]
          const score = sure === 1 ? CERTAIN : odds(sure) + Math.log(to - from - 1)
          scores = Array.from({ length: to - from }, (_, at) => (at === start ? score : 0))
          set(from + start, 'start_k', i, score)
          set(from + end - 1, 'end_k', i, CERTAIN)
        }
        const all = Math.log(sum(scores.map(Math.exp)))
        numbers[behind + i * NOTHINGS + (likely ? 1 : 0)] = odds(nothing) + all
        return question
      }),
    )
    return numbers
  }
  const of: PointingModel = {
    ...{ headSize: HEAD, vocabulary: VOCABULARY, logitScales: [0, 0], mostQuestions },
    model: {
      ...{ contextLength, batchTokens: 8000, batchTexts: 4, size: 1, fingerprint: 'fp' },
      vectors: async (batch) => batch.map((one) => numbersOf(one as LaidText)),
      close: async () => {},
    },
  }
  return { pointer: new Pointer(of, text), read, seen, around }
}

const OUTPUT = { type: 'json_schema', name: 'x', strict: true, schema: {} } as const
const user = (content: string) => [{ role: 'user' as const, content }]
const string = { type: 'string' }

/** A text of which values are asked, and what is settled of them. */
async function settle(
  schema: object,
  text: string,
  finds: Readonly<Record<string, Find>>,
  part: Partial<ChatCall> = {},
  { spare = 1000, ...options }: { spare?: number; mostQuestions?: number; contextLength?: number } = {},
) {
  const { pointer, read, seen, around } = pointing(finds, options)
  const grammar = compile(schema)
  const one = call({ grammar, output: OUTPUT, messages: user(text), ...part })
  const narrowed = await pointer.narrowed(one, spare)
  const allows = (...documents: readonly unknown[]) =>
    documents.map((document) => (narrowed?.grammar ?? grammar).accepts(JSON.stringify(document)))
  return { narrowed, read, seen, around, allows, grammar }
}
type Settled = Awaited<ReturnType<typeof settle>>
const evidence = ({ narrowed }: Settled, pointer: string) => {
  const part: Part = { type: 'evidence', choice: 0, evidence: { pointer, confidence: 0.5 } }
  const [first, ...more] = [...(narrowed as NarrowedCall).parts(part)]
  expect(more).toEqual([])
  return (first as typeof part).evidence
}

const TEXT = 'Invoice INV-2041 of 4 March 2026: 3 items, total 1,250.00, paid.'

describe('of a document', () => {
  it('values of which it is sure are settled, each read as its kind', async () => {
    const schema = closed({
      number: string,
      day: { type: 'string', format: 'date' },
      total: { type: 'number' },
      count: { type: 'integer' },
      kind: { enum: ['bill', 'offer'] },
      open: string,
    })
    const one = await settle(schema, TEXT, {
      '"number"': { text: 'INV-2041' },
      '"day"': { text: '4 March 2026' },
      '"total"': { text: '1,250.00' },
      '"count"': { text: '3' },
      '"kind"': { options: [0.9, 0.1] },
      '"open"': { text: 'paid', sure: 0.5 },
    })
    const right = { number: 'INV-2041', day: '2026-03-04', total: 1250, count: 3, kind: 'bill', open: 'x' }
    expect(one.allows(right, { ...right, open: 'y' })).toEqual([true, true])
    const wrong = { number: 'INV-2042', day: '2026-03-05', total: 1251, count: 4, kind: 'offer' }
    const changed = Object.entries(wrong).map(([name, value]) => ({ ...right, [name]: value }))
    expect(one.allows(...changed)).toEqual(Array(5).fill(false))
    // Four questions at a time, of the same text.
    const questions = ['"number":"', '"day":"', '"total":', '"count":', '"kind":"', '"open":"']
    expect(one.read).toEqual([questions.slice(0, 4), questions.slice(4)])
    expect(one.seen).toEqual([TEXT, TEXT])
    const shortest = (grammar: typeof one.grammar) => grammar.start(chat.vocabulary).shortest
    expect(one.narrowed!.longer).toBe(shortest(one.narrowed!.grammar as typeof one.grammar) - shortest(one.grammar))
  })

  it('it is sure from where the model that writes has no more of them right', async () => {
    const sureOf = async (schema: object, find: Find) =>
      (await settle(closed({ a: schema }), TEXT, { '"a"': find })).narrowed !== undefined
    for (const [schema, found, bound] of [
      [string, (sure: number) => ({ text: 'INV-2041', sure }), 0.95],
      [{ enum: ['bill', 'offer'] }, (sure: number) => ({ options: [sure, 1 - sure] }), 0.7],
      [{ type: 'boolean' }, (sure: number) => ({ options: [sure, 1 - sure] }), 0.95],
      [{ type: ['string', 'null'] }, (nothing: number) => ({ text: 'INV-2041', nothing }), 0.95],
    ] as const) {
      const sure = [bound - 0.01, bound + 0.01].map((probability) => sureOf(schema, found(probability)))
      expect(await Promise.all(sure)).toEqual([false, true])
    }
  })

  it('that there is no value is settled where there may be none, and said with how likely it is', async () => {
    const nullable = { type: ['string', 'null'] }
    const one = await settle(closed({ a: nullable, b: string, c: nullable }, ['a', 'c']), TEXT, {
      '"a"': { text: 'paid', nothing: 0.99 },
      '"b"': { text: 'paid', nothing: 0.98 },
      '"c"': { text: 'paid', nothing: 0.01 },
    })
    const right = { a: null, c: 'paid' }
    expect(one.allows(right, { ...right, a: 'x' }, { ...right, b: 'x' }, { ...right, c: null })).toEqual([
      ...[true, false, false, false],
    ])
    expect(evidence(one, '/a')).toEqual({ pointer: '/a', ...{ confidence: near(0.99), pNull: near(0.99) } })
    expect(evidence(one, '/c')).toEqual({ pointer: '/c', ...{ confidence: near(0.99), pNull: near(0.01) } })
    // Of what it has no say in the model that writes says how sure it was.
    expect(evidence(one, '/other')).toEqual({ pointer: '/other', confidence: 0.5 })
  })

  it('a value that must be there is as likely as its stretch; one of a record that may be missing is not that', async () => {
    const there = await settle(closed({ a: string }), TEXT, { '"a"': { text: 'paid', nothing: 0.9 } })
    expect(there.allows({ a: 'paid' }, { a: 'x' })).toEqual([true, false])
    expect(evidence(there, '/a')).toEqual({ pointer: '/a', confidence: near(1) })
    const inner = closed({ a: string, b: string })
    const missing = await settle(closed({ r: inner }, []), TEXT, {
      '"a"': { text: 'paid', nothing: 0.97 },
      '"b"': { text: 'items', nothing: 0.02 },
    })
    const r = { a: 'x', b: 'items' }
    expect(missing.allows({}, { r }, { r: { ...r, b: 'x' } })).toEqual([true, true, false])
    expect(evidence(missing, '/r/b')).toEqual({ pointer: '/r/b', confidence: near(0.98) })
  })

  it('the likeliest of the other options is said, where there is one that may stand there', async () => {
    const options = [0.04, 0.95, 0.01]
    const choice = { enum: ['bill', 'offer', 'note'] }
    const one = await settle(
      closed({ a: choice, b: { ...choice, type: 'string', pattern: '^[^b]' }, c: { const: 'bill' }, d: string }),
      TEXT,
      { '"a"': { options }, '"b"': { options }, '"c"': { options: [1] }, '"d"': { text: 'paid', sure: 0.97 } },
    )
    const runnerUp = { value: 'bill', probability: near(0.04) }
    expect(evidence(one, '/a')).toEqual({ pointer: '/a', confidence: near(0.95), runnerUp })
    expect(evidence(one, '/b')).toEqual({ pointer: '/b', confidence: near(0.95) })
    expect(evidence(one, '/c')).toEqual({ pointer: '/c', confidence: near(1) })
    // Where there is one for sure, nothing is said of none.
    expect(evidence(one, '/d')).toStrictEqual({ pointer: '/d', confidence: near(0.97) })
  })

  it('or that there is none', async () => {
    const choice = { enum: ['bill', 'offer', null] }
    const one = await settle(closed({ a: choice, b: choice }), TEXT, {
      '"a"': { options: [0.9, 0.1], nothing: 0.2 },
      '"b"': { options: [0.5, 0.5], nothing: 0.96 },
    })
    const first = { confidence: near(0.72), pNull: near(0.2), runnerUp: { value: null, probability: near(0.2) } }
    expect(evidence(one, '/a')).toEqual({ pointer: '/a', ...first })
    const second = { confidence: near(0.96), pNull: near(0.96), runnerUp: { value: 'bill', probability: near(0.02) } }
    expect(evidence(one, '/b')).toEqual({ pointer: '/b', ...second })
    expect(one.allows({ a: 'bill', b: null }, { a: null, b: null }, { a: 'bill', b: 'bill' })).toEqual([
      ...[true, false, false],
    ])
  })

  it('and what is told beside it is what its schema allows, or that there is none', async () => {
    const short = { enum: ['bill', 'offer', null], maxLength: 4 }
    const one = await settle(closed({ a: short, b: { enum: ['bill', 'offer'] } }, ['a']), TEXT, {
      '"a"': { options: [0.1, 0.9], nothing: 0.96 },
      '"b"': { options: [0.9, 0.1], nothing: 0.2 },
    })
    expect(evidence(one, '/a')).toEqual({ pointer: '/a', confidence: near(0.96), pNull: near(0.96) })
    expect(evidence(one, '/b').runnerUp).toEqual({ value: null, probability: near(0.2) })
  })

  it('several stretches that say the same are one value', async () => {
    const one = await settle(closed({ n: { type: 'integer' } }), '7 7', { '"n"': { text: '7', sure: 0.92 } })
    expect(evidence(one, '/n')).toEqual({ pointer: '/n', confidence: near(0.96) })
  })

  it.each([
    ['a value that its schema does not allow', { type: 'string', pattern: '^x' }, { text: 'paid' }],
    ['a number that is none', { type: 'number' }, { text: 'paid' }],
    ['a day that is none', { type: 'string', format: 'date' }, { text: 'paid' }],
    ['a part of an integer', { type: 'integer' }, { text: '2.5' }],
    ['more digits than a number has', { type: 'integer' }, { text: '90071992547409931' }],
    ['half of a character', string, { at: [0, 1] as const }],
    ['the other half', string, { at: [1, 3] as const }],
  ])('%s is not settled', async (_, schema, find) => {
    const text = 'é paid 2.5 90071992547409931'
    const other = { '"b"': { text: 'paid', at: [3, 7] as const } }
    const one = await settle(closed({ a: schema, b: string }), text, { '"a"': find, ...other })
    // What else is asked is.
    expect(one.allows({ a: 'xx', b: 'no' })).toEqual([false])
    const alone = await settle(closed({ a: schema }), text, { '"a"': find })
    expect(alone.narrowed).toBeUndefined()
    expect(alone.read).toHaveLength(1)
  })

  it('numbers are read in English, of any size that they have whole', async () => {
    const text = '9,007,199,254,740,991 and -2.5'
    const one = await settle(closed({ a: { type: 'integer' }, b: { type: 'number' } }), text, {
      '"a"': { text: '9,007,199,254,740,991' },
      '"b"': { text: '-2.5' },
    })
    const right = { a: 9007199254740991, b: -2.5 }
    expect(one.allows(right, { ...right, b: 2 }, { ...right, a: 9 })).toEqual([true, false, false])
  })

  it('what was settled stands where it was said behind wide characters, too', async () => {
    const one = await settle(closed({ a: string }), '\u{feff}é€😀 Zoë', { '"a"': { at: [13, 17] } })
    expect(one.allows({ a: 'Zoë' }, { a: 'x' })).toEqual([true, false])
  })

  const settles = { '"a"': { text: 'paid' } }
  const schema = closed({ a: string })
  it.each<[string, Partial<ChatCall>]>([
    ['another form', { output: { type: 'text' } }],
    ['no form', { grammar: undefined as never }],
    ['a continuation', { prompt: TEXT }],
    ['tools', { tools: [{ name: 'go', parameters: {} }] as never }],
    ['some tokens more', { sampling: { ...call().sampling, logitBias: new Map([[1, 1]]) } }],
    ['a conversation', { messages: [...user(TEXT), { role: 'assistant', content: 'Yes.' }, ...user('And?')] as never }],
    ['nothing of a user', { messages: [{ role: 'assistant', content: TEXT }] as never }],
    ['pictures', { messages: [{ role: 'user', content: [{ type: 'text', text: TEXT }] }] as never }],
    ['a grammar of another kind', { grammar: { ...compile(schema), source: { regex: 'a' } } as never }],
    ['a grammar of which nothing is known', { grammar: { ...compile(schema), source: undefined } as never }],
    ['anything', { grammar: { ...compile(schema), source: { schema: true } } as never }],
  ])('nothing is read for a call that asks for %s', async (_, part) => {
    const { narrowed, read } = await settle(schema, TEXT, settles, part)
    expect([narrowed, read]).toEqual([undefined, []])
  })

  it('instructions before the text are no part of it, and a bias of nothing is none', async () => {
    const messages = [{ role: 'system' as const, content: 'Be brief.' }, ...user(TEXT)]
    const one = await settle(schema, TEXT, settles, {
      messages,
      sampling: { ...call().sampling, logitBias: new Map() },
    })
    expect([one.seen, one.narrowed !== undefined]).toEqual([[TEXT], true])
  })

  it('nothing is read that asks nothing, or that it has no room for', async () => {
    expect((await settle(closed({ a: { type: 'array' } }), TEXT, settles)).read).toEqual([])
    // The text, its marks and the question's five bytes.
    const needs = TEXT.length + 2 + '"a":"'.length
    const fits = async (contextLength: number) =>
      (await settle(schema, TEXT, settles, {}, { contextLength })).read.length
    expect([await fits(needs), await fits(needs - 1), await fits(3)]).toEqual([1, 0, 0])
    for (const lacking of MARKS) {
      const { pointer, read } = pointing(settles, { text: bytewise(MARKS.filter((mark) => mark !== lacking)) })
      const one = call({ grammar: compile(schema), output: OUTPUT, messages: user(TEXT) })
      expect([await pointer.narrowed(one, 99), read]).toEqual([undefined, []])
    }
  })

  it('a text stands between the marks of a turn, and each option ends with that of its end', async () => {
    const { around } = await settle(closed({ a: { enum: ['bill', 'offer'] } }), TEXT, {
      '"a"': { options: [0.5, 0.5] },
    })
    expect(around).toEqual([[...MARKS, '<|end|>']])
  })

  it('nothing is found in a text without words', async () => {
    const { narrowed, read } = await settle(schema, '', {})
    expect([narrowed, read]).toEqual([undefined, [['"a":"']]])
  })

  it('shows that it compiles, and for whom', async () => {
    const pulse = new Pulse()
    showPulse(pulse.memory)
    const doing: Record<'a' | 'b', unknown[]> = { a: [], b: [] }
    const watched = closed({
      a: {
        get enum() {
          doing.a.push(pulse.doing)
          return ['bill', 'offer']
        },
      },
      b: {
        type: 'array',
        get items() {
          doing.b.push(pulse.doing)
          return string
        },
      },
    })
    await settle(watched, TEXT, { '"a"': { options: [0.9, 0.1] } }, { id: 'a call' })
    // By itself, and with the rest of its document.
    for (const seen of [doing.a, doing.b]) expect(seen).toContainEqual({ stage: 'compile', of: 'a call' })
  })

  it('nothing is settled of which there is no room, or which contradicts the rest of the schema', async () => {
    const { narrowed } = await settle(schema, TEXT, settles)
    expect(narrowed!.longer).toBe('paid'.length)
    const within = async (spare: number) => (await settle(schema, TEXT, settles, {}, { spare })).narrowed !== undefined
    expect([await within(4), await within(3)]).toEqual([true, false])
    const some = { ...closed({ a: string }, []), minProperties: 1 }
    const nothing = { '"a"': { text: 'paid', nothing: 0.99 } }
    expect((await settle(some, TEXT, nothing)).narrowed).toBeUndefined()
    const around = { ...closed({ a: string, b: { $ref: '#/properties/a' } }), required: ['a'] }
    expect((await settle(around, TEXT, settles)).narrowed).toBeUndefined()
  })

  it('who leaves is told so', async () => {
    const gone = AbortSignal.abort('gone')
    await expect(settle(schema, TEXT, settles, { signal: gone })).rejects.toBe('gone')
  })

  it.each([
    ['a value', 1],
    ['the document', 2],
  ])('also who leaves while %s is compiled', async (_, compiled) => {
    const leaving = new AbortController()
    let begun = 0
    const source = {
      schema,
      get layout() {
        if (++begun === compiled) leaving.abort('gone')
        return 'compact' as const
      },
    }
    const grammar = { ...compile(schema), source } as never
    await expect(settle(schema, TEXT, settles, { signal: leaving.signal, grammar })).rejects.toBe('gone')
  })

  it('text that was settled is told as chosen, unless each token is to be told how likely it was', async () => {
    const delta: Part = { type: 'text-delta', choice: 0, text: '{"a":"paid"', forced: 11 }
    const plain = await settle(schema, TEXT, settles)
    const deltas = [...plain.narrowed!.parts(delta)] as (typeof delta)[]
    expect(deltas.map(({ text }) => text).join('')).toBe(delta.text)
    expect(
      deltas
        .filter(({ forced }) => forced === undefined)
        .map(({ text }) => text)
        .join(''),
    ).toContain('paid')
    const forcedIn = ({ narrowed }: Settled) =>
      new TextDecoder().decode(narrowed!.grammar.start(chat.vocabulary).forced())
    expect(forcedIn(plain)).toBe('{"a":"paid"}')
    const likely = await settle(schema, TEXT, settles, { topLogprobs: 0 })
    expect([...likely.narrowed!.parts(delta)]).toEqual([delta])
    expect(forcedIn(likely)).toBe('{"a":"')
    const finish: Part = { type: 'finish', choice: 0, reason: 'stop' }
    expect([...plain.narrowed!.parts(finish)]).toEqual([finish])
  })
})

const near = (value: number) => expect.closeTo(value, 3) as unknown as number

describe('of a decision', () => {
  const question = (type: DecideQuestion['type'], instructions: unknown, ...options: string[]) =>
    ({ type, instructions, options: options.map((text) => ({ text })) }) as DecideQuestion
  const questions = [
    question('choice', 'Which?', 'b', 'a'),
    question('predicate', 'Is it?', 'true', 'false'),
    question('score', 'How much?', '1', '2', '3'),
  ]
  const usage = { promptTokens: 1, completionTokens: 0, cachedTokens: 0 }
  const own = {
    answers: [{ probabilities: [0.5, 0.5] }, { probabilities: [0.9, 0.1] }, { probabilities: [0.2, 0.3, 0.5] }],
    usage,
  }
  const finds = { 'Which?': { options: [0.8, 0.2] }, 'How much?': { options: [0.1, 0.2, 0.7] } }
  const decide = async (part: object = {}, options = {}) => {
    const { pointer, read, seen } = pointing(finds, options)
    const one = { id: 'd', model: 'a/b', signal: new AbortController().signal, state: TEXT, questions, order: 'given' }
    return { read, seen, decided: await pointer.decided({ calibrated: false, ...one, ...part } as never, own) }
  }

  it('each question is read by itself, but what it has no say in, and both say how likely each option is', async () => {
    const { decided, read, seen } = await decide()
    const [choice, score] = [
      [0.8, 0.2],
      [0.1, 0.2, 0.7],
    ]
    const both = [
      { type: 'choice', probabilities: choice },
      { type: 'predicate' },
      { type: 'score', probabilities: score },
    ] as const
    const expected = decidedByBoth(own, both).answers as { probabilities: number[] }[]
    expect(decided).toEqual({
      ...own,
      answers: expected.map(({ probabilities }) => ({ probabilities: probabilities.map(near) })),
    })
    expect(read).toEqual([['Which? "answer":"'], ['How much? "answer":"']])
    expect(seen).toEqual([TEXT, TEXT])
  })

  it('options of which the order is not to matter are read in one, whatever order they have', async () => {
    const { decided } = await decide({ order: 'average' })
    const expected = decidedByBoth(own, [
      { type: 'choice', probabilities: [0.2, 0.8] },
      { type: 'predicate' },
      { type: 'score' },
    ])
    const [first] = decided.answers as { probabilities: number[] }[]
    expect(first!.probabilities).toEqual((expected.answers[0] as typeof first)!.probabilities.map(near))
  })

  it('about one message of a user it has a say, and about nothing else than a text', async () => {
    expect((await decide({ state: user(TEXT) })).seen).toEqual([TEXT, TEXT])
    const parts = [{ type: 'text', text: 'Is it?' }]
    for (const [part, options] of [
      [{ state: [...user(TEXT), ...user(TEXT)] }],
      [{ questions: [questions[0], question('choice', parts, 'a', 'b')] }],
      [{}, { contextLength: 20 }],
      [{ questions: [] }],
    ] as const) {
      const { decided, read } = await decide(part, options)
      expect(decided).toBe(own)
      expect(read).toEqual([])
    }
  })
})

describe('of fields of a text', () => {
  const field = (name: string, isNumber = false, instructions = '') => ({ name, instructions, isNumber })
  const point = async (
    text: string,
    finds: Readonly<Record<string, Find>>,
    fields: ReturnType<typeof field>[],
    options = {},
  ) => {
    const { pointer, read } = pointing(finds, options)
    const signal = new AbortController().signal
    return { read, pointed: await pointer.pointed({ id: 'p', model: 'a/b', signal, text, questions: fields }) }
  }

  it('each is found where it stands, with how likely that is, in as few readings as it may have', async () => {
    const fields = [field('number', false, 'Which?'), field('total', true), field('day'), field('none'), field('é')]
    const { read, pointed } = await point(
      TEXT,
      {
        '"number"': { text: 'INV-2041', sure: 0.9, nothing: 0.05 },
        '"total"': { text: '1,250.00', nothing: 0.4 },
        '"day"': { text: '4 March 2026', nothing: 0.3 },
        '"none"': { text: 'paid', nothing: 0.99 },
        '"é"': { text: 'paid' },
      },
      fields,
      { mostQuestions: 2 },
    )
    const at = (text: string) => ({ start: TEXT.indexOf(text), end: TEXT.indexOf(text) + text.length })
    expect(pointed!.answers).toEqual([
      { ...at('INV-2041'), probability: near(0.855), nothing: near(0.05) },
      { ...at('1,250.00'), probability: near(0.6), nothing: near(0.4) },
      ...[undefined, undefined],
      { ...at('paid'), probability: near(1), nothing: near(0) },
    ])
    const questions = ['Which? "number":"', '"total":', '"day":"', '"none":"', '"é":"']
    expect(read).toEqual([questions.slice(0, 2), questions.slice(2, 4), questions.slice(4)])
    // The text is counted once, what stands around it and behind it in each reading.
    const bytes = sum(questions.map((question) => bytesOf(question)))
    const promptTokens = TEXT.length + bytes + 3 * 2
    expect(pointed!.usage).toEqual({ promptTokens, completionTokens: 0, cachedTokens: 0 })
  })

  it('white space around it is no part of it, as at the end of a line', async () => {
    const one = { '"a"': { text: 'Ann\r' } }
    const { pointed } = await point('Name: Ann\r\nTotal: 5', one, [field('a')])
    expect(pointed!.answers).toEqual([{ start: 6, end: 9, probability: near(1), nothing: near(0) }])
    expect((await point('a\r\nb', { '"a"': { text: '\r\n' } }, [field('a')])).pointed!.answers).toEqual([undefined])
  })

  it('it is sure of a number from a half on, and of other stretches from four fifths', async () => {
    for (const [isNumber, bound] of [
      [true, 0.5],
      [false, 0.8],
    ] as const) {
      const found = [bound - 0.01, bound + 0.01].map(async (sure) => {
        const { pointed } = await point('total 12', { '"a"': { text: '12', sure } }, [field('a', isNumber)])
        return pointed!.answers[0] !== undefined
      })
      expect(await Promise.all(found)).toEqual([false, true])
    }
    // Two stretches, as likely as each other.
    const half = await point('12', { '"a"': { text: '12', sure: 0.5 } }, [field('a', true)])
    expect(half.pointed!.answers[0]).toMatchObject({ start: 0, probability: 0.5 })
  })

  it('is read as often as it takes, and not at all where one of the readings has no room', async () => {
    const [short, long] = [field('a'), field('a'.repeat(50))]
    expect((await point('x', {}, [short, short], { mostQuestions: 1 })).read).toHaveLength(2)
    const { read, pointed } = await point('x', {}, [short, long], { mostQuestions: 1, contextLength: 40 })
    expect([read, pointed]).toEqual([[], undefined])
  })

  it('none is found of half a character, of an empty text, or where there is no room or nothing is asked', async () => {
    const one = { '"a"': { at: [0, 1] as const } }
    expect((await point('é', one, [field('a')])).pointed!.answers).toEqual([undefined])
    expect((await point('', {}, [field('a')])).pointed!.answers).toEqual([undefined])
    for (const [text, fields, options] of [
      ['x', []],
      [TEXT, [field('a')], { contextLength: 20 }],
      ['x', [field('a')], { text: bytewise([]) }],
    ] as const) {
      const { read, pointed } = await point(text, one, [...fields], options)
      expect([read, pointed]).toEqual([[], undefined])
    }
  })

  it('nothing more is read once it has stopped, and why is known', async () => {
    const { pointer } = pointing({})
    expect(pointer.failure).toBeUndefined()
    const lost = new Error('lost')
    await pointer.stop(lost)
    expect(pointer.failure).toBe(lost)
    const one = { id: 'p', model: 'a/b', signal: new AbortController().signal, text: TEXT, questions: [field('a')] }
    await expect(pointer.pointed(one)).rejects.toBe(lost)
  })
})
