import { ANNOTATIONS } from '../keywords/annotations.js'
import type { Context } from './context.js'
import { canonical, has, isObject, kindOf } from './json.js'
import { readConstant, readConstants, readType } from './keywords.js'
import { ANY, ARRAY, type Atom, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE } from './part.js'

interface Facts {
  readonly kinds: number
  readonly allowed: ReadonlySet<string> | undefined
  readonly denied: ReadonlySet<string> | undefined
}

const NO_FACTS: Facts = { kinds: ANY, allowed: undefined, denied: undefined }
const PLAIN = new Set([...ANNOTATIONS, 'type', 'enum', 'const'])

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
    if (a.negated || b.negated || !isObject(left) || !isObject(right)) return false
    if ((this.#of(a).kinds & this.#of(b).kinds) !== OBJECT || left.$ref !== undefined || right.$ref !== undefined)
      return false
    if (!isObject(left.properties) || !isObject(right.properties)) return false
    for (const key of [left.required, right.required].flat()) {
      if (typeof key !== 'string' || !has(left.properties, key) || !has(right.properties, key)) continue
      const atoms = [a, b].map((atom, i) => {
        const properties = (i === 0 ? left.properties : right.properties) as Record<string, unknown>
        return this.#context.child(atom.site, properties[key], 'properties', key)
      })
      this.#context.fuel.spend(2)
      if (this.contradict(atoms)) return true
    }
    return false
  }

  #of(atom: Atom): Facts {
    let facts = this.#facts.get(atom.id)
    if (facts === undefined) {
      facts = this.#read(atom)
      this.#facts.set(atom.id, facts)
    }
    return facts
  }

  #read(atom: Atom): Facts {
    const schema = atom.site.schema
    if (typeof schema === 'boolean') return schema ? NO_FACTS : { ...NO_FACTS, kinds: 0 }
    this.#context.fuel.spend(1)
    if (typeof schema.$ref === 'string') return NO_FACTS
    let values: Set<string> | undefined
    if (schema.enum !== undefined) values = new Set(readConstants(atom.site, 'enum', schema.enum).map(canonical))
    else if ('const' in schema && atom.site.resource.draft >= 6) {
      values = new Set([canonical(readConstant(atom.site, 'const', schema.const))])
    }
    const type = schema.type === undefined ? undefined : readType(atom.site, schema.type)
    if (!atom.negated) return { kinds: type?.kinds ?? ANY, allowed: values, denied: undefined }
    const plain = Object.keys(schema).every((key) => PLAIN.has(key))
    if (!plain || ('enum' in schema && 'const' in schema)) return NO_FACTS
    if (values === undefined)
      return { ...NO_FACTS, kinds: type === undefined ? 0 : type.integer ? ANY : ANY & ~type.kinds }
    return type === undefined ? { ...NO_FACTS, denied: values } : NO_FACTS
  }
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
  return { null: NULL, number: NUMBER, string: STRING, array: ARRAY, object: OBJECT, boolean: 0 }[kindOf(value)]
}
