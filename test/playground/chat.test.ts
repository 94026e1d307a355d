import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { buildServedPage } from '../../apps/playground/build/build.js'
import type { ChatCall } from '../../src/contract/engine.js'
import { textOf } from '../../src/contract/engine.js'
import { type Script, type Step, scripted } from '../../src/engines/scripted.js'
import { createV1, V1Error } from '../../src/index.js'
import { sharedChromium } from '../support/chromium.js'
import { filesIn } from '../support/folder.js'
import { type Listening, listen } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'
import { barriers, cutIn, smallTargets } from './audit.js'
import { picture } from './picture.js'

const out = fileURLToPath(new URL('../../test-output/playground/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

let callCount = 0
let broken = false
/** Ends the answer that waits for its last part. */
let end: (() => void) | undefined
async function goOn(): Promise<void> {
  await expect.poll(() => end).toBeDefined()
  end!()
  end = undefined
}

/** Says the most of it, and the rest once it is told to. */
async function* slowly(...parts: readonly string[]): AsyncGenerator<Step> {
  for (const [i, text] of parts.entries()) {
    if (i === parts.length - 1) {
      await new Promise<void>((resolve) => {
        end = resolve
      })
    }
    yield { type: 'text-delta', choice: 0, text }
  }
  yield { type: 'finish', choice: 0, reason: 'stop' }
}

const slow: Readonly<Record<string, readonly string[]>> = {
  'Slowly.': [...Array(200).fill('Long.\n\n'), 'First *this*,\n\nthen th', 'at,\n\nand more.'],
  'Slowly, a list.': ['[', ...Array(200).fill('"long", '), '"then th', 'at", "and more"]'],
  'No list.': [']} it is', ' none.'],
  'All at once.': ['', 'Long.\n\n'.repeat(4000)],
}

/** Thinks where it is told to, and never says the same twice. */
function speak({ messages, templateOptions }: ChatCall): Script | AsyncIterable<Step> {
  callCount++
  if (broken) throw new V1Error(500, 'The model is tired.', { code: 'tired' })
  const last = textOf(messages.at(-1)!.content)
  if (slow[last]) return slowly(...slow[last])
  if (last === 'Think long.') return [{ type: 'wait', ms: 60_000 }]
  const thought = { type: 'reasoning-delta', choice: 0, text: 'Five and *nothing* else.' } as const
  const answer = `Number ${callCount}, to **${last}**, after ${messages.length - 1}:\n\n- <img src=x onerror=alert(1)>\n`
  const delta = { type: 'text-delta', choice: 0, text: answer } as const
  const finish = { type: 'finish', choice: 0, reason: 'stop' } as const
  const usage = { type: 'usage', usage: { promptTokens: 3, completionTokens: 9, cachedTokens: 0 } } as const
  const thinks = templateOptions?.enable_thinking === true
  return [...(thinks ? [thought, { type: 'wait', ms: 30 } as const] : []), delta, finish, usage]
}

describe.skipIf(!canUnpack)('the chat (npm has Chromium for Linux on x64)', () => {
  let server: Listening
  let browser: Browser
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    const folder = `${out}served-page`
    await buildServedPage(folder)
    const files = await filesIn(folder)
    const engine = scripted({
      models: { 'test/thinker': speak, 'test/other': speak },
      capabilities: { thinking: true },
    })
    const v1 = express(createV1({ engine, keys: 'none', log: () => {} }))
    server = await listen((request, response) => {
      const { pathname } = new URL(request.url!, 'http://here')
      const type = TYPES[pathname.split('.').pop()!] ?? 'text/html'
      const file = files[pathname === '/' ? '/index.html' : pathname]
      if (pathname === '/playground.json') response.setHeader('content-type', 'application/json').end('{}')
      else if (file) response.setHeader('content-type', type).end(file)
      else v1(request, response)
    })
    browser = await sharedChromium()
    context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: 'reduce' })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(server.origin)
    await page.locator('body.ready').waitFor()
    await page.getByRole('tab', { name: 'Chat' }).click()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const answer = () => page.locator('.message.assistant .said')
  const held = () => page.evaluate(() => document.activeElement?.id)
  const answers = (count: number) => expect.poll(() => page.locator('.message-foot').count()).toBe(count)
  async function ask(text: string): Promise<void> {
    await page.getByLabel('Message').fill(text)
    await page.getByLabel('Message').press('Enter')
  }

  test('tells thoughts apart from the answer, which is Markdown and never HTML', async () => {
    await page.getByLabel('Think first').check()
    await ask('What is it?')
    await answers(1)
    expect(await page.locator('.thought summary').textContent()).toMatch(/^Thought for \d+ s$/)
    expect(await page.locator('.thought-text').textContent()).toBe('Five and *nothing* else.')
    expect(await page.locator('.thought').getAttribute('open')).toBe(null)
    expect(await answer().locator('strong').textContent()).toBe('What is it?')
    expect(await answer().locator('li').textContent()).toContain('<img')
    expect(await answer().locator('img').count()).toBe(0)
    await picture(page, '22-thought')
    expect(await barriers(page)).toEqual([])
    await page.getByLabel('Think first').uncheck()
  })

  test('copies an answer, and gives another to the last question', async () => {
    await button('Copy').click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^Number 1, to \*\*What is it\?\*\*/)
    const announced = () => page.locator('#announcer').textContent()
    await expect.poll(announced).toBe('Copied.')
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new DOMException('No.', 'NotAllowedError'))
    })
    await page.getByRole('button', { name: /^(Copy|Copied)$/ }).click()
    await expect.poll(announced).toBe('Copying is not allowed here.')
    await page.locator('.message:last-child .again').click()
    await expect.poll(() => answer().textContent()).toMatch(/^Number 2, to What is it\?, after 0/)
    await answers(1)
    // What was pressed is gone with the answer before.
    expect(await held()).toBe('send')
    expect(await page.locator('.thought').isVisible()).toBe(false)
  })

  test('says once what failed, and keeps the answer that was there', async () => {
    broken = true
    await page.locator('.message:last-child .again').click()
    const failure = page.getByRole('alert')
    await failure.waitFor()
    expect(await failure.textContent()).toContain('The model is tired.')
    expect(await page.getByText('The model is tired.').count()).toBe(1)
    expect(await answer().textContent()).toContain('Number 2')
    broken = false
    await failure.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => answer().textContent()).toMatch(/^Number 4/)
    await expect.poll(held).toBe('send')
    broken = true
    await ask('And then?')
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('And then?')
    broken = false
    await page.getByRole('alert').getByRole('button').click()
    await answers(2)
    expect(await answer().last().textContent()).toContain('to And then?, after 2')
    expect(await page.locator('.message').count()).toBe(4)
  })

  test('keeps earlier chats, over a reload too, until they are deleted', async () => {
    await button('New').click()
    expect(await page.locator('.message').count()).toBe(0)
    await ask('Something else.')
    await answers(1)
    await page.reload()
    await page.locator('body.ready').waitFor()
    expect(await page.locator('.message').count()).toBe(2)
    await page.getByText('Earlier chats: 1').click()
    await picture(page, '23-earlier')
    expect(await barriers(page)).toEqual([])
    await button('What is it?').click()
    expect(await page.locator('.message').count()).toBe(4)
    expect(await held()).toBe('message')
    await page.getByText('Earlier chats: 1').click()
    await button('Delete: Something else.').click()
    expect(await page.locator('#earlier-chats').isVisible()).toBe(false)
    // The one that is shown is not deleted by that.
    expect(await page.locator('.message').count()).toBe(4)
  })

  test('takes a question back to be asked in other words, and keeps what was said', async () => {
    await page.locator('.message.user').nth(1).getByRole('button', { name: 'Edit' }).click()
    expect(await page.getByLabel('Message').inputValue()).toBe('And then?')
    expect(await page.locator('.message').count()).toBe(2)
    await ask('And before?')
    await answers(2)
    expect(await answer().last().textContent()).toContain('to And before?, after 2')
    await page.getByText('Earlier chats: 1').click()
    await page.locator('#earlier-list').getByRole('button', { name: 'What is it?', exact: true }).click()
    expect(await page.locator('.message.user .said').allTextContents()).toEqual(['What is it?', 'And then?'])
    await page.getByText('Earlier chats: 1').click()
    await button('Delete: What is it?').click()
  })

  test('fits the smallest phone', async () => {
    await button('New').click()
    await page.getByText('Earlier chats: 1').click()
    await page.setViewportSize({ width: 360, height: 740 })
    await page.getByLabel('Think first').check()
    await picture(page, '24-phone-chat')
    expect(await cutIn(page)).toEqual([])
    expect(await barriers(page)).toEqual([])
    expect(await smallTargets(page)).toEqual([])
    // Where one writes is in sight, however long the page, and covers no word of the newest answer.
    const bottomOf = (selector: string) =>
      page
        .locator(selector)
        .last()
        .evaluate((element) => element.getBoundingClientRect().bottom)
    const topOf = (selector: string) =>
      page
        .locator(selector)
        .last()
        .evaluate((element) => element.getBoundingClientRect().top)
    await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }))
    expect(await bottomOf('#send')).toBeLessThanOrEqual(740)
    for (const count of [1, 2, 3, 4]) {
      await ask(`Number ${count}?`)
      await answers(count)
    }
    expect(await bottomOf('#send')).toBeLessThanOrEqual(740)
    expect(await bottomOf('.message.assistant')).toBeLessThanOrEqual((await topOf('.composer')) + 1)
    await picture(page, '25-phone-chat-long')
    await page.setViewportSize({ width: 1360, height: 900 })
  })

  /** A tab of its own, of a visitor who has been here or not. */
  async function opened(visitor: BrowserContext): Promise<Page> {
    const tab = await visitor.newPage()
    await tab.goto(`${server.origin}/#/chat`)
    await tab.locator('body.ready').waitFor()
    return tab
  }
  const say = async (tab: Page, text: string) => {
    await tab.getByLabel('Message').fill(text)
    await tab.getByLabel('Message').press('Enter')
  }
  const said = (tab: Page) => tab.locator('.message.user .said').allTextContents()
  const saidIn = async (tab: Page, count: number) => {
    await expect.poll(() => tab.locator('.message-foot').count()).toBe(count)
    return said(tab)
  }

  /** What is made and read in it from now on. */
  async function counted(tab: Page) {
    await tab.evaluate(() => {
      const counts = { elements: 0, documents: 0 }
      const make = document.createElement
      const parse = JSON.parse
      document.createElement = ((...args: Parameters<typeof make>) => {
        counts.elements++
        return make.apply(document, args)
      }) as typeof make
      JSON.parse = (...args) => {
        counts.documents++
        return parse(...args)
      }
      Object.assign(window, { counts })
    })
    return () => tab.evaluate(() => (window as unknown as { counts: { elements: number; documents: number } }).counts)
  }

  test('leaves alone what it has written: more is drawn below it, and what is selected stays selected', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await say(tab, 'Slowly.')
    await tab.getByText('then th').waitFor()
    const selected = () => tab.evaluate(() => String(getSelection()))
    await tab.evaluate(() => getSelection()!.selectAllChildren(document.querySelector('.message.assistant .said')!))
    const before = await selected()
    expect(before).toMatch(/^(Long\.\s+){200}First this,\s+then th\s*$/)
    const made = await counted(tab)
    await goOn()
    await saidIn(tab, 1)
    expect(await tab.locator('.message.assistant .said').textContent()).toMatch(
      /^(Long\.){200}First this,then that,and more\.$/,
    )
    expect((await made()).elements).toBeLessThan(100)
    expect(await selected()).toContain(before.trim())

    await tab.getByRole('tab', { name: 'Structured' }).click()
    await tab.getByRole('textbox', { name: 'Schema' }).fill('{ "type": "array", "items": { "type": "string" } }')
    const tokens = tab.locator('#answer .tokens')
    await tab.getByLabel('Text', { exact: true }).fill('Slowly, a list.')
    await tab.locator('#run').click()
    await tokens.getByText('"then th').waitFor()
    const madeOfTokens = await counted(tab)
    await goOn()
    await tab.locator('#answer[aria-busy="false"] .tokens').waitFor()
    expect(await tokens.textContent()).toMatch(/^\[(\s+"long",){200}\s+"then that",\s+"and more"\s+\]$/)
    expect((await madeOfTokens()).elements).toBeLessThan(150)
    // An answer to something else, which a server need not know for no JSON.
    await tab.getByLabel('Text', { exact: true }).fill('No list.')
    await tab.locator('#run').click()
    await tokens.getByText('it').waitFor()
    await goOn()
    await tab.getByText('did not produce a document').waitFor()
    expect(await tokens.textContent()).toMatch(/^\s*\]\s*\}\s*itisnone\.$/)

    await tab.getByRole('tab', { name: 'Requests' }).click()
    const messages = [{ role: 'user', content: 'Slowly.' }]
    await tab.getByLabel('POST to /v1').fill('/chat/completions')
    await tab.getByLabel('Body').fill(JSON.stringify({ model: 'test/thinker', stream: true, messages }))
    await tab.locator('#request-send').click()
    const reading = tab.locator('.reading p')
    await reading.getByText('then th').waitFor()
    const read = await counted(tab)
    await goOn()
    await tab.getByText(/^200, after/).waitFor()
    expect(await reading.textContent()).toMatch(/^(Long\.\s+){200}First \*this\*,\s+then that,\s+and more\.$/)
    expect((await read()).documents).toBeLessThan(20)
    await tab.getByText('Raw', { exact: true }).click()
    expect(await tab.getByLabel('Answer', { exact: true }).textContent()).toMatch(
      /^(data: .*\s+){203,}data: \[DONE\]\s+$/,
    )
    await visitor.close()
  })

  test('draws a long answer that comes at once in pieces, keeps its end in sight, and announces its beginning', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await tab.evaluate(() => {
      const found = (records: readonly MutationRecord[]) => records.flatMap(({ addedNodes }) => [...addedNodes])
      Object.assign(window, { most: 0 })
      new MutationObserver((records) => {
        const paragraphs = found(records).filter((node) => node.nodeName === 'P').length
        const all = window as unknown as { most: number }
        all.most = Math.max(all.most, paragraphs)
      }).observe(document.querySelector('#messages')!, { childList: true, subtree: true })
    })
    await say(tab, 'All at once.')
    await expect.poll(() => tab.locator('.message').count()).toBe(2)
    await goOn()
    const paragraphs = tab.locator('.message.assistant .said p')
    await expect.poll(() => paragraphs.count()).toBe(4000)
    const most = await tab.evaluate(() => (window as unknown as { most: number }).most)
    expect(most).toBeGreaterThan(100)
    expect(most).toBeLessThan(2000)
    await saidIn(tab, 1)
    expect((await tab.locator('#announcer').textContent())!).toMatch(/^(Long\.\s+){20,90}…$/)
    const below = () =>
      tab.locator('#messages-scroll').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight)
    await expect.poll(below).toBeLessThan(1)
    await tab.reload()
    await expect.poll(() => paragraphs.count()).toBe(4000)
    await expect.poll(below).toBeLessThan(1)
    // Of an answer that is no longer there, nothing more is drawn.
    await tab.getByRole('button', { name: 'New', exact: true }).click()
    const made = await counted(tab)
    const elements = await tab.evaluate(() => {
      document.querySelector<HTMLElement>('#earlier-list button')!.click()
      document.querySelector<HTMLElement>('#new-chat')!.click()
      return (window as unknown as { counts: { elements: number } }).counts.elements
    })
    await tab.evaluate(async () => {
      for (let i = 0; i < 20; i++) await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    })
    expect((await made()).elements).toBe(elements)
    expect(elements).toBeGreaterThan(1000)
    await visitor.close()
  })

  test('says that it stopped before its first word, and gives the question back', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await say(tab, 'Think long.')
    await tab.locator('#chat-stop').click()
    await expect.poll(() => tab.locator('#announcer').textContent()).toBe('Stopped.')
    expect(await tab.getByLabel('Message').inputValue()).toBe('Think long.')
    expect(await tab.locator('.message').count()).toBe(0)
    await visitor.close()
  })

  test('writes each paragraph from the side that its language begins at', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await say(tab, 'שלום!')
    await saidIn(tab, 1)
    const [first, last] = await tab.locator('.message.user .said').evaluate((said) =>
      [0, said.textContent!.length - 1].map((at) => {
        const letter = document.createRange()
        letter.setStart(said.firstChild!, at)
        letter.setEnd(said.firstChild!, at + 1)
        return letter.getBoundingClientRect().left
      }),
    )
    expect(last).toBeLessThan(first!)
    await visitor.close()
  })

  test('draws a schema seldom that comes line by line, as keyboards of phones paste it', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await tab.getByRole('tab', { name: 'Structured' }).click()
    const draws = await tab.evaluate(async () => {
      let count = 0
      const colours = document.querySelector('.editor-colours')!
      new MutationObserver((all) => {
        count += all.filter(({ target }) => target === colours).length
      }).observe(colours, { childList: true })
      const field = document.querySelector<HTMLTextAreaElement>('#schema')!
      field.value = ''
      for (let i = 0; i < 50; i++) {
        field.value += `"line ${i}"\n`
        field.dispatchEvent(new Event('input', { bubbles: true }))
      }
      await new Promise((resolve) => setTimeout(resolve, 500))
      return count
    })
    expect(draws).toBeLessThan(3)
    expect(await tab.locator('.editor-row').count()).toBe(51)
    await visitor.close()
  })

  test('takes a long text that was pasted into the wrong field: what is no schema is not coloured word by word', async () => {
    const visitor = await browser.newContext()
    const tab = await opened(visitor)
    await tab.getByRole('tab', { name: 'Structured' }).click()
    await tab.getByRole('textbox', { name: 'Schema' }).fill('It is no schema. '.repeat(15_000))
    expect(await tab.locator('#schema-error').textContent()).toContain('not JSON')
    expect(await tab.locator('.editor-colours span').count()).toBeLessThan(10)
    await visitor.close()
  })

  test('keeps what two tabs were told, and the newest where the browser has no more room', async () => {
    const visitor = await browser.newContext()
    const first = await opened(visitor)
    await say(first, 'In both.')
    await saidIn(first, 1)
    const second = await opened(visitor)
    await say(first, 'Here.')
    await saidIn(first, 2)
    await say(second, 'There.')
    await saidIn(second, 2)
    // Browsers tell another tab in their own time.
    const hears = (tab: Page, word: string) =>
      tab.waitForFunction((told) => Object.values(localStorage).some((kept) => `${kept}`.includes(told)), word)
    await first.getByLabel('Temperature').fill('0.7')
    await hears(second, '"0.7"')
    await second.getByLabel('Seed').fill('5')
    await second.getByRole('radio', { name: 'other' }).check()
    await hears(first, '"model":"test/other"')
    // Whoever comes back to a tab sees which models are loaded.
    const listed = first.waitForResponse(/\/models$/)
    await first.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await listed
    await first.reload()
    expect(await saidIn(first, 2)).toEqual(['In both.', 'There.'])
    expect(await first.getByLabel('Temperature').inputValue()).toBe('0.7')
    expect(await first.getByLabel('Seed').inputValue()).toBe('5')
    expect(await first.getByRole('radio', { name: 'other' }).isChecked()).toBe(true)
    await first.getByText('Earlier chats: 1').click()
    await first.getByRole('button', { name: 'In both.', exact: true }).click()
    expect(await said(first)).toEqual(['In both.', 'Here.'])

    await first.getByRole('button', { name: 'New', exact: true }).click()
    await first.evaluate(() => {
      for (let size = 2 ** 22; size >= 1; size /= 2) {
        try {
          localStorage.setItem(`full ${size}`, 'x'.repeat(size))
        } catch {}
      }
    })
    await say(first, 'Into no room.')
    await saidIn(first, 1)
    await first.reload()
    expect(await saidIn(first, 1)).toEqual(['Into no room.'])
    await visitor.close()
  })

  test('keeps a request that was written by hand, and puts it aside for a sample', async () => {
    await page.getByRole('tab', { name: 'Requests' }).click()
    const body = page.getByLabel('Body')
    await body.fill('{ "model": "test/thinker", "input": "mine" }')
    await page.reload()
    await page.locator('body.ready').waitFor()
    expect(await body.inputValue()).toContain('"mine"')
    await button('Tools').click()
    expect(await body.inputValue()).toContain('get_weather')
    await page.locator('#request-aside').getByRole('button', { name: 'Restore' }).click()
    expect(await body.inputValue()).toContain('"mine"')
    await button('Tools').click()
    await page.locator('#request-aside').getByRole('button', { name: 'Discard' }).click()
    expect(await page.locator('#request-aside').isVisible()).toBe(false)
  })

  test('asks for no more of a row of a table than the settings allow: small models begin to repeat themselves', async () => {
    await page.getByRole('tab', { name: 'Table' }).click()
    const asked = page.waitForRequest(/completions$/)
    await page.locator('#table-fill').click()
    expect((await asked).postDataJSON()).toMatchObject({ temperature: 0, max_tokens: 400 })
  })
})
