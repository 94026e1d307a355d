import { leaving as leavingKinds, NONE_PASS } from '../automata/kinds.js'
import { withLength } from '../automata/lengths.js'
import type { TextAutomaton } from '../automata/types.js'
import { PLAIN } from '../schema/text-length.js'
import type { Cell, Cells } from './cell.js'
import type { Passing } from './content.js'
import { type Bytes, ENDS, FREE_TEXT, type Frame } from './frame.js'
import { ScalarFrame } from './scalar.js'
import { samplesOf } from './text.js'

/** Inside a text that stands as it is, outside of any JSON. It ends where something comes that cannot belong to it. */
export class PlainTextFrame extends ScalarFrame implements Passing {
  readonly #text: TextAutomaton
  readonly #state: number
  readonly #frames: Map<number, PlainTextFrame>
  readonly leaving: number
  readonly room: number

  private constructor(text: TextAutomaton, state: number, frames: Map<number, PlainTextFrame>) {
    const leaving = leavingKinds(text, state)
    super((text.accepts(state) ? ENDS : 0) | (leaving === NONE_PASS ? 0 : FREE_TEXT))
    this.#text = text
    this.#state = state
    this.#frames = frames
    this.leaving = leaving
    this.room = text.room(state)
  }

  static of(text: TextAutomaton): PlainTextFrame {
    return new PlainTextFrame(text, text.start, new Map())
  }

  /** The same text, of one character at least. */
  get begun(): PlainTextFrame {
    return PlainTextFrame.of(withLength(this.#text, 1, Number.POSITIVE_INFINITY))
  }

  get longest(): number {
    return Infinity
  }

  get text(): boolean {
    return true
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

  protected override classOf(low: number, high: number): number {
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
        into.add(encoder.encode(String.fromCodePoint(codePoint))[0]!)
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

const encoder = new TextEncoder()

/** More characters than this are not listed: trying all bytes is as cheap. */
const FEW = 24
