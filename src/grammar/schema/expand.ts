import { atOnce, type Slices } from '../../platform/index.js'
import type { ExactlyOne, Expanding } from '../keywords/keyword.js'
import { readingsOf } from '../keywords/reading.js'
import { propertiesAhead } from './arrays-objects.js'
import { Branch, type Choice } from './branch.js'
import type { Context } from './context.js'
import { satisfies } from './evaluate.js'
import { ANY, type Atom, OBJECT, type SchemaPart } from './part.js'
import { Shallow } from './shallow.js'
import { wantedChoice } from './wanted.js'

/** Answers whether two subschemas may share a value. */
export type Overlap = (a: Atom, b: Atom) => Slices<boolean>

/** What objects must be: all of the first, and for each list one of the others. */
export interface Factors {
  readonly base: SchemaPart
  readonly lists: readonly (readonly SchemaPart[])[]
}

/** Parts whose union all values are. Of objects there may be factors instead, where they have too many parts. */
interface Expansion {
  readonly parts: readonly SchemaPart[]
  readonly objects?: Factors
}

/** No pair of alternatives takes fewer steps to be held against each other. */
const OVERLAP = 30

/** Where ways multiply beyond this, and beyond so many for each that is written, objects are told apart member by member. */
const MOST_FORKS = 64
const FORKS_PER_OPTION = 4
/** Where more alternatives exclude one another, their ways are surely many. */
const MOST_PAIRS = 16

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

  expand(atoms: readonly Atom[]): readonly SchemaPart[] {
    return atOnce(this.#parts(new Branch(atoms)))!
  }

  /** As `expand`, with factors of objects where those are fewer. Pauses between places, and within large ones. */
  *expandObjects(atoms: readonly Atom[]): Slices<Expansion> {
    const root = new Branch(atoms)
    yield* this.#readAll(root)
    if (root.apart <= MOST_PAIRS) {
      const few = yield* this.#parts(root.copy(ANY), MOST_FORKS + FORKS_PER_OPTION * root.options)
      if (few !== undefined) return { parts: few }
    }
    const objects = yield* this.#factors(root.copy(OBJECT))
    if (objects === undefined) return { parts: (yield* this.#parts(root))! }
    const others = root.copy(ANY & ~OBJECT)
    others.keep((options) => !this.#isIdle(options, others))
    return { parts: (yield* this.#parts(others))!, objects }
  }

  /** Whether one of the options says nothing of what is not an object, so that the others need no look. */
  #isIdle(options: readonly Choice[], branch: Branch): boolean {
    const kinds = branch.part.kinds
    return options.some((option) =>
      atOnce(this.#parts(branch.alone(option, kinds), MOST_FORKS))?.some((part) => part.kinds === kinds && part.free),
    )
  }

  /** Undefined where they are more than `most`. `whole`: no member is left to be wanted. */
  *#parts(root: Branch, most = Infinity, whole = true): Slices<SchemaPart[] | undefined> {
    const parts: SchemaPart[] = []
    const open = [root]
    let forks = 0
    for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
      // A fork copies what is settled so far.
      this.context.fuel.spend(branch.forked ? 25 : 5)
      if (branch.forked && ++forks > most) return undefined
      if (this.context.fuel.tires()) yield
      yield* this.#readAll(branch)
      if (yield* branch.prune(this.shallow, this.context.fuel)) continue
      const group = branch.choice ?? (whole ? wantedChoice(this.context, branch.part) : undefined)
      if (group === undefined) parts.push(branch.part)
      else for (let i = group.length - 1; i >= 0; i--) open.push(branch.fork(group[i]!))
    }
    return parts
  }

  /** Undefined where that does not help. */
  *#factors(root: Branch): Slices<Factors | undefined> {
    const lists: (readonly SchemaPart[])[] = []
    const known = new Map<string, readonly SchemaPart[]>()
    let branch = root
    for (;;) {
      this.context.fuel.spend(5)
      yield* this.#readAll(branch)
      if (yield* branch.prune(this.shallow, this.context.fuel)) return { base: branch.part, lists: [[]] }
      if (branch.choice === undefined) break
      if (branch.takeApart()) continue
      const ways: (readonly SchemaPart[] | undefined)[] = []
      for (const option of branch.choice) ways.push(yield* this.#waysOf(option, branch, known))
      const [only, ...others] = branch.choice.filter((_, i) => ways[i]?.length !== 0)
      if (only !== undefined && others.length === 0) branch = branch.fork(only)
      else {
        const parts = ways.flatMap((way) => way ?? [])
        if (ways.includes(undefined) || parts.some((part) => part.literals !== undefined)) return undefined
        lists.push(parts)
        branch.putAside()
      }
    }
    return branch.part.literals === undefined ? { base: branch.part, lists } : undefined
  }

  /** What an option says of objects; undefined where it has too many parts. */
  *#waysOf(
    option: Choice,
    branch: Branch,
    known: Map<string, readonly SchemaPart[]>,
  ): Slices<readonly SchemaPart[] | undefined> {
    const key = option.edit === undefined && option.choices === undefined ? idsOf(option.atoms) : undefined
    const parts =
      (key === undefined ? undefined : known.get(key)) ??
      (yield* this.#parts(branch.alone(option, OBJECT), MOST_FORKS, false))
    if (key !== undefined && parts !== undefined) known.set(key, parts)
    return parts
  }

  *#readAll(branch: Branch): Slices<void> {
    for (let atom = branch.take(); atom !== undefined; atom = branch.take()) {
      yield* propertiesAhead(this.context, atom.site)
      yield* this.#read(atom, branch)
    }
  }

  *#read(atom: Atom, branch: Branch): Slices<void> {
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
      for (const { keyword, claim } of readings) {
        yield* keyword.deny({ context, site, schema, expander: this, choices }, claim) ?? []
      }
      // Next, before choices that stand further out: contradictions show early, and do not multiply.
      branch.sooner(choices)
    } else {
      const { part } = branch
      for (const { keyword, claim } of readings) {
        yield* keyword.assert({ context, site, schema, expander: this, branch, part }, claim) ?? []
      }
    }
  }

  holds(atom: Atom, value: unknown): boolean {
    return satisfies(this.context, atom, value)
  }

  *exactlyOne(atoms: readonly Atom[]): Slices<ExactlyOne> {
    const { context } = this
    const shared = atoms.map(() => [] as Atom[])
    const apart: Choice[][] = [atoms.map((atom) => ({ atoms: [atom] }))]
    const pairs = [...this.shallow.pairs(atoms)]
    context.fuel.suffice(pairs.length * OVERLAP)
    for (const [i, j] of pairs) {
      const [a, b] = [atoms[i]!, atoms[j]!]
      if (!this.shallow.independent(a, b) && !(yield* this.overlap(a, b))) continue
      shared[i]!.push(context.not(b))
      shared[j]!.push(context.not(a))
      apart.push([{ atoms: [context.not(a)] }, { atoms: [context.not(b)] }])
    }
    return { options: atoms.map((atom, i) => ({ atoms: [atom, ...shared[i]!] })), apart }
  }
}

function idsOf(atoms: readonly Atom[] = []): string {
  return atoms.map((atom) => atom.id).join()
}
