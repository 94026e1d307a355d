/** Filters and tests as Python's Jinja has them, where the library has none, another one, or one for fewer values. */
import type { Environment } from '@huggingface/jinja'
import { capitalized, formatted, stripped } from './python-methods.js'
import { pythonText } from './python-text.js'
import {
  absent,
  isAbsent,
  isEqual,
  isNone,
  itemsOf,
  iterated,
  mapEntries,
  type TemplateValue,
  templateList,
  templateValue,
} from './values.js'

export interface Filtering {
  readonly args: readonly TemplateValue[]
  readonly named: ReadonlyMap<string, TemplateValue>
  readonly environment: Environment
  /** Another filter by its name. */
  apply(value: TemplateValue, name: string, args: readonly TemplateValue[]): TemplateValue
}
/** Nothing: the library's own filter does it. */
type Filter = (value: TemplateValue, with_: Filtering) => TemplateValue | undefined

/** A value as `{{ }}` prints it. */
export function printed(value: TemplateValue): string {
  if (isAbsent(value)) return ''
  return typeof value.value === 'string' ? value.value : isNone(value) ? 'None' : pythonText(value)
}

const onText =
  (change: (text: string) => string): Filter =>
  (value) =>
    templateValue(change(printed(value)))

/** For texts the library's own: what is no text becomes one, as in Python. */
const asText: Filter = (value, { apply }) =>
  typeof value.value === 'string' ? undefined : apply(templateValue(printed(value)), '', [])

const whole = (value: TemplateValue): number | undefined => {
  if (typeof value.value === 'number') return Math.trunc(value.value)
  if (typeof value.value === 'boolean') return Number(value.value)
  return typeof value.value === 'string' && /^\s*[-+]?[\d_]+(\.\d*)?\s*$/.test(value.value)
    ? Math.trunc(Number(value.value.replaceAll('_', '')))
    : undefined
}

export const FILTERS: Readonly<Record<string, Filter>> = {
  trim: (value, { args, named }) => {
    const chars = args[0] ?? named.get('chars')
    return templateValue(stripped(printed(value), 'both', typeof chars?.value === 'string' ? chars.value : undefined))
  },
  upper: onText((text) => text.toUpperCase()),
  lower: onText((text) => text.toLowerCase()),
  capitalize: onText(capitalized),
  title: asText,
  indent: asText,
  replace: asText,
  string: onText((text) => text),
  format: (value, { args }) => templateValue(formatted(printed(value), args.map(printed))),
  length: (value) => {
    if (isAbsent(value)) return templateValue(0)
    if (typeof value.value === 'string') return templateValue(Array.from(value.value).length)
    const size = itemsOf(value)?.length ?? mapEntries(value)?.size
    if (size === undefined) throw new TypeError(`${pythonText(value)} has no length`)
    return templateValue(size)
  },
  count: (value, { apply }) => apply(value, 'length', []),
  list: (value) => templateList(gone(value)),
  first: (value) => gone(value)[0] ?? absent(),
  last: (value) => gone(value).at(-1) ?? absent(),
  reverse: (value) =>
    typeof value.value === 'string'
      ? templateValue(Array.from(value.value).reverse().join(''))
      : templateList([...gone(value)].reverse()),
  join: (value, { args, named }) => {
    const attribute = args[1] ?? named.get('attribute')
    const parts = gone(value).map((each) => printed(attribute ? attributeOf(each, attribute) : each))
    return templateValue(parts.join(printed(args[0] ?? named.get('d') ?? templateValue(''))))
  },
  items: (value) => {
    if (isAbsent(value)) return templateList([])
    const entries = mapEntries(value)
    if (entries === undefined) throw new TypeError('Can only get item pairs from a mapping.')
    return templateList([...entries].map(([key, each]) => templateList([templateValue(key), each])))
  },
  dictsort: (value, { named, args }) => {
    const entries = mapEntries(value)
    if (args.length > 0 || named.size > 0 || !entries || ![...entries.keys()].every((key) => typeof key === 'number'))
      return undefined
    const sorted = [...(entries as ReadonlyMap<number, TemplateValue>)].sort(([a], [b]) => a - b)
    return templateList(sorted.map(([key, each]) => templateList([templateValue(key), each])))
  },
  int: (value, { args }) => templateValue(whole(value) ?? args[0]?.value ?? 0),
  default: (value, { args, named }) => {
    const flag = args[1] ?? named.get('boolean')
    const isTaken = isAbsent(value) || (flag?.__bool__().value && !value.__bool__().value)
    return isTaken ? (args[0] ?? named.get('default_value') ?? templateValue('')) : value
  },
  d: (value, { apply, args }) => apply(value, 'default', args),
  unique: (value) =>
    templateList(gone(value).filter((each, i, all) => all.findIndex((one) => isEqual(one, each)) === i)),
  select: (value, with_) => chosen(value, with_, true, false),
  reject: (value, with_) => chosen(value, with_, false, false),
  selectattr: (value, with_) => chosen(value, with_, true, true),
  rejectattr: (value, with_) => chosen(value, with_, false, true),
  map: (value, { args: [name, ...rest], named, apply }) => {
    const attribute = named.get('attribute')
    const other = named.get('default')
    if (!value.__bool__().value) return templateList([])
    return templateList(
      gone(value).map((each) => {
        if (attribute === undefined) return apply(each, printed(name ?? templateValue('')), rest)
        const found = attributeOf(each, attribute)
        return isAbsent(found) ? (other ?? found) : found
      }),
    )
  },
  sum: (value) => templateValue(gone(value).reduce((sum, each) => sum + Number(each.value), 0)),
  max: (value) =>
    gone(value).reduce(
      (most, each) => (most === undefined || less(most, each) ? each : most),
      undefined as TemplateValue | undefined,
    ) ?? absent(),
  min: (value) =>
    gone(value).reduce(
      (least, each) => (least === undefined || less(each, least) ? each : least),
      undefined as TemplateValue | undefined,
    ) ?? absent(),
}

