/** What points at values before they are written: of easy texts it finds them, and of none it says what may not be said. */
import { readFileSync } from 'node:fs'
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chatCallOf } from '../../src/bench/clock.js'
import type {
  ChatCall,
  DecideCall,
  Evidence,
  Part,
  PointingModel,
  TextTokens,
  TokenLogprob,
  Usage,
} from '../../src/contract/index.js'
import type { Device } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { fromSource } from '../../src/grammar/structured.js'
import { createV1 } from '../../src/index.js'
import { FULL, turns } from '../support/full.js'
import { NANO, openNano } from './opened.js'

const points = readFileSync(new URL('tensor-cache.json', NANO), 'utf8').includes('"pointing.')

const ajv = new Ajv({ strict: false, allErrors: false })
formats.default(ajv)

type Schema = Readonly<Record<string, unknown>>
const text = { type: 'string' }
const record = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

interface Subject extends Awaited<ReturnType<typeof openNano>> {
  /** Texts with questions that were read. */
  reads: number
  /** Called before one is. */
  beforeRead: () => void
}

let device: Device

async function open(isPointing: boolean): Promise<Subject> {
  const counted = (model: PointingModel['model']) =>
    new Proxy(model, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (name !== 'vectors') return typeof value === 'function' ? value.bind(target) : value
        return (batch: readonly TextTokens[]) => {
          subject.reads += batch.length
          subject.beforeRead()
          return target.vectors(batch)
        }
      },
    })
  const subject = { ...(await openNano(device, isPointing ? counted : undefined)), reads: 0, beforeRead: () => {} }
  return subject
}

type Asked = Partial<ChatCall> & { readonly quote?: boolean }

function call(user: string, schema: Schema, { quote, ...more }: Asked = {}): ChatCall {
  return chatCallOf({
    model: 'nano',
    messages: [{ role: 'user', content: user }],
    output: { type: 'json_schema', name: 'answer', strict: true, schema },
    grammar: fromSource({ schema, ...(quote && { quote: { texts: [user] } }) }),
    describeSchema: true,
    maxTokens: 300,
    sampling: { temperature: 0 },
    ...more,
  })
}

async function answer({ loop }: Pick<Subject, 'loop'>, chatCall: ChatCall) {
  const texts = Array.from({ length: chatCall.n }, () => '')
  const parts: Part[] = []
  const logprobs: TokenLogprob[] = []
  const evidence: Evidence[] = []
  let usage: Usage | undefined
  for await (const part of loop.generate(chatCall)) {
    parts.push(part)
    if (part.type === 'text-delta') {
      texts[part.choice] += part.text
      logprobs.push(...(part.logprobs ?? []))
    } else if (part.type === 'evidence') evidence.push(part.evidence)
    else if (part.type === 'usage') usage = part.usage
  }
  return { text: texts[0]!, texts, parts, logprobs, evidence, usage: usage! }
}

const ANNA = 'My name is Anna Keller, I am 34 years old and I live in Lisbon.'
/** More tokens than are read at once. */
const LONG = `${ANNA} `.repeat(28)
const PERSON = record({ name: text, age: { type: 'integer' }, city: text })
const NOTE = 'Please remind Tom that the rent of 1,250 euros is due on 3 March 2026.'

const EASY: readonly (readonly [name: string, user: string, schema: Schema, expected: unknown])[] = [
  ['a name, an age and a city', ANNA, PERSON, { name: 'Anna Keller', age: 34, city: 'Lisbon' }],
  [
    'what is within a record',
    ANNA,
    record({ person: record({ name: text, home: record({ city: text }) }) }),
    { person: { name: 'Anna Keller', home: { city: 'Lisbon' } } },
  ],
  [
    'no phone number where there is none',
    ANNA,
    record({ name: text, phone: { type: ['string', 'null'], description: 'phone number' } }),
    { name: 'Anna Keller', phone: null },
  ],
  [
    'a date as ISO 8601',
    NOTE,
    record({ due: { type: 'string', format: 'date', description: 'the day it is due' } }),
    { due: '2026-03-03' },
  ],
  [
    'a number with words around it',
    NOTE,
    record({ rent: { type: 'number', description: 'the rent in euros' } }),
    { rent: 1250 },
  ],
  [
    'one of several choices',
    'The printer on the second floor has been broken since Monday.',
    record({ device: { enum: ['phone', 'printer', 'lamp'], description: 'what is broken' } }),
    { device: 'printer' },
  ],
]

