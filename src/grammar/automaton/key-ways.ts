import { getOrMake } from '../../platform/index.js'
import { freshKeys } from '../values/fresh-keys.js'
import { keyValue } from '../values/object-plan.js'
import type { Value } from '../values/value.js'
import { type Bytes, loosened } from './frame.js'
import type { MembersPlace } from './frames.js'
import { codePointAt, fromKeyBytes, keyBytes } from './key-bytes.js'
import type { SimilarKeys } from './similar-keys.js'

/** A way from inside a key that is not declared to the end of its object. */
export interface KeyWay {
  readonly weight: number
  /** The code point that it begins with; -1 for the closing quote. */
  readonly first: number
  readonly spell: () => Bytes
}

/** Where the search for an unused key gives up: the place is left open but never chosen when the budget is short. */
const NO_WAY: KeyWay = { weight: Infinity, first: -1, spell: () => '' }

/** The cheapest one where the key has led to this place of its text; `owed`: the required keys that it may still become. */
export function cheapestWay(state: MembersPlace, text: number, similar: SimilarKeys, owed: readonly Bytes[]): KeyWay {
  const ways = owed.map((bytes) => wayOf(state, similar, bytes))
  if (state.admitsAnyExtra) ways.push(...freeWays(state, text, similar))
  return ways.reduce((a, b) => (b.weight < a.weight ? b : a), NO_WAY)
}

/** By a required key, known as a whole. */
function wayOf(state: MembersPlace, similar: SimilarKeys, bytes: Bytes): KeyWay {
  const { names, keys, shape } = state.home
  const bit = names.pendingBit(bytes)
  const value = keyValue(keys, shape.pending[Math.log2(bit)]!)!
  return wayThrough(state, bytes.slice(similar.depth), value, state.afterExtra(bit))
}

/** By the first that may still become a key with which the plan goes on, then by the cheapest of all others. */
function freeWays(state: MembersPlace, from: number, similar: SimilarKeys): KeyWay[] {
  const { planned } = state
  const { keys, names, program } = state.home
  const bytes = planned.find((each) => similar.has(each))
  const ways = bytes === undefined ? [] : [plannedWay(state, bytes, similar.depth)]
  const fresh = (text: string) => !similar.goOnAs(keyBytes(text))
  const behind = (value: Value) => program.layout.inside(value.length)
  const text = similar.none
    ? names.nearest(from, behind)
    : freshKeys(keys, { from, fresh, taken: similar.size, count: 1, behind })[0]
  if (text === undefined) return ways
  let at = from
  for (const char of text) at = keys.text.next(at, char.codePointAt(0)!)
  ways.push(wayThrough(state, keyBytes(text), keys.value(at)!, state.behindKey(undefined), planned.length > 0))
  return ways
}

const weights = new WeakMap<MembersPlace, number>()

/**
 * Whichever of the plan's keys comes first, the others and the next cheapest one follow: the objects by them all weigh the
 * same, so that of hundreds of keys only one is followed to know it.
 */
function plannedWay(state: MembersPlace, bytes: Bytes, depth: number): KeyWay {
  const through = (whole: Bytes, from: number) => {
    const key = fromKeyBytes(whole)
    return wayThrough(state, whole.slice(from), keyValue(state.home.keys, key)!, state.behindKey(key), true)
  }
  const weight = getOrMake(weights, state, () => through(state.planned[0]!, 0).weight) - depth
  return { weight, first: codePointAt(bytes, depth), spell: () => through(bytes, depth).spell() }
}

/** `loose`: what stands behind this key will not know it at once, and may then plan with others. */
function wayThrough(
  { home }: MembersPlace,
  bytes: Bytes,
  found: Value,
  { after }: MembersPlace,
  loose = false,
): KeyWay {
  const { layout } = home.program
  const { colon } = home.shape
  const value = home.value(found)
  const rest = () => (loose ? loosened(after.spell()) : after.spell())
  return {
    weight: bytes.length + colon.length + layout.inside(value.weight) + after.weight,
    first: codePointAt(bytes, 0),
    spell: () => bytes + colon + value.spell() + rest(),
  }
}
