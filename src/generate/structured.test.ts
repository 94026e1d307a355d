import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { closed } from '../../test/support/closed.js'
import { turns } from '../../test/support/full.js'
import type { ChatCall, ToolSpec } from '../contract/engine.js'
import { compile, fromSource } from '../grammar/structured.js'
import { ChatText } from './chat-text.js'
import { call, collect, nextTurn, setUp, smallText } from './testing/call.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'
import { TOOL_FORMATS } from './tools/formats.js'

const DOCUMENTS = ['open', 'closed', 'on hold', 'é', '']
  .flatMap((status) =>
    [1952, 7].flatMap((year) => ['"sea"', '', '"the","dog"'].map((tags) => ({ status, year, tags }))),
  )
  .map(({ status, year, tags }) => `{"title":"The Old Man","status":"${status}","year":${year},"tags":[${tags}]}`)

/** The grammar of a handful of documents. */
const only = (documents: readonly string[]) => compile({ enum: documents.map((text) => JSON.parse(text)) })
const grammar = only(DOCUMENTS)
const json = { type: 'json_schema' as const, name: 'book', strict: true, schema: true }
const requestOf = (seed: number, part = {}) =>
  call({ output: json, grammar, sampling: { ...call().sampling, seed }, ...part })

describe('a document', () => {
  test('is always one of the grammar, and what is certain costs no step', async () => {
    const { decoder, model } = setUp()
    for (let seed = 0; seed < 15; seed++) {
      const before = model.steps.length
      const answer = await collect(decoder.generate(requestOf(seed)))
      expect(DOCUMENTS).toContain(answer.texts[0])
      expect(answer.reasons).toEqual(['stop'])
      expect(model.steps.length - before).toBeLessThan(answer.usage.completionTokens)
      expect(answer.forced).toBeGreaterThan(0)
      // Every token is either counted as forced or drawn, one by one, in a part of its own.
      const drawn = answer.parts.filter((part) => part.type === 'text-delta' && part.forced === undefined)
      expect(drawn.length).toBeLessThanOrEqual(answer.usage.completionTokens - answer.forced)
    }
  })

  test('is complete for every budget from the shortest upwards, refused below', async () => {
    const { decoder } = setUp()
    const shortest = grammar.start(smallText.vocabulary).shortest
    for (let maxTokens = shortest; maxTokens < shortest + 8; maxTokens++) {
      for (let seed = 0; seed < 4; seed++) {
        const answer = await collect(decoder.generate(requestOf(seed, { maxTokens })))
        expect(DOCUMENTS).toContain(answer.texts[0])
        expect(answer.usage.completionTokens).toBeLessThanOrEqual(maxTokens)
        expect(answer.reasons).toEqual(['stop'])
      }
    }
    await expect(collect(decoder.generate(requestOf(1, { maxTokens: shortest - 1 })))).rejects.toMatchObject({
      status: 400,
      param: 'max_tokens',
    })
  })

  test('is tokenised as the tokenizer would where the grammar decides', async () => {
    const { decoder, model } = setUp()
    const seen: number[][] = []
    const step = model.step.bind(model)
    let fed: number[] = []
    model.step = async (batch) => {
      fed.push(...batch[0]!.tokens)
      return step(batch)
    }
    for (let seed = 0; seed < 20; seed++) {
      fed = []
      const one = only(['{"title":"The Old Man","year":1952}', '{"title":"The Old Man","year":7}'])
      const answer = await collect(decoder.generate(requestOf(seed, { grammar: one })))
      const canonical = smallText.tokenizer.encode(answer.texts[0]!)
      expect(answer.usage.completionTokens).toBe(canonical.length)
      seen.push(canonical)
    }
    expect(new Set(seen.map(String)).size).toBe(2)
  })

  test('a stop string does not cut it', async () => {
    const { decoder } = setUp()
    expect(DOCUMENTS).toContain((await collect(decoder.generate(requestOf(3, { stop: ['"year"', '1'] })))).texts[0])
  })

  test('with log probabilities, every token has one', async () => {
    const { decoder } = setUp()
    const answer = await collect(decoder.generate(requestOf(4, { topLogprobs: 2 })))
    expect(DOCUMENTS).toContain(answer.texts[0])
    expect(answer.logprobs[0]).toHaveLength(answer.usage.completionTokens)
    const bytes = answer.logprobs[0]!.flatMap((entry) => entry.bytes!)
    expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(answer.texts[0])
  })

  test('that the grammar knows whole takes no step at all', async () => {
    const { decoder, model } = setUp()
    const whole = only(['{"ok":true}'])
    const answer = await collect(decoder.generate(requestOf(1, { grammar: whole })))
    expect(answer.texts).toEqual(['{"ok":true}'])
    expect(model.steps).toHaveLength(0)
  })

  test('beside others, in choices, with few pages', async () => {
    const { decoder } = setUp({ pages: 60 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat({ max: 1000 }), async (n, seed) => {
        const [first, second] = await Promise.all([
          collect(decoder.generate(requestOf(seed, { n })), n),
          collect(decoder.generate(requestOf(seed + 1, { maxTokens: 40 }))),
        ])
        for (const text of [...first.texts, ...second.texts]) expect(DOCUMENTS).toContain(text)
      }),
      { numRuns: 10 },
    )
  })
})

