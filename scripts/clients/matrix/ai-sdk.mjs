import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText, tool } from 'ai'
import { localV1 } from 'local-v1/ai-sdk'
import { CALL, NAMES, SYSTEM, TOOLS, WORDS } from './agent.mjs'

const at = ({ url, key }) => ({ baseURL: url, apiKey: key })

export const forms = {
  '@ai-sdk/openai': (asked) => conversation(createOpenAI(at(asked))(asked.model), asked),
  '@ai-sdk/openai .chat()': (asked) => conversation(createOpenAI(at(asked)).chat(asked.model), asked),
  '@ai-sdk/openai-compatible': (asked) =>
    conversation(
      createOpenAICompatible({ name: 'local-v1', ...at(asked), supportsStructuredOutputs: true })(asked.model),
      asked,
    ),
  'local-v1/ai-sdk': (asked) => conversation(localV1(at(asked))(asked.model), asked),
}

const tools = Object.fromEntries(
  NAMES.map((name) => [name, tool({ description: TOOLS[name].description, inputSchema: TOOLS[name].schema })]),
)

function conversation(model, { history, kind }) {
  const messages = history.map(messageOf)
  const options = (choice) => ({
    model,
    messages,
    instructions: SYSTEM,
    tools,
    toolChoice: typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : choice,
    temperature: 0,
    maxOutputTokens: choice === 'auto' || choice === 'none' ? Math.max(16, WORDS) : CALL,
    maxRetries: 0,
    // OpenAI alone has what its ids refer to: whoever goes on elsewhere sends the items.
    ...(kind === 'ids of another' && { providerOptions: { openai: { store: false } } }),
    ...(kind === 'thoughts' && { providerOptions: { openai: { reasoningEffort: 'low', reasoningSummary: 'auto' } } }),
  })
  return {
    say: (text) => messages.push({ role: 'user', content: text }),
    async ask({ choice, stream }) {
      const failed = []
      const result = stream
        ? streamText({ ...options(choice), onError: ({ error }) => failed.push(error) })
        : await generateText(options(choice))
      const [text, toolCalls, response] = await Promise.all([result.text, result.toolCalls, result.response]).catch(
        (error) => {
          throw failed[0] ?? error
        },
      )
      if (failed.length > 0) throw failed[0]
      const calls = toolCalls.map(({ toolCallId: id, toolName: name, input }) => ({ id, name, input }))
      return { text, calls, response }
    },
    keep: ({ response }) => messages.push(...response.messages),
    results: (calls, texts) =>
      messages.push({
        role: 'tool',
        content: calls.map(({ id, name }, i) => resultOf(id, name, texts[i])),
      }),
  }
}

const resultOf = (toolCallId, toolName, value) => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output: { type: 'text', value },
})

function messageOf(turn) {
  if (turn.role === 'user') return { role: 'user', content: [{ type: 'text', text: turn.text }] }
  if (turn.role === 'tool') return { role: 'tool', content: [resultOf(turn.call.id, turn.call.name, turn.text)] }
  const { text, thought, calls, foreign } = turn
  const itemId = (kind) =>
    foreign ? { providerOptions: { openai: { itemId: `${kind}_68a1f0c2d4e88190b7c9d1e3f5a7` } } } : {}
  const encrypted = {
    reasoningEncryptedContent: 'gAAAAABoofDC1notoursatall',
    itemId: 'rs_68a1f0c2d4e88190b7c9d1e3f5a7',
  }
  return {
    role: 'assistant',
    content: [
      ...(thought
        ? [{ type: 'reasoning', text: thought, ...(foreign && { providerOptions: { openai: encrypted } }) }]
        : []),
      ...(text === '' ? [] : [{ type: 'text', text, ...itemId('msg') }]),
      ...calls.map(({ id, name, input }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input,
        ...itemId('fc'),
      })),
    ],
  }
}
