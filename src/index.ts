export type * from './contract/engine.js'
export { textOf } from './contract/engine.js'
export { type ErrorBody, V1Error, type V1ErrorOptions, type V1ErrorType } from './contract/errors.js'
export type { Caller, Key, Keys } from './service/auth.js'
export type { EndpointSet } from './service/endpoints.js'
export type { FaultEvent, Log, LogEvent, RequestEvent } from './service/log.js'
export type { ConnectionInfo } from './service/origin.js'
export { folderResponses } from './service/responses/folder.js'
export { indexedDbResponses } from './service/responses/indexed-db.js'
export { memoryResponses } from './service/responses/memory.js'
export type {
  ConversationStore,
  KeptConversation,
  KeptResponse,
  Owner,
  ResponseBounds,
  ResponseStore,
} from './service/responses/store.js'
export { createV1, type V1, type V1Options } from './service/v1.js'
export { type FileUsageOptions, fileUsage } from './usage/file.js'
export { indexedDbUsage } from './usage/indexed-db.js'
export type { UsageEvent, UsageLedger, UsageRow } from './usage/ledger.js'
export { memoryUsage } from './usage/memory.js'
