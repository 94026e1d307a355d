import { type Engine, type ModelInfo, modelCannot, type Ranking } from '../../../contract/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Route } from '../../answer/service.js'
import {
  aBody,
  aBoolean,
  anArray,
  anInteger,
  aString,
  at,
  badRequest,
  noteUnknown,
  optional,
  required,
  wrongType,
} from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { checkNumbers } from '../../wire/parts.js'
import { NO_USAGE } from '../../wire/reply.js'

export function checkRanks({ rank }: Engine, { id, capabilities }: ModelInfo): void {
  if (!rank || !capabilities?.rerank) throw modelCannot(id, 'cannot rank documents')
}

export function checkRanking({ scores }: Ranking, { length }: readonly unknown[]): void {
  if (scores.length !== length) throw new Error('The engine sent no score for each document.')
  checkNumbers('ranking', [scores])
}

export const rerank: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readRerankRequest(await readJson(service, exchange, signal))
    const { model, query, documents, ignored } = request
    return {
      model,
      ignored,
      check: (info) => checkRanks(service.engine, info),
      async act(signal) {
        const id = newId('rerank-')
        const ranking = await service.engine.rank!({ id, model, signal, caller: exchange.caller.id, query, documents })
        checkRanking(ranking, documents)
        return { body: wireRanking(ranking, request, id), usage: { ...NO_USAGE, promptTokens: ranking.promptTokens } }
      },
    }
  })

/** A request in the form that Jina and Cohere have in common. */
export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: readonly string[]
  /** Of the results, so many of the best. */
  readonly top: number
  readonly withDocuments: boolean
  readonly ignored: readonly string[]
}

const KNOWN = new Set(['model', 'query', 'documents', 'top_n', 'return_documents', 'user'])
const someDocuments = anArray(1, 2048)
const aCount = anInteger(1, 2 ** 31 - 1)

export function readRerankRequest(json: unknown): RerankRequest {
  const body = aBody(json)
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'user', '', aString)
  const documents = required(body, 'documents', '', someDocuments).map((item, i) => aDocument(item, at('documents', i)))
  return {
    model: required(body, 'model', '', aString),
    query: required(body, 'query', '', aScored),
    documents,
    top: Math.min(documents.length, optional(body, 'top_n', '', aCount) ?? documents.length),
    withDocuments: optional(body, 'return_documents', '', aBoolean) ?? false,
    ignored,
  }
}

/** A text, or an object that holds one. */
function aDocument(value: unknown, param: string): string {
  if (typeof value === 'string') return aScored(value, param)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(param, 'a string or an object with a text', value)
  }
  return aScored((value as { text?: unknown }).text, at(param, 'text'))
}

export function aScored(value: unknown, param: string): string {
  const text = aString(value, param)
  if (text === '') throw badRequest(param, `Invalid '${param}': an empty string has no score.`, 'empty_string')
  return text
}

/** The best first; equals in the order in which they were given. */
export function wireRanking(
  { scores, promptTokens }: Ranking,
  { model, documents, top, withDocuments }: RerankRequest,
  id: string,
) {
  const order = scores.map((_, index) => index).sort((a, b) => scores[b]! - scores[a]! || a - b)
  return {
    id,
    object: 'list',
    model,
    results: order.slice(0, top).map((index) => ({
      index,
      relevance_score: scores[index]!,
      ...(withDocuments && { document: { text: documents[index]! } }),
    })),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    // Cohere's word for it, which its clients insist on.
    meta: { tokens: { input_tokens: promptTokens } },
  }
}
