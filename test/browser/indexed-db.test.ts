import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { usageEvent } from '../../src/usage/event.test-helper.js'
import type { UsageEvent } from '../../src/usage/ledger.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'
import type { LedgerInPage } from './ledger.js'

const MINUTE = 60
const START = 1_700_438_400

const event = (over: Partial<UsageEvent> = {}) => usageEvent({ time: START, ...over })

/** Calls the page's ledger. */
function ask<Name extends keyof LedgerInPage>(
  page: Page,
  name: Name,
  ...values: Parameters<LedgerInPage[Name]>
): ReturnType<LedgerInPage[Name]> {
  return page.evaluate(
    ([name, values]) => {
      const { ledger } = window as unknown as { ledger: Record<string, (...values: unknown[]) => unknown> }
      return ledger[name]!(...values)
    },
    [name, values] as const,
  ) as ReturnType<LedgerInPage[Name]>
}

describe.skipIf(!canUnpack)('usage in IndexedDB (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let server: Listening
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    const script = await bundle('test/browser/ledger.ts', { format: 'iife' })
    const html = '<!doctype html><meta charset="utf-8"><title>ledger</title><script src="/ledger.js"></script>'
    server = await serveFiles({ '/index.html': html, '/ledger.js': script })
    browser = await sharedChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  beforeEach(async () => {
    context = await browser.newContext()
    page = await tab()
  })
  afterEach(() => context.close())

  async function tab(): Promise<Page> {
    const opened = await context.newPage()
    await opened.goto(server.origin)
    return opened
  }

  const record = (on: Page, ...events: UsageEvent[]) => ask(on, 'record', events)
  const rows = (on: Page, from = 0, to = Number.POSITIVE_INFINITY) => ask(on, 'rows', from, to)

  test('sums up by minute, caller, project and model, and counts each outcome', async () => {
    await record(
      page,
      event(),
      event({ time: START + 59, outcome: 'error', promptTokens: 1, cachedTokens: 0, completionTokens: 2 }),
      event({ outcome: 'aborted' }),
      event({ time: START + MINUTE }),
      event({ caller: 'other' }),
      event({ project: 'a/x' }),
      event({ model: 'a/c' }),
    )
    const kept = await rows(page)
    expect(kept).toHaveLength(5)
    expect(kept).toContainEqual({
      start: START,
      caller: 'me',
      project: null,
      model: 'a/b',
      requests: 3,
      errors: 1,
      aborts: 1,
      promptTokens: 21,
      cachedTokens: 8,
      completionTokens: 8,
    })
    expect(kept.filter(({ project }) => project === 'a/x')).toHaveLength(1)
  })

  test('gives the rows that start within a time, its end left out', async () => {
    await record(page, ...[0, 1, 2, 3].map((minute) => event({ time: START + minute * MINUTE })))
    const starts = async (from: number, to: number) => (await rows(page, from, to)).map(({ start }) => start - START)
    expect(await starts(START + MINUTE, START + 3 * MINUTE)).toEqual([MINUTE, 2 * MINUTE])
    expect(await starts(START + 1, START + MINUTE)).toEqual([])
    expect(await starts(0, START)).toEqual([])
  })

  test('has everything again after a reload, and in a tab opened later', async () => {
    await record(page, event(), event({ project: 'a/x' }))
    const before = await rows(page)
    expect(before).toHaveLength(2)
    await page.reload()
    expect(await rows(page)).toEqual(before)
    await record(page, event())
    await page.close()
    page = await tab()
    expect((await rows(page)).map(({ requests }) => requests).sort()).toEqual([1, 2])
  })

  test('is one ledger for two tabs that write at the same time', async () => {
    const other = await tab()
    const many = Array.from({ length: 40 }, () => event())
    await Promise.all([record(page, ...many), record(other, ...many)])
    for (const each of [page, other]) {
      expect(await rows(each)).toMatchObject([{ requests: 80, promptTokens: 800 }])
    }
  })

  test('opens again after it was closed, and after its data was cleared beside it', async () => {
    const other = await tab()
    await record(page, event())
    await ask(page, 'close')
    expect(await rows(page)).toHaveLength(1)
    await ask(other, 'wipe')
    expect(await rows(page)).toEqual([])
    await record(page, event())
    expect(await rows(page)).toMatchObject([{ requests: 1 }])
  })

  test('the response that was made last is the newest, also where the clock was set back between two visits', async () => {
    const ids: string[] = []
    for (const ahead of [7_200_000, 7_200_000, 0, 0]) {
      ids.push(await ask(page, 'respond', ahead))
      await page.reload()
    }
    expect(await Promise.all(ids.map((id) => ask(page, 'has', id)))).toEqual([false, false, true, true])
  })

  test('is what the usage endpoint of a service in the page tells', async () => {
    const now = Math.floor(Date.now() / 1000)
    for (const project of ['a/x', 'a/y', 'a/x']) {
      expect(await ask(page, 'chat', project)).toBe(200)
    }
    await page.reload()
    const query = `start_time=${now - 86_400}&end_time=${now + 86_400}&group_by=project_id`
    const { data } = (await ask(page, 'usage', query)) as {
      data: { results: { project_id: string; num_model_requests: number }[] }[]
    }
    const counted = new Map<string, number>()
    for (const { results } of data) {
      for (const { project_id, num_model_requests } of results) {
        counted.set(project_id, (counted.get(project_id) ?? 0) + num_model_requests)
      }
    }
    expect([...counted].sort()).toEqual([
      ['a/x', 2],
      ['a/y', 1],
    ])
  })
})