/** What is pointed at may not stand there, or not there alone, or more than it must. */
const HOSTILE: readonly (readonly [name: string, schema: Schema])[] = [
  ['a pattern', record({ name: { type: 'string', pattern: '^[0-9]{5}$' }, city: text })],
  ['a least length', record({ name: { type: 'string', minLength: 20 }, city: text })],
  ['a greatest length', record({ name: { type: 'string', maxLength: 4 }, city: text })],
  ['limits', record({ age: { type: 'integer', minimum: 40, maximum: 50 } })],
  ['an enum without it', record({ city: { enum: ['Paris', 'Rome'] }, name: text })],
  ['an enum of another type', record({ city: { type: 'integer', enum: ['Lisbon', 4] } })],
  ['an enum of which null is no part', record({ city: { type: ['string', 'null'], enum: ['Paris', 'Rome'] } })],
  ['a null that its type excludes', record({ phone: { type: 'string', enum: ['none', null] } })],
  ['a constant', record({ name: { const: 'Bob' }, city: text })],
  ['names of any kind', { type: 'object', properties: { name: text }, additionalProperties: true, maxProperties: 2 }],
  [
    'required names without a schema',
    {
      type: 'object',
      properties: { name: text },
      required: ['late', 'name'],
      additionalProperties: { type: 'boolean' },
    },
  ],
  ['one name at most', { ...record({ name: text, age: { type: 'integer' }, city: text }, []), maxProperties: 1 }],
  [
    'what a reference is asked beside it',
    { ...record({ name: { $ref: '#/$defs/t', maxLength: 3 } }), $defs: { t: text } },
  ],
  ['no record', { anyOf: [PERSON, { type: 'null' }] }],
  [
    'a record that may be missing',
    record({ name: text, job: record({ title: text, pay: { type: 'number' } }) }, ['name']),
  ],
  [
    'what refers to a property',
    record({ name: text, others: { type: 'array', items: { $ref: '#/properties/name' } } }),
  ],
  [
    'a condition',
    { ...PERSON, if: { properties: { age: { minimum: 18 } } }, else: { properties: { name: { const: 'child' } } } },
  ],
]

const cases = readFileSync(new URL('eval/natural.jsonl', NANO), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { readonly user: string; readonly schema: Schema })

const decision = (state: DecideCall['state'], more: Partial<DecideCall> = {}): DecideCall => ({
  id: 'dec-test',
  model: 'nano',
  signal: new AbortController().signal,
  state,
  order: 'given',
  calibrated: false,
  questions: [
    { type: 'predicate', instructions: 'The parcel arrived broken.', options: [{ text: 'true' }, { text: 'false' }] },
    {
      type: 'choice',
      instructions: 'Where does she live?',
      options: [{ text: 'Lisbon' }, { text: 'Oslo' }, { text: 'Rome' }],
    },
  ],
  ...more,
})

