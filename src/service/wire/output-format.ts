import type { OutputFormat } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { aBoolean, anObject, aString, at, noteUnknown, optional, required, wrongType, wrongValue } from './fields.js'
import { aToolName } from './tools.js'

const TYPES = ['text', 'json_object', 'json_schema', 'structural_tag']
const KNOWN = new Set(['type', 'json_schema', 'schema'])
const KNOWN_SCHEMA = new Set(['name', 'description', 'strict', 'schema'])
const PATH = 'response_format'

export function readOutputFormat(body: JsonObject, ignored: string[]): OutputFormat {
  const format = optional(body, PATH, '', anObject)
  if (!format) return { type: 'text' }
  // vLLM's: all of its other fields describe the tags.
  if (format.type === 'structural_tag') return { type: 'grammar', source: { structuralTag: format } }
  noteUnknown(format, KNOWN, PATH, ignored)
  const type = required(format, 'type', PATH, aString)
  if (type === 'text') return { type }
  if (type === 'json_schema') return readJsonSchema(format, ignored)
  if (type !== 'json_object') throw wrongValue(`${PATH}.type`, type, TYPES)
  // What servers took before `json_schema` existed, and some clients still send.
  const schema = optional(format, 'schema', PATH, aSchema)
  return schema === undefined ? { type } : { type: 'json_schema', name: 'response', strict: false, schema }
}

function readJsonSchema(format: JsonObject, ignored: string[]): OutputFormat {
  // llama-server's form.
  if (format.json_schema == null && format.schema != null) {
    return { type: 'json_schema', name: 'response', strict: true, schema: required(format, 'schema', PATH, aSchema) }
  }
  const path = at(PATH, 'json_schema')
  const spec = required(format, 'json_schema', PATH, anObject)
  noteUnknown(spec, KNOWN_SCHEMA, path, ignored)
  const description = optional(spec, 'description', path, aString)
  const name = required(spec, 'name', path, aToolName)
  return {
    type: 'json_schema',
    name,
    ...(description !== undefined && { description }),
    strict: optional(spec, 'strict', path, aBoolean) ?? false,
    schema: heldToWords(name, required(spec, 'schema', path, aSchema)),
  }
}

export function aSchema(value: unknown, param: string): JsonObject | boolean {
  if (typeof value === 'boolean' || isRecord(value)) return value
  throw wrongType(param, 'an object', value)
}

const DAY = [
  '\\d{4}-(0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])',
  '\\d{4}-(0[469]|11)-(0[1-9]|[12]\\d|30)',
  '\\d{4}-02-(0[1-9]|1\\d|2[0-8])',
  '(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29',
].join('|')
const TIME = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d)?'

/**
 * What the AI SDK's `experimental_extract` asks of a language model in words alone, and then takes no other answer for: by the
 * description that it writes. Of these words, letter by letter, nothing else is known to be meant.
 */
const FORMS: ReadonlyMap<string, JsonObject> = new Map([
  ['A calendar date formatted as YYYY-MM-DD.', { type: 'string', format: 'date' }],
  ['A time of day formatted as HH:MM or HH:MM:SS.', { type: 'string', pattern: `^${TIME}$` }],
  [
    'An ISO 8601 date and time such as 2027-03-03T17:30:00, with a Z or +HH:MM offset only when the state gives one.',
    { type: 'string', pattern: `^(${DAY})T${TIME}(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)?$` },
  ],
  ['A nonnegative number of the given unit, seconds by default.', { minimum: 0 }],
])

/** A schema whose values are held to such words too: its documents are some of those that it had. */
export function heldToWords(name: string, schema: JsonObject | boolean): JsonObject | boolean {
  if (name !== 'extraction' || !isRecord(schema)) return schema
  const { properties } = schema
  if (!isRecord(properties)) return schema
  const held = Object.entries(properties).map(([name, property]) => [name, ofProperty(property)])
  return { ...schema, properties: Object.fromEntries(held) }
}

/** `{ anyOf: [value or list of values, null] }`. */
function ofProperty(property: unknown): unknown {
  if (!isRecord(property) || !Array.isArray(property.anyOf)) return property
  const [value, ...others] = property.anyOf as unknown[]
  if (!isRecord(value)) return property
  const held = isRecord(value.items) ? { ...value, items: ofValue(value.items) } : ofValue(value)
  return { ...property, anyOf: [held, ...others] }
}

function ofValue(value: JsonObject): JsonObject {
  const form = typeof value.description === 'string' ? FORMS.get(value.description) : undefined
  if (form === undefined || (form.type !== undefined && form.type !== value.type)) return value
  return { ...value, ...form }
}
