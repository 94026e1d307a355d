import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { obey, type Talk } from './chat-commands.js'
import { chatParts, type Took, type Turn } from './chat-parts.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { readJsonFile } from './json-file.js'
import { OwnV1 } from './load.js'
import { note, paint } from './terminal.js'

export interface ChatCommandOptions extends EngineOptions {
  readonly system?: string
  readonly schema?: string
  readonly maxTokens?: number
  readonly temperature?: number
}

/** One answer for `words` or what is piped in; a talk on a terminal. */
export async function chatCommand(words: string, options: ChatCommandOptions): Promise<void> {
  const schema = options.schema === undefined ? undefined : await readSchema(options.schema)
  const own = await OwnV1.open(options)
  const { v1, model } = own
  const system: Turn[] = options.system === undefined ? [] : [{ role: 'system', content: options.system }]
  const { temperature, maxTokens } = options
  const talk: Talk = { history: system, temperature, maxTokens, schema, readSchema }
  const say = (signal?: AbortSignal) => {
    const { history: messages, temperature, maxTokens, schema } = talk
    return print(chatParts(v1, { model, messages, temperature, maxTokens, schema, signal }))
  }
  try {
    const once = words || (process.stdin.isTTY ? '' : await piped(own))
    if (once) {
      talk.history.push({ role: 'user', content: once })
      const reply = say()
      await own.loadFor(reply)
      await reply
    } else {
      await own.load()
      await converse(talk, say)
    }
  } finally {
    await v1.close()
  }
}

/** What is piped in. It may never end: nobody waits for it, nor does the process, where the model cannot be loaded. */
async function piped(own: OwnV1): Promise<string> {
  const { stdin } = process
  try {
    const text = await own.whileLoading(readAll(stdin))
    // What has ended already would never ask a question of a talk.
    if (text.trim() === '') throw new Fault('Give a message, or send it on standard input: local-v1 chat "Hello!"')
    return text
  } catch (error) {
    stdin.destroy()
    throw error
  }
}

async function print(deltas: AsyncGenerator<string, Took>): Promise<string> {
  let answer = ''
  for (;;) {
    const { done, value } = await deltas.next()
    if (done) {
      process.stdout.write('\n')
      // For who watches; what is piped on is told apart from the answer anyway.
      if (process.stderr.isTTY) note(paint('dim', tookLine(value)))
      return answer
    }
    answer += value
    process.stdout.write(value)
  }
}

/** The pace is that of the writing: what came before the first token was reading. */
function tookLine({ tokens, firstMs, wholeMs }: Took): string {
  const writing = wholeMs - firstMs
  const pace = tokens > 1 && writing > 20 ? `, ${(((tokens - 1) * 1000) / writing).toFixed(1)} a second` : ''
  return `${tokens} tokens${pace}, the first after ${Math.round(firstMs)} ms`
}

/** Ctrl-C stops the answer; at the prompt, it ends the talk. */
async function converse(talk: Talk, say: (signal: AbortSignal) => Promise<string>): Promise<void> {
  note(paint('dim', 'Ctrl-C stops an answer, Ctrl-D ends, /help lists the commands.'))
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let answering: AbortController | undefined
  terminal.on('SIGINT', () => (answering ? answering.abort() : terminal.close()))
  terminal.setPrompt('> ')
  terminal.prompt()
  for await (const line of terminal) {
    if (line.startsWith('/')) {
      const output = await obey(line, talk).catch((error: Error) => error.message)
      if (output === undefined) break
      note(paint('dim', output))
    } else if (line.trim()) {
      const { history } = talk
      history.push({ role: 'user', content: line })
      answering = new AbortController()
      try {
        history.push({ role: 'assistant', content: await say(answering.signal) })
      } catch (error) {
        history.pop()
        if (!answering.signal.aborted) note(paint('red', `error: ${error instanceof Error ? error.message : error}`))
        else process.stdout.write('\n')
      }
      answering = undefined
    }
    terminal.prompt()
  }
  terminal.close()
}

const readSchema = async (file: string) => ({ name: 'answer', schema: await readJsonFile('schema', file) })
