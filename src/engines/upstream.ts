import type {
  Capabilities,
  DecideCall,
  Decided,
  EmbedCall,
  Embeddings,
  Engine,
  ExtractCall,
  Extracted,
  ModelInfo,
  Part,
  RankCall,
  Ranking,
} from '../contract/index.js'
import { assertOptions, type OptionNames } from '../platform/index.js'
import { type DecisionsForm, deciding } from './upstream/deciding.js'
import { embeddingsOf } from './upstream/embeddings.js'
import { eventsOf } from './upstream/events.js'
import { extractedOf, extractionsBody } from './upstream/extractions.js'
import { PartReader } from './upstream/parts.js'
import { rankingOf } from './upstream/ranking.js'
import { refusalOf, unreached } from './upstream/refusal.js'
import { requestBody } from './upstream/request.js'
import { scoredParts } from './upstream/scored.js'
import { asNoPath } from './upstream/sent.js'

export type { DecisionsForm } from './upstream/deciding.js'
export { type FallbackOptions, fallback } from './upstream/fallback.js'

export interface UpstreamOptions {
  /** Where the other service is; ends with `/v1`. */
  baseURL: string
  /**
   * Sent as `Authorization: Bearer`; a function is called for each request.
   * @default no such header
   */
  apiKey?: string | (() => string | Promise<string>)
  /**
   * The models to offer, `<namespace>/<name>`: a list if the other service has the same names, else our name to its name:
   * `{ 'cluster/llama': 'meta-llama/Llama-3.1-70B-Instruct' }`.
   */
  models: readonly string[] | Readonly<Record<string, string>>
  /**
   * Shown in the list of models.
   * @default the host of `baseURL`
   */
  ownedBy?: string
  /**
   * Sent with every request.
   * @default none
   */
  headers?: Readonly<Record<string, string>>
  /**
   * The field for the token limit in requests to the other service.
   * @default 'max_tokens'
   */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /**
   * What the models can and cannot do: `{ images: true }` if they read images, `{ embeddings: true, chat: false }` for
   * embedding models, `{ rerank: true, chat: false }` for reranking models, `{ decisions: true }` if they can decide (see
   * `decisions`), `{ extractions: true }` if the service has `/extractions`, `{ evidence: true }` and `{ quotes: true }` if it
   * is another local-v1 with these, `{ promptLogprobs: true }` if it supports `echo` with `logprobs`.
   * @default chat with text, and everything that belongs to it
   */
  capabilities?: Capabilities
  /**
   * How decisions are sent: to OpenAI's `/decisions`, to TypeSafe's `/systemone`, or to `chat`, with one request for each
   * question. Then the log probabilities of the first token are read, which is exact if every option is one token. If it is
   * set, the models can decide without `capabilities`.
   * @default the first of these that the service has, which the first request for decisions finds out
   */
  decisions?: DecisionsForm
  /**
   * @default globalThis.fetch
   */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}

const OPTIONS: OptionNames<UpstreamOptions> = {
  baseURL: true,
  apiKey: true,
  models: true,
  ownedBy: true,
  headers: true,
  maxTokensField: true,
  capabilities: true,
  decisions: true,
  fetch: true,
}

/**
 * An engine that asks another OpenAI-compatible service, such as a vLLM cluster. It always asks for a stream; leaving
 * it hangs up. It does not keep to grammars itself: the schema goes along, and the service around checks every strict
 * document before it is called finished, in a stream too, where a wrong one ends with an error instead of a reason.
 */
export function upstream(options: UpstreamOptions): Engine {
  assertOptions('upstream', options, OPTIONS)
  const { baseURL, models, ownedBy = new URL(baseURL).host } = options
  const names = new Map(
    Array.isArray(models) ? (models as string[]).map((id) => [id, id]) : Object.entries(models as object),
  )
  const capabilities = options.decisions ? { decisions: true, ...options.capabilities } : options.capabilities
  const infos: ModelInfo[] = [...names.keys()].map((id) => ({ id, ownedBy, ...(capabilities && { capabilities }) }))
  const at = (path: string) => `${baseURL.replace(/\/+$/, '')}${path}`
  const send = options.fetch ?? ((target, init) => fetch(target, init))
  const post = async (url: string, body: unknown, signal: AbortSignal): Promise<Response> => {
    const init = { method: 'POST', headers: await headersOf(options), body: JSON.stringify(body), signal }
    const response = await send(url, init).catch((error) => unreached(error, signal))
    if (!response.ok) throw await refusalOf(response)
    return response
  }
  const textOf = async (path: string, body: unknown, signal: AbortSignal): Promise<string> => {
    const response = await post(at(path), body, signal)
    return response.text().catch((error) => unreached(error, signal))
  }
  const maxTokensField = options.maxTokensField ?? 'max_tokens'
  const decide = deciding(textOf, options.decisions, { maxTokensField })
  return {
    version: 2,
    models: infos,
    async *generate(call): AsyncGenerator<Part> {
      const body = requestBody(call, names.get(call.model)!, maxTokensField)
      const path = call.prompt === undefined ? '/chat/completions' : '/completions'
      if (call.promptLogprobs) {
        const { stream, stream_options, ...whole } = body
        yield* scoredParts(await textOf(path, { ...whole, echo: true }, call.signal), call)
        return
      }
      const response = await post(at(path), body, call.signal)
      const reader = new PartReader(call.evidence)
      for await (const data of eventsOf(response, call.signal)) {
        if (data === '[DONE]') break
        yield* reader.read(data)
      }
      yield* reader.end()
    },
    async embed(call: EmbedCall): Promise<Embeddings> {
      const { inputs, dimensions, signal } = call
      const body = { model: names.get(call.model)!, input: inputs, ...(dimensions !== undefined && { dimensions }) }
      return embeddingsOf(await textOf('/embeddings', body, signal), inputs.length)
    },
    async rank({ model, query, documents, signal }: RankCall): Promise<Ranking> {
      const body = { model: names.get(model)!, query, documents, top_n: documents.length }
      return rankingOf(await textOf('/rerank', body, signal), documents.length)
    },
    decide: (call: DecideCall): Promise<Decided> => decide(call, names.get(call.model)!),
    async extract(call: ExtractCall): Promise<Extracted> {
      const model = names.get(call.model)!
      const body = extractionsBody(call, model)
      const text = await textOf('/extractions', body, call.signal).catch((error: unknown) => {
        throw asNoPath(error, model, '/extractions', 'cannot extract fields')
      })
      return extractedOf(text, call)
    },
  }
}

async function headersOf({ apiKey, headers }: UpstreamOptions): Promise<Record<string, string>> {
  const key = typeof apiKey === 'function' ? await apiKey() : apiKey
  return {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...headers,
  }
}
