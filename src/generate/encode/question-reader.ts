/** A question as a decision model reads it: its instructions, its options behind a mark each, and the state. */

import { V1Error } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import { encodedSections } from '../chat-text.js'
import {
  type Kind,
  optionOf,
  type QuestionLayout,
  type QuestionOption,
  type TypedQuestion,
  templateLayout,
} from '../decide/typed-question.js'
import { Guard, guarded } from '../prompt/guard.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { tooLong } from '../too-long.js'

/** A question as tokens, and where each of its options is read. */
export interface MarkedTokens {
  readonly tokens: readonly number[]
  readonly marks: readonly number[]
}

/** How a model reads a question of `most` tokens; `place`: its name in a request. */
export interface QuestionReader {
  read(question: TypedQuestion, most: number, place: string): Slices<MarkedTokens>
}

/** Laya, by its own layout or by the template of its file. `head`: tokens of the question and of its options. */
export function layaReader(tokenizer: Tokenizer, template: string | undefined, head: number): QuestionReader {
  const marks = marksOf(tokenizer)
  const name = tokenizer.name(marks.option)
  const layout = template === undefined ? layaLayout(marks, name) : markedLayout(template, tokenizer, name)
  return {
    *read(question, whole, place) {
      const { sections, reveal } = yield* layout(question)
      const all = yield* encodedSections(tokenizer, sections, whole, reveal, 0)
      const found = fitted(all, marks, head, place)
      if (found.tokens.length > whole) throw tooLong(whole, found.tokens.length)
      return found
    },
  }
}

/** The tokens around a text, and the mark for a word that is to be guessed, whichever way it is spelled. */
function marksOf(tokenizer: Tokenizer): Marks {
  const { before, after } = tokenizer.surround
  const option = ['[MASK]', '<mask>'].map((name) => tokenizer.idOf(name)).find((id) => id !== undefined)
  const [begin, between] = [before[0], after.at(-1)]
  if (option !== undefined && begin !== undefined && between !== undefined) return { begin, between, option }
  throw misplaced('its tokenizer lacks a beginning, an end or a mask')
}

export const misplaced = (fault: string): V1Error =>
  new V1Error(500, `The model scores its options at marks, but ${fault}.`, {
    code: 'model_files',
    headers: { 'x-should-retry': 'false' },
  })

/** The three marks that take a question apart. */
interface Marks {
  readonly begin: number
  readonly between: number
  /** Before each option: what is read of it is read there. */
  readonly option: number
}

/** Laya's own. */
function layaLayout({ begin, between, option: mark }: Marks, markText: string): QuestionLayout {
  return function* (question) {
    const { kind, instructions, options, state } = unmarked(question, markText)
    const marked = options.flatMap((each) => [mark, ` ${layaOption(kind, each)}`])
    const sections = [begin, `${kind} question: ${instructions}`, between, ...marked, between, state, between]
    return { sections, reveal: (section) => section }
  }
}

const TRUTH: ReadonlyMap<string, string> = new Map(
  Object.entries({
    false: 'no, the statement does not hold',
    true: 'yes, the statement holds',
  }),
)

function layaOption(kind: Kind, { key, description }: QuestionOption): string {
  if (kind === 'score') return `level ${key}: ${description}`
  if (kind === 'noul') return `${key}: ${description ?? TRUTH.get(key)}`
  return description === undefined ? key : `${key}: ${description}`
}

/** By the template that a GGUF file has for it. */
function markedLayout(source: string, tokenizer: Tokenizer, markText: string): QuestionLayout {
  const added = tokenizer.addedTexts(false)
  const all = guarded(added, added)
  const layout = templateLayout(source, tokenizer, (sentinel) => new Guard(sentinel, all))
  return (question) => layout(unmarked(question, markText))
}

/** What is spelled as the mark of an option is none: a blank stands for it, as the model's makers have it. */
function unmarked(question: TypedQuestion, mark: string): TypedQuestion {
  const clean = (text: string) => text.replaceAll(mark, ' ')
  return {
    ...question,
    instructions: clean(question.instructions),
    state: clean(question.state),
    options: question.options.map(({ key, description }) => optionOf(clean(key), description && clean(description))),
  }
}

/** Tokens of an option that are read, its mark aside. */
const MOST_OF_OPTION = 48
/** What the question itself is left with, and an option where there are many. */
const LEAST_LEFT = 16
const LEAST_OF_OPTION = 4

/**
 * The tokens, and where options are read. Options are cut as those were that the model was taught with; a question that
 * would have to be cut, and options that are then alike, are refused.
 */
function fitted(
  tokens: readonly number[],
  { between, option: mark }: Marks,
  room: number,
  place: string,
): MarkedTokens {
  const first = tokens.indexOf(mark)
  const last = tokens.indexOf(between, tokens.lastIndexOf(mark))
  if (first < 2 || tokens[first - 1] !== between || last < 0 || tokens.at(-1) !== between || last === tokens.length - 1)
    throw misplaced('its template does not lay them out as it must')
  const head = tokens.slice(0, first - 1)
  const options = optionsIn(tokens.slice(first, last), mark)
  const cut = cutTo(options, room)
  const left = room - cut.reduce((sum, each) => sum + each.length, 0)
  const count = head.length - 1
  if (count > Math.max(8, left)) throw questionTooLong(place, count, Math.max(8, left))
  const texts = cut.map((each) => each.slice(1))
  assertDistinct(texts, Math.max(...texts.map(({ length }) => length)), place)
  const out = [...head, between]
  const marks = cut.map((each) => {
    out.push(...each)
    return out.length - each.length
  })
  for (const token of tokens.slice(last)) out.push(token)
  return { tokens: out, marks }
}

export function questionTooLong(place: string, tokens: number, room: number): V1Error {
  const message = `Invalid '${place}': the question has ${tokens} tokens, and this model reads ${room} besides the options. Shorten its instructions or its options.`
  return new V1Error(400, message, { param: place, code: 'context_length_exceeded' })
}

/** Options that were cut to `most` tokens and are alike since. */
export function assertDistinct(options: readonly (readonly number[])[], most: number, place: string): void {
  const seen = new Map<string, number>()
  options.forEach((each, i) => {
    const before = seen.get(each.join())
    if (before !== undefined) {
      const message = `Invalid '${place}': this model reads ${most} tokens of each option here, and its options ${before} and ${i} begin with the same ones. Name them more briefly.`
      throw new V1Error(400, message, { param: place, code: 'context_length_exceeded' })
    }
    seen.set(each.join(), i)
  })
}

function optionsIn(tokens: readonly number[], mark: number): number[][] {
  const options: number[][] = []
  for (const token of tokens) {
    if (token === mark) options.push([])
    options.at(-1)!.push(token)
  }
  return options
}

function cutTo(options: readonly number[][], room: number): number[][] {
  const short = options.map((each) => each.slice(0, 1 + MOST_OF_OPTION))
  if (short.reduce((sum, each) => sum + each.length, 0) + LEAST_LEFT <= room) return short
  const most = Math.max(LEAST_OF_OPTION, Math.floor((room - LEAST_LEFT) / options.length))
  return short.map((each) => each.slice(0, most))
}
