import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compile } from '../grammar/structured.js'
import { bytesOf } from '../grammar/tokens/forced.js'
import { call, collect, setUp } from './testing/call.test-helper.js'
import { publishedText } from './testing/published.test-helper.js'

const SCHEMA = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    published: { type: 'string', format: 'date' },
    status: { enum: ['open', 'opened again', 'closed', 'geschlossen wegen Umbau'] },
    scores: { type: 'array', items: { type: 'integer' } },
    authors: {
      type: 'array',
      items: {
        type: 'object',
        properties: { first_name: { type: 'string' }, lastName: { type: 'string' }, alive: { type: 'boolean' } },
        required: ['first_name', 'lastName', 'alive'],
        additionalProperties: false,
      },
    },
    note: { type: ['string', 'null'] },
  },
  required: ['title', 'published', 'status', 'scores', 'authors', 'note'],
  additionalProperties: false,
}

const word = fc.constantFrom(
  'The',
  ' old',
  'man',
  ' and',
  'the sea',
  'é',
  ' 日本',
  '42',
  ' (x)',
  '.',
  ' "so"',
  '\n',
  "'s",
  'https://',
  '🎉',
)
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(''))
const document = fc.record({
  title: text,
  published: fc.constantFrom('2024-02-29', '1952-09-01'),
  status: fc.constantFrom(...SCHEMA.properties.status.enum),
  scores: fc.array(fc.integer({ min: -1000, max: 100000 }), { maxLength: 4 }),
  authors: fc.array(fc.record({ first_name: text, lastName: text, alive: fc.boolean() }), { maxLength: 3 }),
  note: fc.option(text),
})

describe.each(['qwen2_5', 'llama3_2', 'gpt2'])('%s', (name) => {
  const chat = publishedText(name)
  const grammar = compile(SCHEMA)

  test('what a model and the grammar write together is tokenised as the tokenizer would do it', async () => {
    let wanted = ''
    const request = call({ grammar, output: { type: 'json_schema', name: 'x', strict: true, schema: SCHEMA } })
    const promptLength = chat.prompt(request).length
    let canonical: readonly number[] = []
    /** The model: goes on with the document as its tokenizer writes it. */
    const next = (tokens: readonly number[]) => {
      const answer = tokens.slice(promptLength)
      const written = bytesOf(chat.tokenizer, answer).length
      let at = 0
      for (const token of canonical) {
        if (at === written) return token
        at += chat.tokenizer.bytes(token).length
      }
      return chat.tokenizer.encodeContinuation(
        new TextDecoder().decode(new TextEncoder().encode(wanted).slice(written)),
      )[0]
    }
    let total = 0
    let same = 0
    let steps = 0
    let tokens = 0
    const { decoder, model } = setUp({ next }, chat)
    for (const value of fc.sample(document, { numRuns: 40, seed: 4 })) {
      wanted = JSON.stringify(value)
      canonical = chat.tokenizer.encodeContinuation(wanted)
      const before = model.steps.length
      const answer = await collect(decoder.generate(request))
      expect(answer.texts[0]).toBe(wanted)
      steps += model.steps.length - before
      tokens += canonical.length
      total++
      if (answer.usage.completionTokens === canonical.length) same++
    }
    expect(same / total).toBeGreaterThanOrEqual(0.995)
    expect(steps).toBeLessThan(tokens)
  })
})
