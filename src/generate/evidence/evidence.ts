/** The evidence of a document's values, found while it is written. */
import type { Evidence, Sampled, SampleSettings } from '../../contract/index.js'
import type { Guided } from '../answer/guided.js'
import type { AnswerPlan } from '../answer/plan.js'
import type { Grounds } from '../sources/grounds.js'
import { type DocumentLeaf, Leaves } from '../sources/leaves.js'
import { SourceFinder } from '../sources/source-finder.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { type Draw, type DrawnSpan, TokensBefore, tokenShares } from './draw.js'
import { type Likelihood, likelihoodOf, type WrittenTokens, wasAdmitted } from './likelihood.js'
import { type Named, namedOf } from './named.js'
import { runnerUpOf } from './others.js'
import { OthersRead } from './others-read.js'

export class DocumentEvidence {
  readonly #leaves = new Leaves()
  readonly #tokenizer: Tokenizer
  readonly #grounds: Grounds
  readonly #sources: SourceFinder
  readonly #written: WrittenTokens
  readonly #others: OthersRead
  /** Those that may still matter. */
  #draws: Draw[] = []
  #named: Named = { tokens: [], all: false }

  constructor({ text, read, vocabSize }: AnswerPlan, grounds: Grounds) {
    const { tokenizer } = text
    this.#tokenizer = tokenizer
    this.#grounds = grounds
    this.#sources = new SourceFinder(grounds)
    this.#written = { byte: (at) => this.#leaves.byte(at), bytesOf: (token) => tokenizer.bytes(token) }
    this.#others = new OthersRead(read, tokenizer, vocabSize)
  }

  /** Settings of the draw of the next token. */
  settings(mask: Uint32Array): Partial<SampleSettings> {
    const { inString, beforeValue } = this.#leaves
    this.#named = namedOf(mask, this.#tokenizer, inString ? 'string' : beforeValue ? 'value' : 'other')
    const { tokens } = this.#named
    return { admitted: true, topLogprobs: 0, ...(tokens.length > 0 && { among: tokens }) }
  }

  /** A token was drawn behind these, where the grammar stood so. */
  drawn(sampled: Sampled, guided: Guided, tokens: readonly number[]): void {
    if (sampled.admitted === undefined) return
    const { all } = this.#named
    this.#draws.push({
      ...{ at: this.#leaves.length, before: new TokensBefore(tokens, guided.accepted), grammar: guided.fork() },
      token: sampled.token,
      ...{ shares: tokenShares(sampled, this.#named), all, reaching: all || this.#leaves.inString },
    })
  }

  /** The document goes on; tells of what has closed with it. `budget`: tokens that may still come. */
  push(bytes: Uint8Array, budget: number): (Evidence | Promise<Evidence>)[] {
    return this.#leaves.push(bytes).map((leaf) => {
      const { stretches, report } = this.#read(leaf)
      if (!stretches.some((stretch) => stretch && this.#others.isOpen(stretch))) return report(stretches.map(sureOf))
      return this.#closed(stretches, budget).then(report)
    })
  }

  /** The document is whole; nothing more is asked of the model. */
  end(): Evidence[] {
    return this.#leaves.end().map((leaf) => {
      const { stretches, report } = this.#read(leaf)
      return report(stretches.map(sureOf))
    })
  }

  #closed(stretches: readonly (Stretch | undefined)[], budget: number): Promise<(number | undefined)[]> {
    return Promise.all(
      stretches.map((stretch) => stretch && this.#others.closed(stretch, stretch.span, stretch.written, budget)),
    )
  }

  #read(leaf: DocumentLeaf): {
    stretches: (Stretch | undefined)[]
    report: (sure: readonly (number | undefined)[]) => Evidence
  } {
    const { pointer, start, end, value, key } = leaf
    const own = this.#stretch({ start, end, closed: typeof value !== 'number' }, this.#written)
    const instead = value === null || !own.chosen ? undefined : this.#nullInstead(start)
    // What is admitted and next to impossible is told, too: whoever compares it finds a number.
    const least = instead?.admitted ? 0 : undefined
    const named =
      key && this.#grounds.mayBeAbsent(pointer)
        ? this.#stretch({ start: key.from, end: key.to, closed: true }, this.#written)
        : undefined
    const runnerUp = runnerUpOf(this.#draws, own.span, this.#written)
    const other = runnerUp && this.#instead(start, runnerUp.text, typeof runnerUp.value !== 'number')
    const source = this.#sources.find(value, typeof value === 'string' && this.#grounds.isQuote(pointer))
    this.#draws = this.#draws.filter(({ at }) => at >= start)
    const report = ([confidence = 1, nothing, present, probability]: readonly (number | undefined)[]): Evidence => {
      const isNull = value === null && own.chosen ? confidence : nothing || least
      const pNull = present === undefined ? isNull : 1 - present * (1 - (isNull ?? 0))
      return {
        ...{ pointer, confidence },
        ...(probability !== undefined && { runnerUp: { value: runnerUp!.value, probability } }),
        ...(pNull !== undefined && { pNull }),
        ...(source && { source }),
      }
    }
    return { stretches: [own, instead, named?.chosen ? named : undefined, other], report }
  }

  #stretch(span: DrawnSpan, written: WrittenTokens): Stretch {
    return { span, written, ...likelihoodOf(this.#draws, span, written) }
  }

  /** Another text in place of the value that stands there. */
  #instead(start: number, text: Uint8Array, closed: boolean): Stretch {
    const { byte, bytesOf } = this.#written
    const written = { bytesOf, byte: (at: number) => (at < start ? byte(at) : text[at - start]!) }
    return this.#stretch({ start, end: start + text.length, closed }, written)
  }

  /** Null in place of another value; undefined where nothing of it was admitted. */
  #nullInstead(start: number): (Stretch & { readonly admitted: boolean }) | undefined {
    const found = this.#instead(start, NULL, true)
    if (!found.strayed) return undefined
    const admitted = wasAdmitted(this.#draws, found.span, found.written)
    return admitted || found.sure > 0 || found.open.length > 0 ? { ...found, admitted } : undefined
  }
}

/** What stands in a place of a document, or might have stood there, with how likely it was. */
interface Stretch extends Likelihood {
  readonly span: DrawnSpan
  readonly written: WrittenTokens
}

const sureOf = (stretch: Stretch | undefined): number | undefined => stretch?.sure

const NULL = new TextEncoder().encode('null')
