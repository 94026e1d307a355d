import type { TokenConstraint } from '../../contract/index.js'
import { MASK_WORK } from '../automaton/work.js'
import { advance, type TextPlace } from '../walk.js'
import type { Masks } from './masks.js'

/** After so many accepted tokens: the place they lead to, and what is left of the budget. */
interface Step {
  readonly before: Step | undefined
  readonly place: TextPlace
  /** An end token has been accepted. */
  readonly ended: boolean
  readonly budget: number
}

/** No forced run is longer: it has to fit into one forward pass. */
const LONGEST_RUN = 512

/** Where one choice stands in its grammar. Its past is a shared list, so that a clone costs nothing. */
export class Constraint implements TokenConstraint {
  readonly #masks: Masks
  #at: Step

  constructor(masks: Masks, place: TextPlace, at?: Step) {
    this.#masks = masks
    this.#at = at ?? { before: undefined, place, ended: false, budget: Infinity }
  }

  get done(): boolean {
    const { ended, place } = this.#at
    return ended || (place.state.accepting && place.state.next?.length === 0)
  }

  get shortest(): number {
    return this.#at.ended ? 0 : this.#masks.costs.of(this.#at.place.state)
  }

  mask(into: Uint32Array): void {
    this.#masks.machine.allow(MASK_WORK)
    if (this.#at.ended) into.fill(0)
    else this.#masks.fill(into, this.#at.place, this.#at.budget - 1)
  }

  accept(token: number): boolean {
    const { place, budget, ended } = this.#at
    if (ended) return false
    this.#masks.machine.allow(MASK_WORK)
    if (this.#masks.vocabulary.eos.includes(token)) {
      if (!place.state.accepting) return false
      this.#at = { before: this.#at, place, ended: true, budget }
      return true
    }
    const next = this.#masks.after(place, token)
    if (next === undefined || !this.#affordable(next, budget - 1)) return false
    this.#at = { before: this.#at, place: next, ended: false, budget: budget - 1 }
    return true
  }

  #affordable({ state }: TextPlace, budget: number): boolean {
    return state.length <= budget || this.#masks.costs.of(state) <= budget
  }

  forced(): Uint8Array {
    const { machine } = this.#masks
    const bytes: number[] = []
    let { place } = this.#at
    if (this.#at.ended) return new Uint8Array(0)
    machine.allow(MASK_WORK)
    while (bytes.length < LONGEST_RUN && !place.state.accepting && place.state.next?.length === 1) {
      const byte = place.state.next[0]!
      bytes.push(byte)
      place = advance(machine, place, byte)
    }
    return Uint8Array.from(bytes)
  }

  closing(budget: number): boolean {
    // Counting tokens takes longer than most masks, and only near the end does it matter.
    if (!this.#at.ended && !this.#affordable(this.#at.place, budget)) return false
    this.#at = { ...this.#at, budget }
    return true
  }

  rollback(tokens: number): void {
    for (let i = 0; i < tokens; i++) {
      if (this.#at.before === undefined) throw new RangeError(`only ${i} tokens can be taken back`)
      this.#at = this.#at.before
    }
  }

  clone(): Constraint {
    return new Constraint(this.#masks, this.#at.place, this.#at)
  }
}
