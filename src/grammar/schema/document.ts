import { atOnce, decodedPart, getOrMake, isRecord, pointerStep, type Slices } from '../../platform/index.js'
import { SchemaError, type SchemaPath } from '../schema-error.js'

export type Schema = boolean | Record<string, unknown>

/** A path in the making: deep documents would pay for spelling out every one. */
interface Trail {
  readonly before: Trail | undefined
  readonly steps: readonly (string | number)[]
  readonly levels: number
}

/** Deeper schemas would take longer to refuse than a request may cost. */
const MAX_LEVELS = 2000

/** A part of the document with an identity of its own: what `$id` makes. */
interface Resource {
  readonly base: string
  readonly root: unknown
  readonly trail: Trail | undefined
  readonly draft: number
}

/** A place that `$dynamicRef` or `$recursiveRef` may lead to. */
interface Place {
  readonly schema: unknown
  readonly resource: Resource
  readonly trail: Trail | undefined
}

/** Where dynamic references lead, by what was come through on the way. */
class Scope {
  readonly #places: ReadonlyMap<string, Place>
  readonly #known: Map<string, Scope>
  readonly #sites = new Map<object, Site>()

  constructor(places: ReadonlyMap<string, Place> = new Map(), known = new Map<string, Scope>()) {
    this.#places = places
    this.#known = known
  }

  /** The outermost place of that name. */
  get(name: string): Place | undefined {
    return this.#places.get(name)
  }