describe('tool calls', () => {
  const tools = ['get_weather', 'get_time'].map((name) => ({ name, parameters: { type: 'object' }, strict: true }))
  const toolGrammar = only([
    '{"name":"get_weather","arguments":{"city":"Paris"}}',
    '{"name":"get_weather","arguments":{"city":"Lyon, {x}"}}',
    '{"name":"get_time","arguments":{}}',
  ])
  const marker = smallText.tokenizer.idOf('<tool_call>')!
  const required = { tools, toolGrammar, toolChoice: 'required' as const }

  test('required: the answer is calls, with their arguments in pieces', async () => {
    const { decoder } = setUp()
    for (let seed = 0; seed < 20; seed++) {
      const answer = await collect(
        decoder.generate(call({ ...required, parallelToolCalls: false, sampling: { ...call().sampling, seed } })),
      )
      expect(answer.texts).toEqual([''])
      expect(answer.reasons).toEqual(['tool_calls'])
      const [first, ...others] = answer.calls[0]!
      expect(others).toEqual([])
      expect(first!.id).toMatch(/^call_\w{24}$/)
      expect(toolGrammar.accepts(`{"name":"${first!.name}","arguments":${first!.arguments}}`)).toBe(true)
    }
  })

  test('several calls, where the model goes on', async () => {
    const { decoder } = setUp()
    const counts = new Set<number>()
    for (let seed = 0; seed < 20; seed++) {
      const answer = await collect(
        decoder.generate(call({ ...required, maxTokens: 200, sampling: { ...call().sampling, seed } })),
      )
      for (const { name, arguments: args } of answer.calls[0]!) {
        expect(toolGrammar.accepts(`{"name":"${name}","arguments":${args}}`)).toBe(true)
      }
      expect(answer.reasons).toEqual(['tool_calls'])
      counts.add(answer.calls[0]!.length)
    }
    expect(counts.size).toBeGreaterThan(1)
  })

  test('no call is made twice with the same arguments, however often the model tries', async () => {
    const onlyOne = only(['{"name":"get_time","arguments":{}}'])
    let most = 0
    for (let seed = 0; seed < 40; seed++) {
      const sampling = { ...call().sampling, seed }
      const { decoder } = setUp()
      const one = await collect(decoder.generate(call({ ...required, toolGrammar: onlyOne, maxTokens: 200, sampling })))
      expect(one.calls[0]).toMatchObject([{ name: 'get_time', arguments: '{}' }])
      const several = await collect(decoder.generate(call({ ...required, maxTokens: 200, sampling })))
      const made = several.calls[0]!.map(({ name, arguments: args }) => `${name} ${args}`)
      expect(new Set(made).size).toBe(made.length)
      for (const { reasons } of [one, several]) expect(reasons).toEqual(['tool_calls'])
      most = Math.max(most, made.length)
    }
    expect(most).toBeGreaterThan(1)
  })

  test('a call that begins like the one before it is told whole', async () => {
    const alike = only(['{"name":"get_time","arguments":{"a":1}}', '{"name":"get_time","arguments":{"a":12}}'])
    const seen = new Set<string>()
    for (let seed = 0; seed < 40; seed++) {
      const { decoder } = setUp()
      const request = call({ ...required, toolGrammar: alike, maxTokens: 200, sampling: { ...call().sampling, seed } })
      const { calls } = await collect(decoder.generate(request))
      seen.add(calls[0]!.map(({ arguments: args }) => args).join(' '))
    }
    // The second begins with all that the first said, and is told from its first character.
    expect(seen).toContain('{"a":1} {"a":12}')
    for (const args of seen) expect(args).toMatch(/^\{"a":12?\}( \{"a":12?\})?$/)
  })

  test('auto: text until the model opens a call', async () => {
    const prompt = smallText.prompt(call({ tools, toolGrammar })).length
    const opens = (tokens: readonly number[]) => new Map(tokens.length > prompt + 12 ? [[marker, 100]] : [])
    const { decoder } = setUp({ bias: opens })
    const answer = await collect(decoder.generate(call({ tools, toolGrammar, maxTokens: 300 })))
    expect(answer.texts[0]).not.toContain('<tool')
    expect(answer.texts[0]!.length).toBeGreaterThan(0)
    expect(answer.calls[0]!.length).toBeGreaterThan(0)
    expect(answer.reasons).toEqual(['tool_calls'])
  })

  test('auto beside a document: the first token decides which it is', async () => {
    const asks = { tools, toolGrammar, grammar, output: json, maxTokens: 200 }
    const calling = setUp({ bias: () => new Map([[marker, 100]]) })
    const called = await collect(calling.decoder.generate(call(asks)))
    expect(called.calls[0]!.length).toBeGreaterThan(0)
    expect(called.texts).toEqual([''])
    const writing = setUp({ bias: () => new Map([[marker, -100]]) })
    const written = await collect(writing.decoder.generate(call(asks)))
    expect(written.calls[0]).toEqual([])
    expect(DOCUMENTS).toContain(written.texts[0])
  })

  test('a marker in plain characters, in pieces, and calls without a marker', async () => {
    const say = (text: string, chat: ChatText) => {
      const ids = chat.tokenizer.encodePlain(text, 1)
      const start = chat.prompt(call({ tools, toolGrammar })).length
      return (tokens: readonly number[]) =>
        tokens.length - start < ids.length ? ids[tokens.length - start] : [...chat.ends][0]
    }
    const templates = {
      hermes: '{% if tools %}{{ tools | tojson }}{% endif %}{{ messages[0].content }}',
      llama: '{% if tools %}"parameters" ipython{% endif %}{{ messages[0].content }}',
    }
    const spoken = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
    for (const [style, lead] of [
      ['hermes', 'Well. <tool_call>\n'],
      ['llama', ''],
    ] as const) {
      const chat = new ChatText({ ...smallTokenizer(), chatTemplate: templates[style] })
      const { decoder } = setUp({ next: say(lead + spoken, chat) }, chat)
      const one = call({ tools, toolGrammar, parallelToolCalls: false, maxTokens: 100 })
      const answer = await collect(decoder.generate(one))
      expect(answer.texts[0]).toBe(lead.split('<')[0])
      expect(answer.calls[0]).toHaveLength(1)
      expect(answer.reasons).toEqual(['tool_calls'])
    }
  })

  test('auto: plain text where the model opens none', async () => {
    const { decoder } = setUp({ bias: () => new Map([[marker, -100]]) })
    const answer = await collect(decoder.generate(call({ tools, toolGrammar, maxTokens: 30 })))
    expect(answer.calls[0]).toEqual([])
    expect(answer.usage.completionTokens).toBeGreaterThan(10)
  })

  test('a budget too small for a call is refused', async () => {
    const { decoder } = setUp()
    await expect(collect(decoder.generate(call({ ...required, maxTokens: 3 })))).rejects.toMatchObject({ status: 400 })
  })
})

