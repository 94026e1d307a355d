import type { Bytes } from './frame.js'

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
export class ItemTexts {
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
