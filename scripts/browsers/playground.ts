/** The screens of the playground, used and looked at in every browser. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeMadeUp } from '../../src/repository/formats/gguf/made-up.test-helper.js'
import { BARRIERS, cutOff, lowOrSmall } from '../../test/playground/audit.js'
import { PROGRAM } from '../../test/support/cli.js'
import { withOllama } from '../../test/support/ollama-machine.js'
import { printed, start } from '../../test/support/spawn.js'
import type { DrivenPage } from '../../test/support/webdriver.js'
import { ISOLATED, type Scenario } from './scenarios.js'

const TABS = ['structured', 'table', 'decisions', 'chat', 'requests', 'device'] as const

const click = (page: DrivenPage, selector: string) =>
  page.evaluate((selector) => document.querySelector<HTMLElement>(selector)!.click(), selector)

const fill = (page: DrivenPage, selector: string, text: string) =>
  page.evaluate(
    (selector, text) => {
      const field = document.querySelector<HTMLTextAreaElement>(selector)!
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
    },
    selector,
    text,
  )

/** Once what the selector finds has a text that fits. */
async function shown(page: DrivenPage, selector: string, fits = /\S/): Promise<string> {
  let text = ''
  for (const end = Date.now() + 90_000; Date.now() < end; ) {
    text = await page.evaluate((selector) => document.querySelector(selector)?.textContent ?? '', selector)
    if (fits.test(text)) return text
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const all = await page.evaluate(() => document.body.textContent.slice(0, 300))
  throw new Error(`${selector} does not show ${fits}, but ${JSON.stringify(text)}; the page says ${all}`)
}

const started = (page: DrivenPage) => shown(page, 'body.ready .model.selected .state.ready')

export const screens: readonly Scenario[] = [
  {
    name: 'the playground answers its first example, chats, sends requests, measures and starts again',
    headers: ISOLATED,
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin}/playground/index.html`)
      await started(tab)
      await shown(tab, '#answer[aria-busy="false"] .tokens .forced')
      await shown(tab, '#answer .tokens .sampled')
      await picture(tab, 'first-sight')

      await click(tab, '#chat-tab')
      await fill(tab, '#message', 'Who are you?')
      await click(tab, '#send')
      await shown(tab, '.message.assistant .metrics-line', /tokens/)
      await picture(tab, 'chat')

      await click(tab, '#requests-tab')
      await click(tab, '#request-send')
      await shown(tab, '#request-answer', /event: response\.(completed|incomplete)/)
      await picture(tab, 'requests')

      await click(tab, '#device-tab')
      await click(tab, '#bench-run')
      await shown(tab, '.bench-chart:nth-of-type(3), .bench-chart + .bench-chart + .bench-chart')
      await picture(tab, 'device')

      await tab.goto(`${origin}/playground/index.html`)
      await started(tab)
      assert.equal(await shown(tab, '.message.user .said'), 'Who are you?')
      await tab.close()
    },
  },
  {
    name: 'the playground in a frame of another site answers its first example',
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin.replace('localhost', '127.0.0.1')}/elsewhere.html`)
      await started(tab.frame)
      await shown(tab.frame, '#answer[aria-busy="false"] .tokens .sampled')
      await picture(tab, 'elsewhere')
      await tab.close()
    },
  },
  {
    name: 'a damaged link to the playground is said to be one, and an example has an address',
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin}/playground/index.html#share=q1YqLU4tUrJSSlSqBQA.00000000`)
      await started(tab)
      assert.match(await shown(tab, '#link-fault'), /^This link is damaged/)
      await picture(tab, 'damaged-link')
      const other = await browser.open(`${origin}/playground/index.html#/decisions/spam`)
      await started(other)
      assert.equal(await other.evaluate(() => document.querySelector('#decisions')!.checkVisibility()), true)
      await shown(other, '#decision-examples [aria-pressed="true"]', /Spam/)
      await tab.close()
      await other.close()
    },
  },
  {
    name: 'a table in the playground: columns from a sentence, a row for each text, and all of it after a reload',
    headers: ISOLATED,
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin}/playground/index.html#/table`)
      await started(tab)
      await fill(tab, '#table-sentence', 'From each review: the author, how many stars, and whether it is recommended.')
      await click(tab, '#table-draft')
      await shown(tab, '.grid thead', /author.*stars.*recommended/)
      await click(tab, '#table-fill')
      await shown(tab, '#table-facts', /^6 of 6 rows/)
      await click(tab, '.grid tbody .cell:is(.sure, .fair, .unsure)')
      await shown(tab, '.details mark')
      await picture(tab, 'table')
      await tab.goto(`${origin}/playground/index.html#/table`)
      await started(tab)
      await shown(tab, '#table-facts', /^6 of 6 rows/)
      await tab.close()
    },
  },
  {
    name: 'the page of `local-v1 serve`: the catalogue with sizes and what fits, and a model of Ollama’s added with a press',
    async run({ browser, picture }) {
      const { env, folder } = await withOllama()
      const command = [PROGRAM, 'serve', '--device', 'cpu', '--port', '0']
      const serving = start(process.execPath, command, { NO_COLOR: '1', ...env })
      try {
        const tab = await browser.open(`${await printed(serving, /url\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/)}/`)
        await shown(tab, 'body.ready .model.selected .model-name', /nano/)
        await shown(tab, '.models', /SmolLM2 135M.*269 MB.*needs.*Fits/)
        await shown(tab, '#add-model-here summary', /^On this machine already: 1$/)
        await click(tab, '#add-model-here li button')
        await shown(tab, '#add-model-found .verdict', /^Fits/)
        await picture(tab, 'served')
        await click(tab, '#add-model-found .actions button')
        await shown(tab, '.model.selected .model-id', /^ollama\/small-1b$/)
        await click(tab, '#run')
        await shown(tab, '#answer[aria-busy="false"] .tokens .sampled')
        await tab.close()
      } finally {
        await serving.stop()
        await rm(folder, { recursive: true, force: true })
      }
    },
  },
  {
    name: 'decisions in the playground: bars stand there unasked and move as one types',
    headers: ISOLATED,
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin}/playground/index.html`)
      await started(tab)
      await click(tab, '#decisions-tab')
      await shown(tab, '#decision-state', /Decided in/)
      const shares = () =>
        tab.evaluate(() => [...document.querySelectorAll('.option-share')].map(({ textContent }) => textContent ?? ''))
      const filled = () =>
        tab.evaluate(() => {
          const bars = [...document.querySelectorAll<HTMLElement>('.question:first-child .option-bar')]
          return bars.reduce((sum, { style }) => sum + Number.parseFloat(style.width), 0)
        })
      const before = await shares()
      assert.ok(before.length > 0 && before.every((share) => /^[<>]?[\d.]+ %$/.test(share)), before.join(', '))
      assert.ok(Math.abs((await filled()) - 100) < 0.1, 'the options of a question share all')
      await picture(tab, 'decisions')
      await fill(tab, '#decision-text', 'All is well. It can wait.')
      const end = Date.now() + 90_000
      while (Date.now() < end && (await shares()).join() === before.join())
        await new Promise((go) => setTimeout(go, 100))
      assert.notDeepEqual(await shares(), before)
      await fill(tab, '.question:first-child .option:last-child textarea', '')
      await shown(tab, '.question:first-child .option:last-child .option-share', /^–$/)
      await fill(tab, '#decision-text', '')
      await shown(tab, '#decision-text-fault', /Write a text/)
      await tab.close()
    },
  },
  {
    name: 'sources in the playground: each value with its place in the text, and what would go to a person',
    headers: ISOLATED,
    async run({ browser, origin, picture }) {
      const tab = await browser.open(`${origin}/playground/index.html`)
      await started(tab)
      await shown(tab, '#answer[aria-busy="false"] .tokens .forced')
      await click(tab, 'input[name="answer-view"][value="sources"]')
      await shown(tab, '.source-share', /%/)
      const [places, values] = await tab.evaluate(() =>
        ['.sources-text mark', 'a.source-value'].map((which) =>
          [...document.querySelectorAll(which)].map(({ textContent }) => textContent ?? '').sort(),
        ),
      )
      assert.ok(places!.length > 3)
      assert.deepEqual(places, values)
      await picture(tab, 'sources')
      const [from, to, back] = await tab.evaluate(() => {
        const focused = () => document.activeElement?.textContent ?? ''
        const value = document.querySelector<HTMLElement>('a.source-value')!
        value.focus()
        const lit = document.querySelector('mark.lit')?.textContent ?? ''
        value.click()
        const there = document.activeElement?.closest('mark') ? focused() : ''
        ;(document.activeElement as HTMLElement).click()
        return [lit, there, document.activeElement === value ? focused() : '']
      })
      assert.ok(from !== '' && from === to && to === back, `${from}, ${to}, ${back}`)
      await fill(tab, '#review-below', '100')
      assert.match(await shown(tab, '.review'), /^Less sure than 100 %: [1-9]/)
      await tab.close()
    },
  },
  {
    name: 'every tab of the playground, light, dark and at 360 px: nothing cut, no barrier, no small target',
    headers: ISOLATED,
    async run({ browser, origin, picture }) {
      const wide = await browser.open(`${origin}/playground/index.html`)
      await started(wide)
      const narrow = await browser.open(`${origin}/phone.html`)
      await started(narrow.frame)
      const found: string[] = []
      for (const look of ['light', 'dark'] as const) {
        for (const [size, tab, page] of [
          ['wide', wide, wide],
          ['phone', narrow, narrow.frame],
        ] as const) {
          const is = await page.evaluate(() => document.documentElement.dataset.theme ?? 'light')
          if (is !== look) await click(page, '#theme')
          for (const name of TABS) {
            await click(page, `#${name}-tab`)
            await new Promise((resolve) => setTimeout(resolve, 300))
            await page.evaluate(atRest)
            await picture(tab, `${look}-${size}-${name}`)
            const cut = await page.evaluate(cutOff)
            const low = size === 'phone' ? await page.evaluate(lowOrSmall) : []
            const faults = [...(await page.evaluate<[], string[]>(BARRIERS)), ...cut, ...low]
            found.push(...faults.map((fault) => `${look} ${size} ${name}: ${fault}`))
          }
        }
      }
      assert.ok(found.length === 0, found.join('; '))
      await wide.close()
      await narrow.close()
    },
  },
  {
    name: 'a GGUF file that is dropped on the playground is looked at',
    headers: ISOLATED,
    async run({ browser, origin }) {
      const folder = await mkdtemp(join(tmpdir(), 'local-v1-dropped-'))
      const path = join(folder, 'dropped.gguf')
      await writeMadeUp(path, { types: { '*': 'Q8_0' } })
      const bytes = (await readFile(path)).toString('base64')
      await rm(folder, { recursive: true })
      const tab = await browser.open(`${origin}/playground/index.html`)
      await started(tab)
      await tab.evaluate((base64) => {
        const dataTransfer = new DataTransfer()
        const bytes = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0))
        dataTransfer.items.add(new File([bytes], 'dropped.gguf'))
        for (const kind of ['dragenter', 'drop'])
          document.body.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }))
      }, bytes)
      await shown(tab, '#add-model-found .verdict', /^Fits/)
      assert.match(await shown(tab, '#add-model-found'), /local\/dropped.*on this computer/)
      await tab.close()
    },
  },
]

/** Colours fade into each other, in WebKit only as far as it paints: what is looked at is where they end. */
function atRest(): void {
  for (const each of document.getAnimations()) {
    if (Number.isFinite(each.effect?.getComputedTiming().endTime)) each.finish()
  }
}
