import type { OutputFormat, TextSource } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import {
  aBoolean,
  anArray,
  anInteger,
  anObject,
  aSchema,
  aString,
  at,
  badRequest,
  noteUnknown,
  optional,
  required,
  unsupported,
  wrongValue,
} from './fields.js'
import type { FieldNames } from './reply.js'
import type { Thinking } from './sampling.js'
import { aToolName } from './tools.js'

const TYPES = ['text', 'json_object', 'json_schema', 'structural_tag']
const KNOWN = new Set(['type', 'json_schema', 'schema'])
const KNOWN_FLAT = new Set([...KNOWN, 'strict'])
const KNOWN_SCHEMA = new Set(['name', 'description', 'strict', 'schema'])
const PATH = 'response_format'

export function readOutputFormat(body: JsonObject, ignored: string[]): OutputFormat {
  const format = optional(body, PATH, '', anObject)
  if (!format) return { type: 'text' }
  // vLLM's: all of its other fields describe the tags.
  if (format.type === 'structural_tag') return { type: 'grammar', source: { structuralTag: format } }
  // llama-server's form, in which 'strict' may stand as in that of responses.
  const isFlat = format.type === 'json_schema' && format.json_schema == null && format.schema != null
  noteUnknown(format, isFlat ? KNOWN_FLAT : KNOWN, PATH, ignored)
  const type = required(format, 'type', PATH, aString)
  if (type === 'text') return { type }
  if (isFlat) {
    const strict = optional(format, 'strict', PATH, aBoolean) ?? true
    return { type: 'json_schema', name: 'response', strict, schema: required(format, 'schema', PATH, aSchema) }
  }
  if (type === 'json_schema') return readJsonSchema(format, ignored)
  if (type !== 'json_object') throw wrongValue(`${PATH}.type`, type, TYPES)
  // What servers took before `json_schema` existed, and some clients still send.
  const schema = optional(format, 'schema', PATH, aSchema)
  return schema === undefined ? { type } : { type: 'json_schema', name: 'response', strict: false, schema }
}

function readJsonSchema(format: JsonObject, ignored: string[]): OutputFormat {
  const path = at(PATH, 'json_schema')
  const spec = required(format, 'json_schema', PATH, anObject)
  noteUnknown(spec, KNOWN_SCHEMA, path, ignored)
  const description = optional(spec, 'description', path, aString)
  const name = required(spec, 'name', path, aToolName)
  return {
    type: 'json_schema',
    name,
    ...(description !== undefined && { description }),
    strict: optional(spec, 'strict', path, aBoolean) ?? false,
    schema: heldToWords(name, required(spec, 'schema', path, aSchema)),
  }
}

const DAY = [
  '\\d{4}-(0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])',
  '\\d{4}-(0[469]|11)-(0[1-9]|[12]\\d|30)',
  '\\d{4}-02-(0[1-9]|1\\d|2[0-8])',
  '(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29',
].join('|')
const TIME = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d)?'

/**
 * What the AI SDK's `experimental_extract` asks of a language model in words alone, and then takes no other answer for: by the
 * description that it writes. Of these words, letter by letter, nothing else is known to be meant.
 */
const FORMS: ReadonlyMap<string, JsonObject> = new Map([
  ['A calendar date formatted as YYYY-MM-DD.', { type: 'string', format: 'date' }],
  ['A time of day formatted as HH:MM or HH:MM:SS.', { type: 'string', pattern: `^${TIME}$` }],
  [
    'An ISO 8601 date and time such as 2027-03-03T17:30:00, with a Z or +HH:MM offset only when the state gives one.',
    { type: 'string', pattern: `^(${DAY})T${TIME}(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)?$` },
  ],
  ['A nonnegative number of the given unit, seconds by default.', { minimum: 0 }],
])

/** A schema whose values are held to such words too: its documents are some of those that it had. */
export function heldToWords(name: string, schema: JsonObject | boolean): JsonObject | boolean {
  if (name !== 'extraction' || !isRecord(schema)) return schema
  const { properties } = schema
  if (!isRecord(properties)) return schema
  const held = Object.entries(properties).map(([name, property]) => [name, ofProperty(property)])
  return { ...schema, properties: Object.fromEntries(held) }
}

/** `{ anyOf: [value or list of values, null] }`. */
function ofProperty(property: unknown): unknown {
  if (!isRecord(property) || !Array.isArray(property.anyOf)) return property
  const [value, ...others] = property.anyOf as unknown[]
  if (!isRecord(value)) return property
  const held = isRecord(value.items) ? { ...value, items: ofValue(value.items) } : ofValue(value)
  return { ...property, anyOf: [held, ...others] }
}

function ofValue(value: JsonObject): JsonObject {
  const form = typeof value.description === 'string' ? FORMS.get(value.description) : undefined
  if (form === undefined || (form.type !== undefined && form.type !== value.type)) return value
  return { ...value, ...form }
}

