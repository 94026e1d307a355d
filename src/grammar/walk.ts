import type { Bytes } from './automaton/frame.js'
import { fromKeyBytes } from './automaton/key-bytes.js'
import type { Machine, State } from './automaton/machine.js'
import { NUMBER_BYTES } from './automaton/number.js'

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN = [0x5b, 0x7b]
const CLOSE = [0x5d, 0x7d]
const BACKSLASH = 0x5c

/** What is open: an array, and where in the text its present item began, or an object. */
interface Open {
  readonly isArray: boolean
  readonly start: number
  readonly outer: Open | undefined
}

/** The text since an array was opened in which no item comes twice. Immutable, as places are. */
class ItemTexts {
  readonly #text: Bytes
  readonly #open: Open
  readonly #quoted: boolean
  readonly #escaped: boolean

  private constructor(text: Bytes, open: Open, quoted: boolean, escaped: boolean) {
    this.#text = text
    this.#open = open
    this.#quoted = quoted
    this.#escaped = escaped
  }

  static readonly START = new ItemTexts('', { isArray: true, start: 0, outer: undefined }, false, false)

  /** One byte further; undefined where the array has been closed. */
  after(byte: number): ItemTexts | undefined {
    const text = this.#text + String.fromCharCode(byte)
    if (this.#quoted) {
      const ends = byte === QUOTE && !this.#escaped
      return new ItemTexts(text, this.#open, !ends, byte === BACKSLASH && !this.#escaped)
    }
    if (byte === QUOTE) return new ItemTexts(text, this.#open, true, false)
    const open = this.#after(byte, text.length)
    return open && new ItemTexts(text, open, false, false)
  }

  #after(byte: number, start: number): Open | undefined {
    if (OPEN.includes(byte)) return { isArray: byte === OPEN[0], start, outer: this.#open }
    if (CLOSE.includes(byte)) return this.#open.outer
    return byte === COMMA && this.#open.isArray ? { ...this.#open, start } : this.#open
  }

  /** The present item of the innermost array. */
  get last(): Bytes {
    return this.#text.slice(this.#open.start).trim()
  }
}

/**
 * A place in a text: the automaton's state, and the text of the string being read, which the automaton itself does not
 * carry but must be told when that string turns out to be a new key.
 */
export interface TextPlace {
  readonly state: State
  /** The bytes since the last opening quote, while some thread is inside a string. */
  readonly string: string
  /** The text of items that may not come twice, while there are any. */
  readonly items: ItemTexts | undefined
}

export function startPlace(machine: Machine): TextPlace {
  return { state: machine.start, string: '', items: undefined }
}

/** One byte further; the state is dead where the text breaks the grammar. */
export function advance(machine: Machine, place: TextPlace, byte: number): TextPlace {
  let { state } = place
  if (place.items !== undefined && state.mayHaveUnknownItem && !NUMBER_BYTES.includes(byte)) {
    state = machine.resolveItem(state, place.items.last)
  }
  state = machine.step(state, byte)
  const items = place.items?.after(byte) ?? (state.opensItems ? ItemTexts.START : undefined)
  if (items !== undefined && state.hasUnknownItem) state = machine.resolveItem(state, items.last)
  if (!place.state.inString) return { state, string: '', items }
  const string = place.string + String.fromCharCode(byte)
  if (byte !== QUOTE || escaped(place.string)) return { state, string, items }
  if (state.unresolved) state = machine.resolve(state, fromKeyBytes(string))
  return { state, string: '', items }
}

/** Whether what comes next stands behind a lone backslash. */
function escaped(string: string): boolean {
  let count = 0
  for (let i = string.length - 1; i >= 0 && string.charCodeAt(i) === BACKSLASH; i--) count++
  return count % 2 === 1
}
