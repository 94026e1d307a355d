import type { TextAutomaton } from '../automata/types.js'
import { SchemaError } from '../schema-error.js'
import { readItems } from './arrays-objects.js'
import { type Context, refusal } from './context.js'
import type { Schema, Site } from './document.js'
import { has, isObject } from './json.js'
import type { Atom, ItemGroup, PropertyGroup } from './part.js'
import { patternAutomaton } from './texts.js'

/**
 * `unevaluatedProperties` and `unevaluatedItems`, where what is evaluated does not depend on the value: they are then
 * `additionalProperties` and `items` that also see what `$ref` and `allOf` say.
 */

/** What a schema and those that always apply with it look at. */
class Evaluated {
  readonly names = new Set<string>()
  readonly patterns = new Map<string, TextAutomaton>()
  allProperties = false
  prefix = 0
  allItems = false
  /** Which properties or items are looked at depends on the value. */
  vagueProperties = false
  vagueItems = false

  /** What may be looked at besides: harmless where it always is. */
  doubt(other: Evaluated): void {
    if (!this.allProperties) {
      const more = [...other.names].some((key) => !this.names.has(key))
      const wider = [...other.patterns.keys()].some((source) => !this.patterns.has(source))
      this.vagueProperties ||= more || wider || other.allProperties || other.vagueProperties
    }
    if (!this.allItems) this.vagueItems ||= other.prefix > this.prefix || other.allItems || other.vagueItems
  }
}

export function readUnevaluatedProperties(context: Context, site: Site, schema: Keyworded): PropertyGroup | undefined {
  const evaluated = looking(context, site, schema, 'unevaluatedProperties')
  if (evaluated === undefined || evaluated.allProperties) return undefined
  if (evaluated.vagueProperties) return refused(context, site, 'unevaluatedProperties')
  const anything = context.atom(context.document.everything)
  return {
    properties: new Map([...evaluated.names].map((key) => [key, anything])),
    patterns: [...evaluated.patterns.values()].map((automaton) => ({ automaton, atom: anything })),
    additional: context.child(site, schema.unevaluatedProperties, 'unevaluatedProperties'),
  }
}

export function readUnevaluatedItems(context: Context, site: Site, schema: Keyworded): ItemGroup | undefined {
  const evaluated = looking(context, site, schema, 'unevaluatedItems')
  if (evaluated === undefined || evaluated.allItems) return undefined
  if (evaluated.vagueItems) return refused(context, site, 'unevaluatedItems')
  const prefix = new Array<Atom>(evaluated.prefix).fill(context.atom(context.document.everything))
  return { prefix, rest: context.child(site, schema.unevaluatedItems, 'unevaluatedItems') }
}

type Keyworded = Exclude<Schema, boolean>

function looking(context: Context, site: Site, schema: Keyworded, keyword: string): Evaluated | undefined {
  if (schema[keyword] === undefined || schema[keyword] === true || site.resource.draft < 2019) return undefined
  const evaluated = new Evaluated()
  look(context, site, evaluated, new Set(), true)
  return evaluated
}

function refused(context: Context, site: Site, keyword: string): undefined {
  const why = `'${keyword}' is not supported where what is evaluated depends on the value.`
  context.refuse(refusal(site, keyword, why))
}

/** `own`: the schema whose keyword asks. */
function look(context: Context, site: Site, into: Evaluated, seen: Set<Site>, own: boolean): void {
  const { schema } = site
  if (typeof schema === 'boolean' || seen.has(site)) return
  seen.add(site)
  context.fuel.spend(5)
  const inner = (value: unknown, ...steps: (string | number)[]) => context.document.child(site, value, ...steps)
  lookAtProperties(context, site, schema, into, own)
  lookAtItems(context, site, schema, into, own)
  if (typeof schema.$ref === 'string') {
    const target = resolved(context, site, schema.$ref)
    if (target === undefined) into.vagueProperties = into.vagueItems = true
    else look(context, target, into, seen, false)
  }
  const always = Array.isArray(schema.allOf) ? schema.allOf : []
  for (const [i, each] of always.entries()) look(context, inner(each, 'allOf', i), into, seen, false)
  if (schema.$dynamicRef !== undefined || schema.$recursiveRef !== undefined) {
    into.vagueProperties = into.vagueItems = true
  }
  for (const other of sometimes(schema, inner)) {
    const maybe = new Evaluated()
    look(context, other, maybe, new Set(seen), false)
    into.doubt(maybe)
  }
}

/** Undefined where the reference leads nowhere, which is refused where it stands. */
function resolved(context: Context, site: Site, reference: string): Site | undefined {
  try {
    return context.document.resolve(site, reference, '$ref')
  } catch (error) {
    if (error instanceof SchemaError) return undefined
    throw error
  }
}

/** The subschemas that only apply to some values. */
function sometimes(schema: Keyworded, inner: (value: unknown, ...steps: (string | number)[]) => Site): Site[] {
  const found: Site[] = []
  for (const keyword of ['anyOf', 'oneOf']) {
    const list = schema[keyword]
    if (Array.isArray(list)) found.push(...list.map((each, i) => inner(each, keyword, i)))
  }
  for (const keyword of ['if', 'then', 'else']) {
    if (has(schema, keyword) && schema.if !== undefined) found.push(inner(schema[keyword], keyword))
  }
  for (const keyword of ['dependentSchemas', 'dependencies']) {
    const map = schema[keyword]
    if (!isObject(map)) continue
    for (const key of Object.keys(map)) if (!Array.isArray(map[key])) found.push(inner(map[key], keyword, key))
  }
  return found
}

function lookAtProperties(context: Context, site: Site, schema: Keyworded, into: Evaluated, own: boolean): void {
  if (isObject(schema.properties)) for (const key of Object.keys(schema.properties)) into.names.add(key)
  if (isObject(schema.patternProperties)) {
    for (const source of Object.keys(schema.patternProperties)) {
      const automaton = patternAutomaton(context, site, 'patternProperties', source)
      if (automaton === undefined) into.vagueProperties = true
      else into.patterns.set(source, automaton)
    }
  }
  if (schema.additionalProperties !== undefined || (!own && schema.unevaluatedProperties !== undefined)) {
    into.allProperties = true
  }
}

function lookAtItems(context: Context, site: Site, schema: Keyworded, into: Evaluated, own: boolean): void {
  const group = readItems(context, site, schema)
  into.prefix = Math.max(into.prefix, group?.prefix.length ?? 0)
  if (group?.rest !== undefined || (!own && schema.unevaluatedItems !== undefined)) into.allItems = true
  // From 2020 on the items that are found there count as evaluated.
  if (schema.contains !== undefined && site.resource.draft >= 2020) into.vagueItems = true
}
