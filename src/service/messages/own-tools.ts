import type { ToolSpec } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { closedObject } from '../wire/closed-object.js'

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

/** What each command of an editor takes beside the path. */
function editor(name: string, inserted: string, undoes: boolean): ToolSpec {
  const command = (word: string, properties: JsonObject = {}, needed: readonly string[] = []) =>
    closedObject({ command: { const: word }, path: { ...TEXT, description: 'Of the file or folder' }, ...properties }, [
      ...['command', 'path'],
      ...needed,
    ])
  return {
    name,
    description:
      'Shows a file or folder (view), writes a new file (create), replaces a text that stands once in a file (str_replace), or inserts one behind a line (insert).',
    parameters: {
      type: 'object',
      anyOf: [
        command('view', { view_range: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 } }),
        command('create', { file_text: TEXT }, ['file_text']),
        command('str_replace', { old_str: TEXT, new_str: TEXT }, ['old_str', 'new_str']),
        command('insert', { insert_line: LINE, [inserted]: TEXT }, ['insert_line', inserted]),
        ...(undoes ? [command('undo_edit')] : []),
      ],
    },
    strict: true,
  }
}

/** The first that could not undo, and calls what it inserts by another name. */
const EDITS_ANEW = 20250429

/** By the type of a tool; undefined where a server runs it. */
export function ownTool(type: string): ToolSpec | undefined {
  const [, kind, date] = /^(bash|text_editor)_(\d{8})$/.exec(type) ?? []
  if (kind === undefined) return undefined
  if (kind === 'bash') return BASH
  return Number(date) < EDITS_ANEW
    ? editor('str_replace_editor', 'new_str', true)
    : editor('str_replace_based_edit_tool', 'insert_text', false)
}
