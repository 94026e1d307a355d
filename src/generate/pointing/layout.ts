/** A text and the questions about it as a model that points was taught to read them. */
import type { TextTokens } from '../../contract/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import type { PointedQuestion } from './questions.js'

/** Tokens of a question, of which the last are kept, and of an option. */
const QUESTION_TOKENS = 120
const OPTION_TOKENS = 60

export interface LaidOption {
  readonly first: number
  /** Where its end is marked. */
  readonly end: number
}

export interface LaidText extends TextTokens {
  readonly marks: readonly number[]
  /** Tokens of the text itself. */
  readonly from: number
  readonly to: number
  /** Of each question. */
  readonly options: readonly (readonly LaidOption[])[]
}

/** Tokens that part a text from its questions, and an option from the next. */
export interface PointingMarks {
  readonly user: number
  readonly assistant: number
  readonly end: number
}

export function laidOut(
  tokenizer: Tokenizer,
  marks: PointingMarks,
  text: readonly number[],
  questions: readonly Pick<PointedQuestion, 'text' | 'options'>[],
): LaidText {
  const tokens = [marks.user, ...text, marks.assistant]
  const ends: number[] = []
  const options = questions.map(({ text: question, options }) => {
    tokens.push(...tokenizer.encodePlain(question).slice(-QUESTION_TOKENS))
    ends.push(tokens.length - 1)
    return options.map((option): LaidOption => {
      const first = tokens.length
      tokens.push(...tokenizer.encodePlain(String(option)).slice(0, OPTION_TOKENS), marks.end)
      return { first, end: tokens.length - 1 }
    })
  })
  return { tokens, marks: ends, from: 1, to: 1 + text.length, options }
}
