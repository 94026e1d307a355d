import { getOrMake } from '../../platform/index.js'
import { hasText, withText } from '../automata/ascending.js'
import type { Fuel } from '../fuel.js'
import { freshKeys } from './fresh-keys.js'
import { encodedLength } from './text-length.js'
import type { KeyAutomaton, ObjectShape, Value } from './value.js'

/** Where an object stands: the next declared property, how many members it has, which keys beyond the declared ones. */
export interface ObjectPlace {
  readonly index: number
  readonly count: number
  /** Keys used beyond the declared ones, sorted. */
  readonly used: readonly string[]
  /** A bit per required key that is not declared and has not come yet. */
  readonly pending: number
}

/** Before its first member. */
export function startOf(shape: ObjectShape): ObjectPlace {
  return { index: 0, count: 0, used: [], pending: 2 ** shape.pending.length - 1 }
}

/** The shortest way to complete an object. */
export interface ObjectPlan {
  /** Its weight, `}` included; `Infinity` if it cannot be completed. */
  readonly length: number
  /** The next member: a declared property by its index, another key, or none: close. */
  readonly next: number | string | undefined
  /** Where keys beyond the declared ones are all that comes, and on no other shape: those keys. */
  readonly keys?: readonly string[]
}

const IMPOSSIBLE: ObjectPlan = { length: Infinity, next: undefined }

/** `atLeast`: how many members there must be in the end. */
export function planObject(shape: ObjectShape, place: ObjectPlace, atLeast = shape.min, fuel?: Fuel): ObjectPlan {
  if (shape.behind !== undefined) return planSought(shape, shape.behind, place, fuel)
  const { properties, layout } = shape
  let members = 0
  let cost = 0
  let next: number | string | undefined
  const add = (member: number | string, own: number) => {
    members++
    cost += own
    next ??= member
  }
  const required = requiredFrom(shape, place.index)
  const owed = shape.pending.filter((_, bit) => place.pending & (1 << bit))
  const fill = shape.first !== undefined ? 0 : Math.max(0, atLeast - place.count - required.length - owed.length)
  if (place.count + required.length + owed.length + fill > shape.max) return IMPOSSIBLE
  const filling = fill > 0 && fill <= MOST_DEMANDED ? cheapest(shape, place, fill, fuel) : NOTHING
  if (filling.members.length < fill) return IMPOSSIBLE
  const declared = [...required, ...filling.declared].sort((a, b) => a - b)
  for (const i of declared) add(i, properties[i]!.head + layout.inside(properties[i]!.value.length))
  const keys = shape.pending.length + fill > 0 ? shape.keys.now() : undefined
  for (const key of owed) add(key, keyCost(shape, key) + layout.inside(keyValue(keys!, key)?.length ?? Infinity))
  for (const filled of filling.members) if (typeof filled.member === 'string') add(filled.member, filled.cost)
  if (cost === Infinity) return IMPOSSIBLE
  const { open, comma, close } = layout.weights
  if (members > 0) cost += layout.times(members, comma) + (place.count > 0 ? 0 : open - comma)
  if (shape.first !== undefined) {
    const count = place.count + members
    const rest = planObject(shape.first, { index: properties.length, count, used: [], pending: 0 }, 0, fuel)
    return { length: cost + rest.length, next: next ?? rest.next }
  }
  const plan = { length: cost + (place.count + members > 0 ? close : 1), next }
  if (members !== fill || filling.declared.length > 0) return plan
  return { ...plan, keys: filling.members.map(({ member }) => member as string) }
}

const requiredOf = new WeakMap<ObjectShape, readonly number[]>()

/** Where the required properties stand: of thousands of keys each is asked how the object goes on behind it. */
function requiredFrom(shape: ObjectShape, index: number): readonly number[] {
  const all = getOrMake(requiredOf, shape, () => shape.properties.flatMap(({ required }, i) => (required ? [i] : [])))
  return index === 0 ? all : all.filter((i) => i >= index)
}

