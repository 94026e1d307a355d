import { isRecord } from '../../platform/index.js'
import type { TextAutomaton } from '../automata/types.js'
import { SchemaError } from '../schema-error.js'
import { readArrayItems } from './arrays-objects.js'
import type { Context } from './context.js'
import type { Schema, Site } from './document.js'
import type { Atom, ItemGroup, PropertyGroup } from './part.js'
import { patternAutomaton } from './texts.js'

/** Which members of an object or array some schemas look at. */
export class Evaluated {
  readonly names = new Set<string>()
  readonly patterns = new Map<string, TextAutomaton>()
  allProperties = false
  prefix = 0
  allItems = false
  /** Items that satisfy one of these. */
  readonly containing = new Set<Site>()

  add(other: Evaluated): this {
    for (const name of other.names) this.names.add(name)
    for (const [source, automaton] of other.patterns) this.patterns.set(source, automaton)
    for (const site of other.containing) this.containing.add(site)
    this.allProperties ||= other.allProperties
    this.allItems ||= other.allItems
    this.prefix = Math.max(this.prefix, other.prefix)
    return this
  }

  /** Whether what the other one looks at is looked at anyway. */
  covers(other: Evaluated): boolean {
    const properties =
      this.allProperties ||
      (!other.allProperties &&
        [...other.names].every((name) => this.names.has(name)) &&
        [...other.patterns.keys()].every((source) => this.patterns.has(source)))
    const items =
      this.allItems ||
      (!other.allItems &&
        other.prefix <= this.prefix &&
        [...other.containing].every((site) => this.containing.has(site)))
    return properties && items
  }
}

/**
 * `unevaluatedProperties` and `unevaluatedItems` are `additionalProperties` and `items` that also see what `$ref`, `allOf`
 * and the alternatives say that hold: one group for each way in which they may hold.
 */
export interface Way<Group> {
  /** What holds, or does not, of a value that goes this way. */
  readonly conditions: readonly Atom[]
  /** Undefined: nothing is left unevaluated. */
  readonly group: Group | undefined
}

type Keyworded = Exclude<Schema, boolean>

interface Looking {
  readonly conditions: readonly Atom[]
  readonly evaluated: Evaluated
}

/** More ways are not told apart. */
const MOST_WAYS = 64

/** Undefined where the ways are too many, or cannot be known. */
export function waysOfProperties(context: Context, site: Site, schema: Keyworded): Way<PropertyGroup>[] | undefined {
  const anything = context.atom(context.document.everything)
  return waysOf(context, site)?.map(({ conditions, evaluated }) => {
    if (evaluated.allProperties) return { conditions, group: undefined }
    const properties = new Map([...evaluated.names].map((key) => [key, anything]))
    const patterns = [...evaluated.patterns.values()].map((automaton) => ({ automaton, atom: anything }))
    const additional = context.child(site, schema.unevaluatedProperties, 'unevaluatedProperties')
    return { conditions, group: { properties, patterns, additional } }
  })
}

export function waysOfItems(context: Context, site: Site, schema: Keyworded): Way<ItemGroup>[] | undefined {
  return waysOf(context, site)?.map(({ conditions, evaluated }) => {
    if (evaluated.allItems) return { conditions, group: undefined }
    const prefix = new Array<Atom>(evaluated.prefix).fill(context.atom(context.document.everything))
    const found = [...evaluated.containing]
    let rest = context.child(site, schema.unevaluatedItems, 'unevaluatedItems')
    if (found.length > 0) {
      const either = [...found.map((one) => one.schema), schema.unevaluatedItems]
      const made = context.madeUp(`${site.id}:${found.map((one) => one.id)}`, () => ({ anyOf: either }))
      rest = context.child(site, made, 'unevaluatedItems')
    }
    return { conditions, group: { prefix, rest } }
  })
}

function waysOf(context: Context, site: Site): readonly Looking[] | undefined {
  try {
    const ways = new Ways(context).of(site, new Evaluated(), new Set(), true)
    const [first, ...others] = ways
    const alike = others.every(
      ({ evaluated }) => evaluated.covers(first!.evaluated) && first!.evaluated.covers(evaluated),
    )
    return alike ? [{ conditions: [], evaluated: first!.evaluated }] : ways
  } catch (error) {
    if (error instanceof Unknown) return undefined
    throw error
  }
}

class Unknown extends Error {}

