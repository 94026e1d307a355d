import type { OutputGrammar } from '../../engine.js'
import { V1Error } from '../../errors.js'
import { thoughtBudget } from '../thinking/plan.js'
import type { Sampled, SampleSettings } from '../token-model.js'
import { Guided } from './guided.js'
import type { Lane } from './lane.js'
import { Markers } from './markers.js'
import { Mask } from './mask.js'
import { AnswerOutput, type AnswerSink } from './output.js'
import type { AnswerPlan } from './plan.js'
import type { PromptScores } from './prompt-scores.js'
import { logprobOf, seedOfChoice } from './sampling.js'
import { type Segment, segmentsOf } from './segments.js'
import type { TextPiece } from './text-out.js'
import { Thought } from './thought.js'
import { TokenLog } from './token-log.js'

/** What is being written, see `Segment`; or the choice between another call and the end. */
type Mode = 'thought' | 'text' | 'document' | 'call' | 'between'

/** A model that cannot stop calling is stopped. */
const MOST_CALLS = 32

/** One choice: takes tokens one by one, says how the next is to be drawn, and writes parts. */
export class AnswerDecoder implements Lane {
  finished = false
  cachedTokens = 0
  readonly scores: PromptScores | undefined
  readonly #plan: AnswerPlan
  readonly #log: TokenLog
  readonly #markers: Markers
  readonly #out: AnswerOutput
  readonly #seed: number
  #mode: Mode = 'text'
  #guided: Guided | undefined
  #mask: Mask | undefined
  /** Those that have not begun. */
  readonly #segments: Segment[]
  #thought: Thought | undefined
  /** Tokens before the free text. */
  #textFrom = 0
  /** Free text has begun, and nothing of it has been shown: a thought may still come first. */
  #fresh = false
  /** Tokens that no model was asked for have come since the last step. */
  #spliced = false
  /** The next token decides between a document and a tool call. */
  #choosing = false
  /** Tokens that end free text. */
  readonly #stops: ReadonlySet<number>
  /** Tokens that are certain but fed one by one, because their probabilities were asked for. */
  #certain: number[] = []

  constructor(plan: AnswerPlan, choice: number, sink: AnswerSink) {
    this.#plan = plan
    this.scores = choice === 0 ? plan.scores : undefined
    this.#out = new AnswerOutput(choice, sink, plan.text.toolFormat, plan.call.tools)
    this.#seed = seedOfChoice(plan.sampling.seed, choice)
    const { presencePenalty, frequencyPenalty, repetitionPenalty = 1 } = plan.sampling
    const counting = presencePenalty !== 0 || frequencyPenalty !== 0
    this.#log = new TokenLog(plan.prompt, counting, repetitionPenalty === 1 ? undefined : plan.vocabSize)
    this.#stops = new Set([...(plan.call.ignoreEnds ? [] : plan.text.ends), ...(plan.call.stopTokens ?? [])])
    this.#markers = new Markers(plan.call, plan.text)
    this.#segments = segmentsOf(plan, this.#markers)
    this.#begin()
    this.begin()
  }

