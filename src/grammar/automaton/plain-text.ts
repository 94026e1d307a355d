import { getOrMake } from '../../platform/index.js'
import { leaving as leavingKinds, NONE_PASS } from '../automata/kinds.js'
import { withLength } from '../automata/lengths.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { PLAIN } from '../values/text-length.js'
import type { Passing } from './content.js'
import { type Bytes, type Cell, type Cells, ENDS, FREE_TEXT, type Frame } from './frame.js'
import { ScalarFrame } from './scalar.js'
import { samplesOf } from './text.js'

const first = new WeakMap<TextAutomaton, PlainTextFrame>()
const begun = new WeakMap<PlainTextFrame, PlainTextFrame>()

/** Inside a text that stands as it is, outside of any JSON. It ends where something comes that cannot belong to it. */
export class PlainTextFrame extends ScalarFrame implements Passing {
  readonly #text: TextAutomaton
  readonly #state: number
  readonly #frames: Map<number, PlainTextFrame>
  readonly leaving: number
  readonly room: number
  #loops: boolean | undefined

  private constructor(text: TextAutomaton, state: number, frames: Map<number, PlainTextFrame>) {
    const leaving = leavingKinds(text, state)
    super((text.accepts(state) ? ENDS : 0) | (leaving === NONE_PASS ? 0 : FREE_TEXT))
    this.#text = text
    this.#state = state
    this.#frames = frames
    this.leaving = leaving
    this.room = text.room(state)
  }

  /** One for each text, so that threads in the same text are found to be. */
  static of(text: TextAutomaton): PlainTextFrame {
    return getOrMake(first, text, () => {
      const frames = new Map<number, PlainTextFrame>()
      const frame = new PlainTextFrame(text, text.start, frames)
      frames.set(text.start, frame)
      return frame
    })
  }

  /** The same text, of one character at least. */
  get begun(): PlainTextFrame {
    return getOrMake(begun, this, () => PlainTextFrame.of(withLength(this.#text, 1, Number.POSITIVE_INFINITY)))
  }

  /** Whether any number of its texts in a row are one of them: all that may come leads back. */
  get loops(): boolean {
    this.#loops ??= this.#leadsBack()
    return this.#loops
  }

  #leadsBack(): boolean {
    if (!this.ends || this.#text.room(this.#state) !== Number.POSITIVE_INFINITY) return false
    for (const cls of this.#text.classes.ids) {
      const next = this.#text.step(this.#state, cls)
      if (next !== DEAD && next !== this.#state) return false
    }
    return true
  }

  override get absorbs(): Frame | undefined {
    return this.loops ? this : undefined
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const next = this.move(byte)
    if (next !== null) out.add(below.push(next))
  }

  override move(byte: number): Frame | null {
    return byte < 0x80 ? (this.after(byte) ?? null) : this.lead(byte)
  }

  override after(codePoint: number): PlainTextFrame | undefined {
    const state = this.#text.next(this.#state, codePoint)
    if (state === 0) return undefined
    let frame = this.#frames.get(state)
    if (frame === undefined) {
      frame = new PlainTextFrame(this.#text, state, this.#frames)
      this.#frames.set(state, frame)
    }
    return frame
  }

  override alive(low: number, high: number): boolean {
    return this.#text.alive(this.#state, low, high)
  }

  protected override common(low: number, high: number): number {
    return this.#text.classes.common(low, high)
  }

  override samples(low: number, high: number): number[] {
    return samplesOf(this.#text, low, high)
  }

  override get onTheWay(): number {
    return PLAIN.next(this.#text, this.#state)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    const { classes } = this.#text
    let found = 0
    for (let i = 0; i < classes.ids.length; i++) {
      if (this.#text.step(this.#state, classes.ids[i]!) === 0) continue
      const first = classes.starts[i]!
      const last = classes.end(i)
      found += last - first + 1
      if (found > FEW) return false
      for (let codePoint = first; codePoint <= last; codePoint++) {
        into.add(firstByte(codePoint))
      }
    }
    return true
  }

  override get length(): number {
    return PLAIN.length(this.#text, this.#state)
  }

  override spell(): Bytes {
    return PLAIN.spell(this.#text, this.#state)
  }
}

/** Of the character in UTF-8. */
function firstByte(codePoint: number): number {
  if (codePoint < 0x80) return codePoint
  if (codePoint < 0x800) return 0xc0 | (codePoint >> 6)
  return codePoint < 0x10000 ? 0xe0 | (codePoint >> 12) : 0xf0 | (codePoint >> 18)
}

/** More characters than this are not listed: trying all bytes is as cheap. */
const FEW = 24
