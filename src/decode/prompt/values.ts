/** The library's values, which it keeps the classes of to itself. */
import { Environment, type Interpreter } from '@huggingface/jinja'

/** As far as they are looked at here. */
export interface Value {
  readonly type: string
  readonly value: unknown
  toString(): string
  __bool__(): { readonly value: boolean }
}
export type Statement = NonNullable<Parameters<Interpreter['evaluate']>[0]>
export type FunctionOf = (args: Value[], scope: Environment) => Value
/** A node of a parsed template. */
export interface Node extends Record<string, unknown> {
  readonly type: string
}

export const made = (value: unknown): Value => new Environment().set('value', value) as unknown as Value

/** What is not there. */
export const absent = (): Value => made(undefined)

export function listOf(values: Iterable<Value>): Value {
  const list = made([])
  ;(list.value as Value[]).push(...values)
  return list
}

const FunctionValue = made(() => null).constructor as new (call: FunctionOf) => Value

export const functionOf = (call: FunctionOf): Value => new FunctionValue(call)

export const isAbsent = (value: Value): boolean => value.type === 'UndefinedValue'
export const isNone = (value: Value): boolean => value.type === 'NullValue'

export function itemsOf({ value }: Value): readonly Value[] | undefined {
  return Array.isArray(value) ? (value as Value[]) : undefined
}

export function entriesOf({ type, value }: Value): ReadonlyMap<unknown, Value> | undefined {
  return value instanceof Map && type !== 'NamespaceValue' ? value : undefined
}

/** What a loop goes through; nothing: it is not to be gone through. */
export function iterated(value: Value): readonly Value[] | undefined {
  if (isAbsent(value)) return []
  if (typeof value.value === 'string') return Array.from(value.value, made)
  const entries = entriesOf(value)
  return entries ? [...entries.keys()].map(made) : itemsOf(value)
}

export function isEqual(one: Value, other: Value): boolean {
  const [a, b] = [one.value, other.value]
  if (a === b) return isNone(one) === isNone(other) && isAbsent(one) === isAbsent(other)
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length || (one.type === 'TupleValue') !== (other.type === 'TupleValue')) return false
    return a.every((each, i) => isEqual(each as Value, b[i] as Value))
  }
  if (a instanceof Map && b instanceof Map) {
    if (a.size !== b.size) return false
    return [...(a as Map<unknown, Value>)].every(([key, each]) => b.has(key) && isEqual(each, b.get(key) as Value))
  }
  const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'
  return isNumber(a) && isNumber(b) && Number(a) === Number(b)
}
