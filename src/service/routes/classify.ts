import { type Classified, type Engine, type ModelInfo, V1Error } from '../../contract/index.js'
import { readClassifyRequest, type TextsRequest, wireClasses } from '../wire/classify.js'
import { classifyId } from '../wire/ids.js'
import { seconds } from '../wire/responses/progress.js'
import { NO_USAGE } from '../wire/usage.js'
import { readJson } from './body.js'
import { once } from './once.js'
import type { Exchange, Route, Service } from './service.js'

export function checkClassifies({ classify }: Engine, { id, capabilities }: ModelInfo): void {
  if (classify && capabilities?.classify) return
  throw new V1Error(400, `The model '${id}' classifies no texts.`, { param: 'model', code: 'unsupported_model' })
}

export const classify: Route = (service, exchange) =>
  once(service, exchange, async ({ signal }) => {
    const request = readClassifyRequest(await readJson(service, exchange, signal))
    return {
      model: request.model,
      ignored: request.ignored,
      check: (info) => checkClassifies(service.engine, info),
      async act(signal) {
        const id = classifyId()
        const classified = await classesOf(service, exchange, request, id, signal)
        const body = wireClasses(classified, request, id, seconds())
        return { body, usage: { ...NO_USAGE, promptTokens: classified.promptTokens } }
      },
    }
  })

export async function classesOf(
  { engine }: Service,
  { caller }: Exchange,
  { model, inputs }: TextsRequest,
  id: string,
  signal: AbortSignal,
): Promise<Classified> {
  const classified = await engine.classify!({ id, model, signal, caller: caller.id, inputs })
  if (classified.probabilities.length === inputs.length) return classified
  throw new Error('The engine sent no classes for each input.')
}
