import type { TextSource, ToolChoice, ToolSpec } from '../../../../contract/index.js'
import { isRecord, type JsonObject } from '../../../../platform/index.js'
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
  wrongType,
  wrongValue,
} from '../../../wire/fields.js'
import { checkCallers, type HostedTool, readBesideHosted, readCustomTool, readFunction } from '../../../wire/tools.js'
import { isOwn, ownByType, ownTool } from './own-tools.js'

/** Tools that a service runs by itself. Clients send some by default beside functions of their own. */
const HOSTED: ReadonlySet<string> = new Set([
  'web_search',
  'web_search_preview',
  'web_search_2025_08_26',
  'web_search_preview_2025_03_11',
  'file_search',
  'computer',
  'computer_use_preview',
  'code_interpreter',
  'image_generation',
  'mcp',
  // In a container; one of the client's own is read before.
  'shell',
  'tool_search',
  'programmatic_tool_calling',
])
const isHosted = ({ type }: JsonObject): boolean => typeof type === 'string' && HOSTED.has(type)
const KNOWN = new Set([
  ...['type', 'name', 'description', 'parameters', 'strict'],
  ...['async', 'allowed_callers'],
  // Hints, which change nothing here: every tool is at hand.
  ...['defer_loading', 'output_schema'],
])
const KNOWN_SPACE = new Set(['type', 'name', 'description', 'tools'])
const KNOWN_CHOICE = new Set(['type', 'name', 'namespace', 'mode', 'tools'])
const KNOWN_OWN = new Set(['type', 'environment', 'allowed_callers'])
const MODES = ['none', 'auto', 'required'] as const

const someTools = anArray(0, 128)
const someAllowed = anArray(1, 128)
const aMode = oneOf(MODES)
const aNamespace = aName(/^[a-zA-Z0-9_-]+$/, 64)
const anAllowedMode = oneOf(['auto', 'required'])

export type Namespaces = ReadonlyMap<string, { readonly namespace: string; readonly name: string }>

/** What a model knows a tool of a namespace by: two of them may have tools of one name. */
export const nameWithin = (namespace: string | undefined, name: string): string =>
  namespace === undefined ? name : `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`

export interface ResponseTools {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  /** Types of hosted tools, which nobody runs here. */
  readonly skipped: readonly string[]
  /** Those that stand in a namespace, by the names that a model knows them by. */
  readonly spaces: Namespaces
  /** Those whose results may come later, while the conversation goes on: the names that a model knows them by. */
  readonly later: ReadonlySet<string>
  /** Those that a search is to load first: by the names that a model knows them by, what the search is told to find. */
  readonly deferred: ReadonlyMap<string, FoundTool>
  /** Where the parameters of the tool at a place of `tools` stand in the request. */
  readonly parametersOf: (tool: number) => string
  readonly echo: {
    readonly tools: readonly Readonly<Record<string, unknown>>[]
    readonly tool_choice: unknown
    readonly parallel_tool_calls: boolean
  }
}

/** What `additional_tools` brought before, and what tells where that is. */
export interface EarlierTools {
  readonly tools: readonly unknown[]
  readonly param: string
}

/**
 * `earlier`: of what the request goes on from, the oldest first; null: that is not known yet, and may have the tool that is
 * chosen.
 */
export function readResponseTools(
  body: JsonObject,
  ignored: string[],
  earlier: readonly EarlierTools[] | null,
): ResponseTools {
  const reader = new ToolReader()
  const { spaces, places } = reader
  const own = optional(body, 'tools', '', (value, param) => reader.read(value, param, ignored))
  // What is odd about those on the way is noted where they are read as items.
  const before = (earlier ?? []).map(({ tools, param }) => reader.read(tools, param, []))
  const onTheWay = [...before, ...additional(body.input, (value, param) => reader.read(value, param, []))]
  const tools = [...(own?.tools ?? []), ...newTo(own?.tools ?? [], onTheWay)]
  const later = reader.laterOf(tools)
  const skipped = [...(own ? [own] : []), ...onTheWay].flatMap((each) => each.skipped)
  const searched = skipped.includes('tool_search') && reader.deferred.size > 0
  const parallel = optional(body, 'parallel_tool_calls', '', aBoolean) ?? true
  const choice = body.tool_choice ?? undefined
  if (isRecord(choice)) noteUnknown(choice, KNOWN_CHOICE, 'tool_choice', ignored)
  const awaits = earlier === null && (isRecord(choice) || choice === 'required')
  const chosen = awaits ? { tools, toolChoice: 'auto' as const, echo: choice } : choose(choice, tools, spaces)
  return {
    tools: chosen.tools,
    toolChoice: chosen.toolChoice,
    parallelToolCalls: parallel && typeof chosen.toolChoice === 'string',
    skipped: searched ? skipped.filter((type) => type !== 'tool_search') : skipped,
    spaces,
    later,
    deferred: new Map(
      tools.flatMap((tool) => (searched && reader.deferred.has(tool) ? [[tool.name, found(tool, spaces, later)]] : [])),
    ),
    parametersOf: (tool) => at(places.get(chosen.tools[tool]!) ?? 'tools', 'parameters'),
    echo: { tools: tools.map((tool) => echoed(tool, later)), tool_choice: chosen.echo, parallel_tool_calls: parallel },
  }
}

