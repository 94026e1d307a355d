import type { Server } from 'node:http'
import fc from 'fast-check'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { leavesOf, stretchesOf } from '../../apps/playground/page/sources.js'
import { readPartial } from '../../src/grammar/partial-json.js'
import { sharedChromium } from '../support/chromium.js'
import { closed } from '../support/closed.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn, LOOKS, smallTargets } from './audit.js'
import { holdStreams, letThrough } from './held-stream.js'
import { picture } from './picture.js'
import { builtSite } from './site.js'

/** Machines that run tests are busy. */
const SLOW = { timeout: 30_000 }

describe('a text with the places of values', () => {
  const place = (start: number, end: number, message = 1) => ({ source: { message, part: 0, start, end } })

  test('is the text, whatever stands where, and each place reads as it does there', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 40 })
    const cuts = fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 6 })
    fc.assert(
      fc.property(texts, cuts, (text, cuts) => {
        const places = cuts.map(([a, b], i) => {
          const [start = 0, end = 0] = [a, b].map((at) => at % (text.length + 1)).sort((x, y) => x - y)
          return [`/${i}`, place(start, end)] as const
        })
        const stretches = stretchesOf(text, 1, new Map(places))
        expect(stretches.map(({ text }) => text).join('')).toBe(text)
        for (const [pointer, { source }] of places) {
          const here = stretches.filter(({ pointers }) => pointers.includes(pointer))
          expect(here.map(({ text }) => text).join('')).toBe(text.slice(source.start, source.end))
        }
      }),
    )
  })

  test('has emoji before a place, places within others, and none of another message', () => {
    const text = '😀 On 12 March'
    const evidence = new Map<string, Partial<ReturnType<typeof place>>>([
      ['/date', place(6, 14)],
      ['/day', place(6, 8)],
      ['/elsewhere', place(0, 2, 0)],
      ['/nowhere', {}],
    ])
    expect(stretchesOf(text, 1, evidence)).toEqual([
      { text: '😀 On ', pointers: [] },
      { text: '12', pointers: ['/date', '/day'] },
      { text: ' March', pointers: ['/date'] },
    ])
  })

  test('names every value of the document by its pointer', () => {
    const document = { 'a/b~': { c: [1, { d: null }] }, '': 'x' }
    expect(leavesOf(readPartial(JSON.stringify(document))).map(({ pointer, name }) => [pointer, name])).toEqual([
      ['/a~1b~0/c/0', 'a/b~ c 1'],
      ['/a~1b~0/c/1/d', 'a/b~ c 2 d'],
      ['/', 'value'],
    ])
    expect(leavesOf(readPartial('"only"'))).toMatchObject([{ pointer: '', name: 'value', text: 'only' }])
    expect(leavesOf(undefined)).toEqual([])
  })
})

