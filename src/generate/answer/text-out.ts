import type { TokenLogprob } from '../../contract/index.js'

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

export interface TextPiece {
  readonly text: string
  readonly logprobs: readonly TokenLogprob[]
  /** The needle that ended the text, if one did; or the `bare` beginning that it had. */
  readonly found?: string
  /** Characters that came after it. */
  readonly rest: string
}

/** Bytes of tokens to text that can be shown: whole characters, nothing of a stop string, each with its tokens. */
export class TextOut {
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  #needles: Needles
  readonly #bare: readonly string[]
  /** White space at the beginning is not shown. */
  #trims: boolean
  /** The beginning, while it may still be a bare tool call. */
  #beginning: string | undefined
  /** Log probabilities of tokens whose text is still held back, each with where that text begins. */
  #waiting: { readonly logprob: TokenLogprob; readonly start: number }[] = []
  #fed = 0
  #sent = 0
  #ended = false

  /** `bare`: what an answer begins with that is no talk: a tool call without a marker, a thought. */
  constructor(needles: readonly string[], bare: readonly string[] = [], trims = false) {
    this.#bare = bare
    this.#trims = trims
    this.#needles = new Needles(needles)
    this.#beginning = bare.length === 0 ? undefined : ''
  }

  /** From here on these end the text; what has been held back is looked through with what follows. */
  watchFor(needles: readonly string[]): void {
    const held = this.#needles.flush()
    this.#needles = new Needles(needles, held)
  }

  push(bytes: Uint8Array, logprob?: TokenLogprob): TextPiece {
    let text = this.#utf8.decode(bytes, { stream: true })
    if (logprob !== undefined) this.#waiting.push({ logprob, start: this.#fed })
    this.#fed += text.length
    if (this.#beginning !== undefined) {
      this.#beginning += text
      const dense = this.#beginning.replace(/\s+/g, '')
      const found = this.#bare.find((bare) => dense.startsWith(bare))
      if (found !== undefined) {
        this.#ended = true
        return { text: '', logprobs: [], found, rest: dense.slice(found.length) }
      }
      if (this.#bare.some((bare) => bare.startsWith(dense))) return { text: '', logprobs: [], rest: '' }
      text = this.#beginning
      this.#beginning = undefined
    }
    if (this.#trims) {
      const shown = text.trimStart()
      // What is not shown was never fed, as far as anybody counts.
      this.#fed -= text.length - shown.length
      this.#trims = shown === ''
      text = shown
    }
    const { text: safe, found, rest } = this.#needles.push(text)
    this.#sent += safe.length
    this.#ended = found !== undefined
    return { text: safe, logprobs: this.#release(false), found, rest }
  }

  /** The end of the answer: what was held back is text after all. Half a character is dropped. */
  flush(): TextPiece {
    if (this.#ended) return { text: '', logprobs: [], rest: '' }
    const held = (this.#beginning ?? '') + this.#needles.flush()
    const text = this.#trims ? held.trimStart() : held
    this.#beginning = undefined
    this.#sent += text.length
    return { text, logprobs: this.#release(true), rest: '' }
  }

  #release(all: boolean): TokenLogprob[] {
    if (this.#waiting.length === 0) return []
    let ready = 0
    while (ready < this.#waiting.length && (all || this.#waiting[ready]!.start < this.#sent)) ready++
    return this.#waiting.splice(0, ready).map(({ logprob }) => logprob)
  }
}
