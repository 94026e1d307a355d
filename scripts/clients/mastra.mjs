import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const agent = (url, id, more = {}) =>
    new Agent({
      id: 'one',
      name: 'One',
      instructions: 'Be brief.',
      model: { id: `local/${id}`, url, apiKey: key },
      ...more,
    })
  const weather = createTool({
    id: 'weather',
    description: told.WEATHER.description,
    inputSchema: told.WEATHER.city,
    execute: async (input) => told.weather(input.context ?? input),
  })
  return {
    generate: async () => told.same((await agent(scripted, told.AGENT).generate('Hi')).text, told.HELLO),
    stream: async () => told.same(await (await agent(scripted, told.AGENT).stream('Hi')).text, told.HELLO),
    tools: async () => {
      const { text } = await agent(scripted, told.AGENT, { tools: { weather } }).generate('Weather?', { maxSteps: 3 })
      return told.same(text, told.TOLD)
    },
    structuredOutput: async () => {
      const orders = agent(nano, told.NANO, { instructions: told.INSTRUCTIONS })
      return told.anOrder((await orders.generate(told.TEXT, { structuredOutput: { schema: told.Order } })).object)
    },
  }
}
