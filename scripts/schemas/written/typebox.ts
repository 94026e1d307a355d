/** What TypeBox writes: by hand, in its style. */

const one = (...values: unknown[]) => ({ anyOf: values.map((value) => ({ const: value, type: typeof value })) })
const object = (properties: object, required: readonly string[], more: object = {}) => ({
  type: 'object',
  required,
  properties,
  ...more,
})

export const TYPEBOX: Readonly<Record<string, unknown>> = {
  object: object({ x: { type: 'number' }, y: { type: 'number' }, label: { type: 'string' } }, ['x', 'y']),
  'closed object': object({ id: { type: 'integer' }, name: { type: 'string' } }, ['id', 'name'], {
    additionalProperties: false,
  }),
  literals: object({ size: one('small', 'medium', 'large'), count: one(1, 2, 3) }, ['size', 'count']),
  record: { type: 'object', patternProperties: { '^(.*)$': { type: 'number' } } },
  'record of integers': {
    type: 'object',
    patternProperties: { '^(0|[1-9][0-9]*)$': { type: 'string' } },
    additionalProperties: false,
  },
  intersect: {
    allOf: [object({ a: { type: 'string' } }, ['a']), object({ b: { type: 'integer' } }, ['b'])],
    type: 'object',
  },
  'closed intersect': {
    allOf: [object({ a: { type: 'string' } }, ['a']), object({ b: { type: 'integer' } }, [])],
    type: 'object',
    unevaluatedProperties: false,
  },
  tuple: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'array',
    items: [{ type: 'string' }, { type: 'number' }],
    additionalItems: false,
    minItems: 2,
    maxItems: 2,
  },
  'template literal': { type: 'string', pattern: '^(get|set)(A|B)([0-9]{1,3})$' },
  recursive: {
    $id: 'T0',
    type: 'object',
    required: ['id', 'nodes'],
    properties: { id: { type: 'string' }, nodes: { type: 'array', items: { $ref: 'T0' } } },
  },
  union: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  'union of objects': {
    anyOf: [
      object({ type: { const: 'text', type: 'string' }, text: { type: 'string' } }, ['type', 'text']),
      object(
        { type: { const: 'image', type: 'string' }, url: { type: 'string', format: 'uri' }, alt: { type: 'string' } },
        ['type', 'url'],
      ),
    ],
  },
  partial: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'null' }, c: { type: 'array', items: { type: 'boolean' } } },
  },
  limits: object(
    {
      port: { minimum: 1, maximum: 65535, type: 'integer' },
      name: { minLength: 1, maxLength: 16, type: 'string' },
      tags: { minItems: 1, maxItems: 4, uniqueItems: true, type: 'array', items: { type: 'string' } },
    },
    ['port', 'name', 'tags'],
  ),
  not: { not: { type: 'string' } },
  composite: {
    type: 'object',
    required: ['x', 'y'],
    properties: { x: { allOf: [{ type: 'number' }, { type: 'number', minimum: 3 }] }, y: { type: 'string' } },
    additionalProperties: false,
  },
}
