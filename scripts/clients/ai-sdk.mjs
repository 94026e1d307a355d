import { createOpenAI } from '@ai-sdk/openai'
import { embedMany, generateObject, generateText, isStepCount, Output, streamText, tool } from 'ai'
import * as told from './told.mjs'
import { decidingBy, extractingBy, HELD, WORDED } from './typed.mjs'

/** The same calls of every provider. */
export function callsOf(small, agent, embedding) {
  const weather = tool({ description: told.WEATHER.description, inputSchema: told.WEATHER.city, execute: told.weather })
  const order = { model: small, instructions: told.INSTRUCTIONS, prompt: told.TEXT }
  return {
    generateText: async () => told.same((await generateText({ model: agent, prompt: 'Hi' })).text, told.HELLO),
    streamText: async () => {
      let text = ''
      for await (const piece of streamText({ model: agent, prompt: 'Hi' }).textStream) text += piece
      return told.same(text, told.HELLO)
    },
    'generateText, tools': async () => {
      const asked = { model: agent, prompt: 'Weather?', tools: { weather }, stopWhen: isStepCount(3) }
      return told.same((await generateText(asked)).text, told.TOLD)
    },
    'streamText, tools': async () => {
      const asked = { model: agent, prompt: 'Weather?', tools: { weather }, stopWhen: isStepCount(3) }
      return told.same(await streamText(asked).text, told.TOLD)
    },
    'Output.object': async () => {
      const output = Output.object({ schema: told.Order })
      return told.anOrder((await generateText({ ...order, output })).output)
    },
    generateObject: async () => told.anOrder((await generateObject({ ...order, schema: told.Order })).object),
    embedMany: async () => {
      const { embeddings } = await embedMany({ model: embedding, values: told.TEXTS })
      return told.vectors(embeddings)
    },
  }
}

export function calls({ nano, scripted, key }) {
  const small = createOpenAI({ baseURL: nano, apiKey: key })
  const agent = createOpenAI({ baseURL: scripted, apiKey: key })
  const chat = callsOf(small.chat(told.NANO), agent.chat(told.AGENT), agent.embedding(told.AGENT))
  return {
    ...callsOf(small(told.NANO), agent(told.AGENT), agent.embedding(told.AGENT)),
    'generateText, thoughts': async () => {
      const { reasoningText } = await generateText({
        model: agent(told.THINKER),
        prompt: 'Hi',
        providerOptions: { openai: { reasoningSummary: 'auto', forceReasoning: true } },
      })
      return told.same(reasoningText, 'Let me think.')
    },
    ...decidingBy(small.decisionModel(told.NANO)),
    ...extractingBy(small.extractionModel(told.NANO), HELD, 'texts, numbers, durations, lists'),
    ...extractingBy(small.extractionModel(told.NANO), WORDED, 'dates and times'),
    '.chat(): generateText': chat.generateText,
    '.chat(): generateText, tools': chat['generateText, tools'],
    '.chat(): Output.object': chat['Output.object'],
  }
}
