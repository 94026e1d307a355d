import { EXACT_LETTERS } from '../values/text-length.js'
import type { ObjectShape, Value } from '../values/value.js'
import { allParts } from './lengths.js'

/** Whether two texts of an item that look different always are different values. */
export function hasUniqueTexts(item: Value): boolean {
  const seen = new Set([item])
  for (const value of seen) {
    if (!isPlain(value)) return false
    for (const part of allParts(value)) seen.add(part)
  }
  return true
}

function isPlain({ literals, numbers, arrays, objects, graph }: Value): boolean {
  const composite = literals.some((literal) => typeof literal === 'object' && literal !== null)
  if (composite && arrays.length + objects.length + Number(graph !== undefined) > 0) return false
  if (numbers.some((number) => number.distance(number.start) > EXACT_LETTERS)) return false
  if (numbers.length > 0 && literals.some((literal) => typeof literal === 'number' && !isShort(literal))) return false
  if (!arrays.every((shape) => shape.needsNoTelling)) return false
  if (![...objects, ...(graph?.tails ?? [])].every(isClosed)) return false
  const orders = objects.map((shape) => shape.properties.map(({ key }) => key))
  return inOneOrder(graph === undefined ? orders : [...orders, graph.keys])
}

function isShort(literal: number): boolean {
  return /^-?[\d.]+$/.test(String(literal)) && String(literal).length <= EXACT_LETTERS
}

/** Undeclared keys come in any order. */
function isClosed(shape: ObjectShape): boolean {
  const { isSet, pending, first, behind, keys } = shape
  return !isSet && pending.length === 0 && first === undefined && behind === undefined && keys.now().text.empty
}

/** Whether keys that several lists share come in the same order in all of them. */
function inOneOrder(lists: readonly (readonly string[])[]): boolean {
  return lists.every((list, i) => {
    const place = new Map(list.map((key, at) => [key, at]))
    return lists.slice(0, i).every((other) => {
      const shared = other.map((key) => place.get(key)).filter((at) => at !== undefined)
      return shared.every((at, n) => n === 0 || at > shared[n - 1]!)
    })
  })
}