/** A text that makes a template each family's own, and the control tokens of its calls. */
const FAMILIES: readonly (readonly [name: string, template: string, control: readonly string[]])[] = [
  ['mistral-args', '[TOOL_CALLS][ARGS]', ['[TOOL_CALLS]', '[ARGS]']],
  ['mistral-ids', '[TOOL_CALLS][CALL_ID][ARGS]', ['[TOOL_CALLS]', '[CALL_ID]', '[ARGS]']],
  ['qwen-xml', '<function=<parameter=', []],
  [
    'harmony',
    '<|channel|><|message|>',
    ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
  ],
  ['gemma4', '<|tool_call><|"|>', ['<|tool_call>', '<tool_call|>', '<|"|>']],
  ['functiongemma', '<start_function_call><escape>', ['<start_function_call>', '<end_function_call>', '<escape>']],
  ['lfm2', '<|tool_call_start|>', ['<|tool_call_start|>', '<|tool_call_end|>']],
  ['olmo3', '<function_calls>', []],
  ['llama-pythonic', '[func_name1(', []],
  ['llama', '"parameters" ipython', []],
  ['phi4', '<|tool|>', []],
  ['phi4-tags', '<|tool|><|tool_call|>{"name"', ['<|tool_call|>', '<|/tool_call|>']],
  ['granite', '<|tool_call|>', ['<|tool_call|>']],
  ['xlam', 'calls in a single JSON array', []],
]

