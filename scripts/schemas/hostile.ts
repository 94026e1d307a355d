/** Schemas made to cost: each must compile or be refused in little time and memory. */

type Json = Record<string, unknown>

function nested(levels: number, wrap: (inner: unknown) => Json): unknown {
  let schema: unknown = { type: 'null' }
  for (let i = 0; i < levels; i++) schema = wrap(schema)
  return schema
}

const many = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
const members = <T>(n: number, make: (i: number) => T) => Object.fromEntries(many(n, (i) => [`property_${i}`, make(i)]))

const SCRIPTS = (
  'Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid ' +
  'Carian Chakma Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan Elbasan Ethiopic ' +
  'Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Javanese Kaithi ' +
  'Kannada Katakana Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Makasar Malayalam Mandaic Mongolian'
).split(' ')

export const HOSTILE: Readonly<Record<string, () => unknown>> = {
  '1,000 levels of objects': () =>
    nested(1000, (inner) => ({ type: 'object', properties: { a: inner }, required: ['a'] })),
  '1,000 levels of arrays': () => nested(1000, (inner) => ({ type: 'array', items: inner })),
  '1,000 levels of anyOf': () => nested(1000, (inner) => ({ anyOf: [inner, { type: 'string' }] })),
  '1,000 levels of allOf': () => nested(1000, (inner) => ({ allOf: [inner, { minLength: 1 }] })),
  '1,000 levels of not': () => nested(1000, (inner) => ({ not: inner })),
  '10,000 levels of objects': () => nested(10_000, (inner) => ({ properties: { a: inner } })),
  '5,000 properties': () => ({ type: 'object', properties: members(5000, () => ({ type: 'string' })) }),
  '5,000 closed and required properties': () => ({
    type: 'object',
    properties: members(5000, () => ({ type: 'integer' })),
    required: many(5000, (i) => `property_${i}`),
    additionalProperties: false,
  }),
  'an enum of 10,000 strings': () => ({ enum: many(10_000, (i) => `value number ${i * 7919}`) }),
  'an enum of 20,000 numbers': () => ({ type: 'integer', enum: many(20_000, (i) => i * 31) }),
  'an enum of 500 objects': () => ({ enum: many(500, (i) => ({ a: i, b: [i, { c: `${i}` }] })) }),
  'two enums of 5,000, intersected': () => ({
    allOf: [{ enum: many(5000, (i) => `a${i}`) }, { enum: many(5000, (i) => `a${i * 2}`) }],
  }),
  'a string constant of 100 KB': () => ({ const: 'x'.repeat(100_000) }),
  'maxLength 1e9': () => ({ type: 'string', minLength: 3, maxLength: 1e9 }),
  'maxItems 1e6': () => ({ type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 1e6 }),
  'minItems 1e6': () => ({ type: 'array', items: { type: 'integer' }, minItems: 1e6 }),
  'maxProperties 1e6': () => ({ type: 'object', maxProperties: 1e6, additionalProperties: { type: 'string' } }),
  'minProperties 1e5': () => ({ type: 'object', minProperties: 1e5 }),
  'a pattern with a long count': () => ({ type: 'string', pattern: '^[a-z]{1,100000}$' }),
  'a pattern cut to a length': () => ({ type: 'string', pattern: '^(ab|c)*d$', minLength: 1000, maxLength: 1_000_000 }),
  'an exponential pattern': () => ({ type: 'string', pattern: '^(a|b)*a(a|b){60}$' }),
  'nested counts': () => ({ type: 'string', pattern: '^(((a{1,100}b?){1,100}c?){1,100}d?){1,100}$' }),
  'optional parts nested 20 times': () => ({ pattern: `^${'(a?'.repeat(20)}${')*'.repeat(20)}$` }),
  'optional parts nested 60 times, in twos': () => ({ pattern: `^${'(a?'.repeat(60)}${'){0,2}'.repeat(60)}$` }),
  'repetitions nested 190 times': () => ({ pattern: `${'('.repeat(190)}a${')*'.repeat(190)}` }),
  'choices of 60 repetitions': () => ({ pattern: `^${'(x*|y*)'.repeat(60)}z$` }),
  '60 scripts in one class': () => ({ pattern: `[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join('')}]` }),
  'a property 2,000 times': () => ({ pattern: `[${'\\p{L}'.repeat(2000)}]` }),
  '5,000 classes': () => ({ pattern: many(4900, (i) => `[${String.fromCharCode(0x4e00 + 2 * i)}a]`).join('') }),
  '60 lookbehinds': () => ({ pattern: many(60, (i) => `(?<=a.{${i}})b`).join('|') }),
  'a class that refers back to itself': () => ({
    $defs: { a: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/a' }] } },
    $ref: '#/$defs/a',
  }),
  '60 lookaheads': () => ({ type: 'string', pattern: `^${'(?=.*a.{5}b)'.repeat(60)}.*$` }),
  'a pattern of 100 KB': () => ({ type: 'string', pattern: `^(${many(12_000, (i) => `word${i}`).join('|')})$` }),
  '200 costly patterns': () => ({
    properties: members(200, (i) => ({ type: 'string', pattern: `^(a|b)*a(a|b){${8 + (i % 5)}}${i}$` })),
  }),
  '30 patterns, intersected': () => ({
    type: 'string',
    allOf: many(30, (i) => ({ pattern: `${'a'.repeat(i + 1)}.*b` })),
  }),
  '30 patterns, negated': () => ({
    type: 'string',
    allOf: many(30, (i) => ({ not: { pattern: `[a-f]{${i + 1}}x` } })),
  }),
  '12 anyOf of 4, intersected': () => ({
    allOf: many(12, (k) => ({
      anyOf: many(4, (i) => ({ properties: { [`p${k}_${i}`]: { type: 'string' } }, required: [`p${k}_${i}`] })),
    })),
  }),
  'oneOf of 300 objects': () => ({
    oneOf: many(300, (i) => ({ type: 'object', properties: { [`k${i}`]: { type: 'string' } } })),
  }),
  'oneOf of 300 told apart by a constant': () => ({
    oneOf: many(300, (i) => ({
      type: 'object',
      properties: { kind: { const: `kind${i}` }, value: { type: 'string' } },
      required: ['kind'],
    })),
  }),
  'a loop of references': () => ({ $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }),
  'a value that must contain itself': () => ({ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }),
  'references that double 60 times': () => ({
    $defs: Object.fromEntries([
      ...many(60, (i) => [
        `d${i}`,
        { type: 'object', properties: { a: { $ref: `#/$defs/d${i + 1}` }, b: { $ref: `#/$defs/d${i + 1}` } } },
      ]),
      ['d60', { type: 'string' }],
    ]),
    $ref: '#/$defs/d0',
  }),
  'required pairs that double 40 times': () => ({
    $defs: Object.fromEntries([
      ...many(40, (i) => [
        `d${i}`,
        { type: 'array', prefixItems: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }], minItems: 2 },
      ]),
      ['d40', { type: 'string' }],
    ]),
    $ref: '#/$defs/d0',
  }),
  'allOf references that double 30 times': () => ({
    $defs: Object.fromEntries([
      ...many(30, (i) => [`d${i}`, { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }]),
      ['d30', { type: 'string' }],
    ]),
    $ref: '#/$defs/d0',
  }),
  '200 patternProperties': () => ({
    type: 'object',
    patternProperties: Object.fromEntries(many(200, (i) => [`x${i}.*y`, { type: 'string' }])),
  }),
  'if/then 20 times': () => ({
    allOf: many(20, (i) =>
      Object.fromEntries([
        ['if', { properties: { [`a${i}`]: { const: 1 } } }],
        ['then', { required: [`b${i}`] }],
      ]),
    ),
  }),
  '40 dependentRequired': () => ({
    type: 'object',
    dependentRequired: Object.fromEntries(many(40, (i) => [`a${i}`, [`b${i}`, `c${i}`]])),
  }),
  'multipleOf a prime': () => ({ type: 'integer', multipleOf: 99_991 }),
  '20 multipleOf': () => ({ type: 'integer', allOf: many(20, (i) => ({ multipleOf: 2 * i + 3 })) }),
  'propertyNames over 1,000 properties': () => ({
    type: 'object',
    properties: members(1000, () => true),
    propertyNames: { pattern: '^[a-z_0-9]*[05]$' },
  }),
}

