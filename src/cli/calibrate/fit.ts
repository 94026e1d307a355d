/** How sure a model was, and whether it was right: measured, and mended by one number. */
import { logsOf, tempered } from '../../generate/index.js'

/** An answered question of which the right answer is known. */
export interface Judged {
  readonly probabilities: readonly number[]
  /** The option that is right, by its place. */
  readonly right: number
}

export interface Bin {
  readonly from: number
  readonly to: number
  readonly count: number
  /** Means over its answers: how likely the likeliest option was said to be, and how often it was right. */
  readonly confidence: number
  readonly right: number
}

export interface Reliability {
  /** The share of answers whose likeliest option is right. */
  readonly accuracy: number
  /** Expected calibration error: how far `confidence` and `right` lie apart in each bin, by the answers in it. */
  readonly ece: number
  /** The mean of the negative logarithms of the right options' probabilities. */
  readonly logLoss: number
  readonly bins: readonly Bin[]
}

const BINS = 10
/** Temperatures beyond these would say that the examples determine none. */
export const COOLEST = 0.05
export const HOTTEST = 20
const HALVINGS = 60

export function reliabilityOf(answers: readonly Judged[]): Reliability {
  const shares = answers.map(({ probabilities, right }) => {
    const share = Math.max(...probabilities)
    return { share, right: probabilities.indexOf(share) === right, loss: -logsOf(probabilities)[right]! }
  })
  return reliabilityOfShares(shares)
}

/** Of answers that were said to be so likely. */
export function reliabilityOfShares(
  shares: readonly { readonly share: number; readonly right: boolean; readonly loss: number }[],
): Reliability {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const bins = Array.from({ length: BINS }, (_, i): Bin => {
    const own = shares.filter(({ share }) => Math.min(BINS - 1, Math.floor(share * BINS)) === i)
    const [least, most] = [i / BINS, (i + 1) / BINS]
    if (own.length === 0) return { from: least, to: most, count: 0, confidence: 0, right: 0 }
    const right = mean(own.map((one) => Number(one.right)))
    return { from: least, to: most, count: own.length, confidence: mean(own.map(({ share }) => share)), right }
  })
  return {
    accuracy: mean(shares.map(({ right }) => Number(right))),
    ece: bins.reduce((sum, bin) => sum + (bin.count / shares.length) * Math.abs(bin.confidence - bin.right), 0),
    logLoss: mean(shares.map(({ loss }) => loss)),
    bins,
  }
}

/**
 * The temperature at which the answers' log loss is least. In its inverse the loss is convex, so that its slope has one
 * root, which is halved in on; `'none'` and `'more'` where that lies beyond what a temperature may be: the answers say
 * nothing about what is right, or are all right.
 */
export function fitTemperature(answers: readonly Judged[]): number | 'none' | 'more' {
  let [low, high] = [1 / HOTTEST, 1 / COOLEST]
  if (slopeAt(answers, low) >= 0) return 'none'
  if (slopeAt(answers, high) <= 0) return 'more'
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (slopeAt(answers, middle) < 0) low = middle
    else high = middle
  }
  return 2 / (low + high)
}

/** Of the log loss in the inverse temperature: what is expected of the scores, less the score of the right option. */
function slopeAt(answers: readonly Judged[], inverse: number): number {
  let slope = 0
  for (const { probabilities, right } of answers) {
    const scores = logsOf(probabilities)
    const expected = tempered(probabilities, 1 / inverse)
    slope += expected.reduce((sum, share, i) => sum + share * scores[i]!, 0) - scores[right]!
  }
  return slope
}

export const temperedAnswers = (answers: readonly Judged[], temperature: number): Judged[] =>
  answers.map(({ probabilities, right }) => ({ probabilities: tempered(probabilities, temperature), right }))