type Given = Pick<ResponseTools, 'tools' | 'skipped'>

/** Lists of tools of one request, wherever in it they stand. */
class ToolReader {
  readonly spaces = new Map<string, { readonly namespace: string; readonly name: string }>()
  readonly places = new Map<ToolSpec, string>()
  readonly deferred = new Set<ToolSpec>()
  readonly #later = new Set<ToolSpec>()

  read(value: unknown, param: string, ignored: string[]): Given {
    return readBesideHosted(someTools(value, param), param, (tool, path) => {
      if (tool.type === 'namespace') return readNamespace(tool, path, this, ignored)
      const spec = readSpec(tool, path, ignored)
      if (!('hosted' in spec)) this.found(spec, tool, path)
      return spec
    })
  }

  found(spec: ToolSpec, tool: JsonObject, path: string): void {
    this.places.set(spec, path)
    if (optional(tool, 'async', path, aBoolean)) this.#later.add(spec)
    if (tool.defer_loading === true) this.deferred.add(spec)
  }

  /** Of tools, the names of those whose results may come later. */
  laterOf(tools: readonly ToolSpec[]): ReadonlySet<string> {
    return new Set(tools.filter((tool) => this.#later.has(tool)).map(({ name }) => name))
  }
}

/** Tools as an item gives them, once they have been found to be some. */
export function checkTools(value: unknown, param: string, ignored: string[]): readonly unknown[] {
  new ToolReader().read(value, param, ignored)
  return value as readonly unknown[]
}

/** A history says again what the request says; of what it says twice the last holds, where it stood first. */
function newTo(own: readonly ToolSpec[], more: readonly Given[]): ToolSpec[] {
  const ownNames = new Set(own.map(({ name }) => name))
  const all = more.flatMap(({ tools }) => tools.filter(({ name }) => !ownNames.has(name)))
  return [...new Map(all.map((tool) => [tool.name, tool])).values()]
}

/** Tools that become known on the way, in items of the input: to a model that reads all of it first, they are tools. */
function additional<T>(input: unknown, given: (value: unknown, param: string) => T): T[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item, i) =>
    isRecord(item) && item.type === 'additional_tools' ? [required(item, 'tools', at('input', i), given)] : [],
  )
}

type FoundTool = { readonly name: string } & Readonly<Record<string, unknown>>

/** As the official description has it. */
function found(tool: ToolSpec, spaces: Namespaces, later: ReadonlySet<string>): FoundTool {
  const { namespace, name = tool.name } = spaces.get(tool.name) ?? {}
  const each = { ...echoed(tool, later), name, defer_loading: true }
  if (namespace === undefined) return each
  return { type: 'namespace', name: namespace, description: '', tools: [each] }
}

/** Those of a namespace as a model has them: Open Responses knows no other form. */
function echoed(tool: ToolSpec, later: ReadonlySet<string>) {
  const { name, description, parameters, strict, input } = tool
  if (isOwn(tool)) return { type: name }
  const async = later.has(name) ? { async: true } : {}
  if (!input) return { type: 'function', name, description: description ?? null, parameters, strict, ...async }
  return { type: 'custom', name, ...(description !== undefined && { description }), format: formatOf(input), ...async }
}

function formatOf(input: TextSource): object {
  if ('lark' in input) return { type: 'grammar', syntax: 'lark', definition: input.lark }
  return 'regex' in input ? { type: 'grammar', syntax: 'regex', definition: input.regex } : { type: 'text' }
}

function readSpec(tool: JsonObject, path: string, ignored: string[]): ToolSpec | HostedTool {
  const type = required(tool, 'type', path, aString)
  const own = ownTool(tool)
  if (own) {
    noteUnknown(tool, KNOWN_OWN, path, ignored)
    checkCallers(tool, path)
    return own.spec
  }
  if (isHosted(tool)) return { hosted: type }
  if (type === 'custom') {
    // A chat has no such field, and names it as ignored.
    const { async: _, ...spec } = tool
    return readCustomTool(spec, path, ignored)
  }
  if (type !== 'function') throw wrongValue(at(path, 'type'), type, ['function', 'custom'])
  noteUnknown(tool, KNOWN, path, ignored)
  return readFunction(tool, path)
}

