import { isRecord, pointerStep, referredTo } from '../../platform/index.js'

/** What is nested deeper is taken to be wanted. */
const DEEPEST = 64
const COMBINING = ['allOf', 'anyOf', 'oneOf'] as const
const CONDITIONAL = ['then', 'else'] as const

/** Whether a schema lets the property at `pointer` be left out: none of the schemas that may hold for it wants it. */
export function mayBeAbsent(schema: unknown, pointer: string): boolean {
  const names = namesOf(pointer)
  const last = names.pop()
  if (last === undefined) return false
  return !holdingBelow(schema, names).some(({ required }) => Array.isArray(required) && required.includes(last))
}

/** Whether the string at `pointer` is to be a quote, by any of the schemas that may hold for it. */
export const isQuote = (schema: unknown, pointer: string): boolean =>
  holdingBelow(schema, namesOf(pointer)).some((one) => one['x-quote'] === true)

const namesOf = (pointer: string): string[] => pointer.split('/').slice(1).map(pointerStep)

const holdingBelow = (schema: unknown, names: readonly string[]) =>
  names.reduce(
    (holding, name) =>
      holdingAt(
        holding.flatMap((one) => below(one, name)),
        schema,
      ),
    holdingAt([schema], schema),
  )

/** These, and those that they are put together from. */
function holdingAt(schemas: readonly unknown[], root: unknown): Readonly<Record<string, unknown>>[] {
  const found = new Set<Readonly<Record<string, unknown>>>()
  const add = (schema: unknown, depth: number): void => {
    if (!isRecord(schema) || found.has(schema) || depth > DEEPEST) return
    found.add(schema)
    if (typeof schema.$ref === 'string') add(referredTo(root, schema.$ref), depth + 1)
    for (const key of COMBINING) if (Array.isArray(schema[key])) for (const one of schema[key]) add(one, depth + 1)
    for (const key of CONDITIONAL) add(schema[key], depth + 1)
  }
  for (const schema of schemas) add(schema, 0)
  return [...found]
}

function below(schema: Readonly<Record<string, unknown>>, name: string): unknown[] {
  const { properties, prefixItems, items, additionalProperties, patternProperties } = schema
  const found: unknown[] = [items, additionalProperties]
  if (isRecord(properties) && Object.hasOwn(properties, name)) found.push(properties[name])
  if (Array.isArray(prefixItems)) found.push(prefixItems[Number(name)])
  if (isRecord(patternProperties)) found.push(...Object.values(patternProperties))
  return found
}
