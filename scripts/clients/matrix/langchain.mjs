import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { tool } from 'langchain'
import { CALL, NAMES, SYSTEM, TOOLS, WORDS } from './agent.mjs'

export const forms = {
  ChatOpenAI: (asked) => conversation(asked, {}),
  'ChatOpenAI, useResponsesApi': (asked) => conversation(asked, { useResponsesApi: true }),
}

const tools = NAMES.map((name) =>
  tool(() => '', { name, description: TOOLS[name].description, schema: TOOLS[name].schema }),
)

function conversation({ url, key, model, history }, more) {
  const configuration = { baseURL: url }
  const chat = (maxTokens) =>
    new ChatOpenAI({ model, apiKey: key, maxRetries: 0, temperature: 0, maxTokens, configuration, ...more })
  const messages = [new SystemMessage(SYSTEM), ...history.map(messageOf)]
  return {
    // By responses it sends no `tool_choice`.
    cannotForce: more.useResponsesApi === true,
    say: (text) => messages.push(new HumanMessage(text)),
    async ask({ choice, stream }) {
      const isHeld = choice !== 'auto' && choice !== 'none'
      const named = typeof choice === 'object' ? choice.name : choice
      const bound = chat(isHeld ? CALL : Math.max(16, WORDS)).bindTools(tools, { tool_choice: named, strict: true })
      let message
      if (stream) {
        for await (const piece of await bound.stream(messages)) message = message ? message.concat(piece) : piece
      } else message = await bound.invoke(messages)
      const calls = (message.tool_calls ?? []).map(({ id, name, args: input }) => ({ id, name, input }))
      return { text: message.text, calls, message }
    },
    keep: ({ message }) => messages.push(message),
    results: (calls, texts) =>
      messages.push(...calls.map(({ id, name }, i) => new ToolMessage({ tool_call_id: id, name, content: texts[i] }))),
  }
}

function messageOf(turn) {
  if (turn.role === 'user') return new HumanMessage(turn.text)
  if (turn.role === 'tool') return new ToolMessage({ tool_call_id: turn.call.id, content: turn.text })
  const tool_calls = turn.calls.map(({ id, name, input: args }) => ({ type: 'tool_call', id, name, args }))
  return new AIMessage({
    content: turn.text,
    tool_calls,
    ...(turn.foreign && { id: 'msg_68a1f0c2d4e88190b7c9d1e3f5a7' }),
    ...(turn.thought && { additional_kwargs: { reasoning_content: turn.thought } }),
  })
}
