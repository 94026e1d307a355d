/** Finds any of several texts in a stream, whatever pieces it comes in, without letting a piece of one through. */
export class Needles {
  readonly #needles: readonly string[]
  #held: string

  /** `held`: text that has not been looked through. */
  constructor(needles: readonly string[], held = '') {
    this.#held = held
    this.#needles = needles.filter((needle) => needle !== '')
  }

  /**
   * Gives on the text that no needle can begin in any more. Once a needle is complete, `found` is that needle, `text`
   * ends before it and `rest` is what came after it. The needle that ends first wins, so that the cut does not depend
   * on how the text was divided.
   */
  push(text: string): { readonly text: string; readonly found?: string; readonly rest: string } {
    if (this.#needles.length === 0 && this.#held === '') return { text, rest: '' }
    const all = this.#held + text
    let start = -1
    let end = Number.POSITIVE_INFINITY
    for (const needle of this.#needles) {
      const at = all.indexOf(needle)
      if (at < 0) continue
      const stop = at + needle.length
      if (stop < end || (stop === end && at < start)) {
        start = at
        end = stop
      }
    }
    if (start >= 0) {
      this.#held = ''
      return { text: all.slice(0, start), found: all.slice(start, end), rest: all.slice(end) }
    }
    const safe = all.length - this.#openSuffix(all)
    this.#held = all.slice(safe)
    return { text: all.slice(0, safe), rest: '' }
  }

  /** What was held back, when nothing more comes. */
  flush(): string {
    const held = this.#held
    this.#held = ''
    return held
  }

  /** The length of the longest end of `text` that some needle begins with. */
  #openSuffix(text: string): number {
    let longest = 0
    for (const needle of this.#needles) {
      for (let length = Math.min(needle.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(needle.slice(0, length))) longest = length
      }
    }
    return longest
  }
}
