import { atOnce, isRecord, type Slices } from '../../platform/index.js'
import { type Context, ignoresSiblings } from './context.js'
import { PLACES_TOGETHER, type Schema, type Site } from './document.js'
import { readCount, readList, readMap, readStrings } from './keywords.js'
import type { Atom, Contains, ItemGroup, PropertyGroup } from './part.js'
import { patternAutomaton } from './texts.js'

type Keywords = Exclude<Schema, boolean>

/** `items`, `prefixItems` and `additionalItems`, in the old form and the new; undefined if none is there. */
export function readArrayItems(context: Context, site: Site, schema: Keywords): ItemGroup | undefined {
  const { items, prefixItems, additionalItems } = schema
  const list = (keyword: string, value: unknown): Atom[] =>
    readList(site, keyword, value).map((item, i) => context.child(site, item, keyword, i))
  if (prefixItems !== undefined && site.resource.draft >= 2020) {
    const prefix = list('prefixItems', prefixItems)
    return { prefix, rest: items === undefined ? undefined : context.child(site, items, 'items') }
  }
  if (Array.isArray(items)) {
    const rest = additionalItems === undefined ? undefined : context.child(site, additionalItems, 'additionalItems')
    return { prefix: list('items', items), rest }
  }
  return items === undefined ? undefined : { prefix: [], rest: context.child(site, items, 'items') }
}

export function readContains(context: Context, site: Site, schema: Keywords): Contains | undefined {
  if (schema.contains === undefined || site.resource.draft < 6) return undefined
  const atom = context.child(site, schema.contains, 'contains')
  const counted = site.resource.draft >= 2019
  const min = counted && schema.minContains !== undefined ? readCount(site, 'minContains', schema.minContains) : 1
  const max =
    counted && schema.maxContains !== undefined ? readCount(site, 'maxContains', schema.maxContains) : Infinity
  return { atom, inverse: context.not(atom), min, max }
}

/** `properties`, `patternProperties` and `additionalProperties`; undefined if none is there. */
export function readProperties(context: Context, site: Site, schema: Keywords): PropertyGroup | undefined {
  const { properties, patternProperties, additionalProperties } = schema
  if (properties === undefined && patternProperties === undefined && additionalProperties === undefined)
    return undefined
  const matched = patternProperties === undefined ? {} : readMap(site, 'patternProperties', patternProperties)
  const named = context.properties.get(site)?.() ?? atOnce(namedIn(context, site, properties))
  const patterns: PropertyGroup['patterns'][number][] = []
  for (const source of Object.keys(matched)) {
    const atom = context.child(site, matched[source], 'patternProperties', source)
    const automaton = patternAutomaton(context, site, 'patternProperties', source)
    if (automaton !== undefined) patterns.push({ automaton, atom })
  }
  const additional =
    additionalProperties === undefined ? undefined : context.child(site, additionalProperties, 'additionalProperties')
  return { properties: named, patterns, additional }
}

function* namedIn(context: Context, site: Site, properties: unknown): Slices<Map<string, Atom>> {
  const named = properties === undefined ? {} : readMap(site, 'properties', properties)
  const found = new Map<string, Atom>()
  for (const key of Object.keys(named)) {
    if (found.size % PLACES_TOGETHER === PLACES_TOGETHER - 1) yield
    found.set(key, context.child(site, named[key], 'properties', key))
  }
  return found
}

/** Reads many properties of a place that is about to be read, which is where nothing can pause. */
export function* propertiesAhead(context: Context, site: Site): Slices<void> {
  const { schema } = site
  if (typeof schema === 'boolean' || context.readings.has(site) || context.properties.has(site)) return
  const { properties } = schema
  if (!isRecord(properties) || (typeof schema.$ref === 'string' && ignoresSiblings(site))) return
  if (Object.keys(properties).length <= PLACES_TOGETHER) return
  yield
  let made: () => ReadonlyMap<string, Atom>
  try {
    const found = yield* namedIn(context, site, properties)
    made = () => found
  } catch (error) {
    made = () => {
      throw error
    }
  }
  yield
  context.properties.set(site, made)
}

export interface Dependency {
  readonly key: string
  readonly keys?: readonly string[]
  readonly schema?: Atom
}

/** `dependentRequired`, `dependentSchemas` and the older `dependencies`. */
export function readDependencies(context: Context, site: Site, schema: Keywords): Dependency[] {
  const found: Dependency[] = []
  const add = (keyword: string, key: string, value: unknown) => {
    if (Array.isArray(value)) found.push({ key, keys: readStrings(site, keyword, value) })
    else found.push({ key, schema: context.child(site, value, keyword, key) })
  }
  for (const keyword of ['dependencies', 'dependentRequired', 'dependentSchemas']) {
    if (schema[keyword] === undefined || (keyword !== 'dependencies' && site.resource.draft < 2019)) continue
    const map = readMap(site, keyword, schema[keyword])
    for (const key of Object.keys(map)) add(keyword, key, map[key])
  }
  return found
}
