import type { Engine, ModelInfo } from '../engine.js'
import { V1Error } from '../errors.js'
import { waitFor } from './loader.js'
import { jsonAnswer, type Route } from './service.js'

export const listModels: Route = async ({ engine }, { request }) => {
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  return jsonAnswer({ object: 'list', data: engine.models.map(wireModel) })
}

export const retrieveModel: Route = async ({ engine }, { rest, request }) => {
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  return jsonAnswer(wireModel(findModel(engine, rest)))
}

/** Waits until the engine knows which models it has; whoever leaves waits no longer. */
export async function lookedAround({ ready }: Engine, signal: AbortSignal): Promise<void> {
  if (ready !== undefined) await waitFor(ready, signal)
}

export function findModel(engine: Engine, id: string): ModelInfo {
  const model = engine.models.find((each) => each.id === id)
  if (!model) {
    const message = `The model '${id.slice(0, 200)}' does not exist. ${offered(engine)}`
    throw new V1Error(404, message, { param: 'model', code: 'model_not_found' })
  }
  return model
}

/** How many ids an error names. */
const MOST_NAMED = 5

function offered({ models }: Engine): string {
  if (models.length === 0) return 'No model is offered here.'
  const named = models.slice(0, MOST_NAMED).map(({ id }) => `'${id}'`)
  const more = models.length > MOST_NAMED ? `, and ${models.length - MOST_NAMED} more: GET /models lists them` : ''
  return `Offered here: ${named.join(', ')}${more}.`
}

export function wireModel({ id, ownedBy, contextLength, metadata }: ModelInfo) {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: ownedBy,
    root: id,
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(metadata && { metadata }),
  }
}
