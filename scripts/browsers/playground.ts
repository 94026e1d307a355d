/** The screens of the playground, used and looked at in every browser. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'
import { BARRIERS, cutOff, lowOrSmall } from '../../test/playground/audit.js'
import { PROGRAM } from '../../test/support/cli.js'
import { withOllama } from '../../test/support/ollama-machine.js'
import { printed, start } from '../../test/support/spawn.js'
import type { DrivenPage, DrivenTab } from '../../test/support/webdriver.js'
import { framedServer, framing } from './frame.js'
import { type Here, ISOLATED, type Limit, type Scenario } from './scenarios.js'

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

const PAGE = '/playground/index.html'
const WIDTHS = [360, 1024, 1280] as const

/** A page of the playground in a frame, whose width can be that of a phone. */
async function opened({ browser, origin }: Pick<Here, 'browser' | 'origin'>, path = PAGE) {
  const tab = await browser.open(origin + framing(path))
  return { tab, page: tab.frame }
}

/** Keeps what is seen at every width, light and dark, and gives what is cut there. */
async function looks(tab: DrivenTab, name: string, { picture }: Pick<Here, 'picture'>, audit = noFaults) {
  const page = tab.frame
  const found: string[] = []
  for (const width of WIDTHS) {
    await tab.evaluate((width) => {
      document.querySelector('iframe')!.width = String(width)
    }, width)
    for (const look of ['light', 'dark'] as const) {
      await wear(page, look)
      await new Promise((resolve) => setTimeout(resolve, 300))
      await page.evaluate(painted, width, look)
      await picture(tab, `${name}-${width}-${look}`)
      const faults = [...(await page.evaluate(cutOff)), ...(await audit(page, width))]
      found.push(...faults.map((fault) => `${look}, ${width} px: ${fault}`))
    }
  }
  await wear(page, 'light')
  return found
}

const noFaults = async (_page: DrivenPage, _width: number): Promise<string[]> => []

async function wear(page: DrivenPage, look: 'light' | 'dark'): Promise<void> {
  const is = await page.evaluate(() => document.documentElement.dataset.theme ?? 'light')
  if (is !== look) await click(page, '#theme')
}

async function looksWell(...of: Parameters<typeof looks>): Promise<void> {
  const found = await looks(...of)
  assert.ok(found.length === 0, found.join('; '))
}

