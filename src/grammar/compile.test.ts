import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { example } from './example.js'
import { judge } from './judge.js'
import { isMultiple } from './schema/multiple.js'
import { type CompileOptions, compile, type Grammar, SchemaError, schemaErrorMessage } from './structured.js'
import { refusal } from './testing.test-helper.js'

function accepts(schema: unknown, text: unknown, options?: CompileOptions): boolean {
  return compile(schema, options).accepts(typeof text === 'string' ? text : JSON.stringify(text))
}

/** [schema, texts that it admits, texts that it does not]. */
type Row = readonly [unknown, readonly string[], readonly string[]]

function table(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    it.each(rows.map(([schema, yes, no]) => [JSON.stringify(schema).slice(0, 120), schema, yes, no] as const))(
      '%s',
      (_, schema, yes, no) => {
        const grammar = compile(schema)
        for (const text of yes) expect(grammar.accepts(text), text).toBe(true)
        for (const text of no) expect(grammar.accepts(text), text).toBe(false)
      },
    )
  })
}

table('one spelling per value', [
  [
    {},
    ['null', '1', '"a"', '[]', '{}', '[1,{"a":[]}]'],
    ['', ' 1', '1 ', '[ ]', '[1, 2]', '{"a": 1}', '01', '+1', '.5', "'a'", 'nul'],
  ],
  [
    { type: 'string' },
    ['"é😀"', '"\\n"', '"\\u001f"', '"\\\\\\""', '"/"'],
    ['"\n"', '"\\u0041"', '"\\/"', '"\\ud83d"', '"\\x"', '"', '"a""'],
  ],
])

table('objects', [
  [
    { type: 'object', properties: { a: {}, b: {} }, required: ['b'], additionalProperties: false },
    ['{"b":1}', '{"a":1,"b":2}'],
    ['{}', '{"a":1}', '{"b":1,"a":2}', '{"b":1,"c":2}', '{"b":1,"b":2}', '{"b":1,}'],
  ],
  [
    { properties: { a: { type: 'string' } } },
    ['1', '[]', '{}', '{"a":"x"}', '{"b":1,"c":2}'],
    ['{"a":1}', '{"b":1,"a":"x"}', '{"b":1,"b":1}'],
  ],
  [
    { type: 'object', additionalProperties: { type: 'integer' } },
    ['{"x":1,"y":2,"z":3}'],
    ['{"x":"1"}', '{"x":1,"y":2,"x":3}'],
  ],
  [
    {
      type: 'object',
      patternProperties: { '^a': { type: 'integer' }, b$: { minimum: 5 } },
      additionalProperties: false,
    },
    ['{"a":1}', '{"ab":5}', '{"xb":"text"}', '{"b":5,"a":1}'],
    ['{"ab":4}', '{"a":"x"}', '{"c":1}', '{"a":1,"a":2}'],
  ],
  [{ type: 'object', propertyNames: { maxLength: 2 } }, ['{"ab":1}', '{"é😀":1}'], ['{"abc":1}']],
  [{ type: 'object', minProperties: 1, maxProperties: 2 }, ['{"a":1}', '{"a":1,"b":2}'], ['{}', '{"a":1,"b":2,"c":3}']],
  [
    { type: 'object', required: ['x', 'y'] },
    ['{"y":1,"x":2}', '{"a":0,"x":1,"b":2,"y":3}'],
    ['{"x":1}', '{"x":1,"x":2}'],
  ],
  [{ properties: { a: false } }, ['{"b":1}'], ['{"a":1}']],
  [{ dependentRequired: { a: ['b'] } }, ['{}', '{"b":1}', '{"a":1,"b":2}', '3'], ['{"a":1}']],
])

table('arrays', [
  [
    { type: 'array', prefixItems: [{ type: 'integer' }], items: { type: 'string' } },
    ['[]', '[1]', '[1,"a","b"]'],
    ['["a"]', '[1,2]'],
  ],
  [
    { type: 'array', items: { type: 'null' }, minItems: 2, maxItems: 3 },
    ['[null,null]', '[null,null,null]'],
    ['[]', '[null]', '[null,null,null,null]', '[null,null,]'],
  ],
  [{ type: 'array', contains: { const: 1 }, maxContains: 2 }, ['[1]', '[0,1,1]'], ['[]', '[0]', '[1,1,1]']],
  [
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ const: 1 }], additionalItems: false },
    ['[1]', '[]'],
    ['[1,2]', '[2]'],
  ],
])

