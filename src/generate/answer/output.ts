import type { Evidence, Part, TokenLogprob, ToolSpec } from '../../contract/index.js'
import { ToolCallStream } from '../tools/call-stream.js'
import type { ToolFormat } from '../tools/format.js'
import { TextOut, type TextPiece } from './text-out.js'

type Finish = Part & { readonly type: 'finish' }

export interface AnswerSink {
  /** The reader has not taken what was pushed before. */
  readonly behind: boolean
  push(part: Part): void
  finished(choice: number): void
  failed(error: unknown): void
}

/** Turns the bytes of an answer into parts. */
export class AnswerOutput {
  readonly #choice: number
  readonly #sink: AnswerSink
  readonly #format: ToolFormat
  #text: TextOut
  #call: ToolCallStream | undefined
  #callText = new TextDecoder('utf-8', { ignoreBOM: true })
  #calls = 0
  /** The calls that were made, as they were written. */
  readonly #made: string[] = []
  /** Forced tokens whose text has not been shown yet; undefined where nothing of what is shown next was forced. */
  #forced: number | undefined

  readonly #tools: readonly ToolSpec[]

  constructor(choice: number, sink: AnswerSink, format: ToolFormat, tools: readonly ToolSpec[]) {
    this.#tools = tools
    this.#format = format
    this.#choice = choice
    this.#sink = sink
    this.#text = new TextOut([])
  }

  get behind(): boolean {
    return this.#sink.behind
  }

  get calls(): number {
    return this.#calls
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
    this.#calls++
  }

  /** The call is whole. False where it says what an earlier one has said: then nobody has heard of it. */
  endCall(): boolean {
    const { repeats, written } = this.#call!
    if (repeats) this.#calls--
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
    const delta = this.#call!.push(this.#callText.decode(bytes, { stream: true }))
    if (delta === undefined) return
    const index = this.#calls - 1
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
    this.#sink.finished(this.#choice)
  }

  fail(error: unknown): void {
    this.#sink.failed(error)
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
