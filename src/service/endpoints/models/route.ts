import type { LoadProgress, ModelInfo, V1Error } from '../../../contract/index.js'
import { findModel, lookedAround, modelIdOf } from '../../answer/loader.js'
import {
  type Exchange,
  jsonResponse,
  type Route,
  type RouteResponse,
  requestError,
  type Service,
} from '../../answer/service.js'
import { News, newsStream } from '../../stream/news.js'
import { SSE_DONE, SSE_HEADERS, sseEvent } from '../../stream/sse.js'

export const listModels: Route = async ({ engine }, { request }) => {
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  const decide = engine.models.filter(({ capabilities }) => capabilities?.decisions)
  return jsonResponse({ object: 'list', data: engine.models.map(wireModel), models: decide.map(wireDecider) })
}

export const retrieveModel: Route = async (service, { named, request }) => {
  const { engine } = service
  await lookedAround(engine, request.signal)
  await engine.survey?.()
  return jsonResponse(wireModel(findModel(engine, modelIdOf(service, named.model!))))
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

/** How a load is told. */
export interface LoadForm {
  readonly headers: Readonly<Record<string, string>>
  /** Before anything is known. */
  readonly first?: string
  show(progress: LoadProgress): string
  readonly done: string
  failed(error: V1Error): string
}

/** A stream of how far a load is. Leaving it leaves the load alone. */
export async function loading(
  { loader, deadlines }: Service,
  exchange: Exchange,
  id: string,
  { headers, first, show, done, failed }: LoadForm,
): Promise<RouteResponse> {
  const news = new News<LoadProgress>()
  const { signal } = exchange.request
  loader
    .load(id, (progress) => news.tell(progress), signal)
    .then(
      () => news.end(),
      (error: unknown) => news.end(error),
    )
  // What is refused at once is a plain answer, as everywhere.
  await news.wait()
  if (news.over && news.error !== undefined) throw news.error
  const body = newsStream(news, {
    deadlines,
    ...(first !== undefined && { first }),
    show,
    last: (error) => {
      if (error === undefined) {
        exchange.end(200)
        return done
      }
      const shown = requestError(error, signal.aborted)
      exchange.end(shown.status, { error })
      return failed(shown)
    },
    left: () => exchange.end(499),
  })
  return { status: 200, body, headers, streams: true }
}

const EVENTS: LoadForm = {
  headers: SSE_HEADERS,
  show: (progress) => sseEvent(JSON.stringify(wireProgress(progress))),
  done: SSE_DONE,
  failed: (error) => sseEvent(JSON.stringify(error)),
}

/** The model that a path names. */
async function named({ engine }: Service, { named, request }: Exchange): Promise<string> {
  await lookedAround(engine, request.signal)
  return findModel(engine, named.model!).id
}

/** `POST models/<id>/load`: a stream of how far it is. */
export const loadModelRoute: Route = async (service, exchange) =>
  loading(service, exchange, await named(service, exchange), EVENTS)

/** `POST models/<id>/unload`: frees its memory; stops a load that is on its way. */
export const unloadModel: Route = async (service, exchange) => {
  const id = await named(service, exchange)
  await service.loader.unload(id)
  return jsonResponse(wireModel(findModel(service.engine, id)))
}

/** `DELETE models/<id>`: what was downloaded is deleted; the model may be loaded again. */
export const removeModel: Route = async (service, exchange) => {
  const id = await named(service, exchange)
  await service.loader.remove(id)
  return jsonResponse({ id, object: 'model', deleted: true })
}

function wireProgress(progress: LoadProgress) {
  const { model, phase, bytesLoaded, bytesTotal, filesLoaded, filesTotal, secondsLeft, message, retry } = progress
  return {
    object: 'model.load',
    model,
    phase,
    bytes_loaded: bytesLoaded,
    bytes_total: bytesTotal,
    files_loaded: filesLoaded,
    files_total: filesTotal,
    ...(secondsLeft !== undefined && { seconds_left: secondsLeft }),
    ...((retry ?? message) !== undefined && { message: retry ?? message }),
  }
}