table('combinations', [
  [{ allOf: [{ minimum: 3 }, { maximum: 5 }], type: 'integer' }, ['3', '5'], ['2', '6', '3.5']],
  [{ anyOf: [{ type: 'string', minLength: 2 }, { type: 'integer' }] }, ['"ab"', '7'], ['"a"', '7.5']],
  [{ oneOf: [{ type: 'integer', multipleOf: 2 }, { type: 'string' }] }, ['4', '"a"'], ['3', 'null']],
  [
    { oneOf: [{ required: ['a'] }, { required: ['b'] }], type: 'object' },
    ['{"a":1}', '{"b":1}'],
    ['{}', '{"a":1,"b":2}'],
  ],
  [{ not: { type: 'string' } }, ['1', 'null'], ['"a"']],
  [{ type: 'string', not: { enum: ['a', 'b'] } }, ['"c"', '"ab"', '""'], ['"a"', '"b"']],
  [{ not: { const: 5 }, type: 'integer' }, ['4', '6'], ['5']],
  [
    {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
      then: { required: ['b'] },
      else: { required: ['c'] },
      type: 'object',
    },
    ['{"a":1,"b":2}', '{"c":1}', '{"a":2,"c":1}'],
    ['{"a":1}', '{"a":1,"c":2}', '{"b":1}'],
  ],
  [{ enum: [1, 'a', null, { a: [1] }], type: ['string', 'object'] }, ['"a"', '{"a":[1]}'], ['1', 'null', '{"a":[2]}']],
  [{ enum: ['ab', 'b', 'abc'], pattern: '^a', maxLength: 2 }, ['"ab"'], ['"b"', '"abc"']],
])

describe('numbers that are no multiples', () => {
  it.each([1, 2, 7, 100, 0.5, 0.25, 0.01, 1.5])('of %d are told from those that are', (step) => {
    const grammar = compile({ type: 'number', not: step === 1 ? { type: 'integer' } : { multipleOf: step } })
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 5 }), (digits, places) => {
        const value = digits / 10 ** places
        const right = !isMultiple(value, step)
        expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, right])
        const multiple = Math.round(digits / 1000) * step
        if (isMultiple(multiple, step)) expect(grammar.accepts(JSON.stringify(multiple))).toBe(false)
      }),
    )
    for (const text of ['0', '-0', '0.0', `${step}.0`, '1e+21', '1e-7']) expect(grammar.accepts(text)).toBe(false)
  })
})

