/** The door of this room. What was used, by whom, and where that is kept. */
export { type FileUsageOptions, fileUsage } from './file.js'
export { indexedDbUsage } from './indexed-db.js'
export type { UsageEvent, UsageLedger, UsageRow } from './ledger.js'
export { type BucketWidth, type UsageQuery, usagePage } from './page.js'
export { bucketOf, memoryUsage } from './table.js'
