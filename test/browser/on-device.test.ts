import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { InstallOptions } from '../../adapters/service-worker/index.js'
import { until } from '../contract/speak.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { type Listening, listen } from '../support/serve.js'
import { ASK_MS, type OpenTab, type Visitor, visitor } from '../support/tabs.js'
import { canUnpack } from '../support/unpack.js'
import type { Where } from './hosts-worker.js'
import type { Tab } from './tab.js'

/** Another service worker, as applications have them: it takes over at once, and sends everything to the network. */
const FOREIGN = `
  addEventListener('install', (event) => event.waitUntil(skipWaiting()))
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`
/** The same, of which no answer comes. */
const SILENT = FOREIGN.replace('fetch(event.request)', 'new Promise(() => {})')

describe.skipIf(!canUnpack)('nothing leaves the device (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let server: Listening
  let here: Visitor
  /** What the web server was asked for, and would not have been, had the device answered. */
  let leaked: string[]
  const files: Record<string, string> = {}

  beforeAll(async () => {
    const names = ['hosts-worker', 'tab', 'own-listeners-worker']
    const [worker, tab, own] = await Promise.all(names.map((name) => bundle(`test/browser/${name}.ts`)))
    const html = '<!doctype html><meta charset="utf-8"><title>tab</title><script type="module" src="/tab.js"></script>'
    Object.assign(files, {
      '/': html,
      '/app/': html,
      '/tab.js': tab,
      '/v1.js': worker,
      '/foreign.js': FOREIGN,
      '/silent.js': SILENT,
      '/own.js': own,
    })
    server = await listen((request, response) => {
      const path = new URL(request.url!, 'http://localhost').pathname
      if (path.startsWith('/v1/')) leaked.push(path)
      response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html')
      response.setHeader('cache-control', 'no-store')
      response.writeHead(files[path] ? 200 : 404).end(files[path] ?? '')
    })
    browser = await sharedChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  beforeEach(async () => {
    leaked = []
    files['/changing.js'] = FOREIGN
    here = await visitor(browser, server.origin, { script: '/v1.js' })
  })
  afterEach(async () => {
    await here.context.close()
    expect(leaked).toEqual([])
  })

  const where = (tab: OpenTab, model = 'test/hello') => tab.json<Where>(`/where?model=${model}`)
  const running = (tab: OpenTab, model: string, calls: number) =>
    until(
      () => where(tab, model),
      ({ probe }) => probe.active === calls,
      ASK_MS,
    )
  const hello = async (tab: OpenTab, stream = false) => (await tab.chat({ stream }, 'device')).done()
  const clearSiteData = async (tab: OpenTab) => {
    const cdp = await here.context.newCDPSession(tab.page)
    await cdp.send('Storage.clearDataForOrigin', { origin: server.origin, storageTypes: 'all' })
  }
  /** A page that another service worker controls. */
  async function foreignPage(script = '/foreign.js', scope = '/') {
    const page = await here.context.newPage()
    await page.goto(server.origin + scope)
    await page.evaluate(
      async ([script, scope]) => {
        const controlled = new Promise((resolve) => {
          navigator.serviceWorker.oncontrollerchange = resolve
        })
        await navigator.serviceWorker.register(script, { scope })
        await controlled
      },
      [script, scope] as const,
    )
    const install = (options: InstallOptions) =>
      page.evaluate(
        (options) =>
          (window as unknown as { tab: Tab }).tab.install(options).then(
            () => 'installed',
            ({ message, code }: { message: string; code: string }) => ({ message, code }),
          ),
        options,
      )
    const answer = async () => {
      const at = await page.evaluate(() => (window as unknown as { tab: Tab }).tab.chat({}, 'device'))
      await page.waitForFunction((at) => (window as unknown as { tab: Tab }).tab.answers[at]!.done, at)
      return page.evaluate((at) => (window as unknown as { tab: Tab }).tab.answers[at], at)
    }
    return { page, install, answer }
  }
  const registered = (page: OpenTab['page']) =>
    page.evaluate(async () => {
      const all = await navigator.serviceWorker.getRegistrations()
      return all.map(({ active, waiting }) =>
        [active?.scriptURL, waiting?.scriptURL].map((url) => url?.split('/').pop()),
      )
    })

  test('device.fetch asks the engine wherever it runs, streamed and whole', async () => {
    const tabs = [await here.open(), await here.open()]
    for (const tab of tabs)
      for (const stream of [true, false]) expect(await hello(tab, stream)).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect((await where(tabs[0]!)).probe.started).toBe(4)
  })

  test('an answer by device.fetch outlives the service worker, in the engine’s tab and in another', async () => {
    const tabs = [await here.open(), await here.open()]
    const chats = await Promise.all(tabs.map((tab) => tab.chat({ model: 'test/endless', stream: true }, 'device')))
    for (const chat of chats) await chat.until(({ text }) => text.includes('tick'))
    await here.stopServiceWorkers()
    for (const chat of chats) {
      const { length } = (await chat.until(() => true)).text
      await chat.until(({ text }) => text.length > length + 20)
      await chat.leave()
    }
    const { probe } = await running(tabs[0]!, 'test/endless', 0)
    expect(probe).toMatchObject({ started: 2, aborted: 2 })
  })

  test('a client that leaves a device.fetch before its first word stops the engine', async () => {
    const tabs = [await here.open(), await here.open()]
    for (const [i, tab] of tabs.entries()) {
      const chat = await tab.chat({ model: 'test/thinking' }, 'device')
      await running(tab, 'test/thinking', 1)
      await chat.leave()
      expect((await chat.done()).failed).toMatchObject({ message: 'Request was aborted.' })
      expect((await running(tab, 'test/thinking', 0)).probe.aborted).toBe(i + 1)
    }
  })

  test('a tab that is closed hands over what was asked by device.fetch and had said nothing', async () => {
    const first = await here.open()
    const second = await here.open()
    const slow = await second.chat({ model: 'test/slow', stream: true }, 'device')
    const endless = await second.chat({ model: 'test/endless', stream: true }, 'device')
    await endless.until(({ text }) => text.includes('tick'))
    await running(second, 'test/slow', 1)
    await first.close()
    expect(await slow.done()).toEqual({ text: 'here it is', done: true })
    expect((await endless.done()).failed).toMatchObject({ code: 'host_lost' })
    expect(await hello(second)).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test('device.fetch refuses other hosts, and paths that are not served here', async () => {
    const tab = await here.open()
    const ask = (url: string) =>
      tab.page.evaluate(async (url) => {
        const { tab } = window as unknown as { tab: Tab }
        const response = await tab.fetch(url, { method: 'POST', body: 'a secret' })
        return [response.status, (await response.json()).error.code]
      }, url)
    expect(await ask('https://api.openai.example/v1/chat/completions')).toEqual([400, 'not_on_device'])
    expect(await ask('/elsewhere')).toEqual([404, 'unknown_url'])
  })

  test('another service worker for the same pages is an error, before and after a reload, and is kept', async () => {
    const { page, install } = await foreignPage()
    for (let i = 0; i < 2; i++) {
      expect(await install({ script: '/v1.js' })).toEqual({
        code: 'service_worker_foreign',
        message: expect.stringMatching(/foreign\.js.*replace: true.*serviceWorker\(v1\)/),
      })
      expect(await registered(page)).toEqual([['foreign.js', undefined]])
      await page.reload()
    }
  })

  test('another service worker is replaced at once by who asks for it', async () => {
    const { page, install, answer } = await foreignPage()
    expect(await install({ script: '/v1.js', replace: true })).toBe('installed')
    expect(await registered(page)).toEqual([['v1.js', undefined]])
    expect(await answer()).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect(await page.evaluate(async () => (await (await fetch('/v1/models')).json()).object)).toBe('list')
  })

  test('one that answers nothing any more is replaced too: nothing is asked of it', async () => {
    const { page, install, answer } = await foreignPage('/silent.js')
    let workers = 0
    page.on('worker', () => workers++)
    expect(await install({ script: '/v1.js', replace: true })).toBe('installed')
    expect(await answer()).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect(workers).toBe(1)
  })

  test('a service worker for a part of the scope that contains the page is an error', async () => {
    const { install } = await foreignPage('/foreign.js', '/app/')
    expect(await install({ script: '/v1.js', scope: '/' })).toEqual({
      code: 'service_worker_foreign',
      message: expect.stringContaining("scope: '/app/'"),
    })
  })

  test('one of ours that waits for tabs of an earlier one, which was not ours, is an error', async () => {
    const { install, answer, page } = await foreignPage('/changing.js')
    files['/changing.js'] = files['/v1.js']!
    expect(await install({ script: '/changing.js' })).toEqual({
      code: 'service_worker_waiting',
      message: expect.stringMatching(/changing\.js.*replace: true/),
    })
    expect(await registered(page)).toEqual([['changing.js', 'changing.js']])
    expect(await install({ script: '/changing.js', replace: true })).toBe('installed')
    expect(await answer()).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test('a newer build under another name takes nothing away: what is there answers until its tabs are closed', async () => {
    const first = await here.open()
    const second = await here.open({ script: '/v1.js?build=2' })
    for (const tab of [first, second]) expect(await hello(tab)).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect(await (await second.chat({})).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test('after the site’s data was cleared, device.fetch reaches the engine or fails', async () => {
    const first = await here.open()
    const second = await here.open()
    expect(await hello(second)).toMatchObject({ text: 'Hello, wörld 🌍' })
    await clearSiteData(first)
    for (const tab of [first, second]) expect(await hello(tab)).toMatchObject({ text: 'Hello, wörld 🌍' })
    // What a plain fetch would do now.
    expect(await first.page.evaluate(async () => (await fetch('/v1/models')).status)).toBe(404)
    expect(leaked.splice(0)).toEqual(['/v1/models'])
    await first.page.reload()
    expect(await hello(await here.open())).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test.each(['before', 'after'])(
    'a service worker of your own that answers everything, with a listener added %s ours',
    async (order) => {
      const tab = await here.open({ script: `/own.js?order=${order}` })
      expect(await (await tab.chat({})).done()).toMatchObject({ text: 'Hello.' })
      const ask = (path: string) => tab.page.evaluate(async (path) => (await fetch(path)).text(), path)
      expect(await ask('/elsewhere')).toBe('the own answer')
      expect(JSON.parse(await ask('/v1/models')).object).toBe('list')
    },
  )

  test('a foreign service worker that takes over later gets nothing of device.fetch', async () => {
    const first = await here.open()
    const second = await here.open()
    await foreignPage()
    expect(await second.page.evaluate(() => navigator.serviceWorker.controller?.scriptURL)).toContain('foreign.js')
    expect(await hello(first)).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect((await hello(second)).failed).toMatchObject({ code: 'device_unreachable', status: 503 })
  })
})
