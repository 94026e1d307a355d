import { GrammarError } from '../grammar-error.js'

/** Characters that are read from one pause to the next: a millisecond or two. */
const SLICE = 4096

/** A grammar's own text, read from the left; what is wrong is said with its place. */
export class GrammarText {
  readonly text: string
  at = 0
  #rested = 0

  constructor(text: string) {
    this.text = text
  }

  /** Whether it is time to pause, after so much since the last one. */
  tires(): boolean {
    if (this.at - this.#rested < SLICE) return false
    this.#rested = this.at
    return true
  }

  get ended(): boolean {
    return this.at >= this.text.length
  }

  /** The next character; undefined at the end. */
  get next(): string | undefined {
    return this.text[this.at]
  }

  take(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** What a sticky pattern matches here. */
  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.text)
    if (match === null) return undefined
    this.at = pattern.lastIndex
    return match
  }

  /** Goes on behind it, where it matches here. */
  skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const matches = pattern.test(this.text)
    if (matches) this.at = pattern.lastIndex
    return matches
  }

  unexpected(): GrammarError {
    return this.wrong(this.next === undefined ? 'the grammar ends too early.' : `'${this.next}' was not expected here.`)
  }

  wrong(message: string, at = this.at): GrammarError {
    return new GrammarError(message, { text: this.text, at })
  }
}
