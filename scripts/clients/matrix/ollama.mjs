import { Ollama } from 'ollama'
import { CALL, NAMES, parametersOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'

/** Ollama has no way to say that a call must be made: in its place the answer has a form. */
export const forms = { chat: conversation }

const tools = NAMES.map((name) => ({
  type: 'function',
  function: { name, description: TOOLS[name].description, parameters: parametersOf(name) },
}))

function conversation({ url, key, model, kind, history }) {
  const client = new Ollama({ host: url.replace(/\/v1$/, ''), headers: { Authorization: `Bearer ${key}` } })
  const messages = [{ role: 'system', content: SYSTEM }, ...history.map(messageOf)]
  return {
    say: (content) => messages.push({ role: 'user', content }),
    async ask({ choice, stream }) {
      const isHeld = choice !== 'auto' && choice !== 'none'
      const name = typeof choice === 'object' ? choice.name : 'weather'
      const asked = {
        model,
        messages,
        options: { temperature: 0, num_predict: isHeld ? CALL : WORDS },
        ...(isHeld ? { format: parametersOf(name) } : choice === 'auto' && { tools }),
        ...(kind === 'thoughts' && !isHeld && { think: true }),
      }
      let text = ''
      let calls = []
      let thinking = ''
      const take = ({ message }) => {
        text += message.content
        thinking += message.thinking ?? ''
        calls = [...calls, ...(message.tool_calls ?? [])]
      }
      if (stream) for await (const part of await client.chat({ ...asked, stream: true })) take(part)
      else take(await client.chat(asked))
      const message = {
        role: 'assistant',
        content: text,
        ...(thinking && { thinking }),
        ...(calls.length > 0 && { tool_calls: calls }),
      }
      if (isHeld) return { text: '', calls: [{ name, input: JSON.parse(text) }], answered: true, message }
      return {
        text,
        calls: calls.map((call) => ({ name: call.function.name, input: call.function.arguments })),
        message,
      }
    },
    keep: ({ message }) => messages.push(message),
    results: (calls, texts) =>
      messages.push(...calls.map(({ name }, i) => ({ role: 'tool', tool_name: name, content: texts[i] }))),
  }
}

function messageOf(turn) {
  if (turn.role === 'user') return { role: 'user', content: turn.text }
  if (turn.role === 'tool') return { role: 'tool', tool_name: turn.call.name, content: turn.text }
  const tool_calls = turn.calls.map(({ name, input }) => ({ function: { name, arguments: input } }))
  return {
    role: 'assistant',
    content: turn.text,
    ...(turn.thought && { thinking: turn.thought }),
    ...(tool_calls.length > 0 && { tool_calls }),
  }
}
