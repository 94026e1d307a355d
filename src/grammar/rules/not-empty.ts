import { getOrMake } from '../../platform/index.js'
import { PlainTextFrame } from '../automaton/plain-text.js'
import {
  choiceOf,
  followedBy,
  heads,
  leaf,
  type Name,
  NOTHING,
  type Rule,
  repeated,
  ruleNamed,
} from '../automaton/rule.js'
import type { Fuel } from '../fuel.js'

/** A way in which a text may begin: what comes first, never empty and no group, and what follows it. */
export interface Production {
  readonly head: Rule
  readonly tail: Rule
}

/** Rules without their empty text. They must have been measured. */
export class NotEmpty {
  readonly #fuel: Fuel
  /** Their rules are somebody else's to write. */
  readonly #kept: ReadonlySet<Name>
  readonly #names = new Map<Name, Name>()
  readonly #rules = new Map<Rule, Rule | undefined>()

  constructor(fuel: Fuel, kept: ReadonlySet<Name>) {
    this.#fuel = fuel
    this.#kept = kept
  }

  /** A name of the same texts but the empty one. */
  name(name: Name): Name {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const bare = ruleNamed(name.name)
    this.#names.set(name, bare)
    if (!this.#kept.has(name)) bare.rule = choiceOfHeads(this.heads(name.rule))
    return bare
  }

  /** Undefined where nothing is left. */
  of(rule: Rule): Rule | undefined {
    if (rule === NOTHING) return undefined
    if (!rule.nullable) return rule
    return getOrMake(this.#rules, rule, () => choiceOfHeads(this.heads(rule)))
  }

  /** Every way in which a text of this rule that is not empty may begin. */
  heads(rule: Rule): Production[] {
    this.#fuel.spend(1)
    switch (rule.kind) {
      case 'nothing':
        return []
      case 'leaf': {
        const { frame } = rule
        const head = rule.nullable && frame instanceof PlainTextFrame ? leaf(frame.begun) : rule
        return [{ head, tail: NOTHING }]
      }
      case 'then': {
        const first = this.heads(rule.first).map(({ head, tail }) => this.#production(head, tail, rule.rest))
        return rule.first.nullable ? [...first, ...this.heads(rule.rest)] : first
      }
      case 'choice':
        return rule.options.flatMap((option) => this.heads(option))
      case 'heads':
        return [{ head: heads(rule.options), tail: NOTHING }]
      case 'repeat': {
        const min = rule.body.nullable ? 0 : Math.max(0, rule.min - 1)
        const more = repeated(rule.body, min, rule.max - 1)
        return this.heads(rule.body).map(({ head, tail }) => this.#production(head, tail, more))
      }
      case 'name':
        return [{ head: rule.nullable || this.#kept.has(rule) ? this.name(rule) : rule, tail: NOTHING }]
    }
  }

  #production(head: Rule, tail: Rule, rest: Rule): Production {
    this.#fuel.spend(4)
    return { head, tail: followedBy(tail, rest) }
  }
}

function choiceOfHeads(productions: readonly Production[]): Rule {
  return choiceOf(productions.map(({ head, tail }) => followedBy(head, tail)))
}
