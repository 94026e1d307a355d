import type { Server } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { servePlayground } from '../../apps/playground/build/serve.js'
import { decisionExamples } from '../../apps/playground/page/decision-examples.js'
import { sharedChromium } from '../support/chromium.js'
import { turns } from '../support/full.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn, LOOKS, smallTargets } from './audit.js'
import { picture } from './picture.js'
import { builtSite } from './site.js'

/** Machines that run tests are busy. */
const SLOW = { timeout: 30_000 }

describe.skipIf(!canUnpack)('decisions in the playground (npm has Chromium for Linux on x64)', () => {
  let server: Server
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let url: string
  const faults: string[] = []

  beforeAll(async () => {
    const served = await servePlayground(await builtSite())
    ;({ server, url } = served)
    browser = await sharedChromium()
    context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    page = await context.newPage()
    page.setDefaultTimeout(SLOW.timeout)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await page.goto(url)
    await page.locator('body.ready .model.selected .state.ready').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })

  const look = (name: string) => picture(page, `decisions-${name}`, true)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const field = (name: string) => page.getByLabel(name, { exact: true })
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  const question = (number: number) => page.locator('.question').nth(number - 1)
  const shares = (number: number) => question(number).locator('.option-share').allTextContents()
  const settled = async () => {
    await page.locator('#decision-questions[aria-busy="false"]:not([data-stale])').waitFor()
    await page.locator('#decision-state', { hasText: 'Decided in' }).waitFor()
  }
  /** By how much of its bar each option of a question is filled. */
  const bars = (number: number) =>
    question(number)
      .locator('.option-track')
      .evaluateAll((all) =>
        all.map(
          (track) => track.firstElementChild!.getBoundingClientRect().width / track.getBoundingClientRect().width,
        ),
      )
  /** Any request, by the page's own way to `/v1`. */
  const post = (body: object) =>
    page.evaluate(async (body) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch('/v1/decisions', { method: 'POST', headers, body: JSON.stringify(body) })
      return (await response.json()) as { answers: { probabilities: { probability: number }[] }[] }
    }, body)

  test('stand there at the first visit, before anybody has pressed anything', async () => {
    await page.getByRole('tab', { name: 'Decisions' }).click()
    await settled()
    expect(await page.locator('.question').count()).toBe(decisionExamples[0]!.questions.length)
    expect(await page.locator('#decision-nano').isVisible()).toBe(true)
    for (const i of decisionExamples[0]!.questions.keys()) {
      const filled = await bars(i + 1)
      expect(filled.reduce((sum, share) => sum + share)).toBeCloseTo(1, 2)
      expect(
        await question(i + 1)
          .locator('.likeliest')
          .count(),
      ).toBe(1)
      // What is seen is said.
      for (const share of await shares(i + 1)) expect(share).toMatch(/^[<>]?[\d.]+ %$/)
    }
  })

  test('bars are what /v1 answers', async () => {
    const { text, questions } = decisionExamples[0]!
    const [first] = questions
    const levels = first!.options.map((label) => ({ label }))
    const { answers } = await post({
      model: 'local-v1/nano',
      input: text,
      questions: [{ type: 'score', instructions: first!.text, levels }],
    })
    const probabilities = answers[0]!.probabilities.map(({ probability }) => probability)
    for (const [i, share] of (await bars(1)).entries()) expect(share).toBeCloseTo(probabilities[i]!, 2)
  })

  test('move as one types, and letters typed on ask once', async () => {
    const sent: string[] = []
    const counted = (request: { url(): string }) =>
      void (/\/decisions$/.test(request.url()) && sent.push(request.url()))
    page.on('request', counted)
    const before = await shares(1)
    await page.getByLabel('Text to decide about').fill('')
    await page.getByLabel('Text to decide about').pressSequentially('All is well. It can wait.', { delay: 5 })
    await settled()
    expect(await shares(1)).not.toEqual(before)
    page.off('request', counted)
    // The worker answers by its own port or as a request; either way not once for each letter.
    expect(sent.length).toBeLessThan(5)
    // Typing keeps the place of who types.
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('decision-text')
  })

  test('says what keeps a question from being asked, and answers the others meanwhile', async () => {
    const option = field('Option 2 of question 2')
    await option.fill('the login')
    const fault = question(2).locator('.field-error')
    await fault.filter({ hasText: 'twice' }).waitFor()
    await settled()
    expect(await shares(2)).toEqual(['–', '–', '–'])
    expect((await shares(1)).every((share) => share.endsWith('%'))).toBe(true)
    expect(await barriers(page)).toEqual([])
    await look('fault')
    await option.fill('the export: a file that is made')
    await settled()
    expect(await fault.isVisible()).toBe(false)
    expect((await shares(2)).every((share) => share.endsWith('%'))).toBe(true)
  })

  test('takes options and questions by the keyboard, and away again', async () => {
    await field('Option 3 of question 2').press('Enter')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Option 4 of question 2')
    await page.keyboard.type('the printer')
    await settled()
    expect(await shares(2)).toHaveLength(4)
    await button('Remove option 4 of question 2').click()
    await settled()
    expect(await shares(2)).toHaveLength(3)
    await button('Add a question').click()
    await page.keyboard.type('Which language is it?')
    await field('Option 1 of question 4').fill('English')
    await field('Option 2 of question 4').fill('French')
    await settled()
    expect((await shares(4)).every((share) => share.endsWith('%'))).toBe(true)
    await field('Answer of question 4').selectOption('True or false')
    await settled()
    expect(await question(4).locator('.option-name').allTextContents()).toEqual(['true', 'false'])
    await button('Remove question 4').click()
    await settled()
    expect(await page.locator('.question').count()).toBe(3)
  })

  test('takes the order of the options out where that is wanted', async () => {
    const kept = await field('Option 1 of question 2').inputValue()
    await page.getByLabel('Average over the order').check()
    await settled()
    const before = await bars(2)
    const names = ['Option 1 of question 2', 'Option 3 of question 2']
    const [first, last] = await Promise.all(names.map((name) => field(name).inputValue()))
    await field(names[0]!).fill(`${last}.`)
    await field(names[1]!).fill(first!)
    await field(names[0]!).fill(last!)
    await settled()
    const after = await bars(2)
    expect(first).toBe(kept)
    expect(after[0]).toBeCloseTo(before[2]!, 2)
    expect(after[2]).toBeCloseTo(before[0]!, 2)
  })

  test('is taken away as code and as a link', async () => {
    await page.locator('#decision-code').click()
    for (const name of ['OpenAI', 'AI SDK', 'curl']) {
      await page.locator('#code-languages').getByText(name, { exact: true }).click()
      const code = (await page.locator('#code').textContent())!
      expect(code).toContain('All is well. It can wait.')
      expect(code).toMatch(name === 'AI SDK' ? /experimental_decide/ : /"order": "average"/)
      expect(await barriers(page), name).toEqual([])
    }
    await look('code')
    await page.keyboard.press('Escape')
    await page.locator('#decision-share').click()
    await expect.poll(copied).toMatch(/#decisions=/)
    const other = await context.newPage()
    await other.goto(await copied())
    await other.locator('body.ready').waitFor()
    await other.locator('#decision-state', { hasText: 'Decided in' }).waitFor(SLOW)
    expect(await other.getByLabel('Text to decide about').inputValue()).toBe('All is well. It can wait.')
    expect(await other.getByLabel('Average over the order').isChecked()).toBe(true)
    expect(new URL(other.url()).hash).toBe('')
    await other.close()
  })

  test('outlives a reload, and an example puts it aside', async () => {
    await page.reload()
    await page.locator('body.ready').waitFor()
    await settled()
    expect(await page.getByLabel('Text to decide about').inputValue()).toBe('All is well. It can wait.')
    await button('Spam').click()
    await settled()
    await button('Restore').click()
    expect(await page.getByLabel('Text to decide about').inputValue()).toBe('All is well. It can wait.')
  })

  test('asks nothing of a model that is not here', async () => {
    await page.locator('input[value="mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC"]').check()
    expect(await button('Decide').count()).toBe(0)
    expect(await page.locator('#decide').textContent()).toMatch(/^Download .* and decide$/)
    expect((await shares(1)).every((share) => share === '–')).toBe(true)
    expect(await page.locator('#decision-nano').isVisible()).toBe(false)
    await page.locator('input[value="local-v1/nano"]').check()
    await settled()
  })

  // Without LOCAL_V1_FULL each look with some of the examples, which differ in their words alone.
  test.each(decisionExamples.map(({ name }, i) => [name, turns(LOOKS, i, LOOKS.length)] as const))(
    '%s: nothing cut and no barrier, light, dark and on phones',
    async (name, looks) => {
      await button(name).click()
      await settled()
      for (const [theme, width] of looks) {
        await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
        const dark = page.getByRole('button', { name: 'Dark theme' })
        if ((await page.locator('html').getAttribute('data-theme')) !== theme) await dark.click()
        await look(`${name.toLowerCase()}-${theme}-${width}`)
        expect(await cutIn(page), `${theme} ${width}`).toEqual([])
        expect(await barriers(page), `${theme} ${width}`).toEqual([])
        if (width === 360) expect(await smallTargets(page), `${theme} ${width}`).toEqual([])
      }
      await page.setViewportSize({ width: 1280, height: 900 })
    },
  )

  test('had no fault', () => {
    expect(faults).toEqual([])
  })
})
