import type { LoadProgress } from '../engine.js'
import { V1Error } from '../errors.js'
import { News, newsStream } from '../stream/news.js'
import { SSE_DONE, SSE_HEADERS, sseEvent } from '../stream/sse.js'
import { requestError } from './failure.js'
import { findModel, lookedAround, wireModel } from './models.js'
import { type Answered, type Exchange, jsonAnswer, type Route } from './service.js'

/** `POST models/<id>/load`: a stream of how far it is. Leaving it leaves the load alone. */
export const loadModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.named.model!)
  const news = new News<LoadProgress>()
  const { signal } = exchange.request
  const done = loader.load(id, (progress) => news.tell(progress), signal)
  done.then(
    () => news.end(),
    (error: unknown) => news.end(error),
  )
  // What is refused at once is a plain answer, as everywhere.
  await news.wait()
  if (news.over && news.error !== undefined) throw news.error
  return streamed(exchange, news)
}

/** `POST models/<id>/unload`: frees its memory; stops a load that is on its way. */
export const unloadModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.named.model!)
  await loader.unload(id)
  return jsonAnswer(wireModel(findModel(engine, id)))
}

/** `DELETE models/<id>`: what was downloaded is deleted; the model may be loaded again. */
export const removeModel: Route = async ({ engine, loader }, exchange) => {
  await lookedAround(engine, exchange.request.signal)
  const { id } = findModel(engine, exchange.named.model!)
  if (!engine.remove) {
    throw new V1Error(409, `The model '${id}' cannot be removed.`, { param: 'model', code: 'not_downloaded' })
  }
  await loader.unload(id)
  await engine.remove(id)
  return jsonAnswer({ id, object: 'model', deleted: true })
}

function streamed(exchange: Exchange, news: News<LoadProgress>): Answered {
  const body = newsStream(news, {
    show: (progress) => sseEvent(JSON.stringify(wireProgress(progress))),
    last: (error) => {
      if (error === undefined) {
        exchange.end(200)
        return SSE_DONE
      }
      const shown = requestError(error, exchange.request.signal.aborted)
      exchange.end(shown.status, { error })
      return sseEvent(JSON.stringify(shown))
    },
    left: () => exchange.end(499),
  })
  return { status: 200, body, headers: SSE_HEADERS, streams: true }
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
