import type { TextSource, ToolChoice, ToolSpec } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import {
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
  required,
  unsupported,
  wrongType,
  wrongValue,
} from './fields.js'

const KNOWN_TOOL = new Set(['type', 'function'])
const KNOWN_OUTER = new Set(['type', 'custom'])
const KNOWN_CHOICE = new Set(['type', 'function', 'custom', 'allowed_tools'])
const KNOWN_ALLOWED = new Set(['mode', 'tools'])
const KNOWN_FUNCTION = new Set(['name', 'description', 'parameters', 'strict'])
const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }
const MODES = ['none', 'auto', 'required'] as const

const someTools = anArray(1, 128)
/** None is said by an empty list as well. */
const anyTools = anArray(0, 128)
export const aToolName = aName(/^[a-zA-Z0-9_-]+$/, 64)
const anAllowedMode = oneOf(['auto', 'required'])

export interface ToolRequest {
  /** Those that may be called: `allowed_tools` has already taken its choice. */
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
}

export function readTools(body: JsonObject, ignored: string[], named = aToolName): ToolRequest {
  const tools = optional(body, 'tools', '', (value, param) => readSpecs(value, param, ignored, named)) ?? []
  const choice = body.tool_choice ?? undefined
  if (tools.length === 0) {
    // Clients that were given no tools send what they say of tools all the same.
    if (Array.isArray(body.tools) && (choice === undefined || choice === 'auto' || choice === 'none')) {
      return { tools, toolChoice: 'none', parallelToolCalls: true }
    }
    if (choice !== undefined && choice !== 'none') throw onlyWithTools('tool_choice')
    if (body.parallel_tool_calls != null) throw onlyWithTools('parallel_tool_calls')
    return { tools, toolChoice: 'none', parallelToolCalls: true }
  }
  const parallel = optional(body, 'parallel_tool_calls', '', aBoolean) ?? true
  if (isRecord(choice)) noteUnknown(choice, KNOWN_CHOICE, 'tool_choice', ignored)
  const chosen = chooseTools(choice, tools, ignored)
  // Naming a function asks for exactly one call of it, says the official description.
  return { ...chosen, parallelToolCalls: parallel && typeof chosen.toolChoice === 'string' }
}

function onlyWithTools(param: string) {
  return badRequest(
    param,
    `Invalid value for '${param}': it is only allowed when 'tools' are specified.`,
    'invalid_value',
  )
}

function readSpecs(value: unknown, param: string, ignored: string[], named: typeof aToolName): ToolSpec[] {
  const names = new Set<string>()
  return anyTools(value, param).flatMap((item, i) => {
    const tool = readSpec(item, at(param, i), ignored, named)
    if (tool === undefined) return []
    if (names.has(tool.name))
      throw namedTwice(tool.name, `${at(param, i)}.${isCustom(tool) ? 'custom' : 'function'}.name`)
    names.add(tool.name)
    return tool
  })
}

/** What a server runs by itself: its type. */
export interface HostedTool {
  readonly hosted: string
}

/** Clients send tools that a server runs unasked, beside functions of their own or alone: such are skipped, and named. */
export function readBesideHosted(
  tools: readonly unknown[],
  param: string,
  read: (tool: JsonObject, path: string) => ToolSpec | readonly ToolSpec[] | HostedTool,
): { readonly tools: readonly ToolSpec[]; readonly skipped: readonly string[] } {
  const specs = new Map<string, ToolSpec>()
  const skipped: string[] = []
  tools.forEach((item, i) => {
    const path = at(param, i)
    const found = read(anObject(item, path), path)
    if ('hosted' in found) skipped.push(found.hosted)
    else {
      for (const tool of [found].flat()) {
        if (specs.has(tool.name)) throw namedTwice(tool.name, at(path, 'name'))
        specs.set(tool.name, tool)
      }
    }
  })
  return { tools: [...specs.values()], skipped }
}

