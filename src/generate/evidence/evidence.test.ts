import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatCall, Evidence, Part } from '../../contract/engine.js'
import { compile, type Grammar } from '../../grammar/structured.js'
import { call, collect, setUp, smallText } from '../testing/call.test-helper.js'
import { allValues } from './all-values.test-helper.js'

const callOf = (
  schema: unknown,
  part: Partial<ChatCall> = {},
  seed = 1,
  texts?: readonly string[],
): ChatCall & { readonly grammar: Grammar } => {
  const output = { type: 'json_schema', name: 'x', strict: true, schema: schema as Record<string, unknown> } as const
  const sampling = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed }
  const grammar = compile(schema, texts && { quote: { texts } })
  return { ...call({ evidence: true, output, sampling, ...part }), grammar }
}

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const evidenceOf = (parts: readonly Part[], choice = 0): Evidence[] =>
  parts.flatMap((part) => (part.type === 'evidence' && part.choice === choice ? [part.evidence] : []))

describe('confidence is the share of a value among all documents, each in all ways to write it', () => {
  it.each<[string, unknown, string[]?]>([
    ['a quote', { type: 'string', 'x-quote': true }, ['the open, opens 12 "x"']],
    ['a quote or null', { type: ['string', 'null'], 'x-quote': true, maxLength: 6 }, ['the then no', 'a then']],
    ['words that begin alike', { enum: ['open', 'opened', 'opens', 'closed', 'cleared'] }],
    ['a boolean or null', { type: ['boolean', 'null'] }],
    ['a short string', { type: 'string', maxLength: 1, pattern: '^[a-e"\\n]*$' }],
    ['a number that may go on', { type: 'integer', minimum: 0, maximum: 120 }],
    ['numbers and words', { enum: [1, 12, 120, '12', 'the', null] }],
    ['a string or null', { anyOf: [{ enum: ['the', 'then', 'no'] }, { type: 'null' }] }],
  ])('%s', async (_, schema, texts) => {
    const whole = object({ v: schema })
    const all = await allValues(callOf(whole, {}, 1, texts))
    expect([...all.values()].reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 9)
    const seen = new Set<string>()
    for (let seed = 0; seed < 8; seed++) {
      const { texts: answers, parts } = await collect(setUp().decoder.generate(callOf(whole, {}, seed, texts)))
      const [evidence, ...more] = evidenceOf(parts)
      expect(more).toEqual([])
      expect(evidence!.pointer).toBe('/v')
      const value = JSON.stringify(JSON.parse(answers[0]!).v)
      seen.add(value)
      expect(Math.abs(evidence!.confidence - all.get(value)!)).toBeLessThan(1e-4)
      expect(evidence!.pNull === undefined).toBe(!all.has('null'))
      if (evidence!.pNull !== undefined) expect(Math.abs(evidence!.pNull - all.get('null')!)).toBeLessThan(1e-4)
      if (evidence!.runnerUp) {
        const likeliest = [...all].filter(([other]) => other !== value).sort((a, b) => b[1] - a[1])[0]!
        expect(JSON.stringify(evidence!.runnerUp.value)).toBe(likeliest[0])
        expect(Math.abs(evidence!.runnerUp.probability - likeliest[1])).toBeLessThan(1e-4)
      }
    }
    expect(seen.size).toBeGreaterThan(1)
  })

  it.each<[string, unknown[]]>([
    ['words', ['the', 'then']],
    ['words that begin unlike', ['open', 'cleared', 'the', 'no']],
    ['all kinds', ['the', true, 12, 1, false]],
  ])('a property that may be left out: %s', async (_, values) => {
    const whole = object({ a: { enum: values } }, [])
    const all = await allValues(callOf(whole), (text) => text)
    // With the quote in the first token or behind it, a property begins in two ways that a model goes on from as it likes.
    const begun = (first: string) => (first === '{' ? 'alone ' : 'with ')
    const ways = await allValues(callOf(whole), (text, first) => begun(first) + text)
    const others = new Set<string>()
    for (let seed = 0; seed < 8; seed++) {
      const written = await collect(setUp().decoder.generate(callOf(whole, { topLogprobs: 0 }, seed)))
      const { texts, parts, logprobs } = written
      const [evidence] = evidenceOf(parts)
      expect(evidence === undefined).toBe(texts[0] === '{}')
      if (!evidence) continue
      expect(Math.abs(evidence.pNull! - all.get('{}')!)).toBeLessThan(1e-4)
      const way = begun(logprobs[0]![0]!.token)
      const those = [...ways].filter(([key]) => key.startsWith(way) && !key.endsWith('{}'))
      const present = those.reduce((sum, [, likely]) => sum + likely, 0)
      expect(Math.abs(evidence.confidence - ways.get(way + texts[0]!)! / present)).toBeLessThan(1e-4)
      if (!evidence.runnerUp) continue
      const [likeliest] = those.filter(([key]) => key !== way + texts[0]!).sort((a, b) => b[1] - a[1])
      expect(way + JSON.stringify({ a: evidence.runnerUp.value })).toBe(likeliest![0])
      expect(Math.abs(evidence.runnerUp.probability - likeliest![1] / present)).toBeLessThan(1e-4)
      others.add(likeliest![0])
    }
    expect(others.size).toBeGreaterThan(0)
  })
})

