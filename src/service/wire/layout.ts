import type { OutputFormat } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { anInteger, aString, optional, refuse, unsupported } from './fields.js'

type Layout = NonNullable<Extract<OutputFormat, { type: 'json_object' }>['layout']>

/** vLLM's name for it, in its older form. */
const PATTERN = 'guided_whitespace_pattern'
export const LAYOUT_FIELDS: readonly string[] = ['layout', PATTERN]

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
export function readLayout(
  body: JsonObject,
  together: JsonObject | undefined,
): { layout: Layout; field: string } | undefined {
  if (body.layout == null && body[PATTERN] == null && together?.whitespace_pattern == null) return undefined
  const asked = [
    [body.layout, 'layout', aLayout],
    [body[PATTERN], PATTERN, layoutOfPattern],
    [together?.whitespace_pattern, 'structured_outputs.whitespace_pattern', layoutOfPattern],
  ] as const
  const [first, second] = asked.filter(([value]) => value !== undefined && value !== null)
  const [value, field, read] = first!
  if (second !== undefined) {
    const message = `Setting '${field}' and '${second[1]}' at the same time is not supported.`
    throw refuse(second[1], message, 'invalid_parameter_combination')
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
  const message = `Invalid '${field}': 'compact', 'spaced', { indent: 1 to 10 or a tab }, or { whitespace: 1 to 100 } (bytes in a row that the model may put where JSON allows it; those in 'of', where that is given) is expected.`
  throw refuse(field, message, 'invalid_value')
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
    "Only '' (compact) and up to so many blanks, as in '[ \\n\\t]{0,20}' or '\\s?', are done: white space without a bound loops. 'layout' has more.",
  )
}
