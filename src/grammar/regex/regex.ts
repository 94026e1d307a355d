import { atOnce, LruMap, type Slices } from '../../platform/index.js'

/**
 * Regular expressions to automata by derivatives. A state is a boolean combination of what may still follow, so that
 * lookaheads are plain conjunctions, and repetitions are counted down instead of unrolled.
 */

import { BUT_LINE_FEED, DOT, EVERY } from '../automata/charset.js'
import { CountedAutomaton } from '../automata/counted.js'
import { minimiseInSlices } from '../automata/minimise.js'
import type { TableAutomaton } from '../automata/table.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import { Fuel } from '../fuel.js'
import { Derivatives } from './derivatives.js'
import { Formulas } from './formulas.js'
import { parseRegex, payForProperties } from './regex-parse.js'
import { type Node, Nodes } from './regex-syntax.js'

/** Steps of one regular expression: about 100 ms. */
const REGEX_FUEL = 400_000
const MAX_LENGTH = 20_000
const MAX_CELLS = 500_000
/** A state costs more than a step: its row, and its part in minimising. */
const STATE_COST = 10

const ANYTHING: Node = {
  kind: 'repeat',
  body: { kind: 'set', set: EVERY },
  min: 0,
  max: Number.POSITIVE_INFINITY,
}

const CACHED = 256
/** With what each cost to make: finding it costs as much, so that fuel does not depend on what came before. */
const cache = new LruMap<string, { made: TextAutomaton; cost: number }>(CACHED)
const CACHED_STATES = 2048
/** From so many repetitions of one character class on, a counter takes the place of states. */
const COUNTED = 16

export interface RegexOptions {
  /**
   * `i`, `s` and `v`; `u` is set where `v` is not.
   * @default none
   */
  readonly flags?: string
  /**
   * The whole text must match, rather than some part of it.
   * @default false
   */
  readonly whole?: boolean
  /**
   * `.` is every character but a line feed, as Python and Rust have it; ECMAScript leaves out three more.
   * @default false
   */
  readonly longLines?: boolean
  /**
   * `\d`, `\w`, `\s` and what is none of them hold the characters on which ECMAScript, Python and Rust agree.
   * @default false
   */
  readonly shared?: boolean
}

/** The texts in which the regular expression finds a match, as `RegExp.test` with the `u` flag does. */
export function compileRegex(source: string, fuel?: Fuel, options?: RegexOptions): TextAutomaton {
  return atOnce(compileRegexInSlices(source, fuel, options))
}

/** As `compileRegex`, with a pause every few milliseconds. */
export function* compileRegexInSlices(
  source: string,
  fuel = new Fuel(REGEX_FUEL),
  options: RegexOptions = {},
): Slices<TextAutomaton> {
  const { flags = '', whole = false, longLines = false, shared = false } = options
  const key = `${whole ? '=' : ''}${longLines ? '.' : ''}${shared ? '&' : ''}/${flags}/${source}`
  const known = cache.get(key)
  if (known !== undefined) {
    payForProperties(source, fuel)
    fuel.spend(known.cost)
    return known.made
  }
  if (source.length > MAX_LENGTH) throw new TextError(`a regular expression of more than ${MAX_LENGTH} characters`)
  payForProperties(source, fuel)
  const before = fuel.left
  fuel.spend(source.length)
  const parsed = parseRegex(source, fuel, flags, new Nodes(fuel), longLines ? BUT_LINE_FEED : DOT, shared)
  const node = whole ? new Nodes(fuel).cat([{ kind: 'start' }, parsed, { kind: 'end' }]) : parsed
  const made = (yield* counted(node, fuel)) ?? (yield* compileNode(node, fuel))
  if (made instanceof CountedAutomaton || made.states <= CACHED_STATES) {
    cache.set(key, { made, cost: before - fuel.left })
  }
  return made
}

/** `^[a-z]{1,500}$` and `^(?=.{1,253}$)` before more as a counter; undefined for any other form. */
function* counted(node: Node, fuel: Fuel): Slices<TextAutomaton | undefined> {
  if (node.kind !== 'cat' || node.parts[0]?.kind !== 'start') return undefined
  const [first, second, ...rest] = node.parts as [Node, Node, ...Node[]]
  const looks = second?.kind === 'look' && !second.behind && !second.negative
  const [body, last, ...more] = looks ? (second.body.kind === 'cat' ? second.body.parts : []) : [second, ...rest]
  if (body?.kind !== 'repeat' || body.body.kind !== 'set' || last?.kind !== 'end' || more.length > 0) return undefined
  const { min, max } = body
  if ((max === Number.POSITIVE_INFINITY ? min : max) < COUNTED) return undefined
  const nodes = new Nodes(fuel)
  const loop = nodes.cat([{ ...body, min: 0, max: Number.POSITIVE_INFINITY }, last])
  const all = nodes.cat(looks ? [first, { ...second, body: loop }, ...rest] : [first, loop])
  return CountedAutomaton.of(yield* compileNode(all, fuel), min, max, fuel)
}

