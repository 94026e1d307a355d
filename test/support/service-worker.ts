import type { Page } from 'playwright-core'
import { bundle } from './bundle.js'
import { launchChromium } from './chromium.js'
import { type Listening, serveFiles } from './serve.js'

export interface ControlledPage {
  readonly page: Page
  readonly server: Listening
  close(): Promise<void>
}

export interface ControlledPageOptions {
  /** Scripts that the page loads: TypeScript files, by paths from the repository's root. */
  scripts?: readonly string[]
  /** What the server says to what it has not got. */
  missing?: string
}

/** A page in Chromium under the control of a service worker, which is a TypeScript file of this repository. */
export async function controlledPage(worker: string, options: ControlledPageOptions = {}): Promise<ControlledPage> {
  const [browser, workerScript, ...pageScripts] = await Promise.all([
    launchChromium(),
    ...[worker, ...(options.scripts ?? [])].map((entry) => bundle(entry, { format: 'iife' })),
  ])
  const tags = pageScripts.map((_, i) => `<script src="/page-${i}.js"></script>`).join('')
  const server = await serveFiles(
    {
      '/index.html': `<!doctype html><meta charset="utf-8"><title>page</title>${tags}`,
      '/sw.js': workerScript!,
      ...Object.fromEntries(pageScripts.map((script, i) => [`/page-${i}.js`, script])),
    },
    options.missing,
  )
  const page = await (await browser.newContext()).newPage()
  await page.goto(server.origin)
  await page.evaluate(async () => {
    const controlled = new Promise((resolve) => {
      navigator.serviceWorker.oncontrollerchange = resolve
    })
    await navigator.serviceWorker.register('/sw.js')
    await controlled
  })
  return {
    page,
    server,
    async close() {
      await browser.close()
      await server.close()
    },
  }
}
