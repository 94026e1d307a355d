/** The door of this room. A request in, a response out. */
export { type Caller, isKey, type Key, type Keys } from './auth.js'
export type { EndpointSet } from './endpoints.js'
export { type FaultEvent, type Log, type LogEvent, logFaults, type RequestEvent } from './log.js'
export { messages } from './messages/index.js'
export { ollama } from './ollama/index.js'
export { type ConnectionInfo, checkOrigin, hostList, isOrigin } from './origin.js'
export { urlOf } from './request-url.js'
export { folderResponses } from './responses/folder.js'
export { indexedDbResponses } from './responses/indexed-db.js'
export { memoryResponses } from './responses/memory.js'
export type {
  ConversationStore,
  KeptConversation,
  KeptResponse,
  Owner,
  ResponseBounds,
  ResponseStore,
} from './responses/store.js'
export { News, newsStream } from './stream/news.js'
export { SSE_DONE, SSE_HEADERS, sseEvent } from './stream/sse.js'
export { createV1, type V1, type V1Options } from './v1.js'
