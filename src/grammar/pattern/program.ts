/** A pattern as states, in such an order that whatever a state asks at its own place stands before it. */
import { getOrMake } from '../../platform/index.js'
import type { CharSet } from '../automata/charset.js'
import { type Classes, partition } from '../automata/classes.js'
import { TextError } from '../automata/types.js'
import { Fuel } from '../fuel.js'
import { parseRegex, payForProperties } from '../regex/regex-parse.js'
import type { Node } from '../regex/regex-syntax.js'
import { EDGE, END, NO_EDGE, OrderedNodes, START } from './ordered.js'

/** A published pattern has some fifty. */
const MOST_STATES = 1000
/** Different looks behind; each doubles what a place may be. */
const MOST_BEHIND = 4
/** Of repetitions of what is nothing, which come to no states. */
const MOST_PARTS = 20_000
const FUEL = 1_000_000

export type PatternState =
  | { readonly kind: 'end' }
  | { readonly kind: 'never' }
  /** Takes a character of `sets[set]`. */
  | { readonly kind: 'set'; readonly set: number; readonly next: number }
  /** Tries `first`, then `second`. */
  | { readonly kind: 'either'; readonly first: number; readonly second: number }
  /** Whether a text that begins here has `body`. */
  | { readonly kind: 'ahead'; readonly body: number; readonly negative: boolean; readonly next: number }
  /** Whether one that ends here has `behind[index]`. */
  | { readonly kind: 'behind'; readonly index: number; readonly negative: boolean; readonly next: number }

export interface Program {
  readonly states: readonly PatternState[]
  readonly start: number
  /** The state of whatever is found. */
  readonly end: number
  /** Where each look behind starts; what it asks of others it asks of earlier ones. */
  readonly behind: readonly number[]
  readonly classes: Classes
  /** Of each set its classes. */
  readonly members: readonly Uint8Array[]
}

/** `source`: as JavaScript's RegExp reads it with the flag `u`. Throws what cannot be done. */
export function programOf(source: string): Program {
  const fuel = new Fuel(FUEL, new Set(), 'the pattern')
  payForProperties(source, fuel)
  return new Compiler().program(parseRegex(source, fuel, 'u', new OrderedNodes()))
}

type Draft = { -readonly [K in keyof PatternState]: PatternState[K] } & PatternState

/**
 * A round of a repetition that takes no character is given up. So a part has as many entries as there are rounds around
 * it that may still be empty, from none to all of them: `next[n]` is where those go of which `n` have taken something,
 * outermost first. A character settles it for all. What follows an empty round is thus never reached, and no state can
 * come back to itself at one place.
 */
type Entries = readonly Draft[]

class Compiler {
  readonly #end: Draft = { kind: 'end' }
  readonly #never: Draft = { kind: 'never' }
  readonly #drafts: Draft[] = [this.#end, this.#never]
  readonly #sets: CharSet[] = []
  readonly #setOf = new Map<string, number>()
  readonly #behind: Draft[] = []
  readonly #behindOf = new Map<string, number>()
  readonly #links = new Map<Draft, readonly Draft[]>()
  #inBehind = false
  #parts = 0

