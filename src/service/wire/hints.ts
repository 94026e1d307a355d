import type { JsonObject } from '../../platform/index.js'
import { aBoolean, anArray, anObject, aString, at, badRequest, hint, oneOf, optional, unsupported } from './fields.js'

/** Fields that may be there and change nothing in the answer. */
export const HINTS = [
  'user',
  'safety_identifier',
  'metadata',
  'store',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'prediction',
  'modalities',
  'verbosity',
] as const

/** Fields that would change the answer and cannot be honoured. */
const WHY = new Map([
  ['functions', "It is deprecated: use 'tools' instead."],
  ['function_call', "It is deprecated: use 'tool_choice' instead."],
  ['audio', 'Audio is not supported: ask for text.'],
  ['moderation', 'Moderation is not supported: leave it out.'],
  // Those of the other interfaces, which whoever sends them relies on.
  ['text', "In a chat it is 'response_format' and 'verbosity'."],
  ['max_output_tokens', "In a chat it is 'max_completion_tokens'."],
  ['stop_sequences', "In a chat it is 'stop'."],
  ['instructions', "In a chat it is a message of the role 'system'."],
  ['system', "In a chat it is a message of the role 'system'."],
  ['previous_response_id', "A chat has all of its 'messages': what is stored is continued by 'responses'."],
  ['conversation', "A chat has all of its 'messages': what is stored is continued by 'responses'."],
])

export const REFUSED = [...WHY.keys()]

export function refuseUnsupported(body: JsonObject): void {
  for (const [name, why] of WHY) if (body[name] != null) throw unsupported(name, why)
}

/** There is one way to be served: every other is ignored and named. */
export const aTier = oneOf(['auto', 'default'])
/** As long as the model likes, which is what every answer is. */
const asItComes = oneOf(['medium'])
/** Of a chat nothing is kept. */
const notStored = (value: unknown, param: string): void => {
  if (aBoolean(value, param)) throw unsupported(param, 'Nothing is stored.')
}
const someModalities = anArray(1, 2)
const aModality = oneOf(['text', 'audio'])

/** Those that cannot be done are named in `ignored`. */
export function acceptHints(body: JsonObject, ignored: string[]): void {
  optional(body, 'user', '', aString)
  optional(body, 'safety_identifier', '', aString)
  optional(body, 'prompt_cache_key', '', aString)
  optional(body, 'prompt_cache_retention', '', aString)
  optional(body, 'prompt_cache_options', '', anObject)
  optional(body, 'prediction', '', anObject)
  optional(body, 'metadata', '', readMetadata)
  hint(body, 'service_tier', '', aTier, ignored)
  hint(body, 'store', '', notStored, ignored)
  readVerbosity(body, '', ignored)
  optional(body, 'modalities', '', readModalities)
}

/** How long a model's answers are is its own: every word but the usual one is ignored and named. */
export const readVerbosity = (object: JsonObject, path: string, ignored: string[]) =>
  hint(object, 'verbosity', path, asItComes, ignored)

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

function readModalities(value: unknown, param: string): void {
  someModalities(value, param).forEach((item, i) => {
    if (aModality(item, at(param, i)) === 'audio') throw unsupported(param, 'Only text can be generated.')
  })
}
