/** Instances as the texts a grammar may generate: compact, keys in the order of the schema. */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type Schema = { readonly [keyword: string]: unknown }

/** How the order of keys follows from a schema whose properties are spread over several subschemas. */
export interface Strategy {
  /** Where `$ref` and `allOf` stand: before the schema's own `properties`, after them, or as written. */
  readonly parts: 'after' | 'before' | 'written'
  /** Which branches of `anyOf` and `oneOf` order keys: all, those that the instance may match, or the first of them. */
  readonly branches: 'all' | 'matching' | 'first'
  /** Whether the keys of `anyOf` and `oneOf` follow those that hold in any case. */
  readonly late: boolean
}

export const STRATEGIES: readonly Strategy[] = (['matching', 'first', 'all'] as const).flatMap((branches) =>
  (['after', 'before', 'written'] as const).flatMap((parts) => [
    { parts, branches, late: false },
    { parts, branches, late: true },
  ]),
)

const MAX_PARTS = 400

/** The distinct texts that an instance may be written as; the one with its keys as given comes last. */
export function textsOf(schema: unknown, data: unknown): string[] {
  const texts = STRATEGIES.map((strategy) => new Writer(schema, strategy).write(data as Json, [schema]))
  return [...new Set([...texts, ...inEachOrder(data).map((ordered) => JSON.stringify(ordered)), JSON.stringify(data)])]
}

/** More keys have too many orders. */
const FEW = 4

/** Where properties follow from what other subschemas deny, no strategy tells their order. */
function inEachOrder(data: unknown): unknown[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return []
  const members = Object.entries(data)
  return members.length > FEW ? [] : orders(members).map((ordered) => Object.fromEntries(ordered))
}

function orders<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((one, i) => orders([...all.slice(0, i), ...all.slice(i + 1)]).map((rest) => [one, ...rest]))
}

class Writer {
  private readonly root: unknown
  private readonly strategy: Strategy

  constructor(root: unknown, strategy: Strategy) {
    this.root = root
    this.strategy = strategy
  }

  write(data: Json, schemas: readonly unknown[]): string {
    if (typeof data !== 'object' || data === null) return JSON.stringify(data)
    const parts = this.parts(schemas, data)
    if (Array.isArray(data)) {
      return `[${data
        .map((item, i) =>
          this.write(
            item,
            parts.flatMap((part) => itemSchemas(part, i)),
          ),
        )
        .join(',')}]`
    }
    const object = data as { readonly [key: string]: Json }
    const members = this.order(parts, Object.keys(object)).map(
      (key) =>
        `${JSON.stringify(key)}:${this.write(
          object[key]!,
          parts.flatMap((part) => memberSchemas(part, key)),
        )}`,
    )
    return `{${members.join(',')}}`
  }

  private order(parts: readonly Schema[], keys: readonly string[]): string[] {
    const rest = new Set(keys)
    const ordered: string[] = []
    for (const part of parts) {
      for (const key of Object.keys((part.properties as object | undefined) ?? {}))
        if (rest.delete(key)) ordered.push(key)
    }
    for (const part of parts) {
      for (const key of Array.isArray(part.required) ? part.required : []) if (rest.delete(key)) ordered.push(key)
    }
    return [...ordered, ...rest]
  }

  /** The subschemas that bear on one value, in the order in which their properties are written. */
  private parts(schemas: readonly unknown[], data: Json): Schema[] {
    const found: Schema[] = []
    const seen = new Set<unknown>()
    const late: unknown[] = []
    const visit = (schema: unknown) => {
      if (typeof schema !== 'object' || schema === null || seen.has(schema) || found.length > MAX_PARTS) return
      seen.add(schema)
      const part = schema as Schema
      if (this.strategy.parts === 'after') found.push(part)
      for (const keyword of Object.keys(part)) {
        if (this.strategy.late && (keyword === 'anyOf' || keyword === 'oneOf')) {
          late.push(...this.applied(part, keyword, data))
          continue
        }
        if (this.strategy.parts === 'written' && keyword === 'properties') found.push(part)
        for (const inner of this.applied(part, keyword, data)) visit(inner)
      }
      if (this.strategy.parts === 'before' || (this.strategy.parts === 'written' && !('properties' in part)))
        found.push(part)
    }
    schemas.forEach(visit)
    for (let i = 0; i < late.length; i++) visit(late[i])
    return found
  }

