import type { LoadProgress } from '../engine.js'
import { V1Error } from '../errors.js'
import { requestError } from '../routes/failure.js'
import { findModel } from '../routes/models.js'
import { type Answered, type Exchange, jsonAnswer, type Route, type Service } from '../routes/service.js'
import { News, newsStream } from '../stream/news.js'
import { aBoolean, optional } from '../wire/fields.js'
import { bodyOf } from './body.js'
import { wireError } from './errors.js'
import { digestOf, modelOf } from './names.js'
import { LINE_HEADERS, lineOf } from './reply.js'

/** Models are unloaded and removed by admins, where the service lets them. */
export function checkManages({ manages }: Service, { caller }: Exchange): void {
  if (manages && caller.admin) return
  const message = manages
    ? 'Only an admin may load, unload and remove models.'
    : "Models are not unloaded or removed over HTTP here: the service's option 'manageModels' allows it."
  throw new V1Error(403, message, { code: 'admin_only' })
}

const SUCCESS = { status: 'success' }

/**
 * `POST /api/pull`: loads a model that is offered here, and downloads it where it is not here yet, as its first request
 * would; tells how far it is.
 */
export const pull: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const stream = optional(body, 'stream', '', aBoolean) ?? true
  const { signal } = exchange.request
  const { id } = findModel(service.engine, (await modelOf(service, body, signal)).id)
  const news = new News<LoadProgress>()
  const done = service.loader.load(id, (progress) => news.tell(progress), signal)
  if (!stream) {
    await done
    return jsonAnswer(SUCCESS)
  }
  done.then(
    () => news.end(),
    (error: unknown) => news.end(error),
  )
  // What is refused at once is a plain answer, as everywhere.
  await news.wait()
  if (news.over && news.error !== undefined) throw news.error
  return pulled(exchange, news, await digestOf(id))
}

function pulled(exchange: Exchange, news: News<LoadProgress>, digest: string): Answered {
  const body = newsStream(news, {
    first: lineOf({ status: 'pulling manifest' }),
    show: ({ phase, bytesLoaded: completed, bytesTotal: total, retry }) =>
      lineOf({
        status: retry ?? (phase === 'download' ? `pulling ${digest.slice(0, 12)}` : phase),
        digest,
        total,
        completed,
      }),
    last: (error) => {
      if (error === undefined) {
        exchange.end(200)
        return lineOf(SUCCESS)
      }
      const shown = requestError(error, exchange.request.signal.aborted)
      exchange.end(shown.status, { error })
      return lineOf(wireError(shown))
    },
    left: () => exchange.end(499),
  })
  return { status: 200, body, headers: LINE_HEADERS, streams: true }
}

/** `DELETE /api/delete`. */
export const remove: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { engine, loader } = service
  const { id } = findModel(engine, (await modelOf(service, body, exchange.request.signal)).id)
  checkManages(service, exchange)
  if (!engine.remove) {
    throw new V1Error(409, `The model '${id}' cannot be removed.`, { param: 'model', code: 'not_downloaded' })
  }
  await loader.unload(id)
  await engine.remove(id)
  return jsonAnswer(SUCCESS)
}

/** `/api/create`, `/api/copy`, `/api/push`. */
export const unmade: Route = async (service, exchange) => {
  const { request, path } = exchange
  // A connection is kept for the next request only where this one was read.
  await bodyOf(service, exchange)
  const message = `There is no ${request.method} ${path} here: which models are offered, and under which names, is said where the server is started. Offered models are pulled by /api/pull.`
  throw new V1Error(404, message, { code: 'unknown_url' })
}
