/** Schemas that between them use every construct, for the tests of masks, closing and forced runs. */
export const SAMPLES: Readonly<Record<string, unknown>> = {
  anything: true,
  'a closed object': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer', minimum: 0 },
      kind: { enum: ['foo', 'food', 'bar'] },
    },
    required: ['name', 'age', 'kind'],
    additionalProperties: false,
  },
  'optional properties': {
    type: 'object',
    properties: { a: { type: 'string' }, ab: { type: 'boolean' }, abc: { type: 'null' }, b: { const: 1 } },
    required: ['abc'],
    additionalProperties: false,
  },
  'an open object': { type: 'object', properties: { name: { type: 'string' } }, required: ['name', 'late'] },
  'members of equal length': {
    type: 'object',
    properties: { aa: { type: 'null' }, '0q': { type: 'null' } },
    minProperties: 1,
    additionalProperties: false,
  },
  'required keys of equal length': {
    type: 'object',
    required: ['name', 'eman', 'foo"'],
    additionalProperties: { type: 'boolean' },
  },
  'few and many properties': {
    type: 'object',
    minProperties: 2,
    maxProperties: 3,
    additionalProperties: { type: 'integer' },
  },
  'patterned keys': {
    type: 'object',
    properties: { id: { type: 'integer' } },
    patternProperties: { '^x-': { type: 'string' }, '^[a-c]$': { type: 'boolean' } },
    additionalProperties: false,
    minProperties: 3,
  },
  'named keys': {
    type: 'object',
    propertyNames: { pattern: '^[a-d]{1,2}$' },
    additionalProperties: { type: 'null' },
    minProperties: 4,
  },
  'nested arrays': {
    type: 'array',
    items: { type: 'array', items: { type: ['number', 'null'] }, minItems: 1, maxItems: 3 },
    minItems: 2,
  },
  'a tuple': {
    type: 'array',
    prefixItems: [{ type: 'string' }, { type: 'integer' }],
    items: { type: 'boolean' },
    minItems: 1,
  },
  'contained items': {
    type: 'array',
    items: { enum: [1, 2, 'x'] },
    contains: { const: 'x' },
    minContains: 2,
    maxItems: 4,
  },
  'unique items': {
    type: 'array',
    items: { enum: ['low', 'lower', 1, 10, true, null, { a: [1] }] },
    uniqueItems: true,
    minItems: 2,
    maxItems: 5,
  },
  'a set within an object': {
    type: 'object',
    properties: {
      tags: { type: 'array', items: { $ref: '#/$defs/tag' }, uniqueItems: true },
      flags: { type: 'array', items: { type: 'boolean' }, uniqueItems: true, minItems: 1 },
    },
    required: ['tags', 'flags'],
    additionalProperties: false,
    $defs: { tag: { type: 'string', enum: ['a', 'b', 'c'] } },
  },
  'counted strings': { type: 'array', items: { type: 'string', minLength: 2, maxLength: 5 }, minItems: 1 },
  'a long string': { type: 'string', minLength: 3, maxLength: 1000 },
  'a pattern': { type: 'string', pattern: 'foo' },
  'a bounded pattern': { type: 'string', pattern: '^(ab|é)+$', minLength: 3, maxLength: 9 },
  'characters that begin alike': { type: 'string', pattern: '^(?:á{9}|è|é{7}b)$' },
  dates: {
    type: 'object',
    properties: { at: { type: 'string', format: 'date-time' }, id: { format: 'uuid', type: 'string' } },
    required: ['at', 'id'],
    additionalProperties: false,
  },
  numbers: {
    type: 'array',
    items: { type: 'number', minimum: -5.5, exclusiveMaximum: 100, multipleOf: 0.5 },
    minItems: 2,
  },
  alternatives: {
    anyOf: [
      {
        type: 'object',
        properties: { kind: { const: 'a' }, size: { type: 'integer' } },
        required: ['kind', 'size'],
        additionalProperties: false,
      },
      {
        type: 'object',
        properties: { kind: { const: 'b' }, note: { type: 'string' } },
        required: ['kind', 'note'],
        additionalProperties: false,
      },
      { type: 'string', maxLength: 3 },
      { type: 'string', minLength: 5 },
    ],
  },
  recursion: {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: {
          value: { type: 'integer' },
          left: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          right: { $ref: '#/$defs/node' },
        },
        required: ['value', 'left'],
        additionalProperties: false,
      },
    },
  },
  'a union told apart at the end': {
    $ref: '#/$defs/tree',
    $defs: {
      tree: {
        anyOf: [
          ...['a', 'b'].map((kind) => ({
            type: 'object',
            properties: {
              left: { $ref: '#/$defs/tree' },
              size: kind === 'a' ? { type: 'integer' } : { type: 'number', minimum: 1 },
              kind: { const: kind },
            },
            required: ['left', 'kind'],
            additionalProperties: kind === 'a' ? { type: 'string' } : false,
          })),
          { type: 'integer', maximum: 9 },
          { enum: [12, 'x', null] },
        ],
      },
    },
  },
  'objects that may be empty': {
    $ref: '#/$defs/tree',
    $defs: {
      tree: {
        type: 'object',
        properties: { a: { type: 'array', items: { $ref: '#/$defs/tree' }, maxItems: 3 } },
        additionalProperties: { $ref: '#/$defs/tree' },
        maxProperties: 3,
      },
    },
  },
  'a long text or an object': {
    anyOf: [
      { type: 'string', minLength: 30 },
      { type: 'object', properties: { a: { const: { b: [1, {}] } }, b: { type: 'null' } }, required: ['a', 'b'] },
      { enum: ['another text that is long', [[[null]]], [{ b: 1 }, 2]] },
    ],
  },
  conditions: {
    type: 'object',
    properties: { a: { type: 'boolean' }, b: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
    if: { properties: { a: { const: true } } },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
    then: { required: ['b'] },
    else: { properties: { b: { const: 'none' } } },
  },
  merged: {
    allOf: [{ properties: { a: { minLength: 1 } }, required: ['a'] }, { properties: { b: { type: 'integer' } } }],
    type: 'object',
    properties: { a: { type: 'string', maxLength: 3 } },
    not: { required: ['c'] },
    maxProperties: 3,
  },
  'texts that may not repeat': { type: 'array', items: { type: 'string' }, uniqueItems: true, minItems: 3 },
  'few texts that may not repeat': {
    type: 'array',
    items: { anyOf: [{ type: 'string', pattern: '^[ab]{1,2}$' }, { const: 'name' }] },
    uniqueItems: true,
    minItems: 5,
    maxItems: 7,
  },
  'few keys of many bytes': {
    type: 'object',
    propertyNames: { pattern: '^["é\\u{1f600}\\n]$' },
    additionalProperties: { type: 'null' },
    minProperties: 2,
  },
  'sets inside': {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', maxLength: 1 }, uniqueItems: true },
    required: ['a'],
    maxProperties: 2,
  },
  'items counted twice': {
    type: 'array',
    items: { type: ['integer', 'string', 'null'] },
    allOf: [
      { contains: { type: 'integer' }, minContains: 2 },
      { contains: { type: ['string', 'null'] }, maxContains: 2 },
    ],
  },
  'what a closed object leaves': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'null' }, c: { type: 'integer' } },
    additionalProperties: false,
    not: { properties: { a: { minLength: 2 } }, additionalProperties: { maximum: 3 } },
  },
  'ways of evaluation': {
    type: 'object',
    anyOf: [
      { properties: { a: { const: 1 } }, required: ['a'] },
      { properties: { b: { type: 'null' } }, required: ['b'] },
    ],
    unevaluatedProperties: { type: 'boolean' },
  },
  'values spelled out': { enum: [null, true, 10, 100, 'a"b', { b: [1, 'é'], a: {} }, [[], 2]] },
}
