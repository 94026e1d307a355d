import { V1Error } from '../../contract/index.js'
import { loading, removed } from '../routes/manage.js'
import { findModel } from '../routes/models.js'
import { type Exchange, jsonAnswer, type Route, type Service } from '../routes/service.js'
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
  if (!stream) {
    await service.loader.load(id, undefined, signal)
    return jsonAnswer(SUCCESS)
  }
  const digest = await digestOf(id)
  return loading(service, exchange, id, {
    headers: LINE_HEADERS,
    first: lineOf({ status: 'pulling manifest' }),
    show: ({ phase, bytesLoaded: completed, bytesTotal: total, retry }) => {
      const status = retry ?? (phase === 'download' ? `pulling ${digest.slice(0, 12)}` : phase)
      return lineOf({ status, digest, total, completed })
    },
    done: lineOf(SUCCESS),
    failed: (error) => lineOf(wireError(error)),
  })
}

/** `DELETE /api/delete`. */
export const remove: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { id } = findModel(service.engine, (await modelOf(service, body, exchange.request.signal)).id)
  checkManages(service, exchange)
  await removed(service, id)
  return jsonAnswer(SUCCESS)
}

/** `/api/create`, `/api/copy`, `/api/push`. */
export const unmade: Route = async (service, exchange) => {
  const { request, path } = exchange
  // A connection is kept for the next request only where this one was read.
  await bodyOf(service, exchange)
  const message = `There is no ${request.method} ${path} here: models and their names are set when the server starts. Use /api/pull to download one of them.`
  throw new V1Error(404, message, { code: 'unknown_url' })
}
