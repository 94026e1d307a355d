/** How clef reads questions: all of a request in one text, each with its instructions. */

import { type DecideQuestion, type TextField, type TokenRange, V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { ordersOf } from '../decide/questions.js'
import type { Kind, TypedQuestion } from '../decide/typed-question.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { piecesOf, reworded } from './pieces.js'
import { misplaced } from './question-reader.js'

/** In the order in which it numbers them. */
const KINDS: readonly Kind[] = ['noul', 'choice', 'score']

/** Questions that it is asked together, at most: as many as any form of the request may have. */
const MOST_TOGETHER = 400

export interface JointTokens {
  readonly tokens: readonly number[]
  readonly fields: readonly TextField[]
}

/** How a model reads questions that it decides together. */
export interface JointReader {
  /** The orders in which a question is asked. */
  ordersOf(question: DecideQuestion, wanted: 'given' | 'average'): readonly (readonly number[])[]
  read(questions: readonly TypedQuestion[], most: number): Slices<JointTokens>
}

export function clef(template: string, tokenizer: Tokenizer): JointReader {
  const pieces = piecesOf(template, tokenizer)
  return {
    ordersOf(question, wanted) {
      // It was taught with the options of a choice by their names, whatever order they were given in.
      return question.type === 'choice' ? [byName(question)] : ordersOf(question, wanted)
    },

    *read(questions, most) {
      if (questions.length > MOST_TOGETHER) {
        const message = `Invalid 'questions': this model decides at most ${MOST_TOGETHER} together, and these are ${questions.length}.`
        throw new V1Error(400, message, { param: 'questions', code: 'unsupported_value' })
      }
      const taught = questions.map(asTaught)
      const [first, ...rest] = taught
      if (!first) return { tokens: [], fields: [] }
      const tokens: number[] = []
      const found: (TokenRange & { readonly options: TokenRange[] })[] = []
      yield* pieces([first, ...rest], most, (piece, mark) => {
        const stretch = { from: tokens.length, to: tokens.length + piece.length }
        if (mark === 'question') found.push({ ...stretch, options: [] })
        if (mark === 'option') (found.at(-1)?.options ?? []).push(stretch)
        for (const token of piece) tokens.push(token)
        return piece.length
      })
      const fields = found.map((each, i) => ({ ...each, kind: KINDS.indexOf(taught[i]!.kind) }))
      assertFound(taught, fields)
      return { tokens, fields }
    },
  }
}

/** That it is so comes first; a question without words of its own is asked by its name, as one without a name by its number. */
function asTaught(question: TypedQuestion, index: number): TypedQuestion {
  const { id, instructions, kind, options } = question
  const name = id || String(index + 1)
  const turned = kind === 'noul' ? [...options].reverse() : options
  return reworded({ ...question, id: name, instructions: instructions || name, options: turned })
}

function assertFound(questions: readonly TypedQuestion[], fields: readonly TextField[]): void {
  const marked = fields.flatMap(({ options, ...question }) => [question, ...options])
  const alike =
    questions.length === fields.length &&
    questions.every((each, i) => each.options.length === fields[i]!.options.length)
  if (!alike || marked.some(({ from, to }) => from === to))
    throw misplaced('its template does not mark each question and each of its options')
}

/** By code points. */
function byName({ options }: DecideQuestion): readonly number[] {
  const points = options.map(({ text }) => Array.from(text, (character) => character.codePointAt(0)!))
  return options.map((_, i) => i).sort((a, b) => comparePoints(points[a]!, points[b]!))
}

function comparePoints(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((point, i) => point !== b[i])
  return at < 0 ? a.length - b.length : a[at]! - (b[at] ?? -1)
}