export const screens: readonly Scenario[] = [
  {
    name: 'the playground answers its first example, chats, sends requests, measures and starts again',
    headers: ISOLATED,
    async run(here) {
      const { tab, page } = await opened(here)
      await started(page)
      await shown(page, '#answer[aria-busy="false"] .tokens .forced')
      await shown(page, '#answer .tokens .sampled')
      await looksWell(tab, 'first-sight', here)

      await click(page, '#chat-tab')
      await fill(page, '#message', 'Who are you?')
      await click(page, '#send')
      await shown(page, '.message.assistant .metrics-line', /tokens/)
      await looksWell(tab, 'chat', here)

      await click(page, '#requests-tab')
      await click(page, '#request-send')
      await shown(page, '#request-answer', /event: response\.(completed|incomplete)/)
      await looksWell(tab, 'requests', here)

      await click(page, '#device-tab')
      await click(page, '#bench-run')
      await shown(page, '.bench-chart:nth-of-type(3), .bench-chart + .bench-chart + .bench-chart')
      await looksWell(tab, 'device', here)

      await tab.goto(`${here.origin}${PAGE}`)
      await started(tab)
      assert.equal(await shown(tab, '.message.user .said'), 'Who are you?')
      await tab.close()
    },
  },
  {
    name: 'the playground in a frame of another site answers its first example',
    async run({ browser, origin, picture }) {
      const elsewhere = origin.replace('localhost', '127.0.0.1')
      const tab = await browser.open(elsewhere + framing(PAGE).replace('frame', 'elsewhere'))
      await started(tab.frame)
      await shown(tab.frame, '#answer[aria-busy="false"] .tokens .sampled')
      await looksWell(tab, 'elsewhere', { picture })
      await tab.close()
    },
  },
  limited(300_000, 'with 300,000 bytes of storage'),
  limited(3_000_000, 'with 3,000,000 bytes of storage'),
  limited('private', 'in a private window'),
  {
    name: 'a damaged link to the playground is said to be one, and an example has an address',
    async run(here) {
      const { tab, page } = await opened(here, `${PAGE}#share=q1YqLU4tUrJSSlSqBQA.00000000`)
      await started(page)
      assert.match(await shown(page, '#link-fault'), /^This link is damaged/)
      await looksWell(tab, 'damaged-link', here)
      const other = await here.browser.open(`${here.origin}${PAGE}#/decisions/spam`)
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
    async run(here) {
      const { tab, page } = await opened(here, `${PAGE}#/table`)
      await started(page)
      await fill(
        page,
        '#table-sentence',
        'From each review: the author, how many stars, and whether it is recommended.',
      )
      await click(page, '#table-draft')
      await shown(page, '.grid thead', /author.*stars.*recommended/)
      await click(page, '#table-fill')
      await shown(page, '#table-facts', /^6 of 6 rows/)
      await click(page, '.grid tbody .cell:is(.sure, .fair, .unsure)')
      await shown(page, '.details mark')
      await looksWell(tab, 'table', here)
      await tab.goto(`${here.origin}${PAGE}#/table`)
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
        const port = Number(await printed(serving, /url\s+http:\/\/127\.0\.0\.1:(\d+)\/v1/))
        const framed = await framedServer(port)
        const { tab, page } = await opened({ browser, origin: framed.origin }, '/')
        await shown(page, 'body.ready .model.selected .model-name', /nano/)
        await shown(page, '.models', /SmolLM2 135M.*269 MB.*needs.*Fits/)
        await shown(page, '#add-model-here summary', /^On this machine already: 1$/)
        await click(page, '#add-model-here li button')
        await shown(page, '#add-model-found .verdict', /^Fits/)
        await looksWell(tab, 'served', { picture })
        await click(page, '#add-model-found .actions button')
        await shown(page, '.model.selected .model-id', /^ollama\/small-1b$/)
        await click(page, '#run')
        await shown(page, '#answer[aria-busy="false"] .tokens .sampled')
        await tab.close()
        // By itself, too, as it stands there for everybody.
        const whole = await browser.open(`http://127.0.0.1:${port}/`)
        await shown(whole, 'body.ready .models', /small-1b/)
        await whole.close()
        await framed.close()
      } finally {
        await serving.stop()
        await rm(folder, { recursive: true, force: true })
      }
    },
  },
  {
    name: 'decisions in the playground: bars stand there unasked and move as one types',
    headers: ISOLATED,
    async run(here) {
      const { tab, page } = await opened(here)
      await started(page)
      await click(page, '#decisions-tab')
      await shown(page, '#decision-state', /Decided in/)
      const shares = () =>
        page.evaluate(() => [...document.querySelectorAll('.option-share')].map(({ textContent }) => textContent ?? ''))
      const filled = () =>
        page.evaluate(() => {
          const bars = [...document.querySelectorAll<HTMLElement>('.question:first-child .option-bar')]
          return bars.reduce((sum, { style }) => sum + Number.parseFloat(style.width), 0)
        })
      const before = await shares()
      assert.ok(before.length > 0 && before.every((share) => /^[<>]?[\d.]+ %$/.test(share)), before.join(', '))
      assert.ok(Math.abs((await filled()) - 100) < 0.1, 'the options of a question share all')
      await looksWell(tab, 'decisions', here)
      await fill(page, '#decision-text', 'All is well. It can wait.')
      const end = Date.now() + 90_000
      while (Date.now() < end && (await shares()).join() === before.join())
        await new Promise((go) => setTimeout(go, 100))
      assert.notDeepEqual(await shares(), before)
      await fill(page, '.question:first-child .option:last-child textarea', '')
      await shown(page, '.question:first-child .option:last-child .option-share', /^–$/)
      await fill(page, '#decision-text', '')
      await shown(page, '#decision-text-fault', /Write a text/)
      await tab.close()
    },
  },
  {
    name: 'sources in the playground: each value with its place in the text, and what would go to a person',
    headers: ISOLATED,
    async run(here) {
      const { tab, page } = await opened(here)
      await started(page)
      await shown(page, '#answer[aria-busy="false"] .tokens .forced')
      await click(page, 'input[name="answer-view"][value="sources"]')
      await shown(page, '.source-share', /%/)
      const [places, values] = await page.evaluate(() =>
        ['.sources-text mark', 'a.source-value'].map((which) =>
          [...document.querySelectorAll(which)].map(({ textContent }) => textContent ?? '').sort(),
        ),
      )
      assert.ok(places!.length > 3)
      assert.deepEqual(places, values)
      await looksWell(tab, 'sources', here)
      const [from, to, back] = await page.evaluate(() => {
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
      await fill(page, '#review-below', '100')
      assert.match(await shown(page, '.review'), /^Less sure than 100 %: [1-9]/)
      await tab.close()
    },
  },
  {
    name: 'every tab of the playground at 360, 1,024 and 1,280 px, light and dark: nothing cut, no barrier, no small target',
    headers: ISOLATED,
    async run(here) {
      const { tab, page } = await opened(here)
      await started(page)
      const audit = async (page: DrivenPage, width: number) => [
        ...(await page.evaluate<[], string[]>(BARRIERS)),
        ...(width === 360 ? await page.evaluate(lowOrSmall) : []),
      ]
      const found: string[] = []
      const tabs = await page.evaluate(() => [...document.querySelectorAll('[role="tab"]')].map(({ id }) => id))
      assert.ok(tabs.length > 1)
      for (const id of tabs) {
        const name = id.replace(/-tab$/, '')
        await click(page, `#${id}`)
        found.push(...(await looks(tab, `tab-${name}`, here, audit)).map((fault) => `${name}, ${fault}`))
      }
      assert.ok(found.length === 0, found.join('; '))
      await tab.close()
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

/** It answers, says what is lost where something is, and the next visit is no worse. */
function limited(limit: Limit, where: string): Scenario {
  return {
    name: `the playground ${where} answers its first example, and again at the next visit`,
    limit,
    async run(here) {
      const { tab, page } = await opened(here)
      for (let visit = 0; visit < 2; visit++) {
        await started(page)
        await shown(page, '#answer[aria-busy="false"] .tokens .sampled')
        if (typeof limit === 'number') await shown(page, '#limits', /too little for this page to work offline/)
        assert.doesNotMatch(await page.evaluate(() => document.body.textContent), RAW)
        if (visit === 0) {
          await looksWell(tab, `limited-${limit}`, here)
          await tab.goto(here.origin + framing(PAGE))
        }
      }
      await tab.close()
    },
  }
}

/** What a browser's own errors look like. */
const RAW = /SecurityError|QuotaExceeded|DOMException|NotSupported|InvalidState|TypeError|is not a function|undefined/

/**
 * Once the page is that wide and looks so, and that has been painted. Colours fade into each other, in WebKit only as far
 * as it paints: what is looked at is where they end.
 */
async function painted(width: number, look: string): Promise<void> {
  const root = document.documentElement
  const isSo = () => window.innerWidth === width && (root.dataset.theme ?? 'light') === look
  for (const end = Date.now() + 20_000; !isSo(); ) {
    if (Date.now() > end) throw new Error(`The page is ${window.innerWidth} px wide and ${root.dataset.theme}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  for (const each of document.getAnimations()) {
    if (Number.isFinite(each.effect?.getComputedTiming().endTime)) each.finish()
  }
  // A frame is asked for before it is painted: the one after the next comes when the next has been.
  for (let frames = 0; frames < 3; frames++) {
    await new Promise((resolve) => {
      requestAnimationFrame(resolve)
      setTimeout(resolve, 3000)
    })
  }
}
