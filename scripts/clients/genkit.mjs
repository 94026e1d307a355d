import { compatOaiModelRef, openAICompatible } from '@genkit-ai/compat-oai'
import { genkit, z } from 'genkit'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const plugin = (name, baseURL) => openAICompatible({ name, apiKey: key, baseURL })
  const ai = genkit({ plugins: [plugin('small', nano), plugin('large', scripted)] })
  const model = (name, id) => compatOaiModelRef({ name: `${name}/${id}` })
  const agent = model('large', told.AGENT)
  const order = z.object({ product: z.string(), quantity: z.number().int(), urgent: z.boolean() })
  const weather = ai.defineTool(
    { name: 'weather', description: told.WEATHER.description, inputSchema: z.object({ city: z.string() }) },
    async (input) => told.weather(input),
  )
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
    'output.schema': async () => {
      const asked = { model: model('small', told.NANO), system: told.INSTRUCTIONS, prompt: told.TEXT }
      return told.anOrder((await ai.generate({ ...asked, output: { schema: order } })).output)
    },
  }
}
