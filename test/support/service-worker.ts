import type { Page } from 'playwright-core'
import { bundle } from './bundle.js'
import { launchChromium } from './chromium.js'
import type { InstallInPage } from './install.js'
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
  /** By `install`, so that the engine runs in a worker of the page. @default false */
  install?: boolean
}

/** A page in Chromium under the control of a service worker, which is a TypeScript file of this repository. */
export async function controlledPage(worker: string, options: ControlledPageOptions = {}): Promise<ControlledPage> {
  const scripts = [...(options.scripts ?? []), ...(options.install ? ['test/support/install.ts'] : [])]
  const [browser, workerScript, ...pageScripts] = await Promise.all([
    launchChromium(),
    ...[worker, ...scripts].map((entry) => bundle(entry, { format: 'iife' })),
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
  if (options.install) {
    await page.evaluate(async () => {
      await (window as unknown as InstallInPage).install({ script: '/sw.js', type: 'classic' })
    })
  } else await page.evaluate(registered)
  return {
    page,
    server,
    async close() {
      await browser.close()
      await server.close()
    },
  }
}

async function registered(): Promise<void> {
  const controlled = new Promise((resolve) => {
    navigator.serviceWorker.oncontrollerchange = resolve
  })
  await navigator.serviceWorker.register('/sw.js')
  await controlled
}
