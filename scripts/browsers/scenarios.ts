/** What must hold in every browser. Each scenario has an origin of its own, and so a storage of its own. */
import assert from 'node:assert/strict'
import type { InstallOptions } from '../../adapters/service-worker/index.js'
import type { Dropped } from '../../test/browser/dropped.js'
import type { Where } from '../../test/browser/hosts-worker.js'
import type { Said, Tab } from '../../test/browser/tab.js'
import type { Driven, DrivenTab } from '../../test/support/webdriver.js'

type InPage = { readonly tab: Tab }
type By = 'device' | 'service worker'

export interface Here {
  readonly browser: Driven
  readonly origin: string
  /** Requests below `/v1/` that the web server got. */
  readonly leaked: readonly string[]
  /** Keeps what is seen, for people to look at. */
  picture(tab: DrivenTab, name: string): Promise<void>
}

/** What a browser may allow less of: bytes that a site may store, or anything that outlives the window. */
export type Limit = number | 'private'

export interface Scenario {
  readonly name: string
  /** It has a browser of its own, which allows less. */
  readonly limit?: Limit
  readonly headers?: Readonly<Record<string, string>>
  run(here: Here): Promise<void>
}

export const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
const STRICT = { 'content-security-policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" }

const hello = 'Hello, wörld 🌍'

const strict = {
  model: 'local-v1/nano',
  temperature: 0,
  messages: [
    { role: 'system', content: 'Extract the review.' },
    { role: 'user', content: 'I give this kettle 4 of 5 stars. It boils fast and I recommend it.' },
  ],
  response_format: {
    type: 'json_schema',
    json_schema: {
      name: 'review',
      strict: true,
      schema: {
        type: 'object',
        properties: { stars: { type: 'integer' }, recommended: { type: 'boolean' } },
        required: ['stars', 'recommended'],
        additionalProperties: false,
      },
    },
  },
}

const MODULE: InstallOptions = { script: '/scripted.js' }
const CLASSIC: InstallOptions = { script: '/scripted-classic.js', type: 'classic' }
const NANO: InstallOptions = { script: '/nano-classic.js?device=cpu', type: 'classic' }

type DroppedPage = { readonly page: Dropped }

/** What became of it. */
async function drop(tab: DrivenTab): Promise<string | undefined> {
  await ready(tab)
  return tab.evaluate(async () => {
    const data = await (await fetch('/small.gguf')).arrayBuffer()
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([data], 'small.gguf'))
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    return (window as unknown as DroppedPage).page.kept
  })
}

const askDropped = (tab: DrivenTab, what: 'ask' | 'askFile') =>
  tab.evaluate((what) => (window as unknown as DroppedPage).page[what]('kept:small.gguf'), what)

/** The page of `test/browser/dropped.ts`. */
async function ready(tab: DrivenTab): Promise<void> {
  await tab.evaluate(async () => {
    while (!('page' in window)) await new Promise((resolve) => setTimeout(resolve, 50))
  })
}

export async function open({ browser, origin }: Here, options = CLASSIC, path = '/'): Promise<DrivenTab> {
  const tab = await browser.open(origin + path)
  const outcome = await install(tab, options)
  assert.equal(outcome, 'installed')
  return tab
}

const install = (tab: DrivenTab, options: InstallOptions) =>
  tab.evaluate(
    (options) =>
      (window as unknown as InPage).tab.install(options).then(
        () => 'installed',
        ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
      ),
    options,
  )

interface Chat {
  until(fits: (answer: Said) => boolean): Promise<Said>
  done(): Promise<Said>
  leave(): Promise<void>
}

