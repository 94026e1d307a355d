import { describe, expect, it } from 'vitest'
import { closed } from '../../../test/support/closed.js'
import type { ConstrainCall, Engine } from '../../contract/engine.js'
import { Demands } from '../../engines/remote/demands.js'
import { upstream } from '../../engines/upstream.js'
import { setUp } from '../../generate/testing/call.test-helper.js'
import { Grammar } from '../../grammar/structured.js'
import { isStretch } from '../../platform/borders.js'
import { asking, errorOf, eventsOf, jsonOf, MODEL, serviceOf } from '../v1.test-helper.js'

const LETTER = 'Dear Ms Ann Lee, your order 4711 of "twelve" lamps (1,250.00) went to 北京 on 3 May.\nBest, Bob'
const MESSAGES = [
  { role: 'system', content: 'Be brief and secretive.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: LETTER },
      { type: 'text', text: 'Who is it?' },
    ],
  },
]
const GIVEN = [LETTER, 'Who is it?']
const isGiven = (one: unknown) => one === null || GIVEN.some((text) => isStretch(text, one as string))

const quote = { type: 'string', 'x-quote': true }
const formatOf = (schema: unknown, strict = true) => ({
  type: 'json_schema',
  json_schema: { name: 'letter', strict, schema },
})
const LETTER_SCHEMA = closed({
  from: quote,
  to: { ...quote, type: ['string', 'null'] },
  items: { type: 'array', items: { ...quote, maxLength: 20 }, maxItems: 3 },
  mood: { enum: ['glad', 'sad'] },
})

/** The decode loop itself over a model without weights: it draws whatever it may. */
function decoding(options: Parameters<typeof serviceOf>[1] = {}) {
  const { model, decoder } = setUp({ contextLength: 8192, pages: 4096 })
  const engine: Engine = {
    version: 2,
    models: [{ id: MODEL, ownedBy: 'test', capabilities: decoder.capabilities }],
    generate: (call) => decoder.generate(call),
  }
  return { model, decoder, engine, ...serviceOf(engine, options) }
}

const body = (seed: number, rest: object = {}) => ({
  messages: MESSAGES,
  max_tokens: 60,
  seed,
  response_format: formatOf(LETTER_SCHEMA),
  ...rest,
})
const contentOf = (answer: Awaited<ReturnType<ReturnType<typeof decoding>['chat']>>): string =>
  jsonOf(answer).choices[0].message.content

