import type { UsageEvent } from './ledger.js'

export const usageEvent = (over: Partial<UsageEvent> = {}): UsageEvent => ({
  time: 1_000_000,
  requestId: 'req_1',
  caller: 'me',
  project: null,
  model: 'a/b',
  outcome: 'ok',
  promptTokens: 10,
  cachedTokens: 4,
  completionTokens: 3,
  ...over,
})
