export type * from './contract/engine.js'
export { type ErrorBody, textOf, V1Error, type V1ErrorOptions, type V1ErrorType } from './contract/index.js'
export type {
  Caller,
  ConnectionInfo,
  ConversationStore,
  EndpointSet,
  FaultEvent,
  KeptConversation,
  KeptResponse,
  Key,
  Keys,
  Log,
  LogEvent,
  Owner,
  RequestEvent,
  ResponseBounds,
  ResponseStore,
} from './service/index.js'
export {
  createV1,
  folderResponses,
  indexedDbResponses,
  memoryResponses,
  type V1,
  type V1Options,
} from './service/index.js'
export type { UsageEvent, UsageLedger, UsageRow } from './usage/index.js'
export { type FileUsageOptions, fileUsage, indexedDbUsage, memoryUsage } from './usage/index.js'
