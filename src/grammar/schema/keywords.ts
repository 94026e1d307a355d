import { isRecord } from '../../platform/index.js'
import { refusal } from './context.js'
import { type Schema, type Site, typeName } from './document.js'
import { ARRAY, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE } from './part.js'

/** Reading one keyword's value, refused where the value itself is malformed. */

export const KINDS: Record<string, number> = {
  null: NULL,
  boolean: TRUE | FALSE,
  number: NUMBER,
  integer: NUMBER,
  string: STRING,
  array: ARRAY,
  object: OBJECT,
}

/** The kinds that `type` admits, and whether numbers must be integers. OpenAPI 3.0, and ajv, know null by a word beside it. */
export function readType(
  site: Site,
  { type, nullable }: Exclude<Schema, boolean>,
): { kinds: number; integer: boolean } {
  const names = Array.isArray(type) ? type : [type]
  let kinds = nullable === true ? NULL : 0
  for (const name of names) {
    const kind = typeof name === 'string' && Object.hasOwn(KINDS, name) ? KINDS[name]! : 0
    if (kind === 0) throw refusal(site, 'type', `${JSON.stringify(name)} is not a valid type.`)
    kinds |= kind
  }
  return { kinds, integer: names.includes('integer') && !names.includes('number') }
}

export function readCount(site: Site, keyword: string, value: unknown): number {
  if (!isCount(value)) throw refusal(site, keyword, `'${keyword}' must be a non-negative integer.`)
  return value
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

export function readNumber(site: Site, keyword: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw refusal(site, keyword, `'${keyword}' must be a number.`)
  return value
}

export function readString(site: Site, keyword: string, value: unknown): string {
  if (typeof value !== 'string') throw refusal(site, keyword, `'${keyword}' must be a string.`)
  return value
}

export function readStrings(site: Site, keyword: string, value: unknown): string[] {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
    throw refusal(site, keyword, `'${keyword}' must be an array of strings.`)
  }
  return value
}

/** What a value must be said to be equal to: JSON, whatever a program has put there. */
export function readConstant(site: Site, keyword: string, value: unknown): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw refusal(site, keyword, `'${keyword}' holds a number that is too large to be distinguished from others.`)
  }
  if (Array.isArray(value)) {
    // Not forEach: it passes over what is missing.
    for (let i = 0; i < value.length; i++) readConstant(site, keyword, value[i])
    return value
  }
  if (!isRecord(value)) throw refusal(site, keyword, `'${keyword}' must hold JSON values, not ${typeName(value)}.`)
  for (const key of Object.keys(value)) readConstant(site, keyword, value[key])
  return value
}

export function readConstants(site: Site, value: unknown): unknown[] {
  const values = readList(site, 'enum', value)
  readConstant(site, 'enum', values)
  return values
}

export function readList(site: Site, keyword: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw refusal(site, keyword, `'${keyword}' must be an array, not ${typeName(value)}.`)
  return value
}

export function readMap(site: Site, keyword: string, value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw refusal(site, keyword, `'${keyword}' must be an object, not ${typeName(value)}.`)
  return value
}

/** The numeric limits of one schema object, draft 4's boolean `exclusive...` included. */
export function readBounds(site: Site, schema: Exclude<Schema, boolean>) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  const bounds = { minimum: -Infinity, exclusiveMinimum: -Infinity, maximum: Infinity, exclusiveMaximum: Infinity }
  if (minimum !== undefined) {
    bounds[exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum'] = readNumber(site, 'minimum', minimum)
  }
  if (maximum !== undefined) {
    bounds[exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum'] = readNumber(site, 'maximum', maximum)
  }
  if (exclusiveMinimum !== undefined && typeof exclusiveMinimum !== 'boolean') {
    bounds.exclusiveMinimum = readNumber(site, 'exclusiveMinimum', exclusiveMinimum)
  }
  if (exclusiveMaximum !== undefined && typeof exclusiveMaximum !== 'boolean') {
    bounds.exclusiveMaximum = readNumber(site, 'exclusiveMaximum', exclusiveMaximum)
  }
  return bounds
}
