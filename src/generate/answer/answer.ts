import type { Sampled, SampleSettings } from '../../contract/index.js'
import { atOnce, during, inStage, inTurns, type Slices } from '../../platform/index.js'
import { type Drafted, type DraftRoom, FreePath, type OpenPath, type Path } from '../drafts/path.js'
import { ChannelStretch } from './channel-stretch.js'
import { Dry } from './dry.js'
import { grammarRefusal, maskAllBut } from './guided.js'
import { BetweenStretch, CallStretch, DocumentStretch } from './guided-stretch.js'
import type { Lane, Outlook } from './lane.js'
import { AnswerOutput, type AnswerSink } from './output.js'
import type { AnswerPlan } from './plan.js'
import { Markers, type Segment, segmentsOf } from './plan.js'
import type { PromptScores } from './prompt-scores.js'
import { type Drawn, drawnBy, seedOfChoice } from './sampling.js'
import type { EndReason, Stretch, Writing } from './stretch.js'
import { TextStretch } from './text-stretch.js'
import type { Thought } from './thought.js'
import { ThoughtStretch } from './thought-stretch.js'
import { TokenLog } from './token-log.js'

/** One choice: segment after segment, takes tokens one by one, says how the next is to be drawn, and writes parts. */
export class AnswerDecoder implements Lane, Writing {
  finished = false
  cachedTokens = 0
  readonly request: string
  readonly tokens: readonly number[]
  readonly promptLength: number
  thought: Thought | undefined
  readonly scores: PromptScores | undefined
  readonly plan: AnswerPlan
  readonly log: TokenLog
  readonly markers: Markers
  readonly out: AnswerOutput
  readonly stops: ReadonlySet<number>
  readonly #sink: AnswerSink
  readonly #seed: number
  /** What the device's sampler is told in every step alike. */
  readonly #drawn: Drawn
  readonly #dry: Dry | undefined
  /** Used again for every step. */
  #mask: Uint32Array | undefined
  /** Those that have not begun. */
  readonly #segments: Segment[]
  /** The one that is being written. */
  #stretch!: Stretch
  /** Tokens that no model was asked for have come since the last step. */
  #spliced = false
  /** The mask of the next token, once it is made. */
  #made: { readonly mask: Uint32Array | undefined } | undefined
  #making = false
  /** The last mask took more than a slice: the next one begins in a turn of its own. */
  #slow = false

  constructor(plan: AnswerPlan, choice: number, sink: AnswerSink) {
    this.plan = plan
    this.#sink = sink
    this.scores = choice === 0 ? plan.scores : undefined
    this.out = new AnswerOutput(choice, sink, plan.text.toolFormat, plan.call.tools)
    this.#seed = seedOfChoice(plan.sampling.seed, choice)
    this.#drawn = drawnBy(plan.sampling)
    const { presencePenalty, frequencyPenalty, repetitionPenalty } = plan.sampling
    const counting = presencePenalty !== 0 || frequencyPenalty !== 0
    this.log = new TokenLog(plan.prompt, counting, repetitionPenalty === 1 ? undefined : plan.vocabSize)
    this.request = plan.call.id
    this.tokens = this.log.tokens
    this.promptLength = this.log.promptLength
    this.#dry = plan.sampling.dryMultiplier > 0 ? new Dry(plan.sampling, plan.text.tokenizer) : undefined
    this.stops = new Set([...(plan.call.ignoreEnds ? [] : plan.text.ends), ...(plan.call.stopTokens ?? [])])
    this.markers = new Markers(plan.call, plan.text)
    this.#segments = segmentsOf(plan, this.markers)
    this.next()
    this.begin()
  }

  /** To be called again once the prompt is scored, where it is to be. */
  begin(): void {
    if (!this.plan.scores?.open) this.#advance()
  }

  get kept(): number {
    return this.log.kept
  }

  get remaining(): number {
    return this.plan.limit - this.log.generated
  }

  get paused(): boolean {
    return this.#sink.behind || this.#stretch.waits === true || this.#making
  }

  get foreseeable(): boolean {
    const { counts, seen } = this.log
    const free = this.#stretch.mask === undefined
    return free && counts === undefined && seen === undefined && !this.#dry && !this.mustGoOn && !this.#spliced
  }

  get mustGoOn(): boolean {
    return this.log.generated < (this.plan.call.minTokens ?? 0)
  }

  get following(): Segment | undefined {
    return this.#segments[0]
  }

  get made(): Uint32Array | undefined {
    return this.#made?.mask
  }

