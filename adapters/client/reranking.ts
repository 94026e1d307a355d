import { askJson, type OpenEndpoint } from './endpoint.js'

/** What the AI SDK asks of a model for `rerank`. */
export interface Reranking {
  readonly documents:
    | { readonly type: 'text'; readonly values: readonly string[] }
    | { readonly type: 'object'; readonly values: readonly object[] }
  readonly query: string
  readonly topN?: number
  readonly abortSignal?: AbortSignal
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A model for `rerank` of the AI SDK, in the form that its versions 6 and 7 take. */
export interface LocalReranking {
  readonly specificationVersion: 'v3'
  readonly provider: string
  readonly modelId: string
  doRerank(call: Reranking): Promise<{ ranking: { index: number; relevanceScore: number }[] }>
}

/** `POST rerank`, which the SDK's own provider for services like this does not ask. */
export function reranking(endpoint: OpenEndpoint, modelId: string): LocalReranking {
  return {
    specificationVersion: 'v3',
    provider: 'local-v1.reranking',
    modelId,
    async doRerank({ documents: { type, values }, query, topN, abortSignal: signal, headers }) {
      // A model reads text: of an object the whole, as JSON.
      const documents = type === 'text' ? values : values.map((value) => JSON.stringify(value))
      const body = { model: modelId, query, documents, ...(topN !== undefined && { top_n: topN }) }
      const asking = { body, signal, ...(headers && { headers }) }
      const { results } = await askJson<{ results: { index: number; relevance_score: number }[] }>(
        endpoint,
        '/rerank',
        asking,
      )
      return { ranking: results.map(({ index, relevance_score }) => ({ index, relevanceScore: relevance_score })) }
    },
  }
}
