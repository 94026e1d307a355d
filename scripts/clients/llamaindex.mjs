import { OpenAI, OpenAIEmbedding, OpenAIResponses } from '@llamaindex/openai'
import { tool } from 'llamaindex'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const at = (baseURL, model, Form = OpenAI) => new Form({ model, apiKey: key, baseURL, temperature: 0 })
  const messages = [{ role: 'user', content: 'Hi' }]
  const weather = tool({ ...told.WEATHER, parameters: told.WEATHER.city, execute: told.weather })
  return {
    'OpenAI: chat': async () =>
      told.same((await at(scripted, told.AGENT).chat({ messages })).message.content, told.HELLO),
    'OpenAI: chat, stream': async () => {
      let text = ''
      for await (const { delta } of await at(scripted, told.AGENT).chat({ messages, stream: true })) text += delta
      return told.same(text, told.HELLO)
    },
    'OpenAI: tools': async () => {
      const { message } = await at(scripted, told.AGENT).chat({ messages, tools: [weather] })
      return told.same(message.options.toolCall[0].name, 'weather')
    },
    'OpenAI: responseFormat': async () => {
      const asked = { messages: told.MESSAGES, responseFormat: told.Order }
      return told.anOrder(JSON.parse((await at(nano, told.NANO).chat(asked)).message.content))
    },
    'OpenAIResponses: chat': async () => {
      const { message } = await at(scripted, told.AGENT, OpenAIResponses).chat({ messages })
      return told.same(
        [message.content]
          .flat()
          .map((part) => part.text ?? part)
          .join(''),
        told.HELLO,
      )
    },
    'OpenAIEmbedding: getTextEmbeddingsBatch': async () => {
      const embedding = new OpenAIEmbedding({ model: told.AGENT, apiKey: key, baseURL: scripted })
      return told.vectors(await embedding.getTextEmbeddingsBatch(told.TEXTS))
    },
  }
}
