import { SchemaError, type SchemaPath } from '../schema-error.js'
import { has, isObject } from './json.js'

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

/** A subschema and where it stands. One per schema object, so that recursion meets itself. */
export class Site {
  readonly id: number
  readonly schema: Schema
  readonly resource: Resource
  readonly trail: Trail | undefined

  constructor(id: number, schema: Schema, resource: Resource, trail: Trail | undefined) {
    this.id = id
    this.schema = schema
    this.resource = resource
    this.trail = trail
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

/** Refuses at once what is nested so deeply that no place in it could be named: each level takes at most two of JSON. */
function refuseDepth(schema: unknown): void {
  const open = [{ value: schema, depth: 0 }]
  const seen = new Set<unknown>()
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at
    if (depth > 2 * MAX_LEVELS) throw tooDeep()
    for (const key in value as object) {
      const inside = (value as Record<string, unknown>)[key]
      const plain = typeof inside !== 'object' || inside === null || VALUES.has(key)
      if (plain || seen.has(inside)) continue
      seen.add(inside)
      open.push({ value: inside, depth: depth + 1 })
    }
  }
}

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
  readonly #sites = new Map<object, Site>()
  /** The places that `$dynamicRef` or `$recursiveRef` may lead to, by the name that is asked for. */
  readonly #dynamic = new Map<string, { schema: unknown; resource: Resource; trail: Trail | undefined }[]>()
  #index: Map<string, { target: unknown; resource: Resource; trail: Trail | undefined }> | undefined

  constructor(schema: unknown) {
    refuseDepth(schema)
    const outer: Resource = { base: DEFAULT_BASE, root: schema, trail: undefined, draft: DEFAULT_DRAFT }
    const resource = resourceOf(schema, outer, undefined)
    this.everything = new Site(this.#next++, true, resource, undefined)
    this.nothing = new Site(this.#next++, false, resource, undefined)
    this.root = this.#site(schema, undefined, resource)
  }

  child(parent: Site, schema: unknown, ...steps: (string | number)[]): Site {
    if (typeof schema === 'object' && schema !== null) {
      const known = this.#sites.get(schema)
      if (known !== undefined) return known
    }
    const trail = below(parent.trail, steps)
    return this.#site(schema, trail, resourceOf(schema, parent.resource, trail))
  }

  #site(schema: unknown, trail: Trail | undefined, resource: Resource): Site {
    if (typeof schema === 'boolean') return schema ? this.everything : this.nothing
    if (!isObject(schema))
      throw new SchemaError(spelled(trail), '', `a schema must be an object or a boolean, not ${typeName(schema)}.`)
    const known = this.#sites.get(schema)
    if (known !== undefined) return known
    const site = new Site(this.#next++, schema, resource, trail)
    this.#sites.set(schema, site)
    return site
  }

  /** The subschema that a reference names. */
  resolve(from: Site, reference: string, keyword: string): Site {
    const hash = reference.indexOf('#')
    const address = hash < 0 ? reference : reference.slice(0, hash)
    const fragment = decodeFragment(hash < 0 ? '' : reference.slice(hash + 1))
    if (address === '' && (fragment === '' || fragment.startsWith('/'))) {
      const found = this.#point(from.resource, fragment)
      if (found !== undefined) return found
    } else {
      // An address of its own cannot be joined to every base: not to a `urn:`.
      const uri = address === '' ? from.resource.base : absolute(address, from.resource.base)
      const anchored = this.#lookup(`${uri}#${fragment}`)
      if (anchored !== undefined) return this.#site(anchored.target, anchored.trail, anchored.resource)
      const holder = this.#lookup(`${uri}#`)
      const found = holder && this.#point(holder.resource, fragment)
      if (found !== undefined) return found
    }
    throw new SchemaError(
      from.path,
      keyword,
      `reference can only point to definitions defined at the top level of the schema: '${reference}' names nothing in this document.`,
    )
  }

  /**
   * Where a `$dynamicRef` or a `$recursiveRef` leads, if that does not depend on what led to it: to the outermost place of
   * that name, which is the document's own where it has one, since all that is looked at begins there.
   */
  resolveDynamic(from: Site, reference: string, keyword: string): Site | undefined {
    this.#lookup('')
    const first = this.resolve(from, reference, keyword)
    const places = this.#dynamic.get(decodeFragment(reference.slice(reference.indexOf('#') + 1))) ?? []
    if (!places.some(({ schema }) => schema === first.schema)) return first
    const outermost = places.find(({ resource }) => resource.root === this.root.schema)
    if (outermost !== undefined) return this.#site(outermost.schema, outermost.trail, outermost.resource)
    return places.length === 1 ? first : undefined
  }

  #point(resource: Resource, pointer: string): Site | undefined {
    let target = resource.root
    let trail = resource.trail
    let inside = resource
    if (pointer !== '') {
      if (!pointer.startsWith('/')) return undefined
      for (const escaped of pointer.slice(1).split('/')) {
        const step = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
        if (Array.isArray(target) && /^\d+$/.test(step)) target = target[Number(step)]
        else if (isObject(target) && has(target, step)) target = target[step]
        else return undefined
        trail = below(trail, [step])
        inside = resourceOf(target, inside, trail)
      }
    }
    if (typeof target !== 'boolean' && !isObject(target)) return undefined
    return this.#site(target, trail, inside)
  }

  #lookup(uri: string) {
    if (this.#index === undefined) {
      this.#index = new Map()
      const root = this.root
      this.#collect(root.schema, root.resource, undefined)
    }
    return this.#index.get(uri)
  }

  /** Every `$id`, `id`, `$anchor` and `$dynamicAnchor`, wherever a schema may stand. */
  #collect(value: unknown, outer: Resource, trail: Trail | undefined): void {
    if (Array.isArray(value)) {
      value.forEach((item, i) => {
        this.#collect(item, outer, below(trail, [i]))
      })
      return
    }
    if (!isObject(value)) return
    const resource = trail === undefined ? outer : resourceOf(value, outer, trail)
    const index = this.#index!
    const note = (fragment: string) => {
      const uri = `${resource.base}#${fragment}`
      if (!index.has(uri)) index.set(uri, { target: value, resource, trail })
    }
    if (resource.root === value) note('')
    for (const key of ['$anchor', '$dynamicAnchor']) if (typeof value[key] === 'string') note(value[key])
    // `$recursiveRef` is always `#`.
    const dynamic = value.$recursiveAnchor === true ? '' : value.$dynamicAnchor
    if (typeof dynamic === 'string') {
      this.#dynamic.set(dynamic, [...(this.#dynamic.get(dynamic) ?? []), { schema: value, resource, trail }])
    }
    const id = value.$id ?? value.id
    if (typeof id === 'string' && id.startsWith('#')) note(id.slice(1))
    for (const key of Object.keys(value)) {
      if (key !== 'enum' && key !== 'const' && key !== 'default' && key !== 'examples') {
        this.#collect(value[key], resource, below(trail, [key]))
      }
    }
  }
}

/** The resource that a subschema stands in: its own if it has an `$id`. */
function resourceOf(schema: unknown, outer: Resource, trail: Trail | undefined): Resource {
  if (!isObject(schema)) return outer
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

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
