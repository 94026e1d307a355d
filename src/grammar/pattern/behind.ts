/** What a look behind finds at each place of a text: one way through it, forwards. */
import { type Alphabet, after } from './alphabet.js'
import type { Program } from './program.js'

/** Sets of states that are kept; with more of them the machine begins anew. */
const KEPT = 1000

interface Place {
  readonly found: boolean
  /** The states that wait for a character. */
  readonly waiting: readonly number[]
  readonly next: (Place | undefined)[]
}

export class Behind {
  readonly #program: Program
  readonly #alphabet: Alphabet
  readonly #index: number
  #known = new Map<string, Place>()

  /** The look of this index, which may ask for what earlier ones have found. */
  constructor(program: Program, alphabet: Alphabet, index: number) {
    this.#program = program
    this.#alphabet = alphabet
    this.#index = index
  }

  /** Sets its bit wherever in the text it finds something. */
  mark(text: string, found: Uint8Array): void {
    let place = this.#placeOf([], found[0]!)
    for (let at = 0; ; ) {
      if (place.found) found[at]! |= 1 << this.#index
      if (at === text.length) return
      const cls = this.#alphabet.at(text, at)
      at = after(text, at)
      const key = found[at]! * this.#alphabet.count + cls
      place = place.next[key] ??= this.#step(place, cls, found[at]!)
    }
  }

  #step({ waiting }: Place, cls: number, earlier: number): Place {
    const { states, members } = this.#program
    const reached: number[] = []
    for (const id of waiting) {
      const state = states[id]!
      if (state.kind === 'set' && members[state.set]![cls] === 1) reached.push(state.next)
    }
    return this.#placeOf(reached, earlier)
  }

  /** It begins anew at every place. */
  #placeOf(reached: readonly number[], earlier: number): Place {
    const { states, behind } = this.#program
    const seen = new Set<number>()
    const waiting: number[] = []
    let found = false
    const open = [behind[this.#index]!, ...reached]
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) continue
      seen.add(id)
      const state = states[id]!
      if (state.kind === 'end') found = true
      else if (state.kind === 'set') waiting.push(id)
      else if (state.kind === 'either') open.push(state.first, state.second)
      else if (state.kind === 'behind' && holds(state, earlier)) open.push(state.next)
    }
    const key = `${waiting.sort((a, b) => a - b).join()} ${found}`
    let place = this.#known.get(key)
    if (place === undefined) {
      if (this.#known.size >= KEPT) this.#known = new Map()
      place = { found, waiting, next: [] }
      this.#known.set(key, place)
    }
    return place
  }
}

/** Whether a look behind is as its state wants it. */
export function holds({ index, negative }: { index: number; negative: boolean }, found: number): boolean {
  return ((found >> index) & 1) === (negative ? 0 : 1)
}