describe.skipIf(!canUnpack)('sources in the playground (npm has Chromium for Linux on x64)', () => {
  let server: Server
  let browser: Browser
  let page: Page
  const faults: string[] = []

  beforeAll(async () => {
    const served = await servePlayground(await builtSite())
    server = served.server
    browser = await sharedChromium()
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    page = await context.newPage()
    page.setDefaultTimeout(SLOW.timeout)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await holdStreams(page)
    await page.goto(served.url)
    await page.locator('body.ready .model.selected .state.ready').waitFor()
    await answered()
    await page.getByText('Sources', { exact: true }).click()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })

  const look = (name: string) => picture(page, `sources-${name}`, true)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const answered = () => page.locator('#answer[aria-busy="false"] > *').first().waitFor()
  const row = (name: string) => page.locator('.source').filter({ has: page.getByText(name, { exact: true }) })
  const markOf = (name: string) => page.locator(`mark[data-pointers*="\\"/${name}\\""]`)
  const text = (locator: Locator) => locator.textContent()
  const focused = () => page.evaluate(() => document.activeElement?.textContent)

  async function generate(words: string, schema: object): Promise<void> {
    await page.getByLabel('Text', { exact: true }).fill(words)
    await page.getByRole('textbox', { name: 'Schema' }).fill(JSON.stringify(schema))
    await button('Generate').click()
    await page.locator('#answer[aria-busy="true"]').waitFor({ state: 'detached' })
    await page.locator('.source-share', { hasText: '%' }).first().waitFor()
  }

  test('marks each value in the text and says how sure the model was', async () => {
    expect(await text(page.locator('.sources-text'))).toBe(await page.getByLabel('Text', { exact: true }).inputValue())
    for (const name of ['ticket', 'reporter', 'version']) {
      expect(await text(markOf(name))).toBe(await text(row(name).locator('.source-value')))
      expect(await text(row(name).locator('.source-share'))).toMatch(/^[<>]?[\d.]+ %$/)
      // A reader that does not see the mark is told whose it is.
      expect(await markOf(name).locator('a').getAttribute('aria-label')).toMatch(new RegExp(`: ${name}, .* sure$`))
    }
  })

  test('leads from a value to its mark and back, by pointer and by keyboard', async () => {
    await row('reporter').hover()
    expect(await page.locator('mark.lit').allTextContents()).toEqual([await text(markOf('reporter'))])
    await markOf('version').hover()
    expect(await page.locator('.source.lit .source-name').allTextContents()).toEqual(['version'])
    await page.mouse.move(0, 0)
    expect(await page.locator('.lit').count()).toBe(0)

    await row('reporter').getByRole('link').focus()
    expect(await page.locator('mark.lit').count()).toBe(1)
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.closest('mark') !== null)).toBe(true)
    expect(await focused()).toBe(await text(markOf('reporter')))
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('source-value')
    // Nobody is taken out of the page by it.
    expect(new URL(page.url()).hash).toBe('')
  })

  test('says what would go to a person under a threshold', async () => {
    const slider = page.getByLabel('What a person would check')
    const names = await page.locator('.source-name').allTextContents()
    const review = () => text(page.locator('.review'))
    await slider.focus()
    await page.keyboard.press('Home')
    expect(await review()).toBe(`Less sure than 0 %: 0 of ${names.length}.`)
    await page.keyboard.press('End')
    expect(await review()).toBe(`Less sure than 100 %: ${names.length} of ${names.length} (${names.join(', ')}).`)
    expect(await page.locator('.source.to-person').count()).toBe(names.length)
    expect(await slider.getAttribute('aria-valuetext')).toBe('less sure than 100 %')
    const least = await page
      .locator('.source-share')
      .evaluateAll((all) => Math.min(...all.map(({ textContent }) => Number.parseFloat(textContent!.replace('>', '')))))
    await slider.fill(String(Math.min(100, Math.ceil(least + 0.1))))
    const count = Number(/: (\d+) of/.exec((await review())!)![1])
    expect(count).toBeGreaterThan(0)
    expect(await page.locator('.source.to-person').count()).toBe(count)
    await look('threshold')
    expect(await barriers(page)).toEqual([])
  })

  test('is right behind emoji, for a value that stands many times, and where there is no place', async () => {
    const words =
      '😀🎉 Brenda 👩‍🚀 gives the backpack 4 of 5 stars. The backpack cost 27 dollars, says Brenda. Brenda likes it.'
    const schema = closed({
      author: { type: 'string' },
      price: { type: 'number' },
      recommends: { type: 'boolean' },
      height: { type: 'integer', minimum: 1000, maximum: 9000 },
    })
    await generate(words, schema)
    expect(await text(page.locator('.sources-text'))).toBe(words)
    for (const name of ['author', 'price']) {
      expect(await markOf(name).count()).toBe(1)
      expect(await text(markOf(name))).toBe(await text(row(name).locator('.source-value')))
    }
    expect(await text(row('recommends').locator('.source-notes'))).toMatch(
      /no exact words in the text · or (true|false), /,
    )
    // No number of the text is within its bounds.
    expect(await text(row('height').locator('.source-notes'))).toMatch(/^not in the text/)
    expect(await row('height').getByRole('link').count()).toBe(0)
    await look('emoji')
    // What was asked stays what it was, whatever is written now.
    await page.getByLabel('Text', { exact: true }).fill('Something else.')
    expect(await text(page.locator('.sources-text'))).toBe(words)
  })

  test('marks come as values close, and who is at one stays there', async () => {
    await button('Meeting').click()
    // What was settled comes at once, and its marks behind it; the attendees are still being written.
    await letThrough(page, 38)
    await button('Generate').click()
    await page.locator('.source-share', { hasText: '%' }).first().waitFor()
    const marks = page.locator('.sources-text mark')
    const before = await marks.count()
    expect(before).toBeGreaterThan(0)
    await page.locator('.source').first().getByRole('link').focus()
    const at = await focused()
    await look('streaming')
    await letThrough(page)
    await page.locator('#answer[aria-busy="true"]').waitFor({ state: 'detached' })
    await expect.poll(() => marks.count(), SLOW).toBeGreaterThan(before)
    expect(await focused()).toBe(at)
  })

  test('the request as code asks for it', async () => {
    await page.locator('#structured-code').click()
    expect(await text(page.locator('#code'))).toMatch(/"evidence": true[\s\S]*\.choices\[0\]\.evidence/)
    await page.keyboard.press('Escape')
  })

  test('has nothing cut and no barrier, light, dark and on phones', async () => {
    for (const [theme, width] of LOOKS) {
      await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
      const dark = page.getByRole('button', { name: 'Dark theme' })
      if ((await page.locator('html').getAttribute('data-theme')) !== theme) await dark.click()
      await look(`${theme}-${width}`)
      expect(await cutIn(page), `${theme} ${width}`).toEqual([])
      expect(await barriers(page), `${theme} ${width}`).toEqual([])
      if (width === 360) expect(await smallTargets(page), `${theme} ${width}`).toEqual([])
    }
  })

  test('had no fault', () => {
    expect(faults).toEqual([])
  })
})
