import type { SchemaPath } from '../schema-error.js'
import type { Site } from './document.js'
import { has, isObject } from './json.js'
import { keyValue } from './object-plan.js'
import type { ObjectShape } from './object-shape.js'
import type { Value } from './value.js'

/** Why a value cannot be: what must stand in it and cannot, and where its parent says so. */
interface Cause {
  readonly value: Value
  readonly steps: readonly [keyword: string, key?: string]
}

/**
 * The place at fault where nothing satisfies a value: down to what must stand inside it and cannot, as long as there is
 * one way only.
 */
export function placeOfFault(value: Value, siteOf: (value: Value) => Site | undefined): SchemaPath {
  let path: SchemaPath = []
  const seen = new Set<Value>()
  for (let cause: Cause | undefined = { value, steps: [''] }; cause !== undefined && !seen.has(cause.value); ) {
    seen.add(cause.value)
    const site = siteOf(cause.value)
    // What nothing satisfies by its own words has no site of its own.
    if (site === undefined) return path
    path = site.path
    const inner: Cause | undefined = causeIn(cause.value)
    if (inner !== undefined && siteOf(inner.value) === undefined) return stepInto(site, inner.steps)
    if (inner === undefined) return stepInto(site, closedTo(site))
    cause = inner
  }
  return path
}

function causeIn({ arrays, objects }: Value): Cause | undefined {
  if (arrays.length + objects.length !== 1) return undefined
  const [array] = arrays
  if (array === undefined) return causeInObject(objects[0]!)
  for (let i = 0; i < Math.min(array.min, array.positions); i++) {
    const item = array.value(i, 'plain')
    if (!item.possible) return { value: item, steps: ['items'] }
  }
  return undefined
}

function causeInObject({ properties, pending, keys }: ObjectShape): Cause | undefined {
  for (const { key, value, required } of properties) {
    if (required && !value.possible) return { value, steps: ['properties', key] }
  }
  for (const key of pending) {
    const value = keyValue(keys.now(), key) ?? keys.values[0]
    if (value !== undefined && !value.possible) return { value, steps: ['additionalProperties'] }
  }
  return undefined
}

/** A required property that the same schema shuts out, which is seen before anything is built. */
function closedTo({ schema }: Site): Cause['steps'] {
  if (!isObject(schema) || !Array.isArray(schema.required)) return ['']
  const { properties, patternProperties, additionalProperties } = schema
  for (const key of schema.required) {
    const named = isObject(properties) && has(properties, String(key))
    if (named && properties[String(key)] === false) return ['properties', String(key)]
    if (!named && patternProperties === undefined && additionalProperties === false) return ['additionalProperties']
  }
  return ['']
}

function stepInto(site: Site, [keyword, key]: Cause['steps']): SchemaPath {
  let inner = isObject(site.schema) ? site.schema[keyword] : undefined
  if (key !== undefined) inner = isObject(inner) && has(inner, key) ? inner[key] : undefined
  if (inner === undefined) return site.path
  return key === undefined ? [...site.path, keyword] : [...site.path, keyword, key]
}
