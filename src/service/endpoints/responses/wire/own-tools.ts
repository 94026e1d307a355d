import type { ToolSpec } from '../../../../contract/index.js'
import { isRecord, type JsonObject } from '../../../../platform/index.js'
import { anArray, anInteger, anObject, aString, at, oneOf, optional, required } from '../../../wire/fields.js'
import { closedObject } from '../../../wire/tools.js'
import type { OwnCallItem, OwnOutputItem } from './resource.js'

/**
 * Tools of OpenAI's that a client runs, whose calls have a form of their own: to a model each is a function of the fields
 * that the interface publishes.
 */
export interface OwnTool {
  readonly type: 'shell' | 'local_shell' | 'apply_patch'
  readonly spec: ToolSpec
  /** How ids of its calls begin. */
  readonly prefix: string
  /** What a call has beside its ids, of its arguments. */
  fields(args: JsonObject): Pick<OwnCallItem, 'action' | 'operation' | 'environment'>
  /** The arguments of a call that a client sends back, which it may have cut short. */
  argumentsOf(item: JsonObject, path: string): JsonObject
  /** An output as the text that the model reads. */
  textOf(item: JsonObject, path: string): string
}

const TEXT = { type: 'string' }
const MOMENT = { type: 'integer', minimum: 1, description: 'Milliseconds after which it is ended' }
const aLimit = anInteger(0, Number.MAX_SAFE_INTEGER)
const texts = anArray(0, Number.POSITIVE_INFINITY)
const OPERATIONS = ['create_file', 'update_file', 'delete_file'] as const
const anOperation = oneOf(OPERATIONS)
const anEnd = oneOf(['completed', 'failed'])

const someTexts = (value: unknown, param: string): readonly string[] =>
  texts(value, param).map((item, i) => aString(item, at(param, i)))