  /** To be called again once the prompt is scored, where it is to be. */
  begin(): void {
    if (!this.#plan.scores?.open) this.#advance()
  }

  /** Tokens of its thoughts, their marks not counted. */
  get thoughtTokens(): number {
    return this.#thought?.tokens ?? 0
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
    const free = this.#mode === 'text' || this.#mode === 'thought'
    return free && counts === undefined && said === undefined && !this.#mustGoOn && !this.#spliced
  }

  settings(): SampleSettings {
    const { sampling, call } = this.#plan
    const { topLogprobs } = call
    const mask = this.#nextMask()
    return {
      temperature: sampling.temperature,
      topP: sampling.topP,
      ...(sampling.topK && { topK: sampling.topK }),
      ...(sampling.minP && { minP: sampling.minP }),
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
    else if (this.#mode === 'thought' && !this.#endsEarly(token)) this.#think(token)
    else if (this.#mode === 'text' && !this.#stops.has(token)) this.#takeText(sampled)
    else if (this.#mode === 'thought' || this.#mode === 'text' || this.#plan.text.ends.has(token))
      this.#end('stop', token)
    else this.#takeGuided(sampled)
    if (!this.finished) this.#advance()
  }

  settle(): void {
    this.#spliced = false
    this.#log.settle()
  }

  cached(tokens: number): void {
    this.cachedTokens = Math.min(tokens, this.promptLength)
  }

  fail(error: unknown): void {
    this.finished = true
    this.#out.fail(error)
  }

  /** Begins the next segment. */
  #begin(): void {
    const segment = this.#segments.shift()!
    const { mayOpen, trigger } = this.#markers
    if (segment.kind === 'literal') {
      this.#write(this.#plan.text.tokenizer.encodeMarker(segment.text))
      this.#begin()
    } else if (segment.kind === 'thought') this.#beginThought(segment.budget)
    else if (segment.kind === 'call') this.#beginCall('')
    else if (segment.kind === 'document') {
      this.#guide('document', segment.grammar)
      this.#choosing = mayOpen && trigger !== '' && this.#markers.shortest <= this.remaining
    } else {
      this.#mode = 'text'
      this.#fresh = true
      this.#textFrom = this.generated
      this.#out.beginText(this.#needles(!this.#mustGoOn), this.#beginnings(), this.#thought !== undefined)
    }
  }

  /** What free text may begin with that is none. */
  #beginnings(): string[] {
    const { toolFormat, thoughtMarks } = this.#plan.text
    const call = this.#markers.mayOpen && toolFormat.bare ? [toolFormat.bare] : []
    // One thought an answer: after it the mark would be text.
    return this.#mayThink ? [...call, thoughtMarks!.open.trimEnd()] : call
  }

  get #mayThink(): boolean {
    const { text, call } = this.#plan
    return text.thoughtMarks !== undefined && call.prompt === undefined && this.#thought === undefined
  }

  /** Tokens in the model's place. */
  #write(tokens: readonly number[]): void {
    this.#spliced = true
    this.#log.append(tokens)
  }

  /** `lead`: what of the mark is still to come. */
  #beginThought(budget: number, lead = ''): void {
    const { thoughtMarks, tokenizer } = this.#plan.text
    this.#mode = 'thought'
    this.#thought = new Thought(thoughtMarks!, tokenizer, budget, lead)
    if (this.#thought.spent) this.#closeThought()
  }

  /** An end token in a thought ends the answer, unless something must be said. */
  #endsEarly(token: number): boolean {
    if (!this.#stops.has(token)) return false
    return this.#segments[0]?.kind === 'text'
  }

  #think(token: number): void {
    const thought = this.#thought!
    if (this.#plan.text.ends.has(token)) {
      this.#closeThought()
      return
    }
    this.#log.append([token])
    const { text, closed, rest } = thought.push(token)
    this.#out.thought(text)
    if (closed) this.#afterThought(rest)
    else if (thought.spent) this.#closeThought()
  }

