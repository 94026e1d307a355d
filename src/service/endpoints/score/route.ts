import { getOrMake } from '../../../platform/index.js'
import { readJson } from '../../answer/body.js'
import { once } from '../../answer/once.js'
import type { Route } from '../../answer/service.js'
import { aBody, aString, badRequest, noteUnknown, optional, required, someTexts } from '../../wire/fields.js'
import { newId } from '../../wire/ids.js'
import { NO_USAGE, wireTexts } from '../../wire/reply.js'
import { aScored, checkRanking, checkRanks } from '../rerank/route.js'

/** What `rerank` tells of a query and its documents, pair by pair. */
export const score: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const { model, pairs, ignored } = readScoreRequest(await readJson(service, exchange, signal))
    return {
      model,
      ignored,
      check: (info) => checkRanks(service.engine, info),
      async act(signal) {
        const id = newId('score-')
        const scores: number[] = []
        let promptTokens = 0
        for (const [query, places] of placesOf(pairs)) {
          const documents = places.map((i) => pairs[i]!.document)
          const call = { id, model, signal, caller: exchange.caller.id, query, documents }
          const ranking = await service.engine.rank!(call)
          checkRanking(ranking, documents)
          for (const [at, i] of places.entries()) scores[i] = ranking.scores[at]!
          promptTokens += ranking.promptTokens
        }
        const data = scores.map((score, index) => ({ index, object: 'score', score }))
        return { body: wireTexts(id, model, data, promptTokens), usage: { ...NO_USAGE, promptTokens } }
      },
    }
  })

/** Where each query stands. */
function placesOf(pairs: ScoreRequest['pairs']): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [i, { query }] of pairs.entries()) {
    getOrMake(places, query, () => []).push(i)
  }
  return places
}

/** A request in vLLM's form: one text beside each of others, or two lists of texts side by side. */
export interface ScoreRequest {
  readonly model: string
  readonly pairs: readonly { readonly query: string; readonly document: string }[]
  readonly ignored: readonly string[]
}

/** Its newer and its older name for each side. */
const QUERIES = ['queries', 'data_1', 'text_1'] as const
const DOCUMENTS = ['documents', 'data_2', 'text_2'] as const
const KNOWN = new Set<string>(['model', 'user', ...QUERIES, ...DOCUMENTS])
const readTexts = someTexts([1, 2048], aScored)

export function readScoreRequest(json: unknown): ScoreRequest {
  const body = aBody(json)
  const ignored: string[] = []
  noteUnknown(body, KNOWN, '', ignored)
  optional(body, 'user', '', aString)
  const side = (names: readonly string[]) => {
    const name = names.find((each) => body[each] != null) ?? names.at(-1)!
    return { name, texts: required(body, name, '', readTexts) }
  }
  const model = required(body, 'model', '', aString)
  const [queries, documents] = [side(QUERIES), side(DOCUMENTS)]
  if (queries.texts.length !== 1 && queries.texts.length !== documents.texts.length) {
    const message = `Invalid '${documents.name}': ${documents.texts.length} texts, but ${queries.texts.length} of '${queries.name}': send one text, or equally many.`
    throw badRequest(documents.name, message, 'invalid_value')
  }
  return {
    model,
    pairs: documents.texts.map((document, i) => ({ document, query: queries.texts[i] ?? queries.texts[0]! })),
    ignored,
  }
}
