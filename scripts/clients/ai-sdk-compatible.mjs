import { createCohere } from '@ai-sdk/cohere'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, rerank } from 'ai'
import { callsOf } from './ai-sdk.mjs'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const at = (baseURL, more = {}) =>
    createOpenAICompatible({ name: 'local-v1', baseURL, apiKey: key, supportsStructuredOutputs: true, ...more })
  const plain = callsOf(at(nano, { supportsStructuredOutputs: false })(told.NANO))
  return {
    ...callsOf(at(nano)(told.NANO), at(scripted)(told.AGENT), at(scripted).embeddingModel(told.AGENT)),
    'generateText, thoughts': async () => {
      const { reasoningText } = await generateText({ model: at(scripted)(told.THINKER), prompt: 'Hi' })
      return told.same(reasoningText, 'Let me think.')
    },
    'Output.object, without supportsStructuredOutputs': plain['Output.object'],
    'rerank, with @ai-sdk/cohere': async () => {
      const model = createCohere({ baseURL: scripted, apiKey: key }).reranking(told.AGENT)
      const { ranking } = await rerank({ model, query: 'a cat', documents: ['dogs', 'a cat sat'] })
      return told.same(
        ranking.map(({ originalIndex }) => originalIndex),
        [1, 0],
      )
    },
  }
}
