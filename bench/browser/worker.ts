/** In a worker of the page, so that the page stays alive: carries out one order. */
import { carryOut, type Order } from '../harness/elsewhere.js'
import type { Report } from '../harness/report.js'
import { type WllamaOptions, wllamaCandidate } from '../peers/wllama.js'

export interface PageOrder extends Order {
  /** @default it does not stand beside us */
  readonly wllama?: WllamaOptions
}

/** What the worker says to its page. */
export type Message = { readonly progress: string } | { readonly report: Report } | { readonly error: string }

const say = (message: Message) => postMessage(message)

addEventListener('message', ({ data: { wllama, ...order } }: MessageEvent<PageOrder>) => {
  carryOut(order, (progress) => say({ progress }), wllama ? [wllamaCandidate(wllama)] : []).then(
    (report) => say({ report }),
    (error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }),
  )
})
