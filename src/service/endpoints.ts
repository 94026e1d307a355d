import type { EndpointEntry } from './answer/service.js'
import { chat } from './endpoints/chat/route.js'
import { classify } from './endpoints/classify/route.js'
import { completions } from './endpoints/completions/route.js'
import {
  createConversation,
  createItems,
  deleteConversation,
  deleteItem,
  listItems,
  retrieveConversation,
  retrieveItem,
  updateConversation,
} from './endpoints/conversations/route.js'
import { decisions, systemOne, systemOneDialect } from './endpoints/decisions/route.js'
import { embeddings } from './endpoints/embeddings/route.js'
import { extractions } from './endpoints/extractions/route.js'
import { health, tellLoad, tellMetrics, tellVersion } from './endpoints/health/route.js'
import { infill } from './endpoints/infill/route.js'
import { listModels, loadModelRoute, removeModel, retrieveModel, unloadModel } from './endpoints/models/route.js'
import { pooling } from './endpoints/pooling/route.js'
import { rerank } from './endpoints/rerank/route.js'
import { cancelResponse, deleteResponse, listInputItems, retrieveResponse } from './endpoints/responses/kept.js'
import { compactResponse, countInputTokens, createResponse } from './endpoints/responses/route.js'
import { score } from './endpoints/score/route.js'
import { detokenize, tellTokenizerInfo, tokenize } from './endpoints/tokenize/route.js'
import { completionsUsage } from './endpoints/usage/route.js'

/** All there is. `Allow`, the text of a 404 and the order of checks come from here; contract tests ask for a row. */
export const ENDPOINTS: readonly EndpointEntry[] = [
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
  { method: 'POST', path: '/systemone', route: systemOne, dialect: systemOneDialect },
  { method: 'POST', path: '/extractions', route: extractions },
  // As young hosts have them: LiteLLM, OpenRouter.
  { method: 'POST', path: '/api/alpha/decisions', route: systemOne },
  { method: 'POST', path: '/extraction', route: extractions },
  { method: 'POST', path: '/api/alpha/extractions', route: extractions },
  { method: 'POST', path: '/tokenize', route: tokenize },
  { method: 'POST', path: '/detokenize', route: detokenize },
  { method: 'GET', path: '/tokenizer_info', route: tellTokenizerInfo },
  { method: 'GET', path: '/models', route: listModels },
  { method: 'GET', path: '/models/{model}', route: retrieveModel },
  { method: 'DELETE', path: '/models/{model}', route: removeModel, admin: true },
  { method: 'POST', path: '/models/{model}/load', route: loadModelRoute, admin: true },
  { method: 'POST', path: '/models/{model}/unload', route: unloadModel, admin: true },
  { method: 'GET', path: '/organization/usage/completions', route: completionsUsage },
  { method: 'GET', path: '/metrics', route: tellMetrics, option: 'metrics' },
  { method: 'GET', path: '/health', route: health, open: true },
  // As vLLM and Cohere have them.
  { method: 'GET', path: '/ping', route: health, open: true },
  { method: 'GET', path: '/version', route: tellVersion, open: true },
  { method: 'GET', path: '/load', route: tellLoad },
  { method: 'POST', path: '/v2/rerank', route: rerank },
  // As llama.cpp's server has it.
  { method: 'POST', path: '/infill', route: infill },
]
