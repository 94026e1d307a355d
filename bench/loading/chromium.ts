/** The same in Chromium, whose process for the page is asked what memory it had at its peak. */
import { readFile, writeFile } from 'node:fs/promises'
import { bundle } from '../../test/support/bundle.js'
import { launchChromium } from '../../test/support/chromium.js'
import { serveFiles } from '../../test/support/serve.js'
import type { Load, Measured } from './load.js'
import type { LoadingPage } from './page.js'

declare global {
  interface Window {
    loading: LoadingPage
  }
}

export async function inChromium(path: string): Promise<Measured> {
  const server = await serveFiles({
    '/index.html':
      '<!doctype html><meta charset="utf-8"><input type="file"><script type="module" src="/page.js"></script>',
    '/page.js': await bundle('bench/loading/page.ts'),
  })
  const browser = await launchChromium({ webgpu: false, args: ['--js-flags=--expose-gc'] })
  try {
    const page = await browser.newPage()
    await page.goto(server.origin)
    await page.waitForFunction(() => 'loading' in window)
    await page.locator('input').setInputFiles(path)
    const read = () => page.evaluate(() => window.loading.read())
    await read()
    const readMs = Math.min(await read(), await read())
    const keptMs = await page.evaluate(() => window.loading.keep())
    await page.evaluate(() => (globalThis as { gc?: () => void }).gc!())
    const session = await browser.newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    const { id } = processInfo.filter(({ type }) => type === 'renderer').at(-1)!
    // From here on the peak is the load's.
    await writeFile(`/proc/${id}/clear_refs`, '5')
    const load: Load = await page.evaluate(() => window.loading.load())
    const peak = await memoryOf(id, 'VmHWM')
    await page.evaluate(() => (globalThis as { gc?: () => void }).gc!())
    await new Promise((resolve) => setTimeout(resolve, 100))
    return { readMs, keptMs, load, peak, stays: await memoryOf(id, 'VmRSS') }
  } finally {
    await browser.close()
    await server.close()
  }
}

async function memoryOf(id: number, what: 'VmHWM' | 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${id}/status`, 'utf8')
  return Number(status.match(new RegExp(`${what}:\\s+(\\d+) kB`))![1]) * 1024
}