/** Schemas that people write, and that cost: each must compile, in half the time. */
export const COSTLY: Readonly<Record<string, () => unknown>> = {
  '7 independent if/then': () => ({
    type: 'object',
    properties: members(7, () => ({ type: 'integer' })),
    allOf: many(7, (i) =>
      Object.fromEntries([
        ['if', { properties: { [`property_${i}`]: { const: 1 } }, required: [`property_${i}`] }],
        ['then', { required: [`other_${i}`] }],
      ]),
    ),
  }),
  'oneOf of 9 open objects': () => ({
    oneOf: many(9, (i) => ({ type: 'object', properties: { [`k${i}`]: { type: 'string' } }, required: [`k${i}`] })),
  }),
  '190 discriminated branches': () => ({
    oneOf: many(190, (i) => ({
      type: 'object',
      properties: { kind: { const: `kind${i}` }, value: { type: 'string' }, [`p${i}`]: { type: 'integer' } },
      required: ['kind', 'value'],
    })),
  }),
  '10 independent dependentRequired pairs': () => ({
    type: 'object',
    properties: { ...members(10, () => ({ type: 'integer' })), ...Object.fromEntries(many(10, (i) => [`b${i}`, {}])) },
    dependentRequired: Object.fromEntries(many(10, (i) => [`property_${i}`, [`b${i}`]])),
  }),
  '11 different date-time and pattern properties': () => ({
    type: 'object',
    properties: members(11, (i) => ({ type: 'string', format: 'date-time', pattern: `^2.*[0-9]${i}.*Z$` })),
  }),
  '266 number ranges': () => ({
    type: 'object',
    properties: members(266, (i) => ({ type: 'number', minimum: i * 1.37, maximum: 1000 + i * 3.1 })),
  }),
  '200 overlapping anyOf': () => ({
    anyOf: many(200, (i) => ({ properties: { a: { type: 'string' }, [`b${i}`]: { type: 'integer' } } })),
  }),
  'multipleOf 40.93': () => ({ type: 'number', multipleOf: 40.93 }),
}

/** Schemas with texts made to cost: what each text takes, and what all of them leave behind. */
export const WALKS: Readonly<Record<string, { schema: unknown; texts: () => Iterable<string> }>> = {
  'alternatives told apart at the end, 40 levels deep': {
    schema: {
      anyOf: [
        ...['a', 'b', 'c'].map((kind) => ({
          type: 'object',
          properties: { child: { $ref: '#' }, kind: { const: kind } },
          required: ['child', 'kind'],
        })),
        { type: 'null' },
      ],
    },
    texts: () => many(5, () => `${'{"child":'.repeat(40)}null${',"kind":"c"}'.repeat(40)}`),
  },
  '1,000 documents, each of ten new items of which none comes twice': {
    schema: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'object', properties: { id: { type: 'string' } }, additionalProperties: false },
    },
    texts: () => many(1000, (i) => JSON.stringify(many(10, (j) => ({ id: `item ${i % 7} of document ${i * j + j}` })))),
  },
  '3,000 documents, each of ten new keys': {
    schema: { type: 'object', additionalProperties: { type: 'number' } },
    texts: () => many(3000, (i) => JSON.stringify(Object.fromEntries(many(10, (k) => [`key ${i * 10 + k}`, k])))),
  },
}
