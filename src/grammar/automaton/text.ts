import { getOrMake } from '../../platform/index.js'
import { NEVER } from '../automata/classes.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { Kept } from '../kept.js'
import { IN_JSON, longestText } from '../values/text-length.js'
import { CharacterFrame } from './characters.js'
import { classOf, type StringClass } from './content.js'
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

  private constructor(text: TextAutomaton) {
    this.text = text
    this.uniform = text.classes.count === 2
  }

  static of(text: TextAutomaton): TextFrames {
    return getOrMake(known, text, () => new TextFrames(text))
  }

  /** No way out of any of its places is longer. */
  get longest(): number {
    this.#longest ??= 1 + (IN_JSON.longest(this.text) ?? longestText(this.text.farthest, IN_JSON.widest(this.text)))
    return this.#longest
  }

  /** Bytes of the shortest way to the end of the string. */
  length(state: number): number {
    return IN_JSON.length(this.text, state) + 1
  }

  spell(state: number): Bytes {
    return `${IN_JSON.spell(this.text, state)}"`
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

/** Between two characters of a text: the same place in all grammars. */
export class TextFrame extends CharacterFrame {
  readonly home: TextFrames
  readonly state: number
  #class: StringClass | undefined
  #length: number | undefined
  /** Whether every character leads on. */
  #open: boolean | undefined

  constructor(home: TextFrames, state: number) {
    super()
    this.home = home
    this.state = state
  }

  /** Of many places nothing is asked but how far the end is. */
  override get class(): StringClass {
    this.#class ??= classOf(this.home.text, this.state)
    return this.#class
  }

  /** The same place in a text of any length, if for so many characters more only its own room tells it from that. */
  unlimited(characters: number): { readonly frame: TextFrame; readonly room: number } | undefined {
    const counted = this.class.needed !== undefined
    const found = counted ? undefined : this.home.text.unlimited(this.state, characters)
    return found && { frame: TextFrames.of(found.text).at(found.state), room: found.room }
  }

  override get uniform(): boolean {
    return this.home.uniform
  }

  override get closes(): boolean {
    return this.home.text.accepts(this.state)
  }

  override after(codePoint: number): TextFrame | undefined {
    const state = this.home.text.next(this.state, codePoint)
    return state === 0 ? undefined : this.home.at(state)
  }

  override alive(low: number, high: number): boolean {
    const { text } = this.home
    this.#open ??= !text.sparse && isOpen(text, this.state)
    return this.#open || text.alive(this.state, low, high)
  }

  override close(below: Cell, out: Cells): void {
    out.add(below)
  }

  protected override common(low: number, high: number): number {
    return this.home.text.classes.common(low, high)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    return listCharacters(this.home.text, this.state, this.closes, into)
  }

  /** Asked for with every token that may lead here. */
  override get length(): number {
    this.#length ??= this.home.length(this.state)
    return this.#length
  }

  override get longest(): number {
    return this.home.longest
  }

  override spell(): Bytes {
    return this.home.spell(this.state)
  }

  override get onTheWay(): number {
    return IN_JSON.next(this.home.text, this.state)
  }

  override samples(low: number, high: number): number[] {
    return samplesOf(this.home.text, low, high)
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
