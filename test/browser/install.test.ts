import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InstallOptions } from '../../adapters/service-worker/index.js'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { bundle } from '../support/bundle.js'
import { launchChromium } from '../support/chromium.js'
import { filesIn } from '../support/folder.js'
import { FULL } from '../support/full.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { type OpenTab, type Visitor, visitor } from '../support/tabs.js'
import { canUnpack } from '../support/unpack.js'
import type { Tab } from './tab.js'

const NANO = fileURLToPath(new URL('../../models/nano/', import.meta.url))
const WEIGHTS = /\/([\w-]+\.json|params_shard_\d+\.bin)$/

/** A model of two layers, of which a page is told, keeps and answers the same as of nano. */
const TINY = [...tinyRepository().files].map(([name, bytes]) => [`/${name}`, bytes] as const)
/** Bytes behind its weights: a browser is asked to keep what is more than 32 MB to download. */
const ROOM = { few: 12_000_000, large: 33_000_000 }

/** The same model, with room behind its weights. */
function padded(path: string, bytes: Uint8Array, room: number): Uint8Array {
  if (path.endsWith('.bin')) return Buffer.concat([bytes, Buffer.alloc(room)])
  if (!path.endsWith('-cache.json')) return bytes
  const index = JSON.parse(Buffer.from(bytes).toString()) as {
    records: { nbytes: number; md5sum?: string; sha256?: string }[]
  }
  for (const shard of index.records) {
    shard.nbytes += room
    delete shard.md5sum
    delete shard.sha256
  }
  return Buffer.from(JSON.stringify(index))
}

const strict = {
  model: 'local-v1/nano',
  stream: true,
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
        // Weights that are made up write numbers as long as they may.
        properties: { stars: { type: 'integer', minimum: 0, maximum: 5 }, recommended: { type: 'boolean' } },
        required: ['stars', 'recommended'],
        additionalProperties: false,
      },
    },
  },
}