const less = (a: TemplateValue, b: TemplateValue): boolean => (a.value as number) < (b.value as number)

function gone(value: TemplateValue): readonly TemplateValue[] {
  const list = iterated(value)
  if (list === undefined) throw new TypeError(`${pythonText(value)} is not a list`)
  return list
}

function attributeOf(value: TemplateValue, path: TemplateValue): TemplateValue {
  let found = value
  for (const part of printed(path).split('.')) {
    const { value: held } = found
    found =
      held instanceof Map
        ? (held.get(part) ?? absent())
        : ((held as TemplateValue[] | undefined)?.[Number(part)] ?? absent())
  }
  return found
}

function chosen(
  value: TemplateValue,
  { args, environment }: Filtering,
  wanted: boolean,
  byAttribute: boolean,
): TemplateValue {
  // Python goes through nothing where there is nothing, `none` among it.
  if (!value.__bool__().value) return templateList([])
  const [attribute, [test, ...rest]] = byAttribute ? [args[0], args.slice(1)] : [undefined, [...args]]
  return templateList(
    gone(value).filter((each) => {
      const subject = attribute ? attributeOf(each, attribute) : each
      const holds = test ? isSo(printed(test), subject, rest, environment) : subject.__bool__().value
      return holds === wanted
    }),
  )
}

const TESTS: Readonly<Record<string, (value: TemplateValue, other: TemplateValue) => boolean>> = {
  iterable: (value) => iterated(value) !== undefined,
  sequence: (value) => iterated(value) !== undefined,
  mapping: (value) => mapEntries(value) !== undefined,
  number: ({ value }) => typeof value === 'number' || typeof value === 'boolean',
  float: ({ type }) => type === 'FloatValue',
  eq: isEqual,
  equalto: isEqual,
  '==': isEqual,
  ne: (value, other) => !isEqual(value, other),
  '!=': (value, other) => !isEqual(value, other),
  in: (value, other) => isIn(value, other),
  lt: (value, other) => less(value, other),
  gt: (value, other) => less(other, value),
  le: (value, other) => !less(other, value),
  ge: (value, other) => !less(value, other),
}

export function isSo(
  test: string,
  value: TemplateValue,
  args: readonly TemplateValue[],
  environment: Environment,
): boolean {
  const own = Object.hasOwn(TESTS, test) ? TESTS[test] : undefined
  if (own) return own(value, args[0] ?? absent())
  const found = environment.tests.get(test) as ((...values: unknown[]) => boolean) | undefined
  if (!found) throw new Error(`Unknown test: ${test}`)
  return found(value, ...args)
}

export function isIn(value: TemplateValue, within: TemplateValue): boolean {
  if (isAbsent(within)) return false
  if (typeof within.value === 'string') {
    if (typeof value.value !== 'string') throw new TypeError(`'in <string>' requires string, not ${value.type}`)
    return within.value.includes(value.value)
  }
  if (within.value instanceof Map) return (within.value as Map<unknown, TemplateValue>).has(value.value)
  const list = itemsOf(within)
  if (list === undefined) throw new TypeError(`nothing is in ${pythonText(within)}`)
  return list.some((each) => isEqual(each, value))
}
