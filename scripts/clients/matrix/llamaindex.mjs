import { OpenAI, OpenAIResponses } from '@llamaindex/openai'
import { tool } from 'llamaindex'
import { CALL, NAMES, SYSTEM, TOOLS, WORDS } from './agent.mjs'
import { read } from './openai-forms.mjs'

export const forms = {
  OpenAI: (asked) => conversation(asked, false),
  OpenAIResponses: (asked) => conversation(asked, true),
}

const tools = NAMES.map((name) =>
  tool({ name, description: TOOLS[name].description, parameters: TOOLS[name].schema, execute: () => '' }),
)

function conversation({ url, key, model, history }, byResponses) {
  const messages = [{ role: 'system', content: SYSTEM }, ...history.map(messageOf)]
  const about = { model, apiKey: key, baseURL: url, temperature: 0, maxRetries: 0 }
  const llm = (most) =>
    byResponses ? new OpenAIResponses({ ...about, maxOutputTokens: most }) : new OpenAI({ ...about, maxTokens: most })
  return {
    // By responses it leaves a temperature of 0 out.
    isRandom: byResponses,
    say: (content) => messages.push({ role: 'user', content }),
    async ask({ choice, stream }) {
      const isHeld = choice !== 'auto' && choice !== 'none'
      const named = byResponses ? choice : { function: choice }
      const tool_choice = typeof choice === 'object' ? { type: 'function', ...named } : choice
      const asked = { messages, tools, additionalChatOptions: { tool_choice } }
      const chat = llm(isHeld ? CALL : WORDS)
      let text = ''
      let options
      // A stream tells each call by itself, again and again.
      const told = new Map()
      if (stream) {
        for await (const piece of await chat.chat({ ...asked, stream: true })) {
          text += piece.delta
          for (const call of piece.options?.toolCall ?? []) told.set(call.id, call)
        }
      } else {
        const { message } = await chat.chat(asked)
        text = message.content
        options = message.options
      }
      if (told.size > 0) options = { toolCall: [...told.values()] }
      const calls = (options?.toolCall ?? []).map(({ id, name, input }) => {
        return { id, name, input: typeof input === 'string' ? read(input, choice) : input }
      })
      return { text, calls, message: { role: 'assistant', content: text, ...(calls.length > 0 && { options }) } }
    },
    keep: ({ message }) => messages.push(message),
    results: (calls, texts) => messages.push(...calls.map(({ id }, i) => resultOf(id, texts[i]))),
  }
}

const resultOf = (id, result) => ({
  role: 'user',
  content: result,
  options: { toolResult: { id, result, isError: false } },
})

function messageOf(turn) {
  if (turn.role === 'user') return { role: 'user', content: [{ type: 'text', text: turn.text }] }
  if (turn.role === 'tool') return resultOf(turn.call.id, turn.text)
  const toolCall = turn.calls.map(({ id, name, input }) => ({ id, name, input: JSON.stringify(input) }))
  return { role: 'assistant', content: turn.text, ...(toolCall.length > 0 && { options: { toolCall } }) }
}
