import type { Slices } from '../../platform/index.js'
import { getOrMake } from '../../platform/index.js'
import { choiceOf, followedBy, type Name, NOTHING, type Rule, repeated, ruleNamed } from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'
import { NotEmpty } from './not-empty.js'

/**
 * Rewrites rules that begin with themselves so that none does, and the texts stay the same: `sum: sum "+" n | n` becomes
 * `n ("+" n)*`. Rules that begin with each other are read from the left corner: what may come first of any of them, then
 * what of the one that was wanted is still missing. That takes as many rules as there are pairs of them, never more.
 * Rules must have been measured, and are to be measured anew.
 */
export function* withoutLeftRecursion(names: readonly Name[], fuel: Fuel): Slices<void> {
  const circles = yield* circlesOf(names, fuel)
  const notEmpty = new NotEmpty(fuel, new Set(circles.flat()))
  // All are read before any is changed.
  const read: Circle[] = []
  for (const circle of circles) {
    const one = new Circle(circle, notEmpty, fuel)
    yield* one.read()
    read.push(one)
  }
  for (const circle of read) yield* circle.rewrite()
}

/** From one name of a circle, once it is complete, to another that it is the beginning of. */
interface Edge {
  readonly to: Name
  readonly tail: Rule
}

/** Names that may each begin with each other. */
class Circle {
  readonly #names: readonly Name[]
  readonly #notEmpty: NotEmpty
  readonly #fuel: Fuel
  /** For each name, what may come first of it and is none of the circle. */
  readonly #seeds = new Map<Name, Rule[]>()
  readonly #edges = new Map<Name, Edge[]>()

  constructor(names: readonly Name[], notEmpty: NotEmpty, fuel: Fuel) {
    this.#names = names
    this.#notEmpty = notEmpty
    this.#fuel = fuel
    for (const name of names) {
      this.#seeds.set(name, [])
      this.#edges.set(name, [])
    }
  }

  *read(): Slices<void> {
    const bare = new Map(this.#names.map((name) => [this.#notEmpty.name(name) as Rule, name]))
    for (const name of this.#names) {
      if (this.#fuel.tires()) yield
      for (const { head, tail } of this.#notEmpty.heads(name.rule)) {
        this.#fuel.spend(1)
        const from = bare.get(head)
        if (from === undefined) this.#seeds.get(name)!.push(followedBy(head, tail))
        else this.#edges.get(from)!.push({ to: name, tail })
      }
    }
  }

  *rewrite(): Slices<void> {
    const [only] = this.#names
    const rules: Rule[] = []
    if (this.#names.length === 1) rules.push(this.#single(only!))
    else for (const name of this.#names) rules.push(yield* this.#among(name))
    this.#names.forEach((name, i) => {
      const bare = this.#notEmpty.name(name)
      bare.rule = rules[i]!
      name.rule = name.nullable ? choiceOf([bare, NOTHING]) : bare
    })
  }

  /** A name that begins only with itself: what may come first, then any number of what may follow it. */
  #single(name: Name): Rule {
    const tails = this.#edges
      .get(name)!
      .map(({ tail }) => tail)
      .filter((tail) => tail !== NOTHING)
    const first = choiceOf(this.#seeds.get(name)!)
    return tails.length === 0 ? first : followedBy(first, repeated(choiceOf(tails), 0, Infinity))
  }

  /** The texts of one name, by way of all that may be its beginning. */
  *#among(wanted: Name): Slices<Rule> {
    const missing = new Map<Name, Name>()
    const behind = (name: Name) =>
      getOrMake(missing, name, () => {
        const rest = ruleNamed(wanted.name)
        rest.nullable = this.#leadsTo(name, wanted)
        return rest
      })
    const options: Rule[] = []
    for (const name of this.#names) {
      if (this.#fuel.tires()) yield
      const seeds = this.#seeds.get(name)!
      if (seeds.length > 0) options.push(followedBy(choiceOf(seeds), behind(name)))
    }
    for (const [name, rest] of missing) {
      const more: Rule[] = []
      if (this.#fuel.tires()) yield
      for (const begun of this.#same(name)) {
        for (const { to, tail } of this.#edges.get(begun)!) {
          this.#fuel.spend(2)
          const written = this.#notEmpty.of(tail)
          if (written !== undefined) more.push(followedBy(written, behind(to)))
        }
      }
      rest.rule = choiceOf(rest.nullable ? [...more, NOTHING] : more)
      rest.absorbs = behind(wanted)
    }
    return choiceOf(options)
  }

  /** Names that are complete where this one is, itself among them: nothing need come in between. */
  #same(name: Name): Set<Name> {
    const found = new Set([name])
    for (const one of found) {
      for (const { to, tail } of this.#edges.get(one)!) if (tail.nullable) found.add(to)
      this.#fuel.spend(1)
    }
    return found
  }

  #leadsTo(name: Name, wanted: Name): boolean {
    return this.#same(name).has(wanted)
  }
}

/** The names that a rule may begin with. */
function beginnings(rule: Rule, into: Set<Name>): void {
  if (rule.kind === 'name') into.add(rule)
  else if (rule.kind === 'repeat') beginnings(rule.body, into)
  else if (rule.kind === 'choice') for (const option of rule.options) beginnings(option, into)
  else {
    let at: Rule = rule
    for (; at.kind === 'then'; at = at.rest) {
      beginnings(at.first, into)
      if (!at.first.nullable) return
    }
    if (at !== rule) beginnings(at, into)
  }
}

/** The sets of names that lead back to themselves, by Tarjan's algorithm. */
function* circlesOf(names: readonly Name[], fuel: Fuel): Slices<Name[][]> {
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
  for (const name of names) {
    if (fuel.tires()) yield
    if (!order.has(name)) visit(name)
  }
  return found
}
