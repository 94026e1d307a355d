import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { closed } from '../../../test/support/closed.js'
import type { ChatCall, ToolSpec } from '../../contract/engine.js'
import { fromSource } from '../../grammar/structured.js'
import { argumentsOf, CallInput } from '../../service/wire/tools.js'
import { lookedThrough } from '../testing/looked-through.test-helper.js'
import { ToolCallStream } from './call-stream.js'
import { together } from './format.js'
import { TOOL_FORMATS, toolFormatOf } from './formats.js'
import { PLAIN_FORMAT, UNKNOWN } from './hermes.js'
import { LFM2, LLAMA_PYTHONIC, OLMO3 } from './pythonic.js'

/** What a schema must say of a value for a reader to know texts from the rest. */
function toolTaking(name: string, values: Readonly<Record<string, unknown>>): ToolSpec {
  const properties = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { type: typeof value === 'string' ? 'string' : 'object' }]),
  )
  return { name, strict: false, parameters: { type: 'object', properties } }
}

describe.each(TOOL_FORMATS.map((format) => [format.name, format] as const))('%s', (_, format) => {
  it('parses what it writes, wherever that is cut', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/)
    const key = fc.stringMatching(/^[a-z_]\w{0,8}$/)
    const nested = fc.constantFrom({ a: [{}] }, [], ['x', 1, null], { b: 'y', c: { d: -1.5e3 } })
    const json = fc.dictionary(key, fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), nested), {
      noNullPrototype: true,
    })
    fc.assert(
      fc.property(name, json, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (called, value, cuts) => {
        const reader = format.reader([toolTaking(called, value)])
        const names: string[] = []
        let reported = ''
        const spelled = [...format.spell(called, JSON.stringify(value))]
        for (let at = 0, i = 0; at < spelled.length; i++) {
          const end = at + cuts[i % cuts.length]!
          const delta = reader.push(spelled.slice(at, end).join(''))
          if (delta?.name !== undefined) names.push(delta.name)
          reported += delta?.arguments ?? ''
          at = end
        }
        expect(names).toEqual([called])
        expect(JSON.parse(reported)).toEqual(value)
      }),
    )
  })
})

const ODD_NAMES = [
  'price>=',
  'a=b',
  'dc:title',
  '',
  ' ',
  ' a',
  'a ',
  '"a',
  "it's",
  'a\\',
  'a}b',
  'a)b',
  'a,b',
  'é😀\u2028',
  '__proto__',
]

