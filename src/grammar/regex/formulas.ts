/**
 * Boolean combinations of atoms in disjunctive normal form, each stored once, so that equal ones are equal numbers.
 * A literal is `atom * 2`, plus 1 if negated; a clause is a conjunction of literals; a formula a disjunction of clauses.
 */

import { getOrMake } from '../../platform/index.js'
import type { Fuel } from '../fuel.js'

export class Formulas {
  private readonly fuel: Fuel
  private readonly clauseLists: (readonly number[])[] = []
  private readonly clauseIds = new Map<string, number>()
  private readonly formulaLists: (readonly number[])[] = []
  private readonly formulaIds = new Map<string, number>()
  private readonly singles = new Map<number, number>()
  /** False. */
  readonly nothing: number
  /** True. */
  readonly everything: number

  constructor(fuel: Fuel) {
    this.fuel = fuel
    this.nothing = this.intern([])
    this.everything = this.intern([this.clause([])])
  }

  literal(atom: number, negated: boolean): number {
    const literal = atom * 2 + (negated ? 1 : 0)
    return getOrMake(this.singles, literal, () => this.intern([this.clause([literal])]))
  }

  clauses(formula: number): readonly number[] {
    return this.formulaLists[formula]!
  }

  literals(clause: number): readonly number[] {
    return this.clauseLists[clause]!
  }

  or(formulas: readonly number[]): number {
    if (formulas.length === 1) return formulas[0]!
    const all: number[] = []
    for (const formula of formulas) {
      if (formula === this.everything) return formula
      for (const clause of this.formulaLists[formula]!) all.push(clause)
    }
    return this.disjunction(all)
  }

  and(a: number, b: number): number {
    if (a === b || b === this.everything || a === this.nothing) return a
    if (a === this.everything || b === this.nothing) return b
    const all: number[] = []
    for (const x of this.formulaLists[a]!) {
      for (const y of this.formulaLists[b]!) {
        const [left, right] = [this.clauseLists[x]!, this.clauseLists[y]!]
        this.fuel.spend(2 + ((left.length + right.length) >> 2))
        const both = this.conjunction(left, right)
        if (both !== -1) all.push(both)
      }
    }
    return this.disjunction(all)
  }

  not(formula: number): number {
    let result = this.everything
    for (const clause of this.formulaLists[formula]!) {
      const denied = this.clauseLists[clause]!.map((literal) => this.literal(literal >> 1, (literal & 1) === 0))
      result = this.and(result, denied.length === 0 ? this.nothing : this.or(denied))
    }
    return result
  }

  /** The clause that demands both; -1 if they contradict each other. */
  private conjunction(a: readonly number[], b: readonly number[]): number {
    const both = [...new Set([...a, ...b])].sort((x, y) => x - y)
    for (let i = 1; i < both.length; i++) if (both[i]! >> 1 === both[i - 1]! >> 1) return -1
    return this.clause(both)
  }

  private disjunction(clauses: number[]): number {
    this.fuel.spend(clauses.length)
    clauses.sort((x, y) => x - y)
    let unique = clauses.filter((clause, i) => i === 0 || clause !== clauses[i - 1])
    if (unique.some((clause) => this.clauseLists[clause]!.length !== 1)) unique = this.absorb(unique)
    return this.intern(unique)
  }

  /** Drops each clause that demands all that another one demands, and more. */
  private absorb(clauses: number[]): number[] {
    this.fuel.spend(clauses.length * clauses.length)
    const sets = clauses.map((clause) => new Set(this.clauseLists[clause]!))
    return clauses.filter(
      (_, i) => !sets.some((other, j) => j !== i && other.size < sets[i]!.size && isSubset(other, sets[i]!)),
    )
  }

  private clause(literals: readonly number[]): number {
    const key = literals.join()
    return getOrMake(this.clauseIds, key, () => this.clauseLists.push(literals) - 1)
  }

  private intern(clauses: readonly number[]): number {
    const key = clauses.join()
    return getOrMake(this.formulaIds, key, () => this.formulaLists.push(clauses) - 1)
  }
}

function isSubset(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  for (const value of a) if (!b.has(value)) return false
  return true
}
