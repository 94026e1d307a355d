import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { closed } from '../../../test/support/closed.js'
import type { ChatCall, ConstrainCall, Constrained, Engine, Part } from '../../contract/engine.js'
import { Constraints } from '../../grammar/constraints/constraints.js'
import { Values } from '../../grammar/schema/values.js'
import { atOnce } from '../../platform/turns.js'
import type { V1Options } from '../v1.js'
import { errorOf, eventsOf, finish, jsonOf, MODEL, serviceOf, text } from '../v1.test-helper.js'

const city = closed({ city: { type: 'string' } })
const format = (schema: unknown, strict: boolean | null = true) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'city', strict, schema } },
})

/** An engine that says one thing, and keeps what it was asked. */
function saying(...parts: Part[]) {
  return sayingWith({}, ...parts)
}

function sayingWith(options: Partial<V1Options>, ...parts: Part[]) {
  const calls: ChatCall[] = []
  const engine: Engine = {
    models: [{ id: MODEL, ownedBy: 'me' }],
    async *generate(call) {
      calls.push(call)
      yield* parts
    },
  }
  return { calls, ...serviceOf(engine, options) }
}

const toolCall = (name: string, text: string): Part => ({
  type: 'tool-call-delta',
  choice: 0,
  index: 0,
  name,
  arguments: text,
})

const work = (schema: Record<string, unknown>) => ({
  output: { type: 'json_schema' as const, name: 'x', schema, strict: true },
  tools: [],
  toolChoice: 'none' as const,
  places: { format: 'response_format', tools: [] },
})

describe('a schema that takes long', () => {
  const long = closed(
    Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`p${i}`, { type: 'number', minimum: i / 7 }])),
  )

  it('is compiled with pauses, in which others have their turn', () => {
    const slices = new Constraints().of(work(long))
    let pauses = 0
    let last = slices.next()
    for (; !last.done; last = slices.next()) pauses++
    expect(pauses).toBeGreaterThan(5)
    expect(last.value.grammar!.accepts('{}')).toBe(false)
  })

  it('and is asked for twice at once is compiled once, also where the first one leaves', () => {
    const compiled = vi.spyOn(Values.prototype, 'root')
    const constraints = new Constraints()
    compiled.mockClear()
    const [one, two, three] = [constraints.of(work(long)), constraints.of(work(long)), constraints.of(work(long))]
    for (let i = 0; i < 3; i++) for (const each of [one, two, three]) each.next()
    const [a, b] = [atOnce(two), atOnce(three)]
    expect(a.grammar).toBe(b.grammar)
    expect(compiled).toHaveBeenCalledTimes(1)
    compiled.mockRestore()
  })

  it('and is refused in the end is refused to all who asked', () => {
    const bad = { ...long, properties: { ...long.properties, last: { type: 'string', pattern: '(a)\\1' } } }
    const constraints = new Constraints()
    const both = [constraints.of(work(bad)), constraints.of(work(bad))]
    for (const each of both) each.next()
    for (const each of both) expect(() => atOnce(each)).toThrow("'pattern'")
  })
})

