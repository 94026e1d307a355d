import { scoreId } from '../wire/ids.js'
import { seconds } from '../wire/responses/progress.js'
import { readScoreRequest, type ScoreRequest, wireScores } from '../wire/score.js'
import { NO_USAGE } from '../wire/usage.js'
import { readJson } from './body.js'
import { once } from './once.js'
import { checkRanks } from './rerank.js'
import type { Route } from './service.js'

/** What `rerank` tells of a query and its documents, pair by pair. */
export const score: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readScoreRequest(await readJson(service, exchange, signal))
    const { model, pairs, ignored } = request
    return {
      model,
      ignored,
      check: (info) => checkRanks(service.engine, info),
      async act(signal) {
        const id = scoreId()
        const scores: number[] = []
        let promptTokens = 0
        for (const [query, places] of placesOf(pairs)) {
          const documents = places.map((i) => pairs[i]!.document)
          const asked = { id, model, signal, caller: exchange.caller.id, query, documents }
          const ranking = await service.engine.rank!(asked)
          if (ranking.scores.length !== places.length) throw new Error('The engine sent no score for each document.')
          for (const [at, i] of places.entries()) scores[i] = ranking.scores[at]!
          promptTokens += ranking.promptTokens
        }
        const body = wireScores({ scores, promptTokens }, request, id, seconds())
        return { body, usage: { ...NO_USAGE, promptTokens } }
      },
    }
  })

/** Where each query stands. */
function placesOf(pairs: ScoreRequest['pairs']): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [i, { query }] of pairs.entries()) {
    const found = places.get(query)
    if (found) found.push(i)
    else places.set(query, [i])
  }
  return places
}
