import type { SchemaPart } from './part.js'

/**
 * Declared keys in their order: those of a later part before the next one that is known. What one list says stays together,
 * as far as it can: what has come must be remembered for as long as it matters.
 */
export function orderOf(lists: readonly (readonly SchemaPart[])[]): string[] {
  const order: string[] = []
  const known = new Set<string>()
  const append = (key: string) => {
    if (!known.has(key)) order.push(key)
    known.add(key)
  }
  for (const list of lists) {
    for (const { groups } of list) {
      for (const group of groups) if (!group.aside) insert(order, known, [...group.properties.keys()])
    }
    for (const { groups, required } of list) {
      for (const group of groups) for (const key of group.properties.keys()) append(key)
      for (const key of required) append(key)
    }
  }
  return order
}

function insert(order: string[], known: Set<string>, keys: readonly string[]): void {
  let at = order.length
  for (const key of [...keys].reverse()) {
    if (known.has(key)) at = order.indexOf(key)
    else order.splice(at, 0, key)
  }
  for (const key of keys) known.add(key)
}
