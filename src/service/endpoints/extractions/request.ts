/** `POST /extractions`: typed fields of a text, in what OpenRouter, Merge and LiteLLM have in common. */
import type { ExtractCall, ExtractField } from '../../../contract/index.js'
import { dayOfIso, type JsonObject } from '../../../platform/index.js'
import {
  aBody,
  aBoolean,
  aName,
  aNumber,
  anArray,
  anInteger,
  anObject,
  aString,
  at,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
  unsupported,
  wrongType,
} from '../../wire/fields.js'

export interface ExtractionRequest extends Omit<ExtractCall, 'id' | 'signal'> {
  readonly ignored: readonly string[]
}

const MOST_FIELDS = 100
const KNOWN = new Set([
  ...['model', 'state', 'fields', 'reference_date', 'locale', 'images', 'assets', 'stream', 'user'],
  'questions',
])
const COMMON = ['type', 'instructions', 'null_threshold']
const OF_NUMBERS = ['integer', 'decimals']
const KNOWN_OF = {
  text: new Set(COMMON),
  date: new Set(COMMON),
  time: new Set(COMMON),
  datetime: new Set(COMMON),
  number: new Set([...COMMON, ...OF_NUMBERS, 'unit']),
  duration: new Set([...COMMON, ...OF_NUMBERS, 'unit']),
  list: new Set([...COMMON, ...OF_NUMBERS, 'items']),
} as const
const TYPES = Object.keys(KNOWN_OF) as (keyof typeof KNOWN_OF)[]
/** Of the same interface elsewhere: they say what a text does not. */
const FORETOLD = ['estimate', 'forecast']

const aType = oneOf(TYPES)
const aUnit = aName(/\S/, 64)
const aTimeUnit = oneOf(['seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'years'])
const someItems = oneOf(['text', 'number', 'date'])
const someImages = anArray(0, Number.POSITIVE_INFINITY)
const aFieldName = aName(/[\s\S]/, 256)
const decimals = anInteger(0, 6)
const aThreshold = aNumber(0, 1)
const NULL_THRESHOLD = 0.5

export function readExtraction(json: unknown): ExtractionRequest {
  const body = aBody(json)
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  if (optional(body, 'stream', '', aBoolean))
    throw unsupported('stream', 'Extractions cannot be streamed: leave it out.')
  if (body.questions !== undefined) {
    throw unsupported('questions', "Send 'fields' here; send questions to POST /decisions.")
  }
  refuseImages(body)
  optional(body, 'user', '', aString)
  const model = required(body, 'model', '', aString)
  const state = required(body, 'state', '', aString)
  if (state.trim() === '') throw badRequest('state', "Invalid 'state': the text is empty.", 'empty_string')
  const fields = required(body, 'fields', '', anObject)
  const names = Object.keys(fields)
  if (names.length === 0) throw badRequest('fields', "Invalid 'fields': at least one is required.", 'empty_object')
  if (names.length > MOST_FIELDS) {
    const message = `Invalid 'fields': ${names.length} are more than ${MOST_FIELDS}, the most that one request may ask.`
    throw badRequest('fields', message, 'too_many_fields')
  }
  const referenceDate = optional(body, 'reference_date', '', aDate)
  const locale = optional(body, 'locale', '', aLocale)
  return {
    model,
    state,
    fields: names.map((name) => readField(aFieldName(name, 'fields'), fields, ignored)),
    ...(referenceDate !== undefined && { referenceDate }),
    ...(locale !== undefined && { locale }),
    ignored,
  }
}

/** No model here reads fields from pictures: better said than left out. */
function refuseImages(body: JsonObject): void {
  if ((optional(body, 'images', '', someImages) ?? []).length > 0) {
    throw unsupported('images', "Fields are read from text: send it as 'state'.")
  }
  if (Object.keys(optional(body, 'assets', '', anObject) ?? {}).length > 0) {
    throw unsupported('assets', "Fields are read from text: send it as 'state'.")
  }
}

function readField(name: string, fields: JsonObject, ignored: string[]): ExtractField {
  const path = at('fields', name)
  const field = required(fields, name, 'fields', anObject)
  const given = required(field, 'type', path, aString)
  if (FORETOLD.includes(given)) {
    const place = at(path, 'type')
    throw badRequest(
      place,
      `Invalid '${place}': '${given}' is not supported: only values that the text says can be extracted.`,
      'unsupported_value',
    )
  }
  const type = aType(given, at(path, 'type'))
  noteUnknown(field, KNOWN_OF[type], path, ignored)
  const instructions = optional(field, 'instructions', path, aString)
  const common = {
    name,
    ...(instructions && { instructions }),
    nullThreshold: optional(field, 'null_threshold', path, aThreshold) ?? NULL_THRESHOLD,
  }
  if (type === 'text' || type === 'date' || type === 'time' || type === 'datetime') return { ...common, type }
  const integer = optional(field, 'integer', path, aBoolean)
  const places = optional(field, 'decimals', path, decimals)
  const rounded = { ...(integer !== undefined && { integer }), ...(places !== undefined && { decimals: places }) }
  if (type === 'list') return { ...common, type, items: required(field, 'items', path, someItems), ...rounded }
  if (type === 'duration') {
    return { ...common, type, unit: optional(field, 'unit', path, aTimeUnit) ?? 'seconds', ...rounded }
  }
  const unit = optional(field, 'unit', path, aUnit)
  return { ...common, type, ...(unit !== undefined && { unit }), ...rounded }
}

function aDate(value: unknown, param: string): string {
  const text = aString(value, param)
  if (dayOfIso(text) !== undefined) return text
  throw badRequest(param, `Invalid '${param}': expected a date of the calendar as 'YYYY-MM-DD'.`, 'invalid_value')
}

function aLocale(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value)
  try {
    return new Intl.Locale(value).toString()
  } catch {
    throw badRequest(param, `Invalid '${param}': expected a language tag such as 'en-GB'.`, 'invalid_value')
  }
}
