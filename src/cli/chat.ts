import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { createV1, type V1 } from '../v1.js'
import { ask, type Took, type Turn } from './ask.js'
import { obey, type Talk } from './chat-commands.js'
import { type EngineOptions, openEngine } from './engine.js'
import { Fault } from './fault.js'
import { note, paint, progressReporter } from './terminal.js'

export interface ChatOptions extends EngineOptions {
  readonly system?: string
  readonly schema?: string
  readonly maxTokens?: number
  readonly temperature?: number
}

/** One answer for `words` or what is piped in; a talk on a terminal. */
export async function chat(words: string, options: ChatOptions): Promise<void> {
  const schema = options.schema === undefined ? undefined : await readSchema(options.schema)
  const { engine, models } = await openEngine(options)
  const v1 = createV1({ engine, keys: 'none' })
  const model = models[0]!
  const system: Turn[] = options.system === undefined ? [] : [{ role: 'system', content: options.system }]
  const { temperature, maxTokens } = options
  const talk: Talk = { history: system, temperature, maxTokens, schema, readSchema }
  const say = (signal?: AbortSignal) => {
    const { history: messages, temperature, maxTokens, schema } = talk
    return print(ask(v1, { model, messages, temperature, maxTokens, schema, signal }))
  }
  try {
    await load(v1, model)
    const once = words || (process.stdin.isTTY ? '' : await readAll(process.stdin))
    if (once) {
      talk.history.push({ role: 'user', content: once })
      await say()
    } else await converse(talk, say)
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
  note(paint('dim', 'Ctrl-C stops an answer, Ctrl-D ends, /help tells more.'))
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  let answering: AbortController | undefined
  terminal.on('SIGINT', () => (answering ? answering.abort() : terminal.close()))
  terminal.setPrompt('> ')
  terminal.prompt()
  for await (const line of terminal) {
    if (line.startsWith('/')) {
      const said = await obey(line, talk).catch((error: Error) => error.message)
      if (said === undefined) break
      note(paint('dim', said))
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
