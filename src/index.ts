export type { Caller, Key, Keys } from './auth.js'
export type { EndpointSet } from './endpoints.js'
export type * from './engine.js'
export { textOf } from './engine.js'
export { type ErrorBody, V1Error, type V1ErrorOptions, type V1ErrorType } from './errors.js'
export type { FaultEvent, Log, LogEvent, RequestEvent } from './log.js'
export type { ConnectionInfo } from './origin.js'
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
export { type FileUsageOptions, fileUsage } from './usage/file.js'
export { indexedDbUsage } from './usage/indexed-db.js'
export type { UsageEvent, UsageLedger, UsageRow } from './usage/ledger.js'
export { memoryUsage } from './usage/memory.js'
export { createV1, type V1, type V1Options } from './v1.js'
