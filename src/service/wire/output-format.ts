import type { OutputFormat } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { aBoolean, anObject, aString, at, noteUnknown, optional, required, wrongType, wrongValue } from './fields.js'
import { aToolName } from './tools.js'
import { heldToWords } from './worded-forms.js'

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