  /** One per schema object and scope, so that recursion meets itself. */
  site(schema: object, make: () => Site): Site {
    return getOrMake(this.#sites, schema, make)
  }

  known(schema: object): Site | undefined {
    return this.#sites.get(schema)
  }

  /** The scope inside a resource in which these names have these places. */
  within(places: ReadonlyMap<string, Place>): Scope {
    if ([...places.keys()].every((name) => this.#places.has(name))) return this
    const all = new Map([...places, ...this.#places])
    const key = JSON.stringify([...all].map(([name, { trail }]) => [name, spelled(trail)]).sort())
    return getOrMake(this.#known, key, () => new Scope(all, this.#known))
  }
}

/** A subschema and where it stands. */
export class Site {
  readonly id: number
  readonly schema: Schema
  readonly resource: Resource
  readonly trail: Trail | undefined
  readonly scope: Scope

  constructor(id: number, schema: Schema, resource: Resource, trail: Trail | undefined, scope: Scope) {
    this.id = id
    this.schema = schema
    this.resource = resource
    this.trail = trail
    this.scope = scope
  }

  get path(): SchemaPath {
    return spelled(this.trail)
  }
}

function below(before: Trail | undefined, steps: readonly (string | number)[]): Trail {
  const levels = (before?.levels ?? 0) + 1
  if (levels <= MAX_LEVELS) return { before, steps, levels }
  throw tooDeep()
}

function tooDeep(): SchemaError {
  return new SchemaError(
    [],
    '',
    `the schema is too complex to enforce: it is nested more than ${MAX_LEVELS} levels deep.`,
  )
}

/**
 * Refuses at once what is nested so deeply that no place in it could be named: each level takes at most two of JSON.
 * Says whether any place bears a name that dynamic references ask for.
 */
function* refuseDepth(schema: unknown): Slices<boolean> {
  const open = [{ value: schema, depth: 0 }]
  const seen = new Set<unknown>()
  let dynamic = false
  let looked = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at
    if (depth > 2 * MAX_LEVELS) throw tooDeep()
    for (const key in value as object) {
      if (++looked % PLACES_TOGETHER === 0) yield
      if (DYNAMIC.has(key)) dynamic = true
      const inside = (value as Record<string, unknown>)[key]
      const plain = typeof inside !== 'object' || inside === null || VALUES.has(key)
      if (plain || seen.has(inside)) continue
      seen.add(inside)
      open.push({ value: inside, depth: depth + 1 })
    }
  }
  return dynamic
}

/** Places of a schema from one pause to the next. */
export const PLACES_TOGETHER = 2048

const DYNAMIC: ReadonlySet<string> = new Set(['$dynamicAnchor', '$recursiveAnchor'])

/** Keywords that hold values, which may be as deep as they like. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

function spelled(trail: Trail | undefined): SchemaPath {
  const parts: (string | number)[][] = []
  for (let at = trail; at !== undefined; at = at.before) parts.push([...at.steps])
  return parts.reverse().flat()
}

const DEFAULT_BASE = 'json-schema:///'
const DEFAULT_DRAFT = 2020

/** Holds a schema document, gives each subschema an identity and follows references inside the document. */
export class Document {
  readonly root: Site
  /** Accepts everything; stands for an absent schema. */
  readonly everything: Site
  readonly nothing: Site
  #next = 0
  readonly #first = new Map<object, Site>()
  /** What dynamic references may lead to, by the root of the resource it stands in and the name that is asked for. */
  readonly #dynamic = new Map<unknown, Map<string, Place>>()
  #index: Map<string, Place> | undefined

  /** `new Document` with pauses. */
  static *inSlices(schema: unknown): Slices<Document> {
    return new Document(schema, yield* refuseDepth(schema))
  }

  constructor(schema: unknown, dynamic = atOnce(refuseDepth(schema))) {
    const outer: Resource = { base: DEFAULT_BASE, root: schema, trail: undefined, draft: DEFAULT_DRAFT }
    const resource = resourceOf(schema, outer, undefined)
    const scope = new Scope()
    this.everything = new Site(this.#next++, true, resource, undefined, scope)
    this.nothing = new Site(this.#next++, false, resource, undefined, scope)
    if (dynamic) this.#index = this.#indexed(schema, resource)
    this.root = this.#site({ schema, resource, trail: undefined }, scope)
  }

  /** How many subschemas somebody has come to, so far. */
  get sites(): number {
    return this.#next
  }

  child(parent: Site, schema: unknown, ...steps: (string | number)[]): Site {
    if (typeof schema === 'object' && schema !== null) {
      const known = parent.scope.known(schema)
      if (known !== undefined) return known
      // Where it stands is the same in every scope.
      const elsewhere = this.#first.get(schema)
      if (elsewhere !== undefined) return this.#site(elsewhere, parent.scope)
    }
    const trail = below(parent.trail, steps)
    return this.#site({ schema, trail, resource: resourceOf(schema, parent.resource, trail) }, parent.scope)
  }

  #site({ schema, trail, resource }: Place, outside: Scope): Site {
    if (typeof schema === 'boolean') return schema ? this.everything : this.nothing
    if (!isRecord(schema))
      throw new SchemaError(spelled(trail), '', `a schema must be an object or a boolean, not ${typeName(schema)}.`)
    const places = this.#dynamic.get(resource.root)
    const scope = places === undefined ? outside : outside.within(places)
    return scope.site(schema, () => {
      const site = new Site(this.#next++, schema, resource, trail, scope)
      if (!this.#first.has(schema)) this.#first.set(schema, site)
      return site
    })
  }

  /** The subschema that a reference names. */
  resolve(from: Site, reference: string, keyword: string): Site {
    const hash = reference.indexOf('#')
    const address = hash < 0 ? reference : reference.slice(0, hash)
    const fragment = decodedPart(hash < 0 ? '' : reference.slice(hash + 1))
    if (address === '' && (fragment === '' || fragment.startsWith('/'))) {
      const found = this.#point(from.resource, fragment, from.scope)
      if (found !== undefined) return found
    } else {
      // An address of its own cannot be joined to every base: not to a `urn:`.
      const uri = address === '' ? from.resource.base : absolute(address, from.resource.base)
      const anchored = this.#lookup(`${uri}#${fragment}`)
      if (anchored !== undefined) return this.#site(anchored, from.scope)
      const holder = this.#lookup(`${uri}#`)
      const found = holder && this.#point(holder.resource, fragment, from.scope)
      if (found !== undefined) return found
    }
    throw new SchemaError(
      from.path,
      keyword,
      `reference can only point to definitions defined at the top level of the schema: '${reference}' names nothing in this document.`,
    )
  }

  /**
   * Where a `$dynamicRef` or a `$recursiveRef` leads: to the outermost place of that name among what was come through,
   * if what the reference itself names is one of them.
   */
  resolveDynamic(from: Site, reference: string, keyword: string): Site {
    const first = this.resolve(from, reference, keyword)
    const name = decodedPart(reference.slice(reference.indexOf('#') + 1))
    const own = this.#dynamic.get(first.resource.root)?.get(name)
    const outermost = own?.schema === first.schema ? from.scope.get(name) : undefined
    return outermost === undefined ? first : this.#site(outermost, from.scope)
  }

  #point(resource: Resource, pointer: string, scope: Scope): Site | undefined {
    let target = resource.root
    let trail = resource.trail
    let inside = resource
    if (pointer !== '') {
      if (!pointer.startsWith('/')) return undefined
      for (const escaped of pointer.slice(1).split('/')) {
        const step = pointerStep(escaped)
        if (Array.isArray(target) && /^\d+$/.test(step)) target = target[Number(step)]
        else if (isRecord(target) && Object.hasOwn(target, step)) target = target[step]
        else return undefined
        trail = below(trail, [step])
        inside = resourceOf(target, inside, trail)
      }
    }
    if (typeof target !== 'boolean' && !isRecord(target)) return undefined
    return this.#site({ schema: target, trail, resource: inside }, scope)
  }

  #lookup(uri: string): Place | undefined {
    this.#index ??= this.#indexed(this.root.schema, this.root.resource)
    return this.#index.get(uri)
  }

  #indexed(schema: unknown, resource: Resource): Map<string, Place> {
    const index = new Map<string, Place>()
    this.#collect({ schema, resource, trail: undefined }, index)
    return index
  }

  /** Every `$id`, `id`, `$anchor` and `$dynamicAnchor`, wherever a schema may stand. */
  #collect({ schema, resource: outer, trail }: Place, index: Map<string, Place>): void {
    if (Array.isArray(schema)) {
      schema.forEach((item, i) => {
        this.#collect({ schema: item, resource: outer, trail: below(trail, [i]) }, index)
      })
      return
    }
    if (!isRecord(schema)) return
    const resource = trail === undefined ? outer : resourceOf(schema, outer, trail)
    const place = { schema, resource, trail }
    const note = (fragment: string) => {
      const uri = `${resource.base}#${fragment}`
      if (!index.has(uri)) index.set(uri, place)
    }
    if (resource.root === schema) note('')
    for (const key of ['$anchor', '$dynamicAnchor']) if (typeof schema[key] === 'string') note(schema[key])
    // `$recursiveRef` is always `#`.
    const dynamic = schema.$recursiveAnchor === true ? '' : schema.$dynamicAnchor
    if (typeof dynamic === 'string') {
      const places = getOrMake(this.#dynamic, resource.root, () => new Map<string, Place>())
      if (!places.has(dynamic)) places.set(dynamic, place)
    }
    const id = schema.$id ?? schema.id
    if (typeof id === 'string' && id.startsWith('#')) note(id.slice(1))
    for (const key of Object.keys(schema)) {
      if (key !== 'enum' && key !== 'const' && key !== 'default' && key !== 'examples') {
        this.#collect({ schema: schema[key], resource, trail: below(trail, [key]) }, index)
      }
    }
  }
}

/** The resource that a subschema stands in: its own if it has an `$id`. */
function resourceOf(schema: unknown, outer: Resource, trail: Trail | undefined): Resource {
  if (!isRecord(schema)) return outer
  const draft = draftOf(schema.$schema) ?? outer.draft
  const id = draft === 4 && typeof schema.id === 'string' ? schema.id : schema.$id
  const named = typeof id === 'string' && !id.startsWith('#') && !(draft < 2019 && typeof schema.$ref === 'string')
  if (named) return { base: absolute(id.replace(/#.*$/, ''), outer.base), root: schema, trail, draft }
  return draft === outer.draft ? outer : { ...outer, draft }
}

function draftOf(uri: unknown): number | undefined {
  if (typeof uri !== 'string') return undefined
  const found = /json-schema\.org\/draft(?:\/(20\d\d)-\d\d|-0([3-7]))\//.exec(uri)
  if (found === null) return undefined
  return Number(found[1] ?? found[2])
}

function absolute(reference: string, base: string): string {
  try {
    return new URL(reference, base).href.replace(/#.*$/, '')
  } catch {
    return reference
  }
}

export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