/** Fields of an object by their readers, without those that are not there. */
function read(
  holder: JsonObject,
  path: string,
  readers: Readonly<Record<string, (value: unknown, param: string) => unknown>>,
): JsonObject {
  const found = Object.entries(readers).map(([name, reader]) => [name, optional(holder, name, path, reader)])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

const shell: OwnTool = {
  type: 'shell',
  prefix: 'sh',
  spec: {
    name: 'shell',
    description: 'Runs commands in the shell of the machine in front of the user, and gives back what they print.',
    parameters: closedObject(
      {
        commands: { type: 'array', items: TEXT, minItems: 1, description: 'Each is run by itself' },
        timeout_ms: MOMENT,
        max_output_length: { type: 'integer', minimum: 1, description: 'Characters of output to give back at most' },
      },
      ['commands'],
    ),
    strict: true,
  },
  fields: ({ commands, timeout_ms = null, max_output_length = null }) => ({
    action: { commands, timeout_ms, max_output_length },
    environment: null,
  }),
  argumentsOf(item, path) {
    const action = required(item, 'action', path, anObject)
    const place = at(path, 'action')
    return {
      commands: required(action, 'commands', place, someTexts),
      ...read(action, place, { timeout_ms: aLimit, max_output_length: aLimit }),
    }
  },
  textOf: (item, path) =>
    required(item, 'output', path, texts)
      .map((each, i) => {
        const place = at(at(path, 'output'), i)
        const { outcome, ...output } = anObject(each, place)
        const ended = isRecord(outcome) ? outcome : {}
        const how = ended.type === 'timeout' ? 'timed out' : `exit code: ${ended.exit_code ?? 0}`
        const printed = ['stdout', 'stderr'].map((name) => optional(output, name, place, aString))
        return [...printed, `(${how})`].filter(Boolean).join('\n')
      })
      .join('\n\n'),
}

const localShell: OwnTool = {
  type: 'local_shell',
  prefix: 'lsh',
  spec: {
    name: 'local_shell',
    description: 'Runs a program on the machine in front of the user, and gives back what it prints.',
    parameters: closedObject(
      {
        command: { type: 'array', items: TEXT, minItems: 1, description: 'The program, and each of its arguments' },
        env: { type: 'object', additionalProperties: TEXT, description: 'Variables of its environment' },
        timeout_ms: MOMENT,
        user: TEXT,
        working_directory: TEXT,
      },
      ['command'],
    ),
    strict: true,
  },
  fields: ({ command, env = {}, ...others }) => ({ action: { type: 'exec', command, env, ...others } }),
  argumentsOf(item, path) {
    const action = required(item, 'action', path, anObject)
    const place = at(path, 'action')
    const readers = { env: anObject, timeout_ms: aLimit, user: aString, working_directory: aString }
    return { command: required(action, 'command', place, someTexts), ...read(action, place, readers) }
  },
  textOf: (item, path) => required(item, 'output', path, aString),
}

const applyPatch: OwnTool = {
  type: 'apply_patch',
  prefix: 'apc',
  spec: {
    name: 'apply_patch',
    description:
      'Creates, updates or deletes a file. A diff is in the V4A form: lines that begin with "+", "-" or a blank, behind "@@" where a part begins.',
    parameters: closedObject(
      {
        operation: {
          anyOf: [
            closedObject({ type: { enum: ['create_file', 'update_file'] }, path: TEXT, diff: TEXT }, [
              'type',
              'path',
              'diff',
            ]),
            closedObject({ type: { const: 'delete_file' }, path: TEXT }, ['type', 'path']),
          ],
        },
      },
      ['operation'],
    ),
    strict: true,
  },
  fields: ({ operation }) => ({ operation: operation as JsonObject }),
  argumentsOf(item, path) {
    const operation = required(item, 'operation', path, anObject)
    const place = at(path, 'operation')
    const type = required(operation, 'type', place, anOperation)
    const file = { type, path: required(operation, 'path', place, aString) }
    return {
      operation: type === 'delete_file' ? file : { ...file, diff: required(operation, 'diff', place, aString) },
    }
  },
  textOf(item, path) {
    const failed = required(item, 'status', path, anEnd) === 'failed'
    const output = optional(item, 'output', path, aString)
    return [failed ? 'Failed.' : 'Done.', output].filter(Boolean).join(' ')
  },
}

const ALL: ReadonlyMap<string, OwnTool> = new Map([shell, localShell, applyPatch].map((tool) => [tool.type, tool]))

/** A tool of a request, where it is one of these. A shell in a container is a server's. */
export function ownTool(tool: JsonObject): OwnTool | undefined {
  const own = typeof tool.type === 'string' ? ALL.get(tool.type) : undefined
  const { environment } = tool
  return own === shell && isRecord(environment) && environment.type !== 'local' ? undefined : own
}

/** The tools among these whose calls have a form of their own, by name. A function of the same name is none. */
export const ownTools = (tools: readonly ToolSpec[]): ReadonlyMap<string, OwnTool> =>
  new Map([...ALL].filter(([, { spec }]) => tools.includes(spec)))

export const isOwn = (tool: ToolSpec): boolean => ALL.get(tool.name)?.spec === tool

export const ownByType = (type: string): OwnTool | undefined => ALL.get(type)

const CALL = /^(shell|local_shell|apply_patch)_call$/
const OUTPUT = /^(shell|local_shell|apply_patch)_call_output$/

export const isOwnCall = (item: { readonly type: string }): item is OwnCallItem => CALL.test(item.type)
export const isOwnOutput = (item: { readonly type: string }): item is OwnOutputItem => OUTPUT.test(item.type)

/** A call as a model made it. */
export function madeCall(item: OwnCallItem): {
  readonly id: string
  readonly name: string
  readonly arguments: string
} {
  const name = CALL.exec(item.type)![1]!
  const args = ALL.get(name)!.argumentsOf(item as unknown as JsonObject, '')
  return { id: item.call_id, name, arguments: JSON.stringify(args) }
}

/** An output as a model is told it. */
export const outputText = (item: OwnOutputItem): string =>
  ALL.get(OUTPUT.exec(item.type)![1]!)!.textOf(item as unknown as JsonObject, '')