  private applied(part: Schema, keyword: string, data: Json): unknown[] {
    const value = part[keyword]
    if (keyword === '$ref' && typeof value === 'string') return [this.resolve(value)]
    if (keyword === 'allOf' && Array.isArray(value)) return value
    if ((keyword === 'anyOf' || keyword === 'oneOf') && Array.isArray(value)) {
      if (this.strategy.branches === 'all') return value
      const matching = value.filter((branch) => this.mayMatch(branch, data, 0))
      return this.strategy.branches === 'first' ? matching.slice(0, 1) : matching
    }
    if (keyword === 'if' || keyword === 'then' || keyword === 'else') return [value]
    if (keyword === 'dependentSchemas' || keyword === 'dependencies') return Object.values(value as object)
    return []
  }

  /** A cheap look at types, constants, required and closed keys. */
  private mayMatch(schema: unknown, data: Json, depth: number): boolean {
    if (typeof schema !== 'object' || schema === null || depth > 8) return schema !== false
    const part = schema as Schema
    if (typeof part.$ref === 'string' && !this.mayMatch(this.resolve(part.$ref), data, depth + 1)) return false
    if (part.type !== undefined && ![part.type].flat().some((type) => isOfType(data, type))) return false
    if ('const' in part && JSON.stringify(part.const) !== JSON.stringify(data)) return false
    if (Array.isArray(part.enum) && !part.enum.some((value) => JSON.stringify(value) === JSON.stringify(data)))
      return false
    for (const all of Array.isArray(part.allOf) ? part.allOf : [])
      if (!this.mayMatch(all, data, depth + 1)) return false
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return true
    const object = data as { readonly [key: string]: Json }
    const properties = (part.properties ?? {}) as { readonly [key: string]: unknown }
    if (Array.isArray(part.required) && part.required.some((key) => !Object.hasOwn(object, key))) return false
    return Object.keys(object).every((key) =>
      Object.hasOwn(properties, key)
        ? this.mayMatch(properties[key], object[key]!, depth + 1)
        : part.additionalProperties !== false || part.patternProperties !== undefined,
    )
  }

  private resolve(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined
    let at: unknown = this.root
    for (const step of decodeURIComponent(reference.slice(1)).split('/').slice(1)) {
      at = (at as Schema | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
    }
    return at
  }
}

function isOfType(data: Json, type: unknown): boolean {
  if (type === 'null') return data === null
  if (type === 'array') return Array.isArray(data)
  if (type === 'object') return typeof data === 'object' && data !== null && !Array.isArray(data)
  if (type === 'integer') return Number.isInteger(data)
  return typeof data === type
}

function itemSchemas(part: Schema, index: number): unknown[] {
  const prefix = Array.isArray(part.prefixItems) ? part.prefixItems : Array.isArray(part.items) ? part.items : []
  if (index < prefix.length) return [prefix[index], part.contains]
  return [Array.isArray(part.items) ? part.additionalItems : part.items, part.contains]
}

function memberSchemas(part: Schema, key: string): unknown[] {
  const schemas: unknown[] = []
  const properties = part.properties as Schema | undefined
  if (properties !== undefined && Object.hasOwn(properties, key)) schemas.push(properties[key])
  for (const [pattern, schema] of Object.entries((part.patternProperties ?? {}) as Schema)) {
    if (matches(pattern, key)) schemas.push(schema)
  }
  return schemas.length > 0 ? schemas : [part.additionalProperties]
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(key)
  } catch {
    return false
  }
}
