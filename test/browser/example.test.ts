import { execFile } from 'node:child_process'
import { appendFile, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../support/bundle.js'
import { sharedChromium } from '../support/chromium.js'
import { codeBlocks } from '../support/code-blocks.js'
import { filesIn } from '../support/folder.js'
import { type Listening, serveFiles } from '../support/serve.js'
import { printed, start } from '../support/spawn.js'
import { canUnpack } from '../support/unpack.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

describe.skipIf(!canUnpack)('examples in a page (npm has Chromium for Linux on x64)', () => {
  let browser: Browser
  let files: Record<string, Uint8Array>
  const closing: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    const out = 'test-output/examples/service-worker'
    await run(process.execPath, ['examples/service-worker/build.mjs', `../../${out}`], { cwd: root })
    files = await filesIn(root + out)
    browser = await sharedChromium()
    closing.push(() => browser.close())
  })
  afterAll(() => Promise.all(closing.map((close) => close())))

  async function visit(
    headers: Record<string, string> = {},
    prepare?: (context: BrowserContext, origin: string) => unknown,
    served = files,
  ) {
    const server: Listening = await serveFiles(served, '', headers)
    closing.push(server.close)
    const context = await browser.newContext()
    await prepare?.(context, server.origin)
    const page = await context.newPage()
    await page.goto(server.origin)
    return { server, context, page }
  }

  /** Types an order and reads what the page makes of it. */
  async function extract(page: Page, order: string): Promise<string> {
    await page.getByLabel('An order, in words').fill(order)
    await page.getByRole('button', { name: 'Extract' }).click()
    const output = page.locator('output')
    await expect.poll(() => output.textContent(), { timeout: 30_000 }).toMatch(/[}.]$/)
    return (await output.textContent())!
  }

  function expectOrder(answer: string): void {
    const order = JSON.parse(answer) as Record<string, unknown>
    expect(Object.keys(order)).toEqual(['product', 'quantity', 'urgent'])
    expect([typeof order.product, Number.isInteger(order.quantity), typeof order.urgent]).toEqual([
      'string',
      true,
      'boolean',
    ])
  }

  test('examples/service-worker streams strict JSON where there is no WebGPU, under a strict policy, and says so', async () => {
    // A strict Content-Security-Policy is enough for it, with wasm-unsafe-eval for the CPU.
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:"
    const { page } = await visit({ 'content-security-policy': policy })
    await expect.poll(() => page.locator('#status').textContent()).toContain('no GPU')
    expectOrder(await extract(page, 'Two red chairs for Oslo, please. No hurry.'))
    const models = await page.evaluate(async () => (await fetch('/v1/models')).json())
    expect(models.data).toMatchObject([{ id: 'local-v1/nano', metadata: { loaded: true, device: 'cpu' } }])
  })

  test('examples/service-worker works without a network, after a reload', async () => {
    const { page, context, server } = await visit()
    expectOrder(await extract(page, 'Two red chairs for Oslo, please. No hurry.'))
    await server.close()
    await page.close()
    const again = await context.newPage()
    await again.goto(server.origin)
    expectOrder(await extract(again, 'Send nine lamps today!'))
    expect(await again.evaluate(() => fetch('/elsewhere').then(String, String))).toContain('Failed to fetch')
  })

  test('examples/service-worker answers when the disk is full, and keeps nothing', async () => {
    const { page } = await visit({}, async (context, origin) => {
      const other = await context.newPage()
      const cdp = await context.newCDPSession(other)
      await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 })
    })
    expectOrder(await extract(page, 'Two red chairs for Oslo, please. No hurry.'))
    const kept = await page.evaluate(async () => {
      const all = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()))
      return all.flat().length
    })
    expect(kept).toBe(0)
  })

  test('the page of docs/start/service-worker.md works without a network, after a reload', async () => {
    const blocks = codeBlocks(await readFile(`${root}docs/start/service-worker.md`, 'utf8'))
    const scripts = blocks.flatMap(({ words: [word, name = ''], code }) =>
      word === 'step' && name.startsWith('public/') ? [[name.slice('public'.length), code]] : [],
    )
    const nano = Object.entries(files).filter(([path]) => path.startsWith('/models/nano/'))
    const { page, context, server } = await visit({}, undefined, {
      ...Object.fromEntries(nano.map(([path, bytes]) => [path.replace('/models', ''), bytes])),
      ...Object.fromEntries(scripts),
      '/local-v1.js': await bundle('adapters/browser.ts'),
    })
    const answer = (page: Page) => expect.poll(() => page.locator('output').textContent(), { timeout: 30_000 })
    await answer(page).toMatch(/^{"product":/)
    await server.close()
    await page.close()
    const again = await context.newPage()
    await again.goto(server.origin)
    await answer(again).toMatch(/^{"product":/)
  })

  test('says what it needs where the policy forbids WebAssembly', async () => {
    const { page } = await visit({ 'content-security-policy': "default-src 'self'; img-src data:" })
    expect(await extract(page, 'Two red chairs.')).toContain("'wasm-unsafe-eval'")
  })

  test('examples/service-worker says why it cannot be installed', async () => {
    const { '/v1.js': _, ...rest } = files
    const { page } = await visit({}, undefined, rest)
    await expect.poll(() => page.locator('#status').textContent()).toContain('/v1.js could not be registered')
  })

  describe('examples/vite', () => {
    // As where it was copied to: its own package, in which `local-v1` is what is published.
    const copy = 'test-output/examples/vite-app'
    beforeAll(async () => {
      await rm(root + copy, { recursive: true, force: true })
      await cp(`${root}examples/vite`, root + copy, { recursive: true })
      await mkdir(`${root}${copy}/node_modules`)
      await symlink(root, `${root}${copy}/node_modules/local-v1`)
    })

    async function extractsAn(page: Page): Promise<void> {
      await expect.poll(() => page.locator('#status').textContent(), { timeout: 30_000 }).toContain('no GPU')
      await page.getByRole('button').click()
      const output = page.locator('output')
      await expect.poll(() => output.textContent(), { timeout: 30_000 }).toMatch(/}$/)
      expectOrder((await output.textContent())!)
    }

    test('what Vite builds does the same', async () => {
      const vite = [`${root}node_modules/vite/bin/vite.js`, 'build', '--outDir', 'built', '--emptyOutDir']
      // Not the test runner's.
      const env = { ...process.env, NODE_ENV: 'production' }
      await run(process.execPath, vite, { cwd: root + copy, env })
      const { '/v1.js': worker, ...shown } = await filesIn(`${root}${copy}/built`)
      const { page: without } = await visit({}, undefined, shown)
      await expect.poll(() => without.locator('#status').textContent()).toContain('/v1.js could not be registered')
      const { page } = await visit({}, undefined, { ...shown, '/v1.js': worker! })
      await extractsAn(page)
    })

    test("Vite's own server isolates the page, and builds the worker anew when it is changed", async () => {
      const vite = [`${root}node_modules/vite/bin/vite.js`, root + copy, '--port', '0', '--clearScreen', 'false']
      const server = start(process.execPath, vite, { NODE_ENV: 'development', NO_COLOR: '1' })
      closing.push(() => server.stop('SIGTERM'))
      const port = await printed(server, /Local:\s+http:\/\/localhost:(\d+)/)
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(`http://localhost:${port}/`)
      await extractsAn(page)
      expect(await page.evaluate('crossOriginIsolated')).toBe(true)
      const worker = () => fetch(`http://localhost:${port}/v1.js`).then((response) => response.text())
      expect(await worker()).not.toContain('of-this-change')
      await appendFile(`${root}${copy}/v1.ts`, "\nconsole.debug('of-this-change')\n")
      await expect.poll(worker, { timeout: 20_000 }).toContain('of-this-change')
    })
  })
})
