/** How d1-omni reads a question: its template writes it in pieces, each with a budget of tokens. */
import { barred } from '../decide/typed-question.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { piecesOf, reworded } from './pieces.js'
import { assertDistinct, misplaced, type QuestionReader, questionTooLong } from './question-reader.js'

/** Before each option: what is read of it is read there. */
const MARK = '<|mask|>'
/** Tokens that it was taught with, at most. */
const MOST = 16384

/** Tokens of the question, and of each option: what all options may have is shared evenly. */
function budgetsOf(options: number): { readonly question: number; readonly option: number } {
  const all = Math.max(96, Math.min(24 * options + 32, MOST / 2))
  return { question: all, option: Math.max(2, Math.floor((all - 3 * options) / options)) }
}

export function d1Omni(template: string, tokenizer: Tokenizer): QuestionReader {
  const mark = tokenizer.idOf(MARK)
  if (mark === undefined) throw misplaced(`its tokenizer has no token ${MARK}`)
  const pieces = piecesOf(template, tokenizer, { audio: false })
  return {
    *read(question, most, place) {
      const budgets = budgetsOf(question.options.length)
      const options: number[][] = []
      const tokens: number[] = []
      yield* pieces([reworded(question, barred)], most, (found, mark) => {
        if (mark === 'question' && found.length > budgets.question)
          throw questionTooLong(place, found.length, budgets.question)
        const read = mark === 'option' ? found.slice(0, budgets.option) : found
        if (mark === 'option') options.push(read)
        for (const token of read) tokens.push(token)
        return read.length
      })
      assertDistinct(options, budgets.option, place)
      const marks = tokens.flatMap((token, i) => (token === mark ? [i] : []))
      if (marks.length !== question.options.length)
        throw misplaced(`its template marks ${marks.length} of ${question.options.length} options`)
      return { tokens, marks }
    },
  }
}
