import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { createAgent, providerStrategy, tool, toolStrategy } from 'langchain'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const chat = (baseURL, model, more = {}) =>
    new ChatOpenAI({ model, apiKey: key, maxRetries: 0, configuration: { baseURL }, ...more })
  const weather = tool(told.weather, { ...told.WEATHER, schema: told.WEATHER.city })
  const asked = [
    ['system', told.INSTRUCTIONS],
    ['human', told.TEXT],
  ]
  const all = (form, more) => {
    const agent = () => chat(scripted, told.AGENT, more)
    const small = () => chat(nano, told.NANO, more)
    return {
      [`${form}: invoke`]: async () => told.same((await agent().invoke('Hi')).text, told.HELLO),
      [`${form}: stream`]: async () => {
        let text = ''
        for await (const piece of await agent().stream('Hi')) text += piece.text
        return told.same(text, told.HELLO)
      },
      [`${form}: bindTools`]: async () => {
        const { tool_calls } = await agent().bindTools([weather]).invoke('Weather?')
        return told.same(tool_calls[0].args, { city: 'Bern' })
      },
      [`${form}: withStructuredOutput`]: async () =>
        told.anOrder(await small().withStructuredOutput(told.Order, { name: 'order' }).invoke(asked)),
      [`${form}: createAgent, tools`]: async () => {
        const { messages } = await createAgent({ model: agent(), tools: [weather] }).invoke({ messages: 'Weather?' })
        return told.same(messages.at(-1).text, told.TOLD)
      },
      [`${form}: createAgent({ responseFormat })`]: async () => {
        const made = createAgent({ model: small(), tools: [], responseFormat: told.Order })
        return told.anOrder((await made.invoke({ messages: asked })).structuredResponse)
      },
      [`${form}: createAgent, providerStrategy`]: async () => {
        const made = createAgent({ model: small(), tools: [], responseFormat: providerStrategy(told.Order) })
        return told.anOrder((await made.invoke({ messages: asked })).structuredResponse)
      },
      [`${form}: createAgent, toolStrategy`]: async () => {
        const made = createAgent({ model: small(), tools: [], responseFormat: toolStrategy(told.Order) })
        return told.anOrder((await made.invoke({ messages: asked })).structuredResponse)
      },
    }
  }
  return {
    ...all('ChatOpenAI', {}),
    ...all('useResponsesApi', { useResponsesApi: true }),
    'OpenAIEmbeddings: embedDocuments': async () => {
      const embeddings = new OpenAIEmbeddings({ model: told.AGENT, apiKey: key, configuration: { baseURL: scripted } })
      return told.vectors(await embeddings.embedDocuments(told.TEXTS))
    },
  }
}
