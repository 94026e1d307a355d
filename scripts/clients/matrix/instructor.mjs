import instructor from '@instructor-ai/instructor'
import OpenAI from 'openai'
import { z } from 'zod/v3'
import { CALL, SYSTEM } from './agent.mjs'

/** Each answer is a document: whole as it is, as a stream by its last state. It reads schemas of zod 3 alone. */
export const forms = {
  TOOLS: (asked) => conversation(asked, 'TOOLS'),
  JSON_SCHEMA: (asked) => conversation(asked, 'JSON_SCHEMA'),
}

const schema = z.object({ city: z.string(), unit: z.enum(['C', 'F']), days: z.number().int() })

function conversation({ url, key, model, history }, mode) {
  const inner = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
  const client = (instructor.default ?? instructor)({ client: inner, mode })
  const messages = [{ role: 'system', content: SYSTEM }, ...history.flatMap(messagesOf)]
  return {
    // Whatever is asked for, the document is its answer.
    cannotForce: true,
    say: (content) => messages.push({ role: 'user', content }),
    async ask({ stream }) {
      const asked = {
        model,
        messages: [...messages],
        temperature: 0,
        max_tokens: CALL,
        response_model: { schema, name: 'weather' },
        max_retries: 0,
      }
      let document
      if (stream)
        for await (const part of await client.chat.completions.create({ ...asked, stream: true })) document = part
      else document = await client.chat.completions.create(asked)
      const { _meta, ...input } = document
      // Streams it reads without the control characters that JSON may hold as they are.
      input.city = input.city.replace(/[\u007f-\u009f]/g, '')
      return { text: '', calls: [{ name: 'weather', input: schema.strict().parse(input) }], answered: true }
    },
    keep: ({ calls }) => messages.push({ role: 'assistant', content: JSON.stringify(calls[0].input) }),
    results: () => {},
  }
}

function messagesOf(turn) {
  if (turn.role === 'user') return [{ role: 'user', content: turn.text }]
  if (turn.role === 'tool') return [{ role: 'tool', tool_call_id: turn.call.id, content: turn.text }]
  const tool_calls = turn.calls.map(({ id, name, input }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
  })
  return [{ role: 'assistant', content: turn.text, ...(tool_calls.length > 0 && { tool_calls }) }]
}
