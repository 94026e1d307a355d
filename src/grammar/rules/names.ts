import { getOrMake } from '../../platform/index.js'
import { type Name, type Rule, ruleNamed } from '../automaton/rule.js'
import { GrammarError } from '../grammar-error.js'

/** The rules of a grammar by their names, in whatever order they are written. */
export class RuleNames {
  readonly #text: string
  readonly #known = new Map<string, { readonly name: Name; readonly at: number; defined: boolean }>()

  /** `text`: where the grammar's mistakes are shown. */
  constructor(text: string) {
    this.#text = text
  }

  define(name: string, rule: Rule, at: number): void {
    const entry = this.#entry(name, at)
    if (entry.defined) throw new GrammarError(`the rule '${name}' is defined twice.`, { text: this.#text, at })
    entry.defined = true
    entry.name.rule = rule
  }

  mention(name: string, at: number): Name {
    return this.#entry(name, at).name
  }

  /** The rule that all texts follow. Throws for what was mentioned and never defined. */
  close(first: string): Name {
    const missing = [...this.#known].find(([, { defined }]) => !defined)
    if (missing !== undefined) {
      throw new GrammarError(`the rule '${missing[0]}' is not defined.`, { text: this.#text, at: missing[1].at })
    }
    const start = this.#known.get(first)
    if (start === undefined) throw new GrammarError(`there is no rule '${first}'; texts begin with it.`)
    return start.name
  }

  #entry(name: string, at: number) {
    return getOrMake(this.#known, name, () => ({ name: ruleNamed(name), at, defined: false }))
  }
}
