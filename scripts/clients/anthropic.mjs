import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const at = (url) => new Anthropic({ baseURL: url.replace(/\/v1$/, ''), apiKey: key })
  const client = at(scripted)
  const hello = { model: told.AGENT, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
  const tools = [{ name: 'weather', input_schema: z.toJSONSchema(told.WEATHER.city) }]
  return {
    'messages.create': async () => {
      const { content, stop_reason, usage } = await client.messages.create(hello)
      told.same([stop_reason, usage.output_tokens], ['end_turn', 3])
      return told.same(content[0].text, told.HELLO)
    },
    'messages.stream': async () => told.same(await client.messages.stream(hello).finalText(), told.HELLO),
    'tools, and their results': async () => {
      const messages = [{ role: 'user', content: 'Weather?' }]
      const first = await client.messages.stream({ ...hello, messages, tools }).finalMessage()
      const call = told.same(first.stop_reason, 'tool_use') && first.content.find(({ type }) => type === 'tool_use')
      const result = { type: 'tool_result', tool_use_id: call.id, content: told.weather(call.input) }
      messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: [result] })
      const { content } = await client.messages.create({ ...hello, messages, tools })
      return told.same(content[0].text, told.TOLD)
    },
    'beta.messages.toolRunner': async () => {
      const weather = {
        ...tools[0],
        type: 'custom',
        parse: (input) => input,
        run: async (input) => told.weather(input),
      }
      const messages = [{ role: 'user', content: 'Weather?' }]
      const { content } = await client.beta.messages.toolRunner({ ...hello, messages, tools: [weather] })
      return told.same(content[0].text, told.TOLD)
    },
    'a tool that must be called': async () => {
      const { content } = await at(nano).messages.create({
        model: told.NANO,
        max_tokens: 500,
        system: told.INSTRUCTIONS,
        messages: [{ role: 'user', content: told.TEXT }],
        tools: [{ name: 'order', input_schema: z.toJSONSchema(told.Order), strict: true }],
        tool_choice: { type: 'tool', name: 'order' },
      })
      return told.anOrder(content[0].input)
    },
    thinking: async () => {
      const thinking = { type: 'enabled', budget_tokens: 1024 }
      const { content } = await client.messages.create({ ...hello, model: told.THINKER, max_tokens: 2000, thinking })
      return told.same(content[0].thinking, 'Let me think.')
    },
    'messages.countTokens': async () => {
      const { max_tokens, ...asked } = hello
      return `${told.same((await client.messages.countTokens(asked)).input_tokens, 2)} tokens`
    },
    'errors.NotFoundError': async () => {
      const error = await client.messages.create({ ...hello, model: 'no/such' }).catch((thrown) => thrown)
      told.same([error instanceof Anthropic.NotFoundError, error.error?.error?.type], [true, 'not_found_error'])
      return 'its own error class'
    },
  }
}
