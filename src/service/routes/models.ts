import { type Engine, type ModelInfo, modelNotFound } from '../../contract/index.js'
import { waitFor } from './loader.js'
import { jsonAnswer, type Route, type Service } from './service.js'

export const listModels: Route = async ({ engine }, { request }) => {
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  const decide = engine.models.filter(({ capabilities }) => capabilities?.decisions)
  return jsonAnswer({ object: 'list', data: engine.models.map(wireModel), models: decide.map(wireDecider) })
}

export const retrieveModel: Route = async (service, { named, request }) => {
  const { engine } = service
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  return jsonAnswer(wireModel(findModel(engine, modelIdOf(service, named.model!))))
}

/** Waits until the engine knows which models it has; whoever leaves waits no longer. */
export async function lookedAround({ ready }: Engine, signal: AbortSignal): Promise<void> {
  if (ready !== undefined) await waitFor(ready, signal)
}

/** A model of which is known what it can. */
export async function knownModel(engine: Engine, id: string, signal: AbortSignal): Promise<ModelInfo> {
  if (engine.ready !== undefined) await lookedAround(engine, signal)
  const model = findModel(engine, id)
  if (!engine.learn) return model
  await waitFor(engine.learn(id, signal), signal)
  return findModel(engine, id)
}

export function findModel(engine: Engine, id: string): ModelInfo {
  const model = engine.models.find((each) => each.id === id)
  if (!model) throw modelNotFound(id, engine.models)
  return model
}

/**
 * The id of the model that is meant: by an alias, or by its name without the namespace where one model alone has it.
 * What is meant by nobody stays as it is, and is found by nobody.
 */
export function modelIdOf({ engine, aliases }: Pick<Service, 'engine' | 'aliases'>, asked: string): string {
  const { models } = engine
  if (models.some(({ id }) => id === asked)) return asked
  const alias = aliases.get(asked)
  if (alias !== undefined) return alias
  const named = asked.includes('/') ? [] : models.filter(({ id }) => id.slice(id.indexOf('/') + 1) === asked)
  return named.length === 1 ? named[0]!.id : asked
}

/** A model that decides, as TypeSafe's clients list them: they read this part alone, and OpenAI's the other. */
function wireDecider({ id, contextLength }: ModelInfo) {
  const context = contextLength === undefined ? '' : `, over up to ${contextLength} tokens`
  return { name: id, description: `Answers typed questions with probabilities${context}.`, release_date: '1970-01-01' }
}

export function wireModel({ id, ownedBy, contextLength, capabilities, metadata }: ModelInfo) {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: ownedBy,
    root: id,
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(capabilities && { capabilities }),
    ...(metadata && { metadata }),
  }
}
