/** How a model would have gone on, had it begun otherwise: each beginning is read, one after the other. */

import type { Sampled, SampleSettings } from '../../contract/index.js'
import { Guided } from '../answer/guided.js'
import { GREEDY } from '../answer/sampling.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { type DrawnSpan, type Place, TokensBefore, tokenShares } from './draw.js'
import { type Beginning, continues, isWholeSpan, type Likelihood, type WrittenTokens, weighed } from './likelihood.js'
import { namedOf } from './named.js'

/** Reads tokens, and tells of the one that would come next. */
export type Read = (tokens: readonly number[], settings: SampleSettings) => Promise<Sampled>

/** What all beginnings together may leave open; that of null and of absence add up, and are still within 1e-4. */
const ENOUGH = 4e-5
/** Of one stretch: a model for which so many ways to write a text are alike is asked no more. */
const MOST_READ = 256

export class OthersRead {
  readonly #read: Read
  readonly #tokenizer: Tokenizer
  readonly #vocabSize: number

  constructor(read: Read, tokenizer: Tokenizer, vocabSize: number) {
    this.#read = read
    this.#tokenizer = tokenizer
    this.#vocabSize = vocabSize
  }

  isOpen({ open }: Likelihood): boolean {
    return likelyOf(open) > ENOUGH
  }

  /** `budget`: tokens that may still come. */
  async closed(likelihood: Likelihood, span: DrawnSpan, written: WrittenTokens, budget: number): Promise<number> {
    let { sure } = likelihood
    const open = [...likelihood.open]
    for (let reads = 0; likelyOf(open) > ENOUGH && reads < MOST_READ; ) {
      const wanted = takeNeeded(open, MOST_READ - reads)
      reads += wanted.length
      const found = await Promise.all(wanted.map((beginning) => this.#after(beginning, span, written, budget)))
      for (const [i, { likely }] of wanted.entries()) {
        const place = found[i]!
        if (typeof place === 'number') {
          sure += likely * place
          continue
        }
        const { same, unsure } = weighed(place, span, written)
        sure += likely * same
        for (const [token, share] of unsure) open.push({ place, token, likely: likely * share })
      }
    }
    return Math.min(1, sure)
  }

  /** The place that a beginning leads to, or whether it is the stretch where that is certain already. */
  async #after(
    { place, token }: Beginning,
    span: DrawnSpan,
    written: WrittenTokens,
    budget: number,
  ): Promise<Place | number> {
    const tokens = place.before.whole()
    const guided = new Guided(place.grammar.clone(), this.#tokenizer, place.before.last)
    if (!guided.accept(token)) return 0
    tokens.push(token)
    const others = tokens.length - place.before.own - 1
    let at = place.at + written.bytesOf(token).length
    for (let run = guided.plan(budget, true); run; run = guided.plan(budget, true)) {
      if (!continues(run.bytes, at, span, written)) return 0
      if (isWholeSpan(run.bytes, at, span)) return 1
      guided.commit(run)
      tokens.splice(tokens.length - run.replace, run.replace, ...run.tokens)
      at += run.bytes.length
    }
    if (guided.done) return at === span.end ? 1 : 0
    const mask = new Uint32Array(Math.ceil(this.#vocabSize / 32))
    // Under the limit of tokens nothing ends what begins so.
    if (!guided.mask(mask, budget)) return 0
    const named = namedOf(mask, this.#tokenizer, 'string')
    const settings = { ...GREEDY, mask, admitted: true, among: named.tokens }
    const shares = tokenShares(await this.#read(tokens, settings), named)
    return {
      ...{ at, shares, grammar: guided.fork(), before: new TokensBefore(tokens, tokens.length - others) },
      ...{ all: named.all, reaching: true },
    }
  }
}

/** Those that have to be read whatever comes of the others, taken out of `open`: they go side by side. */
function takeNeeded(open: Beginning[], most: number): Beginning[] {
  open.sort((a, b) => b.likely - a.likely)
  let count = 0
  for (let rest = likelyOf(open); rest > ENOUGH && count < most; count++) rest -= open[count]!.likely
  return open.splice(0, count)
}

const likelyOf = (open: readonly Beginning[]): number => open.reduce((sum, { likely }) => sum + likely, 0)
