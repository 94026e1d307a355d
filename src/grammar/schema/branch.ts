import type { Slices } from '../../platform/index.js'
import type { Fuel } from '../fuel.js'
import { PLACES_TOGETHER } from './document.js'
import { type Atom, OBJECT, SchemaPart } from './part.js'
import type { Shallow } from './shallow.js'

/** One way to satisfy a choice: more to satisfy, and what it changes directly. */
export interface Choice {
  readonly atoms?: readonly Atom[]
  readonly edit?: (part: SchemaPart) => void
  /** Choices that only this one leads to. */
  readonly choices?: readonly (readonly Choice[])[]
}

/** What has demanded what of one value, back to what was asked for. */
interface Demand {
  readonly atom: Atom
  readonly by: Demand | undefined
}

interface OpenChoice {
  readonly options: readonly Choice[]
  /** The same said by several smaller choices, all to be made. */
  readonly apart?: readonly (readonly Choice[])[] | undefined
  readonly by: Demand | undefined
}

/** Atoms by their ids, on top of those that the branch had that was forked: it changes no more. */
class Applied {
  readonly #before: Applied | undefined
  readonly #own = new Set<number>()

  constructor(before?: Applied) {
    this.#before = before !== undefined && before.#own.size === 0 ? before.#before : before
  }

  has(id: number): boolean {
    for (let at: Applied | undefined = this; at !== undefined; at = at.#before) if (at.#own.has(id)) return true
    return false
  }

  add(id: number): void {
    this.#own.add(id)
  }
}

/** A conjunction in the making: what is settled, what is to be read, and the choices still to be made. */
export class Branch {
  part: SchemaPart
  forked = false
  readonly #todo: Demand[]
  readonly #choices: OpenChoice[]
  readonly #applied: Applied
  /** What is being read. */
  #at: Demand | undefined
  /** How many groups, and how many required keys, have been held against each other. */
  #groupsSeen = 0
  #requiredSeen = 0

  constructor(
    atoms: readonly Atom[],
    by?: Demand,
    part = new SchemaPart(),
    choices: OpenChoice[] = [],
    applied = new Applied(),
  ) {
    this.part = part
    this.#todo = atoms.map((atom) => ({ atom, by }))
    this.#choices = choices
    this.#applied = applied
  }