describe.skipIf(!points)('what points at values (skipped: the package of nano has nothing that does)', () => {
  let pointing: Subject
  let plain: Subject

  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
    ;[pointing, plain] = [await open(true), await open(false)]
  })
  afterAll(async () => {
    for (const { loop } of [pointing, plain]) await loop.close()
    device.destroy()
  })

  it.each(EASY)('finds %s', async (_, user, schema, expected) => {
    expect(JSON.parse((await answer(pointing, call(user, schema))).text)).toEqual(expected)
  })

  it('needs no instructions for it, and is not led astray by them', async () => {
    const messages = [
      { role: 'system', content: 'Extract the person.' },
      { role: 'user', content: ANNA },
    ] as const
    const { text } = await answer(pointing, call(ANNA, PERSON, { messages }))
    expect(JSON.parse(text)).toEqual(EASY[0]![3])
  })

  describe('says nothing that a schema does not allow', () => {
    const judged = async (user: string, schema: Schema, options: Asked) => {
      const { text } = await answer(pointing, call(user, schema, { ...(!FULL && SHORT), ...options }))
      expect(ajv.compile(schema)(JSON.parse(text)), text).toBe(true)
      return text
    }
    const each = [{ temperature: 0 }, { temperature: 1.2, seed: 5 }]
    /** Documents that may have any number of names end sooner. */
    const SHORT = { maxTokens: 100 }

    it('of natural texts', async () => {
      for (const [i, { user, schema }] of cases.slice(0, FULL ? 8 : 4).entries())
        for (const sampling of turns(each, i, 2)) await judged(user, schema, { maxTokens: 300, sampling })
    })

    it.each(HOSTILE)('with %s', async (_, schema) => {
      for (const sampling of each) await judged(ANNA, schema, { sampling })
    })

    it('with quotes', async () => {
      const schema = record({
        rent: { type: 'string', 'x-quote': true },
        due: { type: 'string', format: 'date' },
        who: { type: ['string', 'null'], 'x-quote': true },
      })
      for (const sampling of each) {
        const document = JSON.parse(await judged(NOTE, schema, { sampling, quote: true })) as Record<
          string,
          string | null
        >
        expect(NOTE).toContain(document.rent)
        if (document.who !== null) expect(NOTE).toContain(document.who)
      }
    })

    it('in any layout', async () => {
      const grammar = fromSource({ schema: PERSON, layout: { indent: 2 } })
      const text = await judged(ANNA, PERSON, { grammar })
      expect(text).toBe(JSON.stringify(JSON.parse(text), null, 2))
    })
  })

  describe('says the same', () => {
    it('again, and by the same seed', async () => {
      const samplings = [{ temperature: 0 }, { temperature: 1, seed: 3 }]
      for (const [i, { user, schema }] of cases.slice(8, FULL ? 11 : 10).entries()) {
        for (const sampling of turns(samplings, i, 2)) {
          const first = await answer(pointing, call(user, schema, { sampling }))
          expect((await answer(pointing, call(user, schema, { sampling }))).text).toBe(first.text)
        }
      }
    })

    it('twice where two are asked for', async () => {
      const { text } = await answer(pointing, call(ANNA, PERSON))
      const { texts } = await answer(pointing, call(ANNA, PERSON, { n: 2 }))
      expect(texts).toEqual([text, text])
    })

    it('to callers who come at once', async () => {
      const calls = cases.slice(11, 14).map(({ user, schema }) => call(user, schema))
      const alone: string[] = []
      for (const one of calls) alone.push((await answer(pointing, one)).text)
      const together = await Promise.all(
        calls.map((one, i) => answer(pointing, { ...one, caller: `caller ${i}` }).then(({ text }) => text)),
      )
      expect(together).toEqual(alone)
    })

    it('with log probabilities, of every token', async () => {
      const { text } = await answer(pointing, call(ANNA, PERSON))
      const reply = await answer(pointing, call(ANNA, PERSON, { topLogprobs: 0 }))
      expect(reply.text).toBe(text)
      expect(reply.logprobs.map(({ token }) => token).join('')).toBe(text)
      for (const { logprob } of reply.logprobs) expect(logprob).toBeLessThanOrEqual(0)
    })
  })

  it('counts the tokens of prompt and answer, and no others', async () => {
    const [one, other] = [await answer(pointing, call(ANNA, PERSON)), await answer(plain, call(ANNA, PERSON))]
    expect(one.usage.promptTokens).toBe(other.usage.promptTokens)
    const reply = await answer(pointing, call(ANNA, PERSON, { topLogprobs: 0 }))
    expect(one.usage.completionTokens - reply.logprobs.length).toBeLessThanOrEqual(1)
    expect(one.usage.completionTokens).toBeGreaterThanOrEqual(reply.logprobs.length)
  })

  describe('points at fields', () => {
    const names = ['name', 'age', 'city']
    const pointCall = (text: string, signal = new AbortController().signal) => ({
      ...{ id: 'ext-test', model: 'nano', signal, text },
      questions: names.map((name) => ({ name, instructions: '', isNumber: name === 'age' })),
    })

    it('all of them in one reading, in the code units of the text', async () => {
      for (const state of [ANNA, `\u{1f642} é ${ANNA}`]) {
        const before = pointing.reads
        const { answers, usage } = (await pointing.loop.point(pointCall(state)))!
        expect(pointing.reads - before).toBe(1)
        expect(answers.map((one) => one && state.slice(one.start, one.end))).toEqual(['Anna Keller', '34', 'Lisbon'])
        for (const one of answers) {
          expect(one!.probability + one!.nothing).toBeLessThanOrEqual(1 + 1e-6)
          expect(one!.probability).toBeGreaterThan(0.5)
        }
        expect(usage.promptTokens).toBeGreaterThan(state.length / 8)
        expect(usage).toMatchObject({ completionTokens: 0, cachedTokens: 0 })
      }
    })

    it('of as many as are asked, with the text counted once', async () => {
      const tokens = async (count: number) => {
        const questions = new Array(count).fill({ name: 'city', instructions: '', isNumber: false })
        const { answers, usage } = (await pointing.loop.point({ ...pointCall(ANNA), questions }))!
        expect(answers).toHaveLength(count)
        return usage.promptTokens
      }
      const [one, two, forty] = [await tokens(1), await tokens(2), await tokens(40)]
      // The marks around the text are read again with those that do not go into the first reading.
      expect(forty - one).toBe(39 * (two - one) + 2)
    })

    it('not of a text that is too long, for nobody, and not without what points', async () => {
      const before = pointing.reads
      expect(await pointing.loop.point(pointCall(LONG))).toBeUndefined()
      await expect(pointing.loop.point(pointCall(ANNA, AbortSignal.abort('left')))).rejects.toBe('left')
      expect(pointing.reads).toBe(before)
      expect(await plain.loop.point(pointCall(ANNA))).toBeUndefined()
    })
  })

  describe('gives evidence', () => {
    it('of every value: how sure it is, where it stands, and how likely it was that there is none', async () => {
      const schema = record({
        name: text,
        phone: { type: ['string', 'null'], description: 'phone number' },
        age: { type: 'integer' },
      })
      const { evidence } = await answer(pointing, call(ANNA, schema, { evidence: true }))
      const of = (pointer: string) => evidence.find((one) => one.pointer === pointer)!
      expect(evidence.map(({ pointer }) => pointer).sort()).toEqual(['/age', '/name', '/phone'])
      for (const { confidence } of evidence) {
        expect(confidence).toBeGreaterThanOrEqual(0)
        expect(confidence).toBeLessThanOrEqual(1)
      }
      expect(of('/phone').pNull).toBeGreaterThan(0.5)
      expect(of('/name').pNull).toBeUndefined()
      const { source } = of('/name')
      expect(ANNA.slice(source!.start, source!.end)).toBe('Anna Keller')
    })

    it('also of what it does not point at, and of names with slashes', async () => {
      const schema = record({ 'full/name': text, tags: { type: 'array', items: text, maxItems: 2 } })
      const { evidence } = await answer(pointing, call(ANNA, schema, { evidence: true }))
      expect(evidence.map(({ pointer }) => pointer)).toContain('/full~1name')
      for (const { confidence } of evidence) expect(confidence >= 0 && confidence <= 1, String(confidence)).toBe(true)
    })

    it('of choices with the second likeliest, no likelier than what is left', async () => {
      const [, user, schema] = EASY.at(-1)!
      const [found] = (await answer(pointing, call(user, schema, { evidence: true }))).evidence
      const { confidence, runnerUp } = found!
      expect(['phone', 'lamp']).toContain(runnerUp!.value)
      expect(confidence + runnerUp!.probability).toBeLessThanOrEqual(1 + 1e-6)
    })
  })

  describe('keeps out of what is not asked of one text', () => {
    const tool = { name: 'save', parameters: PERSON } as unknown as ChatCall['tools'][number]
    const others: readonly (readonly [name: string, makeCall: () => ChatCall])[] = [
      ['a text that is too long', () => call(LONG, PERSON)],
      [
        'several messages',
        () =>
          call(ANNA, PERSON, {
            messages: [
              { role: 'user', content: 'Hello' },
              { role: 'assistant', content: 'Hello, who are you?' },
              { role: 'user', content: ANNA },
            ],
          }),
      ],
      ['tools', () => call(ANNA, PERSON, { tools: [tool], toolChoice: 'none' })],
      [
        'tokens that are biased',
        () => call(ANNA, PERSON, { sampling: { temperature: 0, logitBias: new Map([[100, -100]]) } }),
      ],
      [
        'JSON of any kind',
        () =>
          call(ANNA, PERSON, {
            output: { type: 'json_object' },
            grammar: fromSource({ schema: { type: 'object' } }),
            maxTokens: 40,
          }),
      ],
      [
        'a text',
        () =>
          chatCallOf({
            model: 'nano',
            messages: [{ role: 'user', content: ANNA }],
            maxTokens: 20,
            sampling: { temperature: 0 },
          }),
      ],
      ['a schema that asks nothing', () => call(ANNA, record({ tags: { type: 'array', items: text, maxItems: 2 } }))],
      ['a schema that holds nobody', () => call(ANNA, PERSON, { grammar: undefined as never, maxTokens: 30 })],
    ]
    it.each(others)('%s', async (_, makeCall) => {
      const before = pointing.reads
      const [one, other] = [await answer(pointing, makeCall()), await answer(plain, makeCall())]
      expect(pointing.reads).toBe(before)
      expect(one.texts).toEqual(other.texts)
      expect({ ...one.usage, cachedTokens: 0 }).toEqual({ ...other.usage, cachedTokens: 0 })
    })
  })

  it('a document that must be short has room for other values', async () => {
    const schema = record({ name: text, sentence: text })
    const grammar = fromSource({ schema })
    const { shortest } = grammar.start(pointing.vocabulary)
    for (const maxTokens of [shortest, shortest + 3]) {
      const { text: written } = await answer(pointing, call(ANNA, schema, { maxTokens }))
      expect(grammar.accepts(written)).toBe(true)
    }
  })

  it('so has one whose prompt leaves it little room', async () => {
    const grammar = fromSource({ schema: PERSON })
    const fewest = grammar.start(pointing.vocabulary).shortest
    const user = { role: 'user', content: ANNA } as const
    const before = (count: number) => ({ role: 'system', content: 'a'.concat(' b'.repeat(count)) }) as const
    const ask = (count: number) =>
      call(ANNA, PERSON, { maxTokens: undefined as never, messages: [before(count), user] })
    const { usage } = await answer(plain, { ...ask(0), maxTokens: 100 })
    const two = (await answer(plain, { ...ask(1), maxTokens: 100 })).usage.promptTokens - usage.promptTokens
    // As many as leave room for the shortest document and for little more.
    const count = Math.floor((2048 - usage.promptTokens - fewest - 1) / two)
    const { text: written } = await answer(pointing, ask(count))
    expect(grammar.accepts(written)).toBe(true)
  })

  it('what is refused is not read', async () => {
    const before = pointing.reads
    await expect(answer(pointing, call(ANNA, PERSON, { maxTokens: 3 }))).rejects.toThrow('too small')
    expect(pointing.reads).toBe(before)
  })

  it('what was settled is told as chosen, as if it had been written', async () => {
    const { parts, text: written } = await answer(pointing, call(ANNA, PERSON))
    const forced = parts.flatMap((part) => (part.type === 'text-delta' && part.forced !== undefined ? [part.text] : []))
    expect(forced.join('')).not.toMatch(/Anna|34|Lisbon/)
    expect(forced.join('')).toMatch(/"age":/)
    expect(JSON.parse(written)).toEqual({ name: 'Anna Keller', age: 34, city: 'Lisbon' })
  })

  it('is told of by the service, whole and as it is written', async () => {
    const models = [{ id: 'local-v1/nano', from: NANO.pathname, contextLength: 1024 }]
    const v1 = createV1({ engine: webgpu({ models, device: 'cpu', log: () => {} }), keys: 'none' })
    const schema = record({ name: text, phone: { type: ['string', 'null'], description: 'phone number' } })
    const post = async (stream: boolean) => {
      const body = {
        ...{ model: 'local-v1/nano', temperature: 0, evidence: true, stream },
        messages: [{ role: 'user', content: ANNA }],
        response_format: { type: 'json_schema', json_schema: { name: 'it', strict: true, schema } },
      }
      const request = new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return (await v1.fetch(request)).text()
    }
    interface Told {
      readonly choices: readonly {
        readonly message?: { readonly content: string }
        readonly delta?: { readonly content?: string }
        readonly evidence?: Readonly<Record<string, { readonly confidence: number; readonly p_null?: number }>>
      }[]
    }
    try {
      const [whole] = (JSON.parse(await post(false)) as Told).choices
      const pieces = [...(await post(true)).matchAll(/^data: (\{.*)$/gm)].flatMap(
        ([, data]) => (JSON.parse(data!) as Told).choices,
      )
      expect(JSON.parse(whole!.message!.content)).toEqual({ name: 'Anna Keller', phone: null })
      expect(pieces.map(({ delta }) => delta?.content ?? '').join('')).toBe(whole!.message!.content)
      expect(Object.assign({}, ...pieces.map(({ evidence }) => evidence))).toEqual(whole!.evidence)
      expect(whole!.evidence!['/phone']!.p_null).toBeGreaterThan(0.5)
    } finally {
      await v1.close()
    }
  })

  describe('ends', () => {
    it('with a request that is given up, and leaves its place to others', async () => {
      const given = new AbortController()
      pointing.beforeRead = () => given.abort(new Error('given up'))
      await expect(answer(pointing, call(ANNA, PERSON, { signal: given.signal }))).rejects.toThrow('given up')
      pointing.beforeRead = () => {}
      expect(pointing.loop.idle).toBe(true)
      await expect(answer(pointing, call(ANNA, PERSON, { signal: given.signal }))).rejects.toThrow('given up')
      expect(JSON.parse((await answer(pointing, call(ANNA, PERSON))).text)).toEqual(EASY[0]![3])
    })

    it('with the model, also while it reads', async () => {
      const other = await open(true)
      const closed: Promise<void>[] = []
      other.beforeRead = () => void closed.push(other.loop.close())
      await expect(answer(other, call(ANNA, PERSON))).rejects.toMatchObject({ code: 'model_unloaded' })
      await Promise.all(closed)
      expect(closed).toHaveLength(1)
      await expect(answer(other, call(ANNA, PERSON))).rejects.toMatchObject({ code: 'model_unloaded' })
    })
  })

  describe('decides with what writes', () => {
    const shares = async ({ loop }: Subject, decideCall: DecideCall) => {
      const { answers } = await loop.decide(decideCall)
      return answers.map((one) => ('probabilities' in one ? one.probabilities : []))
    }

    it('and what both say are probabilities', async () => {
      const [both, written] = [await shares(pointing, decision(ANNA)), await shares(plain, decision(ANNA))]
      for (const probabilities of both) expect(probabilities.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1)
      expect(both).not.toEqual(written)
      expect(both[1]!.indexOf(Math.max(...both[1]!))).toBe(0)
    })

    it('and hangs on what each of them says', async () => {
      const { usage, answers } = await plain.loop.decide(decision(ANNA))
      const decided = await pointing.loop.decide(decision(ANNA))
      expect({ ...decided.usage, cachedTokens: 0 }).toEqual({ ...usage, cachedTokens: 0 })
      expect(decided.answers.map((one) => 'optionMass' in one && one.optionMass)).toEqual(
        answers.map((one) => 'optionMass' in one && one.optionMass),
      )
    })

    it('and reads a text for what it has a say in alone: no statement', async () => {
      const before = pointing.reads
      const request = decision(ANNA)
      await pointing.loop.decide(request)
      const statements = request.questions.filter(({ type }) => type === 'predicate')
      expect(statements.length).toBeGreaterThan(0)
      expect(pointing.reads - before).toBe(request.questions.length - statements.length)
    })

    it('to the same bits beside others', async () => {
      const states = [ANNA, NOTE, cases[0]!.user, ...(FULL ? [cases[1]!.user] : [])]
      const alone: unknown[] = []
      for (const state of states) alone.push(await shares(pointing, decision(state)))
      const ask = (state: string, i: number) => shares(pointing, decision(state, { caller: `caller ${i}` }))
      expect(await Promise.all(states.map(ask))).toEqual(alone)
    })

    it('in whatever order options are given, where all orders are asked for', async () => {
      const [, choice] = decision(ANNA).questions
      const turned = [{ ...choice!, options: choice!.options.toReversed() }]
      const [one] = await shares(pointing, decision(ANNA, { order: 'average', questions: [choice!] }))
      const [other] = await shares(pointing, decision(ANNA, { order: 'average', questions: turned }))
      other!.toReversed().forEach((probability, i) => {
        expect(probability).toBeCloseTo(one![i]!)
      })
    })

    it('but not about conversations and long texts', async () => {
      const conversation = [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: ANNA },
      ] as const
      for (const state of [conversation, LONG])
        expect(await shares(pointing, decision(state))).toEqual(await shares(plain, decision(state)))
    })
  })
})
