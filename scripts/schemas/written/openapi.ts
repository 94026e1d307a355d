/** Schemas of OpenAPI documents, as their `components` hold them: by hand, in their style. */

const text = { type: 'string' }
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const of = (name: string, schemas: object) => ({ ...ref(name), components: { schemas } })
const object = (properties: object, required?: readonly string[]) => ({
  type: 'object',
  ...(required && { required }),
  properties,
})

export const OPENAPI: Readonly<Record<string, unknown>> = {
  pet: of('Pet', {
    Category: object({ id: { type: 'integer', format: 'int64', example: 1 }, name: { ...text, example: 'Dogs' } }),
    Tag: object({ id: { type: 'integer', format: 'int64' }, name: text }),
    Pet: object(
      {
        id: { type: 'integer', format: 'int64' },
        name: text,
        category: ref('Category'),
        photoUrls: { type: 'array', items: text },
        tags: { type: 'array', items: ref('Tag') },
        status: { ...text, enum: ['available', 'pending', 'sold'] },
      },
      ['name', 'photoUrls'],
    ),
  }),
  order: object({
    id: { type: 'integer', format: 'int64' },
    quantity: { type: 'integer', format: 'int32' },
    shipDate: { ...text, format: 'date-time' },
    complete: { type: 'boolean' },
  }),
  error: object(
    {
      code: { type: 'integer', format: 'int32' },
      message: text,
      details: { type: 'array', items: object({ field: text, issue: text }, ['field']) },
    },
    ['code', 'message'],
  ),
  'problem details': object({
    type: { ...text, format: 'uri-reference' },
    title: text,
    status: { type: 'integer', minimum: 100, maximum: 599 },
    detail: text,
    instance: { ...text, format: 'uri-reference' },
  }),
  inheritance: of('Dog', {
    Animal: { ...object({ petType: text, name: text }, ['petType']), discriminator: { propertyName: 'petType' } },
    Dog: {
      allOf: [
        ref('Animal'),
        object({ bark: { type: 'boolean' }, breed: { ...text, enum: ['Dingo', 'Husky', 'Retriever'] } }),
      ],
    },
  }),
  'one of by discriminator': of('Payment', {
    Card: object(
      {
        method: { ...text, enum: ['card'] },
        number: { ...text, pattern: '^[0-9]{12,19}$' },
        cvc: { ...text, pattern: '^[0-9]{3,4}$' },
      },
      ['method', 'number'],
    ),
    Transfer: object(
      { method: { ...text, enum: ['transfer'] }, iban: { ...text, pattern: '^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$' } },
      ['method', 'iban'],
    ),
    Payment: { oneOf: [ref('Card'), ref('Transfer')], discriminator: { propertyName: 'method' } },
  }),
  'a page of items': of('Page', {
    Item: object({ id: { ...text, format: 'uuid' }, created: { ...text, format: 'date' } }, ['id']),
    Page: object(
      {
        items: { type: 'array', items: ref('Item'), maxItems: 5 },
        next: { type: ['string', 'null'] },
        total: { type: 'integer', minimum: 0 },
      },
      ['items', 'total'],
    ),
  }),
  geometry: of('Geometry', {
    Position: {
      type: 'array',
      prefixItems: [
        { type: 'number', minimum: -180, maximum: 180 },
        { type: 'number', minimum: -90, maximum: 90 },
      ],
      minItems: 2,
      maxItems: 2,
    },
    Geometry: {
      oneOf: [
        object({ type: { const: 'Point' }, coordinates: ref('Position') }, ['type', 'coordinates']),
        object({ type: { const: 'LineString' }, coordinates: { type: 'array', items: ref('Position'), minItems: 2 } }, [
          'type',
          'coordinates',
        ]),
      ],
    },
  }),
  'a map': { type: 'object', additionalProperties: { type: 'integer', format: 'int32' } },
  'a map with a known key': { ...object({ default: text }, ['default']), additionalProperties: text },
  numbers: object({
    f: { type: 'number', format: 'float' },
    d: { type: 'number', format: 'double' },
    s: { type: 'integer', format: 'int8' },
    u: { type: 'integer', format: 'uint16' },
    m: { type: 'number', multipleOf: 0.25 },
  }),
  texts: object({
    b: { ...text, format: 'byte' },
    p: { ...text, format: 'password' },
    e: { ...text, format: 'email' },
    h: { ...text, format: 'hostname' },
    n: { ...text, minLength: 3, maxLength: 8, pattern: '^\\w+$' },
  }),
  'read and write': object(
    {
      id: { type: 'integer', readOnly: true },
      password: { ...text, writeOnly: true },
      name: { ...text, deprecated: true },
    },
    ['id', 'name'],
  ),
  'at least some': {
    ...object({ email: text, phone: text, fax: text }),
    minProperties: 1,
    additionalProperties: false,
  },
  webhook: object(
    {
      event: { ...text, enum: ['created', 'deleted'] },
      at: { ...text, format: 'date-time' },
      data: {
        type: 'object',
        additionalProperties: { anyOf: [text, { type: 'number' }, { type: 'null' }] },
        maxProperties: 3,
      },
      signature: { ...text, pattern: '^sha256=[0-9a-f]{64}$' },
    },
    ['event', 'at', 'data'],
  ),
}