  /** Ends a thought in the model's place. */
  #closeThought(): void {
    this.#out.thought(this.#thought!.end())
    this.#write(this.#plan.text.endOfThought)
    this.#begin()
  }

  #afterThought(rest: string): void {
    if (this.#segments[0]!.kind === 'text') {
      this.#begin()
      if (rest !== '') this.#shown(this.#out.content(new TextEncoder().encode(rest)))
      return
    }
    this.#cut(rest)
    this.#write(this.#plan.text.tokenizer.encodeMarker(this.#plan.text.thoughtMarks!.gap))
    this.#begin()
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
    const { closing, next, separator, shortest, shortestNext } = this.#markers
    const isList = separator.length > 0
    const mayGoOn = this.#plan.call.parallelToolCalls && (isList || next.length > 0) && this.#out.calls < MOST_CALLS
    if (!mayGoOn || closing.length + (isList ? shortestNext : shortest) > this.remaining) {
      this.#end('tool_calls')
      return
    }
    if (!isList) this.#log.append(closing)
    this.#mode = 'between'
  }

  #takeText(sampled: Sampled): void {
    const { tokenizer, thoughtMarks } = this.#plan.text
    const short = this.#mustGoOn
    this.#log.append([sampled.token])
    if (this.#fresh && this.#mayThink && sampled.token === this.#thoughtToken) {
      this.#segments.unshift({ kind: 'text' })
      const lead =
        tokenizer.bytes(sampled.token).length > 0 ? '' : thoughtMarks!.open.slice(tokenizer.name(sampled.token).length)
      this.#beginThought(this.#budget, lead)
      return
    }
    if (sampled.token === this.#markers.control) {
      this.#out.endText()
      this.#beginCall(tokenizer.name(sampled.token))
      return
    }
    const piece = this.#out.content(tokenizer.bytes(sampled.token), logprobOf(sampled, tokenizer))
    if (short && !this.#mustGoOn) this.#out.watchFor(this.#needles(true))
    this.#shown(piece)
  }

  /** The token that a thought's mark begins with, where it is a token of its own. */
  get #thoughtToken(): number | undefined {
    const [first, ...rest] = this.#plan.text.tokenizer.encodeMarker(this.#plan.text.thoughtMarks!.open.trimEnd())
    return rest.length === 0 || this.#plan.text.tokenizer.special.has(first!) ? first : undefined
  }

  get #budget(): number {
    const { call, text, shortest } = this.#plan
    return thoughtBudget(call, this.remaining, text.endOfThought.length + shortest)
  }

  /** Free text has been shown; it may have come to its end. */
  #shown(piece: TextPiece): void {
    const { mayOpen, trigger } = this.#markers
    const { toolFormat, thoughtMarks } = this.#plan.text
    this.#fresh &&= piece.text.trim() === ''
    if (piece.found === undefined) return
    if (this.#mayThink && piece.found === thoughtMarks!.open.trimEnd()) {
      this.#segments.unshift({ kind: 'text' })
      this.#beginThought(this.#budget)
      this.#out.thought(this.#thought!.say(piece.rest))
    } else if (mayOpen && piece.found === toolFormat.bare) {
      // The grammar writes the call from its beginning, in its own spacing.
      this.#log.drop(this.generated - this.#textFrom)
      this.#beginCall('')
    } else if (mayOpen && piece.found === trigger) {
      this.#cut(piece.rest)
      this.#beginCall(piece.found)
    } else this.#end('stop', undefined, piece.found)
  }

  /** A marker may end within a token: that token is replaced by what of it belongs to the marker. */
  #cut(rest: string): void {
    if (rest === '') return
    const { tokenizer } = this.#plan.text
    const last = new TextDecoder().decode(tokenizer.bytes(this.tokens.at(-1)!))
    this.#log.drop(1)
    this.#write(tokenizer.encodeContinuation(last.slice(0, Math.max(0, last.length - rest.length))))
  }

  #takeGuided(sampled: Sampled): void {
    const { tokenizer } = this.#plan.text
    this.#choosing = false
    this.#certain.shift()
    if (!this.#guided!.accept(sampled.token)) throw new V1Error(500, 'The model gave a token that the grammar forbids.')
    this.#log.append([sampled.token])
    const bytes = this.#mode === 'call' ? this.#plan.text.bytesInCall(sampled.token) : tokenizer.bytes(sampled.token)
    this.#show(bytes, sampled)
  }

  #show(bytes: Uint8Array, sampled?: Sampled): void {
    if (this.#mode === 'call') this.#out.callBytes(bytes)
    else this.#out.content(bytes, sampled && logprobOf(sampled, this.#plan.text.tokenizer))
  }

  /** After a call: the model chose to end, or to begin the next one. */
  #decide(token: number): void {
    const { next, separator } = this.#markers
    if (token === separator[0]) this.#open(separator)
    else if (token === next[0]) this.#open(next)
    else this.#end('tool_calls')
  }

  /** Begins a call whose whole marker is certain now. */
  #open(marker: readonly number[]): void {
    this.#choosing = false
    this.#log.append(marker)
    this.#beginCall(this.#plan.text.toolFormat.open)
  }

  #nextMask(): Uint32Array | undefined {
    const free = this.#mode === 'text' || this.#mode === 'thought'
    if (free && !this.#mustGoOn) return undefined
    this.#mask ??= new Mask(this.#plan.vocabSize)
    if (free) return this.#mask.allBut([...this.#plan.text.ends, ...this.#stops])
    if (this.#mode === 'between') return this.#mask.only(this.#waysOn())
    if (this.#certain.length > 0) return this.#mask.only([this.#certain[0]!])
    return this.#mask.allowed(
      this.#guided!,
      this.remaining,
      this.#choosing ? this.#markers.opening('').slice(0, 1) : [],
    )
  }

  /** The tokens by which a model says after a call whether another one follows. */
  #waysOn(): number[] {
    const { next, separator, closing } = this.#markers
    return separator.length > 0 ? [separator[0]!, closing[0]!] : [...this.#plan.text.ends, next[0]!]
  }

  /** `last`: the token that said so, which is no part of the text; `stop`: the text that did. */
  #end(reason: 'stop' | 'length' | 'tool_calls', last?: number, stop?: string): void {
    this.finished = true
    if (this.#mode === 'thought') this.#out.thought(this.#thought!.end())
    const called = this.#out.calls > 0 && reason === 'stop' ? 'tool_calls' : reason
    const tokens = [...this.tokens.slice(this.promptLength), ...(last === undefined ? [] : [last])]
    this.#out.finish(called, reason !== 'tool_calls', {
      ...(stop !== undefined && { stop }),
      ...(this.#plan.call.returnTokens && { tokens }),
    })
  }
}