const namedTwice = (name: string, place: string) =>
  badRequest(place, `Invalid '${place}': there is more than one tool named '${name}'.`, 'invalid_value')

function readSpec(value: unknown, path: string, ignored: string[], named: typeof aToolName): ToolSpec | undefined {
  const tool = anObject(value, path)
  const type = required(tool, 'type', path, aString)
  // Several servers search for chats that say so; here nobody does.
  if (/^web_search\b/.test(type)) {
    ignored.push(path)
    return undefined
  }
  if (type === 'custom') {
    noteUnknown(tool, KNOWN_OUTER, path, ignored)
    return readCustomTool(required(tool, 'custom', path, anObject), at(path, 'custom'), ignored)
  }
  if (type !== 'function') throw wrongValue(at(path, 'type'), type, ['function', 'custom'])
  noteUnknown(tool, KNOWN_TOOL, path, ignored)
  const spec = required(tool, 'function', path, anObject)
  noteUnknown(spec, KNOWN_FUNCTION, at(path, 'function'), ignored)
  return readFunction(spec, at(path, 'function'), named)
}

const someCallers = anArray(1, 128)

/** A tool may be kept for programs that a model writes and a service runs. Nobody runs one here: a model calls it directly. */
export function checkCallers(tool: JsonObject, path: string): void {
  const param = at(path, 'allowed_callers')
  const callers = optional(tool, 'allowed_callers', path, someCallers)
  callers?.forEach((caller, i) => {
    const known = caller === 'programmatic' || (typeof caller === 'string' && /^code_execution_\d{8}$/.test(caller))
    if (!known) oneOf(['direct', 'programmatic'])(caller, at(param, i))
  })
  if (callers === undefined || callers.includes('direct')) return
  throw unsupported(
    param,
    "No programs that call tools are run here, so a model can only call this one itself: add 'direct'.",
  )
}

/** What every endpoint says of a function, wherever it stands. */
export function readFunction(spec: JsonObject, path: string, named = aToolName): ToolSpec {
  checkCallers(spec, path)
  const description = optional(spec, 'description', path, aString)
  return {
    name: required(spec, 'name', path, named),
    ...(description !== undefined && { description }),
    // Without parameters a tool takes none, says the official description.
    parameters: optional(spec, 'parameters', path, aParameters) ?? NO_PARAMETERS,
    strict: optional(spec, 'strict', path, aBoolean) ?? false,
  }
}

/** Arguments are always an object: a schema may leave that unsaid, and may not say otherwise. */
export function aParameters(value: unknown, param: string): JsonObject {
  // Null says the same as nothing here, too: Ollama's client in Go writes it for a tool without properties.
  const given = Object.entries(anObject(value, param)).filter(([, keyword]) => keyword !== null)
  const schema: JsonObject = Object.fromEntries(given)
  const { type = 'object' } = schema
  if (type === 'object' || (Array.isArray(type) && type.includes('object'))) return { ...schema, type: 'object' }
  const shown = JSON.stringify(type).slice(0, 100)
  throw badRequest(
    param,
    `Invalid '${param}': arguments are an object, so 'type' must be "object", not ${shown}.`,
    'invalid_value',
  )
}

function chooseTools(
  choice: unknown,
  tools: readonly ToolSpec[],
  ignored: string[],
): { tools: readonly ToolSpec[]; toolChoice: ToolChoice } {
  if (choice === undefined) return { tools, toolChoice: 'auto' }
  if (typeof choice === 'string') return { tools, toolChoice: oneOf(MODES)(choice, 'tool_choice') }
  if (!isRecord(choice)) throw wrongType('tool_choice', 'a string or an object', choice)
  const type = required(choice, 'type', 'tool_choice', aString)
  if (type === 'function' || type === 'custom') {
    return { tools, toolChoice: { name: namedTool(choice, 'tool_choice', tools) } }
  }
  if (type === 'allowed_tools') return chooseAllowed(choice, tools, ignored)
  throw wrongValue('tool_choice.type', type, ['function', 'custom', 'allowed_tools'])
}

