/** `POST /systemone` as TypeSafe has it, and Ollama, vLLM, llama.cpp and wllama: questions by name. */
import type { Content, ContentPart, DecideOption, DecideQuestion } from '../../../contract/index.js'
import { isRecord, type JsonObject, spaced } from '../../../platform/index.js'
import {
  aBody,
  anArray,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
  wrongType,
} from '../../wire/fields.js'
import { aWord, type DecideSpec, option, readExtras, TRUTH } from './request.js'

export interface NamedQuestion extends DecideQuestion {
  readonly name: string
  /** Of a score: what stands at each level, as it was given. */
  readonly legend: readonly unknown[]
}

export interface SystemOneRequest extends DecideSpec {
  readonly questions: readonly NamedQuestion[]
}

const KNOWN = new Set(['model', 'state', 'questions', 'images', 'assets', 'keep_alive', 'stream'])
const KNOWN_QUESTION = new Set(['type', 'instructions', 'criteria'])
const MAX_QUESTIONS = 400
const aType = oneOf(['noul', 'choice', 'score'])
const someLevels = anArray(2, 10)
const someImages = anArray(0, Number.POSITIVE_INFINITY)
const anImage = oneOf(['image'])

export function readSystemOne(json: unknown): SystemOneRequest {
  const body = aBody(json)
  const ignored: string[] = []
  const extras = readExtras(body, KNOWN, ignored)
  const model = required(body, 'model', '', aString)
  const text = required(body, 'state', '', anEntry) ?? ''
  const images = imagesOf(body)
  const seen = images.map(([, url]): ContentPart => ({ type: 'image', url }))
  const questions = required(body, 'questions', '', anObject)
  const names = Object.keys(questions)
  if (names.length === 0)
    throw badRequest('questions', "Invalid 'questions': at least one is required.", 'empty_object')
  if (names.length > MAX_QUESTIONS) {
    const message = `Invalid 'questions': ${names.length} are more than ${MAX_QUESTIONS}, the most that one request may ask.`
    throw badRequest('questions', message, 'too_many_questions')
  }
  return {
    model,
    state: images.length > 0 ? [{ role: 'user', content: [{ type: 'text', text }, ...seen] }] : text,
    stateField: 'state',
    questionField: (i) => at('questions', names[i]!),
    images: images.map(([place]) => place),
    questions: names.map((name) => readQuestion(name, anObject(questions[name], at('questions', name)), ignored)),
    ignored,
    ...extras,
  }
}

/** The places and addresses of images: Ollama's are a list, TypeSafe's have the names by which the state speaks of them. */
function imagesOf(body: JsonObject): readonly (readonly [place: string, url: string])[] {
  const assets = Object.entries(optional(body, 'assets', '', anObject) ?? {}).map(([name, value]) => {
    const place = at('assets', name)
    const asset = anObject(value, place)
    optional(asset, 'type', place, anImage)
    return [place, required(asset, 'data_base64', place, aString)] as const
  })
  const images = optional(body, 'images', '', someImages) ?? []
  const all = [...images.map((image, i) => [at('images', i), aString(image, at('images', i))] as const), ...assets]
  // Some clients write the whole address.
  return all.map(([place, data]) => [place, data.startsWith('data:') ? data : `data:image/*;base64,${data}`])
}

function readQuestion(name: string, question: JsonObject, ignored: string[]): NamedQuestion {
  const path = at('questions', aWord(name, 'questions'))
  noteUnknown(question, KNOWN_QUESTION, path, ignored)
  const type = required(question, 'type', path, aType)
  // Some clients say all in the name.
  const instructions: Content = optional(question, 'instructions', path, anEntry) ?? name
  const place = at(path, 'criteria')
  if (type === 'noul') {
    const criteria = optional(question, 'criteria', path, anObject) ?? {}
    noteUnknown(criteria, new Set(['true', 'false']), place, ignored)
    const options = ['true', 'false'].map((side, i) => described(TRUTH[i]!.text, criteria, side, place))
    return { type: 'predicate', name, instructions, options, legend: [] }
  }
  if (type === 'choice') {
    const criteria = required(question, 'criteria', path, anObject)
    const options = Object.keys(criteria).map((text) => described(aWord(text, place), criteria, text, place))
    if (options.length === 0)
      throw badRequest(place, `Invalid '${place}': at least one option is required.`, 'empty_object')
    if (options.length > 255) {
      const message = `Invalid '${place}': ${options.length} are more than 255, the most that one choice may have.`
      throw badRequest(place, message, 'too_many_choices')
    }
    return { type, name, instructions, options, legend: [] }
  }
  const legend = required(question, 'criteria', path, someLevels)
  const options = legend.map((level, i) => option(String(i), anEntry(level, at(place, i)) ?? undefined))
  return { type, name, instructions, options, legend }
}

function described(text: string, criteria: JsonObject, name: string, path: string): DecideOption {
  return option(text, optional(criteria, name, path, anEntry) ?? undefined)
}

/** A text, or what JSON writes of an object or a list. */
function anEntry(value: unknown, param: string): string | null {
  if (value === null) return null
  if (typeof value === 'string') return aString(value, param)
  if (!isRecord(value) && !Array.isArray(value)) throw wrongType(param, 'a string, an object, a list or null', value)
  return aString(spaced(value), param)
}
