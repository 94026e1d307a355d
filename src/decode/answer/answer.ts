import type { OutputGrammar } from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { Sampled, SampleSettings } from '../token-model.js'
import { Guided } from './guided.js'
import type { Lane } from './lane.js'
import { Markers } from './markers.js'
import { Mask } from './mask.js'
import { AnswerOutput, type AnswerSink } from './output.js'
import type { AnswerPlan } from './plan.js'
import { logprobOf, seedOfChoice } from './sampling.js'
import type { TextPiece } from './text-out.js'
import { TokenLog } from './token-log.js'

/** Free text, a document, a tool call, or the choice between another call and the end. */
type Mode = 'text' | 'document' | 'call' | 'between'

/** A model that cannot stop calling is stopped. */
const MOST_CALLS = 32

/** One choice: takes tokens one by one, says how the next is to be drawn, and writes parts. */
export class AnswerDecoder implements Lane {
  finished = false
  cachedTokens = 0
  readonly #plan: AnswerPlan
  readonly #log: TokenLog
  readonly #markers: Markers
  readonly #out: AnswerOutput
  readonly #seed: number
  #mode: Mode = 'text'
  #guided: Guided | undefined
  #mask: Mask | undefined
  /** The next token decides between a document and a tool call. */
  #choosing = false
  /** Tokens that end free text. */
  readonly #stops: ReadonlySet<number>
  /** Tokens that are certain but fed one by one, because their probabilities were asked for. */
  #certain: number[] = []

  constructor(plan: AnswerPlan, choice: number, sink: AnswerSink) {
    this.#plan = plan
    this.#out = new AnswerOutput(choice, sink, plan.text.toolFormat)
    this.#seed = seedOfChoice(plan.call.sampling.seed, choice)
    const { presencePenalty, frequencyPenalty, repetitionPenalty = 1 } = plan.call.sampling
    const counting = presencePenalty !== 0 || frequencyPenalty !== 0
    this.#log = new TokenLog(plan.prompt, counting, repetitionPenalty === 1 ? undefined : plan.vocabSize)
    this.#stops = new Set([...(plan.call.ignoreEnds ? [] : plan.text.ends), ...(plan.call.stopTokens ?? [])])
    this.#markers = new Markers(plan.call, plan.text)
    this.#begin()
  }

  get tokens(): readonly number[] {
    return this.#log.tokens
  }

  get promptLength(): number {
    return this.#log.promptLength
  }

  get kept(): number {
    return this.#log.kept
  }

  get generated(): number {
    return this.#log.generated
  }

  get remaining(): number {
    return this.#plan.limit - this.generated
  }

  get paused(): boolean {
    return this.#out.behind
  }

  get foreseeable(): boolean {
    const { counts, said } = this.#log
    return this.#mode === 'text' && counts === undefined && said === undefined && !this.#mustGoOn
  }

