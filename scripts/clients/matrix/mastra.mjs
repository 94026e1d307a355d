import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { CALL, NAMES, resultOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'

export const forms = { Agent: conversation }

function conversation({ url, key, model, history }) {
  const tools = Object.fromEntries(
    NAMES.map((name, i) => [
      name,
      createTool({
        id: name,
        description: TOOLS[name].description,
        inputSchema: TOOLS[name].schema,
        execute: async () => resultOf({ name }, i),
      }),
    ]),
  )
  const local = { id: `local/${model}`, url, apiKey: key }
  const agent = new Agent({ id: 'one', name: 'One', instructions: SYSTEM, model: local, tools, maxRetries: 0 })
  const messages = history.map(messageOf)
  const known = new Set()
  return {
    say: (content) => messages.push({ role: 'user', content }),
    async ask({ choice, stream }) {
      const isHeld = choice !== 'auto' && choice !== 'none'
      const options = {
        maxSteps: 1,
        toolChoice: typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : choice,
        modelSettings: { temperature: 0, maxOutputTokens: isHeld ? CALL : WORDS, maxRetries: 0 },
      }
      const result = stream ? await agent.stream(messages, options) : await agent.generate(messages, options)
      const [text, response] = await Promise.all([result.text, result.response])
      const error = await result.error
      if (error) throw error
      const parts = response.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
      // Calls that were made before stand among them, and those of a stream twice.
      const calls = parts
        .filter(({ type, toolCallId }, i) => {
          const isSame = (other) => other.type === type && other.toolCallId === toolCallId
          return type === 'tool-call' && !known.has(toolCallId) && parts.findIndex(isSame) === i
        })
        .map(({ toolCallId: id, toolName: name, input }) => ({ id, name, input }))
      return { text, calls, answered: true, response }
    },
    keep({ calls, response }) {
      for (const { id } of calls) known.add(id)
      messages.push(...response.messages)
    },
    results: () => {},
  }
}

function messageOf(turn) {
  if (turn.role === 'user') return { role: 'user', content: [{ type: 'text', text: turn.text }] }
  if (turn.role === 'tool') {
    const { id: toolCallId, name: toolName } = turn.call
    return {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: turn.text } }],
    }
  }
  const calls = turn.calls.map(({ id, name, input }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input }))
  return { role: 'assistant', content: [...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]), ...calls] }
}
