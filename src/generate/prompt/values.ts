/** The library's values, which it keeps the classes of to itself. */
import { Environment, type Interpreter } from '@huggingface/jinja'

/** As far as they are looked at here. */
export interface TemplateValue {
  readonly type: string
  readonly value: unknown
  toString(): string
  __bool__(): { readonly value: boolean }
}
export type Statement = NonNullable<Parameters<Interpreter['evaluate']>[0]>
export type FunctionOf = (args: TemplateValue[], scope: Environment) => TemplateValue
/** A node of a parsed template. */
export interface TemplateNode extends Record<string, unknown> {
  readonly type: string
}

export const templateValue = (value: unknown): TemplateValue =>
  new Environment().set('value', value) as unknown as TemplateValue

/** What is not there. */
export const absent = (): TemplateValue => templateValue(undefined)

export function templateList(values: Iterable<TemplateValue>): TemplateValue {
  const list = templateValue([])
  ;(list.value as TemplateValue[]).push(...values)
  return list
}

const FunctionValue = templateValue(() => null).constructor as new (call: FunctionOf) => TemplateValue

export const functionOf = (call: FunctionOf): TemplateValue => new FunctionValue(call)

export const isAbsent = (value: TemplateValue): boolean => value.type === 'UndefinedValue'
export const isNone = (value: TemplateValue): boolean => value.type === 'NullValue'

export function itemsOf({ value }: TemplateValue): readonly TemplateValue[] | undefined {
  return Array.isArray(value) ? (value as TemplateValue[]) : undefined
}

export function mapEntries({ type, value }: TemplateValue): ReadonlyMap<unknown, TemplateValue> | undefined {
  return value instanceof Map && type !== 'NamespaceValue' ? value : undefined
}

/** What a loop goes through; nothing: it is not to be gone through. */
export function iterated(value: TemplateValue): readonly TemplateValue[] | undefined {
  if (isAbsent(value)) return []
  if (typeof value.value === 'string') return Array.from(value.value, templateValue)
  const entries = mapEntries(value)
  return entries ? [...entries.keys()].map(templateValue) : itemsOf(value)
}

export function isEqual(one: TemplateValue, other: TemplateValue): boolean {
  const [a, b] = [one.value, other.value]
  if (a === b) return isNone(one) === isNone(other) && isAbsent(one) === isAbsent(other)
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length || (one.type === 'TupleValue') !== (other.type === 'TupleValue')) return false
    return a.every((each, i) => isEqual(each as TemplateValue, b[i] as TemplateValue))
  }
  if (a instanceof Map && b instanceof Map) {
    if (a.size !== b.size) return false
    return [...(a as Map<unknown, TemplateValue>)].every(
      ([key, each]) => b.has(key) && isEqual(each, b.get(key) as TemplateValue),
    )
  }
  const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'
  return isNumber(a) && isNumber(b) && Number(a) === Number(b)
}
