/** Which schemas keep to what OpenAI documents for strict mode. */
import { isRecord } from '../../src/platform/json.js'

const KEYWORDS = new Set([
  ...['type', 'enum', 'const', 'anyOf', '$ref', '$defs', 'definitions', 'properties', 'required'],
  ...['additionalProperties', 'items', 'minItems', 'maxItems', 'pattern', 'format', 'multipleOf', 'maximum'],
  ...['exclusiveMaximum', 'minimum', 'exclusiveMinimum', '$schema', '$id', 'title', 'description', 'default'],
  ...['examples', '$comment'],
])
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])

/** Strict keywords only, every object closed and all its properties required, the root an object. */
export function isStrictSubset(schema: unknown): boolean {
  return isRecord(schema) && schema.type === 'object' && schema.anyOf === undefined && isStrict(schema)
}

function isStrict(schema: unknown): boolean {
  if (!isRecord(schema)) return false
  for (const keyword of Object.keys(schema)) if (!KEYWORDS.has(keyword)) return false
  if (schema.format !== undefined && !FORMATS.has(schema.format as string)) return false
  if ([schema.type].flat().includes('object') || schema.properties !== undefined) {
    if (schema.additionalProperties !== false) return false
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    if (Object.keys((schema.properties as object | undefined) ?? {}).some((key) => !required.has(key))) return false
  }
  const inner = [schema.properties, schema.$defs, schema.definitions].flatMap((map) =>
    isRecord(map) ? Object.values(map) : [],
  )
  if (Array.isArray(schema.anyOf)) inner.push(...schema.anyOf)
  if (schema.items !== undefined) inner.push(schema.items)
  return inner.every(isStrict)
}
