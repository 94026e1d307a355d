import { rerank } from 'ai'
import { localV1 } from 'local-v1/ai-sdk'
import { callsOf } from './ai-sdk.mjs'
import * as told from './told.mjs'

export function calls({ nano, scripted, key }) {
  const small = localV1({ baseURL: nano, apiKey: key })
  const agent = localV1({ baseURL: scripted, apiKey: key })
  return {
    ...callsOf(small(told.NANO), agent(told.AGENT), agent.embeddingModel(told.AGENT)),
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
