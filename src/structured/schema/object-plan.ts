import type { Classes } from '../automata/classes.js'
import type { Fuel } from '../fuel.js'
import { toBytes } from './format.js'
import type { KeyAutomaton } from './key-automaton.js'
import type { ObjectShape } from './object-shape.js'
import type { Value } from './value.js'

/** Where an object stands: the next declared property, how many members it has, which keys beyond the declared ones. */
export interface ObjectPlace {
  readonly index: number
  readonly count: number
  /** Keys used beyond the declared ones. */
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
  const required: number[] = []
  for (let i = place.index; i < properties.length; i++) if (properties[i]!.required) required.push(i)
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
  return { length: cost + (place.count + members > 0 ? close : 1), next }
}

/** One of the keys of a shape, and on as the other one says. */
function planSought(shape: ObjectShape, behind: ObjectShape, place: ObjectPlace, fuel?: Fuel): ObjectPlan {
  const { layout } = shape
  const { open, comma } = layout.weights
  const taken = new Set([...shape.properties.map((property) => property.key), ...place.used])
  const keys = shape.keys.now()
  let best = IMPOSSIBLE
  for (const key of freshKeys(keys, keys.text.start, '', (text) => !taken.has(text), 1, fuel)) {
    const own = keyCost(shape, key) + layout.inside(keyValue(keys, key)!.length) + (place.count > 0 ? comma : open)
    // Which key it was is not known at once, where another is sought: it may be the one that hurts most.
    const worst = behind.behind === undefined ? key : unusedKey(behind, place.used)
    const used = worst === undefined ? place.used : [...place.used, worst]
    const after = { ...place, count: place.count + 1, used }
    const length = own + planObject(behind, after, behind.min, fuel).length
    if (length < best.length) best = { length, next: key }
  }
  return best
}

/** The cheapest key beyond the declared ones that has not come yet. */
export function unusedKey(shape: ObjectShape, used: readonly string[]): string | undefined {
  const keys = shape.keys.now()
  const taken = new Set([...shape.properties.map((property) => property.key), ...shape.pending, ...used])
  const found = freshKeys(keys, keys.text.start, '', (key) => !taken.has(key), 1)
  const cost = (key: string) => toBytes(JSON.stringify(key)).length + (keyValue(keys, key)?.length ?? Infinity)
  return found.sort((a, b) => cost(a) - cost(b))[0]
}

/** How many members may be demanded without their names. */
export const MOST_DEMANDED = 300

interface Filling {
  readonly members: readonly { readonly member: number | string; readonly cost: number }[]
  readonly declared: readonly number[]
}

const NOTHING: Filling = { members: [], declared: [] }

/** The cheapest optional members, which `minProperties` asks for. */
function cheapest(shape: ObjectShape, place: ObjectPlace, count: number, fuel?: Fuel): Filling {
  const members: { member: number | string; cost: number }[] = []
  for (let i = place.index; i < shape.properties.length; i++) {
    const { head, value, required } = shape.properties[i]!
    if (!required && value.possible) members.push({ member: i, cost: head + shape.layout.inside(value.length) })
  }
  const taken = new Set([...shape.properties.map((property) => property.key), ...shape.pending, ...place.used])
  const keys = shape.keys.now()
  for (const key of freshKeys(keys, keys.text.start, '', (text) => !taken.has(text), count, fuel)) {
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
  return toBytes(JSON.stringify(key)).length + shape.colon.length
}

export function keyValue(keys: KeyAutomaton, key: string): Value | undefined {
  let state = keys.text.start
  for (const char of key) state = keys.text.next(state, char.codePointAt(0)!)
  return keys.value(state)
}

/** How far the search for unused keys goes before it gives up. */
const MOST_VISITED = 2000
/** Members of each stretch of characters that are tried where one does not do. */
const BROAD = 40

/**
 * The shortest acceptable keys that begin with `prefix` (which leads to `state`), at most `count` for each value, in
 * order of length, then of letters.
 */
export function freshKeys(
  keys: KeyAutomaton,
  state: number,
  prefix: string,
  fresh: (key: string) => boolean,
  count: number,
  fuel?: Fuel,
): string[] {
  if (state === 0) return []
  const found = search(keys, state, prefix, fresh, count, alphabet(keys, 1), fuel)
  return found.length >= count ? found : search(keys, state, prefix, fresh, count, alphabet(keys, BROAD), fuel)
}

function search(
  keys: KeyAutomaton,
  state: number,
  prefix: string,
  fresh: (key: string) => boolean,
  count: number,
  letters: readonly string[],
  fuel: Fuel | undefined,
): string[] {
  const found: string[] = []
  const left = new Map<Value, number>()
  // By the length that a key will have at the least: the way to a long obligatory ending is straight.
  const queues: { state: number; text: string; length: number }[][] = []
  const enqueue = (at: number, text: string, length: number) => {
    const least = length + keys.text.distance(at)
    queues[least] ??= []
    queues[least].push({ state: at, text, length })
  }
  enqueue(state, prefix, 0)
  let visited = 0
  for (let least = 0; least < queues.length; least++) {
    // The latest first: straight to the end of one key before another is begun.
    for (let at = queues[least]?.pop(); at !== undefined; at = queues[least]!.pop()) {
      const { state: here, text, length } = at
      const value = keys.value(here)
      if (value !== undefined && fresh(text)) {
        const before = left.get(value) ?? count
        if (before > 0) found.push(text)
        left.set(value, before - 1)
        if (found.length >= count && [...left.values()].every((n) => n <= 0)) return found
      }
      if (visited++ > MOST_VISITED) return found
      fuel?.spend(letters.length >> 3)
      for (let i = letters.length - 1; i >= 0; i--) {
        const next = keys.text.next(here, letters[i]!.codePointAt(0)!)
        if (next !== 0) enqueue(next, text + letters[i], length + 1)
      }
    }
  }
  return found
}

const alphabets = new WeakMap<Classes, Map<number, readonly string[]>>()

/** A letter of each class, letters and digits, and the first few of each stretch of characters. */
function alphabet({ text: { classes } }: KeyAutomaton, few: number): readonly string[] {
  const known = alphabets.get(classes)?.get(few)
  if (known !== undefined) return known
  const letters = new Set<string>()
  for (let cls = 1; cls < classes.count; cls++) letters.add(String.fromCodePoint(classes.sample(cls)))
  for (const letter of 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ') letters.add(letter)
  for (let i = 0; i < classes.ids.length; i++) {
    if (classes.ids[i] === 0) continue
    for (let c = classes.starts[i]!; c <= classes.end(i) && c < classes.starts[i]! + few; c++)
      letters.add(String.fromCodePoint(c))
  }
  const found = [...letters]
  const all = alphabets.get(classes) ?? new Map<number, readonly string[]>()
  alphabets.set(classes, all.set(few, found))
  return found
}
