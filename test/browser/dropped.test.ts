import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { webgpu } from '../../src/engines/webgpu/index.js'
import { createV1 } from '../../src/index.js'
import { writeMadeUp } from '../../src/models/files/formats/gguf/made-up.test-helper.js'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { canUnpack } from '../support/unpack.js'
import type { Dropped } from './dropped.js'

declare global {
  interface Window {
    page: Dropped
  }
}

const TEMPLATE = '{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}'

describe.skipIf(!canUnpack)('a model file that is dropped into a page (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let context: BrowserContext
  let server: Listening
  let folder: string
  let bytes: Uint8Array

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'local-v1-dropped-'))
    const path = join(folder, 'small.gguf')
    await writeMadeUp(path, { types: { '*': 'Q8_0' }, chatTemplate: TEMPLATE })
    bytes = await readFile(path)
    server = await serveFiles({
      '/index.html': '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>',
      '/page.js': await bundle('test/browser/dropped.ts'),
      '/small.gguf': bytes,
    })
    browser = await sharedChromium()
    context = await browser.newContext()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await rm(folder, { recursive: true })
  })

  async function opened(): Promise<Page> {
    const page = await context.newPage()
    await page.goto(server.origin)
    await page.waitForFunction(() => 'page' in window)
    return page
  }

  /** As a user's file manager does it; `upTo`: not all of it. */
  async function drop(page: Page, name: string, upTo = bytes.length): Promise<string> {
    const dataTransfer = await page.evaluateHandle(
      async ({ name, upTo }) => {
        const transfer = new DataTransfer()
        const data = await (await fetch('/small.gguf')).arrayBuffer()
        transfer.items.add(new File([data.slice(0, upTo)], name))
        return transfer
      },
      { name, upTo },
    )
    await page.dispatchEvent('html', 'drop', { dataTransfer })
    return (await page.evaluate(() => window.page.kept))!
  }

  /** What the same file answers in Node. */
  async function inNode(): Promise<string> {
    const engine = webgpu({ models: [join(folder, 'small.gguf')], device: 'cpu', threads: 1, log: () => {} })
    const v1 = createV1({ engine, keys: 'none' })
    const body = {
      ...{ model: 'local/small', messages: [{ role: 'user', content: 'kalo mire' }] },
      ...{ max_tokens: 8, seed: 1, temperature: 0 },
    }
    const response = await v1.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
    await v1.close()
    return choices[0]!.message.content
  }

  test('is kept, answers as it does in Node, and is there when the page comes back', async () => {
    const wanted = await inNode()
    const page = await opened()
    expect(await drop(page, 'small.gguf')).toBe('kept:small.gguf')
    expect(await page.evaluate(() => window.page.ask('kept:small.gguf'))).toBe(wanted)
    // The file itself will do as well.
    expect(await page.evaluate(() => window.page.askFile())).toBe(wanted)
    await page.close()
    const again = await opened()
    expect(await again.evaluate(() => window.page.keptFiles())).toEqual([{ name: 'small.gguf', bytes: bytes.length }])
    expect(await again.evaluate(() => window.page.ask('kept:small.gguf'))).toBe(wanted)
    const { before, after } = await again.evaluate(() => window.page.remove('kept:small.gguf'))
    expect(before).toMatchObject({ kept: true, kept_bytes: bytes.length })
    expect(after).toEqual([])
    expect(await again.evaluate(() => window.page.ask('kept:small.gguf'))).toContain('small.gguf is missing')
  })

  test('is refused before it is kept where it is cut, or no such file', async () => {
    const page = await opened()
    expect(await drop(page, 'cut.gguf', bytes.length - 5000)).toContain('cut.gguf is incomplete')
    expect(await drop(page, 'head.gguf', 2000)).toContain('in its header')
    expect(await drop(page, 'letter.gguf', 0)).toContain('is incomplete')
    expect(await page.evaluate(() => window.page.keptFiles())).toEqual([])
  })

  test('is refused by name where a browser has no way to write it', async () => {
    const page = await opened()
    await page.evaluate(() => Reflect.deleteProperty(FileSystemFileHandle.prototype, 'createWritable'))
    expect(await drop(page, 'small.gguf')).toMatch(/^This browser does not write to its private file system/)
    expect(await page.evaluate(() => window.page.keptFiles())).toEqual([])
  })

  test('for which the browser has no room is refused, and nothing of it stays', async () => {
    const page = await opened()
    await narrow(page, 100_000)
    expect(await drop(page, 'small.gguf')).toMatch(/^The file has \d+ MB, and this site may store 0 MB more\./)
    expect(await page.evaluate(() => window.page.keptFiles())).toEqual([])
  })

  test('a download that the browser has no room to keep runs, and the page is told', async () => {
    const wanted = await inNode()
    const page = await opened()
    await narrow(page, 100_000)
    const from = `${server.origin}/small.gguf`
    const { answer, messages } = await page.evaluate((from) => window.page.askShared({ id: 'local/small', from }), from)
    expect(answer).toBe(wanted)
    // This browser has no Cross-Origin Storage, which was asked for.
    expect(messages[0]).toBe('There is no Cross-Origin Storage here: models are stored only for this site.')
    expect(messages).toContain(`There was no room to store ${from}: it is downloaded again next time.`)
    const kept = await page.evaluate(async (url) => (await caches.match(url)) !== undefined, from)
    expect(kept).toBe(false)
  })

  /** The page's site may keep so many bytes. Chromium does not say so: it tells every page of 5 GiB. */
  async function narrow(page: Page, quotaSize: number): Promise<void> {
    const session = await context.newCDPSession(page)
    await session.send('Storage.overrideQuotaForOrigin', { origin: server.origin, quotaSize })
  }
})
