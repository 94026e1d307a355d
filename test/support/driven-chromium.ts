import { launchChromium } from './chromium.js'
import type { Driven } from './webdriver.js'

/** Chromium by the same handles as Firefox and WebKitGTK. `quota`: bytes that a site may store. */
export async function launchDrivenChromium({ quota }: { readonly quota?: number } = {}): Promise<Driven> {
  const browser = await launchChromium({ webgpu: false })
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } })
  return {
    name: 'chromium',
    env: { CONTRACT_BROWSERS: 'chromium' },
    version: browser.version(),
    async open(url) {
      const page = await context.newPage()
      if (quota !== undefined) {
        const devtools = await context.newCDPSession(page)
        await devtools.send('Storage.overrideQuotaForOrigin', { origin: new URL(url).origin, quotaSize: quota })
      }
      await page.goto(url)
      const text = (run: unknown, args: readonly unknown[]) =>
        `((__name) => (${String(run)})(...${JSON.stringify(args)}))((it) => it)`
      return {
        goto: async (url) => void (await page.goto(url)),
        evaluate: (run, ...args) => page.evaluate(text(run, args)),
        frame: { evaluate: (run, ...args) => page.frames()[1]!.evaluate(text(run, args)) },
        screenshot: () => page.screenshot(),
        close: () => page.close(),
      }
    },
    close: () => browser.close(),
  }
}