/** The strings of a document, names left aside. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

describe('a document with quotes', () => {
  it('says only what users and tools say', async () => {
    const { chat } = decoding()
    const seen = new Set<string>()
    for (let seed = 0; seed < 40; seed++) {
      const answer = await chat(body(seed))
      expect(answer.status).toBe(200)
      const { from, to, items, mood } = JSON.parse(contentOf(answer))
      expect([from, to, ...items].filter((one) => !isGiven(one))).toEqual([])
      expect(['glad', 'sad']).toContain(mood)
      seen.add(from)
    }
    expect(seen.size).toBeGreaterThan(5)
  })

  it('is the same in a stream, and in company', async () => {
    const { chat } = decoding()
    const alone: string[] = []
    for (let seed = 0; seed < 6; seed++) alone.push(contentOf(await chat(body(seed))))
    const together = await Promise.all(alone.map((_, seed) => chat(body(seed))))
    expect(together.map(contentOf)).toEqual(alone)
    for (let seed = 0; seed < 6; seed++) {
      const events = eventsOf((await chat(body(seed, { stream: true }))).text).filter((data) => data !== '[DONE]')
      const text = events.map((data) => JSON.parse(data).choices[0]?.delta.content ?? '').join('')
      expect(text).toBe(alone[seed])
    }
  })

  it('quotes with all its strings where that is asked for', async () => {
    const { chat, ask } = decoding()
    const schema = closed({ a: { type: 'string' }, b: { anyOf: [{ type: 'integer' }, { type: 'string' }] } })
    for (let seed = 0; seed < 10; seed++) {
      const strict = await chat(body(seed, { quote: true, response_format: formatOf(schema) }))
      expect(stringsIn(JSON.parse(contentOf(strict))).filter((one) => !isGiven(one))).toEqual([])
      const any = await chat(body(seed, { quote: true, response_format: { type: 'json_object' } }))
      expect(stringsIn(JSON.parse(contentOf(any))).filter((one) => !isGiven(one))).toEqual([])
      const response = await ask('/responses', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: MODEL,
          input: LETTER,
          max_output_tokens: 60,
          seed,
          text: { format: { type: 'json_schema', name: 'letter', strict: true, schema, quote: true } },
        }),
      })
      const { output } = jsonOf(response)
      expect(stringsIn(JSON.parse(output[0].content[0].text)).filter((one) => !isGiven(one))).toEqual([])
    }
  })

  it('has a source for each quote, which is the quote', async () => {
    const { chat } = decoding()
    for (let seed = 0; seed < 20; seed++) {
      const answer = await chat(body(seed, { evidence: true, quote: true }))
      const [choice] = jsonOf(answer).choices
      const { from, to, items } = JSON.parse(choice.message.content)
      const quotes = {
        '/from': from,
        '/to': to,
        ...Object.fromEntries(items.map((one: string, i: number) => [`/items/${i}`, one])),
      }
      for (const [pointer, value] of Object.entries(quotes)) {
        if (value === null) continue
        const { source } = choice.evidence[pointer]
        const quoted = GIVEN[source.part]!.slice(source.start, source.end)
        expect([pointer, source.message, quoted]).toEqual([pointer, 1, value])
      }
    }
  })

  it('is what a tool is called with, too', async () => {
    const { chat } = decoding()
    const parameters = closed({ who: quote })
    const tools = [{ type: 'function', function: { name: 'find', strict: true, parameters } }]
    for (let seed = 0; seed < 10; seed++) {
      const answer = await chat({ messages: MESSAGES, max_tokens: 60, seed, tools, tool_choice: 'required' })
      for (const { function: called } of jsonOf(answer).choices[0].message.tool_calls) {
        expect(isGiven(JSON.parse(called.arguments).who)).toBe(true)
      }
    }
  })

  it('closes within whatever budget suffices', async () => {
    const { chat } = decoding()
    const short = errorOf(await chat(body(1, { max_tokens: 1 })))
    expect(short).toMatchObject({ status: 400, param: 'max_tokens' })
    const least = Number(/takes (\d+) tokens/.exec(short.message)?.[1])
    for (let seed = 0; seed < 10; seed++) {
      const { from } = JSON.parse(contentOf(await chat(body(seed, { max_tokens: least + (seed % 3) }))))
      expect(isGiven(from)).toBe(true)
    }
  })

  it('is found out where an engine wrote what nobody said', async () => {
    const models = [{ id: MODEL, ownedBy: 'test', capabilities: { quotes: true } }]
    const saying = (text: string): Engine => ({
      version: 2,
      models,
      async *generate() {
        yield { type: 'text-delta', choice: 0, text }
        yield { type: 'finish', choice: 0, reason: 'stop' }
      },
    })
    const response_format = formatOf(closed({ from: quote }))
    for (const [from, status] of [
      ['Ann Lee', 200],
      ['An', 500],
      ['secretive', 500],
      ['Lee, your', 200],
      ['', 500],
    ] as const) {
      const { chat } = serviceOf(saying(JSON.stringify({ from })))
      expect([from, (await chat({ messages: MESSAGES, response_format })).status]).toEqual([from, status])
    }
  })
})

describe('what cannot be is refused before anything is computed', () => {
  it('a model that keeps to no grammar of ours', async () => {
    const engine = upstream({ baseURL: 'http://other.test/v1', models: [MODEL] })
    const { chat } = serviceOf(engine)
    const tools = [{ type: 'function', function: { name: 'find', parameters: closed({ who: quote }) } }]
    for (const [request, param] of [
      [{ quote: true, response_format: { type: 'json_object' } }, 'quote'],
      [{ response_format: formatOf(LETTER_SCHEMA) }, 'response_format'],
      [{ tools }, 'tools[0].function.parameters'],
    ] as const) {
      expect(errorOf(await chat(request))).toMatchObject({ status: 400, param, code: 'unsupported_parameter' })
    }
  })

  it.each([
    ['where no document is asked for', { quote: true, response_format: { type: 'text' } }, 'quote'],
    ['where it is no boolean', { quote: 'all', response_format: { type: 'json_object' } }, 'quote'],
    ['on a number', { response_format: formatOf({ type: 'string', 'x-quote': 1 }) }, 'response_format'],
    [
      'where nothing that is said fits',
      { response_format: formatOf({ ...quote, pattern: '^zzz$' }) },
      'response_format',
    ],
    ['where too much is said', { messages: [{ role: 'user', content: 'a'.repeat(2 ** 20 + 1) }] }, 'response_format'],
  ])('%s', async (_, request, param) => {
    const { chat, model } = decoding({ bodyLimit: 2 ** 22 })
    const error = errorOf(await chat({ response_format: formatOf(closed({ a: quote })), ...request }))
    expect(error).toMatchObject({ status: 400, param })
    expect(model.steps).toEqual([])
  })
})

describe('what is made for one request', () => {
  it('is not kept by the service', async () => {
    const { chat, v1 } = decoding()
    expect((await chat(body(1))).status).toBe(200)
    const metrics = await asking(v1).ask('/metrics')
    expect(metrics.status === 404 || !metrics.text.includes('x-quote')).toBe(true)
  })

  it('is handed on in another thread, and not kept there', async () => {
    const demands = new Demands({ models: [], async *generate() {} })
    const call: ConstrainCall = {
      ...{ id: 'chatcmpl-1', model: MODEL, caller: '', signal: new AbortController().signal },
      ...{ tools: [], toolChoice: 'none', places: { format: 'response_format', tools: [] } },
      output: { type: 'json_schema', name: 'x', strict: true, schema: closed({ a: quote }) },
      quote: { texts: [LETTER] },
    }
    const { grammar } = await demands.compiled(call)
    const handed = await demands.grammar(grammar!, 'grammar', { of: call.id, signal: call.signal })
    expect(await demands.grammar(grammar!, 'grammar', { of: call.id, signal: call.signal })).toBe(handed)
    demands.begun(call.id)
    const again = await demands.grammar(grammar!, 'grammar', { of: call.id, signal: call.signal })
    expect(again).toBeInstanceOf(Grammar)
    expect(again).not.toBe(handed)
    const answer = (a: string) => ({ text: JSON.stringify({ a }), toolCalls: [], cut: false })
    expect(await demands.faultOf({ ...call, answer: answer('Bob') })).toBeUndefined()
    expect(await demands.faultOf({ ...call, answer: answer('Bo') })).toMatch('does not satisfy')
  })
})
