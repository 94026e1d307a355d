import { type Name, partsOf, type Rule, weigh } from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'

/** All names that a rule leads to, itself by way of them included, each once. */
export function namesIn(root: Rule): Name[] {
  return rulesIn(root).filter((rule): rule is Name => rule.kind === 'name')
}

function rulesIn(root: Rule): readonly Rule[] {
  const found = new Set([root])
  for (const rule of found) for (const part of partsOf(rule)) found.add(part)
  return [...found]
}

/**
 * Finds for each rule whether it may be empty and how short it can be: from below, and again for those above whenever
 * it turns out to be less, as what stands in itself needs it.
 */
export function measure(root: Rule, fuel: Fuel): void {
  const rules = rulesIn(root)
  const above = new Map<Rule, Rule[]>()
  for (const rule of rules) {
    for (const part of partsOf(rule)) {
      const known = above.get(part)
      if (known === undefined) above.set(part, [rule])
      else known.push(rule)
    }
  }
  fuel.spend(rules.length)
  // What a rule leads to is found after it.
  const waiting = new Set([...rules].reverse())
  for (const rule of waiting) {
    waiting.delete(rule)
    fuel.spend(1)
    const { nullable, length } = rule
    weigh(rule)
    if (rule.nullable !== nullable || rule.length !== length) for (const one of above.get(rule) ?? []) waiting.add(one)
  }
}
