/** The fields that a form can make, and the schema that they are. */

/** The kinds of field, each with its schema; those of groups have fields of their own. */
export const KINDS = {
  text: { label: 'text', schema: { type: 'string' } },
  integer: { label: 'whole number', schema: { type: 'integer' } },
  number: { label: 'number', schema: { type: 'number' } },
  boolean: { label: 'yes or no', schema: { type: 'boolean' } },
  date: { label: 'date', schema: { type: 'string', format: 'date' } },
  choice: { label: 'one of', schema: { enum: [] } },
  texts: { label: 'list of texts', schema: { type: 'array', items: { type: 'string' } } },
  integers: { label: 'list of whole numbers', schema: { type: 'array', items: { type: 'integer' } } },
  numbers: { label: 'list of numbers', schema: { type: 'array', items: { type: 'number' } } },
  dates: { label: 'list of dates', schema: { type: 'array', items: { type: 'string', format: 'date' } } },
  group: { label: 'group', schema: {} },
  groups: { label: 'list of groups', schema: {} },
} as const
export type Kind = keyof typeof KINDS

export interface FormField {
  name: string
  kind: Kind
  /** Of `choice`, with commas between. */
  options: string
  /** Of `group` and `groups`. */
  fields?: FormField[]
  /** It may be missing. */
  optional?: boolean
}

export const isGroup = (kind: Kind): kind is 'group' | 'groups' => kind === 'group' || kind === 'groups'

export function schemaOf(fields: readonly FormField[]): object {
  const named = fields.filter(({ name }) => name.trim() !== '')
  const required = named.filter(({ optional }) => !optional).map(({ name }) => name.trim())
  return {
    type: 'object',
    properties: Object.fromEntries(named.map((field) => [field.name.trim(), schemaOfOne(field)])),
    required: [...new Set(required)],
    additionalProperties: false,
  }
}

function schemaOfOne({ kind, options, fields = [] }: FormField): object {
  if (kind === 'choice') return { enum: choices(options) }
  if (kind === 'group') return schemaOf(fields)
  return kind === 'groups' ? { type: 'array', items: schemaOf(fields) } : KINDS[kind].schema
}

function choices(text: string): string[] {
  const words = text.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim()]))
  return words.length === 0 ? ['yes', 'no'] : [...new Set(words)]
}

/** The fields of a schema that a form could have made; undefined where it says more than that. */
export function fieldsOf(schema: unknown): FormField[] | undefined {
  const { type, properties, required, additionalProperties, ...rest } = (schema ?? {}) as Record<string, unknown>
  if (type !== 'object' || additionalProperties !== false || Object.keys(rest).length > 0) return undefined
  if (typeof properties !== 'object' || properties === null || !Array.isArray(required)) return undefined
  if (!required.every((name) => typeof name === 'string' && Object.hasOwn(properties, name))) return undefined
  const fields = Object.entries(properties).map(([name, field]) => {
    const read = fieldOf(name, field)
    return read && !required.includes(name) ? { ...read, optional: true } : read
  })
  return fields.every((field) => field !== undefined) ? fields : undefined
}

function fieldOf(name: string, schema: unknown): FormField | undefined {
  const { enum: values, type, items, ...rest } = (schema ?? {}) as { enum?: unknown; type?: unknown; items?: unknown }
  if (Array.isArray(values) && type === undefined && items === undefined && Object.keys(rest).length === 0) {
    const plain = values.every((value) => typeof value === 'string' && !value.includes(','))
    return plain ? { name, kind: 'choice', options: values.join(', ') } : undefined
  }
  const text = JSON.stringify(schema)
  const kind = (Object.keys(KINDS) as Kind[]).find((each) => JSON.stringify(KINDS[each].schema) === text)
  if (kind) return { name, kind, options: '' }
  const isList = type === 'array' && Object.keys(rest).length === 0
  const fields = fieldsOf(isList ? items : schema)
  return fields && { name, kind: isList ? 'groups' : 'group', options: '', fields }
}
