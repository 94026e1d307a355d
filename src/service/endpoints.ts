import type { V1Error } from '../contract/index.js'
import { chat } from './routes/chat.js'
import { classify } from './routes/classify.js'
import { completions } from './routes/completions.js'
import {
  createConversation,
  createItems,
  deleteConversation,
  deleteItem,
  listItems,
  retrieveConversation,
  retrieveItem,
  updateConversation,
} from './routes/conversations.js'
import { decisions, systemOne } from './routes/decisions.js'
import { embeddings } from './routes/embeddings.js'
import { extractions } from './routes/extractions.js'
import { health, tellLoad, tellMetrics, tellVersion } from './routes/health.js'
import { loadModel, removeModel, unloadModel } from './routes/manage.js'
import { listModels, retrieveModel } from './routes/models.js'
import { pooling } from './routes/pooling.js'
import { rerank } from './routes/rerank.js'
import { compactResponse } from './routes/responses/compact.js'
import { createResponse } from './routes/responses/create.js'
import { countInputTokens } from './routes/responses/input-tokens.js'
import { cancelResponse, deleteResponse, listInputItems, retrieveResponse } from './routes/responses/kept.js'
import { score } from './routes/score.js'
import type { Route } from './routes/service.js'
import { detokenize, tokenize, tokenizerInfo } from './routes/tokenize.js'
import { completionsUsage } from './routes/usage.js'

export type Method = 'GET' | 'POST' | 'DELETE'

/** One thing that can be asked for, under the base path. */
export interface Endpoint {
  readonly method: Method
  /** `{model}` stands for the id of a model, which holds a slash; any other name in braces for one segment. */
  readonly path: string
  readonly route: Route
  /** Answered without a key. */
  readonly open?: true
  /** For admins, and there only with `manageModels`. */
  readonly admin?: true
  /** There only with the option of this name. */
  readonly option?: 'metrics'
  /** A POST that takes no body. */
  readonly bare?: true
  /** How it tells what every endpoint tells, where that is not as OpenAI does. */
  readonly dialect?: Dialect
}

/** The words of another interface. */
export interface Dialect {
  /** The body of an error. */
  error(error: V1Error, requestId: string): object
  /** The header in which its clients look for the request's id. */
  readonly requestIdHeader: string
}

/** Endpoints that come as an entry point of their own, such as `messages()` of `local-v1/messages`. */
export interface EndpointSet {
  readonly endpoints: readonly object[]
}

/** All that there is. `Allow`, the text of a 404, the order of checks and the contract tests come from here. */
export const ENDPOINTS: readonly Endpoint[] = [
  { method: 'POST', path: '/chat/completions', route: chat },
  { method: 'POST', path: '/responses', route: createResponse },
  { method: 'POST', path: '/responses/compact', route: compactResponse },
  { method: 'POST', path: '/responses/input_tokens', route: countInputTokens },
  { method: 'GET', path: '/responses/{id}', route: retrieveResponse },
  { method: 'DELETE', path: '/responses/{id}', route: deleteResponse },
  { method: 'POST', path: '/responses/{id}/cancel', route: cancelResponse, bare: true },
  { method: 'GET', path: '/responses/{id}/input_items', route: listInputItems },
  { method: 'POST', path: '/conversations', route: createConversation },
  { method: 'GET', path: '/conversations/{id}', route: retrieveConversation },
  { method: 'POST', path: '/conversations/{id}', route: updateConversation },
  { method: 'DELETE', path: '/conversations/{id}', route: deleteConversation },
  { method: 'GET', path: '/conversations/{id}/items', route: listItems },
  { method: 'POST', path: '/conversations/{id}/items', route: createItems },
  { method: 'GET', path: '/conversations/{id}/items/{item}', route: retrieveItem },
  { method: 'DELETE', path: '/conversations/{id}/items/{item}', route: deleteItem },
  { method: 'POST', path: '/completions', route: completions },
  { method: 'POST', path: '/embeddings', route: embeddings },
  { method: 'POST', path: '/rerank', route: rerank },
  { method: 'POST', path: '/score', route: score },
  { method: 'POST', path: '/classify', route: classify },
  { method: 'POST', path: '/pooling', route: pooling },
  { method: 'POST', path: '/decisions', route: decisions },
  { method: 'POST', path: '/systemone', route: systemOne },
  { method: 'POST', path: '/extractions', route: extractions },
  // As young hosts have them: LiteLLM, OpenRouter.
  { method: 'POST', path: '/api/alpha/decisions', route: systemOne },
  { method: 'POST', path: '/extraction', route: extractions },
  { method: 'POST', path: '/api/alpha/extractions', route: extractions },
  { method: 'POST', path: '/tokenize', route: tokenize },
  { method: 'POST', path: '/detokenize', route: detokenize },
  { method: 'GET', path: '/tokenizer_info', route: tokenizerInfo },
  { method: 'GET', path: '/models', route: listModels },
  { method: 'GET', path: '/models/{model}', route: retrieveModel },
  { method: 'DELETE', path: '/models/{model}', route: removeModel, admin: true },
  { method: 'POST', path: '/models/{model}/load', route: loadModel, admin: true },
  { method: 'POST', path: '/models/{model}/unload', route: unloadModel, admin: true },
  { method: 'GET', path: '/organization/usage/completions', route: completionsUsage },
  { method: 'GET', path: '/metrics', route: tellMetrics, option: 'metrics' },
  { method: 'GET', path: '/health', route: health, open: true },
  // As vLLM and Cohere have them.
  { method: 'GET', path: '/ping', route: health, open: true },
  { method: 'GET', path: '/version', route: tellVersion, open: true },
  { method: 'GET', path: '/load', route: tellLoad },
  { method: 'POST', path: '/v2/rerank', route: rerank },
]
