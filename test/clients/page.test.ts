import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Probe } from '../contract/scenario.js'
import { scenario } from '../contract/scripts.js'
import { until } from '../contract/speak.js'
import { listen } from '../support/serve.js'
import { type ControlledPage, controlledPage } from '../support/service-worker.js'
import { canUnpack } from '../support/unpack.js'
import type { ClientInPage } from './page.js'

describe.skipIf(!canUnpack)('a page and its service worker (npm has Chromium for Linux on x64)', () => {
  let here: ControlledPage
  beforeAll(async () => {
    here = await controlledPage('test/contract/worker.ts', ['test/clients/page.ts'])
  })
  afterAll(() => here?.close())

  test('the official client works in the page, unmodified', async () => {
    expect(await here.page.evaluate(() => (window as unknown as ClientInPage).ask())).toEqual({
      models: Object.keys(scenario).length,
      streamed: 'Hello, wörld 🌍',
      parsed: { city: 'Bern', tags: ['a'] },
      refused: 'model_not_found',
    })
    const probe = (): Promise<Probe> =>
      here.page.evaluate(async () => (await fetch('/probe?base=/v1&model=test/endless')).json())
    expect((await until(probe, ({ active }) => active === 0)).stepsAfterAbort).toBeLessThanOrEqual(1)
  })

  test('the same path on another origin goes to that origin', async () => {
    const other = await listen((_, response) => {
      response.setHeader('access-control-allow-origin', '*')
      response.end('the other origin')
    })
    const text = await here.page.evaluate(async (url) => (await fetch(url)).text(), `${other.origin}/v1/models`)
    expect(text).toBe('the other origin')
    await other.close()
  })

  test('a link into the service is answered too, as any other request without a key', async () => {
    const tab = await here.page.context().newPage()
    const response = await tab.goto(`${here.server.origin}/v1/models`)
    expect(response!.status()).toBe(401)
    expect(response!.fromServiceWorker()).toBe(true)
    await tab.close()
  })
})
