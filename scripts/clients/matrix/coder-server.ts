/**
 * `coder-server.ts FOLDER ID...`: who asks as agents of the terminal do, with prompts too long for made-up weights, is
 * answered by a script; but each conversation goes through the chat template of its model first, and must be told whole.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { express } from '../../../adapters/express.js'
import { type ChatCall, type Part, textOf } from '../../../src/contract/engine.js'
import { scripted } from '../../../src/engines/scripted.js'
import { conversationText } from '../../../src/generate/prompt/conversation.js'
import { Guard, guarded } from '../../../src/generate/prompt/guard.js'
import { habitsOf } from '../../../src/generate/prompt/kept-calls.js'
import { JinjaTemplate } from '../../../src/generate/prompt/template.js'
import { toolFormatOf } from '../../../src/generate/tools/formats.js'
import { atOnce } from '../../../src/platform/turns.js'
import { messages } from '../../../src/service/endpoints/messages/index.js'
import { memoryResponses } from '../../../src/service/endpoints/responses/store/shelved.js'
import { createV1 } from '../../../src/service/v1.js'

const CALLS = 4
const [, , folder = '', ...ids] = process.argv

const templates = new Map(
  ids.map((id) => {
    const read = (name: string) => JSON.parse(readFileSync(join(folder, id, name), 'utf8'))
    const config = read('tokenizer_config.json')
    const tokens = new Set((read('tokenizer.json').added_tokens as { content: string }[]).map(({ content }) => content))
    const template = new JinjaTemplate(config.chat_template, { bos_token: '<s>', eos_token: config.eos_token })
    const format = toolFormatOf(template.source, (token) => tokens.has(token))
    return [id, { template, format, habits: atOnce(habitsOf(template, format)) }]
  }),
)

/** What a model is told, which must hold all that commands gave. */
function prompt(call: ChatCall): void {
  const { template, format, habits } = templates.get(call.model)!
  const text = atOnce(conversationText(call, new Guard('\ufdef', guarded([], [])), template, format, habits))
  for (const message of call.messages) {
    for (const [word] of textOf(message.content).matchAll(/sunny-\d+/g)) {
      if (!text.includes(word)) throw new Error(`What a command gave is lost in the template: ${word}`)
    }
  }
}

let made = 0

/** Runs commands by whichever tool runs them, so many times, then says what came of the last. */
function coder(call: ChatCall): Part[] | string {
  prompt(call)
  const lastQuestion = call.messages.findLastIndex(
    ({ role, content }) => role === 'user' && /\?|please|Think/.test(textOf(content)),
  )
  const since = call.messages.slice(lastQuestion + 1)
  const results = since.filter(({ role }) => role === 'tool')
  const tool = call.tools.find(({ name }) => /^((run_)?shell|exec_command|local_shell|bash)/i.test(name))
  if (!tool || call.toolChoice === 'none') return 'Hello there, you.'
  const words = textOf(call.messages[lastQuestion]?.content ?? '')
  if (results.length >= CALLS)
    return `I was told: ${/sunny-\d+/.exec(textOf(results.at(-1)!.content))?.[0] ?? 'nothing'}`
  const thoughts: Part[] = words.includes('Think') ? [{ type: 'reasoning-delta', choice: 0, text: 'Let me look.' }] : []
  const calls = words.includes('Two') ? 2 : 1
  return [
    ...thoughts,
    { type: 'text-delta', choice: 0, text: 'I look.' },
    ...Array.from({ length: calls }, (_, index): Part => {
      const input = JSON.stringify(commandOf(tool.parameters as Schema, `echo sunny-${++made}`))
      return { type: 'tool-call-delta', choice: 0, index, id: `call_${made}`, name: tool.name, arguments: input }
    }),
    { type: 'finish', choice: 0, reason: 'tool_calls' },
    { type: 'usage', usage: { promptTokens: 100, completionTokens: 9, cachedTokens: 0 } },
  ]
}

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
}

/** In the fields that a shell has: a text, or a list of words or of commands. */
function commandOf({ properties = {} }: Schema, command: string): object {
  if (properties.commands) return { commands: [command] }
  if (properties.cmd) return { cmd: command }
  const words = properties.command?.type === 'array' ? ['bash', '-lc', command] : command
  return { command: words, ...(properties.description && { description: 'Says it' }) }
}

const v1 = createV1({
  engine: scripted({ models: Object.fromEntries(ids.map((id) => [id, coder])) }),
  endpoints: [messages()],
  responses: memoryResponses(),
  keys: [process.env.LOCAL_V1_KEY!],
  bodyLimit: 2 ** 24,
  log: (entry) => void (entry.type === 'fault' && console.error(JSON.stringify(entry))),
})
const server = createServer(express(v1))
server.listen(0, '127.0.0.1', () => {
  const address = server.address() as { port: number }
  console.log(`http://127.0.0.1:${address.port}/v1`)
})
