import { Agent, applyPatchTool, OpenAIProvider, Runner, shellTool, tool } from '@openai/agents'
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
  const coding = async (tools) => {
    const coder = new Agent({ name: 'Coder', instructions: 'Code.', model: told.CODER, tools })
    const first = await runner(scripted).run(coder, 'How is the weather?')
    // The calls and their outputs go back as items of their own kinds.
    const again = await runner(scripted).run(coder, [...first.history, { role: 'user', content: 'And again?' }])
    return [first.finalOutput, again.finalOutput]
  }
  return {
    ...all('default (responses)', true),
    ...all('chat completions', false),
    'default (responses): shellTool, twice': async () => {
      const ran = []
      const shell = {
        async run({ commands }) {
          ran.push(...commands)
          return { output: [{ stdout: 'sunny in Bern', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }
        },
      }
      const [first, again] = await coding([shellTool({ shell })])
      told.same(ran, ['echo sunny in Bern', 'echo sunny in Bern'])
      return told.same(again, told.same(first, 'I was told: sunny in Bern\n(exit code: 0)'))
    },
    'default (responses): applyPatchTool, twice': async () => {
      const made = []
      const kept = async ({ path, diff }) => {
        made.push([path, diff])
        return { status: 'completed', output: 'created' }
      }
      const editor = { createFile: kept, updateFile: kept, deleteFile: kept }
      const [first] = await coding([applyPatchTool({ editor })])
      told.same(made, [
        ['bern.txt', '+sunny\n'],
        ['bern.txt', '+sunny\n'],
      ])
      return first
    },
  }
}
