import { FixedFrame } from './fixed.js'
import type { Bytes, Frame } from './frame.js'

/** A set of texts, made of smaller ones. A rule that stands in itself does so by its name. */
export type Rule = Leaf | Nothing | Then | Either | Heads | Repeat | Name

interface Measured {
  /** Whether nothing need come. */
  nullable: boolean
  /** Bytes of the shortest text; `Infinity`: there is none. */
  length: number
}

export interface Leaf extends Measured {
  readonly kind: 'leaf'
  readonly frame: Frame
}

interface Nothing extends Measured {
  readonly kind: 'nothing'
}

export interface Then extends Measured {
  readonly kind: 'then'
  readonly first: Rule
  readonly rest: Rule
}

interface Either extends Measured {
  readonly kind: 'choice'
  readonly options: readonly Rule[]
}

/** Options of which each begins with bytes of its own, found by those bytes and not one by one. */
export interface Heads extends Measured {
  readonly kind: 'heads'
  /** Sorted by their heads, none of which is empty. */
  readonly options: readonly Headed[]
  /** What may follow the heads, each once. */
  readonly rests: readonly Rule[]
}

/** These bytes, then the rest. */
export interface Headed {
  readonly head: Bytes
  readonly rest: Rule
}

export interface Repeat extends Measured {
  readonly kind: 'repeat'
  readonly body: Rule
  readonly min: number
  readonly max: number
  /** What is left after one round. */
  rest?: Rule
}

export interface Name extends Measured {
  readonly kind: 'name'
  readonly name: string
  rule: Rule
  /** Behind this one it changes nothing: a text of both is a text of this one. */
  absorbs?: Name
}

export const NOTHING: Nothing = { kind: 'nothing', nullable: true, length: 0 }

export function leaf(frame: Frame): Leaf {
  return { kind: 'leaf', frame, nullable: frame.ends, length: frame.length }
}

export function followedBy(first: Rule, rest: Rule): Rule {
  if (first === NOTHING || changesNothing(first, rest)) return rest
  if (rest === NOTHING) return first
  const next = rest.kind === 'then' ? rest.first : rest
  if (isFixed(first) && isFixed(next)) {
    const joined = leaf(FixedFrame.of(first.frame.spell() + next.frame.spell())!)
    return rest.kind === 'then' ? followedBy(joined, rest.rest) : joined
  }
  const nullable = first.nullable && rest.nullable
  return { kind: 'then', first, rest, nullable, length: first.length + rest.length }
}

function isFixed(rule: Rule): rule is Leaf {
  return rule.kind === 'leaf' && rule.frame instanceof FixedFrame
}

/** Whether whatever comes first may as well be the beginning of what follows, as with two free texts in a row. */
function changesNothing(first: Rule, rest: Rule): boolean {
  const next = rest.kind === 'then' ? rest.first : rest
  return (
    first.kind === 'leaf' && next.kind === 'leaf' && first.frame === next.frame && first.frame.absorbs === first.frame
  )
}

export function inSequence(parts: readonly Rule[]): Rule {
  return parts.reduceRight((rest, part) => followedBy(part, rest), NOTHING as Rule)
}

export function choiceOf(options: readonly Rule[]): Rule {
  if (options.length === 1) return options[0]!
  const nullable = options.some((option) => option.nullable)
  return { kind: 'choice', options, nullable, length: shortest(options) }
}

export function heads(options: readonly Headed[]): Heads {
  const rests = new Set(options.map(({ rest }) => rest))
  rests.delete(NOTHING)
  return { kind: 'heads', options, rests: [...rests], nullable: false, length: shortestHeaded(options) }
}

export function repeated(body: Rule, min: number, max: number): Rule {
  if (max === 0) return NOTHING
  if (min === 1 && max === 1) return body
  // Of any number of rounds of rounds nobody can say which they were.
  if (body.kind === 'repeat' && min <= 1 && max === Infinity && body.min <= 1) {
    return repeated(body.body, Math.min(min, body.min), Infinity)
  }
  const nullable = min === 0 || body.nullable
  return { kind: 'repeat', body, min, max, nullable, length: nullable ? 0 : min * body.length }
}

export function ruleNamed(name: string): Name {
  return { kind: 'name', name, rule: NOTHING, nullable: false, length: Infinity }
}

/** What is left of a repetition after one round. */
export function afterRound(rule: Repeat): Rule {
  if (rule.rest === undefined) {
    const { body, min, max } = rule
    rule.rest = max === Infinity && min === 0 ? rule : repeated(body, Math.max(0, min - 1), max - 1)
  }
  return rule.rest
}

function shortest(rules: readonly Rule[]): number {
  return rules.reduce((least, { length }) => Math.min(least, length), Infinity)
}

function shortestHeaded(options: readonly Headed[]): number {
  return options.reduce((least, { head, rest }) => Math.min(least, head.length + rest.length), Infinity)
}

/** Finds anew whether a rule may be empty and how short it can be, from what is known of its parts. */
export function weigh(rule: Rule): void {
  if (rule.kind === 'then') {
    rule.nullable = rule.first.nullable && rule.rest.nullable
    rule.length = rule.first.length + rule.rest.length
  } else if (rule.kind === 'choice') {
    rule.nullable = rule.options.some((option) => option.nullable)
    rule.length = shortest(rule.options)
  } else if (rule.kind === 'heads') {
    rule.length = shortestHeaded(rule.options)
  } else if (rule.kind === 'repeat') {
    rule.nullable = rule.min === 0 || rule.body.nullable
    rule.length = rule.nullable ? 0 : rule.min * rule.body.length
  } else if (rule.kind === 'name') {
    rule.nullable = rule.rule.nullable
    rule.length = rule.rule.length
  }
}

/** The rules that it is made of. */
export function partsOf(rule: Rule): readonly Rule[] {
  if (rule.kind === 'then') return [rule.first, rule.rest]
  if (rule.kind === 'choice') return rule.options
  if (rule.kind === 'heads') return rule.rests
  if (rule.kind === 'repeat') return [rule.body]
  return rule.kind === 'name' ? [rule.rule] : []
}
