import { getOrMake, isRecord, keptError } from '../../platform/index.js'
import type { TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { ANNOTATIONS } from '../keywords/annotations.js'
import { SchemaError } from '../schema-error.js'
import type { Layout } from '../values/format.js'
import type { Document, Schema, Site } from './document.js'
import type { Atom } from './part.js'
import type { Quotes } from './quotes.js'

/**
 * What names of `format` mean that are one's own, before those that are known: the pattern that a text matches, or
 * `true` where the name only describes.
 */
export type Formats = Readonly<Record<string, string | true>>

/** What all parts of one compilation share. */
export class Context {
  readonly document: Document
  /** Of what is done now: whoever goes on with what was read may have other fuel. */
  fuel: Fuel
  /** Lenient: what cannot be enforced is noted here and left out. Strict: absent, and refused. */
  readonly ignored: SchemaError[] | undefined
  readonly layout: Layout
  readonly #formats: Formats
  /** Absent: there is nothing to quote from. */
  readonly quotes: Quotes | undefined
  /** By source: each is paid for once, whatever was compiled before this document. */
  readonly patterns = new Map<string, TextAutomaton>()
  /** What was compiled before it was asked for, or why it cannot be, with its cost, which is paid by whoever asks. */
  readonly foreseen = new Map<string, { readonly made: () => TextAutomaton; readonly cost: number }>()
  /** What each place says, for `keywords/reading.ts` to read once. */
  readonly readings = new Map<Site, readonly object[]>()
  /** What each place says of many properties, read before it was asked for, or why it cannot be read. */
  readonly properties = new Map<Site, () => ReadonlyMap<string, Atom>>()
  readonly #atoms = new Map<number, Atom>()
  readonly #types = new Map<string, Site>()

  readonly #madeUp = new Map<string, Schema>()

  constructor(
    document: Document,
    fuel: Fuel,
    layout: Layout,
    ignored: SchemaError[] | undefined,
    formats: Formats = {},
    quotes?: Quotes,
  ) {
    this.document = document
    this.fuel = fuel
    this.layout = layout
    this.ignored = ignored
    this.#formats = formats
    this.quotes = quotes
  }

  /** What a name of `format` means that is the caller's own; undefined: it is none. */
  ownFormat(name: string): string | true | undefined {
    return Object.hasOwn(this.#formats, name) ? this.#formats[name] : undefined
  }

  atom(site: Site, negated = false): Atom {
    if (negated && typeof site.schema === 'boolean') {
      return this.atom(site.schema ? this.document.nothing : this.document.everything)
    }
    const id = site.id * 2 + (negated ? 1 : 0)
    return getOrMake(this.#atoms, id, () => {
      const target = this.#target(site)
      return target === site ? { id, site, negated } : this.atom(target, negated)
    })
  }

  not(atom: Atom): Atom {
    return this.atom(atom.site, !atom.negated)
  }

  child(parent: Site, schema: unknown, ...steps: (string | number)[]): Atom {
    return this.atom(this.document.child(parent, schema, ...steps))
  }

  /** A schema that the document only implies; the same one for the same name. */
  madeUp(name: string, make: () => Schema): Schema {
    return getOrMake(this.#madeUp, name, make)
  }

  /** What a lone reference stands for, so that one place has one identity however it is reached. */
  #target(site: Site): Site {
    const seen = new Set<Site>()
    let at = site
    while (isRecord(at.schema) && typeof at.schema.$ref === 'string' && (ignoresSiblings(at) || isLone(at.schema))) {
      if (seen.has(at)) throw refusal(at, '$ref', 'the reference leads back to itself.')
      seen.add(at)
      at = this.#resolved(at, at.schema.$ref)
    }
    return this.#typical(at)
  }

  /** As `follow`, of a dynamic reference. */
  followDynamic(site: Site, reference: string, keyword: string): Atom {
    try {
      return this.atom(this.document.resolveDynamic(site, reference, keyword))
    } catch (error) {
      this.refuse(error)
      return this.atom(this.document.everything)
    }
  }

  /** The subschema that a reference names; where it names none, and that is let pass, what admits everything. */
  follow(site: Site, reference: string): Atom {
    return this.atom(this.#resolved(site, reference))
  }

  #resolved(site: Site, reference: string): Site {
    try {
      return this.document.resolve(site, reference, '$ref')
    } catch (error) {
      this.refuse(error)
      return this.document.everything
    }
  }

  /** Schemas that say no more than `type`, or nothing, are one: large documents have thousands of `{"type": "string"}`. */
  #typical(site: Site): Site {
    const { schema } = site
    if (typeof schema === 'boolean' || schema.$ref !== undefined) return site
    for (const key in schema) if (key !== 'type' && !ANNOTATIONS.has(key)) return site
    if (schema.type === undefined) return this.document.everything
    if (typeof schema.type !== 'string') return site
    const known = this.#types.get(schema.type)
    if (known === undefined) this.#types.set(schema.type, site)
    return known ?? site
  }

  /** Strict: throws. Lenient: notes what is left out. */
  refuse(error: unknown): void {
    if (this.ignored === undefined || !(error instanceof SchemaError)) throw error
    const same = this.ignored.some((known) => known.message === error.message && samePath(known, error))
    if (!same) this.ignored.push(keptError(error))
  }
}

function samePath(a: SchemaError, b: SchemaError): boolean {
  return a.keyword === b.keyword && a.path.length === b.path.length && a.path.every((step, i) => step === b.path[i])
}

/** Up to draft 7 a reference hides whatever stands beside it. */
export function ignoresSiblings(site: Site): boolean {
  return site.resource.draft < 2019
}

function isLone(schema: Schema): boolean {
  return Object.keys(schema).every((key) => key === '$ref' || ANNOTATIONS.has(key))
}

export function refusal(site: Site, keyword: string, message: string): SchemaError {
  return new SchemaError(site.path, keyword, message)
}
