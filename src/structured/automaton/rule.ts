import type { Cell, Cells } from './cell.js'
import { type Bytes, ENDS, Frame } from './frame.js'

/** A set of texts, made of smaller ones. A rule that stands in itself does so by its name. */
export type Rule = Leaf | Nothing | Then | Choice | Repeat | Name

interface Measured {
  /** Whether nothing need come. */
  nullable: boolean
  /** Bytes of the shortest text; `Infinity`: there is none. */
  length: number
}

interface Leaf extends Measured {
  readonly kind: 'leaf'
  readonly frame: Frame
}

interface Nothing extends Measured {
  readonly kind: 'nothing'
}

interface Then extends Measured {
  readonly kind: 'then'
  readonly first: Rule
  readonly rest: Rule
}

interface Choice extends Measured {
  readonly kind: 'choice'
  readonly options: readonly Rule[]
}

interface Repeat extends Measured {
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
}

const UNMEASURED: Measured = { nullable: false, length: Infinity }

export const NOTHING: Nothing = { kind: 'nothing', nullable: true, length: 0 }

export function leaf(frame: Frame): Leaf {
  return { kind: 'leaf', frame, nullable: frame.ends, length: frame.length }
}

export function follow(first: Rule, rest: Rule): Rule {
  if (first === NOTHING) return rest
  return rest === NOTHING ? first : { kind: 'then', first, rest, ...UNMEASURED }
}

export function sequence(parts: readonly Rule[]): Rule {
  return parts.reduceRight((rest, part) => follow(part, rest), NOTHING as Rule)
}

export function choice(options: readonly Rule[]): Rule {
  return options.length === 1 ? options[0]! : { kind: 'choice', options, ...UNMEASURED }
}

export function repeat(body: Rule, min: number, max: number): Rule {
  if (max === 0) return NOTHING
  return min === 1 && max === 1 ? body : { kind: 'repeat', body, min, max, ...UNMEASURED }
}

export function nameOf(name: string): Name {
  return { kind: 'name', name, rule: NOTHING, ...UNMEASURED }
}

/** What is left of a repetition after one round. */
function afterRound(rule: Repeat): Rule {
  if (rule.rest === undefined) {
    const { body, min, max } = rule
    const rest = max === Infinity && min === 0 ? rule : repeat(body, Math.max(0, min - 1), max - 1)
    if (rest !== rule && rest.kind === 'repeat') {
      rest.nullable = rest.min === 0 || body.nullable
      rest.length = rest.nullable ? 0 : rest.min * body.length
    }
    rule.rest = rest
  }
  return rule.rest
}

const frames = new WeakMap<Rule, Frame>()

/** The frame before a rule; rules are measured by then, and none begins with itself. */
export function frameOf(rule: Rule): Frame {
  if (rule.kind === 'leaf') return rule.frame
  if (rule.kind === 'name') return frameOf(rule.rule)
  let frame = frames.get(rule)
  if (frame === undefined) {
    frame = new RuleFrame(rule)
    frames.set(rule, frame)
  }
  return frame
}

/** Before a rule: whatever may come of it. */
class RuleFrame extends Frame {
  readonly #rule: Rule
  override readonly length: number

  constructor(rule: Rule) {
    super(rule.nullable ? ENDS : 0)
    this.#rule = rule
    this.length = rule.length
  }

  override step(symbol: number, below: Cell, out: Cells): void {
    enter(this.#rule, symbol, below, out)
  }

  override next(below: Cell, into: Set<number>): boolean {
    return list(this.#rule, below, into)
  }

  override spell(): Bytes {
    return spell(this.#rule)
  }
}

function pushed(rule: Rule, below: Cell): Cell {
  return rule === NOTHING ? below : below.push(frameOf(rule))
}

function enter(rule: Rule, symbol: number, below: Cell, out: Cells): void {
  switch (rule.kind) {
    case 'leaf':
      rule.frame.step(symbol, below, out)
      return
    case 'nothing':
      return
    case 'then':
      enter(rule.first, symbol, pushed(rule.rest, below), out)
      if (rule.first.nullable) enter(rule.rest, symbol, below, out)
      return
    case 'choice':
      for (const option of rule.options) enter(option, symbol, below, out)
      return
    case 'repeat':
      enter(rule.body, symbol, pushed(afterRound(rule), below), out)
      return
    case 'name':
      enter(rule.rule, symbol, below, out)
  }
}

function list(rule: Rule, below: Cell, into: Set<number>): boolean {
  switch (rule.kind) {
    case 'leaf':
      return rule.frame.next(below, into)
    case 'nothing':
      return true
    case 'then':
      return list(rule.first, below, into) && (!rule.first.nullable || list(rule.rest, below, into))
    case 'choice':
      return rule.options.every((option) => list(option, below, into))
    case 'repeat':
      return list(rule.body, below, into)
    case 'name':
      return list(rule.rule, below, into)
  }
}

/** The canonical shortest text. */
function spell(rule: Rule): Bytes {
  if (rule.length === 0) return ''
  switch (rule.kind) {
    case 'leaf':
      return rule.frame.spell()
    case 'nothing':
      return ''
    case 'then':
      return spell(rule.first) + spell(rule.rest)
    case 'choice':
      return spell(rule.options.find((option) => option.length === rule.length)!)
    case 'repeat':
      return spell(rule.body).repeat(rule.min)
    case 'name':
      return spell(rule.rule)
  }
}
