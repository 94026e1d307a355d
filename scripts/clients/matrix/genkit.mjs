import { compatOaiModelRef, openAICompatible } from '@genkit-ai/compat-oai'
import { genkit, z } from 'genkit'
import { CALL, NAMES, SYSTEM, TOOLS, WORDS } from './agent.mjs'

export const forms = { generate: conversation }

function conversation({ url, key, model, history }) {
  const ai = genkit({ plugins: [openAICompatible({ name: 'here', apiKey: key, baseURL: url })] })
  const tools = NAMES.map((name) =>
    ai.defineTool({ name, description: TOOLS[name].description, inputSchema: SCHEMAS[name] }, async () => ''),
  )
  const messages = [{ role: 'system', content: [{ text: SYSTEM }] }, ...history.map(messageOf)]
  return {
    // They take further fields.
    schemas: SCHEMAS,
    say: (text) => messages.push({ role: 'user', content: [{ text }] }),
    async ask({ choice, stream }) {
      const isHeld = choice !== 'auto' && choice !== 'none'
      const held = typeof choice === 'object' ? tools.filter((_, i) => NAMES[i] === choice.name) : tools
      const asked = {
        model: compatOaiModelRef({ name: `here/${model}` }),
        messages,
        tools: held,
        returnToolRequests: true,
        // It sends no `toolChoice`, no limit and no temperature of 0 of its own, and what else its configuration says.
        config: { top_k: 1, max_tokens: isHeld ? CALL : WORDS, tool_choice: isHeld ? 'required' : choice },
      }
      let response
      if (stream) {
        const streamed = ai.generateStream(asked)
        for await (const _ of streamed.stream);
        response = await streamed.response
      } else response = await ai.generate(asked)
      const calls = response.toolRequests.map(({ toolRequest }) => {
        return { id: toolRequest.ref, name: toolRequest.name, input: toolRequest.input }
      })
      return { text: response.text, calls, message: response.message }
    },
    keep: ({ message }) => messages.push(message.toJSON?.() ?? { role: 'model', content: message.content }),
    results: (calls, texts) =>
      messages.push({
        role: 'tool',
        content: calls.map(({ id, name }, i) => ({ toolResponse: { ref: id, name, output: texts[i] } })),
      }),
  }
}

/** It has a zod of its own. */
const SCHEMAS = {
  weather: z.object({ city: z.string(), unit: z.enum(['C', 'F']), days: z.number().int() }),
  search: z.object({
    query: z.string(),
    limit: z.number().int().nullable(),
    filters: z.array(z.object({ field: z.string(), value: z.string() })),
  }),
  send: z.object({ to: z.array(z.string()), subject: z.string(), urgent: z.boolean() }),
  calculate: z.object({ op: z.enum(['add', 'mul']), values: z.array(z.number()) }),
  done: z.object({}),
}

function messageOf(turn) {
  if (turn.role === 'user') return { role: 'user', content: [{ text: turn.text }] }
  if (turn.role === 'tool') {
    const { id, name } = turn.call
    return { role: 'tool', content: [{ toolResponse: { ref: id, name, output: turn.text } }] }
  }
  const requests = turn.calls.map(({ id, name, input }) => ({ toolRequest: { ref: id, name, input } }))
  return { role: 'model', content: [...(turn.text === '' ? [] : [{ text: turn.text }]), ...requests] }
}