table('references', [
  [{ type: 'integer', minimum: 0, maximum: 9, not: { multipleOf: 3 } }, ['1', '8'], ['0', '3', '9', '1.5', '10']],
  [{ not: { type: 'integer' } }, ['1.5', '"a"', 'null', '-0.1'], ['1', '0', '-3']],
  [{ oneOf: [{ type: 'integer' }, { type: 'number', minimum: 2 }] }, ['1', '2.5'], ['2', '1.5', '7']],
  [{ $ref: '#/$defs/a', $defs: { a: { type: 'integer' } }, minimum: 3 }, ['3'], ['2', '"a"']],
  [
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      $ref: '#/definitions/a',
      definitions: { a: { type: 'integer' } },
      minimum: 3,
    },
    ['2', '3'],
    ['"a"'],
  ],
  [
    { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false },
    ['{}', '{"next":{"next":{}}}'],
    ['{"next":1}'],
  ],
  [
    {
      $id: 'https://example.com/root',
      $defs: { a: { $id: 'inner', $anchor: 'x', type: 'null' } },
      anyOf: [{ $ref: 'inner#x' }],
    },
    ['null'],
    ['1'],
  ],
  [{ $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': { const: 1 } } }, ['1'], ['2']],
])

table('what is left unevaluated', [
  [
    {
      type: 'object',
      properties: { a: {} },
      allOf: [{ properties: { b: {} } }, { $ref: '#/$defs/c' }],
      unevaluatedProperties: false,
      $defs: { c: { patternProperties: { '^c': { type: 'integer' } } } },
    },
    ['{}', '{"a":1,"b":2}', '{"c1":3}'],
    ['{"d":1}', '{"c1":"x"}'],
  ],
  [
    { type: 'object', allOf: [{ additionalProperties: { type: 'null' } }], unevaluatedProperties: false },
    ['{"a":null}'],
    ['{"a":1}'],
  ],
  [
    {
      type: 'object',
      allOf: [{ properties: { a: {} }, unevaluatedProperties: { minimum: 3 } }],
      unevaluatedProperties: false,
    },
    ['{"b":3}'],
    ['{"b":2}'],
  ],
  [
    {
      type: 'object',
      properties: { a: {}, b: {} },
      anyOf: [{ required: ['a'] }, { properties: { b: { const: 1 } } }],
      unevaluatedProperties: { type: 'null' },
    },
    ['{"a":1,"c":null}', '{"b":1}'],
    ['{"a":1,"c":1}', '{"b":2}'],
  ],
  [{ type: 'object', unevaluatedProperties: { type: 'integer' } }, ['{"a":1}'], ['{"a":"x"}']],
  [
    {
      type: 'array',
      prefixItems: [{}],
      allOf: [{ prefixItems: [{}, { type: 'string' }] }],
      unevaluatedItems: { type: 'null' },
    },
    ['[1,"a"]', '[1,"a",null]', '[]'],
    ['[1,2]', '[1,"a",3]'],
  ],
  [{ type: 'array', $ref: '#/$defs/a', unevaluatedItems: false, $defs: { a: { items: {} } } }, ['[1,2]'], ['{}']],
  [
    {
      enum: [{ a: 1 }, { a: 1, b: 2 }, [1], [1, 2]],
      allOf: [{ properties: { a: {} }, prefixItems: [{}] }],
      unevaluatedProperties: false,
      unevaluatedItems: false,
    },
    ['{"a":1}', '[1]'],
    ['{"a":1,"b":2}', '[1,2]'],
  ],
])

describe('refusals name the keyword and its place', () => {
  it.each<[unknown, string, (string | number)[]]>([
    [{ properties: { x: { type: 'array', uniqueItems: true } } }, 'uniqueItems', ['properties', 'x']],
    [{ allOf: [{ type: 'array' }, { uniqueItems: true }] }, 'uniqueItems', ['allOf', 1]],
    [
      { type: 'object', properties: { x: { type: 'object', minProperties: 1e6 } }, required: ['x'] },
      'minProperties',
      ['properties', 'x'],
    ],
    [
      { type: 'object', properties: { x: { type: 'object', minProperties: 1e6 } } },
      'minProperties',
      ['properties', 'x'],
    ],
    [{ anyOf: [{ type: 'null' }, { type: 'object', minProperties: 400 }] }, 'minProperties', ['anyOf', 1]],
    [{ properties: { x: { $ref: 'https://example.com/other' } } }, '$ref', ['properties', 'x']],
    [{ properties: { x: { type: 'text' } } }, 'type', ['properties', 'x']],
    [{ anyOf: [{ pattern: '(a)\\1' }] }, 'pattern', ['anyOf', 0]],
    [{ items: { format: 'zoneinfo' } }, 'format', ['items']],
    [{ items: { type: 'string', format: 'flag-topic' } }, 'format', ['items']],
    [{ not: { format: 'flag-topic' } }, 'format', ['not']],
    [{ const: JSON.parse('1e400') }, 'const', []],
    [{ items: { enum: [1, [{ a: JSON.parse('-1e400') }]] } }, 'enum', ['items']],
    [{ enum: Object.assign(new Array(3), { 1: 'b' }) }, 'enum', []],
    [{ const: undefined, enum: ['a', undefined] }, 'enum', []],
    [{ const: new Date(0).getTime }, 'const', []],
    [{ not: { const: JSON.parse('1e400') } }, 'const', ['not']],
    [{ properties: { x: { $ref: 5 } } }, '$ref', ['properties', 'x']],
    [{ items: { type: 'array', uniqueItems: 'true' } }, 'uniqueItems', ['items']],
    [{ type: 'string', format: 5 }, 'format', []],
    [{ not: { type: 'string', format: 5 } }, 'format', ['not']],
    [{ if: 5 }, 'if', []],
    [{ minContains: -1 }, 'minContains', []],
    [
      { anyOf: [...'abcdefg'].map((key) => ({ properties: { [key]: {} } })), unevaluatedProperties: false },
      'unevaluatedProperties',
      [],
    ],
    [
      { anyOf: [...'abcdefg'].map((_, i) => ({ prefixItems: Array(i + 1).fill(true) })), unevaluatedItems: false },
      'unevaluatedItems',
      [],
    ],
    [{ properties: { x: { type: 'string', minLenght: 3 } } }, 'minLenght', ['properties', 'x']],
    [{ items: { additionalproperties: false } }, 'additionalproperties', ['items']],
    [{ not: { type: 'string', maxLenth: 3 } }, 'maxLenth', ['not']],
    [{ items: { ref: '#' } }, 'ref', ['items']],
    [{ properties: { d: { format: 'date', formatMinimum: '2020-01-01' } } }, 'formatMinimum', ['properties', 'd']],
    [{ extends: {} }, 'extends', []],
    [{ minLength: -1 }, 'minLength', []],
    [{ multipleOf: 0 }, 'multipleOf', []],
  ])('%j', (schema, keyword, path) => {
    const error = refusal(schema)
    expect(error.keyword).toBe(keyword)
    expect(error.path).toEqual(path)
  })

  it.each([
    [false],
    [{ type: 'string', minLength: 3, maxLength: 2 }],
    [{ enum: [] }],
    [{ type: 'object', required: ['a'], properties: { a: false } }],
    [
      {
        $ref: '#/$defs/a',
        $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
      },
    ],
    [{ type: 'string', enum: [1] }],
    [{ type: 'integer', minimum: 1.2, maximum: 1.8 }],
    [{ allOf: [{ const: 1 }, { const: 2 }] }],
    ['no schema'],
    [null],
  ])('what nothing can satisfy: %j', (schema) => {
    expect(refusal(schema)).toBeInstanceOf(SchemaError)
  })

  it.each<[unknown, (string | number)[]]>([
    [{ type: 'string', minLength: 3, maxLength: 2 }, []],
    [
      { properties: { a: { type: 'string', minLength: 3, maxLength: 2 } }, type: 'object', required: ['a'] },
      ['properties', 'a'],
    ],
    [{ properties: { a: false }, type: 'object', required: ['a'] }, ['properties', 'a']],
    [{ type: 'object', additionalProperties: false, required: ['a'] }, ['additionalProperties']],
    [
      { type: 'object', additionalProperties: { allOf: [{ const: 1 }, { const: 2 }] }, required: ['a'] },
      ['additionalProperties'],
    ],
    [{ type: 'array', minItems: 1, items: { enum: [] } }, ['items']],
    [
      { type: 'array', minItems: 2, prefixItems: [{}, { type: 'integer', minimum: 1.2, maximum: 1.8 }] },
      ['prefixItems', 1],
    ],
    [
      {
        type: 'object',
        properties: { list: { type: 'array', minItems: 1, items: { $ref: '#/$defs/x' } } },
        required: ['list'],
        $defs: { x: { anyOf: [{ const: 1 }, { const: 2 }], type: 'string' } },
      },
      ['$defs', 'x'],
    ],
    [
      {
        $ref: '#/$defs/a',
        $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
      },
      ['$defs', 'a'],
    ],
    [{ anyOf: [{ type: 'object', required: ['a'], properties: { a: false } }, { enum: [] }] }, []],
    [
      { type: 'object', properties: { a: { enum: [] } }, required: ['a'], additionalProperties: false },
      ['properties', 'a'],
    ],
  ])('what nothing can satisfy, and why: %j', (schema, path) => {
    const error = refusal(schema)
    expect(error.message).toContain('no value can satisfy')
    expect(error.path).toEqual(path)
  })

  it('name what nothing can satisfy', () => {
    const closed = { type: 'object', additionalProperties: false }
    expect(refusal({ ...closed, properties: { a: {} }, required: ['a', 'b'] }).message).toContain(
      `'required' names "b", which 'properties' does not have`,
    )
    expect(refusal({ ...closed, properties: { a: { enum: [] } }, required: ['a'] }).message).toContain(
      "'enum' is empty",
    )
  })

  it.each([
    [{ format: 'duration', pattern: '^P\\d{10,}D$' }, 'more than nine digits'],
    [{ format: 'duration', minLength: 200 }, 'more than nine digits'],
    [{ format: 'duration', allOf: [{ pattern: '^PT\\d{12}S$' }] }, 'more than nine digits'],
    [{ format: 'byte', pattern: '^AAAA\\n' }, 'base64 alone'],
    [{ format: 'byte', minLength: 3, maxLength: 3 }, 'base64 alone'],
    [{ format: 'duration', pattern: '^x' }, undefined],
    [{ format: 'date', pattern: '^x' }, undefined],
  ])('say so where texts of a format are only not written: %j', (schema, why) => {
    const text = { type: 'string', ...schema }
    const [alone, within] = [refusal(text), refusal({ type: 'object', properties: { a: text }, required: ['a'] })]
    if (why === undefined) expect(alone.message).toBe('no value can satisfy the schema.')
    else for (const { message } of [alone, within]) expect(message).toContain(why)
    if (why === undefined) return
    expect(alone.message).not.toContain('no value can satisfy')
    expect(within.path).toEqual(['properties', 'a'])
    // A format of one's own has its own texts.
    expect(() => compile(text, { formats: { [schema.format]: '^x$' } })).toThrow('no value can satisfy')
  })

  it('come in the words of the service that clients know', () => {
    const error = refusal({ properties: { x: { type: 'text' } } })
    expect(schemaErrorMessage(error, 'answer')).toBe(
      `Invalid schema for response_format 'answer': In context=('properties', 'x'), "text" is not a valid type.`,
    )
    expect(schemaErrorMessage(new SchemaError([], '', 'none.'), 'f', 'function')).toBe(
      "Invalid schema for function 'f': In context=(), none.",
    )
    expect(schemaErrorMessage(new SchemaError(['items'], '', 'none.'), 'f')).toContain("In context=('items',), none.")
  })
})

describe("OpenAPI's formats", () => {
  it.each<[string, string, string, boolean]>([
    ['integer', 'int32', '2147483647', true],
    ['integer', 'int32', '2147483648', false],
    ['number', 'int32', '1.5', false],
    ['integer', 'int64', '9007199254740991', true],
    ['integer', 'int64', '100000000000000000000', false],
  ])('%s, %s: %s is %s', (type, format, text, right) => {
    const schema = { type, format }
    expect(compile(schema).accepts(text)).toBe(right)
    expect(judge(schema, JSON.parse(text))).toBe(right)
    expect(compile({ type, not: { format } }).accepts(text)).toBe(!right)
  })
})

describe('keys of a format that has a length', () => {
  // As zod's `z.record(z.email(), z.int())` and Pydantic's `dict[HttpUrl, int]` are written.
  it.each([
    [{ format: 'email' }, 'ann@example.com', 'ann'],
    [{ format: 'uri', maxLength: 2083, minLength: 1 }, 'https://a.example/b', `a:${'b'.repeat(2082)}`],
    [{ format: 'hostname' }, 'a.example', 'a..b'],
  ])('are counted: %j', (propertyNames, right, wrong) => {
    const schema = { type: 'object', propertyNames, additionalProperties: { type: 'integer' }, minProperties: 2 }
    const grammar = compile(schema)
    for (let seed = 0; seed < 20; seed++) {
      const text = example(grammar, { seed })
      expect([text, judge(schema, JSON.parse(text)), grammar.accepts(text)]).toEqual([text, true, true])
    }
    const accepts = (one: string, other: string) => grammar.accepts(JSON.stringify({ [one]: 1, [other]: 2 }))
    expect([accepts(right, `${right}.com`), accepts(right, wrong), grammar.accepts(`{"${right}":1}`)]).toEqual([
      ...[true, false, false],
    ])
    expect(grammar.accepts(`{"${right}":1,"${right}":2}`)).toBe(false)
  })
})

describe('unknown words', () => {
  it.each([
    'x-format',
    '_format',
    'cost',
    'form',
    'content',
    'propertyOrder',
    'enumNames',
    'nullable',
    'discriminator',
  ])("'%s' is an annotation", (word) => {
    const grammar = compile({ type: 'integer', [word]: 'a' }, { strict: false })
    expect(grammar.notEnforced).toEqual([])
    expect(grammar.accepts('1')).toBe(true)
  })

  it.each<[string, unknown]>([
    ['ref', 'INV-17'],
    ['ref', { type: 'string' }],
    ['Type', 'Widget'],
    ['types', ['Widget']],
    ['enums', { a: 1 }],
    ['patterns', ['a', 'b']],
    ['requires', { node: '>=20' }],
    ['minimums', { a: 1 }],
    ['extends', 'Base'],
    ['property', 'name'],
    ['typeof', { a: 1 }],
  ])("'%s' is an annotation where its value is none of the keyword's: %j", (word, value) => {
    expect(compile({ type: 'integer', [word]: value }).accepts('1')).toBe(true)
  })

  it.each<[string, unknown]>([
    ['ref', '#/$defs/a'],
    ['#ref', 'other.json'],
    ['Type', ['string', 'null']],
    ['minitems', '1'],
    ['aditionalItems', 'false'],
    ['requred', ['a']],
    ['extends', { $ref: '#' }],
    ['divisibleBy', 2],
    ['properties ', { a: {} }],
  ])("'%s' is refused where its value is of the keyword's kind: %j", (word, value) => {
    expect(refusal({ [word]: value }).keyword).toBe(word)
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['item', { type: 'array', item: { type: 'string' } }, 'items'],
    ['itmes', { type: ['array', 'null'], itmes: { $ref: '#' } }, 'items'],
    ['itens', { minItems: 1, itens: [{ type: 'string' }] }, 'items'],
    ['enums', { type: 'string', enums: ['a', 'b'] }, 'enum'],
    ['emum', { emum: ['a'] }, 'enum'],
    ['typ', { typ: 'string' }, 'type'],
    ['tpye', { tpye: 'object', properties: { a: {} } }, 'type'],
    ['types', { types: ['string', 'null'] }, 'type'],
    ['anyOff', { anyOff: [{ type: 'string' }] }, 'anyOf'],
    ['onOf', { onOf: [{ enum: ['a'] }] }, 'oneOf'],
    ['conts', { conts: 3 }, 'const'],
    ['$refs', { $refs: '#/$defs/a', $defs: { a: {} } }, '$ref'],
    ['property', { type: 'object', property: { a: { type: 'string' } } }, 'properties'],
    ['additionalProperty', { properties: { a: {} }, additionalProperty: false }, 'additionalProperties'],
    ['Not', { type: 'string', Not: { enum: ['a'] } }, 'not'],
    ['esle', { if: { type: 'string' }, esle: { type: 'null' } }, 'else'],
  ])("'%s' is refused where it is surely misspelt: %j", (word, schema, meant) => {
    const { keyword, message } = refusal(schema)
    expect([keyword, message]).toEqual([word, `'${word}' is not a keyword; did you mean '${meant}'?`])
  })

  it.each<Record<string, unknown>>([
    { type: 'array', items: {}, item: { type: 'string' } },
    { type: 'array', item: { label: 'Row', order: 1 } },
    { type: 'object', properties: {}, item: { type: 'string' } },
    { type: 'array', item: true },
    { property: {}, additionalProperty: true },
    { types: { Person: { type: 'object' } } },
    { typo: 'string', type: 'string' },
    { $rel: '#/definitions/a', href: 'https://a.example/b.json' },
    { cost: 3, cons: ['dear'], count: 2, constant: true, form: [], env: ['A'], min: 0, max: 1, unit: 'm' },
    { Then: 'so', else_: { label: 'a' }, If: true, note: { type: 'memo' } },
    { anyOff: ['a'], oneOff: true },
    {
      'ui:title': 'a',
      'ui:order': ['a'],
      'x-items': { type: 'string' },
      order: 1,
      label: 'a',
      widget: { type: 'text' },
    },
  ])('near a keyword are annotations where it need not have been meant: %j', (schema) => {
    expect(compile(schema, { strict: false }).notEnforced).toEqual([])
    compile(schema)
  })

  const isText = { type: 'string' }
  it.each<[Record<string, unknown>, string]>([
    [{ city: isText }, 'city'],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', title: 'A', city: isText, tags: { enum: ['a'] } }, 'city'],
    [{ type: 'object', required: ['city'], city: isText }, 'city'],
    [{ type: 'object', additionalProperties: false, city: isText }, 'city'],
    [{ note: 'of the form', address: { properties: { city: isText } } }, 'address'],
    [{ who: { type: ['string', 'null'] } }, 'who'],
    [{ who: { anyOf: [isText] } }, 'who'],
    [{ name: 'city', strict: true, schema: { type: 'object', properties: { city: isText } } }, 'schema'],
  ])('that stand where properties were forgotten are refused, and nothing else is: %j', (schema, word) => {
    const { keyword, message } = refusal(schema)
    expect([keyword, message]).toEqual([
      word,
      `'${word}' is not a keyword, but its value is a schema: properties belong under 'properties'.`,
    ])
    const lenient = compile(schema, { strict: false })
    expect(lenient.notEnforced.map((each) => each.keyword)).toContain(word)
  })

  it.each<[Record<string, unknown>, string]>([
    [{ properties: { place: { type: 'object', description: 'Where.', city: isText } } }, '/properties/place'],
    [{ items: { type: 'object', additionalProperties: false, city: isText, street: { $ref: '#' } } }, '/items'],
    [{ $defs: { a: { type: 'object', required: ['city'], city: isText } }, $ref: '#/$defs/a' }, '/$defs/a'],
    [{ anyOf: [{ type: 'object', city: { properties: {} } }, { type: 'null' }] }, '/anyOf/0'],
  ])('that stand where properties were forgotten are refused below, too: %j', (schema, path) => {
    const refused = refusal(schema)
    expect([refused.keyword, `/${refused.path.join('/')}`]).toEqual(['city', path])
    expect(refused.message).toContain("properties belong under 'properties'")
  })

  it.each<Record<string, unknown>>([
    { 'x-city': isText },
    { _city: isText, $city: isText },
    { properties: {}, city: isText },
    { type: 'string', widget: isText },
    { $ref: '#/city', city: isText },
    { anyOf: [isText], city: isText },
    { definitions: { city: isText }, $defs: { city: isText } },
    { ui: { type: 'textarea' }, editor: { widget: 'text', type: 'wide' } },
    { type: 'object', city: 'Bern', options: { enum: 'a' }, labels: ['type'] },
    { items: { city: isText } },
    { properties: { place: { city: isText } } },
    { properties: { place: { type: 'object', city: isText, propertyOrder: 5 } } },
    { properties: { place: { type: 'object', city: isText, 'x-order': 5, properties: {} } } },
    { properties: { place: { type: 'object', city: 'Bern', ui: { type: 'textarea' } } } },
    { properties: { done: { type: 'boolean', pbj: { type: 'boolean' } } } },
    { type: 'object', example: isText },
    { properties: { parameters: { type: 'object', additionalProperties: true, example: { type: 'object' } } } },
    { properties: { labels: { type: 'object', additionalProperties: isText, keys: isText } } },
  ])('whose values are schemas are annotations all the same beside what says more, or below: %j', (schema) => {
    expect(compile(schema, { strict: false }).notEnforced).toEqual([])
    compile(schema)
  })

  it('that look like a keyword are listed where they are not refused', () => {
    const grammar = compile({ type: 'string', minLenght: 3 }, { strict: false })
    expect(grammar.notEnforced.map(({ keyword }) => keyword)).toEqual(['minLenght'])
    expect(grammar.accepts('""')).toBe(true)
  })
})

describe('lenient compilation', () => {
  it('lists a format that nobody knows', () => {
    const grammar = compile({ properties: { x: { type: 'string', format: 'flag-topic' } } }, { strict: false })
    expect(grammar.notEnforced.map(({ path, keyword }) => [...path, keyword])).toEqual([['properties', 'x', 'format']])
  })

  it('enforces what it can and lists what it cannot', () => {
    const grammar = compile(
      {
        type: 'object',
        properties: {
          a: { type: 'array', items: { type: 'integer' }, minItems: 2, uniqueItems: true },
          b: { pattern: '(a)\\1' },
        },
      },
      { strict: false },
    )
    expect(grammar.notEnforced.map((error) => error.keyword).sort()).toEqual(['pattern', 'uniqueItems'])
    expect(grammar.accepts('{"a":[1,1],"b":"x"}')).toBe(true)
    expect(grammar.accepts('{"a":["x",1]}')).toBe(false)
  })

  it('lists a reference that leads nowhere, also where it hides what is evaluated', () => {
    const grammar = compile({ type: 'object', $ref: '#/$defs/none', unevaluatedProperties: false }, { strict: false })
    expect(grammar.notEnforced.map((error) => error.keyword).sort()).toEqual(['$ref', 'unevaluatedProperties'])
    expect(grammar.accepts('{"a":1}')).toBe(true)
  })

  it('lists nothing where all is enforced', () => {
    expect(compile({ type: 'string' }, { strict: false }).notEnforced).toEqual([])
  })
})

it('objects of many members are not refused where the members are named, or where there can be none', () => {
  const names = Array.from({ length: 400 }, (_, i) => `p${i}`)
  expect(compile({ type: 'object', required: names, minProperties: 400 }).shortest).toBeGreaterThan(400)
  const closed = { type: 'object', properties: { a: {} }, additionalProperties: false, minProperties: 1e6 }
  expect(accepts({ properties: { x: closed } }, '{}')).toBe(true)
  expect(accepts({ properties: { x: closed } }, '{"x":{"a":1}}')).toBe(false)
})

it('any value is the same in a grammar, whatever others were compiled that have it', () => {
  const all = [null, true, -1.5e3, 'é', [{}, [1]], { a: [null], b: { c: '' } }]
  const holdsAll = (grammar: Grammar) => all.every((value) => grammar.accepts(JSON.stringify(value)))
  for (let round = 0; round < 2; round++) {
    expect(holdsAll(compile(true)) && compile({}).shortest === 1).toBe(true)
    // Asks whether its options overlap, measures what is in them as it goes, and leaves each of them alone.
    const apart = compile({
      oneOf: [{ properties: { a: {} }, required: ['a'] }, { items: {}, minItems: 1 }, { not: {} }],
    })
    expect(apart.shortest).toBe('{}'.length)
    const spaced = compile({ items: {} }, { layout: 'spaced' })
    expect([spaced.accepts('[{"a": 1}, 2]'), spaced.accepts('[{"a":1}]')]).toEqual([true, false])
    const quoting = compile({ type: 'array', items: {} }, { quote: { texts: ['a é'], all: true } })
    expect([quoting.accepts('[["a"],1]'), quoting.accepts('[["b"],1]')]).toEqual([true, false])
  }
})

describe('fuel', () => {
  /** The least with which a schema compiles. */
  function needed(schemaOf: () => unknown): number {
    let [low, high] = [0, 200_000]
    while (low + 1 < high) {
      const fuel = (low + high) >> 1
      try {
        compile(schemaOf(), { fuel })
        high = fuel
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error
        low = fuel
      }
    }
    return high
  }

  it('does not depend on what was compiled before', () => {
    let made = 0
    // Always of four different letters: as costly as any other.
    const word = () => {
      const n = made++
      return [
        '012'[n % 3],
        '567'[Math.floor(n / 3) % 3],
        'ABCD'[Math.floor(n / 9) % 4],
        'GHIJ'[Math.floor(n / 36) % 4],
      ].join('')
    }
    const schemaOf = (text: string) => ({
      properties: {
        a: { pattern: `^${text}[k-z]{2,5}$`, minLength: 7 },
        b: { not: { pattern: `^${text}[k-z]{2,5}$` } },
      },
      patternProperties: { [`^${text}q+`]: { multipleOf: 3 } },
    })
    const again = word()
    compile(schemaOf(again))
    expect(needed(() => schemaOf(again))).toBe(needed(() => schemaOf(word())))
  })
})

describe('layouts', () => {
  it('compact admits no space, spaced exactly one', () => {
    const schema = { type: 'object', properties: { a: { type: 'array', items: { enum: [1, { b: [2, 3] }] } } } }
    const spaced = '{"a": [1, {"b": [2, 3]}], "c": 1}'
    expect(accepts(schema, spaced, { layout: 'spaced' })).toBe(true)
    expect(accepts(schema, spaced)).toBe(false)
    expect(accepts(schema, '{"a":[1,{"b":[2,3]}],"c":1}')).toBe(true)
    expect(accepts(schema, '{"a":[1]}', { layout: 'spaced' })).toBe(false)
  })
})
