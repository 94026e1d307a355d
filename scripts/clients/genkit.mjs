import { compatOaiModelRef, defineCompatOpenAIModel, openAICompatible } from '@genkit-ai/compat-oai'
import { genkit, z } from 'genkit'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const plugin = (name, baseURL, more) => openAICompatible({ name, apiKey: key, baseURL, ...more })
  const ai = genkit({
    plugins: [
      plugin('small', nano),
      plugin('large', scripted),
      plugin('strict', nano, { resolver: strictly('strict') }),
    ],
  })
  const model = (name, id) => compatOaiModelRef({ name: `${name}/${id}` })
  const agent = model('large', told.AGENT)
  const order = z.object({ product: z.string(), quantity: z.number().int(), urgent: z.boolean() })
  const weather = ai.defineTool(
    { name: 'weather', description: told.WEATHER.description, inputSchema: z.object({ city: z.string() }) },
    async (input) => told.weather(input),
  )
  const ordering = (name) => async () => {
    const asked = { model: model(name, told.NANO), system: told.INSTRUCTIONS, prompt: told.TEXT }
    return told.anOrder((await ai.generate({ ...asked, output: { schema: order } })).output)
  }
  return {
    generate: async () => told.same((await ai.generate({ model: agent, prompt: 'Hi' })).text, told.HELLO),
    generateStream: async () => {
      let text = ''
      for await (const piece of ai.generateStream({ model: agent, prompt: 'Hi' }).stream) text += piece.text
      return told.same(text, told.HELLO)
    },
    tools: async () => {
      const { text } = await ai.generate({ model: agent, prompt: 'Weather?', tools: [weather] })
      return told.same(text, told.TOLD)
    },
    'output.schema': ordering('small'),
    "output.schema, constrained: 'all'": ordering('strict'),
  }
}

/** Models that keep to a schema, told so: Genkit else puts it into words, and takes what comes. */
const strictly = (namespace) => (client, type, name) => {
  if (type !== 'model') return undefined
  const supports = { multiturn: true, tools: true, toolChoice: true, systemRole: true, constrained: 'all' }
  const modelRef = compatOaiModelRef({ name, namespace, info: { supports } })
  return defineCompatOpenAIModel({ name: `${namespace}/${name}`, client, pluginOptions: { name: namespace }, modelRef })
}
