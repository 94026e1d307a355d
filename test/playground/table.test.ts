/** From a text to a table: what is wanted in a sentence, a row for each text, cells that say how sure they are. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { parseCsv } from '../../apps/playground/page/table/csv.js'
import { sharedChromium } from '../support/chromium.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn, LOOKS, smallTargets } from './audit.js'
import { holdStreams, letAnswer, letThrough } from './held-stream.js'
import { picture } from './picture.js'
import { builtSite } from './site.js'

/** Machines that run tests are busy. */
const SLOW = { timeout: 60_000 }

describe.skipIf(!canUnpack)('the table of the playground (npm has Chromium for Linux on x64)', () => {
  let server: Server
  let url: string
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let folder: string
  const faults: string[] = []

  beforeAll(async () => {
    const site = await builtSite()
    ;({ server, url } = await servePlayground(site))
    folder = await mkdtemp(join(tmpdir(), 'local-v1-table-'))
    browser = await sharedChromium()
    context = await browser.newContext({
      viewport: { width: 1280, height: 1000 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    page = await context.newPage()
    page.setDefaultTimeout(SLOW.timeout)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await holdStreams(page)
    await page.goto(`${url}#/table`)
    await page.locator('body.ready').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const look = (name: string) => picture(page, name)
  const state = () => page.locator('#table-facts').textContent()
  const filled = () => page.locator('#table-fill:visible').waitFor()

  const cells = () =>
    page
      .locator('.grid tbody tr:not(.spacer)')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].slice(1).map((cell) => cell.textContent)),
      )

  test('drafts its columns from a sentence', async () => {
    const sentence = page.getByLabel('What do you want to know about each text?')
    await sentence.fill('From each review: the author, the product, the mood (good, bad), how many stars')
    await sentence.press('Enter')
    const columns = page.locator('#table-columns').locator('input:not(.form-options), select, .form-options')
    await expect
      .poll(() => columns.evaluateAll((all) => all.map((each) => (each as HTMLInputElement).value)))
      .toEqual(['author', 'text', 'product', 'text', 'mood', 'choice', 'good, bad', 'stars', 'integer'])
    await page.getByLabel('Remove column 3').click()
    await expect
      .poll(() => page.locator('.grid thead th').allTextContents())
      .toEqual(['Row', 'Text', 'author', 'product', 'stars'])
  })

  test('fills a row for each text, and says how sure each cell is', async () => {
    await button('Fill 6 rows').click()
    await filled()
    expect(await state()).toMatch(/^6 of 6 rows/)
    const rows = await cells()
    expect(rows.map(([, , stars]) => stars)).toEqual(['4', '2', '5', '3', '1', '5'])
    expect(rows.flat().every((cell) => cell !== '')).toBe(true)
    expect(await page.locator('.cell:is(.sure, .fair, .unsure)').count()).toBe(18)
    expect(await page.getByLabel('Doubtful first').isDisabled()).toBe(false)
    await look('40-table')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
  })

  test('shows where a cell stands in its text, and takes what is written by hand', async () => {
    await page.getByRole('button', { name: /^stars of row 1: 4, / }).click()
    const details = page.locator('.details')
    expect(await details.locator('mark.lit').textContent()).toBe('4')
    const stars = details.getByLabel('stars')
    expect(await stars.evaluate((field) => document.activeElement === field)).toBe(true)
    await look('41-table-details')
    expect(await barriers(page)).toEqual([])
    await stars.fill('many')
    await stars.press('Tab')
    expect(await details.getByRole('alert').textContent()).toContain('whole number')
    await stars.fill('3')
    await stars.press('Tab')
    await page.getByRole('button', { name: 'stars of row 1: 3, by hand' }).waitFor()
    await details.getByRole('button', { name: 'Close' }).click()
    expect(await details.isVisible()).toBe(false)
  })

  test('gives the table away as CSV, as lines of JSON, and as code', async () => {
    const saved = async (name: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), button(name).click()])
      return readFile(await download.path(), 'utf8')
    }
    const [head, first] = parseCsv(await saved('CSV'))
    expect(head).toEqual(['author', 'product', 'stars', 'text', 'least_sure'])
    expect(first?.[2]).toBe('3')
    const lines = (await saved('JSONL')).trim().split('\n')
    expect(lines).toHaveLength(6)
    expect(JSON.parse(lines[0]!)).toMatchObject({ document: { stars: 3 }, by_hand: ['stars'] })
    await page.locator('#table-code').click()
    const code = () => page.locator('#code').textContent()
    expect(await code()).toContain("from 'local-v1/extract'")
    expect(await code()).toContain(', maxTokens: 400 }')
    await page.locator('#code-languages').getByText('Python').click()
    expect(await code()).toContain('  max_tokens=400,')
    await page.locator('#code-languages').getByText('curl').click()
    expect(await code()).toContain('"max_tokens": 400')
    await page.locator('#code-languages').getByText('Terminal').click()
    expect(await code()).toContain('local-v1 extract schema.json *.txt')
    expect(await barriers(page)).toEqual([])
    await page.keyboard.press('Escape')
  })

  test('goes on after a reload in the middle, and loses nothing', async () => {
    const path = join(folder, 'reviews.csv')
    const rows = Array.from(
      { length: 14 },
      (_, i) => `"Ana gives the chair ${(i % 5) + 1} of 5 stars, and says so ${i} times."`,
    )
    await writeFile(path, `review\n${rows.join('\n')}\n`)
    await page.locator('#table-files').setInputFiles(path)
    await expect.poll(() => page.locator('#table-count').textContent()).toMatch(/20 texts, 14 of them from files/)
    await letAnswer(page, 6)
    expect(await button('Fill 14 rows').count()).toBe(1)
    // The field rests while the table fills, and who stood in it can stop that.
    await page.getByLabel('Texts, one per line').press('Control+Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('table-stop')
    // Rows would change their places while they come.
    expect(await page.getByLabel('Doubtful first').isDisabled()).toBe(true)
    const done = async () => Number(/^\d+/.exec((await state()) ?? '')?.[0])
    await expect.poll(done, SLOW).toBeGreaterThan(10)
    expect(await state()).toMatch(/ of 20 rows.* · about \d+ \w+ left$/)
    await look('42-table-filling')
    await page.reload()
    await page.locator('body.ready').waitFor()
    // The texts come out of the browser's store, which a busy machine lets wait.
    await expect.poll(() => page.locator('#table-count').textContent()).toMatch(/20 texts/)
    // It goes on by itself, with what was filled, and with what was written by hand.
    expect(await done()).toBeGreaterThan(10)
    await filled()
    await expect.poll(state, SLOW).toMatch(/^20 of 20 rows/)
    await page.getByRole('button', { name: 'stars of row 1: 3, by hand' }).waitFor()
    await button('Remove these').click()
    await expect.poll(() => page.locator('#table-count').textContent()).toBe('6 texts')
    expect(await state()).toMatch(/^6 of 6 rows/)
  })

  test('is filled by one tab at a time, and goes on where the tab that ran the model is closed', async () => {
    const other = await browser.newContext({ reducedMotion: 'reduce' })
    const open = async () => {
      const tab = await other.newPage()
      tab.setDefaultTimeout(SLOW.timeout)
      await holdStreams(tab)
      await tab.goto(`${url}#/table`)
      await tab.locator('body.ready').waitFor()
      return tab
    }
    const done = async (tab: Page) => Number(/^\d+/.exec((await tab.locator('#table-facts').textContent()) ?? '')?.[0])
    // The first runs the model for both.
    const first = await open()
    await first.locator('.model.selected .state.ready').waitFor()
    const texts = Array.from({ length: 18 }, (_, i) => `Ana gives the chair ${(i % 5) + 1} of 5 stars, number ${i}.`)
    await first.getByLabel('Texts, one per line').fill(texts.join('\n'))
    await letAnswer(first, 5)
    await first.locator('#table-fill').click()
    await expect.poll(() => done(first), SLOW).toBeGreaterThan(3)
    const second = await open()
    const facts = () => second.locator('#table-facts').textContent()
    await expect.poll(facts, SLOW).toContain('being filled in another tab')
    expect(await second.locator('#table-stop').isVisible()).toBe(false)
    await first.locator('#table-stop').click()
    await letThrough(first)
    await first.locator('#table-fill:visible').waitFor()
    await expect.poll(facts, SLOW).not.toContain('being filled')
    const before = await done(second)
    expect(before).toBe(await done(first))
    await letAnswer(second, 5)
    await second.locator('#table-fill').click()
    await expect.poll(() => done(second), SLOW).toBeGreaterThan(before + 3)
    await Promise.all([letThrough(second), first.close()])
    await expect.poll(() => done(second), { timeout: 180_000 }).toBe(18)
    expect(await second.locator('#table-state [role="alert"]').count()).toBe(0)
    // Where it is closed while another looks on, that one says so, and can go on.
    await second.getByLabel('Texts, one per line').fill(texts.map((text) => `${text} So.`).join('\n'))
    await letAnswer(second, 5)
    await second.locator('#table-fill').click()
    const third = await open()
    const seen = () => third.locator('#table-facts').textContent()
    await expect.poll(seen, SLOW).toContain('being filled in another tab')
    await second.close()
    await expect.poll(seen, SLOW).toContain('the tab that filled it is closed: go on with Fill')
    await expect.poll(() => third.locator('#table-fill').textContent(), SLOW).toMatch(/^Fill \d+ rows$/)
    await other.close()
  })

  test('has of a thousand rows those as elements that are seen', async () => {
    const field = page.getByLabel('Texts, one per line')
    const texts = Array.from({ length: 1000 }, (_, i) => `Text ${i}: Ana gives the chair 3 of 5 stars.`)
    // All at once: to edit so many lines, as `fill` does, takes a browser ten seconds of a core.
    await field.evaluate((element, value) => {
      Object.assign(element, { value }).dispatchEvent(new Event('input', { bubbles: true }))
    }, texts.join('\n'))
    await expect.poll(() => page.locator('#table-count').textContent()).toBe('1,000 texts')
    expect(await page.locator('.grid tbody tr').count()).toBeLessThan(60)
    expect(await page.locator('.grid').getAttribute('aria-rowcount')).toBe('1001')
    await page.locator('.grid-scroll').evaluate((grid) => grid.scrollTo({ top: grid.scrollHeight }))
    await page.getByRole('rowheader', { name: '1000', exact: true }).waitFor()
    expect(await page.locator('.grid tbody tr').count()).toBeLessThan(60)
    await page.locator('.grid-scroll').evaluate((grid) => grid.scrollTo({ top: 0 }))
    await page.getByRole('rowheader', { name: '1', exact: true }).waitFor()
    await letAnswer(page, 5)
    await button('Fill 1,000 rows').click()
    await page.locator('.grid tbody tr.done').nth(3).waitFor()
    await button('Stop').click()
    await letThrough(page)
    await filled()
    // What is filled stays, and nothing that was broken off is taken for an answer.
    expect(await page.locator('.grid tbody tr.writing').count()).toBe(0)
  })

  test('puts a table aside for an example, and brings it back', async () => {
    await button('Tickets').click()
    expect(await page.locator('.grid thead th').allTextContents()).toContain('priority')
    // After a reload too: once it is written down, which is nobody's wait.
    const pasted = () =>
      page.evaluate(
        () =>
          new Promise<string>((resolve) => {
            const opening = indexedDB.open('local-v1 playground tables')
            opening.onsuccess = () => {
              const request = opening.result.transaction('head').objectStore('head').get('head')
              request.onsuccess = () => {
                opening.result.close()
                resolve((request.result as { pasted: string }).pasted)
              }
            }
          }),
      )
    await expect.poll(pasted).toMatch(/^Ticket/)
    await page.reload()
    await page.locator('body.ready').waitFor()
    expect(await page.locator('.grid thead th').allTextContents()).toContain('priority')
    await button('Restore').click()
    await expect.poll(() => page.locator('#table-count').textContent()).toBe('1,000 texts')
    await button('Tickets').click()
    await button('Discard').click()
    expect(await button('Restore').count()).toBe(0)
  })

  test('says of a text that is too long what does not fit, fills the others, and tells when it was stopped', async () => {
    const said = await page.getByLabel('Texts, one per line').inputValue()
    await page.getByLabel('Texts, one per line').fill(`Ticket #1 is low.\n${'word '.repeat(9000)}`)
    await button('Fill 2 rows').click()
    await filled()
    expect(await state()).toBe('1 of 2 rows filled · 1 failed')
    expect(await page.locator('#announcer').textContent()).toBe('1 of 2 rows are filled, 1 failed.')
    await page.locator('.grid tbody tr', { hasText: 'word' }).locator('.cell').first().click()
    expect(await page.locator('.details .answer-error').textContent()).toMatch(
      /^This text is too long for this model, in all (more than )?[\d,]+ tokens of 4,096\.$/,
    )
    await page.getByLabel('Texts, one per line').fill(said)
    await letAnswer(page, 0)
    await button('Fill 4 rows').click()
    await button('Stop').click()
    await filled()
    expect(await page.locator('#announcer').textContent()).toBe('Stopped.')
    await letAnswer(page, Number.POSITIVE_INFINITY)
  })

  test('is without a barrier, light and dark, on a phone and a desk, with nothing cut', async () => {
    await button('Fill 4 rows').click()
    await filled()
    await page.locator('.grid .cell').nth(1).click()
    for (const [theme, width] of LOOKS) {
      const is = (await page.locator('html').getAttribute('data-theme')) ?? 'light'
      if (is !== theme) await page.getByRole('button', { name: 'Dark theme' }).click()
      await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
      const name = `${theme} ${width}`
      await picture(page, `43-table-${name.replace(' ', '-')}`, true)
      expect(await cutIn(page), name).toEqual([])
      expect(await barriers(page), name).toEqual([])
      const hidden = await page.locator('#table-columns').evaluate((list) => list.scrollHeight - list.clientHeight)
      if (width < 1280) expect(hidden, `${name}: columns out of sight`).toBe(0)
      if (width === 360) expect(await smallTargets(page), name).toEqual([])
    }
  })

  test('had no fault', () => expect(faults).toEqual([]))
})
