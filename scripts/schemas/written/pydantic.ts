/** What Pydantic 2 writes by `model_json_schema()`, and FastAPI and instructor hand on: by hand, in its style. */

const text = (title: string, more: object = {}) => ({ title, type: 'string', ...more })
const whole = (title: string, more: object = {}) => ({ title, type: 'integer', ...more })
const number = (title: string, more: object = {}) => ({ title, type: 'number', ...more })
const optional = (title: string, of: object) => ({ anyOf: [of, { type: 'null' }], default: null, title })
const model = (title: string, properties: object, required: readonly string[], more: object = {}) => ({
  properties,
  required,
  title,
  type: 'object',
  ...more,
})

export const PYDANTIC: Readonly<Record<string, unknown>> = {
  user: model(
    'User',
    {
      id: whole('Id'),
      name: text('Name', { default: 'Jane' }),
      joined: optional('Joined', { format: 'date-time', type: 'string' }),
    },
    ['id'],
  ),
  'nested models': {
    $defs: {
      Address: model(
        'Address',
        { street: text('Street'), city: text('City'), zip: optional('Zip', { type: 'string', pattern: '^[0-9]{5}$' }) },
        ['street', 'city'],
      ),
    },
    ...model(
      'Person',
      {
        name: text('Name'),
        address: { $ref: '#/$defs/Address' },
        others: { items: { $ref: '#/$defs/Address' }, title: 'Others', type: 'array', maxItems: 3 },
      },
      ['name', 'address'],
    ),
  },
  'discriminated union': {
    $defs: {
      Cat: model(
        'Cat',
        { pet_type: { const: 'cat', title: 'Pet Type', type: 'string' }, meows: whole('Meows', { minimum: 0 }) },
        ['pet_type', 'meows'],
      ),
      Dog: model('Dog', { pet_type: { const: 'dog', title: 'Pet Type', type: 'string' }, barks: number('Barks') }, [
        'pet_type',
        'barks',
      ]),
      Lizard: model(
        'Lizard',
        {
          pet_type: { enum: ['reptile', 'lizard'], title: 'Pet Type', type: 'string' },
          scales: { title: 'Scales', type: 'boolean' },
        },
        ['pet_type', 'scales'],
      ),
    },
    ...model(
      'Owner',
      {
        pet: {
          discriminator: {
            mapping: { cat: '#/$defs/Cat', dog: '#/$defs/Dog', reptile: '#/$defs/Lizard' },
            propertyName: 'pet_type',
          },
          oneOf: [{ $ref: '#/$defs/Cat' }, { $ref: '#/$defs/Dog' }, { $ref: '#/$defs/Lizard' }],
          title: 'Pet',
        },
      },
      ['pet'],
    ),
  },
  recursive: {
    $defs: {
      Node: model(
        'Node',
        {
          value: whole('Value'),
          left: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }], default: null },
          right: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }], default: null },
        },
        ['value'],
      ),
    },
    $ref: '#/$defs/Node',
  },
  constrained: model(
    'Limits',
    {
      age: whole('Age', { exclusiveMinimum: 0, maximum: 120 }),
      ratio: number('Ratio', { minimum: 0, maximum: 1 }),
      name: text('Name', { minLength: 2, maxLength: 20 }),
      slug: text('Slug', { pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' }),
    },
    ['age', 'ratio', 'name', 'slug'],
  ),
  decimal: model(
    'Price',
    {
      amount: {
        anyOf: [
          { type: 'number', minimum: 0 },
          { type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$' },
        ],
        title: 'Amount',
      },
    },
    ['amount'],
  ),
  enumerated: {
    $defs: {
      Color: { enum: ['red', 'green', 'blue'], title: 'Color', type: 'string' },
      Level: { enum: [1, 2, 3], title: 'Level', type: 'integer' },
    },
    ...model(
      'Lamp',
      {
        color: { $ref: '#/$defs/Color' },
        level: { $ref: '#/$defs/Level', default: 1 },
        mode: { default: 'auto', enum: ['auto', 'manual'], title: 'Mode', type: 'string' },
      },
      ['color'],
    ),
  },
  forbidding: model('Strict', { a: whole('A'), b: text('B') }, ['a', 'b'], { additionalProperties: false }),
  allowing: model('Open', { a: whole('A') }, ['a'], { additionalProperties: true }),
  dictionaries: model(
    'Counts',
    {
      counts: { additionalProperties: { type: 'integer' }, title: 'Counts', type: 'object' },
      nested: {
        additionalProperties: { additionalProperties: { type: 'number' }, type: 'object' },
        title: 'Nested',
        type: 'object',
      },
    },
    ['counts', 'nested'],
  ),
  'keys by a pattern': model(
    'Env',
    {
      env: {
        patternProperties: { '^[A-Z_]{1,12}$': { type: 'string' } },
        title: 'Env',
        type: 'object',
        additionalProperties: false,
      },
    },
    ['env'],
  ),
  sets: model(
    'Tags',
    {
      tags: { items: { type: 'string' }, title: 'Tags', type: 'array', uniqueItems: true },
      days: { items: { enum: ['mon', 'tue', 'wed'], type: 'string' }, title: 'Days', type: 'array', uniqueItems: true },
    },
    ['tags', 'days'],
  ),
  tuples: model(
    'Box',
    {
      corner: {
        maxItems: 2,
        minItems: 2,
        prefixItems: [{ type: 'number' }, { type: 'number' }],
        title: 'Corner',
        type: 'array',
      },
      named: {
        maxItems: 2,
        minItems: 2,
        prefixItems: [{ type: 'string' }, { type: 'integer' }],
        title: 'Named',
        type: 'array',
      },
    },
    ['corner', 'named'],
  ),
  times: model(
    'Times',
    {
      at: text('At', { format: 'date-time' }),
      day: text('Day', { format: 'date' }),
      hour: text('Hour', { format: 'time' }),
      took: text('Took', { format: 'duration' }),
    },
    ['at', 'day', 'hour', 'took'],
  ),
  addresses: model(
    'Contact',
    {
      email: text('Email', { format: 'email' }),
      site: text('Site', { format: 'uri', maxLength: 2083, minLength: 1 }),
      ip: text('Ip', { format: 'ipv4' }),
      id: text('Id', { format: 'uuid' }),
    },
    ['email', 'site', 'ip', 'id'],
  ),
  secrets: model(
    'Login',
    {
      user: text('User'),
      password: text('Password', { format: 'password', writeOnly: true }),
      file: text('File', { format: 'binary' }),
    },
    ['user', 'password', 'file'],
  ),
  'unions of kinds': model(
    'Loose',
    {
      value: {
        anyOf: [{ type: 'integer' }, { type: 'string' }, { items: { type: 'number' }, type: 'array' }],
        title: 'Value',
      },
    },
    ['value'],
  ),
  'extraction of events': {
    $defs: {
      Participant: model(
        'Participant',
        { name: text('Name', { description: 'Full name' }), role: optional('Role', { type: 'string' }) },
        ['name'],
        { additionalProperties: false },
      ),
    },
    ...model(
      'CalendarEvent',
      {
        name: text('Name'),
        date: text('Date', { format: 'date' }),
        participants: { items: { $ref: '#/$defs/Participant' }, title: 'Participants', type: 'array' },
      },
      ['name', 'date', 'participants'],
      { additionalProperties: false },
    ),
  },
  'chain of thought': {
    $defs: {
      Step: model('Step', { explanation: text('Explanation'), output: text('Output') }, ['explanation', 'output'], {
        additionalProperties: false,
      }),
    },
    ...model(
      'MathResponse',
      { steps: { items: { $ref: '#/$defs/Step' }, title: 'Steps', type: 'array' }, final_answer: text('Final Answer') },
      ['steps', 'final_answer'],
      { additionalProperties: false },
    ),
  },
  'either of two': {
    $defs: {
      Ok: model('Ok', { status: { const: 'ok', title: 'Status', type: 'string' }, data: text('Data') }, [
        'status',
        'data',
      ]),
      Failed: model('Failed', { status: { const: 'failed', title: 'Status', type: 'string' }, code: whole('Code') }, [
        'status',
        'code',
      ]),
    },
    anyOf: [{ $ref: '#/$defs/Ok' }, { $ref: '#/$defs/Failed' }],
    title: 'Outcome',
  },
}
