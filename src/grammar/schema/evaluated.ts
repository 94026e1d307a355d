import type { TextAutomaton } from '../automata/types.js'
import type { Site } from './document.js'

/** Which members of an object or array some schemas look at. */
export class Evaluated {
  readonly names = new Set<string>()
  readonly patterns = new Map<string, TextAutomaton>()
  allProperties = false
  prefix = 0
  allItems = false
  /** Items that satisfy one of these. */
  readonly containing = new Set<Site>()

  add(other: Evaluated): this {
    for (const name of other.names) this.names.add(name)
    for (const [source, automaton] of other.patterns) this.patterns.set(source, automaton)
    for (const site of other.containing) this.containing.add(site)
    this.allProperties ||= other.allProperties
    this.allItems ||= other.allItems
    this.prefix = Math.max(this.prefix, other.prefix)
    return this
  }

  /** Whether what the other one looks at is looked at anyway. */
  covers(other: Evaluated): boolean {
    const properties =
      this.allProperties ||
      (!other.allProperties &&
        [...other.names].every((name) => this.names.has(name)) &&
        [...other.patterns.keys()].every((source) => this.patterns.has(source)))
    const items =
      this.allItems ||
      (!other.allItems &&
        other.prefix <= this.prefix &&
        [...other.containing].every((site) => this.containing.has(site)))
    return properties && items
  }
}
