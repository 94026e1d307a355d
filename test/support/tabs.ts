import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { InstallOptions } from '../../adapters/service-worker/index.js'
import type { Said, Tab } from '../browser/tab.js'

/** To ask a page takes some milliseconds of a core itself. */
export const ASK_MS = 50

type InPage = { readonly tab: Tab }

/** One visitor's browser, in which tabs of an application are opened that has `test/browser/tab.ts` in its page. */
export interface Visitor {
  readonly context: BrowserContext
  readonly tabs: readonly OpenTab[]
  open(install?: InstallOptions): Promise<OpenTab>
  /** As browsers do when they think that a service worker has nothing more to do. */
  stopServiceWorkers(): Promise<void>
}

export interface OpenTab {
  readonly page: Page
  readonly installed: Awaited<ReturnType<Tab['install']>>
  /** Begins a chat with the official client; `until` follows it. */
  chat(body: object, by?: 'device' | 'service worker'): Promise<Chat>
  json<T>(path: string): Promise<T>
  close(): Promise<void>
}

export interface Chat {
  until(fits: (answer: Said) => boolean): Promise<Said>
  leave(): Promise<void>
  done(): Promise<Said>
}

export async function visitor(browser: Browser, origin: string, defaults: InstallOptions): Promise<Visitor> {
  const context = await browser.newContext()
  const tabs: OpenTab[] = []
  return {
    context,
    tabs,
    async open(install = defaults) {
      const page = await context.newPage()
      await page.goto(origin)
      const installed = await page.evaluate((options) => (window as unknown as InPage).tab.install(options), install)
      const tab = openTab(page, installed)
      tabs.push(tab)
      return tab
    },
    async stopServiceWorkers() {
      const cdp = await context.newCDPSession(context.pages()[0]!)
      await cdp.send('ServiceWorker.enable')
      await cdp.send('ServiceWorker.stopAllWorkers')
      await cdp.detach()
    },
  }
}

function openTab(page: Page, installed: OpenTab['installed']): OpenTab {
  return {
    page,
    installed,
    async chat(body, by) {
      const at = await page.evaluate(([body, by]) => (window as unknown as InPage).tab.chat(body, by), [
        body,
        by,
      ] as const)
      const answer = () => page.evaluate((at) => (window as unknown as InPage).tab.answers[at]!, at)
      const until = async (fits: (answer: Said) => boolean): Promise<Said> => {
        for (;;) {
          const now = await answer()
          if (fits(now)) return now
          if (now.done) throw new Error(`it ended with ${JSON.stringify(now)}`)
          await new Promise((resolve) => setTimeout(resolve, ASK_MS))
        }
      }
      const leave = () => page.evaluate((at) => (window as unknown as InPage).tab.leave(at), at)
      return { until, leave, done: () => until(({ done }) => done) }
    },
    json: (path) => page.evaluate(async (path) => (await fetch(path)).json(), path),
    close: () => page.close(),
  }
}