type Layout = NonNullable<Extract<OutputFormat, { type: 'json_object' }>['layout']>

/** vLLM's name for it, in its older form. */
const PATTERN = 'guided_whitespace_pattern'
const LAYOUT_FIELDS: readonly string[] = ['layout', PATTERN]

const aWidth = anInteger(1, 100)
const anIndent = anInteger(1, 10)

/** A pattern of at most so many blanks, as vLLM and Outlines write it. */
const BLANKS = /^(?:([ \n\t\r]|\\[ntrs])|\[((?:[ \n\t\r]|\\[ntrs])+)\])(?:(\?)|\{0?,(\d+)\})$/
/** What letters behind a backslash mean. */
const KINDS = new Map([
  ['\\n', '\n'],
  ['\\t', '\t'],
  ['\\r', '\r'],
  ['\\s', ' \t\n\r'],
])

/** How the JSON of an answer is to be laid out; absent: as the service was told. `together`: vLLM's newer form. */
function readLayout(body: JsonObject, together: JsonObject | undefined): { layout: Layout; field: string } | undefined {
  if (body.layout == null && body[PATTERN] == null && together?.whitespace_pattern == null) return undefined
  const settings = [
    [body.layout, 'layout', aLayout],
    [body[PATTERN], PATTERN, layoutOfPattern],
    [together?.whitespace_pattern, 'structured_outputs.whitespace_pattern', layoutOfPattern],
  ] as const
  const [first, second] = settings.filter(([value]) => value !== undefined && value !== null)
  const [value, field, read] = first!
  if (second !== undefined) {
    const message = `Setting '${field}' and '${second[1]}' at the same time is not supported.`
    throw badRequest(second[1], message, 'invalid_parameter_combination')
  }
  return { layout: read(value, field), field }
}

function aLayout(value: unknown, field: string): Layout {
  if (value === 'compact' || value === 'spaced') return value
  if (isRecord(value)) {
    const { of, ...others } = value
    const whitespace = optional(others, 'whitespace', field, aWidth)
    const isBlank = of === undefined || (typeof of === 'string' && /^[ \t\n\r]+$/.test(of))
    if (whitespace !== undefined && isBlank && Object.keys(others).length === 1)
      return { whitespace, ...(of !== undefined && { of }) }
  }
  if (isRecord(value) && Object.keys(value).length === 1) {
    const indent = optional(value, 'indent', field, (given, param) => (given === '\t' ? given : anIndent(given, param)))
    if (indent !== undefined) return { indent: indent as number | '\t' }
  }
  const message = `Invalid '${field}': expected 'compact', 'spaced', { indent: 1 to 10 or a tab }, or { whitespace: 1 to 100 } (how many bytes of white space in a row the model may write where JSON allows it; only those in 'of', if it is given).`
  throw badRequest(field, message, 'invalid_value')
}

function layoutOfPattern(value: unknown, field: string): Layout {
  const pattern = aString(value, field)
  if (pattern === '') return 'compact'
  const found = BLANKS.exec(pattern)
  if (found) {
    const [, one, several, once, times] = found
    const of = (one ?? several!).replace(/\\[ntrs]/g, (letter) => KINDS.get(letter)!)
    const most = once === undefined ? Number(times) : 1
    return most === 0 ? 'compact' : { whitespace: aWidth(most, field), of }
  }
  throw unsupported(
    field,
    "Only '' (compact) and a limited number of blanks, as in '[ \\n\\t]{0,20}' or '\\s?', are supported: with no limit a model may write white space for ever. 'layout' has more.",
  )
}

/** What an answer must be, and the field that says so. */
interface Guidance {
  readonly output: OutputFormat
  readonly field: string
}

type Read = (value: unknown, field: string) => OutputFormat

const someChoices = anArray(1, 10_000)

const readJson: Read = (value, field) => {
  // vLLM takes the schema as text, too.
  const schema = typeof value === 'string' ? parsed(value, field, 'the schema is not JSON') : value
  return { type: 'json_schema', name: 'schema', strict: true, schema: aSchema(schema, field) }
}

const readGrammar = (text: string): TextSource => (text.includes('::=') ? { gbnf: text } : { lark: text })

const readRegex: Read = (value, field) => ({ type: 'grammar', source: { regex: aString(value, field) } })

/** Ollama's: `'json'`, or a schema. */
const readOllamaFormat: Read = (value, field) => (value === 'json' ? { type: 'json_object' } : readJson(value, field))

