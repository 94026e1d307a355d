import type { ControlledTab } from '../support/service-worker.js'
import type { DrivenPage } from '../support/webdriver.js'
import type { Init, Reach } from './reach.js'

/** What the page keeps of its calls. */
interface PageState {
  calls: Promise<Asked>[]
  /** Answers that are not read to their end. */
  answers: { reader: ReadableStreamDefaultReader<Uint8Array>; decoder: TextDecoder; aborter: AbortController }[]
}

/** What came of what was asked; where it is not there yet, its place. */
interface Asked {
  readonly value?: unknown
  readonly error?: string
  readonly at?: number
}

type Sent = readonly [path: string, init: RequestInit | undefined]
type Head = { readonly status: number; readonly headers: [string, string][] }

/** A service worker, as a page reaches it. */
export function reachInside({ browser, origin, tab, close }: ControlledTab): Reach {
  const plain = (init?: Init) => init as RequestInit | undefined
  return {
    raw: false,
    // Firefox takes all that a service worker's answer has, whether it is read or not.
    buffers: browser.name === 'firefox' ? Number.POSITIVE_INFINITY : 128 * 2 ** 20,
    close,
    async fetch(path, init) {
      const { text, ...head } = await resultIn(tab, wholeAnswer, path, plain(init))
      return { ...head, text, headers: new Headers(head.headers) }
    },
    async open(path, init) {
      const { at, status, headers } = await resultIn(tab, openAnswer, path, plain(init))
      return {
        status,
        headers: new Headers(headers),
        read: async () => (await resultIn(tab, readMore, at)) ?? undefined,
        leave: () => void tab.evaluate((at) => (window as unknown as PageState).answers[at]!.aborter.abort(), at),
      }
    },
    // No page can tell a service worker that it gave up waiting, but a tab that is closed is noticed.
    async abandon(path, init, when) {
      const other = await browser.open(origin)
      await other.evaluate((...[path, init]: Sent) => void fetch(path, init), path, plain(init))
      await when()
      await other.close()
    },
  }
}

async function wholeAnswer(...[path, init]: Sent): Promise<Head & { readonly text: string }> {
  const response = await fetch(path, init)
  return { status: response.status, headers: [...response.headers], text: await response.text() }
}

async function openAnswer(...[path, init]: Sent): Promise<Head & { readonly at: number }> {
  const state = window as unknown as PageState
  state.answers ??= []
  const aborter = new AbortController()
  const response = await fetch(path, { ...init, signal: aborter.signal })
  const entry = { reader: response.body!.getReader(), decoder: new TextDecoder(), aborter }
  return { at: state.answers.push(entry) - 1, status: response.status, headers: [...response.headers] }
}

async function readMore(at: number): Promise<string | undefined> {
  const { reader, decoder } = (window as unknown as PageState).answers[at]!
  const { done, value } = await reader.read()
  return done ? undefined : decoder.decode(value, { stream: true })
}

/** What `run` gives in the page. A driver of a browser waits for one thing at a time: what takes long is asked about. */
async function resultIn<Args extends readonly unknown[], Result>(
  page: DrivenPage,
  run: (...args: Args) => Promise<Result>,
  ...args: Args
): Promise<Result> {
  const begun = await page.evaluate<Args, Asked>(
    `(...args) => {
      const all = (window.calls ??= [])
      const outcome = (${String(run)})(...args).then((value) => ({ value }), (error) => ({ error: String(error) }))
      const at = all.push(outcome) - 1
      return Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 50, { at }))])
    }`,
    ...args,
  )
  for (let now = begun; ; ) {
    if (typeof now.error === 'string') throw new Error(now.error)
    if (typeof now.at !== 'number') return now.value as Result
    now = await page.evaluate(callAt, now.at)
  }
}

function callAt(at: number): Promise<Asked> {
  const later = new Promise<Asked>((resolve) => setTimeout(resolve, 50, { at }))
  return Promise.race([(window as unknown as PageState).calls[at]!, later])
}
