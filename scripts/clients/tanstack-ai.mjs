import { chat, toolDefinition } from '@tanstack/ai'
import { createOpenaiChat, createOpenaiChatCompletions } from '@tanstack/ai-openai'
import { z } from 'zod'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const weather = toolDefinition({
    name: told.WEATHER.name,
    description: told.WEATHER.description,
    inputSchema: told.WEATHER.city,
    outputSchema: z.string(),
  }).server(told.weather)
  /** The text of the stream's last run, or why it came to none. */
  async function textOf(events) {
    let text = ''
    for await (const event of events) {
      if (event.type === 'RUN_ERROR') throw new Error(event.message)
      if (event.type === 'TEXT_MESSAGE_START') text = ''
      if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta
    }
    return text
  }
  const MAKE = { createOpenaiChatCompletions, createOpenaiChat }
  const of = (name) => {
    const agent = MAKE[name](told.AGENT, key, { baseURL: scripted })
    const small = MAKE[name](told.NANO, key, { baseURL: nano })
    const order = { adapter: small, messages: told.MESSAGES.slice(1), systemPrompts: [told.INSTRUCTIONS] }
    const asked = [{ role: 'user', content: 'Weather?' }]
    return {
      [`${name}: stream`]: async () =>
        told.same(await textOf(chat({ adapter: agent, messages: [{ role: 'user', content: 'Hi' }] })), told.HELLO),
      [`${name}: tools`]: async () =>
        told.same(await textOf(chat({ adapter: agent, messages: asked, tools: [weather] })), told.TOLD),
      [`${name}: outputSchema`]: async () => told.anOrder(await chat({ ...order, outputSchema: told.Order })),
      [`${name}: outputSchema, stream`]: async () =>
        told.anOrder(JSON.parse(await textOf(chat({ ...order, outputSchema: told.Order, stream: true })))),
    }
  }
  return Object.assign({}, ...Object.keys(MAKE).map(of))
}
