/** A pattern in the place of a RegExp: whatever a string's methods ask of one with the flags `g` and `u`. */
import { PatternMachine, type PatternMatch } from './machine.js'
import { programOf } from './program.js'

export class Pattern {
  readonly flags = 'gu'
  readonly source: string
  readonly #machine: PatternMachine

  /** `source` as RegExp reads it with the flag `u`. Throws what cannot be done in a time that grows with a text alone. */
  constructor(source: string) {
    this.source = source
    this.#machine = new PatternMachine(programOf(source))
  }

  /** What is found in a text; undefined: a pause, where the text is long. */
  find(text: string): Iterable<PatternMatch | undefined> {
    return this.#machine.find(text)
  }

  test(text: string): boolean {
    for (const _ of this.#found(text)) return true
    return false
  }

  *[Symbol.matchAll](text: string): IterableIterator<RegExpExecArray> {
    for (const { start, end } of this.#found(text)) {
      yield Object.assign([text.slice(start, end)] as [string], { index: start, input: text })
    }
  }

  [Symbol.match](text: string): string[] | null {
    const found = Array.from(this.#found(text), ({ start, end }) => text.slice(start, end))
    return found.length === 0 ? null : found
  }

  /** `$` is no more than that. */
  [Symbol.replace](text: string, by: string): string {
    let [out, from] = ['', 0]
    for (const { start, end } of this.#found(text)) {
      out += text.slice(from, start) + by
      from = end
    }
    return out + text.slice(from)
  }

  /** What lies between the matches. */
  [Symbol.split](text: string): string[] {
    if (text === '') return this.test(text) ? [] : [text]
    const parts: string[] = []
    let from = 0
    for (const { start, end } of this.#found(text)) {
      // Nothing is cut off by nothing at either end.
      if (end === start && (start === from || start === text.length)) continue
      parts.push(text.slice(from, start))
      from = end
    }
    parts.push(text.slice(from))
    return parts
  }

  *#found(text: string): Iterable<PatternMatch> {
    for (const found of this.find(text)) if (found !== undefined) yield found
  }
}
