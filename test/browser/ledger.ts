/** Run in a page: the ledger in its IndexedDB, and a service that keeps it, and two responses. */
import { scripted } from '../../src/engines/scripted.js'
import { createV1, indexedDbResponses, indexedDbUsage } from '../../src/index.js'
import type { UsageEvent, UsageRow } from '../../src/usage/ledger.js'

export interface LedgerInPage {
  record(events: readonly UsageEvent[]): Promise<void>
  rows(from: number, to: number): Promise<readonly UsageRow[]>
  close(): Promise<void>
  /** As a user does who clears the site's data. */
  wipe(): Promise<void>
  /** The status of one chat request, for a project. */
  chat(project: string): Promise<number>
  /** Makes a response while the clock is so many milliseconds ahead; its id. */
  respond(ahead: number): Promise<string>
  /** Whether it is still there. */
  has(id: string): Promise<boolean>
  /** The body of the usage page. */
  usage(query: string): Promise<unknown>
}

const ledger = indexedDbUsage('ledger')
const engine = scripted({ models: { 'test/hello': 'Hello there, you.' } })
const responses = indexedDbResponses('responses', { maxResponses: 2 })
const v1 = createV1({ engine, keys: [{ key: 'sk-test', id: 'me' }], usage: ledger, responses })
const authorization = 'Bearer sk-test'

const inPage: LedgerInPage = {
  async record(events) {
    await Promise.all(events.map((event) => ledger.record(event)))
  },
  rows: async (from, to) => ledger.rows(from, to),
  close: async () => ledger.close?.(),
  wipe: () =>
    new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase('ledger')
      request.onsuccess = () => resolve()
      request.onerror = () => reject(request.error)
    }),
  async chat(project) {
    const response = await v1.fetch(
      new Request(`${location.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'openai-project': project },
        body: JSON.stringify({ model: 'test/hello', messages: [{ role: 'user', content: 'Hello?' }] }),
      }),
    )
    await response.text()
    return response.status
  },
  async respond(ahead) {
    const { now } = Date
    Date.now = () => now() + ahead
    const headers = { authorization, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'test/hello', input: 'Hello?' })
    const request = new Request(`${location.origin}/v1/responses`, { method: 'POST', headers, body })
    const { id } = (await (await v1.fetch(request)).json()) as { id: string }
    Date.now = now
    return id
  },
  async has(id) {
    return (await v1.fetch(new Request(`${location.origin}/v1/responses/${id}`, { headers: { authorization } }))).ok
  },
  async usage(query) {
    const path = `${location.origin}/v1/organization/usage/completions?${query}`
    return (await v1.fetch(new Request(path, { headers: { authorization } }))).json()
  },
}

Object.assign(window, { ledger: inPage })
