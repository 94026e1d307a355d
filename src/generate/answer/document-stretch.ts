import type { Evidence, OutputGrammar, Sampled, SampleSettings } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import type { DraftRoom, OpenPath, Path } from '../drafts/path.js'
import { DocumentEvidence } from '../evidence/evidence.js'
import type { Mask } from './guided.js'
import { GuidedStretch } from './guided-stretch.js'
import { logprobOf } from './sampling.js'
import type { Writing } from './stretch.js'

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

  override mask(mask: Mask): Uint32Array | Slices<Uint32Array> {
    if (this.#certain.length > 0) return mask.only([this.#certain[0]!])
    const call = this.#choosing ? this.answer.markers.opening('').slice(0, 1) : []
    return mask.allowed(this.guided, this.answer.remaining, call)
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
    this.#tell(this.#evidence?.push(bytes, this.answer.remaining))
  }

  protected override ended(sampled?: Sampled): void {
    const { log, out } = this.answer
    if (sampled) this.#evidence?.drawn(sampled, this.guided, log.tokens)
    for (const evidence of this.#evidence?.end() ?? []) out.evidence(evidence)
  }

  /** Where the model has to be asked once more, nothing is drawn until it has answered. */
  #tell(found: readonly (Evidence | Promise<Evidence>)[] = []): void {
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