/** A list in lines cannot be told from its end by one token, and Llama 3 and gpt-oss make one call. */
const MAKES_SEVERAL: ReadonlySet<string> = new Set(
  FAMILIES.map(([name]) => name).filter((name) => name !== 'llama' && name !== 'harmony'),
)

function familyText(template: string, control: readonly string[]): ChatText {
  const files = smallTokenizer()
  const { added_tokens: added } = files.tokenizer
  const last = added.at(-1)!.id
  const more = control.map((content, i) => ({ ...added[0]!, id: last + 1 + i, content, special: true }))
  const chat_template = `{#- tools ${template.replaceAll('#}', '')} -#}${files.tokenizerConfig.chat_template}`
  return new ChatText({
    tokenizer: { ...files.tokenizer, added_tokens: [...added, ...more] },
    tokenizerConfig: { ...files.tokenizerConfig, chat_template },
  })
}

/** Of one call of any of these. */
const grammarOf = (tools: readonly Pick<ToolSpec, 'name' | 'parameters'>[]) =>
  compile({ anyOf: tools.map(({ name, parameters }) => closed({ name: { const: name }, arguments: parameters })) })

describe.each(FAMILIES)('calls of the family %s', (name, template, control) => {
  const text = familyText(template, control)
  const tools = [
    {
      name: 'get',
      strict: true,
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string', maxLength: 9 },
          note: { type: 'string' },
          unit: { enum: ['celsius', 'kelvin'] },
          days: { type: 'integer', minimum: 0, maximum: 99 },
          brief: { type: 'boolean' },
          tags: { type: 'array', items: { type: 'string', maxLength: 4 } },
          at: { type: 'object', properties: { x: { enum: [1, 2] } }, required: ['x'], additionalProperties: false },
        },
        required: ['city', 'days'],
        additionalProperties: false,
      },
    },
    { name: 'get_all', strict: true, parameters: { type: 'object', properties: {}, additionalProperties: false } },
  ]
  const toolGrammar = grammarOf(tools)
  const holds = compile(tools[0]!.parameters)
  const spelled = (json: string) => {
    const value = JSON.parse(json)
    const order = ['city', 'note', 'unit', 'days', 'brief', 'tags', 'at'].filter((key) => key in value)
    return JSON.stringify(Object.fromEntries(order.map((key) => [key, value[key]])))
  }

  test('have its format, satisfy their schema and end within any token budget', async () => {
    expect(text.toolFormat.name).toBe(name)
    const shortest = text.toolFormat
      .grammar(call({ tools, toolGrammar, toolChoice: 'required' }))
      .start(text.vocabulary).shortest
    const { decoder } = setUp({}, text)
    const called = new Set<string>()
    // Each format with seeds of its own, of all tools and budgets.
    for (const seed of turns([...Array(60).keys()], name.length, 4)) {
      const toolChoice = seed % 3 === 0 ? ('required' as const) : { name: 'get' }
      const maxTokens = shortest + 40 + (seed % 30) * 3
      const sampling = { ...call().sampling, seed }
      const request = call({ tools, toolGrammar, toolChoice, maxTokens, sampling, parallelToolCalls: false })
      const answer = await collect(decoder.generate(request))
      expect([answer.texts[0], answer.reasons, answer.calls[0]!.length]).toEqual(['', ['tool_calls'], 1])
      expect(answer.usage.completionTokens).toBeLessThanOrEqual(maxTokens)
      const { name: tool, arguments: json } = answer.calls[0]![0]!
      called.add(tool)
      if (tool === 'get_all') expect(JSON.parse(json)).toEqual({})
      else expect(holds.accepts(spelled(json)), json).toBe(true)
    }
    expect(called.has('get')).toBe(true)
  })

  test('come several at a time, as its template writes them', async () => {
    const { open, close, between, separator } = text.toolFormat
    // Without what only JSON can keep to.
    const properties = { city: { type: 'string' }, days: { type: 'integer' } }
    const tools = ['get', 'get_all'].map((name) => ({
      name,
      strict: false,
      parameters: { type: 'object', properties },
    }))
    const toolGrammar = grammarOf(tools)
    const args = [{ city: 'Paris', days: 3 }, {}, { city: 'Bonn', days: 14 }]
    const names = ['get', 'get_all', 'get']
    const spelt = args.map((value, i) => text.toolFormat.spell(names[i]!, JSON.stringify(value)))
    const written = open + spelt.join(separator ?? close + (between ?? '') + open) + close
    let from: number | undefined
    let last = ''
    // By what stands there: certain tokens may divide the text in another way than the tokenizer would.
    const next = (all: readonly number[]) => {
      from ??= text.prompt(request).length
      last = all
        .slice(from)
        .map((token) => text.tokenizer.shown(token))
        .join('')
      return written.startsWith(last) && last !== written
        ? text.tokenizer.encodeMarker(written.slice(last.length))[0]
        : undefined
    }
    const request = call({ tools, toolGrammar, toolChoice: 'required', maxTokens: 400 })
    const { calls, reasons } = await collect(setUp({ next }, text).decoder.generate(request))
    expect(reasons).toEqual(['tool_calls'])
    const several = MAKES_SEVERAL.has(name) ? args.length : 1
    const made = calls[0]!.slice(0, several)
    expect(made.map((each) => each.name)).toEqual(names.slice(0, several))
    expect(made.map((each) => JSON.parse(each.arguments))).toEqual(args.slice(0, several))
    if (several === 1) expect(calls[0]).toHaveLength(1)
  })

  test('are found and parsed in what a model writes freely', async () => {
    const { toolFormat, tokenizer } = text
    const { open, close, bare } = toolFormat
    const json = JSON.stringify({ city: 'Pa"ris é', note: 'a "b"\né', days: 3, tags: ['a', 'b'] })
    const alike = toolFormat.spell('get', json)
    // Where each message has a channel, words are a message of their own, which ends the answer.
    const isAlone = bare !== undefined || text.channels !== undefined
    const written = isAlone ? open + alike + close : `I look. ${open}${alike}${close}`
    const tokens = [...tokenizer.encodeMarker(written), [...text.ends][0]!]
    const request = call({ tools, toolGrammar, toolChoice: 'auto', maxTokens: 200, parallelToolCalls: false })
    const from = text.prompt(request).length
    const { decoder } = setUp({ next: (all) => tokens[all.length - from] }, text)
    const answer = await collect(decoder.generate(request))
    expect(answer.reasons).toEqual(['tool_calls'])
    expect(answer.texts[0]!.trim()).toBe(written.startsWith('I look.') ? 'I look.' : '')
    expect(answer.calls[0]!.map((each) => each.name)).toEqual(['get'])
    expect(holds.accepts(spelled(answer.calls[0]![0]!.arguments))).toBe(true)
  })

  const isMarked = text.toolFormat.bare === undefined
  // What a marker tells of is a call wherever it stands.
  if (isMarked) return

  test('are none where talk has the letters of one that only an answer begins with', async () => {
    const { toolFormat, tokenizer } = text
    const answerText = `As in [1] ${toolFormat.open}${toolFormat.spell('get', '{}')}${toolFormat.close} I say.`
    const tokens = [...tokenizer.encodeMarker(answerText), [...text.ends][0]!]
    let from: number | undefined
    const next = (all: readonly number[]) => {
      from ??= all.length
      return tokens[all.length - from]
    }
    const request = call({ tools, toolGrammar, toolChoice: 'auto', maxTokens: 200 })
    const answer = await collect(setUp({ next }, text).decoder.generate(request))
    expect([answer.texts[0], answer.reasons, answer.calls[0]]).toEqual([answerText, ['stop'], []])
  })
})