class Ways {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** `known`: what is looked at whichever way is gone. `own`: of the schema whose keyword asks. */
  of(site: Site, known: Evaluated, open: ReadonlySet<Site>, own = false): readonly Looking[] {
    const { schema } = site
    if (typeof schema === 'boolean' || open.has(site)) return NOTHING
    this.#context.fuel.spend(5)
    const evaluated = this.#directly(site, schema, own)
    const inner = new Set([...open, site])
    const always = new Evaluated().add(known).add(evaluated)
    let ways: readonly Looking[] = [{ conditions: [], evaluated }]
    for (const target of this.#applied(site, schema)) ways = this.#both(ways, this.of(target, always, inner))
    for (const choice of this.#choices(site, schema, always, inner)) {
      if (!choice.every((way) => always.covers(way.evaluated))) ways = this.#both(ways, choice)
    }
    return ways
  }

  #both(left: readonly Looking[], right: readonly Looking[]): readonly Looking[] {
    if (left.length * right.length > MOST_WAYS) throw new Unknown()
    return left.flatMap((a) =>
      right.map((b) => ({
        conditions: [...a.conditions, ...b.conditions],
        evaluated: new Evaluated().add(a.evaluated).add(b.evaluated),
      })),
    )
  }

  #directly(site: Site, schema: Keyworded, own: boolean): Evaluated {
    const found = new Evaluated()
    if (isRecord(schema.properties)) for (const key of Object.keys(schema.properties)) found.names.add(key)
    for (const source of isRecord(schema.patternProperties) ? Object.keys(schema.patternProperties) : []) {
      const automaton = patternAutomaton(this.#context, site, 'patternProperties', source)
      if (automaton === undefined) throw new Unknown()
      found.patterns.set(source, automaton)
    }
    const covered = !own && schema.unevaluatedProperties !== undefined
    found.allProperties = covered || schema.additionalProperties !== undefined
    const group = readArrayItems(this.#context, site, schema)
    found.prefix = group?.prefix.length ?? 0
    found.allItems = group?.rest !== undefined || (!own && schema.unevaluatedItems !== undefined)
    // From 2020 on the items that are found there count as evaluated.
    if (schema.contains !== undefined && site.resource.draft >= 2020) {
      found.containing.add(this.#context.document.child(site, schema.contains, 'contains'))
    }
    return found
  }

  /** What applies whatever the value. */
  #applied(site: Site, schema: Keyworded): Site[] {
    const { document } = this.#context
    const all = Array.isArray(schema.allOf) ? schema.allOf : []
    const found = all.map((each, i) => document.child(site, each, 'allOf', i))
    if (typeof schema.$ref === 'string')
      found.push(this.#resolved(() => document.resolve(site, schema.$ref as string, '$ref')))
    for (const name of ['$dynamicRef', '$recursiveRef']) {
      const reference = schema[name]
      if (typeof reference === 'string')
        found.push(this.#resolved(() => document.resolveDynamic(site, reference, name)))
    }
    return found
  }

  /** A reference that leads nowhere is refused where it stands. */
  #resolved(resolve: () => Site): Site {
    try {
      return resolve()
    } catch (error) {
      throw error instanceof SchemaError ? new Unknown() : error
    }
  }

  /** Where it depends on the value: of each the ways, one of which every value goes. */
  #choices(site: Site, schema: Keyworded, known: Evaluated, open: ReadonlySet<Site>): (readonly Looking[])[] {
    const context = this.#context
    const { document } = context
    const under = (condition: Atom, ways: readonly Looking[]) =>
      ways.map((way) => ({ ...way, conditions: [condition, ...way.conditions] }))
    const holding = (each: Site) => under(context.atom(each), this.of(each, known, open))
    const failing = (each: Site): Looking => ({ conditions: [context.atom(each, true)], evaluated: new Evaluated() })
    const listed = (name: string) => {
      const list = schema[name]
      return Array.isArray(list) ? list.map((each, i) => document.child(site, each, name, i)) : []
    }
    const choices = listed('anyOf').map((each) => [...holding(each), failing(each)])
    const one = listed('oneOf').flatMap(holding)
    if (one.length > 0) choices.push(one)
    if (schema.if !== undefined) {
      const test = document.child(site, schema.if, 'if')
      const [then, other] = ['then', 'else'].map((name) =>
        schema[name] === undefined ? NOTHING : this.of(document.child(site, schema[name], name), known, open),
      )
      choices.push([...this.#both(holding(test), then!), ...this.#both([failing(test)], other!)])
    }
    for (const name of ['dependentSchemas', 'dependencies']) {
      const map = schema[name]
      if (!isRecord(map)) continue
      for (const key of Object.keys(map)) {
        if (Array.isArray(map[key])) continue
        const present = document.child(
          site,
          context.madeUp(`has:${key}`, () => ({ required: [key] })),
          name,
        )
        const ways = this.of(document.child(site, map[key], name, key), known, open)
        choices.push([...under(context.atom(present), ways), failing(present)])
      }
    }
    return choices
  }
}

const NOTHING: readonly Looking[] = [{ conditions: [], evaluated: new Evaluated() }]
