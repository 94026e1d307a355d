/** What the confidence of values is worth: whether the wrong ones are those of which a model is less sure. */
import { type Reliability, reliabilityOfShares } from './fit.js'
import { printedReliability } from './picture.js'

/** A value of which the right one is known. */
export interface SureValue {
  readonly confidence: number
  readonly right: boolean
}

export interface Sureness {
  readonly reliability: Reliability
  /** How often a right value has more confidence than a wrong one, of all pairs; 0.5 is chance. */
  readonly auroc: number
  /** Of the wrong ones, the share among the least certain fifth. */
  readonly caught: number
  /** The most that a fifth can catch, where more than a fifth is wrong. */
  readonly catchable: number
  /** Below it that fifth lies. */
  readonly threshold: number
}

/** What a person looks at. */
export const FIFTH = 0.2

export function surenessOf(values: readonly SureValue[]): Sureness {
  const shares = values.map(({ confidence: share, right }) => ({ share, right, loss: lossOf(share, right) }))
  const reliability = reliabilityOfShares(shares)
  const catchable = Math.min(1, FIFTH / (1 - reliability.accuracy))
  return { reliability, auroc: aurocOf(values), catchable, ...caughtBy(values, FIFTH) }
}

/** For the terminal. */
export function spelledSureness({ reliability, auroc, caught, catchable, threshold }: Sureness): string {
  const percent = (share: number) => (Number.isNaN(share) ? 'nothing' : `${(100 * share).toFixed(1)} %`)
  return (
    printedReliability({ title: 'Values', reliability }) +
    `AUROC of confidence, right against wrong: ${Number.isNaN(auroc) ? 'none, because all are right or all are wrong' : auroc.toFixed(3)}\n` +
    `Reviewing the least certain fifth (confidence up to ${threshold.toFixed(3)}) finds ${percent(caught)} of the wrong values${
      catchable < 1 ? `; no fifth could find more than ${percent(catchable)}` : ''
    }\n`
  )
}

/** No value is impossible, nor certain. */
const LEAST = 1e-9
const lossOf = (share: number, right: boolean): number => -Math.log(Math.max(LEAST, right ? share : 1 - share))

/** Pairs that are alike count half. */
export function aurocOf(values: readonly SureValue[]): number {
  let [wrong, pairs] = [0, 0]
  for (const group of groupsOf(values)) {
    const right = group.filter((one) => one.right).length
    const others = group.length - right
    pairs += right * (wrong + others / 2)
    wrong += others
  }
  const right = values.length - wrong
  return right * wrong === 0 ? Number.NaN : pairs / (right * wrong)
}

/** Among those that are as certain as the last of the share it is a matter of luck which are looked at: their mean is told. */
export function caughtBy(values: readonly SureValue[], share: number): Pick<Sureness, 'caught' | 'threshold'> {
  let left = share * values.length
  let [caught, threshold] = [0, 0]
  for (const group of groupsOf(values)) {
    if (left <= 0) break
    const taken = Math.min(1, left / group.length)
    caught += taken * group.filter(({ right }) => !right).length
    left -= group.length
    threshold = group[0]!.confidence
  }
  const wrong = values.filter(({ right }) => !right).length
  return { caught: wrong === 0 ? Number.NaN : caught / wrong, threshold }
}

/** Of the same confidence, the least first. */
function groupsOf(values: readonly SureValue[]): SureValue[][] {
  const groups: SureValue[][] = []
  for (const value of [...values].sort((a, b) => a.confidence - b.confidence)) {
    const last = groups.at(-1)
    const alike = last?.[0]?.confidence === value.confidence
    if (last && alike) last.push(value)
    else groups.push([value])
  }
  return groups
}
