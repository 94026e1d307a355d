/** `POST /decisions` as OpenAI has it: questions in a list, one by one. */
import type {
  ChatMessage,
  Content,
  ContentPart,
  DecideCall,
  DecideOption,
  DecideQuestion,
} from '../../../contract/index.js'
import { isRecord, type JsonObject, spaced } from '../../../platform/index.js'
import {
  aBody,
  aBoolean,
  aName,
  anArray,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  type Refused,
  refuseUnsupported,
  required,
  wrongType,
  wrongValue,
} from '../../wire/fields.js'
import { notTaken } from '../../wire/messages.js'
import { anEffort } from '../../wire/sampling.js'

/** What an option stands for in an answer. */
export type ChoiceValue = string | boolean

/** A question, and what its answer says beside probabilities. */
export interface QuestionRequest extends DecideQuestion {
  readonly name: string | null
  /** Of each option; of a predicate none. */
  readonly values: readonly ChoiceValue[]
}

export interface DecisionsRequest extends DecideSpec {
  readonly questions: readonly QuestionRequest[]
}

/** Of other interfaces, which whoever sends them relies on. */
const WHY: Refused = new Map([
  ...['images', 'assets'].map((name) => [name, "In a decision images are parts of 'input'."] as const),
  ...['messages', 'state'].map((name) => [name, "In a decision it is 'input'."] as const),
  ['instructions', "Say it in 'input', as a system message, or in each question."],
  ...['previous_response_id', 'conversation'].map((name) => [name, "Send the conversation as 'input'."] as const),
])
/** Tools in the form that OpenAI's clients send, beside what is ours. */
const KNOWN = new Set([
  ...['model', 'input', 'questions', 'prompt_cache_key', 'prompt_cache_options', 'safety_identifier'],
  ...WHY.keys(),
])
const KNOWN_QUESTION = new Set(['type', 'name', 'instructions', 'choices', 'levels'])
const MAX_OPTIONS = 255
const INSTRUCTIONS = ['input_text', 'input_image', 'input_json']

const someQuestions = anArray(1, 400)
const someChoices = anArray(2, MAX_OPTIONS)
const someLevels = anArray(2, MAX_OPTIONS)
const aType = oneOf(['predicate', 'choice', 'score'])
function aWordOf(most: number): Read<string> {
  const any = aName(/^/, most)
  return (value, param) => {
    if (value === '') throw badRequest(param, `Invalid '${param}': an empty name. Give it another.`, 'empty_string')
    return any(value, param)
  }
}
/** What an option is called. */
export const aWord = aWordOf(65_536)
const anAnswerName = aWordOf(256)

export function readDecisions(json: unknown): DecisionsRequest {
  const body = aBody(json)
  const noted: Noted = { ignored: [], images: [] }
  refuseUnsupported(body, WHY)
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

function readQuestion(question: JsonObject, path: string, noted: Noted): QuestionRequest {
  noteUnknown(question, KNOWN_QUESTION, path, noted.ignored)
  const type = required(question, 'type', path, aType)
  const name = optional(question, 'name', path, anAnswerName) ?? null
  const instructions = required(question, 'instructions', path, contentOf(INSTRUCTIONS, noted))
  if (type === 'predicate') return { type, name, instructions, options: TRUTH, values: [] }
  const [list, field, some, read] =
    type === 'choice'
      ? (['choices', 'value', someChoices, aChoice] as const)
      : (['levels', 'label', someLevels, aWord] as const)
  const entries = required(question, list, path, some).map((item, i) => {
    const place = at(at(path, list), i)
    const option = anObject(item, place)
    noteUnknown(option, new Set([field, 'description']), place, noted.ignored)
    return {
      value: required<ChoiceValue>(option, field, place, read),
      description: optional(option, 'description', place, aString),
    }
  })
  const values = entries.map(({ value }) => value)
  checkUnique(values, (i) => at(at(at(path, list), i), field))
  const options = textsOf(values).map((text, i) => option(text, entries[i]!.description))
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
      throw badRequest(place(i), message, 'duplicate_value')
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
  ...(description && { description }),
})

/** Of a predicate. */
export const TRUTH: readonly DecideOption[] = [{ text: 'Yes' }, { text: 'No' }]

// What both forms of a decision's request have in common.

type CommonSpec = Pick<DecideCall, 'model' | 'state' | 'order' | 'calibrated' | 'thinkingBudget'>

export interface DecideSpec extends Omit<CommonSpec, 'calibrated'> {
  /** Undefined: as the server says. */
  readonly calibrated: boolean | undefined
  /** The name under which the state was given. */
  readonly stateField: string
  /** And that of a question. */
  questionField(index: number): string
  /** Where images stand. */
  readonly images: readonly string[]
  readonly ignored: readonly string[]
}

/** Ours, in either form. */
const EXTRAS = new Set(['order', 'calibrated', 'reasoning', 'user'])
const anOrder = oneOf(['given', 'average'])
/** Tokens that an effort may cost, as for answers in words. */
const BUDGETS = { none: 0, minimal: 0, low: 512, medium: 2048, high: 8192, xhigh: 8192, max: 8192 } as const

