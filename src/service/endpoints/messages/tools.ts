import type { ToolChoice, ToolSpec } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import {
  aBoolean,
  aName,
  anArray,
  anObject,
  aString,
  badRequest,
  noteUnknown,
  oneOf,
  optional,
  required,
} from '../../wire/fields.js'
import { aParameters, checkCallers, closedObject, type HostedTool, readBesideHosted } from '../../wire/tools.js'

const KNOWN = new Set([
  ...['type', 'name', 'description', 'input_schema', 'strict', 'allowed_callers'],
  // Hints, which change nothing here.
  ...['cache_control', 'eager_input_streaming', 'input_examples', 'defer_loading'],
])
const KNOWN_CHOICE = new Set(['type', 'name', 'disable_parallel_tool_use'])
const someTools = anArray(0, 512)
const aToolName = aName(/^[a-zA-Z0-9_-]+$/, 128)
const aChoice = oneOf(['auto', 'any', 'tool', 'none'])

export interface MessageTools {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  readonly skipped: readonly string[]
}

export function readMessageTools(body: JsonObject, ignored: string[]): MessageTools {
  const read = (tool: JsonObject, path: string) => readSpec(tool, path, ignored)
  const { tools, skipped } = optional(body, 'tools', '', (value, param) =>
    readBesideHosted(someTools(value, param), param, read),
  ) ?? { tools: [], skipped: [] }
  const choice = optional(body, 'tool_choice', '', anObject)
  if (!choice) return { tools, toolChoice: tools.length === 0 ? 'none' : 'auto', parallelToolCalls: true, skipped }
  noteUnknown(choice, KNOWN_CHOICE, 'tool_choice', ignored)
  const type = required(choice, 'type', 'tool_choice', aChoice)
  if (tools.length === 0 && (type === 'any' || type === 'tool')) {
    const message = `Invalid value for 'tool_choice.type': '${type}' needs 'tools' to choose from.`
    throw badRequest('tool_choice.type', message, 'invalid_value')
  }
  const single = optional(choice, 'disable_parallel_tool_use', 'tool_choice', aBoolean) ?? false
  return { tools, toolChoice: chosen(type, choice, tools), parallelToolCalls: !single, skipped }
}

function chosen(type: ReturnType<typeof aChoice>, choice: JsonObject, tools: readonly ToolSpec[]): ToolChoice {
  if (tools.length === 0 || type === 'none') return 'none'
  if (type !== 'tool') return type === 'any' ? 'required' : 'auto'
  const name = required(choice, 'name', 'tool_choice', aString)
  if (tools.some((tool) => tool.name === name)) return { name }
  const message = `Invalid 'tool_choice.name': there is no tool named '${name.slice(0, 100)}' in 'tools'.`
  throw badRequest('tool_choice.name', message, 'invalid_value')
}

/** It is told in a header. */
const headerText = (type: string): string => type.slice(0, 80).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?')

/** Tools of other types are run by a server, but for those of the client's whose parameters Anthropic publishes. */
function readSpec(tool: JsonObject, path: string, ignored: string[]): ToolSpec | HostedTool {
  const type = optional(tool, 'type', path, aString) ?? 'custom'
  if (type !== 'custom') {
    const own = clientTool(type)
    if (!own) return { hosted: headerText(type) }
    noteUnknown(tool, KNOWN, path, ignored)
    checkCallers(tool, path)
    return { ...own, name: optional(tool, 'name', path, aToolName) ?? own.name }
  }
  noteUnknown(tool, KNOWN, path, ignored)
  checkCallers(tool, path)
  const description = optional(tool, 'description', path, aString)
  return {
    name: required(tool, 'name', path, aToolName),
    ...(description !== undefined && { description }),
    parameters: required(tool, 'input_schema', path, aParameters),
    strict: optional(tool, 'strict', path, aBoolean) ?? false,
  }
}

/**
 * Tools of Anthropic's that a client runs, each under the date of its version: to a model a function of the parameters
 * that Anthropic publishes, since its own models alone know them without.
 */
const TEXT = { type: 'string' }
const LINE = { type: 'integer', minimum: 0 }

const BASH: ToolSpec = {
  name: 'bash',
  description: 'Runs a command in a shell that stays as it is between calls, or starts that shell anew.',
  parameters: {
    type: 'object',
    anyOf: [
      closedObject({ command: { ...TEXT, description: 'What to run' } }, ['command']),
      closedObject({ restart: { const: true, description: 'Starts the shell anew' } }, ['restart']),
    ],
  },
  strict: true,
}

/** What a command of an editor takes beside the path. */
const command = (word: string, properties: JsonObject = {}, needed: readonly string[] = []) =>
  closedObject({ command: { const: word }, path: { ...TEXT, description: 'Of the file or folder' }, ...properties }, [
    ...['command', 'path'],
    ...needed,
  ])

const EDITS =
  'Shows a file or folder (view), writes a new file (create), replaces a text that stands once in a file (str_replace), or inserts one behind a line (insert).'

function editor(name: string, inserted: string, more: readonly JsonObject[], description = EDITS): ToolSpec {
  return {
    name,
    description,
    parameters: {
      type: 'object',
      anyOf: [
        command('view', { view_range: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 } }),
        command('create', { file_text: TEXT }, ['file_text']),
        command('str_replace', { old_str: TEXT, new_str: TEXT }, ['old_str', 'new_str']),
        command('insert', { insert_line: LINE, [inserted]: TEXT }, ['insert_line', inserted]),
        ...more,
      ],
    },
    strict: true,
  }
}

const MEMORY = editor(
  'memory',
  'insert_text',
  [
    command('delete'),
    closedObject({ command: { const: 'rename' }, old_path: TEXT, new_path: TEXT }, ['command', 'old_path', 'new_path']),
  ],
  `Notes that outlive this conversation, as files in /memories: look there first. ${EDITS} Files and folders can be removed (delete) and renamed (rename).`,
)

/** The first that could not undo, and calls what it inserts by another name. */
const EDITS_ANEW = 20250429

/** By the type of a tool; undefined where a server runs it. */
export function clientTool(type: string): ToolSpec | undefined {
  const [, kind, date] = /^(bash|memory|text_editor)_(\d{8})$/.exec(type) ?? []
  if (kind === undefined) return undefined
  if (kind !== 'text_editor') return kind === 'bash' ? BASH : MEMORY
  return Number(date) < EDITS_ANEW
    ? editor('str_replace_editor', 'new_str', [command('undo_edit')])
    : editor('str_replace_based_edit_tool', 'insert_text', [])
}
