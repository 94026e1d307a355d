import { PlainTextFrame } from '../automaton/plain-text.js'
import { choice, follow, leaf, type Name, NOTHING, nameOf, type Rule, repeat } from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'

/**
 * Rewrites rules that begin with themselves so that none does, and the texts stay the same: `sum: sum "+" n | n` becomes
 * `n ("+" n)*`. (Paull's algorithm, over rules without their empty text.) Rules must have been measured, and are to be
 * measured anew.
 */
export function withoutLeftRecursion(names: readonly Name[], fuel: Fuel): void {
  for (const circle of circles(names, fuel)) new Circle(circle, fuel).rewrite()
}

/** A production: what comes first, not empty and no group, and what follows it. */
interface Production {
  readonly head: Rule
  readonly tail: Rule
}

/** Names that may each begin with each other. */
class Circle {
  readonly #names: readonly Name[]
  readonly #fuel: Fuel
  /** Each of them without its empty text. */
  readonly #begun = new Map<Name, Name>()

  constructor(names: readonly Name[], fuel: Fuel) {
    this.#names = names
    this.#fuel = fuel
    for (const name of names) this.#begun.set(name, nameOf(name.name))
  }

  rewrite(): void {
    const productions = this.#names.map((name) => this.#heads(name.rule))
    const begun = this.#names.map((name) => this.#begun.get(name)!)
    begun.forEach((name, i) => {
      let own = productions[i]!
      for (let j = 0; j < i; j++) {
        own = own.flatMap(({ head, tail }) =>
          head === begun[j]
            ? productions[j]!.map((other) => this.#production(other.head, other.tail, tail))
            : [{ head, tail }],
        )
      }
      const more = own.filter(({ head, tail }) => head === name && tail !== NOTHING).map(({ tail }) => tail)
      const first = own.filter(({ head }) => head !== name)
      const rounds = more.length === 0 ? NOTHING : repeat(choice(more), 0, Infinity)
      productions[i] = first.map(({ head, tail }) => this.#production(head, tail, rounds))
      name.rule = choice(productions[i]!.map(({ head, tail }) => follow(head, tail)))
    })
    for (const name of this.#names)
      name.rule = name.nullable ? choice([this.#begun.get(name)!, NOTHING]) : this.#begun.get(name)!
  }

  #production(head: Rule, tail: Rule, rest: Rule): Production {
    this.#fuel.spend(4)
    return { head, tail: rest === NOTHING ? tail : tail === NOTHING ? rest : follow(tail, rest) }
  }

  /** Every way in which a text of this rule that is not empty may begin. */
  #heads(rule: Rule): Production[] {
    this.#fuel.spend(1)
    switch (rule.kind) {
      case 'nothing':
        return []
      case 'leaf':
        return [
          {
            head: rule.nullable && rule.frame instanceof PlainTextFrame ? leaf(rule.frame.begun) : rule,
            tail: NOTHING,
          },
        ]
      case 'then': {
        const heads = this.#heads(rule.first).map(({ head, tail }) => this.#production(head, tail, rule.rest))
        return rule.first.nullable ? [...heads, ...this.#heads(rule.rest)] : heads
      }
      case 'choice':
        return rule.options.flatMap((option) => this.#heads(option))
      case 'repeat': {
        const min = rule.body.nullable ? 0 : Math.max(0, rule.min - 1)
        const more = repeat(rule.body, min, rule.max - 1)
        return this.#heads(rule.body).map(({ head, tail }) => this.#production(head, tail, more))
      }
      case 'name': {
        const begun = this.#begun.get(rule)
        if (begun !== undefined) return [{ head: begun, tail: NOTHING }]
        return rule.nullable ? this.#heads(rule.rule) : [{ head: rule, tail: NOTHING }]
      }
    }
  }
}

/** The names that a rule may begin with. */
function beginnings(rule: Rule, into: Set<Name>): void {
  if (rule.kind === 'name') into.add(rule)
  else if (rule.kind === 'repeat') beginnings(rule.body, into)
  else if (rule.kind === 'choice') for (const option of rule.options) beginnings(option, into)
  else if (rule.kind === 'then') {
    beginnings(rule.first, into)
    if (rule.first.nullable) beginnings(rule.rest, into)
  }
}

/** The sets of names that lead back to themselves, by Tarjan's algorithm. */
function circles(names: readonly Name[], fuel: Fuel): Name[][] {
  const found: Name[][] = []
  const order = new Map<Name, number>()
  const low = new Map<Name, number>()
  const stack: Name[] = []
  const stacked = new Set<Name>()
  const visit = (name: Name) => {
    const own = order.size
    order.set(name, own)
    low.set(name, own)
    stack.push(name)
    stacked.add(name)
    const next = new Set<Name>()
    beginnings(name.rule, next)
    fuel.spend(1 + next.size)
    for (const other of next) {
      if (!order.has(other)) visit(other)
      if (stacked.has(other)) low.set(name, Math.min(low.get(name)!, low.get(other)!))
    }
    if (low.get(name) !== own) return
    const circle = stack.splice(stack.lastIndexOf(name))
    for (const one of circle) stacked.delete(one)
    if (circle.length > 1 || next.has(name)) found.push(circle)
  }
  for (const name of names) if (!order.has(name)) visit(name)
  return found
}
