import type { Evidence, Part, TokenLogprob, ToolSpec } from '../../contract/index.js'
import { ToolCallStream } from '../tools/call-stream.js'
import type { ToolFormat } from '../tools/format.js'

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
  /** A byte order mark is text like any other. */
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  #needles: Needles
  readonly #bare: readonly string[]
  /** White space at the beginning is not shown. */
  #trims: boolean
  /** The beginning, while it may still be a bare tool call. */
  #beginning: string | undefined = ''
  /** The same without white space, which may come for ever. */
  #dense = ''
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
      this.#dense += text.replace(/\s/g, '')
      const dense = this.#dense
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

type Finish = Part & { readonly type: 'finish' }

export interface AnswerSink {
  /** The reader has not taken what was pushed before. */
  readonly behind: boolean
  push(part: Part): void
  /** A choice has come to its end. */
  end(): void
  fail(error: unknown): void
}

/** Turns the bytes of an answer into parts. */
export class AnswerOutput {
  readonly #choice: number
  readonly #sink: Pick<AnswerSink, 'push' | 'end'>
  readonly #format: ToolFormat
  #text: TextOut
  #call: ToolCallStream | undefined
  #callText: TextDecoder | undefined
  /** How many were begun that say something new. */
  calls = 0
  /** The calls that were made, as they were written. */
  readonly #made: string[] = []
  /** Forced tokens whose text has not been shown yet; undefined where nothing of what is shown next was forced. */
  #forced: number | undefined

  readonly #tools: readonly ToolSpec[]

  constructor(choice: number, sink: Pick<AnswerSink, 'push' | 'end'>, format: ToolFormat, tools: readonly ToolSpec[]) {
    this.#tools = tools
    this.#format = format
    this.#choice = choice
    this.#sink = sink
    this.#text = new TextOut([])
  }

  /** From here on free text: ends at a stop string or where a tool call begins. */
  beginText(needles: readonly string[], bare: readonly string[] = [], trims = false): void {
    this.#text = new TextOut(needles, bare, trims)
  }

  /** Shows a piece of a thought. */
  thought(text: string): void {
    if (text !== '') this.#sink.push({ type: 'reasoning-delta', choice: this.#choice, text })
  }

  /** The free text ends at these from here on. */
  watchFor(needles: readonly string[]): void {
    this.#text.watchFor(needles)
  }

  /** Free text is over: what was held back is text after all. */
  endText(): void {
    this.#emit(this.#text.flush())
  }

  beginCall(): void {
    this.#call = new ToolCallStream(this.#format.reader(this.#tools), this.#made)
    this.#callText = new TextDecoder('utf-8', { ignoreBOM: true })
    this.calls++
  }

  /** The call is whole. False where it says what an earlier one has said: then nobody has heard of it. */
  endCall(): boolean {
    const { repeats, written } = this.#call!
    if (repeats) this.calls--
    else this.#made.push(written)
    return !repeats
  }

  /** Shows bytes of the content; says whether a needle ended it. */
  content(bytes: Uint8Array, logprob?: TokenLogprob): TextPiece {
    const piece = this.#text.push(bytes, logprob)
    this.#emit(piece)
    return piece
  }

  /** Shows bytes of the tool call that was begun last. */
  callBytes(bytes: Uint8Array): void {
    const delta = this.#call!.push(this.#callText!.decode(bytes, { stream: true }))
    if (delta === undefined) return
    const index = this.calls - 1
    const head = delta.name === undefined ? {} : { id: callId(), name: delta.name }
    this.#sink.push({ type: 'tool-call-delta', choice: this.#choice, index, ...head, arguments: delta.arguments })
  }

  /** What a value rests on that has been shown. */
  evidence(evidence: Evidence): void {
    this.#sink.push({ type: 'evidence', choice: this.#choice, evidence })
  }

  countForced(tokens: number): void {
    this.#forced = (this.#forced ?? 0) + tokens
  }

  finish(reason: Finish['reason'], flush: boolean, more: Pick<Finish, 'stop' | 'tokens'> = {}): void {
    if (flush) this.endText()
    this.#sink.push({ type: 'finish', choice: this.#choice, reason, ...more })
    this.#sink.end()
  }

  #emit({ text, logprobs }: TextPiece): void {
    if (text === '' && logprobs.length === 0) return
    const forced = this.#forced
    this.#forced = undefined
    this.#sink.push({
      type: 'text-delta',
      choice: this.#choice,
      text,
      ...(logprobs.length > 0 && { logprobs }),
      ...(forced !== undefined && { forced }),
    })
  }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function callId(): string {
  const random = crypto.getRandomValues(new Uint8Array(24))
  return `call_${Array.from(random, (byte) => LETTERS[byte % LETTERS.length]).join('')}`
}
