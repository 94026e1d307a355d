import { type Engine, type ModelInfo, V1Error } from '../../contract/index.js'
import { rerankId } from '../wire/ids.js'
import { readRerankRequest, wireRanking } from '../wire/rerank.js'
import { NO_USAGE } from '../wire/usage.js'
import { readJson } from './body.js'
import { once } from './once.js'
import type { Route } from './service.js'

export function checkRanks({ rank }: Engine, { id, capabilities }: ModelInfo): void {
  if (rank && capabilities?.rerank) return
  throw new V1Error(400, `The model '${id}' ranks no documents.`, { param: 'model', code: 'unsupported_model' })
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
        const id = rerankId()
        const ranking = await service.engine.rank!({ id, model, signal, caller: exchange.caller.id, query, documents })
        if (ranking.scores.length !== documents.length) throw new Error('The engine sent no score for each document.')
        return { body: wireRanking(ranking, request, id), usage: { ...NO_USAGE, promptTokens: ranking.promptTokens } }
      },
    }
  })
