import type { OutputGrammar } from '../../engine.js'
import type { Sampled } from '../token-model.js'
import { GuidedStretch } from './guided-stretch.js'
import type { Mask } from './mask.js'
import { logprobOf } from './sampling.js'
import type { Writing } from './stretch.js'

/** The document that was asked for, unless the model opens a tool call in its place. */
export class DocumentStretch extends GuidedStretch {
  /** The next token decides between the document and a tool call. */
  #choosing = false
  /** Tokens that are certain but fed one by one, because their probabilities were asked for. */
  #certain: number[] = []

  constructor(answer: Writing, grammar: OutputGrammar) {
    super(answer, grammar)
  }

  override begin(): void {
    const { markers, remaining } = this.answer
    this.#choosing = markers.mayOpen && markers.opening('').length > 0 && markers.shortest <= remaining
  }

  override mask(mask: Mask): Uint32Array {
    if (this.#certain.length > 0) return mask.only([this.#certain[0]!])
    const call = this.#choosing ? this.answer.markers.opening('').slice(0, 1) : []
    return mask.allowed(this.guided, this.answer.remaining, call)
  }

  override advance(): boolean {
    return !this.#choosing && this.#certain.length === 0 && super.advance()
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
    this.#certain.shift()
    super.take(sampled)
  }

  protected override force(): boolean {
    const { plan, remaining } = this.answer
    if (plan.call.topLogprobs === undefined) return super.force()
    const run = this.guided.plan(remaining, false)
    if (run !== undefined) this.#certain = [...run.tokens]
    return run !== undefined
  }

  protected override completed(): void {
    this.answer.end('stop')
  }

  protected override bytesOf(token: number): Uint8Array {
    return this.answer.plan.text.tokenizer.bytes(token)
  }

  protected override show(bytes: Uint8Array, sampled?: Sampled): void {
    this.answer.out.content(bytes, sampled && logprobOf(sampled, this.answer.plan.text.tokenizer))
  }
}
