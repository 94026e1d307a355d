import { atOnce, getOrMake, type Slices } from '../../platform/index.js'
import type { Fuel, StepWork } from '../fuel.js'
import { GrammarError } from '../grammar-error.js'
import type { Forks } from './forks.js'
import { type Bytes, Cell, Cells, ENDS, Frame, type RuleStart } from './frame.js'
import { HeadsFrame } from './heads.js'
import { afterRound, type Headed, type Name, NOTHING, type Repeat, type Rule } from './rule.js'

/** One way in which a rule may begin. */
interface Way {
  readonly head: Frame | Entry
  /** What follows the head, the last first: so they are pushed. */
  readonly rests: readonly Frame[]
}

/** Of what leads from rule to rule before anything comes; the engine's own stack holds more. */
const MOST_HEIGHT = 1000
/** Repetitions that must come more often than this are not looked through. */
const MOST_ROUNDS = 64

/** How a rule begins: what may come first of it, each with what follows then. */
export class Entry implements RuleStart {
  /** The name of the rule that it is a part of. */
  readonly owner: string | undefined
  readonly #rule: Rule
  #ways: readonly Way[] | undefined
  readonly #bySymbol = new Map<number, readonly Way[]>()
  #height = 0
  #firsts: ReadonlySet<number> | null | undefined
  /** Places of ways by what comes first of them; under `ANY` where that is more than a list. */
  #byFirst: Map<number, number[]> | undefined

  constructor(rule: Rule, owner: string | undefined) {
    this.#rule = rule
    this.owner = owner
  }

  get ways(): readonly Way[] {
    return atOnce(this.waysInSlices())
  }

  /** Collects them, which may be thousands, unless that was done. */
  *waysInSlices(): Slices<readonly Way[]> {
    this.#ways ??= yield* collect(this.#rule, this.owner)
    return this.#ways
  }

  /** Entries that this one leads to before anything comes are all of a lesser height. */
  get height(): number {
    return this.#heightUpTo(MOST_HEIGHT)
  }

  #heightUpTo(most: number): number {
    if (this.#height === 0) {
      let height = 1
      if (most > 0) {
        for (const { head } of this.ways) {
          if (head instanceof Entry) height = Math.max(height, head.#heightUpTo(most - 1) + 1)
        }
      }
      if (height > most) throw new GrammarError('the grammar is nested too deeply.')
      this.#height = height
    }
    return this.#height
  }

