/** The text of a template in pieces, each of which is read by itself, as models were taught whose makers did so. */

import type { JsonObject, Slices } from '../../platform/index.js'
import { encodedSections } from '../chat-text.js'
import { optionOf, type TypedQuestion, templateText } from '../decide/typed-question.js'
import { Guard, guarded } from '../prompt/guard.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { tooLong } from '../too-long.js'

/** Between pieces, and at the beginning of some; no text of a caller has them. */
const SEP = '\uFDD0'
const MARKS = { mark_state: '\uFDD1', mark_question: '\uFDD2', mark_option: '\uFDD3' } as const
const OURS = /[\uFDD0-\uFDD3]/g

export type PieceMark = 'state' | 'question' | 'option'
const MARKED: ReadonlyMap<string | undefined, PieceMark> = new Map([
  [MARKS.mark_state, 'state'],
  [MARKS.mark_question, 'question'],
  [MARKS.mark_option, 'option'],
])

/** `more`: what else its template is given. */
export function piecesOf(template: string, tokenizer: Tokenizer, more: JsonObject = {}) {
  const added = tokenizer.addedTexts(false)
  const all = guarded(added, added)
  const given = { ...more, sep: SEP, ...MARKS }
  const written = templateText(template, (sentinel) => new Guard(sentinel, all), given)
  /** `take` tells how many tokens of a piece it has taken, of which all may have `most`. */
  return function* (
    questions: Parameters<typeof written>[0],
    most: number,
    take: (tokens: number[], mark: PieceMark | undefined) => number,
  ): Slices<void> {
    const { text, reveal } = yield* written(questions)
    let taken = 0
    for (const piece of text.split(SEP)) {
      const mark = MARKED.get(piece[0])
      const sections = tokenizer.sections(mark ? piece.slice(1) : piece)
      taken += take(yield* encodedSections(tokenizer, sections, most, reveal, 0), mark)
      if (taken > most) throw tooLong(most, taken)
    }
  }
}

/** Each of its texts without what pieces are told apart by, and as `word` has it. */
export function reworded(question: TypedQuestion, word: (text: string) => string = (text) => text): TypedQuestion {
  const clean = (text: string) => word(text).replace(OURS, '\uFFFD')
  return {
    ...question,
    id: clean(question.id),
    instructions: clean(question.instructions),
    state: clean(question.state),
    options: question.options.map(({ key, description }) => optionOf(clean(key), description && clean(description))),
  }
}
