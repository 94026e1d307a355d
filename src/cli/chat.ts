import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { createV1, type V1 } from '../v1.js'
import { ask, type Turn } from './ask.js'
import { type EngineOptions, openEngine } from './engine.js'
import { Fault } from './fault.js'
import { note, paint, progressReporter } from './terminal.js'

export interface ChatOptions extends EngineOptions {
  readonly system?: string
  readonly schema?: string
  readonly maxTokens?: number
  readonly temperature?: number
}

/** One answer for `words` or what is piped in; a conversation on a terminal. */
export async function chat(words: string, options: ChatOptions): Promise<void> {
  const schema = options.schema === undefined ? undefined : await readSchema(options.schema)
  const { engine, models } = await openEngine(options)
  const v1 = createV1({ engine, keys: 'none' })
  const model = models[0]!
  const system: Turn[] = options.system === undefined ? [] : [{ role: 'system', content: options.system }]
  const say = (messages: readonly Turn[], signal?: AbortSignal) =>
    print(ask(v1, { ...options, model, messages, schema, signal }))
  try {
    await load(v1, model)
    const once = words || (process.stdin.isTTY ? '' : await readAll(process.stdin))
    if (once) await say([...system, { role: 'user', content: once }])
    else await converse(system, say)
  } finally {
    await v1.close()
  }
}

async function load(v1: V1, model: string): Promise<void> {
  const progress = progressReporter()
  const interrupt = new AbortController()
  const stop = () => interrupt.abort()
  process.once('SIGINT', stop)
  try {
    await v1.load(model, progress.report, interrupt.signal)
  } finally {
    process.off('SIGINT', stop)
    progress.stop()
  }
}

async function print(deltas: AsyncIterable<string>): Promise<string> {
  let answer = ''
  for await (const delta of deltas) {
    answer += delta
    process.stdout.write(delta)
  }
  process.stdout.write('\n')
  return answer
}

/** Ctrl-C stops the answer; at the prompt, it ends the conversation. */
async function converse(
  history: Turn[],
  say: (messages: readonly Turn[], signal: AbortSignal) => Promise<string>,
): Promise<void> {
  note(paint('dim', 'Ctrl-C stops an answer, Ctrl-D ends.'))
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let answering: AbortController | undefined
  terminal.on('SIGINT', () => (answering ? answering.abort() : terminal.close()))
  terminal.setPrompt('> ')
  terminal.prompt()
  for await (const line of terminal) {
    if (line.trim()) {
      history.push({ role: 'user', content: line })
      answering = new AbortController()
      try {
        history.push({ role: 'assistant', content: await say(history, answering.signal) })
      } catch (error) {
        history.pop()
        if (!answering.signal.aborted) note(paint('red', `error: ${error instanceof Error ? error.message : error}`))
        else process.stdout.write('\n')
      }
      answering = undefined
    }
    terminal.prompt()
  }
}

async function readSchema(file: string): Promise<{ name: string; schema: unknown }> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Fault(`The schema file ${file} cannot be read: ${(cause as Error).message}`)
  })
  try {
    return { name: 'answer', schema: JSON.parse(text) as unknown }
  } catch (cause) {
    throw new Fault(`The schema file ${file} is not JSON: ${(cause as Error).message}`)
  }
}
