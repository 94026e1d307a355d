/** A question as the templates of models that are made for decisions take it, in the words of TypeSafe's form. */
import { type DecideQuestion, textOf, V1Error } from '../../contract/index.js'
import type { JsonObject, Slices } from '../../platform/index.js'
import { type Guard, sentinelFor } from '../prompt/guard.js'
import { JinjaTemplate } from '../prompt/template.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

/** In the order in which such models number them. */
export const QUESTION_KINDS = ['choice', 'score', 'noul'] as const
export type Kind = (typeof QUESTION_KINDS)[number]

export interface QuestionOption {
  readonly key: string
  readonly description?: string
  /** By which it is chosen, where a model is told so. */
  readonly label?: string
}

export interface TypedQuestion {
  readonly kind: Kind
  /** Its name. */
  readonly id: string
  readonly instructions: string
  readonly state: string
  readonly options: readonly QuestionOption[]
}

/** Of a predicate such models are asked the other way round: whether it is not so comes first. */
export function typedQuestionOf(
  { type, name, instructions, options }: DecideQuestion,
  order: readonly number[],
  state: string,
): TypedQuestion {
  const shared = { id: name ?? '', instructions: textOf(instructions), state }
  const turned = order.map((i) => options[i]!)
  if (type === 'choice') {
    return {
      ...shared,
      kind: 'choice',
      options: turned.map(({ text: key, description }) => optionOf(key, description)),
    }
  }
  if (type === 'score') {
    const levels = turned.map(({ text, description }, i) => {
      if (description === undefined || description === '') return text
      return text === String(i) ? description : `${text}: ${description}`
    })
    return { ...shared, kind: 'score', options: levels.map((level, i) => optionOf(String(i), level)) }
  }
  const [yes, no] = options
  return { ...shared, kind: 'noul', options: [optionOf('false', no?.description), optionOf('true', yes?.description)] }
}

export const optionOf = (key: string, description: string | undefined): QuestionOption => ({
  key,
  ...(description && { description }),
})

/** Control tokens, and texts that are to be read as such, as a model's makers lay them out. */
export type QuestionLayout = (question: TypedQuestion) => Slices<{
  readonly sections: readonly (number | string)[]
  reveal(section: string): string
}>

/** By the template that a GGUF file has for it (`tokenizer.chat_template.systemone`), with what llama.cpp gives it. */
export function templateLayout(
  source: string,
  tokenizer: Tokenizer,
  guardOf: (sentinel: string) => Guard,
): QuestionLayout {
  const written = templateText(source, guardOf)
  return function* (question) {
    const { text, reveal } = yield* written([question])
    return { sections: tokenizer.sections(text), reveal }
  }
}

/**
 * The same before it is taken apart, of questions about one state; `more`: what else its template is given. Some list all
 * that is asked in a request: where a model answers each by itself, it is asked as if it were the only one.
 */
export function templateText(source: string, guardOf: (sentinel: string) => Guard, more: JsonObject = {}) {
  const template = readable(source)
  return function* (typed: readonly [TypedQuestion, ...TypedQuestion[]]) {
    const [{ state }] = typed
    const questions = typed.map(({ kind: type, id, instructions, options }) => {
      return { id, type, instructions, options: options.map((each) => ({ description: null, ...each })) }
    })
    const values = { ...questions[0], state, questions, images: [] }
    const texts = typed.flatMap(({ id, instructions, options }) => [
      id,
      instructions,
      ...options.flatMap(Object.values),
    ])
    const sentinel = yield* sentinelFor([state, ...texts])
    const guard = guardOf(sentinel)
    const input = { messages: [], tools: [], options: { ...guard.protectAll(values), ...more } }
    const text = yield* template.renderInSlices(input)
    return { text, reveal: (section: string) => guard.reveal(section) }
  }
}

function readable(source: string): JinjaTemplate {
  try {
    return new JinjaTemplate(source, {})
  } catch (cause) {
    const message = `The model's template for decisions cannot be read: ${(cause as Error).message}`
    throw new V1Error(500, message, { code: 'model_files', cause })
  }
}

/** What looks like control, with other bars: as models were taught whose makers wrote it so. */
export const barred = (text: string): string => text.replace(/<\|([A-Za-z0-9_]+)\|>/g, '<\u00a6$1\u00a6>')
