/** A question as a decision model reads it: what is asked, its options behind a mark each, and what is judged. */
import {
  type AskedOption,
  type Kind,
  optionOf,
  type QuestionLayout,
  type TypedQuestion,
  templateLayout,
} from '../decode/decide/asked.js'
import { Guard } from '../decode/prompt/guard.js'
import type { Tokenizer } from '../decode/tokenizer/tokenizer.js'
import { V1Error } from '../errors.js'

/** The three marks that take a question apart. */
export interface Marks {
  readonly begin: number
  readonly between: number
  /** Before each option: what is read of it is read there. */
  readonly option: number
}

/** Laya's own. */
export function layaLayout({ begin, between, option: mark }: Marks, markText: string): QuestionLayout {
  return function* (asked) {
    const { kind, instructions, options, state } = unmarked(asked, markText)
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

function layaOption(kind: Kind, { key, description }: AskedOption): string {
  if (kind === 'score') return `level ${key}: ${description}`
  if (kind === 'noul') return `${key}: ${description ?? TRUTH.get(key)}`
  return description === undefined ? key : `${key}: ${description}`
}

/** By the template that a GGUF file has for it. */
export function markedLayout(source: string, tokenizer: Tokenizer, markText: string): QuestionLayout {
  const added = tokenizer.addedTexts(false)
  const layout = templateLayout(source, tokenizer, (sentinel) => new Guard(sentinel, added, added))
  return (asked) => layout(unmarked(asked, markText))
}

/** What is spelled as the mark of an option is none: a blank stands for it, as the model's makers have it. */
function unmarked(asked: TypedQuestion, mark: string): TypedQuestion {
  const clean = (text: string) => text.replaceAll(mark, ' ')
  return {
    ...asked,
    instructions: clean(asked.instructions),
    state: clean(asked.state),
    options: asked.options.map(({ key, description }) => optionOf(clean(key), description && clean(description))),
  }
}

/** Tokens of an option that are read, its mark aside. */
const MOST_OF_OPTION = 48
/** What the question itself is left with, and an option where there are many. */
const LEAST_LEFT = 16
const LEAST_OF_OPTION = 4

export interface EncoderRoom {
  /** Tokens of what is asked and of its options. */
  readonly head: number
  /** And of all together. */
  readonly whole: number
}

/**
 * The tokens, and where options are read. Options are cut as those were that the model was taught with; a question that
 * would have to be cut, and options that are then alike, are refused.
 */
export function fitted(
  tokens: readonly number[],
  { between, option: mark }: Marks,
  room: EncoderRoom,
  place: string,
): { readonly tokens: readonly number[]; readonly marks: readonly number[] } {
  const first = tokens.indexOf(mark)
  const last = tokens.indexOf(between, tokens.lastIndexOf(mark))
  if (first < 2 || tokens[first - 1] !== between || last < 0 || tokens.at(-1) !== between || last === tokens.length - 1)
    throw new V1Error(500, "The model's template of questions is not laid out as it must be.", { code: 'model_files' })
  const head = tokens.slice(0, first - 1)
  const options = optionsIn(tokens.slice(first, last), mark)
  const cut = cutTo(options, room.head)
  const left = room.head - cut.reduce((sum, each) => sum + each.length, 0)
  const asked = head.length - 1
  if (asked > Math.max(8, left)) {
    const message = `Invalid '${place}': what is asked has ${asked} tokens, and beside its options this model reads ${Math.max(8, left)}. Shorten its instructions or its options.`
    throw new V1Error(400, message, { param: place, code: 'context_length_exceeded' })
  }
  const seen = new Map<string, number>()
  cut.forEach((each, i) => {
    const before = seen.get(each.join())
    if (before !== undefined) {
      const message = `Invalid '${place}': this model reads ${each.length - 1} tokens of each option here, and its options ${before} and ${i} begin with the same ones. Name them more briefly.`
      throw new V1Error(400, message, { param: place, code: 'context_length_exceeded' })
    }
    seen.set(each.join(), i)
  })
  const out = [...head, between]
  const marks = cut.map((each) => {
    out.push(...each)
    return out.length - each.length
  })
  for (const token of tokens.slice(last)) out.push(token)
  return { tokens: out, marks }
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
