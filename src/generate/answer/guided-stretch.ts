import { type OutputGrammar, type Sampled, V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { foresee } from '../drafts/foresee.js'
import { OpenValue } from '../drafts/open-value.js'
import { type DraftRoom, GuidedPath, type OpenPath, type Path } from '../drafts/path.js'
import { Guided, type Mask } from './guided.js'
import type { Stretch, Writing } from './stretch.js'

/** What a grammar guides: it ends where the grammar does. */
export abstract class GuidedStretch implements Stretch {
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

  mask(mask: Mask): Uint32Array | Slices<Uint32Array> {
    return mask.allowed(this.guided, this.answer.remaining)
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
