import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../contract/speak.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { ASK_MS, type OpenTab, type Visitor, visitor } from '../support/tabs.js'
import { canUnpack } from '../support/unpack.js'
import type { Where } from './hosts-worker.js'
import type { Tab } from './tab.js'

/** In Firefox's private windows, for example. */
const withoutServiceWorkers = () => Object.defineProperty(navigator, 'serviceWorker', { value: undefined })

describe.skipIf(!canUnpack)('tabs that share one engine (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let server: Listening
  let here: Visitor

  beforeAll(async () => {
    const [worker, tab] = await Promise.all(['hosts-worker', 'tab'].map((name) => bundle(`test/browser/${name}.ts`)))
    const html = '<!doctype html><meta charset="utf-8"><title>tab</title><script type="module" src="/tab.js"></script>'
    server = await serveFiles({ '/index.html': html, '/tab.js': tab!, '/v1.js': worker!, '/worker.js': worker! })
    browser = await sharedChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  beforeEach(async () => {
    here = await visitor(browser, server.origin, { script: '/v1.js' })
  })
  afterEach(() => here.context.close())

  const where = (tab: OpenTab, model = 'test/hello') => tab.json<Where>(`/where?model=${model}`)
  const running = (tab: OpenTab, model: string, calls: number) =>
    until(
      () => where(tab, model),
      ({ probe }) => probe.active === calls,
      ASK_MS,
    )
  const locks = (tab: OpenTab) =>
    tab.page.evaluate(async () => {
      const { held = [], pending = [] } = await navigator.locks.query()
      return { held: held.map(({ name }) => name!).sort(), pending: pending.map(({ name }) => name!).sort() }
    })

  test('the first tab runs it for all, in a worker of its own', async () => {
    const first = await here.open()
    const second = await here.open()
    const [one, two] = [await where(first), await where(second)]
    expect(one.scope).toBe('DedicatedWorkerGlobalScope')
    expect(two.id).toBe(one.id)
    const chats = [await first.chat({ stream: true }), await second.chat({}), await second.chat({ stream: true })]
    for (const chat of chats) expect(await chat.done()).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect((await where(first)).probe.started).toBe(3)
  })

  test('a service worker that is stopped in mid-stream ends that stream; the engine stays as it was', async () => {
    const tab = await here.open()
    const { id } = await where(tab)
    const chat = await tab.chat({ model: 'test/endless', stream: true })
    await chat.until(({ text }) => text.includes('tick'))
    await here.stopServiceWorkers()
    // In an error event of ours: what the browser says of it is for nobody.
    const { failed, text } = await chat.done()
    expect(failed?.code).toBe('service_worker_stopped')
    expect(text).toMatch(/^(tick\s*)+$/)
    // Nobody is left to take the answer back: the lock that the service worker held says so.
    const after = await running(tab, 'test/endless', 0)
    expect(after.id).toBe(id)
    expect(after.probe.aborted).toBe(1)
    expect(await (await tab.chat({ stream: true })).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
    expect((await where(tab)).id).toBe(id)
  })

  test('a response in the background goes on behind a service worker that is ended, and is read on', async () => {
    const tab = await here.open()
    await tab.page.evaluate(async () => {
      const seen: Seen = { numbers: [], id: '', over: false }
      Object.assign(window, { seen })
      const body = { model: 'test/endless', input: 'Hello?', background: true, stream: true }
      const response = await fetch('/v1/responses', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const read = async () => {
        let text = ''
        for await (const piece of response.body!.pipeThrough(
          new TextDecoderStream(),
        ) as unknown as AsyncIterable<string>) {
          text += piece
          const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!) as Event)
          seen.numbers = events.flatMap(({ sequence_number }) => sequence_number ?? [])
          seen.id = events[0]?.response?.id ?? ''
          seen.error = events.at(-1)?.error
        }
        seen.over = true
      }
      void read()
    })
    interface Event {
      readonly sequence_number?: number
      readonly response?: { readonly id: string }
      readonly error?: { readonly code: string }
    }
    interface Seen {
      numbers: number[]
      id: string
      error?: { readonly code: string } | undefined
      over: boolean
    }
    const seen = () => tab.page.evaluate(() => (window as unknown as { seen: Seen }).seen)
    await until(seen, ({ numbers }) => numbers.length > 5)
    await here.stopServiceWorkers()
    const broken = await until(seen, ({ over }) => over)
    expect(broken.error?.code).toBe('service_worker_stopped')
    const last = broken.numbers.at(-1)!
    expect(broken.numbers).toEqual(Array.from({ length: last + 1 }, (_, i) => i))
    const next = await tab.page.evaluate(
      async ([id, last]) => {
        const response = await fetch(`/v1/responses/${id}?stream=true&starting_after=${last}`)
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
        const { value = '' } = await reader.read()
        await reader.cancel()
        await fetch(`/v1/responses/${id}/cancel`, { method: 'POST' })
        return /"sequence_number":(\d+)/.exec(value)?.[1]
      },
      [broken.id, last] as const,
    )
    expect(Number(next)).toBe(last + 1)
    await running(tab, 'test/endless', 0)
  })

  test('what had not begun when the service worker was ended is answered all the same', async () => {
    const tab = await here.open()
    const { id } = await where(tab)
    const chats = [await tab.chat({ model: 'test/slow', stream: true }), await tab.chat({ model: 'test/slow' })]
    await running(tab, 'test/slow', 2)
    await here.stopServiceWorkers()
    for (const chat of chats) expect(await chat.done()).toEqual({ text: 'here it is', done: true })
    expect((await where(tab)).id).toBe(id)
  })

  test('a tab that is closed hands over: an answer that had not begun continues in another tab, unnoticed', async () => {
    const first = await here.open()
    const second = await here.open()
    const { id } = await where(second)
    const chats = [await second.chat({ model: 'test/slow', stream: true }), await second.chat({ model: 'test/slow' })]
    await running(second, 'test/slow', 2)
    await first.close()
    for (const chat of chats) expect(await chat.done()).toEqual({ text: 'here it is', done: true })
    const after = await where(second, 'test/slow')
    expect(after.id).not.toBe(id)
    expect(after.scope).toBe('DedicatedWorkerGlobalScope')
    expect(after.probe.started).toBe(2)
  })

  test('a tab that is closed in mid-stream: the stream ends in an error that the client throws', async () => {
    const first = await here.open()
    const second = await here.open()
    const chat = await second.chat({ model: 'test/endless', stream: true })
    await chat.until(({ text }) => text.includes('tick'))
    await first.close()
    const { failed } = await chat.done()
    expect(failed).toMatchObject({ code: 'host_lost', message: expect.stringContaining('is gone') })
    expect(await (await second.chat({})).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test('a tab that is closed while it reads stops its answers, wherever they come from', async () => {
    const first = await here.open()
    const second = await here.open()
    for (const stream of [true, false]) {
      const chat = await second.chat({ model: stream ? 'test/endless' : 'test/thinking', stream })
      if (stream) await chat.until(({ text }) => text.includes('tick'))
    }
    await running(first, 'test/thinking', 1)
    await second.close()
    expect((await running(first, 'test/endless', 0)).probe.aborted).toBe(1)
    expect((await running(first, 'test/thinking', 0)).probe.aborted).toBe(1)
  })

  test('a page that stops taking part hands over too; if none is left, the service worker answers itself', async () => {
    const first = await here.open()
    const second = await here.open()
    const ids = [(await where(first)).id]
    const closePart = (tab: OpenTab) => tab.page.evaluate(() => (window as unknown as { tab: Tab }).tab.close())
    const chat = await second.chat({ model: 'test/slow' })
    await running(second, 'test/slow', 1)
    await closePart(first)
    expect(await chat.done()).toMatchObject({ text: 'here it is' })
    ids.push((await where(first)).id)
    await closePart(second)
    const alone = await where(second)
    ids.push(alone.id)
    expect(alone.scope).toBe('ServiceWorkerGlobalScope')
    expect(new Set(ids).size).toBe(3)
    expect(await (await second.chat({ stream: true })).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
    // And a page that comes takes it from there.
    const third = await here.open()
    expect((await where(third)).scope).toBe('DedicatedWorkerGlobalScope')
  })

  test('an engine that crashes is started again; a request that would crash every engine is dropped', async () => {
    const tab = await here.open()
    const { id } = await where(tab)
    const message = expect.stringMatching(/3 times.*memory.*smaller model/)
    const error = { code: 'host_lost', type: 'service_unavailable', message }
    expect(await tab.json('/where?die')).toMatchObject({ error })
    const after = await where(tab)
    expect(after.id).not.toBe(id)
    expect(after.scope).toBe('DedicatedWorkerGlobalScope')
  })

  test('the engine may have a script of its own; what is said to give up, or to stop, does', async () => {
    const tab = await here.open({ script: '/v1.js', worker: '/worker.js' })
    expect((await where(tab)).scope).toBe('DedicatedWorkerGlobalScope')
    const workers = () => tab.page.workers().map((worker) => new URL(worker.url()).pathname)
    expect(workers()).toEqual(['/worker.js'])
    const outcome = await tab.page.evaluate(async () => {
      const { tab } = window as unknown as { tab: Tab }
      tab.close()
      return tab.giveUp({ script: '/v1.js' })
    })
    expect(outcome).toBe('given up')
    await until(
      async () => workers(),
      (left) => left.length === 0,
    )
  })

  test('a page that was loaded past its service worker is controlled again', async () => {
    const tab = await here.open()
    const cdp = await here.context.newCDPSession(tab.page)
    const loaded = tab.page.waitForEvent('load')
    await cdp.send('Page.reload', { ignoreCache: true })
    await loaded
    expect(await tab.page.evaluate(() => navigator.serviceWorker.controller)).toBe(null)
    await tab.page.evaluate(() => (window as unknown as { tab: Tab }).tab.install({ script: '/v1.js' }))
    expect((await where(tab)).scope).toBe('DedicatedWorkerGlobalScope')
  })

  test('a reload of the only tab', async () => {
    const tab = await here.open()
    const { id } = await where(tab)
    await tab.page.reload()
    const again = await here.open()
    expect((await where(again)).id).not.toBe(id)
    expect(await (await again.chat({ stream: true })).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  /** As browsers do that keep a page for the way back. This one keeps none. */
  const leaveAndComeBack = (page: Page) =>
    page.evaluate(() => {
      for (const type of ['pagehide', 'pageshow']) dispatchEvent(new PageTransitionEvent(type, { persisted: true }))
    })

  test.each(['with a service worker', 'alone'])('a page that comes back answers, %s', async (kind) => {
    if (kind === 'alone') await here.context.addInitScript(withoutServiceWorkers)
    const tab = await here.open()
    const chat = await tab.chat({ model: 'test/endless', stream: true }, 'device')
    await chat.until(({ text }) => text.includes('tick'))
    await leaveAndComeBack(tab.page)
    const next = await tab.chat({ stream: true }, 'device')
    expect((await chat.done()).failed?.code).toBe('host_lost')
    expect(await next.done()).toEqual({ text: 'Hello, wörld 🌍', done: true })
  })

  test('a page that was left while it installed goes on when it comes back', async () => {
    await here.context.addInitScript(withoutServiceWorkers)
    let asked = 0
    // The first never comes.
    await here.context.route('**/worker.js', async (route) => {
      if (++asked > 1) await route.continue()
    })
    const opening = here.open({ script: '/v1.js', worker: '/worker.js' })
    await until(
      async () => asked,
      (asked) => asked > 0,
    )
    await leaveAndComeBack(here.context.pages()[0]!)
    const tab = await opening
    expect(await (await tab.chat({}, 'device')).done()).toMatchObject({ text: 'Hello, wörld 🌍' })
  })

  test('a page that waits for nothing is not woken: no clock of it runs', async () => {
    await here.context.addInitScript(() => {
      const running = new Set<unknown>()
      const { setInterval: begin, clearInterval: end } = window
      const counted = (...given: Parameters<typeof begin>) => {
        const clock = begin(...given)
        running.add(clock)
        return clock
      }
      const ended = (clock: ReturnType<typeof begin>) => {
        running.delete(clock)
        end(clock)
      }
      Object.assign(window, { running, setInterval: counted, clearInterval: ended })
    })
    const clocks = (tab: OpenTab) =>
      tab.page.evaluate(() => (window as unknown as { running: Set<unknown> }).running.size)
    const tabs = [await here.open(), await here.open()]
    for (const tab of tabs) {
      const chat = await tab.chat({ model: 'test/endless', stream: true }, 'device')
      await chat.until(({ text }) => text.includes('tick'))
      expect(await clocks(tab)).toBe(1)
      await chat.leave()
    }
    for (const tab of tabs) await expect.poll(() => clocks(tab)).toBe(0)
  })

  test('tabs and service workers that have ended leave nothing behind', async () => {
    const first = await here.open()
    await where(first)
    const { held, pending } = await locks(first)
    for (let round = 0; round < 3; round++) {
      const other = await here.open()
      await where(other)
      await here.stopServiceWorkers()
      await where(first)
      await other.close()
    }
    const settled = await until(
      () => locks(first),
      (now) => now.held.length === held.length && now.pending.length === pending.length,
    )
    const kinds = (names: string[]) => names.map((name) => name.replace(/ [0-9a-f-]{36}$/, ''))
    expect(kinds(settled.held)).toEqual(kinds(held))
    expect(kinds(settled.pending)).toEqual(kinds(pending))
  })

  // A frozen tab is given fifteen seconds, and browsers give a service worker five minutes: `npm run check:browser`.
  describe.skipIf(!process.env.CHECK_BROWSER)('in the long run', () => {
    test('a tab that is frozen loses the engine to one that is not, and works again later', async () => {
      const first = await here.open()
      const second = await here.open()
      const { id } = await where(second)
      const hung = second.page.evaluate((id) => fetch(`/where?hang=${id}`).then(({ status }) => status), id)
      const frozen = first.page.evaluate(() => {
        for (const end = performance.now() + 25_000; performance.now() < end; ) {}
      })
      expect(await (await second.chat({ model: 'test/slow', stream: true })).done()).toMatchObject({
        text: 'here it is',
      })
      expect(await hung).toBe(200)
      const after = await where(second)
      expect(after.id).not.toBe(id)
      await frozen
      expect((await where(first)).id).toBe(after.id)
      // Its new worker stands in line.
      await until(
        () => locks(first),
        ({ pending }) => pending.some((name) => /^\S+ \S+$/.test(name)),
      )
      await second.close()
      expect((await where(first)).scope).toBe('DedicatedWorkerGlobalScope')
    })

    test('an answer whose first word takes longer than a service worker may wait', { timeout: 400_000 }, async () => {
      const tab = await here.open()
      const chats = [true, false].map((stream) => tab.chat({ model: 'test/glacial', stream }))
      for (const chat of await Promise.all(chats)) expect(await chat.done()).toMatchObject({ text: 'here it is' })
    })
  })
})
