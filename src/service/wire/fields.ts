import { V1Error } from '../../contract/index.js'
import { editDistance, isRecord, type JsonObject } from '../../platform/index.js'

/** `messages[0].content`: the place of a field, in the form that OpenAI's errors name it. */
export const at = (path: string, name: string | number): string =>
  typeof name === 'number' ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`

export const badRequest = (param: string | null, message: string, code: string): V1Error =>
  new V1Error(400, message, { param, code })

export function missing(param: string): V1Error {
  return badRequest(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter')
}

export function wrongType(param: string, expected: string, value: unknown): V1Error {
  return badRequest(
    param,
    `Invalid type for '${param}': expected ${expected}, but got ${shownType(value)} instead.`,
    'invalid_type',
  )
}

export function wrongValue(param: string, value: unknown, supported: readonly string[]): V1Error {
  const given = typeof value === 'string' ? `'${value.slice(0, 100)}'` : shownType(value)
  const names = supported.map((name) => `'${name}'`).join(', ')
  return badRequest(param, `Invalid value for '${param}': ${given}. Supported values are: ${names}.`, 'invalid_value')
}

export function unsupported(param: string, why: string, code = 'unsupported_parameter'): V1Error {
  return badRequest(param, `Unsupported parameter: '${param}'. ${why}`, code)
}

/** By name: why a field that would change the answer cannot be honoured, or what it is called here. */
export type Refused = ReadonlyMap<string, string>

export function refuseUnsupported(body: JsonObject, refused: Refused): void {
  for (const [name, why] of refused) if (asksFor(name, body[name])) throw unsupported(name, why)
}

/** What is off, or is what every answer is, asks for nothing; nor does -1, by which local servers mean no limit. */
export const asksFor = (name: string, value: unknown): boolean =>
  value != null && value !== false && value !== -1 && !(name === 'n' && value === 1)

function shownType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return value === undefined ? 'nothing' : `a ${typeof value}`
}

/** The body of a request, before any of its fields is looked at. */
export function aBody(json: unknown): JsonObject {
  if (isRecord(json)) return json
  throw badRequest(null, 'Invalid body: expected a JSON object.', 'invalid_type')
}

/** In JSON requests null means the same as absent. */
export function optional<T>(
  object: JsonObject,
  name: string,
  path: string,
  read: (value: unknown, param: string) => T,
): T | undefined {
  const value = object[name]
  return value === undefined || value === null ? undefined : read(value, path === '' ? name : at(path, name))
}

export function required<T>(
  object: JsonObject,
  name: string,
  path: string,
  read: (value: unknown, param: string) => T,
): T {
  const value = object[name]
  if (value === undefined) throw missing(at(path, name))
  return read(value, at(path, name))
}

export function aBoolean(value: unknown, param: string): boolean {
  if (typeof value !== 'boolean') throw wrongType(param, 'a boolean', value)
  return value
}

/** Half a surrogate pair is no text: no tokenizer and no UTF-8 encoder can say it. */
const LONE_SURROGATE = /\p{Surrogate}/u

export function aString(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value)
  if (LONE_SURROGATE.test(value)) {
    throw badRequest(param, `Invalid '${param}': the string contains half of a surrogate pair.`, 'invalid_unicode')
  }
  return value
}

export function anObject(value: unknown, param: string): JsonObject {
  if (!isRecord(value)) throw wrongType(param, 'an object', value)
  return value
}

export function aSchema(value: unknown, param: string): JsonObject | boolean {
  if (typeof value === 'boolean' || isRecord(value)) return value
  throw wrongType(param, 'an object', value)
}

export function anArray(min: number, max: number): (value: unknown, param: string) => readonly unknown[] {
  return (value, param) => {
    if (!Array.isArray(value)) throw wrongType(param, 'an array', value)
    if (value.length > 0 && value.length < min) {
      const expected = `Expected an array with minimum length ${min}, but got an array with length ${value.length} instead.`
      throw badRequest(param, `Invalid '${param}': array too short. ${expected}`, 'array_below_min_length')
    }
    if (value.length < min) {
      const expected = `Expected an array with minimum length ${min}, but got an empty array instead.`
      throw badRequest(param, `Invalid '${param}': empty array. ${expected}`, 'empty_array')
    }
    if (value.length > max) {
      const expected = `Expected an array with maximum length ${max}, but got an array with length ${value.length} instead.`
      throw badRequest(param, `Invalid '${param}': array too long. ${expected}`, 'array_above_max_length')
    }
    return value
  }
}

/** A text or some, each of which is read alike. */
export function someTexts(
  [min, max]: readonly [number, number],
  read: (value: unknown, param: string) => string,
): (value: unknown, param: string) => string[] {
  const some = anArray(min, max)
  return (value, param) => {
    if (typeof value === 'string') return [read(value, param)]
    if (!Array.isArray(value)) throw wrongType(param, 'a string or an array of strings', value)
    return some(value, param).map((item, i) => read(item, at(param, i)))
  }
}

export function oneOf<const T extends string>(values: readonly T[]): (value: unknown, param: string) => T {
  return (value, param) => {
    if (typeof value !== 'string') throw wrongType(param, 'a string', value)
    if (!values.includes(value as T)) throw wrongValue(param, value, values)
    return value as T
  }
}

export function aNumber(min: number, max: number): (value: unknown, param: string) => number {
  return (value, param) => {
    if (typeof value !== 'number') throw wrongType(param, 'a decimal', value)
    return inRange(value, min, max, param, 'decimal')
  }
}

export function anInteger(min: number, max: number): (value: unknown, param: string) => number {
  return (value, param) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongType(param, 'an integer', value)
    return inRange(value, min, max, param, 'integer')
  }
}

function inRange(value: number, min: number, max: number, param: string, kind: string): number {
  if (value < min) {
    const expected = `Expected a value >= ${min}, but got ${value} instead.`
    throw badRequest(param, `Invalid '${param}': ${kind} below minimum value. ${expected}`, `${kind}_below_min_value`)
  }
  if (value > max) {
    const expected = `Expected a value <= ${max}, but got ${value} instead.`
    throw badRequest(param, `Invalid '${param}': ${kind} above maximum value. ${expected}`, `${kind}_above_max_value`)
  }
  return value
}

/** A string that must have a form, such as the name of a tool. */
export function aName(pattern: RegExp, maxLength: number): (value: unknown, param: string) => string {
  return (value, param) => {
    const name = aString(value, param)
    if (name.length > maxLength) {
      const expected = `Expected a string with maximum length ${maxLength}, but got a string with length ${name.length} instead.`
      throw badRequest(param, `Invalid '${param}': string too long. ${expected}`, 'string_above_max_length')
    }
    if (!pattern.test(name)) {
      const expected = `Expected a string that matches the pattern '${pattern.source}'.`
      throw badRequest(param, `Invalid '${param}': string does not match pattern. ${expected}`, 'invalid_value')
    }
    return name
  }
}

/**
 * A field that only shapes an answer: what it says is done where it can be, and otherwise ignored and named; only of the
 * wrong type it is a slip to be told. What a caller relies on (a schema, a tool, a stop, a limit) is read by `optional` and
 * `required`, which refuse.
 */
export function hint<T>(
  object: JsonObject,
  name: string,
  path: string,
  read: (value: unknown, param: string) => T,
  ignored: string[],
): T | undefined {
  try {
    return optional(object, name, path, read)
  } catch (error) {
    if (!V1Error.is(error) || error.code === 'invalid_type') throw error
    ignored.push(at(path, name))
    return undefined
  }
}

/** So many ignored fields are named in an answer. */
export const MOST_NAMED = 20

/** What a caller relies on, wherever it is read: a limit, a stop, a form, a tool, what goes before. */
const RELIED_ON = [
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'num_predict', 'n_predict', 'max_tool_calls'],
  ...['stop', 'stop_sequences', 'stop_token_ids', 'response_format', 'json_schema', 'schema', 'strict', 'format'],
  ...['output_config', 'output_format', 'structured_outputs', 'guided_json', 'guided_regex', 'guided_choice'],
  ...['guided_grammar', 'grammar', 'tools', 'functions', 'tool_choice', 'allowed_tools', 'parallel_tool_calls'],
  ...['disable_parallel_tool_use', 'parameters', 'input_schema', 'instructions', 'system', 'options', 'quote'],
  ...['evidence', 'previous_response_id', 'conversation', 'unit', 'decimals', 'integer', 'null_threshold'],
  ...['locale', 'reference_date', 'criteria', 'choices', 'levels'],
]
const LONGEST_NAME = Math.max(...RELIED_ON.map((name) => name.length)) + 2

/** Which of these a name is misspelt for: one letter apart, or otherwise parted or declined. */
function meantBy(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > LONGEST_NAME) return undefined
  const letters = lettersOf(name)
  return RELIED_ON.find((other) => {
    if (!known.has(other)) return false
    const meant = lettersOf(other)
    return meant === letters || (meant.length > 5 && editDistance(meant, letters) === 1)
  })
}

/** `maxTokens`, `max_token` and `max-tokens` have the same. */
const lettersOf = (name: string): string =>
  name
    .replace(/[^a-z]/gi, '')
    .toLowerCase()
    .replace(/s$/, '')

/** An empty list or text, which some clients send for what was not given. */
export const saysNothing = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0)

const isAsked = (value: unknown): boolean => value != null && value !== false && !saysNothing(value)

/**
 * Notes the fields that nobody reads, so that the answer can name them: of a body of nothing else, not all 100,000. One that
 * is misspelt for what its caller relies on is refused.
 */
export function noteUnknown(object: JsonObject, known: ReadonlySet<string>, path: string, ignored: string[]): void {
  if (ignored.length > MOST_NAMED) return
  for (const name in object) {
    if (known.has(name)) continue
    const meant = isAsked(object[name]) ? meantBy(name, known) : undefined
    if (meant !== undefined) throw unsupported(at(path, name), `Did you mean '${meant}'?`)
    // One more than is named says that there are others.
    if (ignored.push(at(path, name)) > MOST_NAMED) return
  }
}

/** There is one way to be served: every other is ignored and named. */
export const aTier = oneOf(['auto', 'default'])
/** How long a model's answers are is its own: every word but the usual one is ignored and named. */
export const aVerbosity = oneOf(['medium'])

/** Up to 16 pairs of texts, which OpenAI keeps beside what is stored. */
export function readMetadata(value: unknown, param: string): Record<string, string> {
  const pairs = Object.entries(anObject(value, param))
  if (pairs.length > 16) {
    throw badRequest(
      param,
      `Invalid '${param}': too many properties. Expected at most 16.`,
      'object_above_max_properties',
    )
  }
  return Object.fromEntries(pairs.map(([name, text]) => [name, aString(text, at(param, name))]))
}
