/** `POST /decisions` as OpenAI has it: questions in a list, one by one. */
import type { DecideOption, DecideQuestion } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import {
  aBody,
  aName,
  anArray,
  anObject,
  aString,
  at,
  noteUnknown,
  oneOf,
  optional,
  refuse,
  required,
  wrongType,
} from '../fields.js'
import { contentOf, type Noted, readState } from './input.js'
import { type DecideSpec, readExtras } from './spec.js'

/** What an option stands for in an answer. */
export type ChoiceValue = string | boolean

/** A question, and what its answer says beside probabilities. */
export interface AskedQuestion extends DecideQuestion {
  readonly name: string | null
  /** Of each option; of a predicate none. */
  readonly values: readonly ChoiceValue[]
}

export interface DecisionsRequest extends DecideSpec {
  readonly questions: readonly AskedQuestion[]
}

/** Tools in the form that OpenAI's clients send, beside what is ours. */
const KNOWN = new Set(['model', 'input', 'questions', 'prompt_cache_key', 'prompt_cache_options', 'safety_identifier'])
const KNOWN_QUESTION = new Set(['type', 'name', 'instructions', 'choices', 'levels'])
const MAX_OPTIONS = 255
const INSTRUCTIONS = ['input_text', 'input_image', 'input_json']

const someQuestions = anArray(1, 400)
const someChoices = anArray(2, MAX_OPTIONS)
const someLevels = anArray(2, MAX_OPTIONS)
const aType = oneOf(['predicate', 'choice', 'score'])
const aText = aName(/[\s\S]/, 65_536)
/** What an option is called, or a question. */
export function aWord(value: unknown, param: string): string {
  if (value === '') throw refuse(param, `Invalid '${param}': an empty name. Give it another.`, 'empty_string')
  return aText(value, param)
}
const anAnswerName = aName(/[\s\S]/, 256)

export function readDecisions(json: unknown): DecisionsRequest {
  const body = aBody(json)
  const noted: Noted = { ignored: [], images: [] }
  const extras = readExtras(body, KNOWN, noted.ignored)
  optional(body, 'prompt_cache_key', '', aString)
  optional(body, 'prompt_cache_options', '', anObject)
  optional(body, 'safety_identifier', '', aString)
  const model = required(body, 'model', '', aString)
  const state = required(body, 'input', '', (value, param) => readState(value, param, noted))
  const questions = required(body, 'questions', '', someQuestions).map((question, i) =>
    readQuestion(anObject(question, at('questions', i)), at('questions', i), noted),
  )
  return { model, state, stateField: 'input', questionField: (i) => at('questions', i), questions, ...noted, ...extras }
}

function readQuestion(question: JsonObject, path: string, noted: Noted): AskedQuestion {
  noteUnknown(question, KNOWN_QUESTION, path, noted.ignored)
  const type = required(question, 'type', path, aType)
  const name = optional(question, 'name', path, anAnswerName) ?? null
  const instructions = required(question, 'instructions', path, contentOf(INSTRUCTIONS, noted))
  if (type === 'predicate') return { type, name, instructions, options: TRUTH, values: [] }
  const [list, field, some, read] =
    type === 'choice'
      ? (['choices', 'value', someChoices, aChoice] as const)
      : (['levels', 'label', someLevels, aWord] as const)
  const told = required(question, list, path, some).map((item, i) => {
    const place = at(at(path, list), i)
    const option = anObject(item, place)
    noteUnknown(option, new Set([field, 'description']), place, noted.ignored)
    return {
      value: required<ChoiceValue>(option, field, place, read),
      description: optional(option, 'description', place, aString),
    }
  })
  const values = told.map(({ value }) => value)
  checkUnique(values, (i) => at(at(at(path, list), i), field))
  const options = textsOf(values).map((text, i) => option(text, told[i]!.description))
  return { type, name, instructions, options, values }
}

function aChoice(value: unknown, param: string): ChoiceValue {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') throw wrongType(param, 'a string or a boolean', value)
  return aWord(value, param)
}

function checkUnique(values: readonly ChoiceValue[], place: (option: number) => string): void {
  const seen = new Map<ChoiceValue, number>()
  values.forEach((value, i) => {
    const first = seen.get(value)
    if (first !== undefined) {
      const message = `Invalid '${place(i)}': it is the same as '${place(first)}'. Each option must be unique.`
      throw refuse(place(i), message, 'duplicate_value')
    }
    seen.set(value, i)
  })
}

/** A boolean and a string of the same letters are two options: such are told apart as JSON tells them. */
function textsOf(values: readonly ChoiceValue[]): readonly string[] {
  const alike = new Set(values.map(String)).size < values.length
  return values.map((value) => (alike ? JSON.stringify(value) : String(value)))
}

export const option = (text: string, description: string | undefined): DecideOption => ({
  text,
  ...(description !== undefined && description !== '' && { description }),
})

/** Of a predicate. */
export const TRUTH: readonly DecideOption[] = [{ text: 'Yes' }, { text: 'No' }]
