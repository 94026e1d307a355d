/** Where a browser allows less: the page still starts, answers, and says in a line what is lost. */
import type { Server } from 'node:http'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { sharedChromium } from '../support/chromium.js'
import { FULL } from '../support/full.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn } from './audit.js'
import { holdStreams, letThrough } from './held-stream.js'
import { picture } from './picture.js'
import { builtSite } from './site.js'

/** In the page and in its workers: what a browser's own errors look like. */
const RAW = /SecurityError|QuotaExceeded|DOMException|NotSupported|InvalidState|TypeError|is not a function|undefined/

describe.skipIf(!canUnpack)('the playground anywhere (npm has Chromium for Linux on x64)', () => {
  let server: Server
  let url: string
  let browser: Browser
  let elsewhere: Listening

  beforeAll(async () => {
    const folder = await builtSite()
    ;({ server, url } = await servePlayground(folder))
    browser = await sharedChromium()
    const page = `<iframe src="${url}" width="900" height="700"></iframe>`
    const embedded = `<iframe id="embedded" src="${url}?embed#/structured/invoice" width="700" height="600"></iframe>`
    // Without LOCAL_V1_FULL each in one of the two.
    const [allowed, blocked] = FULL ? [page + embedded, page + embedded] : [page, embedded]
    elsewhere = await serveFiles({
      '/allow.html': `<!doctype html><title>elsewhere</title>${allowed}`,
      '/block.html': `<!doctype html><title>elsewhere</title>${blocked}`,
    })
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    await elsewhere?.close()
  })

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const viewport = { width: 1360, height: 1600 }
    const page = await (await browser.newContext({ reducedMotion: 'reduce', viewport, ...options })).newPage()
    page.setDefaultTimeout(60_000)
    return page
  }

  /** The first example stands there answered, and an answer to it comes when it is asked for again. */
  async function answers(page: Pick<Page, 'locator' | 'getByRole'>): Promise<void> {
    await page.locator('body.ready').waitFor()
    await page.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor()
    await page.getByRole('button', { name: 'Generate', exact: true }).click()
    await page.locator('#answer[aria-busy="false"] .tokens .forced').first().waitFor()
    expect(await page.locator('#answer [role="alert"]').count()).toBe(0)
    expect(await page.locator('body').textContent()).not.toMatch(RAW)
  }

  test('starts where service workers are blocked, and says what is lost', async () => {
    const page = await open({ serviceWorkers: 'block' })
    await page.goto(url)
    await answers(page)
    expect(await page.locator('#limits').textContent()).toMatch(/in this page only/)
    await picture(page, '30-without-a-service-worker')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
    await page.context().close()
  })

  test.each([1, 3_000_000])('starts with %i bytes of storage, and says what is lost', async (quotaSize) => {
    const page = await open()
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: new URL(url).origin, quotaSize })
    await page.goto(url)
    await answers(page)
    await expect.poll(() => page.locator('#limits').textContent()).toMatch(/too little for this page to work offline/)
    if (quotaSize === 1) {
      await page.getByRole('button', { name: 'Usage', exact: true }).click()
      await expect.poll(() => page.locator('#usage').textContent()).toContain('could not be stored')
    }
    // The next visit is no worse, where it may find a part of what was to be kept.
    if (FULL || quotaSize > 1_000_000) {
      await page.reload()
      await answers(page)
    }
    await page.context().close()
  })

  test('starts in frames of a page of another site, where that is allowed and where it is not', async () => {
    for (const serviceWorkers of ['allow', 'block'] as const) {
      const page = await open({ serviceWorkers })
      await page.goto(`${elsewhere.origin.replace('localhost', '127.0.0.1')}/${serviceWorkers}.html`)
      for (const frame of await page.locator('iframe').all()) await answers(frame.contentFrame())
      for (const frame of await page.locator('#embedded').all()) {
        expect(await frame.contentFrame().locator('.rail').isVisible()).toBe(false)
        expect(await frame.contentFrame().locator('#text').inputValue()).toMatch(/^Invoice/)
      }
      await picture(page, `31-frames-${serviceWorkers}`, true)
      await page.context().close()
    }
  })

  test('tells every window what another has unloaded', async () => {
    const page = await open()
    const other = await page.context().newPage()
    for (const each of [page, other]) {
      await each.goto(url)
      await each.locator('.model.selected .state.ready').waitFor()
    }
    // The second time nothing of its own beginning makes it look.
    for (const [act, next] of [
      ['Unload', 'Load'],
      ['Load', 'Unload'],
      ['Unload', 'Load'],
    ]) {
      await page.getByRole('button', { name: `${act}: nano`, exact: true }).click()
      await other.getByRole('button', { name: `${next}: nano`, exact: true }).waitFor()
    }
    await page.context().close()
  })

  test('answers anew where the window that ran the model is closed in the middle', async () => {
    const page = await open()
    await page.goto(url)
    await answers(page)
    const other = await page.context().newPage()
    await holdStreams(other)
    await other.goto(url)
    await answers(other)
    const whole = await other.locator('#answer .tokens').textContent()
    await letThrough(other, 3)
    await other.getByRole('button', { name: 'Generate', exact: true }).click()
    await other.locator('#answer[aria-busy="true"] .tokens').waitFor()
    await page.close()
    await letThrough(other)
    await other.locator('#answer[aria-busy="false"] .tokens').waitFor()
    expect(await other.locator('#answer [role="alert"]').count()).toBe(0)
    expect(await other.locator('#answer .tokens').textContent()).toBe(whole)
    await other.context().close()
  })

  test('leaves code as it is where a translator turns the page from right to left', async () => {
    const page = await open()
    await page.goto(`${url}#/structured/ticket`)
    await answers(page)
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl'
    })
    for (const code of ['#schema', '.editor-colours', '.tokens'])
      expect(await page.locator(code).evaluate((element) => getComputedStyle(element).direction)).toBe('ltr')
    for (const code of ['.editor-colours', '.tokens'])
      expect(await page.locator(code).getAttribute('translate')).toBe('no')
    expect(await cutIn(page)).toEqual([])
    await picture(page, '33-from-right-to-left')
    await page.context().close()
  })

  test('starts where all storage is blocked', async () => {
    const page = await open({ serviceWorkers: 'block' })
    // As browsers do it to frames whose storage a person has blocked.
    await page.addInitScript(() => {
      const refuse = () => {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      }
      const refused = () => Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'))
      for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
        Object.defineProperty(window, name, { get: refuse })
      for (const name of ['open', 'has', 'keys', 'match', 'delete'] as const) CacheStorage.prototype[name] = refused
      LockManager.prototype.request = refused
      LockManager.prototype.query = refused
      ServiceWorkerContainer.prototype.getRegistration = refused
      StorageManager.prototype.estimate = refused
      Object.assign(window, { BroadcastChannel: refuse })
    })
    await page.goto(url)
    await answers(page)
    await page.getByRole('button', { name: 'Usage' }).click()
    await page.locator('#usage table').waitFor()
    await page.context().close()
  })

  test('says a damaged link to be one, keeps Back in the page, and shares nothing that is broken', async () => {
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const text = page.getByLabel('Text', { exact: true })
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await page.goto(url)
    await answers(page)

    await button('Invoice').click()
    expect(new URL(page.url()).hash).toBe('#/structured/invoice')
    await page.getByRole('tab', { name: 'Decisions' }).click()
    await button('Train').click()
    expect(new URL(page.url()).hash).toBe('#/decisions/train')
    await page.goBack()
    await page.goBack()
    expect(await page.getByRole('tab', { name: 'Structured' }).getAttribute('aria-selected')).toBe('true')
    expect(await text.inputValue()).toMatch(/^Invoice/)
    await page.goBack()
    expect(await page.getByRole('tab', { name: 'Structured' }).getAttribute('aria-selected')).toBe('true')
    await page.goForward()
    await page.goForward()
    expect(await page.getByRole('tab', { name: 'Decisions' }).getAttribute('aria-selected')).toBe('true')

    await page.getByRole('tab', { name: 'Structured' }).click()
    const schema = page.getByRole('textbox', { name: 'Schema' })
    const whole = await schema.inputValue()
    await schema.fill(whole.replace('"type": "number"', '"type": "number", "divisibleBy": 5'))
    await page.evaluate(() => navigator.clipboard.writeText('nothing yet'))
    await button('Share').click()
    await page.locator('#schema-error').waitFor()
    expect(await page.locator('#schema-error').textContent()).toContain('divisibleBy')
    expect(await copied()).toBe('nothing yet')
    await schema.fill(whole)
    await text.fill('A text to share.')
    await button('Embed').click()
    await expect
      .poll(copied)
      .toMatch(/^<iframe src="http:\/\/localhost:\d+\/\?embed#share=[\w-]+\.[0-9a-f]{8}" .*<\/iframe>$/)
    await button('Share').click()
    await expect.poll(copied).toMatch(/^http:\/\/localhost:\d+\/#share=/)

    const link = await copied()
    const other = await page.context().newPage()
    await other.goto(`${link.slice(0, -30)}${link.slice(-29)}`)
    await other.locator('body.ready').waitFor()
    const notice = other.locator('#link-fault')
    expect(await notice.textContent()).toMatch(/^This link is damaged/)
    // Whose example it is not is never shown as what was sent.
    expect(await notice.textContent()).toContain('your own, or the first example')
    expect(await cutIn(other)).toEqual([])
    expect(await barriers(other)).toEqual([])
    await picture(other, '32-damaged-link')
    await notice.getByRole('button', { name: 'Close' }).click()
    expect(await notice.isVisible()).toBe(false)

    await other.goto(`${url}#/decisions/spam`)
    await other.reload()
    await other.locator('body.ready').waitFor()
    expect(await other.getByLabel('Text to decide about').inputValue()).toMatch(/^Win a free phone/)

    await other.goto(`${url}#/table/tickets`)
    await other.reload()
    await other.locator('body.ready').waitFor()
    const texts = other.getByLabel('Texts, one per line')
    await expect.poll(() => texts.inputValue()).toMatch(/^Ticket #3310/)
    await other.getByRole('button', { name: 'Reviews', exact: true }).click()
    expect(new URL(other.url()).hash).toBe('#/table/reviews')
    await other.goBack()
    await expect.poll(() => texts.inputValue()).toMatch(/^Ticket #3310/)

    await other.goto('about:blank')
    await other.goto(`${url}?embed#/structured/invoice`)
    await other.locator('body.ready').waitFor()
    expect(await barriers(other)).toEqual([])
    expect(await cutIn(other)).toEqual([])
    await page.context().close()
  })
})