describe('a strict schema', () => {
  it('reaches the engine as a grammar', async () => {
    const { chat, calls } = saying(text('{"city":"Bern"}'), finish())
    expect(jsonOf(await chat(format(city))).choices[0].message.content).toBe('{"city":"Bern"}')
    expect(calls[0]!.grammar!.accepts('{"city":"Bern"}')).toBe(true)
    expect(calls[0]!.grammar!.accepts('{"town":"Bern"}')).toBe(false)
    expect(calls[0]!.output).toMatchObject({ type: 'json_schema', strict: true })
  })

  it('is formatted as the service was told, and tool arguments stay compact', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: city } }]
    const { chat, calls } = sayingWith({ layout: { indent: 2 } }, text('{"city":"Bern"}'), finish())
    await chat({ ...format(city), tools })
    await chat({ response_format: { type: 'json_object' } })
    for (const { grammar } of calls) {
      expect(grammar!.accepts(JSON.stringify({ city: 'Bern' }, null, 2))).toBe(true)
      expect(grammar!.accepts('{"city":"Bern"}')).toBe(false)
    }
    expect(calls[0]!.toolGrammar!.accepts('{"name":"f","arguments":{"city":"Bern"}}')).toBe(true)
    expect(() => sayingWith({ layout: { indent: 99 } })).toThrow('layout must be')
  })

  it('has formats as the service was told, in contents, tools and the last look', async () => {
    const schema = closed({ version: { type: 'string', format: 'semver' } })
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema, strict: true } }]
    const formats = { semver: String.raw`^\d+\.\d+$` }
    const { chat, calls } = sayingWith({ formats }, text('{"version":"1.2"}'), finish())
    await chat({ ...format(schema), tools })
    const { grammar, toolGrammar } = calls[0]!
    expect(['{"version":"1.2"}', '{"version":"x"}'].map((text) => grammar!.accepts(text))).toEqual([true, false])
    const call = (version: string) => `{"name":"f","arguments":{"version":"${version}"}}`
    expect([call('1.2'), call('x')].map((text) => toolGrammar!.accepts(text))).toEqual([true, false])
    const wrong = sayingWith({ formats }, text('{"version":"x"}'), finish())
    expect(errorOf(await wrong.chat(format(schema))).status).toBe(500)
    expect(errorOf(await saying(text('{}'), finish()).chat(format(schema))).message).toContain("format 'semver'")
    expect(() => sayingWith({ formats: { broken: '(' } })).toThrow()
    expect(() => sayingWith({ formats: { broken: 5 as never } })).toThrow("'format' must be a string")
  })

  it('that cannot be enforced is refused in OpenAI’s form, before the engine is asked', async () => {
    const { chat, calls } = saying()
    const schema = closed({ x: { type: 'string', pattern: '(a)\\1' } })
    const error = errorOf(await chat(format(schema)))
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'response_format', code: null })
    expect(error.message).toMatch(/^Invalid schema for response_format 'city': In context=\('properties', 'x'\), /)
    expect(error.message).toContain("set 'strict' to false")
    expect(calls).toHaveLength(0)
    // Refused again from the cache.
    expect(errorOf(await chat(format(schema))).message).toBe(error.message)
  })

  it('that is no schema is refused without the advice to be lenient', async () => {
    const { message } = errorOf(await saying().chat(format(closed({ x: { type: 'text' } }))))
    expect(message).toContain('is not a valid type.')
    expect(message).not.toContain("'strict'")
  })

  it.each(['guided_json', 'json_schema', 'format'])(
    'of %s, which is always strict, is refused without that advice',
    async (field) => {
      const { message } = errorOf(
        await saying().chat({ [field]: closed({ x: { type: 'string', pattern: '(a)\\1' } }) }),
      )
      expect(message).toContain('cannot be enforced exactly')
      expect(message).not.toContain("'strict'")
    },
  )

  it('that misspells a keyword is refused in one sentence after the other', async () => {
    const { message } = errorOf(await saying().chat(format(closed({ x: { type: 'string', minLenght: 1 } }))))
    expect(message).toContain("did you mean 'minLength'? Leave it out")
    // What the platform says of a pattern ends without a full stop.
    const pattern = errorOf(await saying().chat(format(closed({ x: { type: 'string', pattern: '(' } })))).message
    expect(pattern).toMatch(/[^.?!]\. Leave it out/)
  })

  it.each(['(', '[b-a]', '(a)\\1'])('names the keyword also of the pattern %s', async (pattern) => {
    const { message } = errorOf(await saying().chat(format(closed({ x: { type: 'string', pattern } }))))
    expect(message).toMatch(/, .*pattern/)
  })

  it.each([
    ['no JSON', '{"city":'],
    ['a wrong value', '{"city":5}'],
    ['a field missing', '{}'],
    ['a field too many', '{"city":"Bern","x":1}'],
    ['words around it', 'Here: {"city":"Bern"}'],
  ])('is never answered with %s', async (_, output) => {
    for (const reason of ['stop', 'length'] as const) {
      const { chat } = saying(text(output), finish(reason))
      expect(errorOf(await chat(format(city)))).toMatchObject({ status: 500, code: 'invalid_output' })
      const stream = eventsOf((await chat({ ...format(city), stream: true })).text)
      expect(JSON.parse(stream.at(-1)!)).toMatchObject({ error: { code: 'invalid_output' } })
      expect(stream.join()).not.toContain(`"finish_reason":"${reason}"`)
    }
  })

  it.each<[string, object, 'stop' | 'length', string]>([
    ['worth another try where chance decides', {}, 'stop', 'true'],
    ['not with the same seed', { seed: 1 }, 'stop', 'false'],
    ['not without a temperature', { temperature: 0 }, 'stop', 'false'],
    ['not at the same limit of tokens', { max_tokens: 5 }, 'length', 'false'],
  ])('that an answer breaks: %s', async (_, body, reason, retry) => {
    const { chat } = saying(text('{"city":'), finish(reason))
    const answer = await chat({ ...format(city), ...body })
    expect(errorOf(answer).code).toBe('invalid_output')
    expect(answer.headers.get('x-should-retry')).toBe(retry)
  })

  it('is satisfied in any spelling and order, for engines that do not go by the grammar', async () => {
    const { chat } = saying(text('{ "b": 1,\n  "a": "\\u00e4" }'), finish())
    const schema = closed({ a: { type: 'string' }, b: { type: 'integer' } })
    expect((await chat(format(schema))).status).toBe(200)
  })

  it.each<[string, object, string, string]>([
    ['multiples within alternatives', { anyOf: [{ multipleOf: 0.01 }, { type: 'null' }] }, '1.13', '1.135'],
    ['names of prototypes', { properties: { toString: { type: 'null' } }, required: ['a'] }, '{"a":1}', '{}'],
    [
      'references beside siblings',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        $ref: '#/properties/x/definitions/n',
        type: 'null',
        definitions: { n: { type: 'integer' } },
      },
      '1',
      'null',
    ],
    ['circles of alternatives', { anyOf: [{ type: 'null' }, { $ref: '#/properties/x' }] }, 'null', '1'],
  ])('is judged exactly: %s', async (_, x, right, wrong) => {
    const schema = closed({ x })
    for (const [value, status] of [
      [right, 200],
      [wrong, 500],
    ] as const) {
      expect((await saying(text(`{"x":${value}}`), finish()).chat(format(schema))).status).toBe(status)
    }
  })

  it('is judged by decimals, not by doubles', async () => {
    const schema = closed({ x: { type: 'number', multipleOf: 0.01 } })
    expect((await saying(text('{"x":1.13}'), finish()).chat(format(schema))).status).toBe(200)
    expect((await saying(text('{"x":1.135}'), finish()).chat(format(schema))).status).toBe(500)
  })

  it('cannot stop the service with a pattern that takes for ever to fail', async () => {
    const schema = closed({ x: { type: 'string', pattern: '^(a+)+$' }, y: { type: 'string', pattern: '^b+$' } })
    const partOf = (x: string) => text(JSON.stringify({ x, y: 'b' }))
    expect((await saying(partOf('aaa'), finish()).chat(format(schema))).status).toBe(200)
    expect((await saying(partOf(`${'a'.repeat(40)}!`), finish()).chat(format(schema))).status).toBe(500)
  })

  it('may have a property of any name', async () => {
    const schema = JSON.parse('{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}}')
    const serviceSaying = (value: string) => saying(text(`{"__proto__":${value},"constructor":1}`), finish())
    expect((await serviceSaying('1').chat(format(closed(schema)))).status).toBe(200)
    expect((await serviceSaying('"x"').chat(format(closed(schema)))).status).toBe(500)
  })

  it('does not trip over its dialect', async () => {
    const { chat } = saying(text('{"city":5}'), finish())
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...city }
    expect((await chat(format(schema))).status).toBe(500)
  })

  it('is checked for each choice', async () => {
    const { chat } = saying(text('{"city":"Bern"}'), finish(), text('no', 1), finish('stop', 1))
    expect((await chat({ ...format(city), n: 2 })).status).toBe(500)
  })
})