function chooseAllowed(choice: JsonObject, tools: readonly ToolSpec[], ignored: string[]) {
  const path = 'tool_choice.allowed_tools'
  const allowed = required(choice, 'allowed_tools', 'tool_choice', anObject)
  noteUnknown(allowed, KNOWN_ALLOWED, path, ignored)
  const names = required(allowed, 'tools', path, someTools).map((item, i) => {
    const place = at(`${path}.tools`, i)
    return namedTool(anObject(item, place), place, tools)
  })
  const toolChoice = required(allowed, 'mode', path, anAllowedMode)
  return { tools: tools.filter(({ name }) => names.includes(name)), toolChoice }
}

function namedTool(choice: JsonObject, path: string, tools: readonly ToolSpec[]): string {
  const kind = choice.type === 'custom' ? 'custom' : 'function'
  const name = required(required(choice, kind, path, anObject), 'name', at(path, kind), aString)
  if (!tools.some((tool) => tool.name === name && isCustom(tool) === (kind === 'custom'))) {
    const param = `${path}.${kind}.name`
    throw badRequest(
      param,
      `Invalid '${param}': there is no tool named '${name.slice(0, 100)}' in 'tools'.`,
      'invalid_value',
    )
  }
  return name
}

/** The schema of an object that has these properties and no others. */
export const closedObject = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/**
 * Tools that take a text instead of an object: to a model and its template a function with one parameter, told to clients
 * as the text alone.
 */
const KNOWN_CUSTOM = new Set(['type', 'name', 'description', 'format', 'defer_loading', 'allowed_callers'])
const KNOWN_GRAMMAR = new Set(['syntax', 'definition'])
const KNOWN_FORMAT = new Set(['type', 'grammar', ...KNOWN_GRAMMAR])
const aCustomName = aName(/^[a-zA-Z0-9_-]+$/, 128)
const aSyntax = oneOf(['lark', 'regex'])
const ANY_TEXT: TextSource = { without: [] }

/** `spec` stands at `path`: the tool itself in a request for a response, `custom` of it in one for a chat. */
export function readCustomTool(spec: JsonObject, path: string, ignored: string[]): ToolSpec {
  noteUnknown(spec, KNOWN_CUSTOM, path, ignored)
  checkCallers(spec, path)
  const description = optional(spec, 'description', path, aString)
  const { input, words } = readFormat(spec, path, ignored)
  return {
    name: required(spec, 'name', path, aCustomName),
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
  if (holder !== format) noteUnknown(holder, KNOWN_GRAMMAR, where, ignored)
  const syntax = required(holder, 'syntax', where, aSyntax)
  const definition = required(holder, 'definition', where, aString)
  const words = syntax === 'lark' ? 'A text of this Lark grammar:' : 'A text that this expression matches:'
  return { input: syntax === 'lark' ? { lark: definition } : { regex: definition }, words: `${words}\n${definition}` }
}

/** What clients send and are told of a tool. */
const isCustom = ({ input }: ToolSpec): boolean => input !== undefined

/** The names of those among a request's tools. */
export const customNames = (tools: readonly ToolSpec[]): ReadonlySet<string> =>
  new Set(tools.filter(isCustom).map(({ name }) => name))

/** The arguments of a call that says this. */
export const argumentsOf = (input: string): string => JSON.stringify({ input })

const SHORT: ReadonlyMap<string, string> = new Map(Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }))
/** An escape that is not whole yet, and the first half of a letter of two: Python would keep them apart. */
const CUT = /(?:\\ud[89ab][\da-f]{2})?\\(?:u[\da-f]{0,3})?$|(?:\\ud[89ab][\da-f]{2}|[\ud800-\udbff])$/i
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
    const decoded = whole.replace(ESCAPE, (_, code: string | undefined, letter: string) =>
      code === undefined ? (SHORT.get(letter) ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    this.text += decoded
    return decoded
  }
}
