import type { Expanding } from '../keywords/keyword.js'
import { readingsOf } from '../keywords/reading.js'
import { Branch, type Choice } from './branch.js'
import type { Context } from './context.js'
import { satisfies } from './evaluate.js'
import type { Atom, SchemaPart } from './part.js'
import { Shallow } from './shallow.js'
import { wantedChoice } from './wanted.js'

/** Answers whether two subschemas may share a value. */
export type Overlap = (a: Atom, b: Atom) => boolean

/** No pair of alternatives takes fewer steps to be held against each other. */
const OVERLAP = 30

/** Turns conjunctions of subschemas into lists of parts whose union they are. */
export class Expander implements Expanding {
  readonly context: Context
  readonly overlap: Overlap
  readonly shallow: Shallow

  constructor(context: Context, overlap: Overlap) {
    this.context = context
    this.overlap = overlap
    this.shallow = new Shallow(context)
  }

  expand(atoms: readonly Atom[]): SchemaPart[] {
    const parts: SchemaPart[] = []
    const open = [new Branch(atoms)]
    for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
      // A fork copies what is settled so far.
      this.context.fuel.spend(branch.forked ? 25 : 5)
      for (let atom = branch.take(); atom !== undefined; atom = branch.take()) this.#read(atom, branch)
      if (branch.prune(this.shallow, this.context.fuel)) continue
      const group = branch.choice ?? wantedChoice(this.context, branch.part)
      if (group === undefined) parts.push(branch.part)
      else for (let i = group.length - 1; i >= 0; i--) open.push(branch.fork(group[i]!))
    }
    return parts
  }

  #read(atom: Atom, branch: Branch): void {
    const { context } = this
    const { site } = atom
    const { schema } = site
    context.fuel.spend(10)
    context.fuel.place = site
    if (typeof schema === 'boolean') {
      if (!schema) branch.part.kinds = 0
      return
    }
    const readings = readingsOf(context, site, schema)
    if (atom.negated) {
      const choices: Choice[] = []
      for (const { keyword, said } of readings) keyword.deny({ context, site, schema, expander: this, choices }, said)
      // Next, before choices that stand further out: contradictions show early, and do not multiply.
      branch.sooner(choices)
    } else {
      const { part } = branch
      for (const { keyword, said } of readings) {
        keyword.assert({ context, site, schema, expander: this, branch, part }, said)
      }
    }
  }

  holds(atom: Atom, value: unknown): boolean {
    return satisfies(this.context, atom, value)
  }

  /** Each alternative with those that it may share a value with shut out. */
  exactlyOne(atoms: readonly Atom[]): Choice[] {
    const shared = atoms.map(() => [] as Atom[])
    const pairs = [...this.shallow.pairs(atoms)]
    this.context.fuel.suffice(pairs.length * OVERLAP)
    for (const [i, j] of pairs) {
      if (!this.overlap(atoms[i]!, atoms[j]!)) continue
      shared[i]!.push(this.context.not(atoms[j]!))
      shared[j]!.push(this.context.not(atoms[i]!))
    }
    return atoms.map((atom, i) => ({ atoms: [atom, ...shared[i]!] }))
  }
}
