import { NUMBER_FORMATS } from '../text/formats.js'
import type { TextAutomaton } from '../text/types.js'
import { readContains, readDependencies, readItems, readProperties } from './arrays-objects.js'
import { type Context, ignoresSiblings } from './context.js'
import type { Schema, Site } from './document.js'
import { canonical, codePoints, has, isObject } from './json.js'
import { readBounds, readList, readType } from './keywords.js'
import { isMultiple } from './multiple.js'
import type { Atom } from './part.js'
import { kindBit } from './shallow.js'
import { formatOf, patternAutomaton } from './texts.js'
import { readUnevaluatedItems, readUnevaluatedProperties } from './unevaluated.js'

type Keywords = Exclude<Schema, boolean>

/** Whether a given value satisfies a subschema: what is left of `enum` under the keywords beside it. */
export function satisfies(context: Context, atom: Atom, value: unknown): boolean {
  return new Evaluation(context).test(atom, value)
}

/**
 * One look at one value. What a subschema says of a part is asked once, so that alternatives that share subschemas do
 * not multiply with the depth of the value. A subschema that refers back to itself without looking into the value holds
 * only where it does so without that: `anyOf: [A, the whole]` is A.
 */
class Evaluation {
  readonly #context: Context
  readonly #known = new Map<unknown, Map<Site, boolean>>()
  /** What is being asked, and how deep. */
  readonly #open = new Map<unknown, Map<Site, number>>()
  #depth = 0
  /** The outermost question, of those still open, that an answer since has rested on. */
  #restsOn = Infinity

  constructor(context: Context) {
    this.#context = context
  }

  test(atom: Atom, value: unknown): boolean {
    return this.#holds(atom.site, value) !== atom.negated
  }

