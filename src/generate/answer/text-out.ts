import type { TokenLogprob } from '../../contract/index.js'
import { Needles } from './needles.js'

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
