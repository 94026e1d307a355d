import { canonical } from '../../platform/index.js'
import { readArrayItems, readContains } from '../schema/arrays-objects.js'
import { refusal } from '../schema/context.js'
import { readCount } from '../schema/keywords.js'
import { ARRAY, type Contains, type ItemGroup } from '../schema/part.js'
import { type Way, waysOfItems } from '../schema/unevaluated.js'
import { obstacle, only } from './choices.js'
import { type Denying, type Judging, keyword } from './keyword.js'
import { lowerLimit, upperLimit } from './limits.js'
import * as shapes from './shapes.js'
import { assertWays, denyWays, waysHold } from './ways.js'

const items = keyword<ItemGroup>({
  name: 'items',
  shape: shapes.either(shapes.schema, shapes.schemas),
  with: { prefixItems: shapes.schemas, additionalItems: shapes.schema },
  kinds: ARRAY,
  read: ({ context, site, schema }) => readArrayItems(context, site, schema),
  assert({ part }, group) {
    part.items.push(group)
  },
  deny: breakItems,
  holds: itemsHold,
})

function breakItems({ context, choices }: Denying, { prefix, rest }: ItemGroup): void {
  const anything = context.atom(context.document.everything)
  prefix.forEach((atom, i) => {
    const broken = [...prefix.slice(0, i).map(() => anything), context.not(atom)]
    choices.push(
      only(ARRAY, (part) => {
        part.minItems = Math.max(part.minItems, i + 1)
        part.items.push({ prefix: broken, rest: undefined })
      }),
    )
  })
  if (rest === undefined) return
  if (rest.site.schema === false) {
    choices.push(only(ARRAY, (part) => (part.minItems = Math.max(part.minItems, prefix.length + 1))))
  } else {
    const contains = { atom: context.not(rest), inverse: rest, min: 1, max: Infinity, from: prefix.length }
    choices.push(only(ARRAY, (part) => part.contains.push(contains)))
  }
}

function itemsHold({ test }: Judging, { prefix, rest }: ItemGroup, values: unknown): boolean {
  return (values as readonly unknown[]).every((item, i) => {
    const atom = prefix[i] ?? rest
    return atom === undefined || test(atom, item)
  })
}

const contains = keyword<Contains>({
  name: 'contains',
  shape: shapes.schema,
  with: { minContains: shapes.number, maxContains: shapes.number },
  since: 6,
  kinds: ARRAY,
  read({ context, site, schema }) {
    for (const name of ['minContains', 'maxContains']) {
      if (schema[name] !== undefined && site.resource.draft >= 2019) readCount(site, name, schema[name])
    }
    return readContains(context, site, schema)
  },
  assert({ part }, wanted) {
    if (wanted.min > 0 || wanted.max < Infinity) part.contains.push(wanted)
  },
  deny({ choices }, wanted) {
    const { min, max } = wanted
    const counted = (bounds: { min: number; max: number }) =>
      choices.push(only(ARRAY, (part) => part.contains.push({ ...wanted, ...bounds })))
    if (min > 0) counted({ min: 0, max: min - 1 })
    if (max < Infinity) counted({ min: max + 1, max: Infinity })
  },
  holds({ test }, { atom, min, max }, value) {
    const count = (value as unknown[]).filter((item) => test(atom, item)).length
    return count >= min && count <= max
  },
})

const uniqueItems = keyword<true>({
  name: 'uniqueItems',
  shape: shapes.truth,
  kinds: ARRAY,
  read({ site, schema }) {
    const { uniqueItems: unique } = schema
    if (unique !== undefined && typeof unique !== 'boolean') {
      throw refusal(site, 'uniqueItems', "'uniqueItems' must be true or false.")
    }
    return unique === true || undefined
  },
  assert({ part, site }) {
    part.uniqueItems = true
    part.places.set('uniqueItems', site)
  },
  deny({ choices, site }) {
    choices.push(obstacle(ARRAY, site, 'uniqueItems'))
  },
  holds: (_, __, value) => new Set((value as unknown[]).map(canonical)).size === (value as unknown[]).length,
})

const unevaluatedItems = keyword<readonly Way<ItemGroup>[] | 'unknown'>({
  name: 'unevaluatedItems',
  shape: shapes.schema,
  since: 2019,
  kinds: ARRAY,
  read({ context, site, schema }) {
    if (schema.unevaluatedItems === undefined || schema.unevaluatedItems === true) return undefined
    return waysOfItems(context, site, schema) ?? 'unknown'
  },
  assert: (at, ways) => assertWays(at, 'unevaluatedItems', ARRAY, ways, (part, group) => part.items.push(group)),
  deny: (at, ways) => denyWays(at, 'unevaluatedItems', ARRAY, ways, breakItems),
  holds: (at, ways, value) => waysHold(at, ways, value, itemsHold),
})

const length = (value: readonly unknown[]) => value.length

export const ARRAYS = [
  items,
  unevaluatedItems,
  contains,
  lowerLimit('minItems', 'maxItems', ARRAY, length),
  upperLimit('maxItems', 'minItems', ARRAY, length),
  uniqueItems,
]
