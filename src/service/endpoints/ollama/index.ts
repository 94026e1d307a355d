import { inTurns, type JsonObject, type Slices } from '../../../platform/index.js'
import { answering } from '../../answer/answering.js'
import { findModel } from '../../answer/loader.js'
import { once } from '../../answer/once.js'
import {
  type EndpointEntry,
  type EndpointSet,
  type Exchange,
  jsonResponse,
  type Route,
  type RouteResponse,
  type Service,
} from '../../answer/service.js'
import { newId } from '../../wire/ids.js'
import { hasNoMessages } from './conversation.js'
import { embedOne, ollamaEmbed } from './embed.js'
import {
  bodyOf,
  checkManages,
  modelOf,
  type NamedModel,
  ollamaPull,
  ollamaRemove,
  root,
  running,
  show,
  tags,
  unmade,
  version,
} from './models.js'
import { asMessage, asResponse, ollamaDialect, ReplyDocument, type ReplyForm, ReplyLines } from './reply.js'
import { type OllamaRequest, readChat, readGenerate } from './request.js'

export type { EndpointSet } from '../../answer/service.js'

/**
 * Ollama's interface next to OpenAI's: `/api/chat`, `/api/generate`, `/api/embed`, `/api/tags`, `/api/show`, `/api/ps`,
 * `/api/pull` and the rest, under the base path and, if the service gets other paths too, at the root. Its clients send no
 * key unless you configure one; the service's `keys` decide whether they need it. Admins can unload and remove models if
 * `manageModels` is on.
 *
 * ```ts
 * const v1 = createV1({ engine, keys: 'none', endpoints: [ollama()] })
 * ```
 */
export function ollama(): EndpointSet {
  return { endpoints: ENDPOINTS }
}

/** `POST /api/chat`; without messages its model is loaded, or unloaded. */
const ollamaChat: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const model = await modelOf(service, body, exchange.request.signal)
  if (hasNoMessages(body)) return present(service, exchange, body, model, asMessage)
  const contextLength = () => findModel(service.engine, model.id).contextLength
  return answered(service, exchange, model, asMessage, () => readChat(body, model.id, contextLength))
}

/** `POST /api/generate`; without a prompt its model is loaded, or unloaded. */
const generate: Route = async (service, exchange) => {
  const body = await bodyOf(service, exchange)
  const model = await modelOf(service, body, exchange.request.signal)
  const shows = Array.isArray(body.images) && body.images.length > 0
  if (!body.prompt && !body.suffix && !shows) return present(service, exchange, body, model, asResponse)
  return answered(service, exchange, model, asResponse, () => readGenerate(body, model.id))
}

function answered(
  service: Service,
  exchange: Exchange,
  { name }: NamedModel,
  form: ReplyForm,
  read: () => Slices<OllamaRequest>,
): Promise<RouteResponse> {
  return answering(service, exchange, async ({ signal }) => {
    const { spec, stream, ignored } = await inTurns(read(), signal, exchange.caller.id)
    return {
      spec,
      ignored,
      id: newId('chatcmpl-'),
      reply: stream ? new ReplyLines(name, form) : new ReplyDocument(name, form),
    }
  })
}

/** Has the model there, or away: what is asked for where there is nothing to answer. */
async function present(
  service: Service,
  exchange: Exchange,
  { keep_alive: kept }: JsonObject,
  { name, id }: NamedModel,
  form: ReplyForm,
): Promise<RouteResponse> {
  const replyOf = (done_reason: string) => {
    const head = { model: name, created_at: new Date().toISOString() }
    return { ...head, ...form({ text: '' }), done: true, done_reason }
  }
  if (!isZero(kept)) {
    return once(service, exchange, async () => ({
      model: id,
      free: true,
      act: async () => ({ body: replyOf('load') }),
    }))
  }
  findModel(service.engine, id)
  checkManages(service, exchange)
  await service.loader.unload(id)
  return jsonResponse(replyOf('unload'))
}

/** As Ollama reads how long: a number of seconds, or a text with a unit. */
const isZero = (kept: unknown): boolean => kept === 0 || (typeof kept === 'string' && /^0+(\.0*)?[a-z]*$/.test(kept))

const ENDPOINTS: readonly EndpointEntry[] = [
  // Whether anybody is there: clients ask for it before anything else, without a key.
  { method: 'GET', path: '', route: root, open: true },
  { method: 'GET', path: '/api/version', route: version, open: true, dialect: ollamaDialect },
  { method: 'GET', path: '/api/tags', route: tags, dialect: ollamaDialect },
  { method: 'GET', path: '/api/ps', route: running, dialect: ollamaDialect },
  { method: 'POST', path: '/api/show', route: show, dialect: ollamaDialect },
  { method: 'POST', path: '/api/chat', route: ollamaChat, dialect: ollamaDialect },
  { method: 'POST', path: '/api/generate', route: generate, dialect: ollamaDialect },
  { method: 'POST', path: '/api/embed', route: ollamaEmbed, dialect: ollamaDialect },
  { method: 'POST', path: '/api/embeddings', route: embedOne, dialect: ollamaDialect },
  { method: 'POST', path: '/api/pull', route: ollamaPull, dialect: ollamaDialect },
  { method: 'DELETE', path: '/api/delete', route: ollamaRemove, dialect: ollamaDialect },
  { method: 'POST', path: '/api/create', route: unmade, dialect: ollamaDialect },
  { method: 'POST', path: '/api/copy', route: unmade, dialect: ollamaDialect },
  { method: 'POST', path: '/api/push', route: unmade, dialect: ollamaDialect },
]
