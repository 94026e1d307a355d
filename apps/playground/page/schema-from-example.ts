/** A schema made from a document that shows what is wanted. */
export interface MadeSchema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly properties?: Readonly<Record<string, MadeSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false
  readonly items?: MadeSchema
  readonly anyOf?: readonly MadeSchema[]
}

export function schemaFromExample(value: unknown): MadeSchema {
  if (value === null) return { type: 'null' }
  if (Array.isArray(value)) {
    const [first, ...rest] = value.map(schemaFromExample)
    return { type: 'array', items: rest.reduce(either, first ?? { type: 'string' }) }
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value).map(([name, each]) => [name, schemaFromExample(each)] as const)
    return object(Object.fromEntries(entries), Object.keys(value))
  }
  if (typeof value === 'string') {
    return /^\d{4}-\d{2}-\d{2}$/.test(value) ? { type: 'string', format: 'date' } : { type: 'string' }
  }
  if (typeof value === 'number') return { type: Number.isInteger(value) ? 'integer' : 'number' }
  return { type: 'boolean' }
}

const object = (properties: Readonly<Record<string, MadeSchema>>, required: readonly string[]): MadeSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** What allows both. */
function either(a: MadeSchema, b: MadeSchema): MadeSchema {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (a.anyOf || b.anyOf) return anyOf([...(a.anyOf ?? [a]), ...(b.anyOf ?? [b])])
  if (a.type === 'object' && b.type === 'object') return bothObjects(a, b)
  if (a.type === 'array' && b.type === 'array' && a.items && b.items) {
    return { type: 'array', items: either(a.items, b.items) }
  }
  if (a.type === b.type) return { type: a.type }
  const types = [a.type, b.type].flat() as string[]
  if (types.every((type) => type === 'integer' || type === 'number')) return { type: 'number' }
  const simple = types.every((type) => type !== 'object' && type !== 'array')
  return simple ? { type: [...new Set(types)] } : { anyOf: [a, b] }
}

function bothObjects(a: MadeSchema, b: MadeSchema): MadeSchema {
  const [left, right] = [a.properties ?? {}, b.properties ?? {}]
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  const properties = names.map((name) => {
    const [one, other] = [own(left, name), own(right, name)]
    return [name, one && other ? either(one, other) : ((one ?? other) as MadeSchema)] as const
  })
  const required = names.filter((name) => a.required?.includes(name) && b.required?.includes(name))
  return object(Object.fromEntries(properties), required)
}

const own = (from: Readonly<Record<string, MadeSchema>>, name: string): MadeSchema | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined

function anyOf(schemas: readonly MadeSchema[]): MadeSchema {
  return { anyOf: [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()] }
}