it('p_null is there wherever null may be, however unlikely it is', async () => {
  const { tokenizer } = smallText
  const text = (token: number) => new TextDecoder().decode(tokenizer.bytes(token))
  const all = Array.from({ length: tokenizer.size }, (_, token) => token)
  const tokens = all.filter((token) => text(token) !== '' && 'null'.startsWith(text(token)))
  const model = { bias: () => new Map(tokens.map((token) => [token, -60] as const)) }
  const told = async (schema: object) => {
    const { parts } = await collect(setUp(model).decoder.generate(callOf(object({ v: schema }))))
    return evidenceOf(parts)[0]!.pNull
  }
  expect(await told({ enum: ['the', 'then', null] })).toBeCloseTo(0, 9)
  expect(await told({ enum: ['the', 'then'] })).toBe(undefined)
})

const TICKET = object(
  {
    status: { enum: ['open', 'opened', 'closed'] },
    ok: { type: 'boolean' },
    list: { type: 'array', items: { type: ['string', 'null'], maxLength: 4 }, maxItems: 3 },
    'a/b~c': object({ n: { type: 'integer' } }),
  },
  ['status', 'ok', 'list', 'a/b~c'],
)

it('tells of each leaf once, by its pointer, behind the text that closes it and before the end', async () => {
  for (let seed = 0; seed < 6; seed++) {
    const { texts, parts } = await collect(setUp().decoder.generate(callOf(TICKET, { maxTokens: 200 }, seed)))
    const value = JSON.parse(texts[0]!)
    const leaves = ['/status', '/ok', ...value.list.map((_: unknown, i: number) => `/list/${i}`), '/a~1b~0c/n']
    expect(evidenceOf(parts).map(({ pointer }) => pointer)).toEqual(leaves)
    for (const { confidence, pNull = 0, runnerUp } of evidenceOf(parts)) {
      for (const p of [confidence, pNull, runnerUp?.probability ?? 0]) expect(p >= 0 && p <= 1).toBe(true)
    }
    expect(parts.at(-2)!.type).toBe('finish')
  }
})

it('is the same alone and in company, and what is written is the same with it and without', async () => {
  const alone = await collect(setUp().decoder.generate(callOf(TICKET, { maxTokens: 200 })))
  const without = await collect(setUp().decoder.generate({ ...callOf(TICKET, { maxTokens: 200 }), evidence: false }))
  expect(alone.texts).toEqual(without.texts)
  const { decoder, model } = setUp({ pages: 4096 })
  const others = [2, 3, 4, 5].map((seed) => collect(decoder.generate(callOf(TICKET, { maxTokens: 200 }, seed))))
  const three = await collect(decoder.generate(callOf(TICKET, { maxTokens: 200, n: 3 })), 3)
  await Promise.all(others)
  expect(evidenceOf(three.parts)).toEqual(evidenceOf(alone.parts))
  expect(evidenceOf(three.parts, 2).length).toBeGreaterThan(3)
  await decoder.close()
  expect(model.openSequences).toBe(0)
})

it('log probabilities beside it are those that were asked for, and none where none were', async () => {
  const plain = await collect(setUp().decoder.generate(callOf(TICKET)))
  expect(plain.logprobs[0]).toEqual([])
  const both = await collect(setUp().decoder.generate(callOf(TICKET, { topLogprobs: 2 })))
  const without = await collect(setUp().decoder.generate({ ...callOf(TICKET, { topLogprobs: 2 }), evidence: false }))
  expect(both.logprobs).toEqual(without.logprobs)
  expect(evidenceOf(both.parts).length).toBeGreaterThan(3)
})

it('an answer that is left in the midst holds nothing', async () => {
  const { decoder, model } = setUp()
  const leaving = new AbortController()
  const parts = decoder.generate(callOf(TICKET, { signal: leaving.signal, n: 2 }))
  await expect(async () => {
    for await (const part of parts) if (part.type === 'evidence') leaving.abort()
  }).rejects.toThrow()
  await decoder.close()
  expect(model.openSequences).toBe(0)
})

it('sources read to their values, whatever a conversation says', async () => {
  const words = fc.constantFrom(
    'open',
    'Open',
    'the',
    ' ',
    '\n',
    '1',
    '12',
    '1,200.00',
    'é',
    '🎉',
    'a',
    '\u200b',
    'ש',
    '"',
  )
  const texts = fc.sample(fc.array(words, { maxLength: 30 }), { numRuns: 30, seed: 3 }).map((each) => each.join(''))
  let found = 0
  for (const [seed, content] of texts.entries()) {
    const messages = [
      { role: 'system', content: 'open the 1' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hm' },
          { type: 'text', text: content },
        ],
      },
    ] as const
    const { texts: answers, parts } = await collect(
      setUp({}, smallText).decoder.generate(callOf(TICKET, { messages }, seed)),
    )
    const value = JSON.parse(answers[0]!)
    for (const { pointer, source } of evidenceOf(parts)) {
      if (!source) continue
      found++
      const text = source.message === 0 ? messages[0].content : messages[1].content[source.part]!.text
      const slice = text.slice(source.start, source.end)
      const leaf = pointer.startsWith('/list/')
        ? value.list[Number(pointer.slice(6))]
        : pointer === '/status'
          ? value.status
          : value['a/b~c'].n
      expect(typeof leaf === 'number' ? Number(slice.replace(',', '')) : slice.toLowerCase()).toBe(
        typeof leaf === 'number' ? leaf : leaf.trim().toLowerCase(),
      )
    }
  }
  expect(found).toBeGreaterThan(5)
})
