/** From a model's numbers for a text to what answers each question, and how likely each answer is. */
import { NOTHINGS, POINTERS, type PointingModel } from '../../contract/index.js'
import { softmax } from '../../platform/index.js'
import type { LaidText } from './layout.js'

/** Tokens of a stretch. */
const LONGEST = 48
/** Starts that are looked at. */
const STARTS = 6

/** Tokens from one to before another. */
export interface PointedStretch {
  readonly from: number
  readonly to: number
  readonly probability: number
}

type Pointer = (typeof POINTERS)[number]
type Head = Pick<PointingModel, 'headSize' | 'vocabulary' | 'logitScales'>

export class Scores {
  readonly #laid: LaidText
  readonly #numbers: Float32Array
  readonly #of: Head
  readonly #scale: number

  constructor(laid: LaidText, numbers: Float32Array, of: Head) {
    this.#laid = laid
    this.#numbers = numbers
    this.#of = of
    this.#scale = of.headSize ** -0.5
  }

  /** How likely a question has no answer, and if it has one, how likely which stretches are it, the first the likeliest. */
  stretches(question: number): { readonly nothing: number; readonly stretches: readonly PointedStretch[] } {
    const { from, to, tokens, marks } = this.#laid
    const mark = marks[question]!
    const scores: number[] = []
    for (let at = from; at < to; at++) {
      const pointed = this.#product('start_q', mark, 'start_k', at)
      scores.push(pointed + this.#of.logitScales[0] * this.#logit(question, tokens[at]!))
    }
    const likely = softmax(scores)
      .map((probability, i) => ({ at: from + i, probability }))
      .sort((one, other) => other.probability - one.probability)
      .slice(0, STARTS)
    const stretches = likely.map(({ at, probability }) => {
      const ends = softmax(
        Array.from(
          { length: Math.min(LONGEST, to - at) },
          (_, i) => this.#product('end_q', mark, 'end_k', at + i) + this.#product('from_q', at, 'end_k', at + i),
        ),
      )
      const last = ends.indexOf(Math.max(...ends))
      return { from: at - from, to: at + last + 1 - from, probability: probability * ends[last]! }
    })
    const nothing = this.#absent(question, 0, scores)
    return { nothing, stretches: stretches.sort((one, other) => other.probability - one.probability) }
  }

  /** How likely no option answers a question, and if one does, how likely it is which. */
  options(question: number): { readonly nothing: number; readonly options: readonly number[] } {
    const { tokens, marks, options } = this.#laid
    const scores = options[question]!.map(
      ({ first, end }) =>
        this.#product('option_q', marks[question]!, 'option_k', end) +
        this.#of.logitScales[1] * this.#logit(question, tokens[first]!),
    )
    return { nothing: this.#absent(question, 1, scores), options: softmax(scores) }
  }

  #product(asks: Pointer, row: number, answers: Pointer, other: number): number {
    const { headSize } = this.#of
    const wide = POINTERS.length * headSize
    const one = row * wide + POINTERS.indexOf(asks) * headSize
    const two = other * wide + POINTERS.indexOf(answers) * headSize
    let sum = 0
    for (let i = 0; i < headSize; i++) sum += this.#numbers[one + i]! * this.#numbers[two + i]!
    return sum * this.#scale
  }

  get #behind(): number {
    return this.#laid.tokens.length * POINTERS.length * this.#of.headSize
  }

  /** How likely it is that there is nothing, beside what there may be. */
  #absent(question: number, kind: number, scores: readonly number[]): number {
    return softmax([this.#numbers[this.#behind + question * NOTHINGS + kind]!, ...scores])[0]!
  }

  #logit(question: number, token: number): number {
    const at = this.#behind + this.#laid.marks.length * NOTHINGS + question * this.#of.vocabulary
    return this.#numbers[at + token]!
  }
}
