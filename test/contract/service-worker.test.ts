import type { Page } from 'playwright-core'
import { contract } from '../contract.js'
import { controlledPage } from '../support/service-worker.js'
import { canUnpack } from '../support/unpack.js'
import type { Init, Reach } from './reach.js'

contract(
  'a service worker in Chromium (npm has it for Linux on x64)',
  async () => {
    const { page, close } = await controlledPage('test/contract/worker.ts', { missing: 'the application' })
    return reachFrom(page, close)
  },
  canUnpack,
)

contract(
  "a page's worker behind a service worker in Chromium (npm has it for Linux on x64)",
  async () => {
    const { page, close } = await controlledPage('test/contract/worker.ts', {
      missing: 'the application',
      install: true,
    })
    return reachFrom(page, close)
  },
  canUnpack,
)

/** What the page keeps of an answer that is not read to its end. */
interface PageState {
  answers: { reader: ReadableStreamDefaultReader<Uint8Array>; decoder: TextDecoder; aborter: AbortController }[]
}

type Sent = [path: string, init: RequestInit | undefined]

function reachFrom(page: Page, close: () => Promise<void>): Reach {
  const plain = (init?: Init) => init as RequestInit | undefined
  return {
    raw: false,
    buffers: 128 * 2 ** 20,
    close,
    async fetch(path, init) {
      const answer = await page.evaluate(
        async ([path, init]: Sent) => {
          const response = await fetch(path, init)
          return { status: response.status, headers: [...response.headers], text: await response.text() }
        },
        [path, plain(init)] satisfies Sent,
      )
      return { ...answer, headers: new Headers(answer.headers as [string, string][]) }
    },
    async open(path, init) {
      const { at, status, headers } = await page.evaluate(
        async ([path, init]: Sent) => {
          const state = window as unknown as PageState
          state.answers ??= []
          const aborter = new AbortController()
          const response = await fetch(path, { ...init, signal: aborter.signal })
          const entry = { reader: response.body!.getReader(), decoder: new TextDecoder(), aborter }
          return { at: state.answers.push(entry) - 1, status: response.status, headers: [...response.headers] }
        },
        [path, plain(init)] satisfies Sent,
      )
      return {
        status,
        headers: new Headers(headers as [string, string][]),
        read: () =>
          page.evaluate(async (at) => {
            const { reader, decoder } = (window as unknown as PageState).answers[at]!
            const { done, value } = await reader.read()
            return done ? undefined : decoder.decode(value, { stream: true })
          }, at),
        leave: () => void page.evaluate((at) => (window as unknown as PageState).answers[at]!.aborter.abort(), at),
      }
    },
    // No page can tell a service worker that it gave up waiting, but a tab that is closed is noticed.
    async abandon(path, init, when) {
      const tab = await page.context().newPage()
      await tab.goto(page.url())
      await tab.evaluate(([path, init]: Sent) => void fetch(path, init), [path, plain(init)] satisfies Sent)
      await when()
      await tab.close()
    },
  }
}
