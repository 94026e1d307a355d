/** What a visitor does first: brings texts of their own, writes a sentence, turns the phone. No model is waited for. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { sharedChromium } from '../support/chromium.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn } from './audit.js'
import { picture } from './picture.js'
import { builtSite } from './site.js'

describe.skipIf(!canUnpack)('a visitor of the playground (npm has Chromium for Linux on x64)', () => {
  let server: Server
  let url: string
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    ;({ server, url } = await servePlayground(await builtSite()))
    browser = await sharedChromium()
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, reducedMotion: 'reduce' })
    page.setDefaultTimeout(90_000)
    await page.goto(`${url}#/table`)
    await page.locator('body.ready').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })

  const texts = () =>
    page
      .locator('.grid tbody tr:not(.spacer) td:nth-child(2) .cell')
      .evaluateAll((all) => all.map((each) => each.textContent))
  const columns = () => page.locator('.grid thead th').allTextContents()
  const count = () => page.locator('#table-count').textContent()

  async function drop(...files: readonly (readonly [string, string])[]): Promise<void> {
    const dataTransfer = await page.evaluateHandle((all) => {
      const dragged = new DataTransfer()
      for (const [name, text] of all) dragged.items.add(new File([text], name))
      return dragged
    }, files)
    await page.dispatchEvent('#table-texts', 'drop', { dataTransfer })
  }

  test('sees beside its columns the texts that stand there now, pasted or dropped', async () => {
    const field = page.getByLabel('Texts, one per line')
    await field.fill('One of mine.\nAnother of mine.')
    await expect.poll(texts).toEqual(['One of mine.', 'Another of mine.'])
    await field.fill('Another of mine.\nA third.')
    await expect.poll(texts).toEqual(['Another of mine.', 'A third.'])
    await page.getByRole('button', { name: 'Tickets', exact: true }).click()
    await drop(['people.csv', 'id,notes\n1,"Ana is glad."\n2,"Ben is not."\n'])
    await expect.poll(texts).toEqual(['id: 1\nnotes: Ana is glad.', 'id: 2\nnotes: Ben is not.'])
  })

  test('is told which files hold no text, and keeps the others', async () => {
    await drop(['a.txt', 'Cora is glad.'], ['scan.pdf', '%PDF-1.4'], ['odd.txt', 'x\0y'], ['none.csv', ''])
    await expect.poll(count).toMatch(/Left out because there is no text in them: scan\.pdf, odd\.txt, none\.csv\.$/)
    expect((await texts()).at(-1)).toBe('Cora is glad.')
    expect(await page.locator('#add-model-found').textContent()).toBe('')
    await drop(['photo.png', 'x'])
    await expect.poll(count).toMatch(/in it: photo\.png\.$/)
    expect(await texts()).toHaveLength(3)
    expect([await cutIn(page), await barriers(page)]).toEqual([[], []])
    await page.getByRole('button', { name: 'Remove these' }).click()
    await expect.poll(count).toBe('0 texts')
  })

  test('drops a folder of the disk, and each text of it is a row', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-mails-'))
    const files = { 'b.txt': 'Ben is not glad.', 'old/a.eml': 'Ana is glad.', 'old/deep/c.csv': 'said\nyes\nno\n' }
    const others = { 'scan.pdf': '%PDF-1.4\n', 'old/photo.png': '\x89PNG', '.hidden': 'x' }
    for (const [name, text] of Object.entries({ ...files, ...others })) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text, 'latin1')
    }
    const devtools = await page.context().newCDPSession(page)
    const { x, y, width, height } = (await page.locator('#table-grid').boundingBox())!
    const at = { x: x + width / 2, y: y + height / 2, data: { items: [], files: [folder], dragOperationsMask: 1 } }
    await devtools.send('Input.dispatchDragEvent', { type: 'dragEnter', ...at })
    await devtools.send('Input.dispatchDragEvent', { type: 'dragOver', ...at })
    const dropHint = () => page.evaluate(() => getComputedStyle(document.body, '::after').content)
    await expect.poll(dropHint).toMatch(/^"Drop a CSV file, text files or a folder/)
    await devtools.send('Input.dispatchDragEvent', { type: 'drop', ...at })
    await expect.poll(texts).toEqual(['Ben is not glad.', 'Ana is glad.', 'yes', 'no'])
    expect(await count()).toMatch(/^4 texts, 4 of them from files .*in them: photo\.png, scan\.pdf\.$/)
    expect(await dropHint()).toBe('none')
    await picture(page, '45-table-folder')
    await page.getByRole('button', { name: 'Remove these' }).click()
    await expect.poll(count).toBe('0 texts')
    await rm(folder, { recursive: true })
  })

  test('keeps its columns where a sentence names none, and is told what to write', async () => {
    const sentence = page.getByLabel('What do you want to know about each text?')
    const fault = page.locator('#table-sentence-fault')
    const before = await columns()
    expect(before.length).toBeGreaterThan(2)
    await sentence.fill('???')
    await sentence.press('Enter')
    await fault.waitFor()
    expect(await columns()).toEqual(before)
    expect(await barriers(page)).toEqual([])
    await sentence.fill('The author, the price')
    expect(await fault.isVisible()).toBe(false)
    await sentence.press('Enter')
    await expect.poll(columns).toEqual(['Row', 'Text', 'author', 'price'])
  })

  test('finds the tab that is open where the window is made narrow', async () => {
    await page.getByRole('tab', { name: 'My device' }).click()
    await page.setViewportSize({ width: 360, height: 740 })
    const beyond = () =>
      page.locator('#device-tab').evaluate((tab) => {
        const { left, right } = tab.getBoundingClientRect()
        return left < 0 || right > innerWidth
      })
    await expect.poll(beyond).toBe(false)
    await page.setViewportSize({ width: 1280, height: 1000 })
  })

  test('sees the examples beside or above a long button, never one above the other', async () => {
    await page.getByRole('tab', { name: 'Structured' }).click()
    await page.locator('#run').evaluate((run) => {
      run.textContent = 'Download 269 MB and generate'
    })
    for (const width of [1024, 1100, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      const rows = await page.locator('#examples .chip').evaluateAll((all) => {
        return new Set(all.map((each) => each.getBoundingClientRect().top)).size
      })
      expect(rows, `${width} px`).toBeLessThanOrEqual(2)
    }
  })

  test('closes what opens over the page, in the lowest window too', async () => {
    await page.getByRole('tab', { name: 'Structured' }).click()
    await page.setViewportSize({ width: 640, height: 360 })
    await page.locator('#structured-code').click()
    const { y, height } = (await page.locator('#code-dialog').getByRole('button', { name: 'Close' }).boundingBox())!
    expect(y + height).toBeLessThan(360)
    await picture(page, '47-low-window')
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1280, height: 1000 })
  })

  test('has what stands above the answer in one line', async () => {
    await page.getByRole('tab', { name: 'Structured' }).click()
    for (let width = 1184; width <= 1300; width += 10) {
      await page.setViewportSize({ width, height: 900 })
      const [head, copy] = await Promise.all(
        ['.output h2', '#copy-json'].map((each) => page.locator(`#structured ${each}`).boundingBox()),
      )
      expect(copy!.y, `${width} px`).toBeLessThan(head!.y + head!.height)
    }
  })

  test('reads links in the colours of the page', async () => {
    await page.goto('about:blank')
    await page.goto(`${url}?embed`)
    await page.locator('body.ready').waitFor()
    const colour = (selector: string, of: 'color' | 'backgroundColor') =>
      page.locator(selector).evaluate((each, of) => getComputedStyle(each)[of], of)
    expect(await colour('#embedded a', 'color')).toBe(await colour('#run', 'backgroundColor'))
  })
})
