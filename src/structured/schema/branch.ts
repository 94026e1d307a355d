import type { Fuel } from '../fuel.js'
import { type Atom, OBJECT, Part } from './part.js'
import type { Shallow } from './shallow.js'

/** One way to satisfy a choice: more to satisfy, and what it changes directly. */
export interface Choice {
  readonly atoms?: readonly Atom[]
  readonly edit?: (part: Part) => void
  /** Choices that only this one leads to. */
  readonly choices?: readonly (readonly Choice[])[]
}

/** A conjunction in the making: what is settled, what is to be read, and the choices still to be made. */
export class Branch {
  part: Part
  forked = false
  todo: Atom[]
  choices: (readonly Choice[])[]
  #applied: Set<number>
  #groupsSeen = -1

  constructor(
    todo: readonly Atom[],
    part = new Part(),
    choices: (readonly Choice[])[] = [],
    applied = new Set<number>(),
  ) {
    this.part = part
    this.todo = [...todo]
    this.choices = choices
    this.#applied = applied
  }

  /** The next unread atom; a branch that demands an atom and its negation is dead. */
  take(): Atom | undefined {
    for (let atom = this.todo.shift(); atom !== undefined; atom = this.todo.shift()) {
      if (this.#applied.has(atom.id)) continue
      if (this.#applied.has(atom.id ^ 1)) {
        this.part.kinds = 0
        return undefined
      }
      this.#applied.add(atom.id)
      return atom
    }
    return undefined
  }

  /** Reads these before anything else, in their order. */
  next(...atoms: Atom[]): void {
    this.todo.unshift(...atoms)
  }

  fork(choice: Choice): Branch {
    const choices = [...(choice.choices ?? []), ...this.choices.slice(1)]
    const fork = new Branch(choice.atoms ?? [], this.part.clone(), choices, new Set(this.#applied))
    fork.forked = true
    choice.edit?.(fork.part)
    return fork
  }

  /** Finds contradictions that need no look into subschemas, so that hopeless branches do not multiply. */
  prune(shallow: Shallow, fuel: Fuel): boolean {
    this.part.settle()
    const mark = this.part.groups.length * 1000 + this.part.required.size
    if ((this.part.kinds & OBJECT) !== 0 && mark !== this.#groupsSeen) {
      this.#groupsSeen = mark
      fuel.spend(this.part.groups.length * this.part.required.size)
      if (this.#hopelessProperty(shallow)) this.part.kinds &= ~OBJECT
    }
    return this.part.dead
  }

  #hopelessProperty(shallow: Shallow): boolean {
    for (const key of this.part.required) {
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
