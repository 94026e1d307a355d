import type { Endpoint, EndpointSet } from '../endpoints.js'
import { chat, generate } from './answer.js'
import { embed, embedOne } from './embed.js'
import { dialect } from './errors.js'
import { pull, remove, unmade } from './manage.js'
import { root, running, show, tags, version } from './models.js'

export type { EndpointSet } from '../endpoints.js'

/**
 * Ollama's interface beside OpenAI's: `/api/chat`, `/api/generate`, `/api/embed`, `/api/tags`, `/api/show`, `/api/ps`,
 * `/api/pull` and the rest, under the base path and, where the service answers other paths too, beside it. Its clients
 * send a key only where they are told to; what may be asked without one is the service's `keys` to say. Models are
 * unloaded and removed by admins where `manageModels` allows it.
 *
 * ```ts
 * const v1 = createV1({ engine, keys: 'none', endpoints: [ollama()] })
 * ```
 */
export function ollama(): EndpointSet {
  return { endpoints: ENDPOINTS }
}

const ENDPOINTS: readonly Endpoint[] = [
  // Whether anybody is there: clients ask for it before anything else, without a key.
  { method: 'GET', path: '', route: root, open: true },
  { method: 'GET', path: '/api/version', route: version, open: true, dialect },
  { method: 'GET', path: '/api/tags', route: tags, dialect },
  { method: 'GET', path: '/api/ps', route: running, dialect },
  { method: 'POST', path: '/api/show', route: show, dialect },
  { method: 'POST', path: '/api/chat', route: chat, dialect },
  { method: 'POST', path: '/api/generate', route: generate, dialect },
  { method: 'POST', path: '/api/embed', route: embed, dialect },
  { method: 'POST', path: '/api/embeddings', route: embedOne, dialect },
  { method: 'POST', path: '/api/pull', route: pull, dialect },
  { method: 'DELETE', path: '/api/delete', route: remove, dialect },
  { method: 'POST', path: '/api/create', route: unmade, dialect },
  { method: 'POST', path: '/api/copy', route: unmade, dialect },
  { method: 'POST', path: '/api/push', route: unmade, dialect },
]
