import { canonical, getOrMake, isRecord } from '../../platform/index.js'
import { ANNOTATIONS } from '../keywords/annotations.js'
import type { Context } from './context.js'
import { readConstant, readConstants, readType } from './keywords.js'
import { ANY, ARRAY, type Atom, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE } from './part.js'

interface Facts {
  readonly kinds: number
  readonly allowed: ReadonlySet<string> | undefined
  readonly denied: ReadonlySet<string> | undefined
}

const NO_FACTS: Facts = { kinds: ANY, allowed: undefined, denied: undefined }
const PLAIN = new Set([...ANNOTATIONS, 'type', 'enum', 'const'])

/** Properties that are tried as what tells alternatives apart. */
const MOST_TRIED = 8

/** What can be said of a schema from its own `type`, `enum` and `const`, without looking further. */
export class Shallow {
  readonly #facts = new Map<number, Facts>()
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** True only if no value satisfies all of these. */
  contradict(atoms: readonly Atom[]): boolean {
    let kinds = ANY
    let allowed: ReadonlySet<string> | undefined
    for (const atom of atoms) {
      const facts = this.#of(atom)
      kinds &= facts.kinds
      if (facts.allowed === undefined) continue
      allowed = allowed === undefined ? facts.allowed : new Set([...allowed].filter((text) => facts.allowed!.has(text)))
    }
    if (kinds === 0) return true
    if (allowed === undefined) return false
    for (const text of allowed) {
      if ((bitOf(text) & kinds) !== 0 && !atoms.some((atom) => this.#of(atom).denied?.has(text))) return false
    }
    return true
  }

  /** True only if no value satisfies both, to be told from a property that one requires and both describe. */
  apart(a: Atom, b: Atom): boolean {
    if (this.contradict([a, b])) return true
    const [left, right] = [a, b].map((atom) => atom.site.schema)
    if (a.negated || b.negated || !isRecord(left) || !isRecord(right)) return false
    if ((this.#of(a).kinds & this.#of(b).kinds) !== OBJECT || left.$ref !== undefined || right.$ref !== undefined)
      return false
    if (!isRecord(left.properties) || !isRecord(right.properties)) return false
    for (const key of [left.required, right.required].flat()) {
      if (typeof key !== 'string' || !Object.hasOwn(left.properties, key) || !Object.hasOwn(right.properties, key))
        continue
      const atoms = [a, b].map((atom, i) => {
        const properties = (i === 0 ? left.properties : right.properties) as Record<string, unknown>
        return this.#context.child(atom.site, properties[key], 'properties', key)
      })
      this.#context.fuel.spend(2)
      if (this.contradict(atoms)) return true
    }
    return false
  }

  /** Objects that say nothing of one another's properties: they surely share a value, if each has one. */
  independent(a: Atom, b: Atom): boolean {
    const [left, right] = [a.site.schema, b.site.schema]
    if (a.negated || b.negated || !isOpenObject(left) || !isOpenObject(right)) return false
    this.#context.fuel.spend(2)
    return Object.keys(left.properties).every((key) => !Object.hasOwn(right.properties, key))
  }

  /**
   * The pairs of alternatives that may share a value. Where all require one property that tells them apart, only those
   * of one value there are looked at: hundreds of alternatives have tens of thousands of pairs.
   */
  *pairs(atoms: readonly Atom[]): Iterable<readonly [number, number]> {
    const tags = this.#tagsOf(atoms)
    const { fuel } = this.#context
    const byTag = new Map<string, number[]>()
    for (let j = 0; j < atoms.length; j++) {
      const others = tags === undefined ? Array.from({ length: j }, (_, i) => i) : new Set<number>()
      for (const tag of tags?.[j] ?? []) {
        const same = byTag.get(tag) ?? []
        for (const i of same) (others as Set<number>).add(i)
        byTag.set(tag, [...same, j])
      }
      for (const i of others) {
        fuel.spend(10)
        if (!this.apart(atoms[i]!, atoms[j]!)) yield [i, j]
      }
    }
  }

  /** What a property may be that all alternatives require and list the values of; undefined if there is none. */
  #tagsOf(atoms: readonly Atom[]): readonly ReadonlySet<string>[] | undefined {
    const schema = atoms[0]?.site.schema
    if (!isRecord(schema) || !Array.isArray(schema.required)) return undefined
    for (const key of schema.required.slice(0, MOST_TRIED)) {
      const tags: ReadonlySet<string>[] = []
      for (const atom of atoms) {
        const allowed = this.#tagOf(atom, key)
        if (allowed === undefined) break
        tags.push(allowed)
      }
      if (tags.length === atoms.length) return tags
    }
    return undefined
  }

  #tagOf(atom: Atom, key: unknown): ReadonlySet<string> | undefined {
    const { schema } = atom.site
    this.#context.fuel.spend(2)
    if (atom.negated || !isRecord(schema) || schema.$ref !== undefined || typeof key !== 'string') return undefined
    const { required, properties } = schema
    if (this.#of(atom).kinds !== OBJECT || !Array.isArray(required) || !required.includes(key)) return undefined
    if (!isRecord(properties) || !Object.hasOwn(properties, key)) return undefined
    return this.#of(this.#context.child(atom.site, properties[key], 'properties', key)).allowed
  }

  #of(atom: Atom): Facts {
    return getOrMake(this.#facts, atom.id, () => this.#read(atom))
  }

  #read(atom: Atom): Facts {
    const schema = atom.site.schema
    if (typeof schema === 'boolean') return schema ? NO_FACTS : { ...NO_FACTS, kinds: 0 }
    this.#context.fuel.spend(1)
    if (typeof schema.$ref === 'string') return NO_FACTS
    let values: Set<string> | undefined
    if (schema.enum !== undefined) values = new Set(readConstants(atom.site, schema.enum).map(canonical))
    else if ('const' in schema && atom.site.resource.draft >= 6) {
      values = new Set([canonical(readConstant(atom.site, 'const', schema.const))])
    }
    const type = schema.type === undefined ? undefined : readType(atom.site, schema)
    if (!atom.negated) return { kinds: type?.kinds ?? ANY, allowed: values, denied: undefined }
    const plain = Object.keys(schema).every((key) => PLAIN.has(key))
    if (!plain || ('enum' in schema && 'const' in schema)) return NO_FACTS
    if (values === undefined)
      return { ...NO_FACTS, kinds: type === undefined ? 0 : type.integer ? ANY : ANY & ~type.kinds }
    return type === undefined ? { ...NO_FACTS, denied: values } : NO_FACTS
  }
}

const OPEN = new Set([...ANNOTATIONS, 'type', 'properties', 'required'])

/** One whose properties are all listed, and that lets others be. */
function isOpenObject(schema: unknown): schema is { properties: Record<string, unknown> } {
  if (!isRecord(schema) || schema.type !== 'object' || !isRecord(schema.properties)) return false
  return Object.keys(schema).every((key) => OPEN.has(key))
}

function bitOf(text: string): number {
  if (text === 'true') return TRUE
  if (text === 'false') return FALSE
  switch (text[0]) {
    case '{':
      return OBJECT
    case '[':
      return ARRAY
    case '"':
      return STRING
    case 'n':
      return NULL
    default:
      return NUMBER
  }
}

export function kindBit(value: unknown): number {
  if (typeof value === 'boolean') return value ? TRUE : FALSE
  if (typeof value === 'number') return NUMBER
  if (typeof value === 'string') return STRING
  return value === null ? NULL : Array.isArray(value) ? ARRAY : OBJECT
}