describe.each(TOOL_FORMATS.map((format) => [format.name, format] as const))('%s', (_, format) => {
  it.each(ODD_NAMES)('reads a parameter of any name: %j', (odd) => {
    // A document, so that `__proto__` is a name like any other.
    for (const value of ['x', 3, { k: [1, 'y'] }]) {
      for (const names of [[odd], [odd, 'z'], ['z', odd]]) {
        const json = `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
        const reader = format.reader([toolTaking('f', JSON.parse(json))])
        const told = [...format.spell('f', json)].map((letter) => reader.push(letter)?.arguments ?? '').join('')
        expect(new Map(Object.entries(JSON.parse(told)))).toEqual(new Map(Object.entries(JSON.parse(json))))
      }
    }
  })

  it.each([
    ['alone', false],
    ['once more', true],
  ])('looks at each letter of a call a few times, however long that is: %s', (_, again) => {
    const looks = (count: number) => {
      const value = { blanks: `a${' '.repeat(count)}b`, tags: '\n</'.repeat(count), rest: {} }
      const call = format.spell('f', JSON.stringify(value))
      const stream = new ToolCallStream(format.reader([toolTaking('f', value)]), again ? [call] : [])
      const pieces = call.match(/.{1,4}/gs)!
      return lookedThrough(() => {
        for (const piece of pieces) stream.push(piece)
      })
    }
    expect(looks(1000)).toBeLessThanOrEqual(3 * looks(500))
  })
})

const range = (i: number) => ({ type: 'number', minimum: i / 7, maximum: 1000 + i / 3 })
/** Each by itself is well below what a request may cost; nothing of one serves another. */
const RANGES: readonly ToolSpec[] = Array.from({ length: 40 }, (_, i) => ({
  name: `f${i}`,
  strict: true,
  parameters: closed({ a: range(i), b: closed({ x: range(i + 0.5), y: range(i + 100) }) }),
}))

it.each(TOOL_FORMATS.map((format) => [format.name, format] as const))(
  '%s: 40 strict tools with different ranges of numbers are kept to together',
  (_, format) => {
    const calls = RANGES.map(({ name, parameters }) => ({
      sequence: [`{"name":"${name}","arguments":`, { schema: parameters, layout: 'compact' as const }, '}'],
    }))
    const grammar = format.grammar({
      tools: RANGES,
      toolChoice: 'auto',
      toolGrammar: fromSource({ choice: calls }),
    } as unknown as ChatCall)
    // Control tokens within a call are no text, and a text can then not be held to it.
    if (format.marks !== undefined) return
    const call = (a: number) => format.spell('f39', JSON.stringify({ a, b: { x: 6, y: 20 } }))
    expect([5, 6, 1013, 1014].map((a) => grammar.accepts(call(a)))).toEqual([false, true, true, false])
  },
)

/** What a tool that takes a text may be called with, and what not. */
const PATCH: ToolSpec = {
  name: 'patch',
  strict: true,
  parameters: closed({ input: { type: 'string' } }),
  input: { lark: 'start: "*** Begin" "\\n" line+ "*** End"\nline: /[+-][^\\n]*/ "\\n"' },
}
const PATCHES = ['*** Begin\n+a "b" \\ <c>\n*** End', "*** Begin\n-it's\n+é\t{}[]\n*** End"]
const NO_PATCHES = ['', '*** Begin\n*** End', '*** Begin\n+a\n*** End\n', '*** Begin\na\n*** End']

it.each(TOOL_FORMATS.map((format) => [format.name, format] as const))(
  '%s: a tool that takes a text of a grammar is called with such a text, and with nothing else',
  (_, format) => {
    const toolGrammar = fromSource({
      sequence: ['{"name":"patch","arguments":{"input":', { quoted: PATCH.input! }, '}}'],
    })
    const grammar = format.grammar({ tools: [PATCH], toolChoice: 'auto', toolGrammar } as unknown as ChatCall)
    for (const text of [...PATCHES, ...NO_PATCHES]) {
      const spelled = format.spell('patch', argumentsOf(text))
      // Control tokens within a call are no text, and a text can then not be held to it.
      if (format.marks === undefined) expect(grammar.accepts(spelled), spelled).toBe(PATCHES.includes(text))
      const reader = format.reader([PATCH])
      const input = new CallInput()
      for (const letter of spelled) input.push(reader.push(letter)?.arguments ?? '')
      expect(input.text).toBe(text)
    }
  },
)

/** As Llama's documents, LFM2.5's template and OLMo 3's have calls: models do not keep to one kind of quote. */
it.each([
  [`weather(city='San Francisco', metric="celsius")`, { city: 'San Francisco', metric: 'celsius' }],
  [`f(a='it\\'s "so"', b="it's", c='\\n\\x41\\u00e9\\U0001F30D\\\\')`, { a: `it's "so"`, b: `it's`, c: '\nAé🌍\\' }],
  [`f(a=True, b=False, c=None, d=true, e=null)`, { a: true, b: false, c: null, d: true, e: null }],
  [`f(a=[1, 'x', True], b={'k': (None, 'y')}, c=-1.5e3)`, { a: [1, 'x', true], b: { k: [null, 'y'] }, c: -1500 }],
  ['f()', {}],
])('%s is read as Python', (written, means) => {
  for (const format of [LLAMA_PYTHONIC, LFM2, OLMO3]) {
    const reader = format.reader([])
    const deltas = [...written].flatMap((letter) => reader.push(letter) ?? [])
    expect(deltas.find(({ name }) => name !== undefined)?.name).toBe(written.split('(')[0])
    expect(JSON.parse(deltas.map((delta) => delta.arguments).join(''))).toEqual(means)
  }
})

it('a model whose template knows no tools is asked for calls in the form in which they are spelled', () => {
  expect(PLAIN_FORMAT.form).toBe(PLAIN_FORMAT.spell('...', '{...}'))
})

it.each([
  ['{{ messages }}', 'plain'],
  ['{{ bos_token }}{% set tools = [] %}{% for tool in tools %}{% endfor %}', 'plain'],
  ['{% if not tools %}{% set tools = [] %}{% endif %}{% for tool in tools %}{% endfor %}', 'unknown'],
  ['{% if tools %}[TOOL_CALLS]{% endif %}', 'mistral'],
  ["{% if tools %}[TOOL_CALLS]{{ name + '[ARGS]' }}{% endif %}", 'mistral-args'],
  ["{% if tools %}[TOOL_CALLS]{{ name + '[CALL_ID]' + id + '[ARGS]' }}{% endif %}", 'mistral-ids'],
  ['{% if tools %}Environment: ipython {"name": "", "parameters": {}}{% endif %}', 'llama'],
  ['{% if tools %}Environment: ipython [func_name1(params_name1=params_value1)]{% endif %}', 'llama-pythonic'],
  ['{% if tools %}<tool_call>{% endif %}', 'hermes'],
  ['{% if tools %}<tool_call>\n<function=a>\n<parameter=b>{% endif %}', 'qwen-xml'],
  ['{% if tools %}<|tool_list_start|>[{% endif %}', 'lfm2'],
  ['{% if tools %}<function_calls>{% endif %}', 'olmo3'],
  ['{% if tools %}<|tool|>{% endif %}', 'phi4'],
  ['{% if tools %}<|tool|><|tool_call|>{"name": ""}{% endif %}', 'phi4-tags'],
  ['{% if tools %}<|tool_call|>{% endif %}', 'granite'],
  ['{% if tools %}<start_function_call>call:<escape>{% endif %}', 'functiongemma'],
  ['{% if tools %}<|tool_call>call:<|"|>{% endif %}', 'gemma4'],
  ['{% if tools %}functools[{% endif %}', 'phi4'],
  ['{% if tools %}make calls in a single JSON array{% endif %}', 'xlam'],
  ['{% if tools %}<tool_call>name<arg_key>a</arg_key>{% endif %}', 'unknown'],
  ['{% if tools %}<seed:tool_call>\n<function=a>\n<parameter=b>{% endif %}', 'unknown'],
  ['{% for tool in tools %}{% endfor %}', 'unknown'],
])('a template %s is of the family %s', (template, name) => {
  expect(toolFormatOf(template).name).toBe(name)
})

it('OLMo 3 writes a call a line, in one list, with values in JSON', () => {
  const calls = ['{"a":true,"b":null}', '{}'].map((json) => OLMO3.spell('f', json))
  expect(together(OLMO3, calls)).toBe('<function_calls>f(a=true, b=null)\nf()</function_calls>')
})

it('every family has a name of its own, and the last takes what no other does', () => {
  expect(TOOL_FORMATS.at(-1)).toBe(UNKNOWN)
  expect(new Set(TOOL_FORMATS.map(({ name }) => name)).size).toBe(TOOL_FORMATS.length)
})