  #holds(site: Site, value: unknown): boolean {
    if (typeof site.schema === 'boolean') return site.schema
    const known = this.#known.get(value)?.get(site)
    if (known !== undefined) return known
    const open = entry(this.#open, value)
    const asked = open.get(site)
    if (asked !== undefined) {
      this.#restsOn = Math.min(this.#restsOn, asked)
      return false
    }
    const depth = this.#depth++
    open.set(site, depth)
    const answer = holds(this.#context, site, site.schema, value, (atom, part) => this.test(atom, part))
    open.delete(site)
    this.#depth = depth
    // An answer that rests on a question that is still open may be another one for who asks elsewhere.
    if (this.#restsOn >= depth) {
      this.#restsOn = Infinity
      entry(this.#known, value).set(site, answer)
    }
    return answer
  }
}

function entry<T>(maps: Map<unknown, Map<Site, T>>, value: unknown): Map<Site, T> {
  let map = maps.get(value)
  if (map === undefined) {
    map = new Map()
    maps.set(value, map)
  }
  return map
}

function holds(context: Context, site: Site, schema: Keywords, value: unknown, test: Test): boolean {
  context.fuel.spend(5)
  const child = (part: unknown, ...steps: (string | number)[]) => context.child(site, part, ...steps)
  if (typeof schema.$ref === 'string') {
    const target = context.atom(context.document.resolve(site, schema.$ref, '$ref'))
    if (!test(target, value)) return false
    if (ignoresSiblings(site)) return true
  }
  if (schema.type !== undefined) {
    const { kinds, integer } = readType(site, schema.type)
    if ((kinds & kindBit(value)) === 0) return false
    if (integer && typeof value === 'number' && !Number.isInteger(value)) return false
  }
  if (schema.enum !== undefined && !includes(readList(site, 'enum', schema.enum), value)) return false
  if (has(schema, 'const') && site.resource.draft >= 6 && canonical(schema.const) !== canonical(value)) return false
  if (typeof value === 'number' && !numberHolds(site, schema, value)) return false
  if (typeof value === 'string' && !textHolds(context, site, schema, value)) return false
  if (Array.isArray(value) && !arrayHolds(context, site, schema, value, test)) return false
  if (isObject(value) && !objectHolds(context, site, schema, value, test)) return false
  const list = (keyword: string) => readList(site, keyword, schema[keyword]).map((part, i) => child(part, keyword, i))
  if (schema.allOf !== undefined && !list('allOf').every((atom) => test(atom, value))) return false
  if (schema.anyOf !== undefined && !list('anyOf').some((atom) => test(atom, value))) return false
  if (schema.oneOf !== undefined && list('oneOf').filter((atom) => test(atom, value)).length !== 1) return false
  if (schema.not !== undefined && test(child(schema.not, 'not'), value)) return false
  if (schema.if !== undefined && site.resource.draft >= 7) {
    const keyword = test(child(schema.if, 'if'), value) ? 'then' : 'else'
    if (schema[keyword] !== undefined && !test(child(schema[keyword], keyword), value)) return false
  }
  return true
}

const spelled = new WeakMap<readonly unknown[], Set<string>>()

function includes(values: readonly unknown[], value: unknown): boolean {
  let texts = spelled.get(values)
  if (texts === undefined) {
    texts = new Set(values.map(canonical))
    spelled.set(values, texts)
  }
  return texts.has(canonical(value))
}

function numberHolds(site: Site, schema: Keywords, value: number): boolean {
  const bounds = readBounds(site, schema)
  if (value < bounds.minimum || value <= bounds.exclusiveMinimum) return false
  if (value > bounds.maximum || value >= bounds.exclusiveMaximum) return false
  const fitting = typeof schema.format === 'string' ? NUMBER_FORMATS.get(schema.format) : undefined
  if (fitting !== undefined && !(Number.isInteger(value) && value >= fitting.minimum && value <= fitting.maximum)) {
    return false
  }
  return typeof schema.multipleOf !== 'number' || isMultiple(value, schema.multipleOf)
}

function textHolds(context: Context, site: Site, schema: Keywords, value: string): boolean {
  const length = codePoints(value)
  if (typeof schema.minLength === 'number' && length < schema.minLength) return false
  if (typeof schema.maxLength === 'number' && length > schema.maxLength) return false
  const pattern = typeof schema.pattern === 'string' && patternAutomaton(context, site, 'pattern', schema.pattern)
  if (pattern && !matches(pattern, value)) return false
  const format = typeof schema.format === 'string' && formatOf(context, site, schema.format)
  return !format || matches(format, value)
}

export function matches(automaton: TextAutomaton, text: string): boolean {
  let state = automaton.start
  for (const char of text) state = automaton.next(state, char.codePointAt(0)!)
  return automaton.accepts(state)
}

type Test = (atom: Atom, value: unknown) => boolean

function arrayHolds(context: Context, site: Site, schema: Keywords, value: readonly unknown[], test: Test): boolean {
  if (typeof schema.minItems === 'number' && value.length < schema.minItems) return false
  if (typeof schema.maxItems === 'number' && value.length > schema.maxItems) return false
  if (schema.uniqueItems === true && new Set(value.map(canonical)).size < value.length) return false
  for (const group of [readItems(context, site, schema), readUnevaluatedItems(context, site, schema)]) {
    const itemHolds = (item: unknown, i: number) => {
      const atom = group?.prefix[i] ?? group?.rest
      return atom === undefined || test(atom, item)
    }
    if (!value.every(itemHolds)) return false
  }
  const contains = readContains(context, site, schema)
  if (contains === undefined) return true
  const count = value.filter((item) => test(contains.atom, item)).length
  return count >= contains.min && count <= contains.max
}

function objectHolds(
  context: Context,
  site: Site,
  schema: Keywords,
  value: Record<string, unknown>,
  test: Test,
): boolean {
  const keys = Object.keys(value)
  if (typeof schema.minProperties === 'number' && keys.length < schema.minProperties) return false
  if (typeof schema.maxProperties === 'number' && keys.length > schema.maxProperties) return false
  if (Array.isArray(schema.required) && !schema.required.every((key) => has(value, String(key)))) return false
  if (schema.propertyNames !== undefined && site.resource.draft >= 6) {
    const names = context.child(site, schema.propertyNames, 'propertyNames')
    if (!keys.every((key) => test(names, key))) return false
  }
  for (const group of [readProperties(context, site, schema), readUnevaluatedProperties(context, site, schema)]) {
    for (const key of group === undefined ? [] : keys) {
      const atoms = group!.patterns.filter((pattern) => matches(pattern.automaton, key)).map((pattern) => pattern.atom)
      const named = group!.properties.get(key)
      if (named !== undefined) atoms.push(named)
      if (atoms.length === 0 && group!.additional !== undefined) atoms.push(group!.additional)
      if (!atoms.every((atom) => test(atom, value[key]))) return false
    }
  }
  for (const { key, keys: demanded, schema: atom } of readDependencies(context, site, schema)) {
    if (!has(value, key)) continue
    if (demanded !== undefined && !demanded.every((other) => has(value, other))) return false
    if (atom !== undefined && !test(atom, value)) return false
  }
  return true
}