  prepare(): boolean {
    if (this.#made || this.#making) return !this.#making
    const work = this.#nextMask()
    if (!this.#slow) {
      const { done, value } = work.next()
      if (done) this.#made = { mask: value }
      if (done) return true
    }
    const { id, signal, caller } = this.plan.call
    this.#making = true
    const settle = (error?: unknown) => {
      this.#making = false
      if (this.finished) return
      if (error !== undefined) this.fail(error)
      this.plan.wake()
    }
    inTurns(inStage('mask', id, this.#makeOn(work, this.#slow)), signal, caller).then(() => settle(), settle)
    return false
  }

  /** `slow`: nothing of it is made. Whoever has left or failed meanwhile needs none. */
  *#makeOn(work: Slices<Uint32Array | undefined>, slow: boolean): Slices<void> {
    this.#slow = !slow
    for (yield; !this.finished; yield) {
      const { done, value } = work.next()
      if (done) this.#made = { mask: value }
      if (done) return
      this.#slow = true
    }
  }

  settings(): SampleSettings {
    const mask = this.#made ? this.#made.mask : atOnce(this.#nextMask())
    return this.#settings(this.log.generated, mask)
  }

  get guessable(): boolean {
    return this.draftable && this.plan.source !== undefined && this.#stretch.foresee !== undefined
  }

  get draftable(): boolean {
    // Penalties hang on what was said before.
    return !this.log.counts && !this.log.seen && !this.#dry && !this.mustGoOn
  }

  foresee(room: DraftRoom): Drafted | undefined {
    return this.#drafted(this.#stretch.foresee?.(room))
  }

  outlook(room: DraftRoom): Outlook | undefined {
    const path = this.#openPath(room)
    if (!path) return undefined
    const { tokens } = path
    const drafted = () => this.#drafted(path.path)
    return {
      tokens,
      free: this.#stretch.mask === undefined,
      settings: () => this.#settings(this.log.generated + tokens.length, path.mask),
      push: (token) => during('mask', this.request, () => path.push(token, 'model')),
      get drafted() {
        return drafted()
      },
    }
  }

  #openPath(room: DraftRoom): OpenPath | undefined {
    if (this.#stretch.mask) return this.#stretch.openPath?.(room)
    const { ends } = this.plan.text
    return new FreePath((token) => this.stops.has(token) || ends.has(token), this.remaining, room)
  }

  #drafted(path: Path | undefined): Drafted | undefined {
    if (!path) return undefined
    const draws = path.draws.map(({ at, mask, guess }) => {
      return { at, settings: this.#settings(this.log.generated + at, mask), ...(guess && { guess }) }
    })
    return { tokens: path.tokens, draws }
  }

  #settings(index: number, mask: Uint32Array | undefined): SampleSettings {
    const { sampling, call } = this.plan
    const { topLogprobs } = call
    const logitBias = this.#dry?.over(this.log.tokens, sampling.logitBias) ?? sampling.logitBias
    return {
      ...this.#drawn,
      ...(this.log.seen && { repeats: { tokens: this.log.seen, by: sampling.repetitionPenalty } }),
      seed: this.#seed,
      index,
      presencePenalty: sampling.presencePenalty,
      frequencyPenalty: sampling.frequencyPenalty,
      ...(mask && { mask }),
      ...(this.log.counts && { counts: this.log.counts }),
      ...(logitBias && { logitBias }),
      ...(mask && this.#stretch.settings?.(mask)),
      ...(topLogprobs !== undefined && { topLogprobs }),
    }
  }

  take(sampled: Sampled): void {
    this.#stretch.take(sampled)
    this.#advance()
  }

  settle(): void {
    this.#spliced = false
    this.log.settle()
  }

  cached(tokens: number): void {
    this.cachedTokens = Math.min(tokens, this.promptLength)
  }

  fail(error: unknown): void {
    this.finished = true
    this.#sink.fail(grammarRefusal(error))
  }

  resume(): void {
    if (this.finished) return
    this.#advance()
    this.plan.wake()
  }

  next(written = ''): void {
    const segment = this.#segments.shift()!
    if (segment.kind === 'literal') {
      this.write(this.plan.text.tokenizer.encodeMarker(segment.text))
      this.next()
    } else {
      this.#stretch = this.#stretchOf(segment, written)
      this.#stretch.begin?.()
    }
  }

  insert(...segments: readonly Segment[]): void {
    this.#segments.unshift(...segments)
    this.next()
  }

  #stretchOf(segment: Exclude<Segment, { kind: 'literal' }>, written: string): Stretch {
    switch (segment.kind) {
      case 'thought':
        return new ThoughtStretch(this, segment)
      case 'document':
        return new DocumentStretch(this, segment.grammar)
      case 'call':
        return new CallStretch(this, segment.written)
      case 'between':
        return new BetweenStretch(this)
      case 'channel':
        return new ChannelStretch(this, segment.again)
      case 'text':
        return new TextStretch(this, written)
    }
  }

  write(tokens: readonly number[]): void {
    this.#spliced = true
    this.log.append(tokens)
  }

  cut(rest: string): void {
    if (rest === '') return
    const { tokenizer } = this.plan.text
    const last = new TextDecoder('utf-8', { ignoreBOM: true }).decode(tokenizer.bytes(this.tokens.at(-1)!))
    this.log.drop(1)
    this.write(tokenizer.encodeContinuation(last.slice(0, Math.max(0, last.length - rest.length))))
  }

  end(reason: EndReason, last?: number, stop?: string): void {
    this.finished = true
    this.#stretch.end?.()
    const called = this.out.calls > 0 && reason === 'stop' ? 'tool_calls' : reason
    const tokens = [...this.tokens.slice(this.promptLength), ...(last === undefined ? [] : [last])]
    this.out.finish(called, reason !== 'tool_calls', {
      ...(stop !== undefined && { stop }),
      ...(this.plan.call.returnTokens && { tokens }),
    })
  }

  /** Adds what is certain, until a token has to be drawn or the answer ends. */
  #advance(): void {
    this.#made = undefined
    try {
      while (!this.finished) {
        const stretch = this.#stretch
        if (!(stretch.advance ? stretch.advance() : this.#isFull())) return
      }
    } catch (error) {
      this.fail(error)
    }
  }

  #isFull(): boolean {
    const full = this.remaining <= 0
    if (full) this.end('length')
    return full
  }

  *#nextMask(): Slices<Uint32Array | undefined> {
    if (!this.#stretch.mask && !this.mustGoOn) return undefined
    this.#mask ??= new Uint32Array(Math.ceil(this.plan.vocabSize / 32))
    const made = this.#stretch.mask?.(this.#mask) ?? maskAllBut(this.#mask, [...this.plan.text.ends, ...this.stops])
    return made instanceof Uint32Array ? made : yield* made
  }
}
