import type { TextAutomaton } from '../automata/types.js'
import { PLAIN } from '../values/text-length.js'
import { type Bytes, type Cell, type Cells, ENDS, Frame } from './frame.js'

/** Inside a number. It ends where something comes that cannot belong to it. */
export class NumberFrame extends Frame {
  readonly #text: TextAutomaton
  readonly #state: number
  readonly #frames: Map<number, NumberFrame>

  constructor(text: TextAutomaton, state: number, frames: Map<number, NumberFrame>) {
    super(text.accepts(state) ? ENDS : 0)
    this.#text = text
    this.#state = state
    this.#frames = frames
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const state = this.#text.next(this.#state, byte)
    if (state !== 0) out.add(below.push(this.#frame(state)))
  }

  #frame(state: number): NumberFrame {
    let frame = this.#frames.get(state)
    if (frame === undefined) {
      frame = new NumberFrame(this.#text, state, this.#frames)
      this.#frames.set(state, frame)
    }
    return frame
  }

  override next(_below: Cell, into: Set<number>): boolean {
    for (const byte of NUMBER_BYTES) if (this.#text.next(this.#state, byte) !== 0) into.add(byte)
    return true
  }

  override get length(): number {
    return this.#text.distance(this.#state)
  }

  override spell(): Bytes {
    return PLAIN.spell(this.#text, this.#state)
  }
}

export const NUMBER_BYTES = [...'-0123456789.eE+'].map((letter) => letter.charCodeAt(0))