/** By what stands behind `guided_` and in `structured_outputs`. */
const CONSTRAINTS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['json', readJson],
  [
    'json_object',
    (value, field) => {
      if (value === true) return { type: 'json_object' }
      throw badRequest(field, `Invalid '${field}': it can only be true.`, 'invalid_value')
    },
  ],
  ['regex', readRegex],
  [
    'choice',
    (value, field) => {
      const choice = someChoices(value, field).map((one, i) => aString(one, at(field, i)))
      return { type: 'grammar', source: { choice } }
    },
  ],
  ['grammar', (value, field) => ({ type: 'grammar', source: readGrammar(aString(value, field)) })],
  [
    'structural_tag',
    (value, field) => {
      const description = anObject(typeof value === 'string' ? parsed(value, field, 'it is not JSON') : value, field)
      return { type: 'grammar', source: { structuralTag: description } }
    },
  ],
])

function parsed(text: string, field: string, fault: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest(field, `Invalid '${field}': ${fault}.`, 'invalid_value')
  }
}

/** vLLM's older fields, llama-server's, SGLang's and Ollama's. */
const ALONE: ReadonlyMap<string, Read> = new Map([
  ...[...CONSTRAINTS].map(([name, read]) => [`guided_${name}`, read] as const),
  ['grammar', (value, field) => ({ type: 'grammar', source: { gbnf: aString(value, field) } })],
  ['json_schema', readJson],
  ['regex', readRegex],
  ['ebnf', (value, field) => ({ type: 'grammar', source: readGrammar(aString(value, field)) })],
  ['format', readOllamaFormat],
])

/** vLLM's newer form. */
const TOGETHER = 'structured_outputs'
/** Which blanks JSON may hold is the layout's matter, and what is not enforced is never let pass. */
const HINTS = new Set(['disable_fallback', 'disable_any_whitespace', 'disable_additional_properties'])
const KNOWN_TOGETHER = new Set([...CONSTRAINTS.keys(), ...HINTS, 'whitespace_pattern'])

/** The same, with the places of those that stand together: every request is asked for each. */
const PLACED = [...CONSTRAINTS].map(([name, read]) => ({ name, field: at(TOGETHER, name), read }))
const PLACED_ALONE = [...ALONE].map(([name, read]) => ({ name, field: name, read }))

export const GUIDANCE_FIELDS: readonly string[] = [TOGETHER, ...ALONE.keys(), ...LAYOUT_FIELDS]

/** What vLLM's and llama-server's own fields ask of the answer; absent where they ask nothing. */
function readGuidance(body: JsonObject, together: JsonObject | undefined, ignored: string[]): Guidance | undefined {
  if (together !== undefined) noteUnknown(together, KNOWN_TOGETHER, TOGETHER, ignored)
  const given: { readonly value: unknown; readonly field: string; readonly read: Read }[] = []
  for (const [holder = {}, places] of [
    [together, PLACED],
    [body, PLACED_ALONE],
  ] as const) {
    for (const { name, field, read } of places) {
      const value = holder[name]
      if (value !== undefined && value !== null && value !== false) given.push({ value, field, read })
    }
  }
  const [first, second] = given
  if (first === undefined) {
    if (together === undefined) return undefined
    throw badRequest(TOGETHER, `Invalid '${TOGETHER}': it has none of the supported keys.`, 'invalid_value')
  }
  if (second !== undefined) throw atOnce(second.field, first.field)
  const { value, field, read } = first
  return { output: read(value, field), field }
}

/** What an answer must be. `outputField` says what asked for it where local servers' words did. */
export interface Form {
  readonly output: OutputFormat
  readonly outputField?: string
}

/** `output`, which `format` asked for, or in its place what local servers' fields ask. */
export function readForm(body: JsonObject, output: OutputFormat, format: string, ignored: string[]): Form {
  const together = optional(body, TOGETHER, '', anObject)
  const guidance = readGuidance(body, together, ignored)
  if (guidance !== undefined && output.type !== 'text') throw atOnce(guidance.field, format)
  const form: Form = guidance === undefined ? { output } : { output: guidance.output, outputField: guidance.field }
  const setting = readLayout(body, together)
  if (setting === undefined) return form
  if (form.output.type !== 'json_object' && form.output.type !== 'json_schema') {
    throw badRequest(
      setting.field,
      `Invalid '${setting.field}': it needs a JSON 'response_format' or another field that requests JSON.`,
      'invalid_parameter_combination',
    )
  }
  return { ...form, output: { ...form.output, layout: setting.layout } }
}

/** The names of a request's fields, with those which asked for the form and for thoughts. */
export function withNames(
  fields: FieldNames,
  outputField: Form['outputField'],
  thinkingField?: Thinking['thinkingField'],
): FieldNames {
  if (outputField === undefined && thinkingField === undefined) return fields
  return {
    ...fields,
    ...(outputField !== undefined && { format: outputField }),
    ...(thinkingField !== undefined && { thinking: thinkingField }),
  }
}

/** An answer can have one form. */
function atOnce(field: string, other: string): ReturnType<typeof badRequest> {
  const message = `Setting '${other}' and '${field}' at the same time is not supported.`
  return badRequest(field, message, 'invalid_parameter_combination')
}