function* compileNode(node: Node, fuel: Fuel): Slices<TableAutomaton> {
  // Before they are asked for, which is where nothing can pause.
  const known = new Map<Node, TableAutomaton>()
  for (const body of lookedBehind(node)) known.set(body, yield* behind(body, fuel))
  const behindOf = (body: Node) => known.get(body) ?? atOnce(behind(body, fuel))
  const derivatives = new Derivatives(node, new Formulas(fuel), fuel, behindOf)
  return yield* explore(derivatives, search(node, derivatives, fuel), fuel)
}

/** Texts that end with a match: what a lookbehind asks of everything before it. */
function* behind(body: Node, fuel: Fuel): Slices<TableAutomaton> {
  if (looksAhead(body)) throw new TextError('a lookahead or \\b inside a lookbehind cannot be enforced exactly')
  return yield* compileNode(new Nodes(fuel).cat([body, { kind: 'end' }]), fuel)
}

/** What lookbehinds ask, but for those within lookbehinds. */
function lookedBehind(node: Node, found = new Set<Node>(), seen = new Set<Node>()): ReadonlySet<Node> {
  if (seen.has(node)) return found
  seen.add(node)
  if (node.kind === 'cat') for (const part of node.parts) lookedBehind(part, found, seen)
  else if (node.kind === 'alt') for (const option of node.options) lookedBehind(option, found, seen)
  else if (node.kind === 'look' && node.behind) found.add(node.body)
  else if (node.kind === 'repeat' || node.kind === 'look') lookedBehind(node.body, found, seen)
  return found
}

function looksAhead(node: Node, seen = new Set<Node>()): boolean {
  if (seen.has(node)) return false
  seen.add(node)
  switch (node.kind) {
    case 'cat':
      return node.parts.some((part) => looksAhead(part, seen))
    case 'alt':
      return node.options.some((option) => looksAhead(option, seen))
    case 'repeat':
      return looksAhead(node.body, seen)
    case 'look':
      return !node.behind || looksAhead(node.body, seen)
    case 'start':
    case 'set':
      return false
    default:
      return true
  }
}

/** A match that may begin anywhere, or, where it is anchored, only at the start; anything may follow it. */
function search(node: Node, derivatives: Derivatives, fuel: Fuel): number {
  const { formulas } = derivatives
  if (node.kind === 'alt') return formulas.or(node.options.map((option) => search(option, derivatives, fuel)))
  if (node.kind === 'start') return formulas.everything
  if (node.kind === 'cat' && node.parts[0]?.kind === 'start') {
    return derivatives.follow(new Nodes(fuel).cat(node.parts.slice(1)), formulas.everything)
  }
  return derivatives.follow(ANYTHING, derivatives.follow(node, formulas.everything))
}

function* explore(derivatives: Derivatives, first: number, fuel: Fuel): Slices<TableAutomaton> {
  const { classes } = derivatives
  const width = classes.count
  const ids = new Map<number, number>()
  const formulas: number[] = [0]
  const contexts: number[] = [0]
  const accepting: number[] = [0]
  const rows: number[] = new Array(width).fill(0)
  const stateOf = (formula: number, context: number) => {
    if (formula === derivatives.formulas.nothing) return 0
    const key = formula * 0x100000 + context
    let id = ids.get(key)
    if (id === undefined) {
      fuel.spend(STATE_COST)
      id = formulas.push(formula) - 1
      contexts.push(context)
      accepting.push(derivatives.nullable(formula, context) ? 1 : 0)
      ids.set(key, id)
    }
    return id
  }
  const start = stateOf(first, derivatives.firstContext)
  for (let s = 1; s < formulas.length; s++) {
    fuel.spend(width)
    if (rows.length > MAX_CELLS) throw new TextError('the regular expression needs too many states')
    rows.push(0)
    for (let cls = 1; cls < width; cls++) {
      if (fuel.tires()) yield
      const formula = derivatives.derive(formulas[s]!, cls, contexts[s]!)
      rows.push(stateOf(formula, derivatives.advance(contexts[s]!, cls)))
    }
  }
  return yield* minimiseInSlices(start, classes, Uint32Array.from(rows), Uint8Array.from(accepting))
}
