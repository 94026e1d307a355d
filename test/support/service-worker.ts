import type { Page } from 'playwright-core'
import { bundle } from './bundle.js'
import { launchChromium } from './chromium.js'
import type { InstallInPage } from './install.js'
import { type Listening, serveFiles } from './serve.js'
import type { Driven, DrivenTab } from './webdriver.js'

export interface ControlledPage {
  readonly page: Page
  readonly server: Listening
  close(): Promise<void>
}

export interface ControlledTab {
  readonly browser: Driven
  readonly origin: string
  readonly tab: DrivenTab
  close(): Promise<void>
}

export interface ControlledTabOptions {
  /** What the server says to what it has not got. */
  missing?: string
  /** By `install`, so that the engine runs in a worker of the page. @default false */
  install?: boolean
}

/** A page in Chromium under the control of a service worker, which is a TypeScript file of this repository. */
export async function controlledPage(worker: string, scripts: readonly string[]): Promise<ControlledPage> {
  const [browser, server] = await Promise.all([launchChromium(), served(worker, scripts)])
  const page = await (await browser.newContext()).newPage()
  await page.goto(server.origin)
  await page.evaluate(registered)
  return {
    page,
    server,
    async close() {
      await browser.close()
      await server.close()
    },
  }
}

/** The same in any browser. */
export async function controlledTab(
  launch: () => Promise<Driven>,
  worker: string,
  { missing, install = false }: ControlledTabOptions = {},
): Promise<ControlledTab> {
  const [browser, server] = await Promise.all([
    launch(),
    served(worker, install ? ['test/support/install.ts'] : [], missing),
  ])
  const tab = await browser.open(server.origin)
  await tab.evaluate(install ? installed : registered)
  return {
    ...{ browser, tab, origin: server.origin },
    async close() {
      await browser.close()
      await server.close()
    },
  }
}

async function served(worker: string, scripts: readonly string[], missing?: string): Promise<Listening> {
  const [workerScript, ...pageScripts] = await Promise.all(
    [worker, ...scripts].map((entry) => bundle(entry, { format: 'iife' })),
  )
  const tags = pageScripts.map((_, i) => `<script src="/page-${i}.js"></script>`).join('')
  return serveFiles(
    {
      '/index.html': `<!doctype html><meta charset="utf-8"><title>page</title>${tags}`,
      '/sw.js': workerScript!,
      ...Object.fromEntries(pageScripts.map((script, i) => [`/page-${i}.js`, script])),
    },
    missing,
  )
}

async function installed(): Promise<void> {
  await (window as unknown as InstallInPage).install({ script: '/sw.js', type: 'classic' })
}

async function registered(): Promise<void> {
  const controlled = new Promise((resolve) => {
    navigator.serviceWorker.oncontrollerchange = resolve
  })
  await navigator.serviceWorker.register('/sw.js')
  await controlled
}
