import type { Name, Rule } from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'

/** All names that a rule leads to, itself by way of them included, each once. */
export function namesIn(root: Rule): Name[] {
  const found = new Set<Name>()
  const seen = new Set<Rule>()
  const rest = [root]
  for (let rule = rest.pop(); rule !== undefined; rule = rest.pop()) {
    if (seen.has(rule)) continue
    seen.add(rule)
    if (rule.kind === 'then') rest.push(rule.first, rule.rest)
    else if (rule.kind === 'choice') rest.push(...rule.options)
    else if (rule.kind === 'repeat') rest.push(rule.body)
    else if (rule.kind === 'name') {
      found.add(rule)
      rest.push(rule.rule)
    }
  }
  return [...found]
}

/**
 * Finds for each rule whether it may be empty and how short it can be: from below, as what stands in itself needs it.
 * `found` are the names that the root leads to.
 */
export function measure(root: Rule, found: readonly Name[], fuel: Fuel): void {
  // What a rule leads to is found after it, and is best measured before.
  const names = [...found].reverse()
  if (names.length === 0) visit(root, new Set(), fuel)
  for (let changed = names.length > 0; changed; ) {
    changed = false
    // A part that stands in several places is measured once a round.
    const seen = new Set<Rule>()
    for (const name of [...names, root]) {
      const [nullable, length] = [name.nullable, name.length]
      if (name.kind === 'name') {
        visit(name.rule, seen, fuel)
        name.nullable = name.rule.nullable
        name.length = name.rule.length
      } else visit(name, seen, fuel)
      changed ||= name.nullable !== nullable || name.length !== length
    }
  }
}

function visit(rule: Rule, seen: Set<Rule>, fuel: Fuel): void {
  if (seen.has(rule)) return
  seen.add(rule)
  fuel.spend(1)
  switch (rule.kind) {
    case 'then':
      visit(rule.first, seen, fuel)
      visit(rule.rest, seen, fuel)
      rule.nullable = rule.first.nullable && rule.rest.nullable
      rule.length = rule.first.length + rule.rest.length
      return
    case 'choice':
      for (const option of rule.options) visit(option, seen, fuel)
      rule.nullable = rule.options.some((option) => option.nullable)
      rule.length = rule.options.reduce((least, option) => Math.min(least, option.length), Infinity)
      return
    case 'repeat':
      visit(rule.body, seen, fuel)
      rule.nullable = rule.min === 0 || rule.body.nullable
      rule.length = rule.nullable ? 0 : rule.min * rule.body.length
      return
    case 'leaf':
    case 'nothing':
    case 'name':
  }
}
