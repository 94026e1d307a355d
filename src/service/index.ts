/** The door of this room. A request in, a response out. */

export type { EndpointSet } from './answer/service.js'
export { type Caller, isKey, type Key, type Keys } from './door/auth.js'
export { type FaultEvent, type Log, type LogEvent, logFaults, type RequestEvent } from './door/log.js'
export { type ConnectionInfo, checkOrigin, hostList, isOrigin, urlOf } from './door/origin.js'
export { messages } from './endpoints/messages/index.js'
export { ollama } from './endpoints/ollama/index.js'
export { claimedResponses, folderResponses } from './endpoints/responses/store/folder.js'
export { indexedDbResponses } from './endpoints/responses/store/indexed-db.js'
export { memoryResponses } from './endpoints/responses/store/shelved.js'
export type {
  ConversationStore,
  KeptConversation,
  KeptResponse,
  Owner,
  ResponseBounds,
  ResponseStore,
} from './endpoints/responses/store/store.js'
export { News, newsStream } from './stream/news.js'
export { SSE_DONE, SSE_HEADERS, sseEvent } from './stream/sse.js'
export { createV1, type V1, type V1Options } from './v1.js'