async function chat(tab: DrivenTab, body: object, by: By): Promise<Chat> {
  const at = await tab.evaluate(
    (body, by) => (window as unknown as InPage).tab.chat(body, by as By),
    body,
    by as string,
  )
  const answer = () => tab.evaluate((at) => (window as unknown as InPage).tab.answers[at]!, at)
  const until = async (fits: (answer: Said) => boolean): Promise<Said> => {
    for (const end = Date.now() + 90_000; Date.now() < end; ) {
      const now = await answer()
      if (fits(now)) return now
      if (now.done) throw new Error(`It ended with ${JSON.stringify(now)}.`)
      await pause(50)
    }
    throw new Error(`It took too long: ${JSON.stringify(await answer())}.`)
  }
  return {
    until,
    done: () => until(({ done }) => done),
    leave: () => tab.evaluate((at) => (window as unknown as InPage).tab.leave(at), at),
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const json = <Result>(tab: DrivenTab, path: string) =>
  tab.evaluate(async (path) => (await (await fetch(path)).json()) as unknown, path) as Promise<Result>
const where = (tab: DrivenTab, model = 'test/hello') => json<Where>(tab, `/where?model=${model}`)

async function running(tab: DrivenTab, model: string, calls: number): Promise<Where> {
  for (const end = Date.now() + 30_000; ; await pause(50)) {
    const now = await where(tab, model)
    if (now.probe.active === calls) return now
    if (Date.now() > end) throw new Error(`${now.probe.active} calls run, not ${calls}.`)
  }
}

async function says(tab: DrivenTab, by: By): Promise<void> {
  for (const stream of [true, false]) {
    assert.deepEqual(await (await chat(tab, { stream }, by)).done(), { text: hello, done: true })
  }
}

async function threads(here: Here, expected: RegExp): Promise<void> {
  const tab = await open(here, { ...NANO, script: '/nano-classic.js?device=cpu&threads=3' })
  const { failed } = await (await chat(tab, { ...strict, stream: true }, 'device')).done()
  assert.equal(failed, undefined)
  const { data } = await json<{ data: { metadata: { device_name: string } }[] }>(tab, '/v1/models')
  assert.match(data[0]!.metadata.device_name, expected)
}

const FOREIGN_ACTIVE = async () => {
  const controlled = new Promise((resolve) => {
    navigator.serviceWorker.oncontrollerchange = resolve
  })
  await navigator.serviceWorker.register('/foreign.js')
  await controlled
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'a classic service worker: chats and streams, by `fetch` and by `device.fetch`',
    async run(here) {
      const tab = await open(here)
      await says(tab, 'service worker')
      await says(tab, 'device')
      assert.equal((await where(tab)).scope, 'DedicatedWorkerGlobalScope')
    },
  },
  {
    name: 'a module service worker: the same',
    async run(here) {
      const tab = await open(here, MODULE)
      await says(tab, 'service worker')
      await says(tab, 'device')
    },
  },
  {
    name: 'strict JSON from `local-v1/nano` on the CPU, streamed and whole',
    async run(here) {
      const tab = await open(here, NANO)
      for (const stream of [true, false]) {
        const { text, failed } = await (await chat(tab, { ...strict, stream }, 'device')).done()
        assert.equal(failed, undefined)
        const { stars, recommended, ...rest } = JSON.parse(text) as Record<string, unknown>
        assert.deepEqual([Number.isInteger(stars), typeof recommended, rest], [true, 'boolean', {}])
      }
    },
  },
  { name: 'threads, in an isolated page', headers: ISOLATED, run: (here) => threads(here, /, 3 threads$/) },
  {
    name: 'threads under a strict Content-Security-Policy',
    headers: { ...ISOLATED, ...STRICT },
    run: (here) => threads(here, /, 3 threads$/),
  },
  {
    name: 'in any other page one thread, with its reason, where it shares no memory',
    async run(here) {
      const tab = await here.browser.open(here.origin)
      // A script of the page's own: what a driver runs may stand in a world that has more.
      const shares = await tab.evaluate(() => {
        const script = document.createElement('script')
        script.textContent = 'document.documentElement.dataset.shared = typeof SharedArrayBuffer'
        document.head.append(script)
        return document.documentElement.dataset.shared === 'function'
      })
      await threads(here, shares ? /, 3 threads$/ : /one thread, because/)
    },
  },
  {
    name: 'all tabs share one engine',
    async run(here) {
      const [first, second] = [await open(here), await open(here)]
      const [one, two] = [await where(first), await where(second)]
      assert.equal(one.id, two.id)
      for (const tab of [first, second]) await says(tab, 'device')
    },
  },
  {
    name: 'a tab that is closed hands over what had not begun; what had ends in an error',
    async run(here) {
      const [first, second] = [await open(here), await open(here)]
      const { id } = await where(second)
      const slow = await chat(second, { model: 'test/slow', stream: true }, 'service worker')
      const slowDevice = await chat(second, { model: 'test/slow' }, 'device')
      const endless = await chat(second, { model: 'test/endless', stream: true }, 'device')
      await endless.until(({ text }) => text.includes('tick'))
      await running(second, 'test/slow', 2)
      await first.close()
      for (const each of [slow, slowDevice]) assert.deepEqual(await each.done(), { text: 'here it is', done: true })
      assert.equal((await endless.done()).failed?.code, 'host_lost')
      assert.notEqual((await where(second)).id, id)
    },
  },
  {
    name: 'who leaves stops the engine: a stream by `fetch`, anything by `device.fetch`',
    async run(here) {
      const tab = await open(here)
      const ways: [string, By][] = [
        ['test/endless', 'service worker'],
        ['test/endless', 'device'],
        ['test/thinking', 'device'],
      ]
      for (const [model, by] of ways) {
        const one = await chat(tab, { model, stream: model === 'test/endless' }, by)
        if (model === 'test/endless') await one.until(({ text }) => text.includes('tick'))
        await running(tab, model, 1)
        await one.leave()
        await running(tab, model, 0)
      }
    },
  },
  {
    name: 'another service worker is refused, and replaced on demand',
    async run(here) {
      const tab = await here.browser.open(here.origin)
      await tab.evaluate(FOREIGN_ACTIVE)
      assert.match(await install(tab, CLASSIC), /^service_worker_foreign/)
      assert.equal(await install(tab, { ...CLASSIC, replace: true }), 'installed')
      await says(tab, 'service worker')
      await says(tab, 'device')
    },
  },
  {
    name: 'a GGUF file that is dropped into a page answers',
    async run({ browser, origin }) {
      const tab = await browser.open(`${origin}/dropped.html`)
      await drop(tab)
      assert.doesNotMatch(await askDropped(tab, 'askFile'), /small\.gguf|private file system/)
      await tab.close()
    },
  },
  {
    name: 'it is kept for the next visit, or refused by name where a browser has no private file system',
    async run({ browser, origin }) {
      const tab = await browser.open(`${origin}/dropped.html`)
      const has = await tab.evaluate(() => typeof navigator.storage?.getDirectory === 'function')
      const kept = await drop(tab)
      if (has) {
        assert.equal(kept, 'kept:small.gguf')
        const answer = await askDropped(tab, 'askFile')
        assert.equal(await askDropped(tab, 'ask'), answer)
        await tab.goto(`${origin}/dropped.html`)
        await ready(tab)
        assert.equal(await askDropped(tab, 'ask'), answer)
      } else assert.match(kept!, /^There is no private file system here/)
      await tab.close()
    },
  },
  {
    name: 'a reload finds everything again',
    async run(here) {
      const tab = await open(here, NANO)
      await (await chat(tab, strict, 'device')).done()
      await tab.goto(here.origin)
      assert.equal(await install(tab, NANO), 'installed')
      assert.equal((await (await chat(tab, strict, 'device')).done()).failed, undefined)
      const end = Math.floor(Date.now() / 1000)
      const path = `/v1/organization/usage/completions?start_time=${end - 86_400}&end_time=${end + 60}`
      const usage = await json<{ data: { results: { num_model_requests: number }[] }[] }>(tab, path)
      const counted = usage.data.flatMap(({ results }) => results).map(({ num_model_requests: count }) => count)
      assert.equal(
        counted.reduce((sum, each) => sum + each, 0),
        2,
      )
    },
  },
]
