import { NEVER } from '../automata/classes.js'
import { isLevel, leaving as leavingKinds, NONE_PASS, roaming, SPECIAL } from '../automata/kinds.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { Kept, made } from '../kept.js'
import { encoded, IN_JSON, longestText } from '../values/text-length.js'
import { CharacterFrame, MOST_LEFT } from './characters.js'
import type { FewWays, Passing, Ways } from './content.js'
import type { Bytes, Cell, Cells } from './frame.js'

/** Places kept of one language; a counter of lengths may have a million. */
const KEPT = 4000
const known = new WeakMap<TextAutomaton, TextFrames>()

/** The places inside the strings of one language, the same in all grammars: what is learned of them serves each. */
export class TextFrames {
  readonly text: TextAutomaton
  readonly uniform: boolean
  readonly #frames = new Kept<number, TextFrame>(KEPT)
  #longest: number | undefined
  #widest: number | undefined

  private constructor(text: TextAutomaton) {
    this.text = text
    this.uniform = text.classes.count === 2
  }

  static of(text: TextAutomaton): TextFrames {
    return made(known, text, () => new TextFrames(text))
  }

  /** No way out of any of its places is longer. */
  get longest(): number {
    if (this.#longest === undefined) {
      const known = IN_JSON.longest(this.text)
      this.#longest = known === undefined ? this.longestFor(this.text.farthest) : known + 1
    }
    return this.#longest
  }

  /** No way out of so many characters is longer. */
  longestFor(characters: number): number {
    this.#widest ??= IN_JSON.widest(this.text)
    return longestText(characters, this.#widest) + 1
  }

  at(state: number): TextFrame {
    let frame = this.#frames.get(state)
    if (frame === undefined) {
      frame = new TextFrame(this, state)
      this.#frames.set(state, frame)
    }
    return frame
  }
}

/** So many characters are worth more than any number of some kinds. */
const MANY = 24

class TextFrame extends CharacterFrame {
  readonly #home: TextFrames
  readonly #state: number
  override readonly leaving: number
  override readonly room: number
  override readonly exact: boolean
  override readonly anything: boolean
  override readonly free: number
  override readonly level: boolean
  override readonly settled: boolean
  /** Passing characters lead back here, but for how many have come: what must still come only becomes less. */
  readonly #shrinking: boolean
  #roaming: Passing | undefined
  /** Whether every character leads on. */
  #open: boolean | undefined

  constructor(home: TextFrames, state: number) {
    super()
    this.#home = home
    this.#state = state
    const { text, uniform } = home
    const leaving = leavingKinds(text, state)
    const loops = leaving !== NONE_PASS
    this.level = leaving === SPECIAL && isLevel(text, state)
    const all = this.level ? -1 : text.freedomAll(state)
    // Where the places differ but let pass the same, that is said of all kinds; else only of those that lead back here.
    this.free = this.level ? text.room(state) : all
    const row = uniform ? all > 0 : all >= MANY
    this.anything = this.level || row
    this.leaving = row ? SPECIAL : leaving
    this.room = row ? all : loops ? text.room(state) : -1
    this.exact = !row || uniform
    this.#shrinking = loops && !row
    this.settled = this.#shrinking && IN_JSON.isSteady(text, state)
  }

