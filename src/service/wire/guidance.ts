import type { OutputFormat, TextSource } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { aSchema } from './chat/output-format.js'
import type { Thinking } from './effort.js'
import { anArray, anObject, aString, at, noteUnknown, optional, refuse } from './fields.js'
import { LAYOUT_FIELDS, readLayout } from './layout.js'
import type { FieldNames } from './reply.js'

/** What an answer must be, and the field that says so. */
export interface Guidance {
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
      throw refuse(field, `Invalid '${field}': it can only be true.`, 'invalid_value')
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
    throw refuse(field, `Invalid '${field}': ${fault}.`, 'invalid_value')
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
const KNOWN = new Set([...CONSTRAINTS.keys(), ...HINTS, 'whitespace_pattern'])

/** The same, with the places of those that stand together: every request is asked for each. */
const PLACED = [...CONSTRAINTS].map(([name, read]) => ({ name, field: at(TOGETHER, name), read }))
const PLACED_ALONE = [...ALONE].map(([name, read]) => ({ name, field: name, read }))

export const GUIDANCE_FIELDS: readonly string[] = [TOGETHER, ...ALONE.keys(), ...LAYOUT_FIELDS]

/** What vLLM's and llama-server's own fields ask of the answer; absent where they ask nothing. */
export function readGuidance(body: JsonObject, ignored: string[]): Guidance | undefined {
  const together = optional(body, TOGETHER, '', anObject)
  if (together !== undefined) {
    noteUnknown(together, KNOWN, TOGETHER, ignored)
  }
  const asksFor =
    (holder: JsonObject) =>
    ({ name }: { readonly name: string }) => {
      const value = holder[name]
      return value !== undefined && value !== null && value !== false
    }
  const asked = PLACED_ALONE.filter(asksFor(body))
  if (together !== undefined) asked.unshift(...PLACED.filter(asksFor(together)))
  const [first, second] = asked
  if (first === undefined) {
    if (together === undefined) return undefined
    throw refuse(TOGETHER, `Invalid '${TOGETHER}': it has none of the supported keys.`, 'invalid_value')
  }
  if (second !== undefined) throw atOnce(second.field, first.field)
  const { name, field, read } = first
  return { output: read((field === name ? body : together!)[name], field), field }
}

/** What an answer must be. `outputField` says what asked for it where local servers' words did. */
export interface Form {
  readonly output: OutputFormat
  readonly outputField?: string
}

/** `output`, which `format` asked for, or in its place what local servers' fields ask. */
export function readForm(body: JsonObject, output: OutputFormat, format: string, ignored: string[]): Form {
  const guidance = readGuidance(body, ignored)
  if (guidance !== undefined && output.type !== 'text') throw atOnce(guidance.field, format)
  const form = guidance === undefined ? { output } : { output: guidance.output, outputField: guidance.field }
  return laidOut(form, body)
}

function laidOut(form: Form, body: JsonObject): Form {
  const asked = readLayout(body, optional(body, TOGETHER, '', anObject))
  if (asked === undefined) return form
  const { output } = form
  if (output.type !== 'json_object' && output.type !== 'json_schema') {
    throw refuse(
      asked.field,
      `Invalid '${asked.field}': it needs a JSON 'response_format' or another field that requests JSON.`,
      'invalid_parameter_combination',
    )
  }
  return { ...form, output: { ...output, layout: asked.layout } }
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
function atOnce(field: string, other: string): ReturnType<typeof refuse> {
  const message = `Setting '${other}' and '${field}' at the same time is not supported.`
  return refuse(field, message, 'invalid_parameter_combination')
}
