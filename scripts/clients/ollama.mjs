import { Ollama } from 'ollama'
import { z } from 'zod'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const at = (url) => new Ollama({ host: url.replace(/\/v1$/, ''), headers: { Authorization: `Bearer ${key}` } })
  const client = at(scripted)
  const hello = { model: told.AGENT, messages: [{ role: 'user', content: 'Hi' }] }
  const parameters = z.toJSONSchema(told.WEATHER.city)
  const tools = [{ type: 'function', function: { name: 'weather', description: 'Says the weather.', parameters } }]
  const joined = async (stream, textOf) => {
    let text = ''
    for await (const part of stream) text += textOf(part)
    return text
  }
  return {
    list: async () => {
      const { models } = await client.list()
      return told
        .same(
          models.map(({ name }) => name),
          [told.AGENT, told.THINKER, told.CODER].map((id) => `${id}:latest`),
        )
        .join(', ')
    },
    'show, ps, version': async () => {
      const { capabilities } = await client.show({ model: told.AGENT })
      await Promise.all([client.ps(), client.version()])
      return capabilities.join(', ')
    },
    chat: async () => told.same((await client.chat(hello)).message.content, told.HELLO),
    'chat, stream': async () =>
      told.same(
        await joined(await client.chat({ ...hello, stream: true }), ({ message }) => message.content),
        told.HELLO,
      ),
    'chat: tools, and their results': async () => {
      const messages = [{ role: 'user', content: 'Weather?' }]
      const { message } = await client.chat({ ...hello, messages, tools })
      const [{ function: called }] = message.tool_calls
      const result = { role: 'tool', tool_name: called.name, content: told.weather(called.arguments) }
      const next = await client.chat({ ...hello, messages: [...messages, message, result], tools })
      return told.same(next.message.content, told.TOLD)
    },
    'chat: format': async () => {
      const { message } = await at(nano).chat({
        model: told.NANO,
        messages: told.MESSAGES,
        format: z.toJSONSchema(told.Order),
        options: { temperature: 0 },
      })
      return told.anOrder(JSON.parse(message.content))
    },
    'chat: think': async () =>
      told.same((await client.chat({ ...hello, model: told.THINKER, think: true })).message.thinking, 'Let me think.'),
    generate: async () => told.same((await client.generate({ model: told.AGENT, prompt: 'Hi' })).response, told.HELLO),
    'generate, stream': async () => {
      const stream = await client.generate({ model: told.AGENT, prompt: 'Hi', stream: true })
      return told.same(await joined(stream, ({ response }) => response), told.HELLO)
    },
    embed: async () => told.vectors((await client.embed({ model: told.AGENT, input: told.TEXTS })).embeddings),
    pull: async () => {
      const statuses = []
      for await (const { status } of await at(nano).pull({ model: told.NANO, stream: true })) statuses.push(status)
      return told.same(statuses.at(-1), 'success')
    },
    abort: async () => {
      const stream = await at(nano).generate({ model: told.NANO, prompt: 'Hello', raw: true, stream: true })
      const error = await joined(stream, () => void stream.abort()).catch((thrown) => thrown)
      return told.same(error.name, 'AbortError')
    },
    errors: async () => {
      const error = await client.chat({ ...hello, model: 'no/such' }).catch((thrown) => thrown)
      told.same([error.name, error.status_code], ['ResponseError', 404])
      return error.message
    },
  }
}
