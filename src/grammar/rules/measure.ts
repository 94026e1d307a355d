import type { Slices } from '../../platform/index.js'
import { type Name, partsOf, type Rule, weigh } from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'

/** All names that a rule leads to, itself by way of them included, each once. */
export function* namesIn(root: Rule): Slices<Name[]> {
  return (yield* rulesIn(root)).filter((rule): rule is Name => rule.kind === 'name')
}

/** Rules that are looked at from one pause to the next. */
const SLICE = 2048

function* rulesIn(root: Rule): Slices<readonly Rule[]> {
  const found = new Set([root])
  let looked = 0
  for (const rule of found) {
    if (++looked % SLICE === 0) yield
    for (const part of partsOf(rule)) found.add(part)
  }
  return [...found]
}

/**
 * Finds for each rule whether it may be empty and how short it can be: from below, and again for those above whenever
 * it turns out to be less, as what stands in itself needs it.
 */
export function* measure(root: Rule, fuel: Fuel): Slices<void> {
  const rules = yield* rulesIn(root)
  const above = new Map<Rule, Rule[]>()
  for (const [i, rule] of rules.entries()) {
    if (i % SLICE === SLICE - 1) yield
    for (const part of partsOf(rule)) {
      const known = above.get(part)
      if (known === undefined) above.set(part, [rule])
      else known.push(rule)
    }
  }
  fuel.spend(rules.length)
  // What a rule leads to is found after it.
  const waiting = new Set<Rule>()
  for (let i = rules.length - 1; i >= 0; i--) {
    if (i % SLICE === 0) yield
    waiting.add(rules[i]!)
  }
  for (const rule of waiting) {
    waiting.delete(rule)
    fuel.spend(1)
    if (fuel.tires()) yield
    const { nullable, length } = rule
    weigh(rule)
    if (rule.nullable !== nullable || rule.length !== length) for (const one of above.get(rule) ?? []) waiting.add(one)
  }
}
