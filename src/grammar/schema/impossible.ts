import { isRecord } from '../../platform/index.js'
import { withLength } from '../automata/lengths.js'
import { ANY_TEXT, intersect } from '../automata/sets.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import { whyUnwritten } from '../formats/formats.js'
import { SchemaError, type SchemaPath } from '../schema-error.js'
import { keyValue } from '../values/object-plan.js'
import type { ObjectShape, Value } from '../values/value.js'
import type { Context } from './context.js'
import type { Site } from './document.js'

/** Why a value cannot be: what must stand in it and cannot, and where its parent says so. */
interface Cause {
  readonly value: Value
  readonly steps: Steps
}

type Steps = readonly [keyword: string, key?: string]

/** That nothing satisfies a value, with the place at fault. */
export function impossible(value: Value, siteOf: (value: Value) => Site | undefined, context: Context): SchemaError {
  const [path, why, at] = faultOf(value, siteOf)
  const unwritten = at && whyNotWritten(at.schema, context)
  if (unwritten !== undefined) return new SchemaError(path, 'format', unwritten)
  return new SchemaError(path, '', `no value can satisfy the schema${why === undefined ? '.' : `: ${why}`}`)
}

/** Down to what must stand inside the value and cannot, as long as there is one way only. */
function faultOf(
  value: Value,
  siteOf: (value: Value) => Site | undefined,
): [path: SchemaPath, why?: string, at?: Site] {
  let path: SchemaPath = []
  const seen = new Set<Value>()
  for (let cause: Cause | undefined = { value, steps: [''] }; cause !== undefined && !seen.has(cause.value); ) {
    seen.add(cause.value)
    const site = siteOf(cause.value)
    // What nothing satisfies by its own words has no site of its own.
    if (site === undefined) return [path]
    path = site.path
    const inner: Cause | undefined = causeIn(cause.value)
    if (inner !== undefined && siteOf(inner.value) === undefined) return [stepInto(site, inner.steps)]
    if (inner === undefined) {
      const [steps, why] = shutOut(site)
      return [stepInto(site, steps), why, site]
    }
    cause = inner
  }
  return [path]
}

function causeIn({ arrays, objects, graph }: Value): Cause | undefined {
  if (graph !== undefined || arrays.length + objects.length !== 1) return undefined
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

/** What the same schema demands and shuts out, which is seen before anything is built. */
function shutOut({ schema }: Site): [steps: Steps, why?: string] {
  if (!isRecord(schema)) return [['']]
  const { enum: listed, required, properties, patternProperties, additionalProperties } = schema
  if (Array.isArray(listed) && listed.length === 0) return [[''], "'enum' is empty."]
  for (const key of Array.isArray(required) ? required.map(String) : []) {
    if (isRecord(properties) && Object.hasOwn(properties, key)) {
      const property = properties[key]
      if (property === false) return [['properties', key]]
      if (isRecord(property) && Array.isArray(property.enum) && property.enum.length === 0) {
        return [['properties', key], "'enum' is empty."]
      }
    } else if (patternProperties === undefined && additionalProperties === false) {
      const why = `'required' names ${JSON.stringify(key)}, which 'properties' does not have and 'additionalProperties' shuts out.`
      return [['additionalProperties'], why]
    }
  }
  return [['']]
}

/** Why it is not written, where the words of a text allow one that is of its format. */
function whyNotWritten(schema: unknown, context: Context): string | undefined {
  const parts = [schema, ...(isRecord(schema) && Array.isArray(schema.allOf) ? schema.allOf : [])].filter(isRecord)
  const limits = (name: string) => parts.map((part) => part[name]).filter((limit) => typeof limit === 'number')
  const fits = (whole: TextAutomaton) => {
    let text = whole
    for (const { pattern } of parts) text = intersect(text, context.patterns.get(pattern as string) ?? ANY_TEXT)
    return !withLength(text, Math.max(0, ...limits('minLength')), Math.min(Infinity, ...limits('maxLength'))).empty
  }
  const format = parts.map((part) => part.format).find((name) => typeof name === 'string') ?? ''
  try {
    return context.ownFormat(format) === undefined ? whyUnwritten(format, fits) : undefined
  } catch (error) {
    // Too much to find out why.
    if (error instanceof TextError || error instanceof SchemaError) return undefined
    throw error
  }
}

function stepInto(site: Site, [keyword, key]: Steps): SchemaPath {
  let inner = isRecord(site.schema) ? site.schema[keyword] : undefined
  if (key !== undefined) inner = isRecord(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined
  if (inner === undefined) return site.path
  return key === undefined ? [...site.path, keyword] : [...site.path, keyword, key]
}
