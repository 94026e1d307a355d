import { type CharSet, EVERY, WORD } from '../automata/charset.js'
import { type Classes, partition } from '../automata/classes.js'
import type { TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import type { Formulas } from './formulas.js'
import { collectSets, type Node } from './regex-syntax.js'

/** What a formula combines: the least that may still follow. */
type Term =
  /** One character of a set, then `rest`. */
  | { readonly kind: 'set'; readonly members: Uint8Array; readonly rest: number }
  /** A repetition, then `rest`. */
  | { readonly kind: 'repeat'; readonly node: Node & { kind: 'repeat' }; readonly rest: number; unfolded: number }
  /** The end of the text. */
  | { readonly kind: 'end' }
  /** Whether a lookbehind holds here: known once the characters before are. */
  | { readonly kind: 'behind'; readonly index: number }

/** What may follow after one more character. */
export class Derivatives {
  readonly formulas: Formulas
  readonly classes: Classes
  readonly firstContext = 0
  private readonly fuel: Fuel
  private readonly compileBehind: (body: Node) => TextAutomaton
  private readonly members = new Map<CharSet, Uint8Array>()
  private readonly setIds = new Map<CharSet, number>()
  private readonly atoms: Term[] = []
  private readonly atomIds = new Map<string, number>()
  private readonly nodeIds = new Map<Node, number>()
  private readonly counted = new Map<string, Node & { kind: 'repeat' }>()
  private readonly clauseMemo = new Map<number, number>()
  private readonly nullableMemo = new Map<number, boolean>()
  /** One automaton per lookbehind, run beside the main one; a context is one state of each. */
  private readonly observers: TextAutomaton[] = []
  private readonly contexts: number[][] = []
  private readonly contextIds = new Map<string, number>()

  constructor(root: Node, formulas: Formulas, fuel: Fuel, compileBehind: (body: Node) => TextAutomaton) {
    this.formulas = formulas
    this.fuel = fuel
    this.compileBehind = compileBehind
    const sets = new Set<CharSet>([EVERY])
    collectSets(root, sets)
    const list = [...sets]
    const parts = partition(list, fuel)
    this.classes = parts.classes
    list.forEach((set, i) => {
      this.members.set(set, parts.members[i]!)
      this.setIds.set(set, i)
    })
    this.context([])
    this.observeRepeated(root, false)
  }

  /** Repetitions unfold late, and an observer must watch from the first character on. */
  private observeRepeated(node: Node, repeated: boolean, seen = [new Set<Node>(), new Set<Node>()]): void {
    const met = seen[repeated ? 1 : 0]!
    if (met.has(node)) return
    met.add(node)
    if (node.kind === 'cat') for (const part of node.parts) this.observeRepeated(part, repeated, seen)
    else if (node.kind === 'alt') for (const option of node.options) this.observeRepeated(option, repeated, seen)
    else if (node.kind === 'repeat') this.observeRepeated(node.body, true, seen)
    else if (node.kind === 'look' && !node.behind) this.observeRepeated(node.body, repeated, seen)
    else if (repeated && node.kind !== 'set') this.follow(node, this.formulas.everything)
  }

  /** The formula of `node` followed by `rest`. */
  follow(node: Node, rest: number): number {
    const { formulas } = this
    this.fuel.spend(1)
    if (rest === formulas.nothing) return rest
    switch (node.kind) {
      case 'set':
        return node.set.length === 0
          ? formulas.nothing
          : this.atom(`s${this.setIds.get(node.set)},${rest}`, () => ({
              kind: 'set',
              members: this.members.get(node.set)!,
              rest,
            }))
      case 'cat':
        return node.parts.reduceRight((after, part) => this.follow(part, after), rest)
      case 'alt':
        return formulas.or(node.options.map((option) => this.follow(option, rest)))
      case 'repeat':
        return this.atom(`r${this.nodeId(node)},${rest}`, () => ({ kind: 'repeat', node, rest, unfolded: -1 }))
      case 'look':
        return formulas.and(this.look(node), rest)
      case 'end':
        return formulas.and(
          this.atom('e', () => ({ kind: 'end' })),
          rest,
        )
      case 'start':
        return formulas.and(this.formulas.not(this.observe('start', { kind: 'set', set: EVERY })), rest)
      case 'word':
        return formulas.and(this.boundary(node.negative), rest)
    }
  }

  derive(formula: number, cls: number, context: number): number {
    const parts: number[] = []
    for (const clause of this.formulas.clauses(formula)) {
      const part = this.deriveClause(clause, cls, context)
      if (part === this.formulas.everything) return part
      if (part !== this.formulas.nothing) parts.push(part)
    }
    return this.formulas.or(parts)
  }

  nullable(formula: number, context: number): boolean {
    const key = context * 2 ** 31 + formula
    const known = this.nullableMemo.get(key)
    if (known !== undefined) return known
    const found = this.formulas.clauses(formula).some((clause) => {
      const literals = this.formulas.literals(clause)
      this.fuel.spend(literals.length >> 1)
      return literals.every((literal) => {
        const atom = this.atoms[literal >> 1]!
        return this.nullableAtom(atom, context) !== ((literal & 1) === 1)
      })
    })
    this.nullableMemo.set(key, found)
    return found
  }

  /** The context after one more character. */
  advance(context: number, cls: number): number {
    if (this.observers.length === 0) return context
    const before = this.states(context)
    this.fuel.spend(before.length)
    return this.context(this.observers.map((automaton, i) => automaton.next(before[i]!, this.classes.sample(cls))))
  }

  private deriveClause(clause: number, cls: number, context: number): number {
    const key = (context * 0x10000 + cls) * 0x400000 + clause
    const known = this.clauseMemo.get(key)
    if (known !== undefined) return known
    this.fuel.spend(2)
    let result = this.formulas.everything
    for (const literal of this.formulas.literals(clause)) {
      const after = this.deriveAtom(literal >> 1, cls, context)
      result = this.formulas.and(result, (literal & 1) === 1 ? this.formulas.not(after) : after)
      if (result === this.formulas.nothing) break
    }
    this.clauseMemo.set(key, result)
    return result
  }

  private deriveAtom(id: number, cls: number, context: number): number {
    const { formulas } = this
    const atom = this.atoms[id]!
    switch (atom.kind) {
      case 'set':
        return atom.members[cls] === 1 ? atom.rest : formulas.nothing
      case 'repeat':
        return this.derive(this.unfold(atom), cls, context)
      case 'end':
        return formulas.nothing
      case 'behind':
        return this.holdsBehind(atom.index, context) ? formulas.everything : formulas.nothing
    }
  }

  private nullableAtom(atom: Term, context: number): boolean {
    switch (atom.kind) {
      case 'set':
        return false
      case 'repeat':
        // The body always takes a character.
        return atom.node.min === 0 && this.nullable(atom.rest, context)
      case 'end':
        return true
      case 'behind':
        return this.holdsBehind(atom.index, context)
    }
  }

  private unfold(atom: Term & { kind: 'repeat' }): number {
    if (atom.unfolded === -1) {
      const { body, min, max } = atom.node
      const again = max === 1 ? atom.rest : this.follow(this.fewer(atom.node), atom.rest)
      const once = this.follow(body, again)
      atom.unfolded = min === 0 ? this.formulas.or([once, atom.rest]) : once
    }
    return atom.unfolded
  }

  private fewer(node: Node & { kind: 'repeat' }): Node {
    const min = Math.max(0, node.min - 1)
    const max = node.max - 1
    if (min === node.min && max === node.max) return node
    const key = `${this.nodeId(node.body)},${min},${max}`
    let fewer = this.counted.get(key)
    if (fewer === undefined) {
      if (min === 1 && max === 1) return node.body
      fewer = { kind: 'repeat', body: node.body, min, max }
      this.counted.set(key, fewer)
    }
    return fewer
  }

  private look(node: Node & { kind: 'look' }): number {
    const { formulas } = this
    const holds = node.behind
      ? this.observe(`b${this.nodeId(node.body)}`, node.body)
      : this.follow(node.body, formulas.everything)
    return node.negative ? formulas.not(holds) : holds
  }

  private boundary(negative: boolean): number {
    const word: Node = { kind: 'set', set: WORD }
    const before = this.observe('word', word)
    const members = this.members.get(WORD)!
    const after = this.atom('w', () => ({ kind: 'set', members, rest: this.formulas.everything }))
    const [same, other] = [after, this.formulas.not(after)]
    const [inside, outside] = negative ? [same, other] : [other, same]
    return this.formulas.or([this.formulas.and(before, inside), this.formulas.and(this.formulas.not(before), outside)])
  }

  /** The atom that says whether a lookbehind's body ends here. */
  private observe(key: string, body: Node): number {
    return this.atom(`o${key}`, () => {
      this.observers.push(this.compileBehind(body))
      return { kind: 'behind', index: this.observers.length - 1 }
    })
  }

  private holdsBehind(index: number, context: number): boolean {
    return this.observers[index]!.accepts(this.states(context)[index]!)
  }

  /** A context made before an observer was known stands for the start of the text. */
  private states(context: number): readonly number[] {
    const states = this.contexts[context]!
    return states.length === this.observers.length ? states : this.observers.map((automaton) => automaton.start)
  }

  private context(states: number[]): number {
    const key = states.join()
    let id = this.contextIds.get(key)
    if (id === undefined) {
      id = this.contexts.push(states) - 1
      this.contextIds.set(key, id)
    }
    return id
  }

  private atom(key: string, make: () => Term): number {
    let id = this.atomIds.get(key)
    if (id === undefined) {
      this.fuel.spend(1)
      id = this.atoms.push(make()) - 1
      this.atomIds.set(key, id)
    }
    return this.formulas.literal(id, false)
  }

  private nodeId(node: Node): number {
    let id = this.nodeIds.get(node)
    if (id === undefined) {
      id = this.nodeIds.size
      this.nodeIds.set(node, id)
    }
    return id
  }
}
