import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Engine, type ModelInfo, V1Error } from '../../../contract/index.js'
import type { JsonObject } from '../../../platform/index.js'
import { readSent } from '../../answer/body.js'
import { findModel, knownModel, lookedAround, modelIdOf } from '../../answer/loader.js'
import { type Exchange, jsonResponse, type Route, type Service } from '../../answer/service.js'
import { LinkedAbort } from '../../stream/abort.js'
import { aBody, aBoolean, aString, missing, optional } from '../../wire/fields.js'
import { loading } from '../models/route.js'
import { LINE_HEADERS, ndjsonLine, ollamaError } from './reply.js'

/** The body of a request, under whichever type it comes: Ollama's own examples send it by `curl -d` alone. */
export async function bodyOf(service: Service, exchange: Exchange): Promise<JsonObject> {
  const reading = new LinkedAbort(exchange.request.signal, service.deadlines)
  try {
    return aBody(await readSent(service, exchange, reading.signal, 'of any type'))
  } finally {
    reading.dispose()
  }
}

/** A model as Ollama's clients name it, and the id that it goes by here. */
export interface NamedModel {
  readonly name: string
  readonly id: string
}

/** The model that a request names. */
export async function modelOf(service: Service, body: JsonObject, signal: AbortSignal): Promise<NamedModel> {
  const given = body.model ?? body.name
  if (given === undefined) throw missing('model')
  const name = aString(given, body.model == null ? 'name' : 'model')
  await lookedAround(service.engine, signal)
  return { name, id: modelIdOf(service, name) }
}

/** As it is listed: clients look for a tag. */
export const taggedName = (id: string): string => `${id}:latest`

/** What clients tell models apart by: of the id, since an engine need not know the bytes of its files. */
export const modelDigest = (id: string): string => bytesToHex(sha256(utf8ToBytes(id)))

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
export const ollamaPull: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const stream = optional(body, 'stream', '', aBoolean) ?? true
  const { signal } = exchange.request
  const { id } = findModel(service.engine, (await modelOf(service, body, signal)).id)
  if (!stream) {
    await service.loader.load(id, undefined, signal)
    return jsonResponse(SUCCESS)
  }
  const digest = modelDigest(id)
  return loading(service, exchange, id, {
    headers: LINE_HEADERS,
    first: ndjsonLine({ status: 'pulling manifest' }),
    show: ({ phase, bytesLoaded: completed, bytesTotal: total, retry }) => {
      const status = retry ?? (phase === 'download' ? `pulling ${digest.slice(0, 12)}` : phase)
      return ndjsonLine({ status, digest, total, completed })
    },
    done: ndjsonLine(SUCCESS),
    failed: (error) => ndjsonLine(ollamaError(error)),
  })
}

/** `DELETE /api/delete`. */
export const ollamaRemove: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { id } = findModel(service.engine, (await modelOf(service, body, exchange.request.signal)).id)
  checkManages(service, exchange)
  await service.loader.remove(id)
  return jsonResponse(SUCCESS)
}

/** `/api/create`, `/api/copy`, `/api/push`. */
export const unmade: Route = async (service, exchange) => {
  const { request, path } = exchange
  // A connection is kept for the next request only where this one was read.
  await bodyOf(service, exchange)
  const message = `There is no ${request.method} ${path} here: models and their names are set when the server starts. Use /api/pull to download one of them.`
  throw new V1Error(404, message, { code: 'unknown_url' })
}

/** Of Ollama, whose interface this is: clients ask for one that has what they use. */
const VERSION = '0.12.11'
/** Nobody keeps when a model came. */
const LONG_AGO = '1970-01-01T00:00:00Z'
/** A model stays until another needs its room. */
const FAR_OFF = '9999-12-31T23:59:59Z'
/** An engine tells no architecture; under this name clients look for the length of the context. */
const FAMILY = 'local-v1'

const DETAILS = {
  parent_model: '',
  format: '',
  family: FAMILY,
  families: [FAMILY],
  parameter_size: '',
  quantization_level: '',
}

export const root: Route = () => ({
  status: 200,
  body: 'Ollama is running',
  headers: { 'content-type': 'text/plain; charset=utf-8' },
})

export const version: Route = () => jsonResponse({ version: VERSION })

/** `GET /api/tags`: all that are offered, loaded or not. */
export const tags: Route = async ({ engine }, { request }) =>
  jsonResponse({ models: (await surveyed(engine, request.signal)).map(listed) })

/** `GET /api/ps`: those that are in memory. */
export const running: Route = async ({ engine }, { request }) => {
  const models = (await surveyed(engine, request.signal)).filter(({ metadata }) => metadata?.loaded === true)
  const wire = models.map((model) => {
    const size = bytesOf(model, 'memory_bytes')
    const { contextLength = 0, metadata } = model
    const size_vram = metadata?.device === 'cpu' ? 0 : size
    return { ...listed(model), size, size_vram, expires_at: FAR_OFF, context_length: contextLength }
  })
  return jsonResponse({ models: wire })
}

/** `POST /api/show`. */
export const show: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const { signal } = exchange.request
  const { id } = await modelOf(service, body, signal)
  const { contextLength, capabilities = {} } = await knownModel(service.engine, id, signal)
  const { chat = true, tools = true, thinking = false, images, infill, embeddings } = capabilities
  const can: readonly (readonly [string, boolean | undefined])[] = [
    ['completion', chat],
    ['tools', chat && tools],
    ['thinking', thinking],
    ['vision', images],
    ['insert', infill],
    ['embedding', embeddings],
  ]
  return jsonResponse({
    license: '',
    modelfile: `# Offered by local-v1\nFROM ${id}`,
    parameters: '',
    template: '',
    system: '',
    details: DETAILS,
    messages: [],
    model_info: {
      'general.architecture': FAMILY,
      'general.basename': id,
      ...(contextLength !== undefined && { [`${FAMILY}.context_length`]: contextLength }),
    },
    capabilities: can.flatMap(([name, does]) => (does ? [name] : [])),
    modified_at: LONG_AGO,
  })
}

async function surveyed(engine: Engine, signal: AbortSignal): Promise<readonly ModelInfo[]> {
  await lookedAround(engine, signal)
  await engine.survey?.()
  return engine.models
}

function listed(model: ModelInfo) {
  const name = taggedName(model.id)
  const size = bytesOf(model, 'kept_bytes') || bytesOf(model, 'download_bytes') || bytesOf(model, 'weights_bytes')
  return { name, model: name, modified_at: LONG_AGO, size, digest: modelDigest(model.id), details: DETAILS }
}

/** Where the engine tells it. */
function bytesOf({ metadata }: ModelInfo, name: string): number {
  const bytes = metadata?.[name]
  return typeof bytes === 'number' ? bytes : 0
}
