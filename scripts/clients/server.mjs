/**
 * The scripted engine behind `/v1`: for what a model as small as nano does not do by itself, which is to call a tool when it sees
 * fit and to go on from its result. Everything between the client and the engine is as it is with a model.
 */
import { createServer } from 'node:http'
import { createV1 } from 'local-v1'
import { express } from 'local-v1/express'
import { messages } from 'local-v1/messages'
import { ollama } from 'local-v1/ollama'
import { scripted } from 'local-v1/testing'

const tokens = (n) => ({ type: 'usage', usage: { promptTokens: 12, completionTokens: n, cachedTokens: 0 } })

let calls = 0
/** Of its own for each call, as every model's are: who keeps a history takes what came of an id for the answer to it. */
const callId = () => `call_${++calls}`

/** Calls the first tool that it was not yet told the result of, then says what it was told. */
function agent({ messages, tools, toolChoice }) {
  const told = messages.at(-1)
  if (told?.role === 'tool') return `I was told: ${told.content}`
  if (tools.length === 0 || toolChoice === 'none') return 'Hello there, you.'
  const { name } = tools[0]
  return [
    { type: 'tool-call-delta', choice: 0, index: 0, id: callId(), name, arguments: '{"city":' },
    { type: 'tool-call-delta', choice: 0, index: 0, arguments: '"Bern"}' },
    { type: 'finish', choice: 0, reason: 'tool_calls' },
    tokens(7),
  ]
}

/** Runs one command by whichever tool runs commands, and says what came of it; patches, where that is what it is given. */
function coder({ messages, tools, toolChoice }) {
  // Some clients say more behind a result.
  const told = messages
    .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
    .find(({ role }) => role === 'tool')
  if (told) return `I was told: ${told.content}`
  const tool = tools.find(({ name }) => /^((run_)?shell|exec_command|local_shell|bash|apply_patch)/i.test(name))
  if (!tool || toolChoice === 'none') return 'Hello there, you.'
  return [
    {
      type: 'tool-call-delta',
      choice: 0,
      index: 0,
      id: callId(),
      name: tool.name,
      arguments: JSON.stringify(runs(tool)),
    },
    { type: 'finish', choice: 0, reason: 'tool_calls' },
    tokens(9),
  ]
}

const COMMAND = 'echo sunny in Bern'
/** In the fields that it has: a text, or a list of words or of commands. */
function runs({ name, parameters }) {
  const { command, cmd, commands, description } = parameters.properties ?? parameters.anyOf?.[0].properties ?? {}
  if (commands) return { commands: [COMMAND] }
  if (cmd) return { cmd: COMMAND }
  const told = command?.type === 'array' ? ['bash', '-lc', COMMAND] : COMMAND
  if (command) return { command: told, ...(description && { description: 'Says it' }) }
  if (name === 'apply_patch') return { operation: { type: 'create_file', path: 'bern.txt', diff: '+sunny\n' } }
  return {}
}

/** As `agent`; its thoughts are told too. */
const thinker = () => [
  { type: 'reasoning-delta', choice: 0, text: 'Let me ' },
  { type: 'reasoning-delta', choice: 0, text: 'think.' },
  { type: 'text-delta', choice: 0, text: 'Four.' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'usage', usage: { promptTokens: 12, completionTokens: 5, cachedTokens: 0, reasoningTokens: 3 } },
]

/** Letters counted: texts that share many lie near each other. */
function embed(input, dimensions = 26) {
  const vector = new Float32Array(dimensions)
  for (const letter of typeof input === 'string' ? input.toLowerCase() : '') {
    const at = letter.charCodeAt(0) - 97
    if (at >= 0 && at < dimensions) vector[at]++
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}

const engine = scripted({
  models: { 'scripted/agent': agent, 'scripted/thinker': thinker, 'scripted/coder': coder },
  capabilities: { embeddings: true, rerank: true, sampling: true },
  embed,
})
/** By how many of the query's words a document has. */
const rank = async ({ query, documents }) => {
  const words = query.toLowerCase().match(/\w+/g) ?? []
  const scores = documents.map(
    (each) => words.filter((word) => each.toLowerCase().includes(word)).length / words.length,
  )
  return { scores, promptTokens: 1 }
}
const v1 = createV1({
  engine: { ...engine, rank },
  endpoints: [messages(), ollama()],
  keys: [process.env.LOCAL_V1_KEY],
})
const server = createServer(express(v1))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1`))