  /** The next unread atom; a branch that demands an atom and its negation is dead. */
  take(): Atom | undefined {
    for (let next = this.#todo.shift(); next !== undefined; next = this.#todo.shift()) {
      const { atom } = next
      if (this.#applied.has(atom.id ^ 1) || (this.#applied.has(atom.id) && isCircular(next))) {
        this.part.kinds = 0
        return undefined
      }
      if (this.#applied.has(atom.id)) continue
      this.#applied.add(atom.id)
      this.#at = next
      return atom
    }
    return undefined
  }

  /** Reads these before anything else, in their order. */
  next(...atoms: Atom[]): void {
    this.#todo.unshift(...atoms.map((atom) => ({ atom, by: this.#at })))
  }

  /** The choice to be made next; undefined where all is settled. */
  get choice(): readonly Choice[] | undefined {
    return this.#choices[0]?.options
  }

  /** Choices to be made after all others. */
  later(...choices: (readonly Choice[])[]): void {
    this.#choices.push(...choices.map((options) => ({ options, by: this.#at })))
  }

  /** As `later`, of one choice that can also be said by several, all to be made. */
  laterOr(options: readonly Choice[], apart: readonly (readonly Choice[])[]): void {
    this.#choices.push({ options, apart, by: this.#at })
  }

  /** One to be made before all others. */
  sooner(options: readonly Choice[]): void {
    this.#choices.unshift({ options, by: this.#at })
  }

  fork(choice: Choice): Branch {
    const [{ by } = { by: undefined }, ...others] = this.#choices
    const choices = [...(choice.choices ?? []).map((options) => ({ options, by })), ...others]
    const fork = new Branch(choice.atoms ?? [], by, this.part.clone(), choices, new Applied(this.#applied))
    fork.forked = true
    fork.#groupsSeen = this.#groupsSeen
    fork.#requiredSeen = this.#requiredSeen
    choice.edit?.(fork.part)
    return fork
  }

  /** How many ways lead on from here, choice by choice. */
  get options(): number {
    return this.#choices.reduce((sum, { options }) => sum + options.length, 0)
  }

  /** How many smaller choices a choice would be, at most. */
  get apart(): number {
    return Math.max(0, ...this.#choices.map(({ apart }) => apart?.length ?? 0))
  }

  /** The same, to be gone on with by itself; only what it says of these kinds. */
  copy(kinds: number): Branch {
    const part = this.part.clone()
    part.kinds &= kinds
    return new Branch([], undefined, part, [...this.#choices], new Applied(this.#applied))
  }

  /** Exchanges the choice to be made next for smaller ones that say the same; false where there are none. */
  takeApart(): boolean {
    const apart = this.#choices[0]?.apart
    if (apart === undefined) return false
    const by = this.#choices.shift()?.by
    this.#choices.push(...apart.map((options) => ({ options, by })))
    return true
  }

  /** Leaves the choice to be made next to others. */
  putAside(): void {
    this.#choices.shift()
  }

  /** Only the choices of which this is true. */
  keep(wanted: (options: readonly Choice[]) => boolean): void {
    const kept = this.#choices.filter(({ options }) => wanted(options))
    this.#choices.splice(0, this.#choices.length, ...kept)
  }

  /** What one way alone says of these kinds, on top of what this branch says anyway. */
  alone(choice: Choice, kinds: number): Branch {
    const by = this.#choices[0]?.by
    const part = new SchemaPart()
    part.kinds = kinds
    const choices = (choice.choices ?? []).map((options) => ({ options, by }))
    const branch = new Branch(choice.atoms ?? [], by, part, choices, new Applied(this.#applied))
    choice.edit?.(part)
    return branch
  }

  /** Finds contradictions that need no look into subschemas, so that hopeless branches do not multiply. */
  *prune(shallow: Shallow, fuel: Fuel): Slices<boolean> {
    this.part.settle()
    if ((this.part.kinds & OBJECT) !== 0) {
      const keys = this.#keysToLookAt()
      fuel.spend(this.part.groups.length * keys.length)
      if (yield* this.#hopelessProperty(keys, shallow)) this.part.kinds &= ~OBJECT
    }
    return this.part.dead
  }

  /** The required keys that are new, or that something new is said of. */
  #keysToLookAt(): string[] {
    const { required, groups } = this.part
    if (this.#requiredSeen === required.size && this.#groupsSeen === groups.length) return []
    const newGroups = groups.slice(this.#groupsSeen)
    const all = newGroups.some(({ patterns, additional }) => patterns.length === 0 && additional !== undefined)
    const keys = [...required].filter(
      (key, i) => all || i >= this.#requiredSeen || newGroups.some(({ properties }) => properties.has(key)),
    )
    this.#requiredSeen = required.size
    this.#groupsSeen = groups.length
    return keys
  }

  *#hopelessProperty(keys: readonly string[], shallow: Shallow): Slices<boolean> {
    let looked = 0
    for (const key of keys) {
      looked += this.part.groups.length
      if (looked >= PLACES_TOGETHER) {
        yield
        looked = 0
      }
      const atoms: Atom[] = []
      for (const group of this.part.groups) {
        const atom = group.properties.get(key)
        if (atom !== undefined) atoms.push(atom)
        else if (group.patterns.length === 0 && group.additional !== undefined) atoms.push(group.additional)
      }
      if (atoms.length > 0 && shallow.contradict(atoms)) return true
    }
    return false
  }
}

/**
 * Whether what is demanded is what led to this demand: `anyOf: [A, the whole]` says A, and the second way adds nothing.
 * Denied it says that A is not, and likewise the whole: nothing that was not said before.
 */
function isCircular({ atom, by }: Demand): boolean {
  if (atom.negated) return false
  for (let at = by; at !== undefined; at = at.by) if (at.atom.id === atom.id) return true
  return false
}
