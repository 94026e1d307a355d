/** The official clients of Python, by a process of it; `LOCAL_V1_PYTHON`: the folder that they are installed in. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { formsOf as anthropicForms } from './anthropic-forms.mjs'
import { formsOf as openaiForms } from './openai-forms.mjs'

const script = fileURLToPath(new URL('./python.py', import.meta.url))
const child = spawn('python3', [script], {
  env: { ...process.env, PYTHONPATH: process.env.LOCAL_V1_PYTHON },
  stdio: ['pipe', 'pipe', 'inherit'],
})
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()

/** One call after the other, as the agent makes them. */
async function call(asked) {
  child.stdin.write(`${JSON.stringify(asked)}\n`)
  const { value: line } = await lines.next()
  if (line === undefined) throw new Error('Python has ended.')
  const { value, error } = JSON.parse(line)
  if (error !== undefined) throw new Error(error)
  return value
}

/** `create` and `stream` of a part of a client, in the words of those of JavaScript. */
const part = (client, path, final, name) => {
  const asked = (body, more) => call({ ...client, path, body, ...more })
  return { create: (body) => asked(body), stream: (body) => ({ [name]: () => asked(body, { final }) }) }
}

class OpenAI {
  constructor({ baseURL: url, apiKey: key }) {
    const client = { client: 'openai', url, key }
    const completions = part(client, ['chat', 'completions'], 'get_final_completion', 'finalChatCompletion')
    this.chat = { completions }
    this.responses = part(client, ['responses'], 'get_final_response', 'finalResponse')
  }
}

class Anthropic {
  constructor({ baseURL: url, apiKey: key }) {
    this.messages = part({ client: 'anthropic', url, key }, ['messages'], 'get_final_message', 'finalMessage')
  }
}

const named = (name, forms) =>
  Object.fromEntries(Object.entries(forms).map(([form, open]) => [`${name}, ${form}`, open]))

export const forms = { ...named('openai', openaiForms(OpenAI)), ...named('anthropic', anthropicForms(Anthropic)) }
