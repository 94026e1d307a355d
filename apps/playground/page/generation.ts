import { type ChatBody, chat, type Evidence, type Usage, unbroken } from './api.js'
import { whole } from './format.js'

/** What one chunk brought. */
export interface Piece {
  readonly text: string
  /** Tokens behind it that the grammar decided; undefined where the model chose. */
  readonly forced: number | undefined
}

/** Pieces arrive in bunches: over less than this, the pace would be that of the bunch. */
const SHORT_MS = 20

/** One answer while it comes: its pieces, and what it took. */
export class Generation {
  readonly pieces: Piece[] = []
  text = ''
  /** What each value that has closed rests on, by JSON pointer. */
  readonly evidence = new Map<string, Evidence>()
  /** What was thought before. */
  thought = ''
  /** Milliseconds that were thought. */
  thoughtMs: number | undefined
  finish: string | undefined
  usage: Usage | undefined
  /** Tokens that it may have. */
  limit: ChatBody['max_tokens']
  /** Milliseconds from the request to its first text, and to its newest. */
  firstMs: number | undefined
  lastMs = 0
  readonly #aborter = new AbortController()
  #began = performance.now()
  #sampled = 0
  #forced = 0

  /** Fails with the error that the answer ended with; an answer that was stopped is no failure. */
  async run(body: ChatBody, project: string, onChange: () => void): Promise<void> {
    this.limit = body.max_tokens
    try {
      await unbroken(() => this.#read(body, project, onChange), this.#aborter.signal)
    } catch (error) {
      if (!this.stopped) throw error
    }
    if (this.stopped) {
      this.finish = 'stopped'
      onChange()
    }
  }

  async #read(body: ChatBody, project: string, onChange: () => void): Promise<void> {
    if (this.firstMs !== undefined) this.#forget()
    for await (const { choices, usage } of chat(body, project, this.#aborter.signal)) {
      // What had come before it was stopped may still lie in the stream, its end too.
      if (this.stopped) break
      if (usage) this.usage = usage
      const choice = choices[0]
      if (choice?.finish_reason) this.finish = choice.finish_reason
      for (const [pointer, evidence] of Object.entries(choice?.evidence ?? {})) this.evidence.set(pointer, evidence)
      if (choice?.delta.reasoning_content) this.#think(choice.delta.reasoning_content)
      if (choice?.delta.content) this.#take({ text: choice.delta.content, forced: choice.forced_tokens })
      onChange()
    }
  }

  /** What had come of an answer that begins anew. */
  #forget(): void {
    this.pieces.length = 0
    this.evidence.clear()
    this.text = this.thought = ''
    this.finish = this.usage = this.firstMs = this.thoughtMs = undefined
    this.#sampled = this.#forced = 0
    this.#began = performance.now()
  }

  stop(): void {
    this.#aborter.abort()
  }

  get stopped(): boolean {
    return this.#aborter.signal.aborted
  }

  get tokens(): number {
    return this.usage?.completion_tokens ?? this.#sampled + this.#forced
  }

  get forced(): number {
    return this.usage?.completion_tokens_details?.forced_tokens ?? this.#forced
  }

  /** That the limit ended it, as far as that is known: a strict answer is closed within it, and told as one that is whole. */
  get limited(): string | undefined {
    if (this.finish === 'length') return 'cut off at the token limit'
    const isAll = this.limit !== undefined && this.usage?.completion_tokens === this.limit
    return isAll && !this.stopped ? `ended within the limit of ${whole(this.tokens)} tokens` : undefined
  }

  /** Tokens a second after the first text; undefined while the stretch is too short to measure. */
  get perSecond(): number | undefined {
    const first = this.pieces[0]
    if (first === undefined || this.firstMs === undefined || this.lastMs - this.firstMs < SHORT_MS) return undefined
    return ((this.tokens - (first.forced ?? 1)) * 1000) / (this.lastMs - this.firstMs)
  }

  #think(text: string): void {
    this.lastMs = performance.now() - this.#began
    this.firstMs ??= this.lastMs
    this.thought += text
    this.thoughtMs = this.lastMs - this.firstMs
  }

  #take(piece: Piece): void {
    this.lastMs = performance.now() - this.#began
    this.firstMs ??= this.lastMs
    this.pieces.push(piece)
    this.text += piece.text
    if (piece.forced === undefined) this.#sampled++
    else this.#forced += piece.forced
  }
}
