import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const runner = (baseURL, useResponses = true) =>
    new Runner({
      modelProvider: new OpenAIProvider({ baseURL, apiKey: key, useResponses }),
      // Traces would go to OpenAI.
      tracingDisabled: true,
    })
  const weather = tool({ ...told.WEATHER, parameters: told.WEATHER.city, execute: told.weather })
  const talker = new Agent({ name: 'Talker', instructions: 'Be brief.', model: told.AGENT })
  const asker = new Agent({ name: 'Asker', instructions: 'Ask.', model: told.AGENT, tools: [weather] })
  const order = { name: 'Orders', instructions: told.INSTRUCTIONS, model: told.NANO, outputType: told.Order }
  const orders = new Agent(order)
  const all = (form, useResponses) => ({
    [`${form}: run`]: async () => {
      const { finalOutput } = await runner(scripted, useResponses).run(talker, 'Hi')
      return told.same(finalOutput, told.HELLO)
    },
    [`${form}: run, stream`]: async () => {
      const stream = await runner(scripted, useResponses).run(talker, 'Hi', { stream: true })
      let text = ''
      for await (const piece of stream.toTextStream()) text += piece
      await stream.completed
      return told.same(text, told.HELLO)
    },
    [`${form}: tools`]: async () => {
      const { finalOutput } = await runner(scripted, useResponses).run(asker, 'Weather?')
      return told.same(finalOutput, told.TOLD)
    },
    [`${form}: outputType`]: async () => {
      const { finalOutput } = await runner(nano, useResponses).run(orders, told.TEXT)
      return told.anOrder(finalOutput)
    },
  })
  return { ...all('default (responses)', true), ...all('chat completions', false) }
}