  /** Kinds that lead from place to place but may go on, where they are more than those that lead back here. */
  override get roaming(): Passing {
    if (this.#roaming === undefined) {
      const found = this.anything ? undefined : roaming(this.#home.text, this.#state)
      const more = found !== undefined && (this.room < found.room || (this.leaving & ~found.leaving) !== 0)
      this.#roaming = more ? found : this
    }
    return this.#roaming
  }

  override get needed(): number {
    return this.#home.text.distance(this.#state)
  }

  override get like(): TextFrame {
    return this
  }

  override get besides(): undefined {
    return undefined
  }

  override get text(): boolean {
    return true
  }

  override get few(): FewWays | undefined {
    const home = this.#home
    const { text } = home
    if (!text.sparse) return undefined
    return {
      state: this.#state,
      closes: (state) => text.accepts(state),
      each: (state, visit) => text.each?.(state, (codePoint, next) => visit(encoded(codePoint), next)),
      length: (state) => IN_JSON.length(text, state) + 1,
      at: (state) => home.at(state),
    }
  }

  override get ways(): Ways | undefined {
    const home = this.#home
    const { text } = home
    if (text.sparse) return undefined
    const length = (state: number) => IN_JSON.length(text, state) + 1
    return { text, state: this.#state, length, at: (state) => home.at(state) }
  }

  override get endsAnywhere(): boolean {
    return this.#home.text.endsAnywhere(this.#state)
  }

  override unlimited(characters: number): { readonly frame: TextFrame; readonly room: number } | undefined {
    const found = this.level ? undefined : this.#home.text.unlimited(this.#state, characters)
    return found && { frame: TextFrames.of(found.text).at(found.state), room: found.room }
  }

  override get shared(): boolean {
    return !this.#home.text.sparse
  }

  override get uniform(): boolean {
    return this.#home.uniform
  }

  override get closes(): boolean {
    return this.#home.text.accepts(this.#state)
  }

  override after(codePoint: number): TextFrame | undefined {
    const state = this.#home.text.next(this.#state, codePoint)
    return state === 0 ? undefined : this.#home.at(state)
  }

  override alive(low: number, high: number): boolean {
    const { text } = this.#home
    this.#open ??= !text.sparse && isOpen(text, this.#state)
    return this.#open || text.alive(this.#state, low, high)
  }

  override close(below: Cell, out: Cells): void {
    out.add(below)
  }

  protected override classOf(low: number, high: number): number {
    return this.#home.text.classes.common(low, high)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    return listCharacters(this.#home.text, this.#state, this.closes, into)
  }

  override get length(): number {
    return IN_JSON.length(this.#home.text, this.#state) + 1
  }

  override get longestBetween(): number {
    if (this.settled || this.level) return this.length
    return this.#shrinking ? this.#home.longestFor(this.#home.text.distance(this.#state)) : this.#home.longest
  }

  override get longest(): number {
    return (this.level ? this.length : this.#home.longest) + MOST_LEFT
  }

  override spell(): Bytes {
    return `${IN_JSON.spell(this.#home.text, this.#state)}"`
  }

  override get onTheWay(): number {
    return IN_JSON.next(this.#home.text, this.#state)
  }

  override samples(low: number, high: number): number[] {
    return samplesOf(this.#home.text, low, high)
  }
}

function isOpen(text: TextAutomaton, state: number): boolean {
  for (let cls = NEVER + 1; cls < text.classes.count; cls++) if (text.step(state, cls) === DEAD) return false
  return true
}

/** Of each class the first code point between two. */
export function samplesOf({ classes }: TextAutomaton, low: number, high: number): number[] {
  const found = new Map<number, number>()
  for (let i = classes.interval(low); i < classes.ids.length && classes.starts[i]! <= high; i++) {
    const cls = classes.ids[i]!
    if (cls !== NEVER && !found.has(cls)) found.set(cls, Math.max(low, classes.starts[i]!))
  }
  return [...found.values()]
}

/** More bytes than this are not listed: trying them all is as cheap. */
const FEW = 24

/** The bytes that may come next, if they are few and plain. */
export function listCharacters(text: TextAutomaton, state: number, closes: boolean, into: Set<number>): boolean {
  const { classes } = text
  const found: number[] = []
  for (let i = 0; i < classes.ids.length; i++) {
    if (text.step(state, classes.ids[i]!) === 0) continue
    const end = classes.end(i)
    if (end >= 0x7f || found.length + end - classes.starts[i]! >= FEW) return false
    for (let c = classes.starts[i]!; c <= end; c++) found.push(c)
  }
  for (const c of found) into.add(c < 0x20 || c === 0x22 ? 0x5c : c)
  if (closes) into.add(0x22)
  return true
}