describe.skipIf(!canUnpack)('install (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let server: Listening
  const visitors: Visitor[] = []

  beforeAll(async () => {
    const entries = ['test/browser/nano-worker.ts', 'test/browser/tab.ts']
    const [worker, tab] = await Promise.all(entries.map((entry) => bundle(entry)))
    const html = '<!doctype html><meta charset="utf-8"><title>tab</title><script type="module" src="/tab.js"></script>'
    const nano = Object.entries(await filesIn(NANO)).filter(
      ([path]) => WEIGHTS.test(path) && path.split('/').length === 2,
    )
    server = await serveFiles(
      {
        '/index.html': html,
        '/app/index.html': html,
        '/tab.js': tab!,
        '/v1.js': worker!,
        '/app/v1.js': worker!,
        '/page.html': html,
        '/no-workers.html': `<meta http-equiv="content-security-policy" content="worker-src 'none'">${html}`,
        '/broken.js': 'not a script at all',
        '/throws.js': 'throw new Error("it broke here")',
        '/refuses.js': 'addEventListener("install", (event) => event.waitUntil(Promise.reject(new Error("no"))))',
        '/silent.js': 'addEventListener("activate", () => {})',
        ...Object.fromEntries(nano.map(([path, bytes]) => [`/nano${path}`, bytes])),
        ...Object.fromEntries(TINY.map(([path, bytes]) => [`/tiny${path}`, bytes])),
        ...Object.fromEntries(
          Object.entries(ROOM).flatMap(([name, room]) =>
            TINY.map(([path, bytes]) => [`/${name}${path}`, padded(path, bytes, room)]),
          ),
        ),
      },
      // What a single-page application says to every path.
      html,
      {
        'content-security-policy':
          "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; trusted-types tab",
      },
    )
    browser = await launchChromium({ args: ['--host-resolver-rules=MAP app.test 127.0.0.1'] })
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** What happens, with which model, what the page wants, what the browser allows, what becomes of it. */
  type Kept = [string, string, boolean | undefined, boolean, string]

  async function visit(options: InstallOptions, origin = server.origin): Promise<Visitor> {
    const visiting = await visitor(browser, origin, options)
    visitors.push(visiting)
    return visiting
  }
  const device = async (tab: OpenTab) => {
    const { data } = await tab.json<{ data: { metadata: { device: string } }[] }>('/v1/models')
    return data[0]!.metadata.device
  }

  // A software GPU takes half a minute for nano's kernels, which test/nano runs on one too.
  const answering = [['nano', 'cpu'], ['tiny', 'webgpu'], ...(FULL ? [['nano', 'webgpu']] : [])]
  test.each(answering)('the official client streams strict JSON from %s, on %s', async (from, kind) => {
    const here = await visit({ script: `/v1.js?device=${kind}&from=${from}` })
    const tab = await here.open()
    const other = await here.open()
    expect(tab.installed).toMatchObject({ webgpu: 'software', persisted: false, scope: `${server.origin}/` })
    expect(tab.installed.explanation).toContain('processor')
    const { text, failed } = await (await tab.chat(strict)).done()
    expect(failed).toBeUndefined()
    expect(JSON.parse(text)).toEqual({ stars: expect.any(Number), recommended: expect.any(Boolean) })
    // The engine outlives the service worker.
    await here.stopServiceWorkers()
    expect(await device(tab)).toBe(kind)
    // Whoever runs it, every tab hears how far the model was.
    for (const each of [tab, other]) {
      const progress = await each.page.evaluate(() => (window as unknown as { tab: Tab }).tab.progress)
      expect(progress.map(({ phase }) => phase)).toContain('download')
      expect(progress.at(-1)).toMatchObject({ model: 'local-v1/nano', phase: 'ready' })
    }
    // And all keep one ledger.
    await (await other.chat({ ...strict, stream: false })).done()
    const end = Math.floor(Date.now() / 1000)
    const usage = await tab.json<{ data: { results: { num_model_requests: number }[] }[] }>(
      `/v1/organization/usage/completions?start_time=${end - 86_400}&end_time=${end + 60}`,
    )
    const counted = usage.data.flatMap(({ results }) => results).map((result) => result.num_model_requests)
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(2)
    await here.context.close()
  })

  test.each<Kept>([
    // What the other cases hold too: the granted one that it is asked late, the earlier visit that it may be refused.
    ...(FULL
      ? [['asks for it after the first download, not before', 'large', undefined, false, 'asked'] satisfies Kept]
      : []),
    ['asks for it, and is told that it may', 'large', undefined, true, 'asked'],
    ['does not ask where it shall not', 'large', false, false, 'tab'],
    ['asks nobody for the sake of a few megabytes', 'few', undefined, false, 'tab'],
  ])('says whether the browser keeps the data: %s', async (_, from, persist, granted, title) => {
    const script = `/v1.js?device=cpu&from=${from}`
    const here = await visit({ script, ...(persist !== undefined && { persist }) })
    await here.context.addInitScript(() => {
      const { persist } = StorageManager.prototype
      StorageManager.prototype.persist = function () {
        document.title = 'asked'
        return persist.call(this)
      }
    })
    const tab = await here.open()
    expect([await tab.page.title(), tab.installed.persisted]).toEqual(['tab', false])
    if (granted) {
      const { targetInfo } = await (await here.context.newCDPSession(tab.page)).send('Target.getTargetInfo')
      const { browserContextId } = targetInfo
      const permissions = { origin: server.origin, browserContextId, permissions: ['durableStorage' as const] }
      await (await browser.newBrowserCDPSession()).send('Browser.grantPermissions', permissions)
    }
    await (await tab.chat({ model: 'local-v1/nano', max_tokens: 1 })).done()
    // It is asked, or not, as this is heard.
    const loaded = () => tab.page.evaluate(() => (window as unknown as { tab: Tab }).tab.progress.at(-1)?.phase)
    await expect.poll(loaded).toBe('ready')
    await expect.poll(() => tab.page.title()).toBe(title)
    const persisted = () => tab.page.evaluate(() => (window as unknown as { tab: Tab }).tab.persisted())
    await expect.poll(persisted).toBe(granted)
    await here.context.close()
  })

  test.each([
    ['a user who declined is not asked again', false, 'tab'],
    ['a browser that asks nobody is', true, 'asked'],
  ])('asks to keep the data of a model that is here from an earlier visit: %s', async (_, decidesAlone, again) => {
    const here = await visit({ script: '/v1.js?device=cpu&from=large' })
    await here.context.addInitScript((decidesAlone) => {
      // Only Chromium has it.
      if (!decidesAlone) delete (Navigator.prototype as { userAgentData?: unknown }).userAgentData
      StorageManager.prototype.persist = () => {
        document.title = 'asked'
        return Promise.resolve(false)
      }
    }, decidesAlone)
    for (const title of ['asked', again]) {
      const tab = await here.open()
      await (await tab.chat({ model: 'local-v1/nano', max_tokens: 1 })).done()
      // It is asked, or not, as this is heard.
      const loaded = () => tab.page.evaluate(() => (window as unknown as { tab: Tab }).tab.progress.at(-1)?.phase)
      await expect.poll(loaded).toBe('ready')
      expect(await tab.page.title()).toBe(title)
      await tab.page.close()
    }
    await here.context.close()
  })

  test('answers by the worker of the page where the browser allows no service worker', async () => {
    const context = await browser.newContext({ serviceWorkers: 'block' })
    const tabs: Page[] = []
    for (const i of [0, 1]) {
      const page = await context.newPage()
      await page.goto(server.origin)
      const installed = await page.evaluate((options) => (window as unknown as { tab: Tab }).tab.install(options), {
        script: '/v1.js?device=cpu&from=tiny',
      })
      expect(installed, `tab ${i}`).toMatchObject({ scope: '', limits: expect.stringContaining('in this page only') })
      tabs.push(page)
    }
    const ask = (page: Page, body: object) =>
      page.evaluate(async (body) => {
        const { tab } = window as unknown as { tab: Tab }
        const at = tab.chat(body, 'device')
        while (!tab.answers[at]!.done) await new Promise((resolve) => setTimeout(resolve, 20))
        return tab.answers[at]!
      }, body)
    // Each tab has a model of its own, and hears of its own.
    for (const page of tabs) {
      const { text, failed } = await ask(page, strict)
      expect(failed).toBeUndefined()
      expect(JSON.parse(text)).toEqual({ stars: expect.any(Number), recommended: expect.any(Boolean) })
      const phases = await page.evaluate(() =>
        (window as unknown as { tab: Tab }).tab.progress.map(({ phase }) => phase),
      )
      expect(phases.at(-1)).toBe('ready')
    }
    const [page] = tabs
    await page!.evaluate(() => (window as unknown as { tab: Tab }).tab.close())
    expect((await ask(page!, strict)).failed).toMatchObject({ code: 'device_unreachable' })
    await context.close()
  })

  async function refusal(options: InstallOptions, path = '/', origin = server.origin) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(origin + path)
    const error = await page.evaluate(
      (options) =>
        (window as unknown as { tab: Tab }).tab.install(options).then(
          () => undefined,
          ({ message, code }) => ({ message, code }),
        ),
      options,
    )
    await context.close()
    return error
  }

  test.each<[string, InstallOptions, string, string, RegExp]>([
    ['a script that is not there', { script: '/gone.js' }, '/', 'service_worker_script', /gone\.js .*404/],
    ['a page in the place of the script', { script: '/page.html' }, '/', 'service_worker_script', /text\/html/],
    ['a script that is none', { script: '/broken.js' }, '/', 'service_worker_script', /broken\.js/],
    ['a script that throws', { script: '/throws.js' }, '/', 'service_worker_script', /throws\.js/],
    ['a script that refuses to be installed', { script: '/refuses.js' }, '/', 'service_worker_script', /install/],
    ['a page outside of the scope', { script: '/app/v1.js' }, '/', 'service_worker_scope', /Service-Worker-Allowed/],
    ['a scope too wide', { script: '/app/v1.js', scope: '/' }, '/', 'service_worker_scope', /Service-Worker-Allowed/],
    ['a worker that is not there', { script: '/v1.js', worker: '/gone.js' }, '/', 'service_worker_script', /gone\.js/],
    ['a worker that throws', { script: '/v1.js', worker: '/throws.js' }, '/', 'service_worker_script', /it broke here/],
    ['a policy', { script: '/v1.js' }, '/no-workers.html', 'service_worker_unsupported', /worker-src 'self'/],
    ['another origin', { script: 'https://elsewhere.example/v1.js' }, '/', 'service_worker_scope', /own origin/],
  ])('says what is wrong: %s', async (_, options, path, code, message) => {
    expect(await refusal(options, path)).toEqual({ code, message: expect.stringMatching(message) })
  })

  test('says what is wrong: a page that is not secure', async () => {
    const error = await refusal({ script: '/v1.js' }, '/', `http://app.test:${server.port}`)
    expect(error).toMatchObject({ code: 'insecure_origin', message: expect.stringContaining('https') })
  })

  // Who says nothing is given time: `npm run check:browser`.
  test.skipIf(!process.env.CHECK_BROWSER).each<[string, InstallOptions, string, RegExp]>([
    ['a service worker', { script: '/silent.js' }, 'service_worker_script', /serviceWorker\(v1\)/],
    ['a service worker that claims no page', { script: '/v1.js?claim=no' }, 'service_worker_uncontrolled', /claim/],
    ['a worker', { script: '/v1.js', worker: '/silent.js' }, 'service_worker_script', /serviceWorker\(v1\)/],
  ])('says what is wrong: %s, in its time', async (_, options, code, message) => {
    expect(await refusal(options)).toEqual({ code, message: expect.stringMatching(message) })
  })
})
