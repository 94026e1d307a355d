import { encoded } from '../values/text-length.js'
import type { StringClass } from './content.js'
import { type Bytes, type Cell, type Cells, type Frame, IN_STRING } from './frame.js'
import { ScalarFrame, WithinFrame } from './scalar.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** A place inside a string. Bytes tell where it leads (`move`), and how long the way to the end then is (`length`). */
export interface StringPlace extends Frame {
  /** What is known without trying them. */
  readonly class: StringClass
  /** Itself, or the place before the character in the midst of which it is. */
  readonly base: CharacterFrame
}

/** Between two characters of a string or a key: the closing quote ends it, and escapes stand for characters. */
export abstract class CharacterFrame extends ScalarFrame implements StringPlace {
  readonly base: CharacterFrame = this
  /** Where all characters lead, where they are all alike. */
  #plain: CharacterFrame | null | undefined
  abstract readonly class: StringClass
  /** No way to the end of the string is longer, from any place between two characters to which this one leads. */
  abstract readonly longest: number

  constructor(traits = 0) {
    super(IN_STRING | traits)
  }

  abstract override after(codePoint: number): CharacterFrame | undefined

  /** Whether all code points lead to one and the same place. */
  abstract readonly uniform: boolean

  /** The quote. */
  abstract close(below: Cell, out: Cells): void

  abstract readonly closes: boolean

  override step(byte: number, below: Cell, out: Cells): void {
    if (byte === QUOTE) {
      if (this.closes) this.close(below, out)
      return
    }
    const next = this.move(byte)
    if (next) out.add(below.push(next))
  }

  override move(byte: number): Frame | null | undefined {
    if (byte === QUOTE) return undefined
    if (byte === BACKSLASH) {
      const open = this.alive(0, 0x1f) || this.alive(QUOTE, QUOTE) || this.alive(BACKSLASH, BACKSLASH)
      return open ? this.escape('') : null
    }
    if (byte < 0x80) {
      if (byte < 0x20) return null
      if (!this.uniform) return this.after(byte) ?? null
      if (this.#plain === undefined) this.#plain = this.after(byte) ?? null
      return this.#plain
    }
    return this.lead(byte)
  }

  escape(text: string): Frame {
    return this.part(-1 - ESCAPE_PREFIXES.indexOf(text), () => new EscapeFrame(this, text))
  }
}

/** A character begun or an escape takes at most so many bytes more. */
export const MOST_LEFT = 5

/** What may stand after a backslash: only the escapes that JSON.stringify writes, so that each string has one text. */
const ESCAPES: readonly (readonly [string, number])[] = [
  QUOTE,
  BACKSLASH,
  ...Array.from({ length: 32 }, (_, i) => i),
].map((codePoint) => [encoded(codePoint).slice(1), codePoint] as const)
const ESCAPE_PREFIXES = ['', 'u', 'u0', 'u00', 'u000', 'u001']

class EscapeFrame extends WithinFrame<CharacterFrame> {
  readonly #read: string
  #found: { text: Bytes; next: CharacterFrame } | undefined

  constructor(base: CharacterFrame, read: string) {
    super(base)
    this.#read = read
  }

  override move(byte: number): Frame | null {
    const read = this.#read + String.fromCharCode(byte)
    for (const [text, codePoint] of ESCAPES) {
      if (!text.startsWith(read)) continue
      if (text.length === read.length) return this.base.after(codePoint) ?? null
      if (this.base.alive(codePoint, codePoint)) return this.base.escape(read)
    }
    return null
  }

  override next(_below: Cell, into: Set<number>): boolean {
    for (const [text, codePoint] of ESCAPES) {
      if (text.startsWith(this.#read) && this.base.alive(codePoint, codePoint)) {
        into.add(text.charCodeAt(this.#read.length))
      }
    }
    return true
  }

  override get length(): number {
    const { text, next } = this.#way()
    return text.length + next.length
  }

  override spell(): Bytes {
    const { text, next } = this.#way()
    return text + next.spell()
  }

  #way(): { text: Bytes; next: CharacterFrame } {
    this.#found ??= this.#best()
    return this.#found
  }

  #best(): { text: Bytes; next: CharacterFrame } {
    let best: { text: Bytes; next: CharacterFrame } | undefined
    for (const [whole, codePoint] of ESCAPES) {
      const next = whole.startsWith(this.#read) ? this.base.after(codePoint) : undefined
      if (next === undefined) continue
      const text = whole.slice(this.#read.length)
      if (codePoint === this.base.onTheWay) return { text, next }
      if (best === undefined || text.length + next.length < best.text.length + best.next.length) best = { text, next }
    }
    return best!
  }
}