export function readExtras(body: JsonObject, known: ReadonlySet<string>, ignored: string[]) {
  noteUnknown(body, new Set([...known, ...EXTRAS]), '', ignored)
  const reasoning = optional(body, 'reasoning', '', anObject)
  const effort = reasoning && optional(reasoning, 'effort', 'reasoning', anEffort)
  const thinkingBudget = effort && BUDGETS[effort]
  return {
    order: optional(body, 'order', '', anOrder) ?? ('given' as const),
    calibrated: optional(body, 'calibrated', '', aBoolean),
    ...(thinkingBudget && { thinkingBudget }),
  }
}

// `input` as a conversation: what was said, called and found out, which is judged and not gone on with.

/** What reading a request gathers beside what it says. */
export interface Noted {
  readonly ignored: string[]
  /** Where images stand. */
  readonly images: string[]
}

type Read<T> = (value: unknown, param: string) => T
type StateInput = string | readonly ChatMessage[]

const someParts = anArray(1, Number.POSITIVE_INFINITY)
const someItems = anArray(1, Number.POSITIVE_INFINITY)
const aCallId = aWordOf(64)
const aToolName = aWordOf(128)
const aDetail = oneOf(['low', 'high', 'auto', 'original'])
const aRole = oneOf(['user', 'assistant', 'system', 'developer'])

const PART_FIELDS: ReadonlyMap<string, string> = new Map([
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['refusal', 'refusal'],
  ['input_json', 'data'],
  ['input_image', 'image_url'],
])
const TYPES = {
  user: ['input_text', 'input_image', 'input_json'],
  system: ['input_text'],
  developer: ['input_text'],
  assistant: ['output_text', 'refusal'],
  output: ['input_text', 'input_image'],
} as const
const ITEMS = ['message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output']
const KNOWN_MESSAGE = new Set(['type', 'id', 'role', 'content', 'phase', 'status'])
const KNOWN_CALL = new Set(['type', 'id', 'call_id', 'name', 'arguments', 'input', 'namespace', 'status'])
const KNOWN_OUTPUT = new Set(['type', 'id', 'call_id', 'output', 'status'])

/** A text, or items in their order. */
export function readState(value: unknown, param: string, noted: Noted): StateInput {
  if (typeof value === 'string') return aString(value, param)
  if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of items', value)
  const calls = new Map<string, string>()
  return someItems(value, param).map((item, i) => readItem(anObject(item, at(param, i)), at(param, i), calls, noted))
}

function readItem(item: JsonObject, path: string, calls: Map<string, string>, noted: Noted): ChatMessage {
  const type = optional(item, 'type', path, aString) ?? 'message'
  if (type === 'message') return readMessage(item, path, noted)
  const called = /^(function|custom_tool)_call(_output)?$/.exec(type)
  if (!called) throw wrongValue(at(path, 'type'), type, ITEMS)
  const [, kind, output] = called
  const id = required(item, 'call_id', path, aCallId)
  noteUnknown(item, output ? KNOWN_OUTPUT : KNOWN_CALL, path, noted.ignored)
  if (!output) {
    calls.set(id, kind!)
    const name = required(item, 'name', path, aToolName)
    const args = required(item, kind === 'function' ? 'arguments' : 'input', path, aString)
    return { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: args }] }
  }
  if (calls.get(id) !== kind) {
    const message = `Invalid '${at(path, 'call_id')}': no ${kind}_call before it has the call_id ${id}.`
    throw badRequest(at(path, 'call_id'), message, 'invalid_value')
  }
  const content = required(item, 'output', path, contentOf(TYPES.output, noted))
  // No engine takes images from a tool.
  if (typeof content !== 'string') throw notTaken(noted.images.at(-1)!, 'input_image', 'Images')
  return { role: 'tool', toolCallId: id, content }
}

function readMessage(item: JsonObject, path: string, noted: Noted): ChatMessage {
  noteUnknown(item, KNOWN_MESSAGE, path, noted.ignored)
  const role = required(item, 'role', path, aRole)
  const content = required(item, 'content', path, contentOf(TYPES[role], noted))
  // What an assistant said is a text: images are no parts of it.
  return { role: role === 'developer' ? 'system' : role, content } as ChatMessage
}

/** A text, or parts of these types. */
export function contentOf(types: readonly string[], noted: Noted): Read<Content> {
  return (value, param) => {
    if (typeof value === 'string') return aString(value, param)
    if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of parts', value)
    const parts = someParts(value, param).map((part, i) =>
      readPart(anObject(part, at(param, i)), at(param, i), types, noted),
    )
    if (parts.some(({ type }) => type !== 'text')) return parts
    return parts.map((part) => (part as { readonly text: string }).text).join('\n')
  }
}

function readPart(value: JsonObject, path: string, types: readonly string[], noted: Noted): ContentPart {
  const type = required(value, 'type', path, aString)
  if (!types.includes(type)) throw wrongValue(at(path, 'type'), type, types)
  const field = PART_FIELDS.get(type)!
  noteUnknown(value, new Set(['type', 'prompt_cache_breakpoint', 'detail', field]), path, noted.ignored)
  if (type === 'input_json') return { type: 'text', text: required(value, field, path, aJson) }
  const text = required(value, field, path, aString)
  if (type !== 'input_image') return { type: 'text', text }
  noted.images.push(at(path, 'type'))
  const detail = optional(value, 'detail', path, aDetail)
  return { type: 'image', url: text, ...(detail && { detail }) }
}

function aJson(value: unknown, param: string): string {
  const whole = isRecord(value) || (Array.isArray(value) && value.length > 0 && value.every(isRecord))
  if (!whole) throw wrongType(param, 'an object or a list of objects', value)
  return aString(spaced(value), param)
}
