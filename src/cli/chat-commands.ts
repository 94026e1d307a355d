import { writeFile } from 'node:fs/promises'
import type { Turn } from './chat-parts.js'

/** What a talk goes on with. */
export interface Talk {
  history: Turn[]
  temperature?: number
  maxTokens?: number
  schema?: { readonly name: string; readonly schema: unknown }
  readonly readSchema: (file: string) => Promise<{ readonly name: string; readonly schema: unknown }>
}

interface ChatCommand {
  readonly takes: string
  readonly about: string
  /** What to say of it; `undefined` ends the talk. */
  readonly run: (talk: Talk, argument: string) => Promise<string | undefined> | string | undefined
}

const COMMANDS = new Map<string, ChatCommand>([
  ['help', { takes: '', about: 'these lines', run: () => help() }],
  [
    'clear',
    {
      takes: '',
      about: 'start a new conversation',
      run(talk) {
        talk.history = talk.history.filter(({ role }) => role === 'system')
        return 'A new conversation begins.'
      },
    },
  ],
  [
    'system',
    {
      takes: '[text]',
      about: 'instructions for the model; without a text: no instructions',
      run(talk, text) {
        const rest = talk.history.filter(({ role }) => role !== 'system')
        talk.history = text === '' ? rest : [{ role: 'system', content: text }, ...rest]
        return text === '' ? 'No instructions.' : 'Understood.'
      },
    },
  ],
  [
    'schema',
    {
      takes: '[file]',
      about: 'a JSON Schema that answers must satisfy; without a file: no schema',
      async run(talk, file) {
        talk.schema = file === '' ? undefined : await talk.readSchema(file)
        return file === '' ? 'Answers are text.' : `Answers are JSON that satisfies ${file}.`
      },
    },
  ],
  ['temperature', { takes: '<number>', about: 'from 0 to 2', run: (to, text) => number(to, 'temperature', text, 2) }],
  [
    'max-tokens',
    { takes: '<number>', about: 'the most tokens of an answer', run: (to, text) => number(to, 'maxTokens', text, 1e6) },
  ],
  [
    'undo',
    {
      takes: '',
      about: 'remove the last question and its answer',
      run(talk) {
        const last = talk.history.findLastIndex(({ role }) => role === 'user')
        if (last < 0) return 'There is no question to remove.'
        talk.history = talk.history.slice(0, last)
        return 'The last question and its answer are removed.'
      },
    },
  ],
  [
    'save',
    {
      takes: '<file>',
      about: 'save the conversation as JSON',
      async run({ history }, file) {
        if (file === '') return 'Name a file: /save chat.json'
        await writeFile(file, `${JSON.stringify(history, null, 2)}\n`)
        return `Saved to ${file}.`
      },
    },
  ],
  ['exit', { takes: '', about: 'end', run: () => undefined }],
])

/** Obeys a line that begins with `/`: what to say of it, or `undefined` where it ends the talk. */
export async function obey(line: string, talk: Talk): Promise<string | undefined> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? []
  const command = COMMANDS.get(name === 'bye' || name === 'quit' ? 'exit' : name)
  if (!command) return `There is no /${name}. ${help()}`
  return command.run(talk, argument.trim())
}

function help(): string {
  const lines = [...COMMANDS].map(([name, { takes, about }]) => `  ${`/${name} ${takes}`.padEnd(22)} ${about}`)
  return `Begin a line with:\n${lines.join('\n')}`
}

function number(to: Talk, key: 'temperature' | 'maxTokens', text: string, most: number): string {
  const value = Number(text)
  const isGood = text !== '' && value >= 0 && value <= most && (key === 'temperature' || Number.isInteger(value))
  if (!isGood) return `It must be a number from 0 to ${most}.`
  to[key] = value
  return `${key === 'temperature' ? 'Temperature' : 'At most'} ${value}${key === 'maxTokens' ? ' tokens' : ''}.`
}