/** What a namespace says of itself the model reads before its first tool. */
function readNamespace(space: JsonObject, path: string, reader: ToolReader, ignored: string[]): readonly ToolSpec[] {
  noteUnknown(space, KNOWN_SPACE, path, ignored)
  const namespace = required(space, 'name', path, aNamespace)
  const about = optional(space, 'description', path, aString) ?? ''
  return required(space, 'tools', path, someTools).flatMap((item, i) => {
    const place = at(at(path, 'tools'), i)
    const given = anObject(item, place)
    const tool = readSpec(given, place, ignored)
    if ('hosted' in tool) {
      ignored.push(place)
      return []
    }
    const name = nameWithin(namespace, tool.name)
    reader.spaces.set(name, { namespace, name: tool.name })
    const description = [i === 0 ? about : '', tool.description].filter(Boolean).join('\n')
    const within = { ...tool, name, ...(description !== '' && { description }) }
    reader.found(within, given, place)
    return [within]
  })
}

interface Chosen {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly echo: unknown
}

function choose(choice: unknown, tools: readonly ToolSpec[], spaces: Namespaces): Chosen {
  const none = tools.length === 0
  if (choice === undefined) return { tools, toolChoice: none ? 'none' : 'auto', echo: 'auto' }
  if (typeof choice === 'string') {
    const mode = aMode(choice, 'tool_choice')
    if (none && mode === 'required') throw withoutTools()
    return { tools, toolChoice: none ? 'none' : mode, echo: mode }
  }
  if (!isRecord(choice)) throw wrongType('tool_choice', 'a string or an object', choice)
  const type = required(choice, 'type', 'tool_choice', aString)
  if (type === 'function' || type === 'custom') {
    const name = namedTool(choice, 'tool_choice', tools, spaces)
    return { tools, toolChoice: { name }, echo: { type, name: spaces.get(name)?.name ?? name } }
  }
  if (ownByType(type)) {
    const name = namedTool(choice, 'tool_choice', tools, spaces)
    // The interface has no form to choose a local shell by.
    return { tools, toolChoice: { name }, echo: type === 'local_shell' ? { type: 'function', name } : { type } }
  }
  if (type !== 'allowed_tools') {
    throw wrongValue('tool_choice.type', type, ['function', 'custom', 'allowed_tools', 'shell', 'apply_patch'])
  }
  const mode = optional(choice, 'mode', 'tool_choice', anAllowedMode) ?? 'auto'
  const names = required(choice, 'tools', 'tool_choice', someAllowed).flatMap((item, i) => {
    const place = at('tool_choice.tools', i)
    const tool = anObject(item, place)
    // One that a service runs is skipped here as well.
    const skipped = isHosted(tool) && !tools.some(({ name }) => name === tool.type)
    return skipped ? [] : namedTool(tool, place, tools, spaces)
  })
  if (names.length === 0 && mode === 'required') throw withoutTools()
  return {
    tools: tools.filter(({ name }) => names.includes(name)),
    toolChoice: names.length === 0 ? 'none' : mode,
    echo: {
      type,
      mode,
      tools: tools
        .filter(({ name }) => names.includes(name))
        .map((tool) =>
          isOwn(tool)
            ? { type: tool.name }
            : { type: tool.input ? 'custom' : 'function', name: spaces.get(tool.name)?.name ?? tool.name },
        ),
    },
  }
}

function namedTool(choice: JsonObject, path: string, tools: readonly ToolSpec[], spaces: Namespaces): string {
  const own = typeof choice.type === 'string' ? ownByType(choice.type) : undefined
  if (own) {
    if (tools.includes(own.spec)) return own.type
    const message = `Invalid '${at(path, 'type')}': there is no tool of the type '${own.type}' in 'tools'.`
    throw badRequest(at(path, 'type'), message, 'invalid_value')
  }
  const name = required(choice, 'name', path, aString)
  const known = nameWithin(optional(choice, 'namespace', path, aString), name)
  if (tools.some((tool) => tool.name === known)) return known
  const within = [...spaces].filter(([, space]) => space.name === name)
  if (within.length === 1) return within[0]![0]
  const param = at(path, 'name')
  throw badRequest(
    param,
    `Invalid '${param}': there is no function named '${name.slice(0, 100)}' in 'tools'.`,
    'invalid_value',
  )
}

function withoutTools() {
  return badRequest(
    'tool_choice',
    "Invalid value for 'tool_choice': 'required' needs 'tools' to choose from.",
    'invalid_value',
  )
}
