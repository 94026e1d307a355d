import type { TextSource, ToolSpec } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { aName, aString, at, noteUnknown, oneOf, optional, required, wrongValue } from './fields.js'

/**
 * Tools that take a text instead of an object: to a model and its template a function with one parameter, told to clients
 * as the text alone.
 */
const KNOWN = new Set(['type', 'name', 'description', 'format', 'defer_loading', 'allowed_callers'])
const KNOWN_FORMAT = new Set(['type', 'grammar', 'syntax', 'definition'])
const aToolName = aName(/^[a-zA-Z0-9_-]+$/, 128)
const aSyntax = oneOf(['lark', 'regex'])
const ANY_TEXT: TextSource = { without: [] }

/** `spec` stands at `path`: the tool itself in a request for a response, `custom` of it in one for a chat. */
export function readCustomTool(spec: JsonObject, path: string, ignored: string[]): ToolSpec {
  noteUnknown(spec, KNOWN, path, ignored)
  const description = optional(spec, 'description', path, aString)
  const { input, words } = readFormat(spec, path, ignored)
  return {
    name: required(spec, 'name', path, aToolName),
    ...(description !== undefined && { description }),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', ...(words !== undefined && { description: words }) } },
      required: ['input'],
      additionalProperties: false,
    },
    strict: true,
    input,
  }
}

function readFormat(
  spec: JsonObject,
  path: string,
  ignored: string[],
): { readonly input: TextSource; readonly words?: string } {
  const format = spec.format ?? undefined
  const place = at(path, 'format')
  if (format === undefined) return { input: ANY_TEXT }
  if (!isRecord(format)) throw wrongValue(place, format, ['text', 'grammar'])
  noteUnknown(format, KNOWN_FORMAT, place, ignored)
  const type = required(format, 'type', place, aString)
  if (type === 'text') return { input: ANY_TEXT }
  if (type !== 'grammar') throw wrongValue(at(place, 'type'), type, ['text', 'grammar'])
  // A chat has it one step deeper.
  const [holder, where] = isRecord(format.grammar) ? [format.grammar, at(place, 'grammar')] : [format, place]
  const syntax = required(holder, 'syntax', where, aSyntax)
  const definition = required(holder, 'definition', where, aString)
  const words = syntax === 'lark' ? 'A text of this Lark grammar:' : 'A text that this expression matches:'
  return { input: syntax === 'lark' ? { lark: definition } : { regex: definition }, words: `${words}\n${definition}` }
}

/** What clients send and are told of a tool. */
export const isCustom = ({ input }: ToolSpec): boolean => input !== undefined

/** The names of those among a request's tools. */
export const customNames = (tools: readonly ToolSpec[]): ReadonlySet<string> =>
  new Set(tools.filter(isCustom).map(({ name }) => name))

/** The arguments of a call that says this. */
export const argumentsOf = (input: string): string => JSON.stringify({ input })

const SHORT: ReadonlyMap<string, string> = new Map(Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }))
/** An escape that is not whole yet. */
const CUT = /\\(?:u[0-9a-fA-F]{0,3})?$/
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs

/** Reads what a call says out of its arguments, `{"input":"..."}`, while they are written. */
export class CallInput {
  /** All that is known of it. */
  text = ''
  #rest = ''
  #begun = false
  #ended = false

  /** What is known of it now that the arguments go on with `json`. */
  push(json: string): string {
    if (this.#ended) return ''
    this.#rest += json
    if (!this.#begun) {
      const head = /^\s*\{\s*"input"\s*:\s*"/.exec(this.#rest)
      if (!head) return ''
      this.#begun = true
      this.#rest = this.#rest.slice(head[0].length)
    }
    const end = /^(?:[^"\\]|\\.)*"/s.exec(this.#rest)
    this.#ended = end !== null
    let whole = end ? end[0].slice(0, -1) : this.#rest
    // An even number of backslashes is no escape that was cut.
    const cut = end ? null : CUT.exec(whole.replaceAll('\\\\', '  '))
    if (cut) whole = whole.slice(0, cut.index)
    this.#rest = this.#rest.slice(whole.length)
    const said = whole.replace(ESCAPE, (_, code: string | undefined, letter: string) =>
      code === undefined ? (SHORT.get(letter) ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    this.text += said
    return said
  }
}
