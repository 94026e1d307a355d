/** How d1-omni reads a question: its template writes it in pieces, each with a budget of tokens. */

import { encodedSections } from '../decode/chat-text.js'
import { barred, optionOf, type TypedQuestion, templateText } from '../decode/decide/asked.js'
import { Guard } from '../decode/prompt/guard.js'
import type { Tokenizer } from '../decode/tokenizer/tokenizer.js'
import { tooLong } from '../decode/too-long.js'
import { assertApart, misplaced, type QuestionReader, questionTooLong } from './asked.js'

/** Before each option: what is read of it is read there. */
const MARK = '<|mask|>'
/** Between pieces of what its template writes, and at the beginning of some; no text of a caller has them. */
const SEP = '\uFDD0'
const MARKS = { mark_state: '\uFDD1', mark_question: '\uFDD2', mark_option: '\uFDD3' } as const
const OURS = /[\uFDD0-\uFDD3]/g

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
  const added = tokenizer.addedTexts(false)
  const more = { audio: false, sep: SEP, ...MARKS }
  const written = templateText(template, (sentinel) => new Guard(sentinel, added, added), more)
  return {
    *read(asked, most, place) {
      const { text, reveal } = yield* written(asTaught(asked))
      const budgets = budgetsOf(asked.options.length)
      const options: number[][] = []
      const tokens: number[] = []
      for (const piece of text.split(SEP)) {
        const [first] = piece
        const own = Object.values(MARKS).includes(first as never)
        const sections = tokenizer.sections(own ? piece.slice(1) : piece)
        let found = yield* encodedSections(tokenizer, sections, most, reveal, () => 0)
        if (first === MARKS.mark_question && found.length > budgets.question)
          throw questionTooLong(place, found.length, budgets.question)
        if (first === MARKS.mark_option) {
          found = found.slice(0, budgets.option)
          options.push(found)
        }
        for (const token of found) tokens.push(token)
        if (tokens.length > most) throw tooLong(most, tokens.length)
      }
      assertApart(options, budgets.option, place)
      const marks = tokens.flatMap((token, i) => (token === mark ? [i] : []))
      if (marks.length !== asked.options.length)
        throw misplaced(`its template marks ${marks.length} of ${asked.options.length} options`)
      return { tokens, marks }
    },
  }
}

function asTaught(asked: TypedQuestion): TypedQuestion {
  const clean = (text: string) => barred(text).replace(OURS, '\uFFFD')
  return {
    ...asked,
    id: clean(asked.id),
    instructions: clean(asked.instructions),
    state: clean(asked.state),
    options: asked.options.map(({ key, description }) => optionOf(clean(key), description && clean(description))),
  }
}
