import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type LocalDecisions, localDecisions } from './client/decision-model.js'
import { endpointOf, type Target } from './client/endpoint.js'
import { type LocalExtractions, localExtractions } from './client/extraction-model.js'
import { type LocalReranking, reranking } from './client/reranking.js'

export type { LocalDecisions } from './client/decision-model.js'
export type { Endpoint, Target } from './client/endpoint.js'
export type { LocalExtractions } from './client/extraction-model.js'
export type { LocalReranking } from './client/reranking.js'

/**
 * A provider for the AI SDK that uses a service in this process, or on this device: without HTTP, and with strict JSON.
 *
 * ```ts
 * const local = localV1(v1)
 * const { object } = await generateObject({ model: local('local-v1/nano'), schema, prompt })
 * ```
 *
 * `local(id)` is a language model, `local.embeddingModel(id)` one for embeddings, `local.rerankingModel(id)`
 * one for `rerank`, `local.decisionModel(id)` one for `experimental_decide` of version 7,
 * `local.extractionModel(id)` one for `experimental_extract`.
 */
export function localV1(target: Target): LocalV1Provider {
  const endpoint = endpointOf(target)
  const { baseURL, apiKey, fetch } = endpoint
  const provider = createOpenAICompatible({
    name: 'local-v1',
    baseURL,
    ...(apiKey !== undefined && { apiKey }),
    // The SDK hands over addresses as texts, and its requests whole.
    fetch: (input, init) => fetch(String(input instanceof Request ? input.url : input), init),
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  return Object.assign(provider, {
    rerankingModel: (id: string) => reranking(endpoint, id),
    decisionModel: (id: string) => localDecisions(endpoint, id),
    extractionModel: (id: string) => localExtractions(endpoint, id),
  })
}

export type LocalV1Provider = ReturnType<typeof createOpenAICompatible> & {
  rerankingModel(modelId: string): LocalReranking
  decisionModel(modelId: string): LocalDecisions
  extractionModel(modelId: string): LocalExtractions
}
