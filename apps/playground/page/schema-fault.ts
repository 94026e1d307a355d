import { tooLong } from './format.js'
import { jsonFault } from './json-syntax.js'
import { lineOf, placeOf } from './json-tokens.js'

export interface SchemaFault {
  readonly message: string
  /** Counted from 1; undefined where no line can be named. */
  readonly line: number | undefined
}

/** Where the schema is at fault, from `/v1`'s refusal: `Invalid schema ...: In context=('properties', 'x'), 'y' is ...` */
export function faultOf(schema: string, refusal: string): SchemaFault {
  const found = /In context=\((.*?)\), ([\s\S]*)$/.exec(refusal)
  if (!found) return { message: refusal, line: undefined }
  const [, tuple = '', message = ''] = found
  const path = [...tuple.matchAll(/'((?:[^'\\]|\\.)*)'|"([^"]*)"/g)].map(([, a, b]) => unescaped(a ?? b ?? ''))
  // The keyword at fault is a word of the message: the first, of those between quotes before the others, that stands there.
  const quoted = [...message.matchAll(/['"]([\w$-]+)['"]/g)].map(([, word]) => word!)
  const words = [...quoted, ...(message.match(/[\w$-]+/g) ?? [])]
  const whole = placeOf(schema, path)
  const keyword = words.map((word) => placeOf(schema, path, word)).find((at) => at !== undefined && at !== whole)
  const at = keyword ?? whole
  // The page asks for strict answers alone.
  const advice = message.replace(/, or set 'strict' to false: [^.]*\.$/, '.')
  return { message: sentence(advice), line: at === undefined ? undefined : lineOf(schema, at) }
}

/** Of a schema that is the larger part of what does not fit. */
export const lengthFault = (refusal: string): SchemaFault => ({
  message: `${tooLong('With the text, the schema', refusal)} Ask for fewer fields.`,
  line: undefined,
})

/** Why a text is no JSON, with its line. */
export function syntaxFault(text: string): SchemaFault | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch {
    const { reason, at } = jsonFault(text) ?? { reason: 'something in it does not belong there', at: undefined }
    return { message: `This is not JSON: ${reason}.`, line: at === undefined ? undefined : lineOf(text, at) }
  }
}

const unescaped = (text: string) => text.replace(/\\(.)/g, '$1')

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