/** One of the keys of a shape, and on as the other one says. */
function planSought(shape: ObjectShape, behind: ObjectShape, place: ObjectPlace, fuel?: Fuel): ObjectPlan {
  const { layout } = shape
  const { open, comma } = layout.weights
  const keys = shape.keys.now()
  let best = IMPOSSIBLE
  for (const key of freshKeys(keys, wantedOf(shape, keys, place.used, 1), fuel)) {
    const own = keyCost(shape, key) + layout.inside(keyValue(keys, key)!.length) + (place.count > 0 ? comma : open)
    // Which key it was is not known at once, where another is sought: it may be the one that hurts most.
    const worst = behind.behind === undefined ? key : unusedKey(behind, place.used)
    const used = worst === undefined ? place.used : withText(place.used, worst)
    const after = { ...place, count: place.count + 1, used }
    const length = own + planObject(behind, after, behind.min, fuel).length
    if (length < best.length) best = { length, next: key }
  }
  return best
}

/** The cheapest key beyond the declared ones that has not come yet. */
export function unusedKey(shape: ObjectShape, used: readonly string[]): string | undefined {
  const keys = shape.keys.now()
  return freshKeys(keys, wantedOf(shape, keys, used, 1))[0]
}

const namesOf = new WeakMap<ObjectShape, ReadonlySet<string>>()

/** What has come is one list for all that is asked of it: a set of it, for each key, would make many keys quadratic. */
function wantedOf(shape: ObjectShape, keys: KeyAutomaton, used: readonly string[], count: number) {
  const { properties, pending, layout } = shape
  const names = getOrMake(namesOf, shape, () => new Set([...properties.map(({ key }) => key), ...pending]))
  const came = pending.filter((key) => hasText(used, key)).length
  const fresh = (key: string) => !names.has(key) && !hasText(used, key)
  const behind = (value: Value) => layout.inside(value.length)
  return { from: keys.text.start, fresh, taken: names.size + used.length - came, count, behind }
}

/** How many members may be demanded without their names. */
export const MOST_DEMANDED = 300

interface Filling {
  readonly members: readonly { readonly member: number | string; readonly cost: number }[]
  readonly declared: readonly number[]
}

const NOTHING: Filling = { members: [], declared: [] }

/** The undeclared keys that the shortest way takes from such a place because so many members are demanded. */
export function fillingKeys(shape: ObjectShape, place: ObjectPlace): string[] {
  const owed = shape.pending.filter((_, bit) => place.pending & (1 << bit))
  const fill = shape.min - place.count - owed.length
  if (fill <= 0 || fill > MOST_DEMANDED) return []
  return cheapest(shape, place, fill)
    .members.map(({ member }) => member)
    .filter((member) => typeof member === 'string')
}

/** The cheapest optional members, which `minProperties` asks for. */
function cheapest(shape: ObjectShape, place: ObjectPlace, count: number, fuel?: Fuel): Filling {
  const members: { member: number | string; cost: number }[] = []
  for (let i = place.index; i < shape.properties.length; i++) {
    const { head, value, required } = shape.properties[i]!
    if (!required && value.possible) members.push({ member: i, cost: head + shape.layout.inside(value.length) })
  }
  const keys = shape.keys.now()
  for (const key of freshKeys(keys, wantedOf(shape, keys, place.used, count), fuel)) {
    members.push({ member: key, cost: keyCost(shape, key) + shape.layout.inside(keyValue(keys, key)!.length) })
  }
  members.sort((a, b) => a.cost - b.cost)
  const chosen = members.slice(0, count)
  return {
    members: chosen,
    declared: chosen.map(({ member }) => member).filter((member) => typeof member === 'number'),
  }
}

function keyCost(shape: ObjectShape, key: string): number {
  let bytes = QUOTES
  for (const letter of key) bytes += encodedLength(letter.codePointAt(0)!)
  return bytes + shape.colon.length
}

const QUOTES = 2

export function keyValue(keys: KeyAutomaton, key: string): Value | undefined {
  let state = keys.text.start
  for (const char of key) state = keys.text.next(state, char.codePointAt(0)!)
  return keys.value(state)
}
