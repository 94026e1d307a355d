/**
 * Runs a program over a text in a time that grows with the text alone, whatever the pattern: first backwards, to see from
 * which states something will be found from each place on, then forwards, always into the first state from which it
 * will. So nothing is tried in vain, and what is taken is what an engine that goes back would have taken in the end.
 */
import { Alphabet, after, before, isWithin } from './alphabet.js'
import { Behind, holds } from './behind.js'
import type { Program } from './program.js'

/** Units of a text whose places are known at a time; of those beyond, the first of each window alone. */
const WINDOW = 4096
/** Windows between two pauses on the way back, which is quick. */
const PAUSE = 8
/** Places that are kept; with more of them the machine begins anew. */
const KEPT = 1000
const NOWHERE = 0xffff

/** All that matters of a place in a text. */
interface Place {
  /** Of each state, whether something is found from it on. */
  readonly alive: Uint8Array
  /** Of each state, the next that takes a character, or the end, on the way that is taken. */
  readonly way: Uint16Array
  /** The place before it, by the class of the character between and by what looks behind find there. */
  readonly previous: (Place | undefined)[]
}

/** Places from `start` to `end`, both of them included, each under its index less `start`. */
interface Window {
  readonly start: number
  readonly end: number
  readonly places: readonly Place[]
}

export interface PatternMatch {
  readonly start: number
  readonly end: number
}

export class PatternMachine {
  readonly #program: Program
  readonly #alphabet: Alphabet
  readonly #behind: readonly Behind[]
  /** Of states that take a character, where it leads. */
  readonly #next: Uint16Array
  #known = new Map<string, Place>()

  constructor(program: Program) {
    this.#program = program
    this.#alphabet = new Alphabet(program.classes)
    this.#next = Uint16Array.from(program.states, (state) => (state.kind === 'set' ? state.next : NOWHERE))
    this.#behind = program.behind.map((_, index) => new Behind(program, this.#alphabet, index))
  }

  /** What is found in a text, one after the other, as `matchAll` has it. Undefined: a pause, where the text is long. */
  *find(text: string): Generator<PatternMatch | undefined, void> {
    const { start, end } = this.#program
    const next = this.#next
    const behind = this.#lookBehind(text)
    const ends: Place[] = []
    let place = this.#before(undefined, this.#alphabet.none, behind?.[text.length] ?? 0)
    for (let w = Math.floor(text.length / WINDOW); w >= 0; w--) {
      ends[w] = place
      if (w > 0) place = this.#window(text, behind, w, place).places[0]!
      if (w % PAUSE === PAUSE - 1) yield
    }
    let index = 0
    let window = this.#window(text, behind, 0, ends[0]!)
    let from = 0
    for (let at = 0, id = start; from <= text.length; ) {
      if (at > window.end) {
        window = this.#window(text, behind, ++index, ends[index]!)
        yield
        continue
      }
      const way = window.places[at - window.start]!.way[id]!
      if (way === NOWHERE) from = at = after(text, at)
      else if (way !== end) {
        at = after(text, at)
        id = next[way]!
      } else {
        yield { start: from, end: at }
        from = at = at > from ? at : after(text, at)
        id = start
      }
    }
  }

  #lookBehind(text: string): Uint8Array | undefined {
    if (this.#behind.length === 0) return undefined
    const found = new Uint8Array(text.length + 1)
    for (const look of this.#behind) look.mark(text, found)
    return found
  }

  /** A window, from the place at its end. */
  #window(text: string, behind: Uint8Array | undefined, w: number, last: Place): Window {
    const start = edge(text, w)
    const end = edge(text, w + 1)
    const places = new Array<Place>(end - start + 1)
    const { count } = this.#alphabet
    places[end - start] = last
    let place = last
    for (let at = end; at > start; ) {
      at = before(text, at)
      const cls = this.#alphabet.at(text, at)
      const found = behind === undefined ? 0 : behind[at]!
      place = place.previous[found * count + cls] ??= this.#before(place, cls, found)
      places[at - start] = place
    }
    return { start, end, places }
  }

  #before(place: Place | undefined, cls: number, found: number): Place {
    const { states, members } = this.#program
    const alive = new Uint8Array(states.length)
    const way = new Uint16Array(states.length)
    states.forEach((state, id) => {
      let next = NOWHERE
      if (state.kind === 'end') next = id
      else if (state.kind === 'set') {
        if (members[state.set]![cls] === 1 && place?.alive[state.next] === 1) next = id
      } else if (state.kind === 'either') next = way[alive[state.first] === 1 ? state.first : state.second]!
      else if (state.kind === 'behind') {
        if (holds(state, found)) next = way[state.next]!
      } else if (state.kind === 'ahead') {
        if ((alive[state.body] === 1) !== state.negative) next = way[state.next]!
      }
      way[id] = next
      if (next !== NOWHERE) alive[id] = 1
    })
    const key = alive.join('')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= KEPT) this.#known = new Map()
    const made: Place = { alive, way, previous: [] }
    this.#known.set(key, made)
    return made
  }
}

/** Where a window begins: between two characters. */
function edge(text: string, w: number): number {
  const index = Math.min(w * WINDOW, text.length)
  return isWithin(text, index) ? index - 1 : index
}
