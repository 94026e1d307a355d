import { rerank } from 'ai'
import { localV1 } from 'local-v1/ai-sdk'
import { callsOf } from './ai-sdk.mjs'
import * as told from './told.mjs'
import { decidingBy, extractingBy } from './typed.mjs'

export function calls({ nano, scripted, key }) {
  const small = localV1({ baseURL: nano, apiKey: key })
  const agent = localV1({ baseURL: scripted, apiKey: key })
  return {
    ...callsOf(small(told.NANO), agent(told.AGENT), agent.embeddingModel(told.AGENT)),
    ...decidingBy(small.decisionModel(told.NANO)),
    ...extractingBy(small.extractionModel(told.NANO)),
    rerank: async () => {
      const model = agent.rerankingModel(told.AGENT)
      const { ranking } = await rerank({ model, query: 'a cat', documents: ['dogs', 'a cat sat'] })
      return told.same(
        ranking.map(({ originalIndex }) => originalIndex),
        [1, 0],
      )
    },
  }
}