  settings(): SampleSettings {
    const { sampling, topLogprobs } = this.#plan.call
    const mask = this.#nextMask()
    return {
      temperature: sampling.temperature,
      topP: sampling.topP,
      ...(sampling.topK !== undefined && { topK: sampling.topK }),
      ...(sampling.minP !== undefined && { minP: sampling.minP }),
      ...(this.#log.said && { repeats: { tokens: this.#log.said, by: sampling.repetitionPenalty! } }),
      seed: this.#seed,
      index: this.generated,
      presencePenalty: sampling.presencePenalty,
      frequencyPenalty: sampling.frequencyPenalty,
      ...(mask && { mask }),
      ...(this.#log.counts && { counts: this.#log.counts }),
      ...(sampling.logitBias && { logitBias: sampling.logitBias }),
      ...(topLogprobs !== undefined && { topLogprobs }),
    }
  }

  take(sampled: Sampled): void {
    const { token } = sampled
    if (this.#mode === 'between') this.#decide(token)
    else if (this.#choosing && token === this.#markers.opening('')[0]) this.#open(this.#markers.opening(''))
    else if (this.#mode === 'text' && !this.#stops.has(token)) this.#takeText(sampled)
    else if (this.#mode === 'text' || this.#plan.text.ends.has(token)) this.#end('stop', token)
    else this.#takeGuided(sampled)
    if (!this.finished) this.#advance()
  }

  settle(): void {
    this.#log.settle()
  }

  cached(tokens: number): void {
    this.cachedTokens = Math.min(tokens, this.promptLength)
  }

  fail(error: unknown): void {
    this.finished = true
    this.#out.fail(error)
  }

  #begin(): void {
    const { call } = this.#plan
    const { mayOpen, mustOpen, trigger } = this.#markers
    if (mustOpen) this.#beginCall('')
    else if (call.grammar !== undefined) {
      this.#guide('document', call.grammar)
      this.#choosing = mayOpen && trigger !== '' && this.#markers.shortest <= this.remaining
    } else {
      const { bare } = this.#plan.text.toolFormat
      this.#out.beginText(this.#needles(!this.#mustGoOn), mayOpen ? bare : undefined)
    }
    this.#advance()
  }

  /** Fewer tokens are there than the request wants. */
  get #mustGoOn(): boolean {
    return this.generated < (this.#plan.call.minTokens ?? 0)
  }

  /** Where free text ends: at a tool call, and at stops once the answer may end. */
  #needles(mayEnd: boolean): string[] {
    const { mayOpen, trigger } = this.#markers
    return [...(mayEnd ? this.#plan.call.stop : []), ...(mayOpen && trigger !== '' ? [trigger] : [])]
  }

  #guide(mode: 'document' | 'call', grammar: OutputGrammar): void {
    this.#mode = mode
    this.#guided = new Guided(grammar.start(this.#plan.text.vocabulary), this.#plan.text.tokenizer)
  }

  /** Opens a call, of whose marker `written` stands already. */
  #beginCall(written: string): void {
    this.#log.append(this.#markers.opening(written))
    const { call, text } = this.#plan
    this.#guide('call', text.toolFormat.grammar(call))
    if (this.#guided!.shortest > this.remaining) this.#end('length')
    else this.#out.beginCall()
  }

  /** Adds what is certain, until a token has to be drawn or the answer ends. */
  #advance(): void {
    while (!this.finished && !this.#choosing && this.#certain.length === 0) {
      const guided = this.#mode === 'document' || this.#mode === 'call' ? this.#guided! : undefined
      if (guided?.done) this.#completed()
      else if (this.remaining <= 0) this.#end(guided?.shortest === 0 ? 'stop' : 'length')
      else if (guided === undefined || !this.#force(guided)) return
    }
  }

  #force(guided: Guided): boolean {
    const asked = this.#plan.call.topLogprobs !== undefined && this.#mode === 'document'
    const run = guided.plan(this.remaining, !asked)
    if (run === undefined) return false
    if (asked) {
      this.#certain = [...run.tokens]
      return true
    }
    guided.commit(run)
    this.#log.drop(run.replace)
    this.#log.append(run.tokens)
    this.#out.countForced(Math.max(0, run.tokens.length - run.replace))
    this.#show(run.bytes)
    return true
  }

  #completed(): void {
    if (this.#mode === 'document') {
      this.#end('stop')
      return
    }
    // A model that says the same again would go on with it.
    if (!this.#out.endCall()) {
      this.#end('tool_calls')
      return
    }
    const { closing, next } = this.#markers
    const mayGoOn = this.#plan.call.parallelToolCalls && next.length > 0 && this.#out.calls < MOST_CALLS
    if (!mayGoOn || closing.length + this.#markers.shortest > this.remaining) {
      this.#end('tool_calls')
      return
    }
    this.#log.append(closing)
    this.#mode = 'between'
  }

  #takeText(sampled: Sampled): void {
    const { tokenizer } = this.#plan.text
    const short = this.#mustGoOn
    this.#log.append([sampled.token])
    const piece = this.#out.content(tokenizer.bytes(sampled.token), logprobOf(sampled, tokenizer))
    if (short && !this.#mustGoOn) this.#out.watchFor(this.#needles(true))
    if (piece.found === undefined) return
    if (piece.found === this.#plan.text.toolFormat.bare && this.#markers.mayOpen) {
      // The grammar writes the call from its beginning, in its own spacing.
      this.#log.drop(this.generated)
      this.#beginCall('')
    } else if (this.#markers.mayOpen && piece.found === this.#markers.trigger) this.#beginFound(piece)
    else this.#end('stop')
  }

  /** A marker may end within a token: that token is replaced by what of it belongs to the marker. */
  #beginFound({ found, rest }: TextPiece): void {
    const { tokenizer } = this.#plan.text
    if (rest !== '') {
      const last = new TextDecoder().decode(tokenizer.bytes(this.tokens.at(-1)!))
      this.#log.drop(1)
      this.#log.append(tokenizer.encodeContinuation(last.slice(0, Math.max(0, last.length - rest.length))))
    }
    this.#beginCall(found!)
  }

  #takeGuided(sampled: Sampled): void {
    const { tokenizer } = this.#plan.text
    this.#choosing = false
    this.#certain.shift()
    if (!this.#guided!.accept(sampled.token)) throw new V1Error(500, 'The model gave a token that the grammar forbids.')
    this.#log.append([sampled.token])
    this.#show(tokenizer.bytes(sampled.token), sampled)
  }

  #show(bytes: Uint8Array, sampled?: Sampled): void {
    if (this.#mode === 'call') this.#out.callBytes(bytes)
    else this.#out.content(bytes, sampled && logprobOf(sampled, this.#plan.text.tokenizer))
  }

  /** After a call: the model chose to end, or to begin the next one. */
  #decide(token: number): void {
    const { next } = this.#markers
    if (token === next[0]) this.#open(next)
    else this.#end('tool_calls')
  }

  /** Begins a call whose whole marker is certain now. */
  #open(marker: readonly number[]): void {
    this.#choosing = false
    this.#log.append(marker)
    this.#beginCall(this.#plan.text.toolFormat.open)
  }

  #nextMask(): Uint32Array | undefined {
    if (this.#mode === 'text' && !this.#mustGoOn) return undefined
    this.#mask ??= new Mask(this.#plan.vocabSize)
    if (this.#mode === 'text') return this.#mask.allBut([...this.#plan.text.ends, ...this.#stops])
    if (this.#mode === 'between') return this.#mask.only([...this.#plan.text.ends, this.#markers.next[0]!])
    if (this.#certain.length > 0) return this.#mask.only([this.#certain[0]!])
    return this.#mask.allowed(
      this.#guided!,
      this.remaining,
      this.#choosing ? this.#markers.opening('').slice(0, 1) : [],
    )
  }

  /** `last`: the token that said so, which is no part of the text. */
  #end(reason: 'stop' | 'length' | 'tool_calls', last?: number): void {
    this.finished = true
    const called = this.#out.calls > 0 && reason === 'stop' ? 'tool_calls' : reason
    const tokens = [...this.tokens.slice(this.promptLength), ...(last === undefined ? [] : [last])]
    this.#out.finish(called, reason !== 'tool_calls', this.#plan.call.returnTokens ? tokens : undefined)
  }
}
