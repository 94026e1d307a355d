import { type Bytes, type Cell, type Cells, Frame, GUESSED, loosened } from './frame.js'
import type { MembersPlace } from './frames.js'

const NEWLINE = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const BRACE = 0x7d
const BRACKET = 0x5d

type Phase = 'open' | 'after' | 'key'

/** After `{`, after a value, or before a key. */
export class MemberFrame extends Frame {
  readonly state: MembersPlace
  readonly #phase: Phase

  constructor(state: MembersPlace, phase: Phase) {
    super(
      state.unresolved &&
        (phase === 'key' || state.home.shape.min > state.count || state.home.shape.behind !== undefined)
        ? GUESSED
        : 0,
    )
    this.state = state
    this.#phase = phase
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const { state } = this
    const { breaks } = state.home.program
    if (byte === this.#closer) {
      if (!state.canClose) return
      const { array, object } = breaks.afterCloser ?? {}
      const rest = byte === this.#last ? undefined : state.home.shape.isSet ? array : object
      out.add(rest === undefined ? below : below.push(rest))
    } else if (byte === this.#opener && state.hasKeys) {
      if (byte === QUOTE) state.addKeys(below, out)
      else out.add(state.beforeKey(below, byte === COMMA ? breaks.afterComma : breaks.afterOpen))
    }
  }

  /** The byte that ends the object here: without members its brace stands on the same line. */
  get #closer(): number | undefined {
    if (this.#phase === 'key') return undefined
    return this.#phase === 'open' ? this.#last : (this.state.home.program.breaks.closer ?? this.#last)
  }

  get #last(): number {
    return this.state.home.shape.isSet ? BRACKET : BRACE
  }

  /** The byte that leads to one more member. */
  get #opener(): number {
    if (this.#phase === 'after') return COMMA
    return this.#phase === 'open' && this.state.home.program.breaks.open !== '' ? NEWLINE : QUOTE
  }

  override next(_below: Cell, into: Set<number>): boolean {
    const { state } = this
    if (this.#phase !== 'key' && state.canClose) into.add(this.#closer!)
    if (state.hasKeys) into.add(this.#opener)
    return true
  }

  /** See `Layout`: as seen from where the object stands. */
  get weight(): number {
    const { state } = this
    if (this.#phase !== 'key') return state.plan.length
    const { open, comma } = state.home.program.layout.weights
    return state.keyPlan.length - (state.count > 0 ? comma : open)
  }

  override get length(): number {
    return this.state.home.program.length(this.weight)
  }

  override spell(): Bytes {
    const { state } = this
    const { open, between, close } = state.home.program.breaks
    const key = this.#phase === 'key'
    const { next } = key ? state.keyPlan : state.plan
    if (next === undefined) return (this.#phase === 'open' ? '' : close) + String.fromCharCode(this.#last)
    const before = key ? '' : this.#phase === 'open' ? open : between
    const bytes = before + state.spell(next)
    return this.guessed ? loosened(bytes) : bytes
  }
}