  /** The ways that begin with a byte, or a token without text. */
  of(symbol: number, work: StepWork): readonly Way[] {
    return getOrMake(this.#bySymbol, symbol, () => {
      const ways = this.ways.length > FEW_WAYS ? this.#near(symbol) : this.ways
      work.spend(ways.length)
      return ways.filter(({ head }) => (head instanceof Entry ? head.of(symbol, work).length > 0 : takes(head, symbol)))
    })
  }

  /** Finds out what its ways begin with, where they are many: a thousandth of a second each hundred. */
  *order(): Slices<void> {
    if (this.#byFirst !== undefined || this.ways.length <= FEW_WAYS) return
    const byFirst = new Map<number, number[]>()
    for (const [i, { head }] of this.ways.entries()) {
      if (i % SLICE === SLICE - 1) yield
      for (const first of firstsOf(head) ?? [ANY]) getOrMake(byFirst, first, (): number[] => []).push(i)
    }
    this.#byFirst = byFirst
  }

  /** In their order those that may begin with it, as far as that is known of each: of thousands all but a few do not. */
  #near(symbol: number): readonly Way[] {
    if (this.#byFirst === undefined) atOnce(this.order())
    const [known = [], unknown = []] = [this.#byFirst!.get(symbol), this.#byFirst!.get(ANY)]
    const places = unknown.length === 0 ? known : [...known, ...unknown].sort((a, b) => a - b)
    return places.map((i) => this.ways[i]!)
  }

  /** The bytes that may come first; null if they are too many to be worth a list. */
  get firsts(): ReadonlySet<number> | null {
    if (this.#firsts === undefined) {
      const found = new Set<number>()
      const few = this.ways.every(({ head }) => {
        if (!(head instanceof Entry)) return head.next(NOWHERE, found)
        for (const byte of head.firsts ?? []) found.add(byte)
        return head.firsts !== null
      })
      this.#firsts = few ? found : null
    }
    return this.#firsts
  }
}

/** More ways than this are found by what they begin with. */
const FEW_WAYS = 16
/** No symbol. */
const ANY = -1
/** Options from one pause to the next. */
const SLICE = 256

/** What a frame allows does not depend on what stands below it. */
const NOWHERE = new Cell()

function firstsOf(head: Frame | Entry): ReadonlySet<number> | null {
  if (head instanceof Entry) return head.firsts
  const found = new Set<number>()
  return head.next(NOWHERE, found) ? found : null
}

function takes(frame: Frame, symbol: number): boolean {
  const moved = frame.move(symbol)
  if (moved !== undefined) return moved !== null
  const out = new Cells()
  frame.step(symbol, NOWHERE, out)
  NOWHERE.clear()
  return out.list.length + out.begun.length > 0
}

/** What is left to be looked at of a rule, with what follows it. */
interface Uncollected {
  readonly rule: Rule
  readonly rests: readonly Frame[]
}

function* collect(rule: Rule, owner: string | undefined): Slices<Way[]> {
  const ways: Way[] = []
  /** The next one last. */
  const waiting: (Way | Uncollected)[] = [{ rule, rests: [] }]
  for (let next = waiting.pop(), steps = 1; next !== undefined; next = waiting.pop(), steps++) {
    if (steps % SLICE === 0) yield
    if ('head' in next) ways.push(next)
    // Whoever took such a way would never come to an end.
    else if (next.rule.length !== Infinity) open(next, owner, waiting)
  }
  return ways
}

function open({ rule, rests }: Uncollected, owner: string | undefined, into: (Way | Uncollected)[]): void {
  const then = (rest: Rule) => (rest === NOTHING ? rests : [...rests, frameOf(rest, owner)])
  switch (rule.kind) {
    case 'nothing':
      return
    case 'choice':
      for (let i = rule.options.length - 1; i >= 0; i--) into.push({ rule: rule.options[i]!, rests })
      return
    case 'then':
      if (rule.first.nullable) into.push({ head: headOf(rule.rest, owner), rests })
      into.push({ rule: rule.first, rests: then(rule.rest) })
      return
    case 'repeat':
      into.push({ rule: rule.body, rests: then(afterRound(rule)) })
      return
    default:
      into.push({ head: headOf(rule, owner), rests })
  }
}

/** What the rest of the rules knows as one frame is entered as one. */
function headOf(rule: Rule, owner: string | undefined): Frame | Entry {
  const frame = frameOf(rule, owner)
  return frame instanceof RuleFrame ? frame.entry : frame
}

const frames = new WeakMap<Rule, Frame>()

/** The frame before a rule; rules are measured by then, and none begins with itself. */
export function frameOf(rule: Rule, owner?: string): Frame {
  if (rule.kind === 'leaf') return rule.frame
  return getOrMake(frames, rule, () => {
    if (rule.kind === 'heads') return headsOf(rule.options, owner)
    if (rule.kind !== 'name') return new RuleFrame(rule, owner)
    const { absorbs } = rule
    return absorbs === undefined ? frameOf(rule.rule, rule.name) : new RuleFrame(rule.rule, rule.name, absorbs)
  })
}

function headsOf(options: readonly Headed[], owner: string | undefined): Frame {
  const possible = options.some(isEndless) ? options.filter((option) => !isEndless(option)) : options
  return new HeadsFrame(possible, (rest) => (rest === NOTHING ? undefined : frameOf(rest, owner)))
}

function isEndless({ rest }: Headed): boolean {
  return rest.length === Infinity
}

/** Before a rule: whatever may come of it. */
class RuleFrame extends Frame {
  readonly rule: Rule
  readonly #owner: string | undefined
  #absorbs: Rule | null | undefined
  override readonly length: number
  #entry: Entry | undefined
  #rounds: ReadonlySet<Frame> | undefined

  constructor(rule: Rule, owner: string | undefined, absorbs?: Name) {
    super(rule.nullable ? ENDS : 0)
    this.rule = rule
    this.#owner = owner
    this.#absorbs = absorbs
    this.length = rule.length
  }

  get entry(): Entry {
    this.#entry ??= new Entry(this.rule, this.#owner)
    return this.#entry
  }

  override get absorbs(): Frame | undefined {
    if (this.#absorbs === undefined) this.#absorbs = (this.rule.kind === 'repeat' && loopOf(this.rule)) || null
    return this.#absorbs === null ? undefined : frameOf(this.#absorbs, this.#owner)
  }

  /** Of a loop: what need not come and may be one of its rounds. */
  override swallows(above: Frame): boolean {
    if (!above.ends || this.rule.kind !== 'repeat' || loopOf(this.rule) !== this.rule) return false
    if (this.#rounds === undefined) {
      const { body } = this.rule
      const options = body.kind === 'choice' ? body.options : [body]
      const rounds = options.filter((option) => option.nullable && option !== NOTHING)
      this.#rounds = new Set(rounds.map((option) => frameOf(option, this.#owner)))
    }
    return this.#rounds.has(above)
  }

  override step(_symbol: number, below: Cell, out: Cells): void {
    out.begin(this.entry, below)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    const { firsts } = this.entry
    for (const byte of firsts ?? []) into.add(byte)
    return firsts !== null
  }

  override spell(): Bytes {
    return spell(this.rule)
  }
}

/** Any number of rounds, which more of them change nothing about. */
function loopOf(rule: Repeat): Rule | undefined {
  if (rule.max !== Infinity || rule.min > MOST_ROUNDS) return undefined
  let loop: Rule = rule
  for (let left = rule.min; left > 0 && loop.kind === 'repeat' && loop.min > 0; left--) loop = afterRound(loop)
  return loop
}

/** The frame before a rule, after a look at all that it leads to: what is nested too deeply is found here and not in an answer. */
export function* prepare(root: Rule, fuel: Fuel): Slices<Frame> {
  const first = frameOf(root)
  const seen = new Set<Entry>()
  const bodies = new Set<Rule>()
  const rest: (Frame | Entry)[] = [first]
  for (let next = rest.pop(), looks = 1; next !== undefined; next = rest.pop(), looks++) {
    if (fuel.tires() || looks % SLICE === 0) yield
    if (next instanceof RuleFrame && next.rule.kind === 'repeat') {
      // What is left after a round begins as the rounds before did.
      if (bodies.has(next.rule.body)) continue
      bodies.add(next.rule.body)
    }
    const entry = next instanceof RuleFrame ? next.entry : next
    if (!(entry instanceof Entry) || seen.has(entry)) continue
    seen.add(entry)
    for (const [i, { head, rests }] of (yield* entry.waysInSlices()).entries()) {
      if (i % SLICE === SLICE - 1) yield
      rest.push(head, ...rests)
      fuel.spend(1 + rests.length)
    }
  }
  for (const entry of seen) {
    fuel.spend(entry.height > 0 ? 1 : 0)
    if (fuel.tires()) yield
    yield* entry.order()
  }
  return first
}

/**
 * Enters the rules that are begun at one place of a text, each once, whoever asked for it: what may follow it is then one
 * stack for all of them.
 */
export function enter(symbol: number, out: Cells, forks: Forks, work: StepWork): void {
  const waiting: (Map<RuleStart, Cell[]> | undefined)[] = []
  const wait = (entry: RuleStart, below: Cell) => {
    waiting[entry.height] ??= new Map()
    getOrMake(waiting[entry.height]!, entry, () => []).push(below)
  }
  for (const { entry, below } of out.begun.splice(0)) wait(entry, below)
  for (let height = waiting.length - 1; height > 0; height--) {
    for (const [entry, belows] of waiting[height] ?? []) {
      const ways = entry.of(symbol, work)
      if (ways.length === 0) continue
      work.rule = entry.owner
      work.spend(1 + belows.length)
      const below = forks.union(belows)
      for (const { head, rests } of ways) {
        const stack = rests.reduce((at, frame) => forks.push(at, frame), below)
        work.spend(rests.length)
        if (head instanceof Frame) head.step(symbol, stack, out)
        else wait(head, stack)
      }
    }
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
    case 'heads': {
      const { head, rest } = rule.options.find((option) => option.head.length + option.rest.length === rule.length)!
      return head + spell(rest)
    }
    case 'repeat':
      return spell(rule.body).repeat(rule.min)
    case 'name':
      return spell(rule.rule)
  }
}