  program(node: Node): Program {
    const [start] = this.#entries(node, [this.#end])
    const order = this.#ordered([this.#end, ...this.#behind, start!])
    const place = new Map(order.map((draft, index) => [draft, index]))
    const states = order.map((draft) => {
      const links = (this.#links.get(draft) ?? []).map((link) => place.get(link)!)
      switch (draft.kind) {
        case 'set':
        case 'behind':
          return { ...draft, next: links[0]! }
        case 'ahead':
          return { ...draft, body: links[0]!, next: links[1]! }
        case 'either':
          return { ...draft, first: links[0]!, second: links[1]! }
        default:
          return draft
      }
    })
    const { classes, members } = partition(this.#sets)
    const behind = this.#behind.map((draft) => place.get(draft)!)
    return { states, start: place.get(start!)!, end: place.get(this.#end)!, behind, classes, members }
  }

  #entries(node: Node, next: Entries): Entries {
    if (++this.#parts > MOST_PARTS) throw new TextError(`it repeats to more than ${MOST_PARTS} parts`)
    switch (node.kind) {
      case 'set': {
        const taken = this.#add({ kind: 'set', set: this.#set(node.set), next: 0 }, next.at(-1)!)
        return next.map(() => taken)
      }
      case 'cat':
        return node.parts.reduceRight((after, part) => this.#entries(part, after), next)
      case 'alt':
        return node.options
          .map((option) => this.#entries(option, next))
          .reduceRight((second, first) => first.map((entry, n) => this.#either(entry, second[n]!)))
      case 'repeat':
        return this.#repeat(node, next)
      case 'look':
        return this.#look(node, next)
      case 'start':
        return this.#entries(START, next)
      case 'end':
        return this.#entries(END, next)
      case 'word':
        return this.#entries(node.negative ? NO_EDGE : EDGE, next)
    }
  }

  #repeat({ body, min, max, lazy }: Node & { kind: 'repeat' }, next: Entries): Entries {
    const choose = (round: Draft, out: Draft) => (lazy ? this.#either(out, round) : this.#either(round, out))
    /** A round that may be left for `after` once it has taken something. */
    const round = (after: Draft) => this.#entries(body, [...next.map(() => this.#never), after])
    let entries = next
    if (max === Number.POSITIVE_INFINITY) {
      const head = this.#add({ kind: 'either', first: 0, second: 0 })
      const rounds = round(head)
      const out = next.at(-1)!
      const again = rounds[next.length - 1]!
      this.#links.set(head, lazy ? [out, again] : [again, out])
      entries = next.map((after, n) => (n === next.length - 1 ? head : choose(rounds[n]!, after)))
    } else {
      for (let left = max - min; left > 0; left--) {
        const rounds = round(entries.at(-1)!)
        entries = next.map((after, n) => choose(rounds[n]!, after))
      }
    }
    for (let left = min; left > 0; left--) entries = this.#entries(body, entries)
    return entries
  }

  #look({ behind, negative, body }: Node & { kind: 'look' }, next: Entries): Entries {
    if (!behind) {
      if (this.#inBehind) throw new TextError('a lookahead within a lookbehind is not supported')
      const [start] = this.#entries(body, [this.#end])
      return shared(next, (after) => this.#add({ kind: 'ahead', body: 0, negative, next: 0 }, start!, after))
    }
    const key = JSON.stringify(body)
    let index = this.#behindOf.get(key)
    if (index === undefined) {
      const within = this.#inBehind
      this.#inBehind = true
      const [start] = this.#entries(body, [this.#end])
      this.#inBehind = within
      index = this.#behind.push(start!) - 1
      if (index >= MOST_BEHIND) throw new TextError(`more than ${MOST_BEHIND} different lookbehinds`)
      this.#behindOf.set(key, index)
    }
    const found = index
    return shared(next, (after) => this.#add({ kind: 'behind', index: found, negative, next: 0 }, after))
  }

  #either(first: Draft, second: Draft): Draft {
    if (first === second || second === this.#never) return first
    if (first === this.#never) return second
    return this.#add({ kind: 'either', first: 0, second: 0 }, first, second)
  }

  #add(draft: Draft, ...links: readonly Draft[]): Draft {
    if (this.#drafts.push(draft) > MOST_STATES) throw new TextError(`it comes to more than ${MOST_STATES} states`)
    this.#links.set(draft, links)
    return draft
  }

  #set(set: CharSet): number {
    const key = set.join()
    const known = this.#setOf.get(key)
    if (known !== undefined) return known
    this.#setOf.set(key, this.#sets.length)
    return this.#sets.push(set) - 1
  }

  /** What a state asks at its own place stands before it; what comes after a character stands anywhere. */
  #ordered(starts: readonly Draft[]): Draft[] {
    const order = new Set<Draft>()
    const later: Draft[] = [...starts].reverse()
    const visit = (draft: Draft) => {
      if (order.has(draft)) return
      const links = this.#links.get(draft) ?? []
      if (draft.kind === 'set') later.push(...links)
      else for (const link of links) visit(link)
      order.add(draft)
    }
    for (let draft = later.pop(); draft !== undefined; draft = later.pop()) visit(draft)
    return [...order]
  }
}

function shared(next: Entries, make: (after: Draft) => Draft): Entries {
  const made = new Map<Draft, Draft>()
  return next.map((after) => {
    return getOrMake(made, after, () => make(after))
  })
}
