import { type Evidence, type OutputGrammar, type Sampled, type SampleSettings, V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { foresee } from '../drafts/foresee.js'
import { OpenValue } from '../drafts/open-value.js'
import { type DraftRoom, GuidedPath, type OpenPath, type Path } from '../drafts/path.js'
import { DocumentEvidence } from '../evidence/evidence.js'
import { Guided, maskOnly } from './guided.js'
import { logprobOf } from './sampling.js'
import type { Stretch, Writing } from './stretch.js'

/** What a grammar guides: it ends where the grammar does. */
abstract class GuidedStretch implements Stretch {
  protected readonly answer: Writing
  protected readonly guided: Guided
  /** Read only once something is to be guessed from it. */
  #value: OpenValue | undefined
  /** What it has not read yet. */
  readonly #unread: Uint8Array[] = []

  constructor(answer: Writing, grammar: OutputGrammar) {
    const { vocabulary, tokenizer } = answer.plan.text
    this.answer = answer
    this.guided = new Guided(grammar.start(vocabulary), tokenizer)
  }

  /** The model has ended it where the grammar might have gone on. */
  protected ended(_sampled?: Sampled): void {}

  /** The grammar is at its end. */
  protected abstract completed(): void
  protected abstract bytesOf(token: number): Uint8Array
  /** Shows bytes, of the token that was sampled or of none. */
  protected abstract show(bytes: Uint8Array, sampled?: Sampled): void

  mask(mask: Uint32Array): Uint32Array | Slices<Uint32Array> {
    return this.guided.allowed(mask, this.answer.remaining)
  }

  advance(): boolean {
    if (this.guided.done) this.completed()
    else if (this.answer.remaining <= 0) this.answer.end(this.guided.shortest === 0 ? 'stop' : 'length')
    else return this.force()
    return true
  }

  take(sampled: Sampled): void {
    const { token } = sampled
    if (this.answer.plan.text.ends.has(token)) {
      this.ended(sampled)
      this.answer.end('stop', token)
      return
    }
    if (!this.guided.accept(token)) throw new V1Error(500, 'The model gave a token that the grammar forbids.')
    this.answer.log.append([token])
    this.#show(this.bytesOf(token), sampled)
  }

  foresee(room: DraftRoom): Path | undefined {
    const { plan } = this.answer
    if (!plan.source) return undefined
    this.#value ??= new OpenValue()
    for (const bytes of this.#unread.splice(0)) this.#value.push(bytes)
    return foresee(
      { ...this.#place(), value: this.#value, source: plan.source(), tokenizer: plan.text.tokenizer },
      room,
    )
  }

  openPath(room: DraftRoom): OpenPath | undefined {
    return GuidedPath.at(this.#place(), room)
  }

  #place() {
    const { plan, remaining } = this.answer
    return {
      guided: this.guided,
      value: undefined,
      bytesOf: (token: number) => this.bytesOf(token),
      remaining,
      maskLength: Math.ceil(plan.vocabSize / 32),
      made: this.answer.made,
    }
  }

  /** Writes what is certain, if anything is. */
  protected force(): boolean {
    const { log, out, remaining } = this.answer
    const run = this.guided.plan(remaining, true)
    if (run === undefined) return false
    this.guided.commit(run)
    log.drop(run.replace)
    log.append(run.tokens)
    out.countForced(Math.max(0, run.tokens.length - run.replace))
    this.#show(run.bytes)
    return true
  }

  #show(bytes: Uint8Array, sampled?: Sampled): void {
    if (this.answer.plan.source) this.#unread.push(bytes)
    this.show(bytes, sampled)
  }
}

/** The document that was asked for, unless the model opens a tool call in its place. */
export class DocumentStretch extends GuidedStretch {
  /** The next token decides between the document and a tool call. */
  #choosing: boolean
  /** Tokens that are certain but fed one by one, because their probabilities were asked for. */
  #certain: number[] = []
  waits = false
  /** Where what the values rest on is to be told. */
  readonly #evidence: DocumentEvidence | undefined

  constructor(answer: Writing, grammar: OutputGrammar) {
    super(answer, grammar)
    this.#evidence = answer.plan.grounds && new DocumentEvidence(answer.plan, answer.plan.grounds)
    const { markers, remaining } = answer
    this.#choosing = markers.mayOpen && markers.opening('').length > 0 && markers.shortest <= remaining
  }

  override mask(mask: Uint32Array): Uint32Array | Slices<Uint32Array> {
    if (this.#certain.length > 0) return maskOnly(mask, [this.#certain[0]!])
    const call = this.#choosing ? this.answer.markers.opening('').slice(0, 1) : []
    return this.guided.allowed(mask, this.answer.remaining, call)
  }

  settings(mask: Uint32Array): Partial<SampleSettings> {
    return this.#evidence && this.#certain.length === 0 ? this.#evidence.settings(mask) : {}
  }

  override advance(): boolean {
    return !this.waits && !this.#choosing && this.#certain.length === 0 && super.advance()
  }

  override take(sampled: Sampled): void {
    const { log, markers, plan } = this.answer
    const opening = this.#choosing ? markers.opening('') : []
    if (sampled.token === opening[0]) {
      log.append(opening)
      this.answer.insert({ kind: 'call', written: plan.text.toolFormat.open })
      return
    }
    this.#choosing = false
    if (this.#certain.shift() === undefined) this.#evidence?.drawn(sampled, this.guided, log.tokens)
    super.take(sampled)
  }

  override foresee(room: DraftRoom): Path | undefined {
    return this.#isOpen ? super.foresee(room) : undefined
  }

  override openPath(room: DraftRoom): OpenPath | undefined {
    return this.#isOpen ? super.openPath(room) : undefined
  }

  /** No call may be opened, and no token is looked at closer than guesses are. */
  get #isOpen(): boolean {
    const { call, grounds } = this.answer.plan
    return !this.#choosing && call.topLogprobs === undefined && !grounds
  }

  protected override force(): boolean {
    const { plan, remaining } = this.answer
    if (plan.call.topLogprobs === undefined) return super.force()
    const run = this.guided.plan(remaining, false)
    if (run !== undefined) this.#certain = [...run.tokens]
    return run !== undefined
  }

  protected override completed(): void {
    this.ended()
    this.answer.end('stop')
  }

  protected override bytesOf(token: number): Uint8Array {
    return this.answer.plan.text.tokenizer.bytes(token)
  }

  protected override show(bytes: Uint8Array, sampled?: Sampled): void {
    const { call, text } = this.answer.plan
    const scored = call.topLogprobs === undefined ? undefined : sampled
    this.answer.out.content(bytes, scored && logprobOf(scored, text.tokenizer, call))
    if (this.#evidence) this.#tell(this.#evidence.push(bytes, this.answer.remaining))
  }

  protected override ended(sampled?: Sampled): void {
    const { log, out } = this.answer
    if (sampled) this.#evidence?.drawn(sampled, this.guided, log.tokens)
    for (const evidence of this.#evidence?.end() ?? []) out.evidence(evidence)
  }

  /** Where the model has to be asked once more, nothing is drawn until it has answered. */
  #tell(found: readonly (Evidence | Promise<Evidence>)[]): void {
    const { out } = this.answer
    const first = found.findIndex((evidence) => evidence instanceof Promise)
    for (const evidence of first < 0 ? found : found.slice(0, first)) out.evidence(evidence as Evidence)
    if (first < 0) return
    this.waits = true
    const settle = (rest: readonly Evidence[]) => {
      this.waits = false
      for (const evidence of rest) out.evidence(evidence)
      this.answer.resume()
    }
    Promise.all(found.slice(first)).then(settle, (error) => this.answer.fail(error))
  }
}

/** A model that cannot stop calling is stopped. */
const MOST_CALLS = 32

/** A tool call, behind its marker. */
export class CallStretch extends GuidedStretch {
  readonly #written: string

  /** `written`: what of its marker is there already. */
  constructor(answer: Writing, written = '') {
    super(answer, answer.plan.text.toolFormat.grammar(answer.plan.call))
    this.#written = written
  }

  begin(): void {
    const { log, markers, out } = this.answer
    log.append(markers.opening(this.#written))
    if (this.guided.shortest > this.answer.remaining) this.answer.end('length')
    else out.beginCall()
  }

  protected override completed(): void {
    const { markers, out, plan, log, remaining } = this.answer
    // A model that says the same again would go on with it.
    const isNew = out.endCall()
    const { closing, next, separator, shortest, shortestNext } = markers
    const isList = separator.length > 0
    const mayGoOn = isNew && plan.call.parallelToolCalls && (isList || next.length > 0) && out.calls < MOST_CALLS
    if (!mayGoOn || closing.length + (isList ? shortestNext : shortest) > remaining) {
      this.answer.end('tool_calls')
      return
    }
    if (!isList) log.append(closing)
    this.answer.insert({ kind: 'between' })
  }

  protected override bytesOf(token: number): Uint8Array {
    return this.answer.plan.text.bytesInCall(token)
  }

  protected override show(bytes: Uint8Array): void {
    this.answer.out.callBytes(bytes)
  }
}

/** After a call: the model chooses between the end and the next one. */
export class BetweenStretch implements Stretch {
  readonly #answer: Writing

  constructor(answer: Writing) {
    this.#answer = answer
  }

  mask(mask: Uint32Array): Uint32Array {
    const { next, separator, closing } = this.#answer.markers
    return maskOnly(
      mask,
      separator.length > 0 ? [separator[0]!, closing[0]!] : [...this.#answer.plan.text.ends, next[0]!],
    )
  }

  take({ token }: Sampled): void {
    const { next, separator } = this.#answer.markers
    if (token === separator[0]) this.#open(separator)
    else if (token === next[0]) this.#open(next)
    else this.#answer.end('tool_calls')
  }

  /** Begins a call whose whole marker is certain now. */
  #open(marker: readonly number[]): void {
    this.#answer.log.append(marker)
    this.#answer.insert({ kind: 'call', written: this.#answer.plan.text.toolFormat.open })
  }
}