test('every family of calls that is not JSON alone is tried above', () => {
  const tried = new Set(FAMILIES.map(([name]) => name))
  const rest = TOOL_FORMATS.map(({ name }) => name).filter((name) => !tried.has(name))
  expect(rest).toEqual(['plain', 'mistral', 'hermes', 'unknown'])
})
describe('a text that is no JSON', () => {
  const whole = /^(?:no|yes(?:, very){0,3}|[a-c]{4,9} "[^"]*")$/u
  const source = { regex: whole.source.slice(1, -1) }
  const grammar = fromSource(source)
  const spoken = (seed: number, part = {}) =>
    call({ output: { type: 'grammar', source }, grammar, sampling: { ...call().sampling, seed }, ...part })

  test('matches the grammar, within every token budget', async () => {
    const { decoder } = setUp()
    const { shortest } = grammar.start(smallText.vocabulary)
    for (let seed = 0; seed < 12; seed++) {
      for (const maxTokens of [shortest, shortest + 1, shortest + 4, 40]) {
        const answer = await collect(decoder.generate(spoken(seed, { maxTokens })))
        expect(answer.texts[0]).toMatch(whole)
        expect(answer.usage.completionTokens).toBeLessThanOrEqual(maxTokens)
      }
    }
    await expect(collect(decoder.generate(spoken(1, { maxTokens: shortest - 1 })))).rejects.toMatchObject({
      status: 400,
    })
  })
})