describe('a schema that is not strict', () => {
  const odd = { type: 'object', properties: { x: { type: 'string', pattern: '(a)\\1' } }, required: ['x'] }

  it('is enforced as far as possible, and the rest is named', async () => {
    const { chat, calls } = saying(text('{"x":"y"}'), finish())
    for (const strict of [false, null]) {
      const answer = await chat(format(odd, strict))
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-not-enforced')).toBe('#/properties/x/pattern')
    }
    expect(calls[0]!.grammar!.accepts('{"x":"y"}')).toBe(true)
    expect(calls[0]!.grammar!.accepts('{}')).toBe(false)
  })

  it('may also come as json_object with a schema', async () => {
    const { chat, calls } = saying(text('{"city":"Bern"}'), finish())
    await chat({ response_format: { type: 'json_object', schema: city } })
    expect(calls[0]!.grammar!.accepts('{"city":"Bern"}')).toBe(true)
    expect(calls[0]!.grammar!.accepts('{}')).toBe(false)
  })
})

describe('json_object', () => {
  const response_format = { type: 'json_object' }

  it('is any object, by grammar', async () => {
    const { chat, calls } = saying(text('{"a":[1]}'), finish())
    expect((await chat({ response_format })).status).toBe(200)
    const { grammar } = calls[0]!
    expect(['{"a":[1]}', '{}', '[]', 'x'].map((document) => grammar!.accepts(document))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  it('that is none is a 500, unless it was cut off', async () => {
    expect((await saying(text('{"a":'), finish()).chat({ response_format })).status).toBe(500)
    expect((await saying(text('{"a":'), finish('length')).chat({ response_format })).status).toBe(200)
  })
})

describe('tools', () => {
  const definitions = { $defs: { place: city }, ...closed({ at: { $ref: '#/$defs/place' } }) }
  const tools = [
    { type: 'function', function: { name: 'weather', parameters: city, strict: true } },
    { type: 'function', function: { name: 'map', parameters: definitions } },
  ]

  it('with 40 different ranges of numbers are enforced together', async () => {
    const range = (i: number) => closed({ x: { type: 'number', minimum: i / 7, maximum: 1000 + i / 3 } })
    const many = Array.from({ length: 40 }, (_, i) => ({
      type: 'function',
      function: {
        name: `f${i}`,
        parameters: closed({ a: range(i), b: range(i + 0.5), c: range(i + 100) }),
        strict: true,
      },
    }))
    const { chat, calls } = saying(text('hi'), finish())
    expect((await chat({ tools: many })).status).toBe(200)
    const args = '{"a":{"x":6},"b":{"x":7},"c":{"x":21}}'
    expect(calls[0]!.toolGrammar!.accepts(`{"name":"f39","arguments":${args}}`)).toBe(true)
    expect(calls[0]!.toolGrammar!.accepts(`{"name":"f39","arguments":${args.replace('6', '5')}}`)).toBe(false)
  })

  it('of which one has changed are not all compiled again', async () => {
    const many = (changed: string) =>
      Array.from({ length: 128 }, (_, i) => ({
        type: 'function',
        function: {
          name: `tool_${i}`,
          parameters: closed({ [i === 100 ? changed : `x${i}`]: { type: 'string' } }),
          strict: i % 2 === 0,
        },
      }))
    const { chat, calls } = saying(text('hi'), finish())
    const compiled = vi.spyOn(Values.prototype, 'root')
    const made = async (changed: string) => {
      compiled.mockClear()
      expect((await chat({ tools: many(changed) })).status).toBe(200)
      return compiled.mock.calls.length
    }
    expect([await made('a'), await made('b'), await made('b'), await made('a')]).toEqual([128, 1, 0, 0])
    compiled.mockRestore()
    const accepts = (name: string, key: string) =>
      calls.map(({ toolGrammar }) => toolGrammar!.accepts(`{"name":"${name}","arguments":{"${key}":""}}`))
    expect(accepts('tool_100', 'a')).toEqual([true, false, false, true])
    expect(accepts('tool_25', 'x25')).toEqual([true, true, true, true])
    expect(accepts('tool_25', 'x100')).toEqual([false, false, false, false])
  })

  it('that are too much together are refused, and it is said that they are', async () => {
    const costly = (i: number) => ({ type: 'string', pattern: `^(a|b)*a(a|b){7}${'c'.repeat(i)}$` })
    const tools = Array.from({ length: 120 }, (_, i) => ({
      type: 'function',
      function: { name: `f${i}`, parameters: closed({ a: costly(i) }), strict: true },
    }))
    const { chat, calls } = saying(text('hi'), finish())
    const error = errorOf(await chat({ tools }))
    expect(error).toMatchObject({ status: 400, param: 'tools' })
    expect(error.message).toMatch(/together/)
    expect(calls).toEqual([])
  })

  it('reach the engine as a grammar of calls, for those that may be called', async () => {
    const { chat, calls } = saying(text('Hi'), finish())
    await chat({ tools })
    await chat({ tools, tool_choice: { type: 'function', function: { name: 'map' } } })
    await chat({ tools, tool_choice: 'none' })
    const toolCalls = [
      '{"name":"weather","arguments":{"city":"Bern"}}',
      '{"name":"map","arguments":{"at":{"city":"Bern"}}}',
    ]
    toolCalls.push('{"name":"map","arguments":{"at":{}}}', '{"name":"other","arguments":{}}')
    const accepted = calls.map(({ toolGrammar }) => toolGrammar && toolCalls.map((each) => toolGrammar.accepts(each)))
    expect(accepted).toEqual([[true, true, false, false], [false, true, false, false], undefined])
  })

  it('that are strict are checked, and refused where they cannot be enforced', async () => {
    const wrong = saying(toolCall('weather', '{"city":5}'), finish('tool_calls'))
    expect(errorOf(await wrong.chat({ tools }))).toMatchObject({ status: 500, code: 'invalid_output' })
    const right = saying(toolCall('weather', '{"city":"Bern"}'), finish('tool_calls'))
    expect((await right.chat({ tools })).status).toBe(200)
    const parameters = closed({ x: { type: 'string', pattern: '(a)\\1' } })
    const strict = [...tools, { type: 'function', function: { name: 'odd', parameters, strict: true } }]
    const error = errorOf(await right.chat({ tools: strict }))
    expect(error).toMatchObject({ status: 400, param: 'tools[2].function.parameters' })
    expect(error.message).toMatch(/^Invalid schema for function 'odd': /)
  })

  it('that are not strict may be called with anything', async () => {
    const { chat } = saying(toolCall('map', 'no JSON'), finish('tool_calls'))
    expect((await chat({ tools })).status).toBe(200)
  })
})

describe('a text that is no JSON', () => {
  const order = { structured_outputs: { regex: '(?:buy|sell) [A-Z]{2,5}' } }

  it('reaches the engine as a grammar, and the answer is checked', async () => {
    const good = saying(text('buy ACME'), finish())
    expect(jsonOf(await good.chat(order)).choices[0].message.content).toBe('buy ACME')
    expect(good.calls[0]?.grammar?.accepts('sell IT')).toBe(true)
    expect(good.calls[0]?.grammar?.accepts('sell it')).toBe(false)
    const bad = saying(text('buy acme'), finish())
    const answer = await bad.chat(order)
    expect(answer.status).toBe(500)
    expect(errorOf(answer).code).toBe('invalid_output')
  })

  it.each([
    [
      'structured_outputs.regex',
      { structured_outputs: { regex: '(a' } },
      /Unterminated group|Invalid regular expression/,
    ],
    ['structured_outputs.regex', { structured_outputs: { regex: '(a)\\1' } }, /back-reference/],
    ['grammar', { grammar: 'root ::= "a" b' }, /line 1, column 14: the rule 'b' is not defined/],
    ['structured_outputs.grammar', { structured_outputs: { grammar: 'start: <think> "a"' } }, /<think> has no text/],
    ['structured_outputs.grammar', { structured_outputs: { grammar: 'start: start "a"' } }, /no text satisfies/],
    [
      'structured_outputs.structural_tag',
      { structured_outputs: { structural_tag: { triggers: [] } } },
      /'structures' must be a list/,
    ],
    [
      'response_format',
      { response_format: { type: 'structural_tag', format: { type: 'nothing' } } },
      /'format.type' is not known/,
    ],
    ['guided_choice', { guided_choice: ['\ud800'] }, /surrogate/],
  ])('%s that cannot be kept to is refused for itself', async (field, body, message) => {
    const { chat, calls } = saying(text('a'), finish())
    const answer = await chat(body)
    expect(answer.status).toBe(400)
    const error = errorOf(answer)
    expect(error.param).toMatch(new RegExp(`^${field.replace('.', '\\.')}`))
    expect(error.message).toMatch(message)
    expect(calls).toEqual([])
  })
})

describe('what a request demands', () => {
  const quoting = closed({ city: { type: 'string', 'x-quote': true } })
  const toolOf = (parameters: object) => ({ type: 'function', function: { name: 'go', parameters } })
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'From Bern.' },
  ]
  const theirs: Constrained = { notEnforced: ['#/theirs'], faultOf: () => undefined }

  /** An engine that compiles by itself, or says that it does not. */
  function compiling(answer: Constrained | undefined, options: Partial<V1Options> = {}) {
    const constrainCalls: ConstrainCall[] = []
    const calls: ChatCall[] = []
    const engine: Engine = {
      models: [{ id: MODEL, ownedBy: 'me', capabilities: { quotes: true } }],
      async *generate(call) {
        calls.push(call)
        yield text('{"city":"Bern"}')
        yield finish()
      },
      async constrain(call) {
        constrainCalls.push(call)
        return answer
      },
    }
    return { constrainCalls, calls, ...serviceOf(engine, options) }
  }

  it('is compiled where the engine computes, which is told what it takes', async () => {
    const formats = { plate: '[A-Z]+' }
    const { constrainCalls, calls, chat } = compiling(theirs, { formats })
    const tools = [toolOf(city), toolOf(quoting)].map((tool, i) => ({
      ...tool,
      function: { ...tool.function, name: `f${i}` },
    }))
    const answer = await chat({ ...format(city), tools, messages })
    expect([answer.status, answer.headers.get('x-not-enforced')]).toEqual([200, '#/theirs'])
    expect(constrainCalls).toEqual([
      expect.objectContaining({
        ...{ id: calls[0]!.id, model: MODEL, caller: calls[0]!.caller, signal: calls[0]!.signal, formats },
        output: calls[0]!.output,
        tools: calls[0]!.tools,
        toolChoice: 'auto',
        places: {
          format: 'response_format',
          tools: ['tools[0].function.parameters', 'tools[1].function.parameters'],
        },
        quote: { texts: ['From Bern.'], all: false },
      }),
    ])
  })

  it('is compiled here where an engine does not', async () => {
    const { constrainCalls, calls, chat } = compiling(undefined)
    const answer = await chat(format(city))
    expect([answer.status, answer.headers.get('x-not-enforced')]).toEqual([200, null])
    expect(constrainCalls).toHaveLength(1)
    expect(calls[0]!.grammar!.accepts('{"city":"Bern"}')).toBe(true)
    // From here, too, what is to be a quote is one.
    expect((await chat({ ...format(quoting), messages })).status).toBe(200)
    expect(errorOf(await chat({ ...format(quoting), messages: messages.slice(0, 1) })).code).toBe('invalid_output')
  })

  it('is nothing where a text is wanted and no tool may be called', async () => {
    const { constrainCalls, calls, chat } = compiling(theirs)
    for (const body of [{}, { tools: [toolOf(quoting)], tool_choice: 'none' }]) {
      const answer = await chat({ ...body, messages })
      expect([answer.status, answer.headers.get('x-not-enforced')]).toEqual([200, null])
    }
    expect(constrainCalls).toEqual([])
    expect(calls.map(({ grammar, toolGrammar }) => [grammar, toolGrammar])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  it('is no quote where none is asked for, or only of tools that may not be called', async () => {
    const { constrainCalls, chat } = compiling(theirs)
    const forced = { type: 'function', function: { name: 'go' } }
    await chat({ ...format(city), messages })
    await chat({ ...format(city), tools: [toolOf(quoting)], tool_choice: 'none', messages })
    await chat({ tools: [toolOf(quoting)], tool_choice: forced, messages })
    expect(constrainCalls.map(({ quote }) => quote)).toEqual([
      undefined,
      undefined,
      { texts: ['From Bern.'], all: false },
    ])
    expect(constrainCalls.map((call) => 'quote' in call)).toEqual([false, false, true])
  })
})

it('of what was refused nothing is kept but why', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const held = () => {
    gc()
    gc()
    return process.memoryUsage().heapUsed
  }
  const constraints = new Constraints()
  // It is given up after hundreds of thousands of steps, all of which have left something behind.
  const refusal = (i: number): string => {
    const source = { regex: `${i}((a|b)*(b|c)*){1,40}(x|y){0,200}` }
    const places = { format: 'regex', tools: [] }
    const request = { output: { type: 'grammar', source }, tools: [], toolChoice: 'none', places } as const
    try {
      atOnce(constraints.of(request))
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  expect(refusal(0)).toMatch(/the grammar is too complex/)
  const before = held()
  const refused = Array.from({ length: 12 }, (_, i) => refusal(i + 1))
  expect(new Set(refused)).toEqual(new Set([refusal(0)]))
  expect((held() - before) / refused.length).toBeLessThan(300_000)
})