describe('an answer whose masks take long', () => {
  const source = { gbnf: 'root ::= r\nr ::= ((r | [a-z]) root+)*' }
  /** Of a grammar of which nothing is known yet. */
  const costly = (part: Partial<ChatCall> = {}) =>
    call({ output: { type: 'grammar', source }, grammar: fromSource(source), maxTokens: 12, ...part })
  const letters = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => smallText.tokenizer.encodeContinuation(letter)[0]!)
  /** It never ends of itself. */
  const bias = () =>
    new Map([...[...smallText.ends].map((id) => [id, -100] as const), ...letters.map((id) => [id, 9] as const)])

  test('leaves steps and turns to others, and says the same as alone', async () => {
    // So that no rest hangs on how fast this machine is.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const alone = await collect(setUp({ bias }).decoder.generate(costly()))
    const plain = await collect(setUp({ bias }).decoder.generate(call({ maxTokens: 400 })))
    const { decoder, model } = setUp({ bias })
    let [turns, ended] = [0, false]
    const other = collect(decoder.generate(call({ maxTokens: 400 })))
    const one = collect(decoder.generate(costly())).finally(() => {
      ended = true
    })
    for (; !ended; turns++) await nextTurn()
    const steps = model.steps.length
    expect((await one).texts).toEqual(alone.texts)
    expect((await other).texts).toEqual(plain.texts)
    expect(alone.usage.completionTokens).toBe(12)
    expect(steps).toBeGreaterThan(12 + 50)
    expect(turns).toBeGreaterThan(12 + 50)
  })

  test('is refused alone where they take too long', async () => {
    const { decoder } = setUp({ bias })
    const [one, other] = await Promise.allSettled(
      [costly({ maxTokens: 400 }), call({ maxTokens: 100 })].map((each) => collect(decoder.generate(each))),
    )
    expect(one).toMatchObject({ status: 'rejected', reason: { status: 400, code: 'grammar_too_complex' } })
    expect(other).toMatchObject({ status: 'fulfilled', value: { reasons: ['length'] } })
  })

  test('is left where its caller leaves', async () => {
    const { decoder, model } = setUp({ bias })
    const leaving = new AbortController()
    const one = collect(decoder.generate(costly({ signal: leaving.signal })))
    while (model.steps.length < 4) await nextTurn()
    leaving.abort()
    await expect(one).rejects.toMatchObject({ name: 'AbortError' })
    expect(model.openSequences).toBe(0)
  })
})
